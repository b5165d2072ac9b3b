"""Gates on what one pays: a bound that is kept, one that is not, and what nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, Summary
from pytest_sopbench._core.gates.conditions import (
    GateSpec,
    GateState,
    GateVerdict,
    evaluate,
    has_gate,
    read_gate,
    unasked_verdicts,
)
from pytest_sopbench._core.metrics.counts import Amount

CENTS = st.lists(st.integers(0, 10_000), min_size=1, max_size=30)


def paid(*costs: float | None, tokens: float = 10, seconds: float = 1.0) -> Summary:
    """Return a summary of one run for each cost; `None` is a run that told nothing."""
    told = [one for one in costs if one is not None]
    amounts = {
        "cost_usd": Amount(total=sum(told), known=len(told)),
        "input_tokens": Amount(total=tokens * len(told), known=len(told)),
        "output_tokens": Amount(total=tokens * len(told), known=len(told)),
    }
    count = len(costs)
    return Summary(
        runs=count,
        tasks=count,
        outcomes={Outcome.CORRECT: count},
        durations=(seconds,) * count,
        usage=amounts if told else {},
    )


def verdict(text: str, summary: Summary) -> GateVerdict:
    (found,) = evaluate([read_gate(text)], {"lab": summary})
    return found


@given(CENTS, st.integers(0, 400_000))
def test_a_total_holds_as_soon_as_the_bound_is_what_was_paid(cents: list[int], bound: int) -> None:
    found = verdict(f"total_cost={bound / 100!r}", paid(*(one / 100 for one in cents)))

    assert (GateState.HOLDS if sum(cents) <= bound else GateState.FAILS) is found.state


@given(CENTS, st.integers(0, 10_000))
def test_a_mean_is_that_of_the_planned_runs(cents: list[int], bound: int) -> None:
    found = verdict(f"cost={bound / 100!r}", paid(*(one / 100 for one in cents)))

    held = sum(cents) <= bound * len(cents)
    assert (GateState.HOLDS if held else GateState.FAILS) is found.state


@given(CENTS, st.integers(1, 5), st.sampled_from(["cost", "total_cost", "tokens", "total_tokens"]))
def test_one_run_that_told_nothing_leaves_the_gate_open(
    cents: list[int], silent: int, name: str
) -> None:
    """Also if the bound is far above what the others cost: the one may have cost anything."""
    found = verdict(f"{name}=1e9", paid(*(one / 100 for one in cents), *(None,) * silent))

    assert GateState.INCONCLUSIVE is found.state
    assert ("n/a", None) == (found.got, found.value)
    assert f"{silent} of {len(cents) + silent} runs" in found.why


@pytest.mark.parametrize("name", ["cost", "total_cost", "tokens", "total_tokens", "latency_p95"])
def test_runs_of_which_nothing_is_known_cost_not_nothing(name: str) -> None:
    empty = Summary(runs=2, tasks=2, outcomes={Outcome.CORRECT: 2})

    assert GateState.INCONCLUSIVE is verdict(f"{name}=1000", empty).state


def test_tokens_are_those_of_input_and_output() -> None:
    assert GateState.HOLDS is verdict("tokens=20", paid(0.1, 0.1, tokens=10)).state
    assert GateState.FAILS is verdict("tokens=19", paid(0.1, 0.1, tokens=10)).state
    assert GateState.FAILS is verdict("total_tokens=39", paid(0.1, 0.1, tokens=10)).state


def test_latency_is_bounded_in_seconds() -> None:
    held, failed = (
        verdict("latency_p95=2", paid(0, seconds=2)),
        verdict("latency_p95=1.9", paid(0, seconds=2)),
    )

    assert (GateState.HOLDS, "latency p95 <= 2 s") == (held.state, held.asked)
    assert (GateState.FAILS, "2 s") == (failed.state, failed.got)


def test_a_run_without_a_duration_leaves_latency_open() -> None:
    summary = Summary(runs=2, tasks=2, outcomes={Outcome.CORRECT: 2}, durations=(1.0,))

    assert GateState.INCONCLUSIVE is verdict("latency_p95=60", summary).state


def test_large_numbers_are_written_out() -> None:
    found = verdict("total_tokens=1234567", paid(0, tokens=617_284))

    assert ("tokens in all <= 1234567 tokens", "1234568 tokens") == (found.asked, found.got)


def test_each_agent_is_bounded_by_itself_or_one_of_them_by_name() -> None:
    both = {"lab (dear)": paid(2.0), "lab (cheap)": paid(0.5)}

    every = evaluate([read_gate("cost=1")], both)
    one = evaluate([read_gate("cost=1@cheap")], both)

    assert [GateState.FAILS, GateState.HOLDS] == [each.state for each in every]
    assert [("lab (cheap)", GateState.HOLDS)] == [(each.where, each.state) for each in one]


def test_what_is_paid_bounds_no_misses() -> None:
    """Who asks for a cost alone has not said that answers may be wrong."""
    spec = GateSpec(name="cost", value=1)
    wrong = Summary(runs=1, tasks=1, outcomes={Outcome.WRONG: 1})

    (found,) = unasked_verdicts([spec], {"lab": wrong})

    assert has_gate([spec])
    assert GateState.FAILS is found.state


@pytest.mark.parametrize(
    "text", ["cost=-1", "cost=nan", "cost=inf", "cost=much", "tokens=", "cost=5%"]
)
def test_a_bound_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.partition("=")[0]):
        read_gate(text)
