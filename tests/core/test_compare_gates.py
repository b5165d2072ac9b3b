"""Gates on a comparison: what holds, what does not, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from pytest_sopbench._core.comparing.compare import compare
from pytest_sopbench._core.comparing.comparison import ComparedSession, SessionComparison
from pytest_sopbench._core.gates.conditions import (
    COMPARISON_GATES,
    GateSpec,
    GateState,
    blockers_of,
    evaluate_comparison,
    gate_names,
)
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from tests.builders.runs import run

RIGHT, WRONG, AWAY, NEVER = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE, Outcome.NOT_RUN
HOLDS, FAILS, UNKNOWN = GateState.HOLDS, GateState.FAILS, GateState.INCONCLUSIVE


def runs(outcomes: Iterable[Outcome], domain: str = "d") -> list[RunRecord]:
    return [run(f"t{number}", outcome, domain=domain) for number, outcome in enumerate(outcomes)]


def comparison(
    before: list[RunRecord], now: list[RunRecord], judging: str = ""
) -> SessionComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="current", records=now, judging=judging),
    )


def of(lost: int, gained: int, same: int) -> SessionComparison:
    return comparison(
        runs([RIGHT] * lost + [WRONG] * gained + [RIGHT] * same),
        runs([WRONG] * lost + [RIGHT] * gained + [RIGHT] * same),
    )


def state(name: str, value: float, compared: SessionComparison | None) -> GateState:
    (verdict,) = evaluate_comparison([GateSpec(name=name, value=value)], compared)
    return verdict.state


def test_a_gate_says_of_how_many_tasks_it_holds() -> None:
    before = [replace(run, task_hash="old") for run in runs([RIGHT] * 12)]
    now = [replace(before[0], task_hash="new", outcome=WRONG), *before[1:11]]

    (verdict,) = evaluate_comparison([GateSpec(name="lost", value=0)], comparison(before, now))

    assert "holds for 10 of 12 tasks; 1 changed, 1 gone (got 0)" == verdict.found


def test_a_gate_that_speaks_of_all_tasks_or_does_not_hold_counts_none() -> None:
    before = [replace(run, task_hash="old") for run in runs([RIGHT] * 12)]
    now = [replace(run, outcome=WRONG) for run in before[:11]]
    spec = [GateSpec(name="lost", value=0)]

    (all_of_them,) = evaluate_comparison(spec, comparison(before, before))
    (fails,) = evaluate_comparison(spec, comparison(before, now))

    assert "holds (got 0)" == all_of_them.found
    assert "does not hold (got 11)" == fails.found


@pytest.mark.parametrize(
    ("name", "value", "compared", "expected"),
    [
        pytest.param("lost", 2, of(2, 0, 98), HOLDS, id="as many lost as may be"),
        pytest.param("lost", 2, of(3, 9, 88), FAILS, id="gained tasks make up for none lost"),
        pytest.param("lost", 0, of(0, 0, 9), HOLDS, id="none lost"),
        pytest.param("drop", 0.1, of(1, 0, 9), HOLDS, id="a drop as large as may be"),
        pytest.param("drop", 0.09, of(1, 0, 9), FAILS, id="a larger drop"),
        pytest.param("drop", 0.3, of(3, 0, 7), HOLDS, id="a drop that no float can spell"),
        pytest.param("drop", 0.0, of(1, 2, 9), HOLDS, id="a rise"),
        pytest.param("p", 0.05, of(5, 0, 95), UNKNOWN, id="five lost"),
        pytest.param("p", 0.05, of(1, 0, 11), UNKNOWN, id="one of twelve lost"),
        pytest.param("p", 0.05, of(1, 4, 95), UNKNOWN, id="one lost, and too few changed"),
        pytest.param("p", 0.05, of(4, 3, 93), HOLDS, id="a loss that chance explains"),
        pytest.param("p", 0.05, of(6, 0, 94), FAILS, id="six lost"),
        pytest.param("p", 0.01, of(6, 0, 94), UNKNOWN, id="a stricter p takes more"),
        pytest.param("p", 0.01, of(6, 2, 92), HOLDS, id="a stricter p"),
        pytest.param("p", 0.05, of(0, 0, 5), HOLDS, id="an identical agent on five tasks"),
        pytest.param("p", 0.05, of(0, 2, 3), HOLDS, id="none lost on five tasks"),
        pytest.param("p", 0.05, of(0, 60, 40), HOLDS, id="a significant gain"),
        pytest.param("p", 0.05, of(5, 0, 0), UNKNOWN, id="five tasks can show nothing"),
        pytest.param("lost", 9, None, UNKNOWN, id="no baseline"),
        pytest.param("lost", 9, comparison([], runs([RIGHT])), UNKNOWN, id="no task in common"),
        pytest.param("drop", 1, comparison([], runs([RIGHT])), UNKNOWN, id="nor a rate"),
    ],
)
def test_a_gate_on_a_comparison(
    name: str, value: float, compared: SessionComparison | None, expected: GateState
) -> None:
    assert expected is state(name, value, compared)


@pytest.mark.parametrize("name", COMPARISON_GATES)
@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param([RIGHT] * 100, [RIGHT] * 80, HOLDS, id="80 % paired"),
        pytest.param([RIGHT] * 100, [RIGHT] * 79, UNKNOWN, id="79 % paired"),
        pytest.param([RIGHT] * 79, [RIGHT] * 100, UNKNOWN, id="too many tasks are added"),
        pytest.param([RIGHT] * 100, [RIGHT] * 95 + [AWAY] * 5, HOLDS, id="5 % unavailable"),
        pytest.param([RIGHT] * 100, [RIGHT] * 94 + [AWAY] * 6, UNKNOWN, id="6 % unavailable"),
        pytest.param([RIGHT] * 100, [RIGHT] * 99 + [NEVER], UNKNOWN, id="one never started"),
        pytest.param([AWAY] * 20 + [RIGHT] * 80, [RIGHT] * 100, HOLDS, id="20 % were unavailable"),
        pytest.param([AWAY] * 21 + [RIGHT] * 79, [RIGHT] * 100, UNKNOWN, id="more than these"),
    ],
)
def test_too_little_to_compare_is_inconclusive(
    name: str, before: list[Outcome], now: list[Outcome], expected: GateState
) -> None:
    assert expected is state(name, 0.05, comparison(runs(before), runs(now)))


@pytest.mark.parametrize("name", COMPARISON_GATES)
def test_sessions_judged_by_other_rules_are_inconclusive_with_a_hint(name: str) -> None:
    same = runs([RIGHT] * 20)

    (verdict,) = evaluate_comparison(
        [GateSpec(name=name, value=0.05)], comparison(same, same, judging="other")
    )

    assert verdict.state is UNKNOWN
    assert "rescore" in verdict.why


def test_more_unavailable_may_be_tolerated() -> None:
    compared = comparison(runs([RIGHT] * 100), runs([RIGHT] * 85 + [AWAY] * 15))
    spec = GateSpec(name="lost", value=0)
    of = {"lab": Summary(runs=100, outcomes={Outcome.CORRECT: 85, Outcome.UNAVAILABLE: 15})}
    tolerant = blockers_of([GateSpec(name="unavailable", value=0.2)], of)

    (verdict,) = evaluate_comparison([spec], compared, tolerant)

    assert verdict.state is HOLDS


def test_a_gate_is_asked_of_every_domain_and_of_all_tasks() -> None:
    compared = comparison(
        [*runs([RIGHT] * 9, "one"), *runs([RIGHT] * 9, "two")],
        [*runs([RIGHT] * 9, "one"), *runs([WRONG, *[RIGHT] * 8], "two")],
    )

    verdicts = evaluate_comparison(
        [GateSpec(name="lost", value=0), GateSpec(name="lost", value=0, domain="one")], compared
    )

    assert [("one", HOLDS), ("two", FAILS), ("all", FAILS), ("one", HOLDS)] == [
        (verdict.where, verdict.state) for verdict in verdicts
    ]


def test_a_domain_that_is_in_neither_session_is_inconclusive() -> None:
    spec = GateSpec(name="lost", value=5, domain="other")

    (verdict,) = evaluate_comparison([spec], of(0, 0, 9))

    assert ("other", UNKNOWN) == (verdict.where, verdict.state)


@pytest.mark.parametrize("name", COMPARISON_GATES)
def test_a_gate_that_does_not_hold_says_what_it_asked_got_and_why(name: str) -> None:
    (verdict,) = evaluate_comparison([GateSpec(name=name, value=0.05)], of(9, 0, 20))

    assert verdict.state is FAILS
    assert "5%" in verdict.asked or "0.05" in verdict.asked
    assert verdict.got
    assert verdict.why


def test_a_rise_is_not_called_a_negative_drop() -> None:
    (verdict,) = evaluate_comparison([GateSpec(name="drop", value=0.02)], of(0, 1, 9))

    assert "a rise of 10%" == verdict.got


def test_a_gate_on_a_summary_is_none_on_a_comparison() -> None:
    """It would go unasked."""
    assert not {*gate_names()} & {*COMPARISON_GATES}
    with pytest.raises(KeyError):
        evaluate_comparison([GateSpec(name="tsr", value=0.5)], of(0, 0, 9))
