"""No document makes the judge work for ever: what multiplies is bounded, and nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.documents import comparing
from pytest_sopbench._core.documents.comparing import compare_documents
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.fields.values import item_key

STOP = {"type": "object", "properties": {"name": {"type": "string"}}}
DAYS = {"type": "array", "items": {"type": "array", "items": STOP}}
RULES = DocumentRules(schema={"type": "object", "properties": {"days": DAYS}})
OPEN = DocumentRules(schema={"type": "object", "properties": {"days": {}}})

OBJECT = DocumentRules(schema=STOP)
LISTED = DocumentRules(schema={"properties": {"items": {"type": "array", "items": STOP}}})

NAMES = st.text("abc", min_size=1, max_size=2)
PLANS = st.lists(st.lists(NAMES, max_size=4), max_size=4)


def days(names: list[list[str]], **extra: Any) -> dict[str, Any]:
    return {"days": [[{"name": name, **extra} for name in one] for one in names]}


@given(PLANS, st.randoms())
def test_stops_with_more_than_the_schema_asks_for_are_the_same_in_any_order(
    names: list[list[str]], random: Any
) -> None:
    other = [random.sample(one, len(one)) for one in random.sample(names, len(names))]

    assert () == compare_documents(RULES, days(names), days(other, note="x")).mismatches


@given(PLANS, PLANS)
def test_stops_are_the_same_only_where_sorting_says_so(
    names: list[list[str]], others: list[list[str]]
) -> None:
    found = compare_documents(RULES, days(names), days(others, note="x")).mismatches

    assert (sorted(map(sorted, names)) == sorted(map(sorted, others))) is (not found)


@pytest.mark.parametrize("rules", [RULES, OPEN], ids=["declared", "not declared"])
def test_lists_within_lists_do_not_multiply(
    rules: DocumentRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pair by pair these would be 12,960,000 objects."""
    walked = 0
    objects = comparing._Walk.objects

    def counted(self: Any, *given: Any) -> None:
        nonlocal walked
        walked += 1
        objects(self, *given)

    monkeypatch.setattr(comparing._Walk, "objects", counted)
    names = [[f"{day}.{stop}" for stop in range(60)] for day in range(60)]
    others = [[f"other {name}" for name in one] for one in names]

    found = compare_documents(rules, days(names), days(others))

    assert 1 == len(found.mismatches)
    assert walked <= comparing.PAIRS_LIMIT + 1


def test_items_beyond_the_schema_are_told_apart_before_they_are_counted() -> None:
    """Pair by pair these would be 30,000, which is more than is looked at."""
    names = ("first", "second", "third")
    plain = {name: [{"id": number} for number in range(100)] for name in names}
    noted = {name: [{**one, "note": "x"} for one in plain[name][::-1]] for name in names}

    found = compare_documents(DocumentRules(schema={"type": "object"}), plain, noted)

    assert () == found.mismatches


def test_days_in_another_order_and_with_more_than_is_declared_are_the_same() -> None:
    names = [[f"{day}.{stop}" for stop in range(60)] for day in range(60)]
    others = [one[::-1] for one in names[::-1]]

    found = compare_documents(OPEN, days(names), days(others, note="x"))

    assert () == found.mismatches


def test_what_is_looked_at_before_it_is_compared_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any two stops of two days may be equal, but for the last one of each day."""
    looks = 0
    may_be = comparing._Spelled.may_be

    def counted(self: Any, actual: Any) -> bool:
        nonlocal looks
        looks += 1
        return may_be(self, actual)

    monkeypatch.setattr(comparing, "LOOKS_LIMIT", 5_000)
    monkeypatch.setattr(comparing._Spelled, "may_be", counted)
    wanted = {"days": [[{"a": [day]}] * 9 + [{"b": [day]}] for day in range(20)]}
    given_days = {"days": [[{"a": [day], "n": 1}] * 9 + [{"c": 1}] for day in range(20)]}

    found = compare_documents(OPEN, wanted, given_days)

    assert found.mismatches
    assert looks == 5_000


ITEMS = st.lists(
    st.dictionaries(st.sampled_from(["name", "id", "more"]), st.sampled_from([None, 1, "a", [1]])),
    max_size=4,
)


@given(ITEMS, ITEMS)
def test_what_is_told_apart_beforehand_is_never_equal(
    items: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    """Each document alone holds what a list holds many of, and is compared without lists."""
    for one in items:
        for other in others:
            alone = compare_documents(OBJECT, one, other).mismatches
            listed = compare_documents(LISTED, {"items": [one]}, {"items": [other]}).mismatches

            assert (not alone) is (not listed)


def test_a_pattern_that_explodes_tells_a_key_in_no_time() -> None:
    """The validator gives up; with `re` this key would take longer than a session."""
    properties: Mapping[str, Any] = {"^(a+)+$": {"type": "number"}}
    rules = DocumentRules(schema={"type": "object", "patternProperties": properties})

    found = compare_documents(rules, {}, {f"{'a' * 60}!": 1, "aaa": 2})

    assert ["aaa"] == [one.field for one in found.mismatches]


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_numbers_of_a_list_are_the_same_where_they_are_equal(one: int, other: int) -> None:
    keys = item_key(one, ordered=False), item_key(other, ordered=False)

    assert (one == other) is (keys[0] == keys[1])
    assert keys[0] == item_key(str(one), ordered=False)


def test_numbers_that_python_hashes_alike_are_counted_apart() -> None:
    """A list of 20,000 of them would be held against itself, number by number."""
    keys = [item_key((2**61 - 1) * number, ordered=False) for number in range(1, 1_001)]

    assert 1_000 == len({hash(key) for key in keys})
