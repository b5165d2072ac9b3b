"""`sopbench show`, `report` and `list`: what people and programs read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain, Outcome, RunRecord, Trace, Verdict
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED
from pytest_sopbench._sessions.event_logs import trace_name, traces_folder

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

BROKEN = RuleResult(
    id="no-wire",
    clause="4.2",
    severity=Severity.SHOULD,
    kind=DemandKind.FORBIDS,
    state=RuleState.BROKEN,
    why="wire was called",
    applies=True,
)


def test_without_a_task_the_runs_that_are_not_correct_are_listed(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("s", runs("T2", "T5"))

    assert [
        "2 of 6 runs are not correct (expected -> given: tasks)",
        "refund 'Refund A' -> 'Refund B': T2, T5",
        "one in full: sopbench show s TASK",
    ] == sopbench("show", "s").stdout.splitlines()


def test_correct_runs_that_broke_a_rule_are_listed_behind_them(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("s", [run_of("T1", rules=(BROKEN,)), run_of("T2"), run_of("T3", Outcome.WRONG)])

    assert [
        "1 of 3 runs is not correct (expected -> given: tasks)",
        "refund 'Refund A' -> 'Refund B': T3",
        "1 run is correct and broke a rule",
        "correct, but broke no-wire (4.2): T1",
        "one in full: sopbench show s TASK",
    ] == sopbench("show", "s").stdout.splitlines()


def test_planned_runs_without_a_line_are_listed(sopbench: Sopbench, save: Save, runs: Make) -> None:
    path = save("s", runs())
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:6]))

    assert [
        "1 of 6 runs is not correct",
        "not_run: it was never started: T6",
        "one in full: sopbench show s TASK",
    ] == sopbench("show", "s").stdout.splitlines()


@pytest.mark.parametrize(
    ("options", "is_cut"),
    [pytest.param((), True, id="cut"), pytest.param(("--all",), False, id="all")],
)
def test_a_long_list_is_cut_unless_all_are_asked_for(
    sopbench: Sopbench, save: Save, run_of: Make, options: tuple[str, ...], *, is_cut: bool
) -> None:
    save("s", [run_of(f"T{number}", Outcome.WRONG) for number in range(25)])

    lines = sopbench("show", "s", *options).stdout.splitlines()

    named = {f"T{number}" for number in range(25)} & {*" ".join(lines).replace(",", "").split()}
    assert is_cut is (len(named) < 25)
    assert is_cut is ("--all names every one of them" in lines)


@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [pytest.param((), ["T2"], id="misses"), pytest.param(("T1",), ["T1"], id="one task")],
)
def test_a_program_gets_the_runs_as_they_were_saved(
    sopbench: Sopbench, save: Save, runs: Make, arguments: tuple[str, ...], tasks: list[str]
) -> None:
    save("s", runs("T2"))

    found = json.loads(sopbench("show", "s", *arguments, "--json").stdout)

    assert tasks == [run["task"] for run in found]
    assert {"refund": "Refund A"} == found[0]["expected"]


def test_of_several_runs_of_a_task_what_is_not_correct_comes_first(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    right = run_of("T1", Outcome.CORRECT)
    save("s", [replace(right, agent="a"), replace(run_of("T1", Outcome.WRONG), agent="b")])

    lines = sopbench("show", "s", "T1").stdout.splitlines()

    agents = [line.split()[-1] for line in lines if line.startswith("agent ")]
    assert ["b", "a"] == agents


def test_json_stands_alone_on_the_output(sopbench: Sopbench, save: Save, runs: Make) -> None:
    """What is odd about a session is told beside it."""
    path = save("s", runs("T2"), whole=False)
    path.write_text(path.read_text() + '{"type":')

    result = sopbench("show", "s", "--json")

    assert 1 == len(json.loads(result.stdout))
    assert "cut short" in result.stderr


def test_a_domain_in_place_of_a_session_is_told_from_one(sopbench: Sopbench) -> None:
    result = sopbench("show", "dangerous_goods")

    assert 2 == result.exit_code
    assert "dangerous_goods is a domain, and no session is called so\n" in result.stderr
    assert "sopbench list dangerous_goods shows it" in result.stderr


def test_a_session_that_is_called_like_a_domain_is_shown(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("dangerous_goods", runs("T2"))

    assert "1 of 6 runs is not correct" in sopbench("show", "dangerous_goods").stdout


def test_domains_are_listed_for_a_program(sopbench: Sopbench, refunds: Domain) -> None:
    (found,) = [
        one for one in json.loads(sopbench("list", "--json").stdout) if one["name"] == "refunds"
    ]

    assert 6 == found["tasks"]
    assert ["id"] == found["inputs"]
    assert ["Refund A", "Refund B"] == found["outputs"][0]["values"]


def test_a_broken_domain_is_listed_with_its_problem(sopbench: Sopbench, refunds: Domain) -> None:
    (refunds.folder / "data.csv").write_text("")

    result = sopbench("list", "refunds", "--json")

    assert 2 == result.exit_code
    assert {"name", "problem"} == {*json.loads(result.stdout)[0]}


@pytest.mark.parametrize(
    "arguments", [(), ("--to=md",), ("--to", "md=-")], ids=["not said", "no target", "dash"]
)
def test_a_page_is_printed(
    sopbench: Sopbench, save: Save, runs: Make, arguments: tuple[str, ...]
) -> None:
    save("s", runs("T2"), options={"gates": ["tsr=0.5"]})

    result = sopbench("report", "s", *arguments)

    assert 0 == result.exit_code
    assert result.stdout.startswith("# SOP: refunds, agent a:b\n\n**The gate holds**: TSR 83.3%")


def test_a_page_is_written(sopbench: Sopbench, save: Save, runs: Make, tmp_path: Path) -> None:
    save("s", runs("T2"))

    result = sopbench("report", "s", "--to=md=page.md", "--fail-under=0.9")

    assert "" == result.stdout
    assert "**The gate does not hold**" in (tmp_path / "page.md").read_text()


def test_a_page_of_a_shard_says_that_no_gate_was_asked(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("s", runs(), options={"gates": ["tsr=0.5"], "selection": ["--sop-shard=1/2"]})

    result = sopbench("report", "s")

    assert "**No gate was evaluated**" in result.stdout
    assert "shard 1/2 is a part of the tasks" in result.stdout


@pytest.mark.parametrize(
    ("target", "why"),
    [
        pytest.param(
            "pdf=page.pdf", "'pdf' is no format\nwrite one of md, csv", id="unknown format"
        ),
        pytest.param("md=github", "pytest alone writes the summary of a step", id="step summary"),
    ],
)
def test_a_page_elsewhere_than_a_format_and_a_path_is_refused(
    sopbench: Sopbench, save: Save, runs: Make, target: str, why: str
) -> None:
    save("s", runs())

    result = sopbench("report", "s", f"--to={target}")

    assert 2 == result.exit_code
    assert why in result.stderr


def test_a_page_that_cannot_be_written_is_told(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("s", runs())

    result = sopbench("report", "s", "--to=md=gone/page.md")

    assert 2 == result.exit_code
    assert "gone/page.md: cannot be written" in result.stderr


def log_of(run: RunRecord, trace: Trace) -> str:
    """Return the event log of a run, as a session writes it."""
    rules, verdict = JudgingRules(fields=()), Verdict(outcome=run.outcome)
    return event_log(run.key, rules, trace, verdict, NOTHING_REDACTED)


def test_a_task_is_shown_with_its_inputs_and_the_clauses_of_its_rules(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain
) -> None:
    (refunds.folder / "sop.txt").write_text("4.1 Refund.\n4.2 Never wire money.\n", "utf-8")
    save("s", [run_of("T1", Outcome.WRONG, rules=(BROKEN,))])

    lines = sopbench("show", "s", "T1").stdout.splitlines()

    assert "task     refunds/T1  domains/refunds/data.csv:2" in lines
    assert "inputs   id: 'T1'" in lines
    assert "rule     no-wire (4.2) broken: wire was called" in lines
    assert "  clause 4.2 Never wire money." in lines


def test_what_was_changed_since_is_told(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain
) -> None:
    save("s", [run_of("T1", Outcome.WRONG, task_hash="of another row")])

    said = " ".join(sopbench("show", "s", "T1").stdout.split())

    assert "note the row, or the tools, were changed since: inputs are those of today" in said
    assert "note the SOP was changed since: clauses are those of today" in said


def test_what_only_the_domain_knows_is_asked_for_where_it_is_not_found(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("s", [run_of("T1", Outcome.WRONG)])

    said = " ".join(sopbench("show", "s", "T1").stdout.split())

    assert "the domain refunds is not found" in said
    assert "say where it is: --domain PATH" in said


def test_private_columns_and_what_the_project_masks_are_not_shown(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain, tmp_path: Path
) -> None:
    metadata = json.loads((refunds.folder / "metadata.json").read_text())
    metadata |= {"input_columns": ["id", "note"], "private_columns": ["iban"]}
    (refunds.folder / "metadata.json").write_text(json.dumps(metadata))
    (refunds.folder / "data.csv").write_text("id,note,iban,refund\nT1,pin=4711,DE89,Refund A\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nsop_redact = pin=[0-9]{4}\n")
    save("s", [run_of("T1", Outcome.WRONG)])

    said = sopbench("show", "s", "T1").stdout

    assert "note: '***'" in said
    assert "4711" not in said
    assert "DE89" not in said


def test_a_mask_that_means_nothing_is_wrong_usage(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nsop_redact = (\n")
    save("s", [run_of("T1", Outcome.WRONG)])

    result = sopbench("show", "s", "T1")

    assert 2 == result.exit_code
    assert "sop_redact" in result.stderr


def test_the_event_log_of_a_task_is_shown(sopbench: Sopbench, save: Save, run_of: Make) -> None:
    run = run_of("T1", Outcome.WRONG, trace="refunds/T1@a%3Ab.jsonl")
    messages = ({"role": "assistant", "content": "Let me see."},)
    path = save("s", [run])
    log = traces_folder(path) / trace_name(run.key)
    log.parent.mkdir(parents=True)
    log.write_text(log_of(run, Trace(ending=Ending.RETURNED, messages=messages)), "ascii")

    lines = sopbench("show", "s", "T1").stdout.splitlines()

    assert ["msg 1    assistant", "         Let me see."] == [
        line for line in lines if "assistant" in line or "Let me" in line
    ]
    assert "log      .sop/sessions/s.traces/refunds/T1@a%3Ab.jsonl" in lines


@pytest.mark.parametrize(
    ("trace", "written", "said"),
    [
        pytest.param("", None, "sop_traces = all keeps those of all runs", id="never kept"),
        pytest.param("a", None, "it is gone", id="gone"),
        pytest.param("a", "{", "it cannot be read:", id="damaged"),
    ],
)
def test_an_event_log_that_is_not_there_is_told(
    sopbench: Sopbench, save: Save, run_of: Make, trace: str, written: str | None, said: str
) -> None:
    run = run_of("T1", Outcome.WRONG, trace=trace, text="I refund B.")
    path = save("s", [run])
    if written is not None:
        log = traces_folder(path) / trace_name(run.key)
        log.parent.mkdir(parents=True)
        log.write_text(written)

    result = sopbench("show", "s", "T1")

    assert 0 == result.exit_code
    assert said in " ".join(result.stdout.split())
    assert "said     I refund B." in result.stdout


@pytest.mark.parametrize(
    ("options", "folded"),
    [pytest.param((), True, id="folded"), pytest.param(("--full",), False, id="full")],
)
def test_a_long_text_is_folded_unless_all_of_it_is_asked_for(
    sopbench: Sopbench, save: Save, run_of: Make, options: tuple[str, ...], folded: bool
) -> None:
    save("s", [run_of("T1", Outcome.WRONG, text="\n".join(map(str, range(100))))])

    said = sopbench("show", "s", "T1", *options).stdout

    assert ("... 61 more lines; --full shows them" in said) is folded
    assert ("         99" in said.splitlines()) is not folded


def test_the_width_is_that_of_the_terminal(
    sopbench: Sopbench, save: Save, run_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    save("s", [run_of("T1", Outcome.WRONG, text="word " * 100)])
    monkeypatch.setenv("COLUMNS", "120")

    widths = [len(line) for line in sopbench("show", "s", "T1").stdout.splitlines()]

    assert 110 < max(widths) <= 120


def test_a_task_in_full_ends_with_the_command_that_runs_it_again(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain
) -> None:
    save("s", [run_of("T2", Outcome.WRONG)])

    lines = sopbench("show", "s", "T2").stdout.splitlines()

    assert refunds.name == "refunds"
    assert "again    pytest --sop-domain=refunds::T2 --sop-agent=a:b" == lines[-1]


def test_the_command_of_a_trial_makes_that_trial_alone(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain
) -> None:
    save("s", [run_of("T2", Outcome.WRONG, trial=3)])

    again = sopbench("show", "s", "T2").stdout.splitlines()[-1]

    assert f"again    pytest sop:{refunds.name}::T2/t3 --sop-trials=3 --sop-agent=a:b" == again


def test_the_agent_of_a_fixture_is_none_that_an_option_could_name(
    sopbench: Sopbench, save: Save, run_of: Make, refunds: Domain
) -> None:
    save("s", [run_of("T2", Outcome.WRONG, agent="sop_agent")])

    assert "\nagain " not in sopbench("show", "s", "T2").stdout


def test_a_task_of_another_session_is_found_there(
    sopbench: Sopbench, save: Save, runs: Make, run_of: Make
) -> None:
    save("whole", runs("T2"))
    save("one", [run_of("T2", Outcome.WRONG)], options={"selection": ["--sop-sample=first:1"]})

    result = sopbench("show", "one", "T5")

    assert 2 == result.exit_code
    assert (
        "no run of a task 'T5'; it ran 1 task, selected by --sop-sample=first:1\n" in result.stderr
    )
    assert result.stderr.endswith("the session whole ran it\n")
