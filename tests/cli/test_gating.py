"""`sopbench gate`: the exit status that a saved session has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Outcome, RunKey
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._sessions.lines import sealed, seed_of
from pytest_sopbench._sessions.writer import start_to_line

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]


def broken(severity: Severity) -> RuleResult:
    return RuleResult(
        id="no-wire",
        clause="",
        severity=severity,
        kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN,
        why="wire was called",
        applies=True,
    )


@pytest.mark.parametrize(
    ("gate", "status", "line"),
    [
        pytest.param(
            ("--fail-under", "0.5"), 0, "gate   TSR >= 50% holds (got 66.67%)", id="holds"
        ),
        pytest.param(
            ("--fail-under", "90%"),
            1,
            "gate   TSR >= 90% does not hold (got 66.67%): 4 of 6",
            id="does not",
        ),
        pytest.param(
            ("--gate", "grounded_tsr=0.1"),
            3,
            "gate   grounded TSR >= 10% inconclusive (got n/a): no rule requires a tool",
            id="inconclusive",
        ),
    ],
)
def test_the_status_is_that_of_the_gate(
    sopbench: Sopbench, save: Save, runs: Make, gate: tuple[str, ...], status: int, line: str
) -> None:
    save("base", runs("T1", "T2"))

    result = sopbench("gate", "base", *gate)

    assert status == result.exit_code
    assert f"{line}\n" == result.stdout


def test_a_gate_on_a_domain_that_did_not_run_is_inconclusive_and_misses_elsewhere_fail(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs("T1", "T2"))

    result = sopbench("gate", "base", "--gate", "other:tsr=0.1")

    text = " ".join(result.output.split())
    assert 1 == result.exit_code
    assert "other: TSR >= 10% inconclusive (got n/a): no run was planned" in text
    assert "refunds: runs that are not correct, if no gate is checked <= 0" in text


def test_one_gate_that_does_not_hold_outweighs_one_that_nobody_knows(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs("T1"))

    result = sopbench("gate", "base", "--gate", "grounded_tsr=0.1", "--gate", "tsr=1")

    assert 1 == result.exit_code


def test_without_a_gate_it_asks_what_the_session_was_asked(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs("T1"), options={"gates": ["tsr=0.9", "refunds:ecr=0.5"]})

    result = sopbench("gate", "base")

    assert 1 == result.exit_code
    assert [
        "gate   TSR >= 90% does not hold (got 83.33%): 5 of 6",
        "gate   refunds: ECR >= 50% holds (got 100%)",
    ] == result.stdout.splitlines()


def test_gates_of_the_command_line_replace_those_of_the_session(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs("T1"), options={"gates": ["tsr=0.9"]})

    assert 0 == sopbench("gate", "base", "--fail-under", "0.8").exit_code


def test_a_planned_run_without_a_line_makes_every_gate_inconclusive(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    """What a killed session leaves behind must never pass for the whole."""
    path = save("cut", runs())
    lines = path.read_text("ascii").splitlines(keepends=True)
    path.write_text("".join(lines[:4]), "ascii")

    result = sopbench("gate", "cut", "--fail-under", "0.1")

    assert 3 == result.exit_code
    assert "3 of 6 runs were never started" in result.stdout


def test_a_run_that_was_begun_and_has_no_end_is_a_crash(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    path = save("cut", runs(), whole=False)
    lines = path.read_bytes().splitlines(keepends=True)
    begun = sealed(start_to_line(RunKey("refunds", "T6", 1, "a:b")), seed_of("cut")) + b"\n"
    path.write_bytes(b"".join([*lines[:-1], begun]))

    result = sopbench("gate", "cut", "--fail-under", "1")

    assert 1 == result.exit_code
    assert "does not hold (got 83.33%): 5 of 6" in result.stdout


@pytest.mark.parametrize(
    ("severity", "options", "status"),
    [
        pytest.param(Severity.MUST, {}, 1, id="must"),
        pytest.param(Severity.SHOULD, {}, 0, id="should"),
        pytest.param(Severity.SHOULD, {"contract": "enforce"}, 1, id="should, enforced"),
    ],
)
def test_no_gate_forgives_a_rule_that_must_hold(
    sopbench: Sopbench,
    save: Save,
    run_of: Make,
    severity: Severity,
    options: dict[str, Any],
    status: int,
) -> None:
    save("base", [run_of(rules=(broken(severity),))], options=options)

    result = sopbench("gate", "base", "--fail-under", "0.5")

    assert status == result.exit_code
    assert ("refunds/T1 no-wire" in " ".join(result.stdout.split())) is (status == 1)


def test_tasks_that_might_fail_stay_outside(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("base", runs("T1"), options={"quarantined": ["refunds/T1"]})

    result = sopbench("gate", "base", "--fail-under", "1")

    assert 0 == result.exit_code
    assert "gate   TSR >= 100% holds (got 100%)\n" == result.stdout


@pytest.fixture
def asked(sopbench: Sopbench, save: Save, run_of: Make) -> Make:
    """Ask two gates that hold of a session with these options and this outcome of T1."""

    def gate(options: dict[str, Any], outcome: Outcome) -> Result:
        gates = {"gates": ["unavailable=0.5", "tsr=0.5"]}
        save("base", [run_of("T1", outcome), run_of("T2")], options={**options, **gates})
        return sopbench("gate", "base")

    return gate


@pytest.mark.parametrize(
    ("options", "outcome", "status", "line"),
    [
        pytest.param(
            {"must_pass": ["refunds/T1"]},
            Outcome.WRONG,
            1,
            "gate   tasks that must pass and did not <= 0 does not hold (got 1): refunds/T1",
            id="must pass",
        ),
        pytest.param(
            {"must_pass": ["refunds/T1"]},
            Outcome.UNAVAILABLE,
            3,
            "gate   tasks that must pass, unknown <= 0 inconclusive (got 1): refunds/T1",
            id="nobody knows",
        ),
        pytest.param(
            {"expired": ["refunds/T1"]},
            Outcome.CORRECT,
            1,
            "gate   tasks whose entry is expired <= 0 does not hold (got 1): refunds/T1",
            id="expired",
        ),
        pytest.param({"must_pass": ["refunds/T1"]}, Outcome.CORRECT, 0, "", id="passed"),
    ],
)
def test_no_gate_forgives_what_the_tasks_file_asked_for(
    asked: Make, options: dict[str, Any], outcome: Outcome, status: int, line: str
) -> None:
    result = asked(options, outcome)

    assert status == result.exit_code
    assert ([line] if line else []) == result.stdout.splitlines()[2:]


def test_a_session_whose_gates_were_not_evaluated_does_not_pass(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs(), options={"gates": ["tsr=0.1"], "not_evaluated": "-k took 3 tasks away"})

    result = sopbench("gate", "base")

    assert 3 == result.exit_code
    assert "gate   not evaluated: -k took 3 tasks away\n" == result.stdout


def test_a_task_that_must_pass_fails_also_a_session_whose_gates_were_not_evaluated(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    """As the session itself did: what the tasks file asks is asked of a part of the tasks, too."""
    options = {
        "gates": ["tsr=0.1"],
        "not_evaluated": "-k took 3 tasks away",
        "must_pass": ["refunds/T1"],
    }
    save("base", runs("T1"), options=options)

    result = sopbench("gate", "base")

    assert 1 == result.exit_code
    assert [
        "gate   not evaluated: -k took 3 tasks away",
        "gate   tasks that must pass and did not <= 0 does not hold (got 1): refunds/T1",
    ] == result.stdout.splitlines()


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        pytest.param("lost=1", 0, id="as many"),
        pytest.param("lost=0", 1, id="one too many"),
        pytest.param("drop=0.1", 1, id="a fall"),
    ],
)
def test_gates_on_a_comparison_take_the_baseline_that_is_named(
    sopbench: Sopbench, save: Save, runs: Make, gate: str, status: int
) -> None:
    save("base", runs())
    save("now", runs("T1"))

    assert status == sopbench("gate", "now", "--gate", gate, "--compare", "base").exit_code


def test_a_gate_on_a_comparison_takes_the_baseline_of_the_session(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("base", runs())
    save("now", runs("T1"), options={"gates": ["lost=0.0"], "compare": "base"})

    assert 1 == sopbench("gate", "now").exit_code


def test_a_gate_on_a_comparison_without_a_baseline_is_inconclusive(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("now", runs())

    assert 3 == sopbench("gate", "now", "--gate", "lost=0").exit_code


def test_json_tells_a_program_the_same(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("base", runs("T1"))

    result = sopbench("gate", "base", "--fail-under", "0.9", "--json")

    assert 1 == result.exit_code
    assert {
        "session": ".sop/sessions/base.jsonl",
        "started": "2026-01-01T00:00:00+00:00",
        "state": "does not hold",
        "not_evaluated": "",
        "gates": [
            {
                "where": "",
                "asked": "TSR >= 90%",
                "got": 5 / 6,
                "got_text": "83.33%",
                "state": "does not hold",
                "why": "5 of 6",
                "part": "",
            }
        ],
    } == json.loads(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("base",), "it has no gate", id="no gate"),
        pytest.param(("base", "--gate", "tsr"), "write [DOMAIN:]NAME=VALUE", id="no value"),
        pytest.param(
            ("base", "--gate", "foo=1"), "NAME being one of tsr, ecr", id="no gate's name"
        ),
        pytest.param(("base", "--gate", "tsr=2"), "a rate from 0 to 1", id="no rate"),
        pytest.param(("base", "--gate", "lost=1.5"), "a number of tasks", id="half a task"),
        pytest.param(("base", "--gate", "p=0"), "a probability above 0", id="impossible"),
        pytest.param(("base", "--fail-under", "x"), "a rate from 0 to 1", id="no bound"),
        pytest.param(("shard", "--fail-under", "1"), "cannot be gated", id="shard"),
        pytest.param(("odd",), "NAME being one of", id="recorded gate of the future"),
        pytest.param(("gone", "--fail-under", "1"), "cannot be read", id="no session"),
    ],
)
def test_wrong_usage_is_told(
    sopbench: Sopbench, save: Save, runs: Make, arguments: tuple[str, ...], message: str
) -> None:
    save("base", runs())
    save("odd", runs(), options={"gates": ["future=1"]})
    save("shard", runs(), options={"selection": ["--sop-shard=1/2"]})

    result = sopbench("gate", *arguments)

    assert 2 == result.exit_code
    assert message in " ".join(result.stderr.split())
    assert "" == result.stdout


def test_the_gate_of_a_domain_that_several_agents_ran_is_asked_of_each(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("base", [run_of(agent="one"), run_of(agent="two", outcome=Outcome.WRONG)])

    result = sopbench("gate", "base", "--gate", "refunds:tsr=0.5")

    assert 1 == result.exit_code
    assert [
        "gate   refunds (one): TSR >= 50% holds (got 100%)",
        "gate   refunds (two): TSR >= 50% does not hold (got 0%): 0 of 1",
    ] == result.stdout.splitlines()
