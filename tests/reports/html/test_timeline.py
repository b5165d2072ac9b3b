"""A run beside the expected calls and beside its baseline: every call stands in exactly one row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._reports.html.data.runs import Strings
from pytest_sopbench._reports.html.data.timeline import (
    as_expected,
    beside,
    retried_steps,
    timeline,
)

NAMES = st.lists(st.sampled_from("abcd"), max_size=7)


def calls(names: list[str] | str) -> list[CallRecord]:
    return [CallRecord(name=name, arguments={}) for name in names]


def expected(names: list[str] | str) -> list[ExpectedCall]:
    return [ExpectedCall(name=name, arguments={}) for name in names]


@given(NAMES, NAMES, NAMES)
def test_each_call_stands_in_one_row(made: list[str], want: list[str], was: list[str]) -> None:
    before = beside(calls(made), as_expected(calls(was), named=False))

    rows = timeline(beside(calls(made), expected(want)), before)

    assert [*range(1, len(made) + 1)] == [row.step for row in rows if row.step]
    assert [*range(1, len(want) + 1)] == sorted(row.place for row in rows if row.place)
    assert [*range(1, len(was) + 1)] == sorted(row.before for row in rows if row.before)
    assert (made != want) == (1 == sum(row.first for row in rows))
    assert (made != was) == (1 == sum(row.first_changed for row in rows))


def test_a_call_that_is_missing_stands_before_the_step_that_came_instead() -> None:
    rows = timeline(beside(calls("ac"), expected("abc")), None)

    assert [(1, 1), (2, None), (3, 2)] == [(row.place, row.step) for row in rows]
    assert [False, True, False] == [row.first for row in rows]


def test_equal_calls_with_values_that_only_python_holds_equal_differ() -> None:
    made = [CallRecord(name="a", arguments={"sure": True})]

    found = beside(made, [ExpectedCall(name="a", arguments={"sure": 1})])

    assert "step 1: a was called with other arguments than expected" == found.why


def test_a_call_after_one_that_failed_is_a_retry() -> None:
    failed = CallRecord(name="a", arguments={}, error="busy")

    assert {3, 4} == retried_steps([failed, *calls("b"), failed, *calls("aa")])


@given(
    st.recursive(
        st.text(max_size=30) | st.integers() | st.booleans() | st.none(),
        lambda some: st.lists(some) | st.dictionaries(st.text(max_size=3), some),
        max_leaves=12,
    )
)
def test_packed_values_are_read_back(value: object) -> None:
    strings = Strings()

    packed = strings.packed([value, value])

    def read(one: object) -> object:
        if isinstance(one, str):
            return strings.table[int(one[1:])] if one.startswith("\x01") else one
        if isinstance(one, list):
            return [read(part) for part in one]
        return {name: read(part) for name, part in one.items()} if isinstance(one, dict) else one

    assert [value, value] == read(packed)
