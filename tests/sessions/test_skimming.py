"""What is skimmed of a session comes to the same numbers as what is read in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.comparing.comparison import comparison_to_json
from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.trace import Mismatch, Usage
from pytest_sopbench._core.records.lines import from_line, to_line
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.commands.compare import compare_saved
from pytest_sopbench._sessions.lines import Skimmer, check_shape
from pytest_sopbench._sessions.reading.reader import read_json, read_session

DATA = Path(__file__).parent / "data"

VALUES = st.sampled_from([None, True, 1, 1.0, "1", "", "A", ["A", 1], {"a": 1}])
RULES = st.builds(
    RuleResult,
    id=st.sampled_from(["one", "two"]),
    clause=st.just(""),
    severity=st.sampled_from(Severity),
    kind=st.just(DemandKind.FORBIDS),
    state=st.sampled_from([RuleState.HELD, RuleState.BROKEN]),
    why=st.just("wire was called"),
    applies=st.just(value=True),
)
CALLS = st.builds(
    CallRecord,
    name=st.sampled_from(["pay", "look_up"]),
    arguments=VALUES,
    result=VALUES,
    error=st.sampled_from([None, "", "failed"]),
    bad=st.booleans(),
)
RUNS = st.builds(
    RunRecord,
    domain=st.just("refunds"),
    task=st.sampled_from(["T1", "T2", "T3"]),
    trial=st.integers(1, 3),
    agent=st.just("a:b"),
    outcome=st.sampled_from(Outcome),
    expected=st.dictionaries(st.sampled_from(["refund", "reason"]), VALUES, max_size=2),
    mismatches=st.lists(
        st.builds(
            Mismatch, field=st.just("refund"), expected=VALUES, actual=VALUES, why=st.just("")
        )
    ).map(tuple),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    usage=st.builds(Usage, input_tokens=st.none() | st.integers(0, 9)),
    duration_s=st.none() | st.floats(0, 9),
    disagreement=st.sampled_from(["", "the SOP contradicts itself"]),
    only_published=st.booleans(),
    rules=st.lists(RULES, max_size=2, unique_by=lambda one: one.id).map(tuple),
    contract=st.sampled_from([None, RuleState.HELD, RuleState.BROKEN]),
    grounded=st.sampled_from([None, True, False]),
    unneeded=st.none() | st.integers(0, 3),
)


OTHERS = st.sampled_from(
    [None, 0, -1, 1.5, True, "", "correct", [], ["a"], [None], {}, {"a": 1}, 10**400, "\ud800"]
)
"""What may stand in the place of a value, besides nothing."""


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    return [found for key, one in entries for found in ((*path, key), *_places(one, (*path, key)))]


def _put(entry: Any, place: tuple[str | int, ...], value: object) -> None:
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value


def _read(line: bytes) -> RunRecord:
    entry: Any = read_json(line)
    assert entry.pop("type") == "run"
    check_shape("run", entry)
    return Skimmer()(entry)


@settings(max_examples=80, deadline=None)
@given(st.lists(RUNS, max_size=6, unique_by=lambda one: one.key))
def test_skimmed_runs_come_to_the_same_numbers(runs: list[RunRecord]) -> None:
    lines = [to_line(run) for run in runs]
    skim = Skimmer()

    skimmed = [skim(json.loads(line)) for line in lines]

    assert summary_of(map(from_line, lines)) == summary_of(skimmed)


def test_a_run_that_is_wanted_is_read_in_full() -> None:
    run = RunRecord(domain="d", task="T1", outcome=Outcome.WRONG, text="said", reason="why")
    data = json.loads(to_line(run))
    del data["type"]

    assert run == Skimmer(lambda task, **_: task == "T1")(dict(data))
    assert not Skimmer()(dict(data)).text


@settings(max_examples=60, deadline=None)
@given(RUNS, st.data())
def test_a_glance_sees_what_a_reader_sees_or_nothing(run: RunRecord, data: st.DataObject) -> None:
    """Whatever stands in a line: a glance takes no line that a reader refuses."""
    entry = json.loads(to_line(run))
    place = data.draw(st.sampled_from(_places(entry)), "where something else stands")
    _put(entry, place, data.draw(OTHERS, "what stands there"))
    line = json.dumps(entry, separators=(",", ":")).encode()

    glanced = Skimmer().glance(line)

    assert glanced is None or glanced == _read(line)


def test_a_glance_takes_a_line_as_it_is_written() -> None:
    run = RunRecord(domain="d", task="T1", outcome=Outcome.WRONG, usage=Usage(input_tokens=3))

    assert Skimmer().glance(to_line(run).encode()) == run


def test_a_glance_leaves_a_run_that_is_wanted_in_full() -> None:
    run = RunRecord(domain="d", task="T1", outcome=Outcome.WRONG, text="said")

    assert Skimmer(lambda task, **_: task == "T1").glance(to_line(run).encode()) is None


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_glance_takes_no_constant_that_is_no_json(constant: bytes) -> None:
    run = RunRecord(domain="d", task="T1", outcome=Outcome.WRONG, answer={"a": 12345})
    line = to_line(run).encode().replace(b"12345", constant)

    assert Skimmer().glance(line) is None


@pytest.mark.parametrize("broken", [{}, {"domain": "d"}, {"domain": 1}, {"outcome": "fine"}])
def test_a_line_without_its_keys_is_no_run(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="missing or unknown keys"):
        Skimmer()(broken)


def test_a_comparison_of_skimmed_sessions_is_the_same() -> None:
    paths = [DATA / "finished.jsonl", DATA / "trials_gates.jsonl"]

    whole = compare_saved(*map(read_session, paths))
    skimmed = compare_saved(*(read_session(path, Skimmer()) for path in paths))

    assert comparison_to_json(whole) == comparison_to_json(skimmed)


def test_each_attribute_of_a_skimmed_run_is_set() -> None:
    """It is made slot by slot: one that was forgotten would end a command far from here."""
    run = RunRecord(domain="lab", task="T1", outcome=Outcome.CORRECT)

    found = Skimmer().glance(to_line(run).encode())

    assert run == found
