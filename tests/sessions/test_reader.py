"""Saved sessions that are whole, left behind, damaged, or none at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, RunKey, RunRecord, SavedSession
from pytest_sopbench._core.gates.conditions import LOST, GateSpec, GateState
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import summary_to_json
from pytest_sopbench._core.records.record import from_line, to_line
from pytest_sopbench._sessions.commands.gate import compare_saved, decide_gates
from pytest_sopbench._sessions.commands.resume import read_resumable
from pytest_sopbench._sessions.header import DomainHeader, SessionHeader, header_to_line
from pytest_sopbench._sessions.lines import bare, sealed, seed_of
from pytest_sopbench._sessions.reader import read_session, write_baseline
from pytest_sopbench._sessions.saved import planned_records, summaries_of, summarized
from pytest_sopbench._sessions.writer import sealed_session, summary_to_line
from pytest_sopbench.errors import SessionFileError


@pytest.fixture
def lines(header: SessionHeader, records: list[RunRecord]) -> list[str]:
    summary = {"refunds": summary_to_json(summary_of(records))}
    last = json.dumps({"type": "summary", "domains": summary, "total": {}})
    session = sealed_session(header, [*map(to_line, records), last])
    return [line.decode().rstrip("\n") for line in session]


def again(record: RunRecord) -> str:
    """Another line of the session that `lines` are of."""
    return sealed(to_line(record)).decode()


def write(folder: Path, text: str) -> Path:
    path = folder / "s.jsonl"
    path.write_bytes(text.encode("utf-8"))
    return path


def test_a_whole_session_is_read(
    tmp_path: Path, lines: list[str], header: SessionHeader, records: list[RunRecord]
) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines) + "\n"))

    assert header == saved.header
    assert tuple(records) == saved.records
    assert {"refunds": summary_of(records)} == saved.summaries
    assert saved.problems == ()


@pytest.mark.parametrize("kept", [1, 2, 4], ids=["header only", "one run", "no summary"])
def test_a_session_without_its_end_is_read(tmp_path: Path, lines: list[str], kept: int) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:kept]) + "\n"))

    assert kept - 1 == len(saved.records)
    assert saved.summaries is None
    assert saved.problems == ()


def test_a_session_is_readable_wherever_it_was_cut(tmp_path: Path, lines: list[str]) -> None:
    """Cut at every byte after the header: no error, and no run that was whole is lost."""
    start = len(lines[0]) + 1
    text = "\n".join(lines) + "\n"

    for end in range(start, len(text), 7):
        saved = read_session(write(tmp_path, text[:end]))

        whole = text[:end].count("\n") - 1
        assert len(saved.records) >= min(whole, 3)
        at_line_end = text[end - 1 : end + 1].find("\n") >= 0
        assert at_line_end or len(saved.problems) == 1


def test_a_line_that_was_cut_short_is_named(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:3])[:-5]))

    assert (f"{tmp_path / 's.jsonl'}, line 3: cut short, and left out",) == saved.problems
    assert len(saved.records) == 1


def test_zeros_at_the_end_are_what_a_power_failure_leaves(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:3]) + "\n" + "\0" * 4096))

    assert len(saved.records) == 2


def test_line_ends_of_windows_are_read(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\r\n".join(lines) + "\r\n"))

    assert len(saved.records) == 3


def test_the_last_line_of_a_key_wins(
    tmp_path: Path, lines: list[str], records: list[RunRecord]
) -> None:
    better = replace(records[0], outcome=Outcome.WRONG)

    saved = read_session(write(tmp_path, "\n".join([*lines[:4], again(better)]) + "\n"))

    assert (better, records[1], records[2]) == saved.records


def test_a_summary_is_forgotten_when_runs_follow_it(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join([*lines, lines[1]]) + "\n"))

    assert saved.summaries is None
    assert not saved.finished


def test_a_line_that_was_written_anew_is_damaged(tmp_path: Path, lines: list[str]) -> None:
    """Whoever formats a session has had it in hands, and may have changed more than spaces."""
    spaced = json.dumps(json.loads(lines[1]), indent=None)

    saved = read_session(write(tmp_path, "\n".join([lines[0], spaced, *lines[2:]]) + "\n"))

    assert [2] == [one.number for one in saved.damaged]
    assert len(saved.records) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "no saved session: it is empty", id="empty"),
        pytest.param("name,value\n1,2\n", "its first line is no header", id="csv"),
        pytest.param("[1]\n", "its first line is no header", id="list"),
        pytest.param('{"type": "run"}\n', "its first line is no header", id="no header"),
        pytest.param("\u00e9\n", "bytes that no saved session holds", id="not ascii"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SessionFileError, match=message) as raised:
        read_session(write(tmp_path, text))

    assert str(tmp_path / "s.jsonl") in str(raised.value)


@pytest.mark.parametrize("schema", [0, 2])
def test_a_file_of_another_version_is_refused(
    tmp_path: Path, header: SessionHeader, schema: int
) -> None:
    line = sealed(header_to_line(replace(header, schema=schema))).decode()

    with pytest.raises(
        SessionFileError, match=rf"another pytest-sopbench \(schema {schema}"
    ) as raised:
        read_session(write(tmp_path, line + "\n"))

    assert "run the session again" in str(raised.value)


def test_a_header_that_lacks_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionFileError, match=r"line 1: damaged: .*git"):
        read_session(write(tmp_path, '{"type": "header", "schema": 1}\n'))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        pytest.param('{"type": "note"}', "neither a run nor a summary", id="unknown type"),
        pytest.param('{"type": "summary"}', "'domains'", id="no domains"),
        pytest.param('{"type": "summary", "domains": {"d": {}}}', "summary", id="no counts"),
        pytest.param(
            '{"type":"summary","domains":{"d":{"runs":1,"outcomes":{"lost":1},"reruns":0}}}',
            "outcomes",
            id="unknown outcome",
        ),
        pytest.param('{"type":"run","domain":"d"}', "missing", id="run without keys"),
        pytest.param('{"type":"start","domain":"d"}', "'task'", id="start without keys"),
    ],
)
def test_a_line_that_no_session_writes_is_damaged(
    tmp_path: Path, lines: list[str], line: str, why: str
) -> None:
    """Whatever its checksum says."""
    text = "\n".join([lines[0], lines[1], sealed(line).decode(), *lines[2:]]) + "\n"

    saved = read_session(write(tmp_path, text))

    assert [3] == [one.number for one in saved.damaged]
    assert why in saved.damaged[0].why
    assert len(saved.records) == 3
    assert ("1 damaged line",) == saved.doubts


def test_a_last_line_that_was_ended_is_damage(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, f"{lines[0]}\ngarbage\n"))

    assert (f"{tmp_path / 's.jsonl'}, line 2: damaged, and left out: it has no checksum",) == (
        saved.problems
    )


def test_a_missing_session_names_the_nearest(tmp_path: Path, lines: list[str]) -> None:
    write(tmp_path, "\n".join(lines))

    with pytest.raises(SessionFileError, match="cannot be read") as raised:
        read_session(tmp_path / "x.jsonl")

    assert raised.value.hint == f"sessions in {tmp_path}: s"


def test_a_missing_folder_has_nothing_near(tmp_path: Path) -> None:
    with pytest.raises(SessionFileError, match="cannot be read") as raised:
        read_session(tmp_path / "missing" / "x.jsonl")

    assert raised.value.hint == ""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("refunds/T2", id="domain and task"),
        pytest.param("refunds::T2", id="as in a node id"),
        pytest.param("T2", id="task alone"),
    ],
)
def test_the_runs_of_a_task_are_found(
    tmp_path: Path, lines: list[str], records: list[RunRecord], name: str
) -> None:
    second = replace(records[1], trial=2)
    saved = read_session(write(tmp_path, "\n".join([lines[0], again(second), *lines[1:]]) + "\n"))

    assert (records[1], second) == saved.runs_of(name)


def test_a_task_of_two_domains_must_be_named_in_full(
    tmp_path: Path, lines: list[str], records: list[RunRecord]
) -> None:
    other = again(replace(records[1], domain="claims"))
    saved = read_session(write(tmp_path, "\n".join([*lines[:4], other]) + "\n"))

    with pytest.raises(SessionFileError, match="is a task of claims, refunds") as raised:
        saved.runs_of("T2")

    assert raised.value.hint == "write claims/T2"


@pytest.mark.parametrize(
    ("task", "hint"),
    [
        pytest.param("refunds/T9", "did you mean refunds/T", id="near"),
        pytest.param("nothing", "tasks are named DOMAIN/TASK", id="far"),
    ],
)
def test_an_unknown_task_is_told(tmp_path: Path, lines: list[str], task: str, hint: str) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines) + "\n"))

    with pytest.raises(SessionFileError, match="no run of a task") as raised:
        saved.runs_of(task)

    assert raised.value.hint.startswith(hint)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_no_session(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A reader of the one hangs, and of the other never comes to an end."""
    path = tmp_path / "s.jsonl"
    make(path)

    with pytest.raises(SessionFileError, match="it is a pipe or a device, and no file"):
        read_session(path)


