"""Saved sessions that were changed since: no gate holds on what is not as it was written.

Each way of changing a file is tried on sessions of the present form and on one that was saved
before lines had checksums. A gate may hold only where every planned run has the line that its
session wrote for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.gates.conditions import LOST, GateSpec, GateState
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.records.lines import from_line, to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.commands.compare import compare_saved
from pytest_sopbench._sessions.commands.gate import ask_gates
from pytest_sopbench._sessions.commands.resume import read_resumable
from pytest_sopbench._sessions.file.writer import sealed_session, summary_to_line
from pytest_sopbench._sessions.header import DomainHeader, SessionHeader
from pytest_sopbench._sessions.lines import bare, sealed, seed_of
from pytest_sopbench._sessions.reading.planned import planned_records, summaries_of, summarized
from pytest_sopbench._sessions.reading.reader import SavedSession, read_session, write_baseline
from pytest_sopbench.errors import SessionFileError

DATA = Path(__file__).parent / "data"
OLD = DATA / "finished.jsonl"
"""A session of six tasks, saved before lines had checksums; R4 is wrong."""

TASKS = tuple(f"T{number}" for number in range(1, 13))
WRONG = frozenset({"T3", "T8"})

Change = Callable[[list[bytes]], list[bytes]]


def run_of(task: str, *, right: bool, domain: str = "refunds") -> RunRecord:
    actual = "A" if right else "B"
    wrong = Mismatch(field="refund", expected="A", actual=actual, why="other known label")
    return RunRecord(
        domain=domain,
        task=task,
        agent="a:b",
        task_hash=task,
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        answer={"refund": actual},
        answer_form="mapping",
        expected={"refund": "A"},
        mismatches=() if right else (wrong,),
    )


def session(identity: str = "this", domain: str = "refunds") -> list[bytes]:
    """Return the lines of a session of which 10 of 12 runs are correct."""
    header = SessionHeader(
        plugin="1.0",
        agent="a:b",
        started="2026-01-01T00:00:00+00:00",
        judging="j",
        identity=identity,
        domains={domain: DomainHeader(planned=TASKS, judging="j")},
    )
    records = [run_of(task, right=task not in WRONG, domain=domain) for task in TASKS]
    lines = [*map(to_line, records), summary_to_line(summarized(records))]
    return list(sealed_session(header, lines))


def without(count: int) -> Change:
    return lambda lines: [*lines[:2], *lines[2 + count :]]


def edited(old: bytes, new: bytes, times: int = 2) -> Change:
    """Edit the first `times` lines of runs that hold `old`."""

    def change(lines: list[bytes]) -> list[bytes]:
        left, made = times, [lines[0]]
        for line in lines[1:]:
            hit = left and old in line and b'"type":"run"' in line
            left -= bool(hit)
            made.append(line.replace(old, new) if hit else line)
        assert not left
        return made

    return change


def summary_edited(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], lines[-1].replace(b'"correct":', b'"correct":1')]


def duplicated_with_another_end(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[1].replace(b'"correct"', b'"wrong"'), *lines[2:]]


def other_appended(lines: list[bytes]) -> list[bytes]:
    return [*lines, *session("other")]


def other_domain_appended(lines: list[bytes]) -> list[bytes]:
    return [*lines, *session("other", "claims")]


def others_runs_inserted(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], *session("other", "claims")[1:-1], lines[-1]]


def replaced_by_others(lines: list[bytes]) -> list[bytes]:
    """Put right runs of another session in the place of two that were wrong."""
    right = [sealed(to_line(run_of(task, right=True)), seed_of("x")) + b"\n" for task in WRONG]
    return [*[one for one in lines if b'"outcome":"wrong"' not in one], *right]


def without_checksum(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], bare(lines[3].rstrip(b"\n")) + b"\n", *lines[4:]]


CHANGES = [
    pytest.param(without(5), id="five runs removed"),
    pytest.param(edited(b'"outcome":"wrong"', b'"outcome":"correct"', 1), id="an outcome flipped"),
    pytest.param(edited(b'"answer":{"refund":', b'"answer":{"refunt":'), id="answers edited"),
    pytest.param(summary_edited, id="summary edited"),
    pytest.param(duplicated_with_another_end, id="a second line that differs"),
    pytest.param(other_appended, id="another session appended"),
    pytest.param(other_domain_appended, id="a session of another domain appended"),
    pytest.param(others_runs_inserted, id="runs of another domain inserted"),
    pytest.param(replaced_by_others, id="wrong runs replaced by right ones of another session"),
]


def written(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "s.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def written_baseline(path: Path, saved: SavedSession) -> list[bytes]:
    write_baseline(path, saved, reason="accepted")
    return path.read_bytes().splitlines(keepends=True)


def gates_of(path: Path) -> GateState:
    return ask_gates(read_session(path), [GateSpec(name="tsr", value=0.1)]).state


def test_a_session_as_it_was_written_holds(tmp_path: Path) -> None:
    assert GateState.HOLDS is gates_of(written(tmp_path, session()))
    assert GateState.HOLDS is gates_of(OLD)


@pytest.mark.parametrize("change", [*CHANGES, pytest.param(without_checksum, id="no checksum")])
def test_a_session_that_was_changed_is_inconclusive(tmp_path: Path, change: Change) -> None:
    saved = read_session(written(tmp_path, change(session())))

    gated = ask_gates(saved, [GateSpec(name="tsr", value=0.1)])

    assert GateState.INCONCLUSIVE is gated.state
    assert saved.problems


@pytest.mark.parametrize(
    "change", [one for one in CHANGES if one.id not in {"answers edited", "summary edited"}]
)
def test_an_unchecked_session_that_was_changed_is_inconclusive(
    tmp_path: Path, change: Change
) -> None:
    """By its plan, and by what its last line counts."""
    lines = change(OLD.read_bytes().splitlines(keepends=True))

    assert GateState.INCONCLUSIVE is gates_of(written(tmp_path, lines))


@pytest.mark.parametrize("change", CHANGES)
def test_no_gate_on_a_comparison_holds_on_a_changed_baseline(
    tmp_path: Path, change: Change
) -> None:
    (tmp_path / "base").mkdir()
    baseline = read_session(written(tmp_path / "base", change(session())))
    current = read_session(written(tmp_path, session()))
    gates = [GateSpec(name=LOST, value=12)]

    gated = ask_gates(current, gates, comparison=compare_saved(baseline, current))

    assert GateState.INCONCLUSIVE is gated.state


def test_a_slim_baseline_with_two_ends_of_a_run_is_no_ground(tmp_path: Path) -> None:
    """As where both sides of a merge conflict were kept, each line with its own checksum."""
    (tmp_path / "base").mkdir()
    current = read_session(written(tmp_path, session()))
    lines = written_baseline(tmp_path / "base" / "b.jsonl", current)
    was_wrong = sealed(
        bare(lines[1].rstrip(b"\n")).decode().replace("correct", "wrong"), seed_of("")
    )

    baseline = read_session(written(tmp_path / "base", [*lines, was_wrong + b"\n"]))

    gates = [GateSpec(name=LOST, value=12)]
    gated = ask_gates(current, gates, comparison=compare_saved(baseline, current))
    assert GateState.INCONCLUSIVE is gated.state
    assert "stand there twice, and differ: refunds/T1" in baseline.problems[-1]


def test_a_slim_baseline_that_lost_a_line_is_no_ground(tmp_path: Path) -> None:
    """Else a task that fell would be one that the baseline never had."""
    (tmp_path / "base").mkdir()
    current = read_session(written(tmp_path, session()))
    lines = written_baseline(tmp_path / "base" / "b.jsonl", current)

    baseline = read_session(written(tmp_path / "base", [lines[0], *lines[2:]]))

    gates = [GateSpec(name=LOST, value=12)]
    gated = ask_gates(current, gates, comparison=compare_saved(baseline, current))
    assert GateState.INCONCLUSIVE is gated.state
    assert ("lines of a slim baseline are missing: refunds/T1",) == baseline.doubts


def test_lines_in_another_order_say_the_same(tmp_path: Path) -> None:
    lines = session()

    path = written(tmp_path, [lines[0], *lines[7:-1], *lines[6:0:-1], lines[-1]])

    assert GateState.HOLDS is gates_of(path)
    assert () == read_session(path).problems


def test_a_line_that_stands_there_twice_counts_once(tmp_path: Path) -> None:
    lines = session()

    path = written(tmp_path, [*lines[:3], lines[2], *lines[3:]])

    assert 12 == len(planned_records(read_session(path)))
    assert GateState.HOLDS is gates_of(path)


def test_a_session_cut_at_any_byte_of_its_last_lines_does_not_hold(tmp_path: Path) -> None:
    lines = session()
    whole = b"".join(lines)

    for end in range(len(whole) - len(lines[-1]) - len(lines[-2]), len(whole) - 1):
        path = written(tmp_path, [whole[:end]])

        assert GateState.INCONCLUSIVE is gates_of(path), end


def test_a_damaged_header_is_one_clear_error(tmp_path: Path) -> None:
    lines = session()
    path = written(tmp_path, [lines[0].replace(b'"T9",', b""), *lines[1:]])

    with pytest.raises(SessionFileError, match="line 1: damaged: its checksum"):
        read_session(path)


def test_rates_come_from_the_lines_of_runs_and_from_no_summary(tmp_path: Path) -> None:
    lines = OLD.read_bytes().splitlines(keepends=True)
    path = written(tmp_path, [*lines[:-1], lines[-1].replace(b'"correct":', b'"correct":1')])

    assert summaries_of(read_session(OLD)) == summaries_of(read_session(path))


def test_damaged_lines_are_named_and_their_runs_were_not_run(tmp_path: Path) -> None:
    lines = session()
    lines[2] = lines[2].replace(b'"A"', b'"B"', 1)

    saved = read_session(path := written(tmp_path, lines))

    assert (RunKey("refunds", "T2", 1, "a:b"),) == tuple(one.run for one in saved.damaged)
    assert f"{path}, line 3: damaged, and left out (the run of refunds/T2)" in saved.problems[0]
    lost = [one for one in planned_records(saved) if one.outcome is Outcome.NOT_RUN]
    assert [("T2", "its line is damaged")] == [(one.task, one.reason) for one in lost]


def test_many_damaged_lines_are_counted_and_not_all_named(tmp_path: Path) -> None:
    lines = session()

    saved = read_session(written(tmp_path, [lines[0], *(b"x" + one for one in lines[1:])]))

    assert 13 == len(saved.damaged)
    assert "3 more lines are damaged" in saved.problems[-1]
    assert ("13 damaged lines",) == saved.doubts


def test_a_run_that_nobody_planned_is_told(tmp_path: Path) -> None:
    lines = session()
    more = sealed(to_line(run_of("T99", right=True)), seed_of("this")) + b"\n"

    saved = read_session(written(tmp_path, [*lines[:-1], more, lines[-1]]))

    assert ("runs that the session did not plan: refunds/T99",) == saved.doubts[:1]


def test_nothing_damaged_is_taken_over(tmp_path: Path) -> None:
    lines = session()
    lines[2] = lines[2].replace(b'"A"', b'"B"', 1)

    left = read_resumable(written(tmp_path, lines), ())

    assert "T2" not in {key.task for key in left.finished}
    assert 11 == len(left.finished)
    assert 1 == len(left.problems)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_one_flipped_bit_is_found_wherever_it_is(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Either the file is refused, or no gate holds; a flip between lines may change nothing."""
    whole = b"".join(session())
    place = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    path = written(tmp_path_factory.mktemp("flip"), [bytes(flipped)])

    try:
        saved = read_session(path)
    except SessionFileError:
        return
    same = planned_records(saved) == planned_records(
        read_session(written(tmp_path_factory.mktemp("whole"), [whole]))
    )
    assert (GateState.HOLDS is not gates_of(path)) or (same and not saved.damaged)


def test_an_unchecked_session_says_so_once() -> None:
    saved = read_session(OLD)

    assert (f"{OLD}: saved before lines had checksums; it is read unchecked",) == saved.problems


@pytest.mark.parametrize("change", [1, 20, 44])
def test_a_checksum_is_of_all_that_stands_before_it(change: int) -> None:
    line = to_line(run_of("T1", right=True))
    data = sealed(line, seed_of("this"))

    assert line == bare(data).decode()
    assert json.loads(line) == {k: v for k, v in json.loads(data).items() if k != "crc"}
    assert from_line(bare(data).decode()) == from_line(line)
    assert data != sealed(line, seed_of(f"other {change}"))
