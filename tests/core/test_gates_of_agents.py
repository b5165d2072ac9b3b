"""Gates where several agents ran: each is asked by itself, and one may be named."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.gates.conditions import (
    GateSpec,
    GateState,
    evaluate,
    gate_text,
    read_gate,
)
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.verdict import Outcome

GOOD, BAD = "function-calling:openai/gpt-5-mini", "react:openai/o4"


def summary(correct: int, runs: int = 10, **others: int) -> Summary:
    outcomes = {Outcome(name): number for name, number in others.items()}
    rest = runs - correct - sum(others.values())
    return Summary(runs=runs, outcomes={Outcome.CORRECT: correct, Outcome.WRONG: rest, **outcomes})


BOTH = {
    f"lab ({GOOD})": summary(10),
    f"lab ({BAD})": summary(2),
    f"clinic ({GOOD})": summary(9),
    f"clinic ({BAD})": summary(3),
}


def asked(text: str, of: dict[str, Summary] | None = None) -> dict[str, str]:
    return {
        one.where: f"{one.state.value} {one.got}"
        for one in evaluate([read_gate(text)], BOTH if of is None else of)
    }


def test_a_gate_without_a_name_is_asked_of_each_agent_and_never_of_both_together() -> None:
    assert {
        f"lab ({GOOD})": "holds 100%",
        f"lab ({BAD})": "does not hold 20%",
        f"clinic ({GOOD})": "holds 90%",
        f"clinic ({BAD})": "does not hold 30%",
        f"all ({GOOD})": "holds 95%",
        f"all ({BAD})": "does not hold 25%",
    } == asked("tsr=0.6")


@pytest.mark.parametrize("name", [GOOD, "gpt-5-mini"], ids=["by-its-spec", "by-its-label"])
def test_a_gate_may_name_an_agent(name: str) -> None:
    found = asked(f"tsr=0.6@{name}")

    assert {f"lab ({GOOD})", f"clinic ({GOOD})", f"all ({GOOD})"} == found.keys()


def test_a_gate_may_name_a_domain_and_an_agent() -> None:
    assert {f"lab ({BAD})": "holds 20%"} == asked("lab:tsr=0.2@o4")


def test_a_gate_on_an_agent_that_did_not_run_is_inconclusive() -> None:
    assert {"all (nobody)": "inconclusive n/a"} == asked("tsr=0@nobody")


def test_the_one_agent_of_a_session_may_be_named() -> None:
    gate = read_gate("tsr=0.6@gpt-5-mini")

    (verdict,) = evaluate([gate], {"lab": summary(9)}, agents={"lab": GOOD})

    assert GateState.HOLDS is verdict.state


def test_unavailable_runs_of_one_agent_leave_the_others_gates_alone() -> None:
    of = {**BOTH, f"lab ({BAD})": summary(5, unavailable=5)}

    found = asked("tsr=0.6", of)

    assert "holds 100%" == found[f"lab ({GOOD})"]
    assert "holds 95%" == found[f"all ({GOOD})"]
    assert "inconclusive n/a" == found[f"lab ({BAD})"]
    assert "inconclusive n/a" == found[f"all ({BAD})"]


def test_a_bound_on_unavailable_runs_may_be_that_of_one_agent() -> None:
    of = {name: summary(5, unavailable=5) for name in BOTH}
    gates = [read_gate("tsr=0.5"), read_gate("unavailable=0.5@gpt-5-mini")]

    states = {one.where: one.state for one in evaluate(gates, of) if one.asked.startswith("TSR")}

    assert GateState.HOLDS is states[f"lab ({GOOD})"]
    assert GateState.INCONCLUSIVE is states[f"lab ({BAD})"]


@pytest.mark.parametrize(
    "text",
    ["tsr=0.9@gpt-5-mini", "lab:lost=2@a@b", "p=0.05@one=two"],
    ids=["plain", "at", "equals"],
)
def test_a_gate_with_an_agent_reads_as_it_is_written(text: str) -> None:
    assert text == gate_text(read_gate(text))


def test_the_agent_stands_behind_the_value() -> None:
    assert GateSpec(name="tsr", value=0.9, domain="lab", agent="a:b/c") == read_gate(
        "lab:tsr=90%@a:b/c"
    )
    with pytest.raises(ValueError, match=r"write \[DOMAIN:\]NAME=VALUE\[@AGENT\]"):
        read_gate("tsr=0.9@")


def test_a_gate_is_asked_also_where_no_run_is_left_to_ask_of() -> None:
    (verdict,) = evaluate([read_gate("tsr=0")], {})

    assert GateState.INCONCLUSIVE is verdict.state
    assert verdict.why.startswith("no run was planned")
