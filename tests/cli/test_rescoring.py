"""`sopbench rescore`: judge again what was kept, and guess nothing that was not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain, Outcome, RunKey, RunRecord, ToolCall, Trace
from pytest_sopbench._core.domain import JudgingRules, rules_fingerprint
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import MASK, Scoring
from pytest_sopbench._core.model.trace import Ending, Problem, Returned, ReturnedKind
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.record import record_of
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED
from pytest_sopbench._sessions.header import header_from_json
from pytest_sopbench._sessions.lines import bare
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.writer import sealed_session

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

LONG = "x" * 5_000
WIRE = ToolCall(name="wire", arguments={"to": "x"}, result={})


def text(said: str) -> Trace:
    return Trace(ending=Ending.RETURNED, returned=Returned(kind=ReturnedKind.TEXT, text=said))


@pytest.fixture
def session(save: Save, refunds: Domain, tmp_path: Path) -> Make:
    """Save a session as if these traces had been judged, with the event logs of those named."""
    rules = JudgingRules(fields=refunds.fields, sop=refunds.sop)

    def make(traces: dict[str, Trace], *, logged: str = "", judging: str = "") -> None:
        records: list[RunRecord] = []
        tasks = {task.id: task for task in refunds.tasks}
        folder = tmp_path / ".sop" / "sessions" / "base.traces" / "refunds"
        folder.mkdir(parents=True)
        for name, trace in traces.items():
            verdict = judge(rules, tasks[name], trace)
            record = record_of(rules, tasks[name], trace, verdict, agent="a:b")
            if name in logged.split():
                key = RunKey("refunds", name, 1, "a:b")
                log = event_log(key, rules, trace, verdict, NOTHING_REDACTED)
                (folder / f"{name}@a%3Ab.jsonl").write_text(log)
                record = replace(record, trace=f"refunds/{name}@a%3Ab.jsonl")
            records.append(record)
        save("base", records, judging=judging or rules_fingerprint({"refunds": rules}))

    return make


def rescored(tmp_path: Path) -> dict[str, Outcome]:
    saved = read_session(tmp_path / ".sop" / "sessions" / "new.jsonl")
    return {one.task: one.outcome for one in saved.records}


def test_answers_are_judged_by_the_published_rules(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    """There `a` is contained in `Refund A`, which is what makes that scorer a bad judge."""
    session({"T1": text("<refund>a</refund>"), "T2": text("<refund>Refund B</refund>")})

    result = sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert 0 == result.exit_code
    assert [
        "refunds: TSR 0.0% (exact) -> 50.0% (published), 2 runs",
        "1 run has another outcome",
        "  refunds/T1 wrong -> correct: only by the published scorer's rules",
        "kept in .sop/sessions/new.jsonl",
    ] == result.stdout.splitlines()
    assert {"T1": Outcome.CORRECT, "T2": Outcome.WRONG} == rescored(tmp_path)


def test_what_is_kept_says_how_it_was_judged(
    sopbench: Sopbench, session: Make, refunds: Domain, tmp_path: Path
) -> None:
    session({"T1": text("<refund>a</refund>")})

    sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    saved = read_session(tmp_path / ".sop" / "sessions" / "new.jsonl")
    rules = JudgingRules(fields=refunds.fields, scoring=Scoring.PUBLISHED)
    assert rules_fingerprint({"refunds": rules}) == saved.header.judging
    assert "published" == saved.header.options.scoring
    assert "exact" == saved.header.options.rescored
    assert saved.summaries is not None
    assert 1 == saved.summaries["refunds"].only_published


def test_there_and_back_is_where_it_began(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    session({"T1": text("<refund>a</refund>"), "T2": text("<refund>Refund A</refund>")})

    sopbench("rescore", "base", "--scoring", "published", "--out", "other")
    sopbench("rescore", "other", "--scoring", "exact", "--out", "new")

    before = read_session(tmp_path / ".sop" / "sessions" / "base.jsonl")
    after = read_session(tmp_path / ".sop" / "sessions" / "new.jsonl")
    assert before.records == after.records
    assert before.header.judging == after.header.judging


def test_without_out_nothing_is_written(sopbench: Sopbench, session: Make, tmp_path: Path) -> None:
    session({"T1": text("<refund>a</refund>")})

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 0 == result.exit_code
    assert ["base.jsonl"] == [one.name for one in tmp_path.glob(".sop/sessions/*.jsonl")]


def test_runs_that_gave_no_answer_stay_as_they_were(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    problem = Problem(type="ValueError", message="no model")
    session(
        {
            "T1": Trace(ending=Ending.RAISED, problem=problem),
            "T2": Trace(ending=Ending.TIMED_OUT),
            "T3": Trace(ending=Ending.PROCESS_DIED),
        }
    )

    sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert {
        "T1": Outcome.ERROR,
        "T2": Outcome.TIMEOUT,
        "T3": Outcome.CRASH,
    } == rescored(tmp_path)


def test_an_event_log_tells_what_the_record_does_not(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    """The answer was cut in the record, and no answer is kept where none was found."""
    traces = {"T1": text(f"<refund>{LONG} refund a</refund>"), "T2": text("nothing at all")}
    session(traces, logged="T1 T2")

    result = sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert 0 == result.exit_code
    assert {"T1", "T2"} == {*rescored(tmp_path)}


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        pytest.param(text(f"<refund>{LONG}</refund>"), "does not hold", id="answer cut"),
        pytest.param(text("nothing at all"), "does not hold", id="no answer"),
        pytest.param(text(f"<refund>{MASK}</refund>"), "masked", id="masked"),
        pytest.param(text(f"<refund>Refund {MASK}</refund>"), "masked", id="masked in part"),
    ],
)
def test_what_was_not_kept_is_not_guessed(
    sopbench: Sopbench, session: Make, tmp_path: Path, trace: Trace, why: str
) -> None:
    session({"T1": trace, "T2": text("<refund>Refund A</refund>")})

    result = sopbench("rescore", "base", "--scoring", "published", "--out", "new")

    assert 1 == result.exit_code
    assert "1 run cannot be judged again, so nothing is written" in result.stderr
    assert why in result.stderr
    assert "refunds/T1" in result.stderr
    assert not (tmp_path / ".sop" / "sessions" / "new.jsonl").exists()


def test_an_expected_answer_that_was_masked_does_not_come_to_light(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    session({"T1": text("<refund>Refund B</refund>")})
    path = tmp_path / ".sop" / "sessions" / "base.jsonl"
    header, run, last = (line.decode() for line in map(bare, path.read_bytes().splitlines()))
    masked = run.replace('"Refund A"', f'"{MASK}"')
    path.write_bytes(b"".join(sealed_session(header_from_json(json.loads(header)), [masked, last])))

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 1 == result.exit_code
    assert "a value that decides is masked" in result.stderr
    assert "Refund A" not in result.output


def test_a_log_that_comes_to_another_outcome_is_not_believed(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    """A redaction may have taken the answer out of the log."""
    session({"T1": text("<refund>Refund A</refund>")}, logged="T1")
    (log,) = tmp_path.glob(".sop/sessions/base.traces/refunds/*.jsonl")
    log.write_text(log.read_text().replace("Refund A", "Refund B"))

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 1 == result.exit_code
    assert "comes to another outcome than the one recorded" in result.stderr


def test_a_row_that_changed_since_is_named(
    sopbench: Sopbench, session: Make, tmp_path: Path
) -> None:
    session({"T1": text("<refund>Refund A</refund>"), "T2": text("<refund>Refund A</refund>")})
    data = tmp_path / "domains" / "refunds" / "data.csv"
    data.write_text(data.read_text().replace("T1,Refund A", "T1,Refund B").replace("T2,", "T9,"))

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 1 == result.exit_code
    assert "1 run: its row has changed since\n  refunds/T1\n" in result.stderr
    assert "1 run: its domain has no such task" in result.stderr


def declare_alias(tmp_path: Path) -> None:
    path = tmp_path / "domains" / "refunds" / "metadata.json"
    metadata = json.loads(path.read_text())
    metadata["outputs"]["refund"]["aliases"] = {"A": "Refund A"}
    path.write_text(json.dumps(metadata))


@pytest.mark.parametrize("logged", ["", "T1"], ids=["from the record", "from the log"])
def test_what_was_declared_since_is_applied(
    sopbench: Sopbench, session: Make, tmp_path: Path, logged: str
) -> None:
    session({"T1": text("<refund>A</refund>")}, logged=logged)
    declare_alias(tmp_path)

    result = sopbench("rescore", "base", "--scoring", "exact", "--out", "new")

    assert 0 == result.exit_code
    assert {"T1": Outcome.CORRECT} == rescored(tmp_path)


@pytest.mark.parametrize(
    ("demand", "broken"),
    [
        pytest.param({"forbids": ["wire"]}, True, id="broken"),
        pytest.param({"forbids": ["other"]}, False, id="kept"),
    ],
)
def test_a_rule_that_was_written_since_is_held_against_the_recorded_calls(
    sopbench: Sopbench, session: Make, tmp_path: Path, demand: dict[str, Any], broken: bool
) -> None:
    session({"T1": replace(text("<refund>Refund A</refund>"), calls=(WIRE,))})
    write_rule(tmp_path, demand)

    result = sopbench("rescore", "base", "--scoring", "exact", "--out", "new")

    (record,) = read_session(tmp_path / ".sop" / "sessions" / "new.jsonl").records
    assert 0 == result.exit_code
    assert [broken] == [rule.broken for rule in record.rules]


@pytest.mark.parametrize("logged", [pytest.param("", id="record"), pytest.param("T1", id="log")])
@pytest.mark.parametrize(
    ("said", "ruled"),
    [
        pytest.param("A", ({"before": ["wire", "other"]}, True), id="overlapping"),
        pytest.param("A", ({"before": ["other", "late"]}, False), id="one after the other"),
        pytest.param("A", ({"arguments": {"equals_answer": "refund"}}, False), id="answered"),
        pytest.param("B", ({"arguments": {"equals_answer": "refund"}}, True), id="another"),
        pytest.param("B", ({"arguments": {"equals_expected": "refund"}}, False), id="expected"),
    ],
)
def test_a_rule_on_order_or_answer_is_ruled_on_as_the_run_was(
    sopbench: Sopbench,
    session: Make,
    tmp_path: Path,
    said: str,
    ruled: tuple[dict[str, Any], bool],
    logged: str,
) -> None:
    demand, broken = ruled
    wire = ToolCall(name="wire", arguments={"to": "refund_a"}, overlaps=1)
    calls = (wire, *(ToolCall(name=name, arguments={}) for name in ("other", "late")))
    session({"T1": replace(text(f"<refund>Refund {said}</refund>"), calls=calls)}, logged=logged)
    if "arguments" in demand:
        demand = {"arguments": {"tool": "wire", "argument": "to", **demand["arguments"]}}
    write_rule(tmp_path, demand)

    result = sopbench("rescore", "base", "--scoring", "exact", "--out", "new")

    (record,) = read_session(tmp_path / ".sop" / "sessions" / "new.jsonl").records
    assert 0 == result.exit_code
    assert [broken] == [rule.broken for rule in record.rules]


@pytest.mark.parametrize(
    ("call", "demand"),
    [
        pytest.param(
            ToolCall(name="wire", arguments={"note": LONG}), {"forbids": ["wire"]}, id="cut"
        ),
        pytest.param(
            ToolCall(name="wire", arguments={"to": MASK}), {"forbids": ["wire"]}, id="masked"
        ),
        pytest.param(
            ToolCall(name="wire", arguments={}), {"after_approval": ["wire"]}, id="approvals"
        ),
    ],
)
def test_a_rule_that_was_written_since_needs_whole_calls(
    sopbench: Sopbench, session: Make, tmp_path: Path, call: ToolCall, demand: dict[str, Any]
) -> None:
    session({"T1": replace(text("<refund>Refund A</refund>"), calls=(call,))})
    write_rule(tmp_path, demand)

    result = sopbench("rescore", "base", "--scoring", "exact")

    assert 1 == result.exit_code
    assert "the rules have changed since, its record is not whole" in result.stderr


def write_rule(tmp_path: Path, demand: dict[str, Any]) -> None:
    folder = tmp_path / "domains" / "refunds"
    tools = [
        {"name": name, "description": "", "parameters": {"type": "object"}}
        for name in ("wire", "other", "late")
    ]
    (folder / "toolspecs.json").write_text(json.dumps(tools))
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["tools"] = {name: {"result": {}} for name in ("wire", "other", "late")}
    metadata["contract"] = {"rules": [{"id": "r", **demand}]}
    (folder / "metadata.json").write_text(json.dumps(metadata))


def test_a_domain_that_is_not_found_is_wrong_usage(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs())

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 2 == result.exit_code
    assert "the domain refunds is not found" in result.stderr
    assert "--domain PATH" in result.stderr


def test_a_damaged_log_is_told(sopbench: Sopbench, session: Make, tmp_path: Path) -> None:
    session({"T1": text("<refund>Refund A</refund>")}, logged="T1")
    (log,) = tmp_path.glob(".sop/sessions/base.traces/refunds/*.jsonl")
    log.write_text(log.read_text().splitlines()[0])

    result = sopbench("rescore", "base", "--scoring", "published")

    assert 2 == result.exit_code
    assert "cut short, or no event log" in result.stderr
