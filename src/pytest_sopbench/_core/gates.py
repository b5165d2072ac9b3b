"""Conditions on summaries, decided without pytest.

A gate asks a metric of one domain, or of every domain and of all runs pooled. It holds, it does
not, or nobody can tell; the last is never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .metrics import EMPTY, Summary
from .verdicts import Outcome

POOLED: Final = "all"
"""Where a gate on the pooled total is asked, beside the names of domains."""

TSR: Final = "tsr"
ANY_RIGHT: Final = "pass_any"
ALL_RIGHT: Final = "pass_all"
TASK: Final = "task"
UNAVAILABLE: Final = "unavailable"
UNAVAILABLE_SHARE: Final = 0.05
"""The share of unavailable runs above which gates say nothing, unless a gate sets another."""


class GateState(StrEnum):
    """What came of a gate; an inconclusive one is not a pass."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSpec:
    """What a gate asks: a metric by name, a bound from 0 to 1, and of which domain.

    An empty `domain` asks every selected domain and the pooled total.
    """

    name: str
    value: float
    domain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """One gate: what it asked, what it got, and what that means; `why` is empty when it holds."""

    asked: str
    got: str
    state: GateState
    where: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Metric:
    label: str
    counts: Callable[[Summary], tuple[int, int]]
    """What is divided by what; counts, since a rate is not exact: 0.1 + 0.2 is not 0.3."""


METRICS: Final[Mapping[str, _Metric]] = {
    TSR: _Metric("TSR", lambda summary: (summary.correct, summary.runs)),
    "ecr": _Metric("ECR", lambda summary: (summary.completed, summary.runs)),
    "c_tsr": _Metric("C-TSR", lambda summary: (summary.correct, summary.completed)),
    "tool_accuracy": _Metric(
        "tool accuracy",
        lambda summary: (summary.calls.calls - summary.calls.bad, summary.calls.calls),
    ),
    "contract": _Metric(
        "contract rate", lambda summary: (summary.contract.held, summary.contract.runs)
    ),
    "grounded_tsr": _Metric(
        "grounded TSR",
        lambda summary: (
            summary.grounded.grounded,
            summary.runs if summary.grounded.required else 0,
        ),
    ),
    ANY_RIGHT: _Metric(
        "pass any", lambda summary: (summary.trials.any_passed, summary.trials.tasks)
    ),
    ALL_RIGHT: _Metric(
        "pass all", lambda summary: (summary.trials.all_passed, summary.trials.tasks)
    ),
}
"""The metrics that a gate may ask to be at least its bound."""

GATE_NAMES: Final = (*METRICS, TASK, UNAVAILABLE)
"""The gates that are asked of summaries."""


def evaluate(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary]
) -> tuple[GateVerdict, ...]:
    """Ask every gate of the domains that it is meant for, and of the pooled total.

    `unavailable` bounds what the others tolerate, and is no gate that can hold by itself: the
    share of unavailable runs says nothing of the agent.

    Raises:
        KeyError: a gate names a metric that is not known.
    """
    bound = unavailable_bound(specs)
    return tuple(
        _verdict(spec, summary, where=where, unavailable=bound)
        for spec in specs
        for where, summary in _asked_of(spec, summaries)
    )


def unavailable_bound(specs: Sequence[GateSpec]) -> float:
    """Return the share of unavailable runs above which gates say nothing."""
    set_to = (spec.value for spec in specs if spec.name == UNAVAILABLE)
    return max(set_to, default=UNAVAILABLE_SHARE)


def _asked_of(spec: GateSpec, summaries: Mapping[str, Summary]) -> Sequence[tuple[str, Summary]]:
    if spec.domain:
        own = [(name, one) for name, one in summaries.items() if is_of(name, spec.domain)]
        return own or [(spec.domain, EMPTY)]
    if len(summaries) == 1:
        return [("", one) for one in summaries.values()]
    return [*summaries.items(), (POOLED, sum(summaries.values(), EMPTY))]


def is_of(name: str, domain: str) -> bool:
    """Tell whether a group of runs is of a domain."""
    # Where several agents ran on a domain, each has a summary of its own, `DOMAIN (AGENT)`.
    return name == domain or name.startswith(f"{domain} (")


def _verdict(spec: GateSpec, summary: Summary, *, where: str, unavailable: float) -> GateVerdict:
    asked, share, whole, least = _question(spec, summary)
    of_tasks = spec.name == TASK and whole > 0
    why = doubt(summary, unavailable) or ("" if whole else "nothing to divide")
    if spec.name in {ANY_RIGHT, ALL_RIGHT} and not (why or summary.trials_by):
        # Of one try nothing can be said but how often it was right, which TSR says.
        why = "each task was run once (--sop-trials)"
    if why:
        state = GateState.INCONCLUSIVE
    elif share + 1e-9 >= least * whole:
        state = GateState.HOLDS
    else:
        state = GateState.FAILS
        why = f"{whole - share} below" if of_tasks else f"{share} of {whole}"
    got = percent(share / whole) if whole else "n/a"
    if of_tasks:
        got = f"{share} of {whole} tasks"
    return GateVerdict(asked=asked, got=got, state=state, where=where, why=why)


def _question(spec: GateSpec, summary: Summary) -> tuple[str, int, int, float]:
    """Return what is asked, what is divided by what, and how much of it there must be."""
    bound = percent(spec.value)
    if spec.name == UNAVAILABLE:
        share = summary.outcomes.get(Outcome.UNAVAILABLE, 0)
        return f"unavailable <= {bound}", share, summary.runs, 0.0
    if spec.name == TASK:
        trials = summary.trials
        return f"every task >= {bound}", trials.passed(spec.value), trials.tasks, 1.0
    metric = METRICS[spec.name]
    return f"{metric.label} >= {bound}", *metric.counts(summary), spec.value


def doubt(summary: Summary, unavailable: float) -> str:
    """Say why no gate can be decided, or nothing."""
    if not summary.runs:
        return "no run was planned"
    not_run = summary.outcomes.get(Outcome.NOT_RUN, 0)
    if not_run:
        return f"{not_run} of {summary.runs} runs were never started"
    count = summary.outcomes.get(Outcome.UNAVAILABLE, 0)
    if count > unavailable * summary.runs:
        share = percent(count / summary.runs)
        return f"{share} of the runs were unavailable, more than {percent(unavailable)}"
    return ""


def percent(share: float) -> str:
    """Write a share so that two that differ are not printed alike beside a bound."""
    return f"{100 * share:.4g}%"
