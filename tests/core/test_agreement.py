"""Agreement beyond chance, held against published numbers and against laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.statistics import Agreement, agreement_of

COUNTS = st.integers(min_value=0, max_value=400)
TABLES = st.builds(
    Agreement, both_yes=COUNTS, only_first=COUNTS, only_second=COUNTS, both_no=COUNTS
)


def test_kappa_is_that_of_a_table_reckoned_by_hand() -> None:
    """Of 50 cases 35 agree; by chance it is 0.5 * 0.6 + 0.5 * 0.4 = 0.5 of them."""
    table = Agreement(both_yes=20, only_first=5, only_second=10, both_no=15)

    assert (0.7, 0.5) == pytest.approx((table.rate, table.chance))
    assert 0.4 == pytest.approx(table.kappa)


def test_the_interval_is_wilson_s_of_the_rate_carried_over() -> None:
    """Wilson's 95 % bounds of 35 of 50 are 0.5625 and 0.8090."""
    table = Agreement(both_yes=20, only_first=5, only_second=10, both_no=15)

    assert (0.1249, 0.6179) == pytest.approx(table.interval, abs=1e-3)


def test_agreeing_on_all_of_few_cases_is_not_certain() -> None:
    table = Agreement(both_yes=25, both_no=25)

    assert 1.0 == table.kappa
    assert table.interval is not None
    assert table.interval[0] < 0.9
    assert 1.0 == pytest.approx(table.interval[1])


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(Agreement(), id="no-case"),
        pytest.param(Agreement(both_yes=60), id="all-right"),
        pytest.param(Agreement(both_no=60), id="all-wrong"),
    ],
)
def test_where_chance_explains_everything_there_is_no_kappa(table: Agreement) -> None:
    assert table.kappa is None
    assert table.interval is None


@given(TABLES)
def test_kappa_lies_within_its_interval_and_is_the_same_for_either_rater(table: Agreement) -> None:
    turned = Agreement(
        both_yes=table.both_yes,
        only_first=table.only_second,
        only_second=table.only_first,
        both_no=table.both_no,
    )

    assert turned.kappa == table.kappa
    if table.kappa is not None:
        assert table.interval is not None
        low, high = table.interval
        assert -1 - 1e-9 <= table.kappa <= 1 + 1e-9
        assert low - 1e-9 <= table.kappa <= high + 1e-9


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_every_pair_is_counted_once(pairs: list[tuple[bool, bool]]) -> None:
    table = agreement_of(pairs)

    assert len(pairs) == table.cases
    assert sum(one == other for one, other in pairs) == table.agreed
