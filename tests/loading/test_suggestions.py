from __future__ import annotations

from pytest_sopbench._loading.files.cells import did_you_mean, listed, shown


def test_the_nearest_name_is_suggested_and_a_far_one_is_not() -> None:
    assert "did you mean 'weight'?" == did_you_mean("wieght", ["label", "weight"])
    assert "" == did_you_mean("zzz", ["label", "weight"])


def test_a_long_list_says_how_much_it_leaves_out() -> None:
    assert "a, b" == listed(["a", "b"])
    assert listed(str(n) for n in range(20)).endswith("11 and 8 more")


def test_a_long_value_is_cut() -> None:
    assert "'ab'" == shown("ab")
    assert 60 == len(shown("x" * 100))