def test_half_of_a_surrogate_pair_is_a_text(
    tmp_path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    odd = replace(records[0], text="said \ud800", domain="refunds")
    lines = sealed_session(header, map(to_line, (odd, *records[1:])))

    saved = read_session(write(tmp_path, b"".join(lines).decode()))

    assert (odd, *records[1:]) == saved.records


# Saved sessions that were changed since: no gate holds on what is not as it was written.
#
# A gate may hold only where every planned run has the line that its session wrote for it.

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
    return decide_gates(read_session(path), [GateSpec(name="tsr", value=0.1)]).state


def test_a_session_as_it_was_written_holds(tmp_path: Path) -> None:
    assert GateState.HOLDS is gates_of(written(tmp_path, session()))


@pytest.mark.parametrize("change", [*CHANGES, pytest.param(without_checksum, id="no checksum")])
def test_a_session_that_was_changed_is_inconclusive(tmp_path: Path, change: Change) -> None:
    saved = read_session(written(tmp_path, change(session())))

    gated = decide_gates(saved, [GateSpec(name="tsr", value=0.1)])

    assert GateState.INCONCLUSIVE is gated.state
    assert saved.problems


@pytest.mark.parametrize("change", CHANGES)
def test_no_gate_on_a_comparison_holds_on_a_changed_baseline(
    tmp_path: Path, change: Change
) -> None:
    (tmp_path / "base").mkdir()
    baseline = read_session(written(tmp_path / "base", change(session())))
    current = read_session(written(tmp_path, session()))
    gates = [GateSpec(name=LOST, value=12)]

    gated = decide_gates(current, gates, comparison=compare_saved(baseline, current))

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
    gated = decide_gates(current, gates, comparison=compare_saved(baseline, current))
    assert GateState.INCONCLUSIVE is gated.state
    assert "stand there twice, and differ: refunds/T1" in baseline.problems[-1]


def test_a_slim_baseline_that_lost_a_line_is_no_ground(tmp_path: Path) -> None:
    """Else a task that fell would be one that the baseline never had."""
    (tmp_path / "base").mkdir()
    current = read_session(written(tmp_path, session()))
    lines = written_baseline(tmp_path / "base" / "b.jsonl", current)

    baseline = read_session(written(tmp_path / "base", [lines[0], *lines[2:]]))

    gates = [GateSpec(name=LOST, value=12)]
    gated = decide_gates(current, gates, comparison=compare_saved(baseline, current))
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
    lines = session()
    whole = summaries_of(read_session(written(tmp_path, lines)))
    last = bare(lines[-1].rstrip(b"\n")).decode().replace('"correct":', '"correct":1')
    other = sealed(last, seed_of("this")) + b"\n"

    assert whole == summaries_of(read_session(written(tmp_path, [*lines[:-1], other])))


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


@pytest.mark.parametrize("change", [1, 20, 44])
def test_a_checksum_is_of_all_that_stands_before_it(change: int) -> None:
    line = to_line(run_of("T1", right=True))
    data = sealed(line, seed_of("this"))

    assert line == bare(data).decode()
    assert json.loads(line) == {k: v for k, v in json.loads(data).items() if k != "crc"}
    assert from_line(bare(data).decode()) == from_line(line)
    assert data != sealed(line, seed_of(f"other {change}"))
