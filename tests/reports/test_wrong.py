"""What wrong answers have in common, in as much room as there is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.metrics.counts import RunCounts
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text import common_start, wrong_kinds, wrong_parts

Table = dict[tuple[str, str], int]


def summary(counted: bool = True, **tables: Table) -> Summary:
    return Summary(
        mismatched={name: sum(table.values()) for name, table in tables.items()},
        wrong_pairs=tables,
        answers=tables if counted else {},
    )


HAZARD: Table = {
    ("Hazard Class C", "Hazard Class B"): 7,
    ("Hazard Class D", "Hazard Class C"): 5,
}


def test_the_line_of_the_interface() -> None:
    assert wrong_kinds(summary(hazard=HAZARD)) == ["Hazard Class C -> B 7", "D -> C 5"]


def test_several_fields_are_named() -> None:
    kinds = wrong_kinds(summary(one={("a", "b"): 1}, other={("c", "d"): 2}))

    assert kinds == ["other c -> d 2", "one a -> b 1"]


def test_a_field_beside_others_is_named_though_it_alone_differs() -> None:
    found = Summary(
        mismatched={"pays": 1},
        wrong_pairs={"pays": {("89.5", "89,50 EUR"): 1}},
        answers={"decision": {("free", "free"): 9}},
    )

    joint = replace(found, answers={}, by_expected={"9.5 / 12": RunCounts(runs=1)})

    assert wrong_kinds(found) == wrong_kinds(joint) == ["pays 89.5 -> 89,50 EUR 1"]


def test_values_without_labels_are_counted_by_field() -> None:
    two_long = Summary(mismatched={"note": 3}, wrong_pairs={"note": {("a", "b"): 1}})

    assert wrong_kinds(two_long) == ["note 2", "a -> b 1"]


def test_kinds_that_hardly_come_twice_say_nothing() -> None:
    many: Table = {(str(number), "x"): 1 for number in range(6)}

    assert wrong_kinds(summary(counted=False, refund=many)) == ["refund 6"]
    assert len(wrong_kinds(summary(refund=many))) == 6


def test_line_ends_in_labels_do_no_harm() -> None:
    assert wrong_kinds(summary(f={("a\nb", "\x1b[2J"): 1})) == [r"a b -> \x1b[2J 1"]


@pytest.mark.parametrize(
    ("room", "parts"),
    [
        pytest.param(40, ["Hazard Class C -> B 7,", "D -> C 5"], id="all fit"),
        pytest.param(31, ["Hazard Class C -> B 7,", "D -> C 5"], id="just fit"),
        pytest.param(30, ["Hazard Class C -> B 7", "and 1 more"], id="not quite"),
        pytest.param(5, ["Hazard Class C -> B 7", "and 1 more"], id="the first is said anyway"),
    ],
)
def test_kinds_fill_the_room(room: int, parts: list[str]) -> None:
    assert parts == wrong_parts(summary(hazard=HAZARD), room)


def test_many_fields_in_little_room_are_counted_by_field() -> None:
    tables = {f"field_{number}": {("valid", "invalid"): number} for number in (1, 2, 3, 4)}

    parts = wrong_parts(summary(**tables), 60)

    assert parts == ["field_4 4,", "field_3 3,", "field_2 2,", "field_1 1"]


def test_nothing_wrong_has_no_parts() -> None:
    assert wrong_parts(Summary(), 60) == []


@pytest.mark.parametrize(
    ("labels", "start"),
    [
        pytest.param([], "", id="no label"),
        pytest.param(["Hazard Class A"], "", id="one label"),
        pytest.param(["Hazard Class A", "Hazard Class B"], "Hazard Class ", id="two"),
        pytest.param(["Hazard Class A", "Hazard Class B", "None"], "Hazard Class ", id="most"),
        pytest.param(["Class A", "Class B", "x", "y"], "", id="only half"),
        pytest.param(["Class A", "Class B", "A"], "", id="two would be equal"),
        pytest.param(["valid", "invalid"], "", id="nothing in common"),
    ],
)
def test_words_that_most_labels_begin_with(labels: list[str], start: str) -> None:
    assert start == common_start(labels)
