"""What is said of snapshots at the end of a session, and by `sopbench approve`."""

from __future__ import annotations

from pytest_sopbench._reports.notices import (
    approval_lines,
    leftover_lines,
    not_approved_lines,
    unasked_lines,
    unplaced_lines,
)


def test_where_all_is_well_nothing_is_said() -> None:
    assert [] == [
        *not_approved_lines({}),
        *leftover_lines([], deleted=False),
        *unasked_lines([], "sop_snapshots"),
        *unplaced_lines([]),
    ]


def test_what_was_not_approved_is_counted_and_named() -> None:
    lines = list(not_approved_lines({"lab/T1": "wrong", "lab/T2": "breaks a"}))

    assert lines == [
        "2 not approved; what was approved before stays as it was",
        "  lab/T1: wrong",
        "  lab/T2: breaks a",
    ]


def test_a_long_list_is_cut_and_counted() -> None:
    lines = list(not_approved_lines({f"lab/T{number}": "wrong" for number in range(23)}))

    assert 22 == len(lines)
    assert "  and 3 more" == lines[-1]


def test_what_is_left_over_is_named_with_what_to_do() -> None:
    assert list(leftover_lines(["lab/T9"], deleted=False)) == [
        "1 unused snapshot: the domain has no such task",
        "  lab/T9",
        "pytest --snapshot-update deletes what is unused",
    ]


def test_what_was_deleted_is_named() -> None:
    assert list(leftover_lines(["lab/T8", "lab/T9"], deleted=True)) == [
        "2 unused snapshots deleted",
        "  lab/T8",
        "  lab/T9",
    ]


def test_domains_that_nobody_asked_for_are_named_with_the_folder() -> None:
    assert list(unasked_lines(["old"], "sop_snapshots")) == [
        "no test asks for the snapshots of old; if the domain is gone,",
        "  delete them in sop_snapshots",
    ]


def test_an_approval_names_every_task() -> None:
    lines = list(
        approval_lines(["lab/T1", "lab/T2"], ["lab/T3"], {"lab/T4": "wrong"}, folder="snaps")
    )

    assert lines == [
        "2 approved in snaps: lab/T1 lab/T2",
        "1 approved already",
        "1 not approved",
        "  lab/T4: wrong",
    ]


def test_where_nothing_was_approved_that_is_said() -> None:
    assert ["0 approved in snaps"] == list(approval_lines([], [], {}, folder="snaps"))


def test_what_has_no_task_is_said_and_left() -> None:
    assert list(unplaced_lines(["a.json: gone", "b.json: gone"])) == [
        "2 entries without a task, left as before",
        "  a.json: gone",
        "  b.json: gone",
    ]
