"""Runs of which no gate is asked: what a gate on others must not forgive."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.gates.conditions import read_gate, unasked_agents, unasked_verdicts
from pytest_sopbench._core.metrics.counts import FieldCounts
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.verdict import Outcome


def summary(correct: int, wrong: int, *fields: str) -> Summary:
    return Summary(
        runs=correct + wrong,
        outcomes={Outcome.CORRECT: correct, Outcome.WRONG: wrong},
        by_field={name: FieldCounts(right=correct, runs=correct + wrong) for name in fields},
    )


TWO_DOMAINS = {"lab": summary(10, 0, "grade"), "clinic": summary(7, 3, "ward")}
TWO_AGENTS = {"lab (a)": summary(10, 0), "lab (b)": summary(6, 4)}


def unasked(of: dict[str, Summary], *gates: str) -> dict[str, str]:
    found = unasked_verdicts([*map(read_gate, gates)], of)
    return {one.where: f"{one.state.value} {one.got}" for one in found}


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(["tsr=0.5"], id="every domain"),
        pytest.param(["clinic:ecr=0.5"], id="the one with misses"),
        pytest.param(["lab:tsr=1", "clinic:tsr=0"], id="each by its name"),
        pytest.param(["clinic:lost=0"], id="a comparison of it"),
        pytest.param(["field:ward=0.5"], id="a field that only it has"),
        pytest.param(["field:*=0"], id="every field"),
    ],
)
def test_misses_are_looked_at_by_gates_on(gates: list[str]) -> None:
    assert {} == unasked(TWO_DOMAINS, *gates)


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(["lab:tsr=0.5"], id="another domain"),
        pytest.param(["lab:lost=0"], id="a comparison of another domain"),
        pytest.param(["field:grade=0.5"], id="a field that only another domain has"),
        pytest.param(["lab:tsr=0.5", "clinic:unavailable=0.5"], id="what others tolerate of it"),
        pytest.param(["nobody:tsr=0.5", "lab:tsr=1"], id="a domain that did not run"),
    ],
)
def test_misses_are_not_looked_at_by_gates_on(gates: list[str]) -> None:
    assert {"clinic": "does not hold 3"} == unasked(TWO_DOMAINS, *gates)


@pytest.mark.parametrize("gate", ["tsr=0.9@a", "lab:tsr=0.9@a"])
def test_an_agent_that_no_gate_names_is_told_and_fails_nothing(gate: str) -> None:
    told = unasked_agents([read_gate(gate)], TWO_AGENTS)

    assert ["lab (b): no gate is asked; 4 of 10 are not correct"] == [*told]
    assert {} == unasked(TWO_AGENTS, gate)


def test_agents_of_a_domain_of_which_no_gate_is_asked_fail_it() -> None:
    both = {**TWO_AGENTS, "clinic (a)": summary(9, 1), "clinic (b)": summary(10, 0)}

    assert {"clinic (a)": "does not hold 1"} == unasked(both, "lab:tsr=0.9@a")


def test_a_domain_without_misses_needs_no_gate() -> None:
    assert {} == unasked(TWO_DOMAINS, "clinic:tsr=0.5")
