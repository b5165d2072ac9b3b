"""Conditions on summaries, decided without pytest.

A gate asks a metric of one domain, or of every domain and of all runs pooled. It holds, it does
not, or nobody can tell; the last is never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.metrics.metric import METRICS, About, MetricSpec
from pytest_sopbench._core.metrics.summary import EMPTY, UNAVAILABLE_SHARE, Summary
from pytest_sopbench._core.model.keys import agent_of
from pytest_sopbench._core.verdict import Outcome

from .field_gates import FIELD, field_counts, gates_in, is_field_gate, no_such_field
from .places import NO_AGENTS, POOLED, Agents, is_of, places_of

TSR: Final = "tsr"
ANY_RIGHT: Final = "pass_any"
ALL_RIGHT: Final = "pass_all"
TASK: Final = "task"
UNAVAILABLE: Final = "unavailable"


class GateState(StrEnum):
    """What came of a gate; an inconclusive one is not a pass."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSpec:
    """What a gate asks: a metric by name, a bound from 0 to 1, and of which domain and agent.

    An empty `domain` asks every selected domain and the pooled total, an empty `agent` each agent
    by itself. An agent is named as the session files its runs, or by its label.
    """

    name: str
    value: float
    domain: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """One gate: what it asked, what it got, and what that means; `why` is empty when it holds.

    `value` is what it got as a number, a rate from 0 to 1 or a count; `None` where there is none.
    `part` says of how many tasks a comparison speaks, where these are not all.
    """

    asked: str
    got: str
    state: GateState
    where: str = ""
    why: str = ""
    value: float | None = None
    part: str = ""

    @property
    def found(self) -> str:
        """What came of it, of how much: `holds for 11 of 12 tasks; 1 changed, 0 gone (got 0)`."""
        of = f" for {self.part}" if self.part and self.state is GateState.HOLDS else ""
        return f"{self.state}{of} (got {self.got})"


def gate_metrics() -> Mapping[str, MetricSpec]:
    """Return the metrics that a gate may ask to be at least its bound, by the name of the gate."""
    return {metric.gate: metric for metric in METRICS.values() if metric.gate}


def gate_names() -> tuple[str, ...]:
    """Return the gates that are asked of summaries."""
    return (*gate_metrics(), TASK, UNAVAILABLE)


def about_of(gate: GateSpec) -> About:
    """Return what a gate asks of runs; what is no metric asks of their answers."""
    metric = gate_metrics().get(gate.name)
    return metric.about if metric else About.ANSWERS


def outcome_gates() -> frozenset[str]:
    """Return the gates that ask nothing but how the runs ended."""
    names = (name for name, metric in gate_metrics().items() if metric.of_outcomes)
    return frozenset((*names, UNAVAILABLE))


@dataclass(frozen=True, slots=True)
class GateBlockers:
    """Why gates cannot be decided, whatever the runs that there are came to.

    One run that was never started leaves every gate of its session open, also those of other
    domains: something has ended the session early. Too many unavailable runs leave open what is
    asked of their domain, and of all runs together; the summaries know how many are too many.
    """

    summaries: Mapping[str, Summary]
    agents: Agents = field(default_factory=dict[str, str])
    never: int = 0
    planned: int = 0

    def of(self, where: str) -> str:
        """Say why nothing can be decided of a group of runs, or nothing."""
        if self.never:
            return f"{self.never} of {self.planned} runs were never started"
        return self.unmeasured(where)

    def unmeasured(self, where: str) -> str:
        """Say of which runs too many were unavailable for a rate, or nothing."""
        pooled = self._pooled(where)
        for name, one in self.summaries.items():
            # A comparison may tell agents apart where the session has one, and the other way round.
            asked = name in pooled or is_of(name, where) or is_of(where, name)
            if asked and one.unmeasured:
                why = _too_many(one)
                return f"{name}: {why}" if is_of(where, POOLED) else why
        return ""

    def _pooled(self, where: str) -> Sequence[str]:
        """Return the groups that are asked together: all, or those of one agent."""
        if where in {"", POOLED}:
            return [*self.summaries]
        agent = agent_of(where) if is_of(where, POOLED) else ""
        return [
            one
            for one in self.summaries
            if agent and (self.agents.get(one) or agent_of(one)) == agent
        ]


def bounded(
    summaries: Mapping[str, Summary], specs: Sequence[GateSpec], agents: Agents = NO_AGENTS
) -> Mapping[str, Summary]:
    """Return summaries that tolerate as many unavailable runs as the gates of the session say.

    Of several bounds on `unavailable` the strictest counts; where there is none, the usual one.
    """
    found: dict[str, list[float]] = {name: [] for name in summaries}
    for spec in specs:
        if spec.name == UNAVAILABLE:
            for name in {one for _, groups in places_of(spec, summaries, agents) for one in groups}:
                found[name].append(spec.value)
    return {
        name: replace(one, tolerated=min(found[name], default=UNAVAILABLE_SHARE))
        for name, one in summaries.items()
    }


def blockers_of(
    specs: Sequence[GateSpec],
    summaries: Mapping[str, Summary],
    whole: Mapping[str, Summary] | None = None,
    agents: Agents = NO_AGENTS,
) -> GateBlockers:
    """Find out what gates cannot be decided by.

    Args:
        specs: the gates of the session.
        summaries: of the runs that the gates are asked of, by domain.
        whole: of all runs that were planned, where gates leave some of them out.
        agents: of each group, where its name does not tell.
    """
    every = (summaries if whole is None else whole).values()
    return GateBlockers(
        summaries=bounded(summaries, specs, agents),
        agents=agents,
        never=sum(one.outcomes.get(Outcome.NOT_RUN, 0) for one in every),
        planned=sum(one.runs for one in every),
    )


def evaluate(
    specs: Sequence[GateSpec],
    summaries: Mapping[str, Summary],
    doubts: GateBlockers | None = None,
    agents: Agents = NO_AGENTS,
) -> tuple[GateVerdict, ...]:
    """Ask every gate of the groups that it is meant for, and of all domains of each agent.

    `unavailable` bounds what the others tolerate, and is no gate that can hold by itself: the
    share of unavailable runs says nothing of the agent. Without `doubts` these are those of the
    summaries.

    Raises:
        KeyError: a gate names a metric that is not known.
    """
    found = doubts or blockers_of(specs, summaries, agents=agents)
    return tuple(
        _verdict(one, sum((summaries[each] for each in groups), EMPTY), where=where, doubts=found)
        for spec in specs
        for where, groups in places_of(spec, summaries, agents)
        for one in gates_at(spec, groups, summaries)
    )


def gates_at(
    spec: GateSpec, groups: Sequence[str], summaries: Mapping[str, Summary]
) -> Sequence[GateSpec]:
    """Return what a gate asks in one place: itself, or one gate for each field that it means."""
    if not is_field_gate(spec.name):
        return (spec,)
    names = gates_in(spec.name, groups, summaries, by_domain=bool(spec.domain))
    return [replace(spec, name=name) for name in names]


def has_gate(specs: Iterable[GateSpec]) -> bool:
    """Tell whether there is a gate that can hold by itself, and not only what gates tolerate."""
    return any(spec.name != UNAVAILABLE for spec in specs)


def _verdict(spec: GateSpec, summary: Summary, *, where: str, doubts: GateBlockers) -> GateVerdict:
    asked, share, whole, least = _question(spec, summary)
    of_tasks = spec.name == TASK and whole > 0
    why = no_runs(summary.runs) or doubts.of(where) or no_such_field(spec.name, summary)
    why = why or ("" if whole else _nothing(spec))
    if spec.name in {ANY_RIGHT, ALL_RIGHT} and not (why or summary.trials_by):
        # Of one try nothing can be said but how often it was right, which TSR says.
        why = "each task was run once (--sop-trials)"
    if why:
        state = GateState.INCONCLUSIVE
    elif share + 1e-9 >= least * whole:
        state = GateState.HOLDS
    else:
        state = GateState.FAILS
        why = f"{whole - share} below" if of_tasks else _counted(spec, share, whole)
    value = share / whole if whole else None
    if spec.name != UNAVAILABLE and doubts.unmeasured(where):
        value = None
    got = "n/a" if value is None else percent(value)
    if of_tasks and value is not None:
        got = f"{share} of {whole} tasks"
    return GateVerdict(asked=asked, got=got, state=state, where=where, why=why, value=value)


def _question(spec: GateSpec, summary: Summary) -> tuple[str, int, int, float]:
    """Return what is asked, what is divided by what, and how much of it there must be."""
    bound = percent(spec.value)
    if spec.name == UNAVAILABLE:
        return f"unavailable <= {bound}", summary.unavailable, summary.runs, 0.0
    if spec.name == TASK:
        trials = summary.trials
        return f"every task >= {bound}", trials.passed(spec.value), trials.tasks, 1.0
    if is_field_gate(spec.name):
        field_name = spec.name.removeprefix(FIELD)
        return f"field {field_name} >= {bound}", *field_counts(spec.name, summary), spec.value
    metric = gate_metrics()[spec.name]
    return f"{metric.label} >= {bound}", *metric.counts(summary), spec.value


def _nothing(spec: GateSpec) -> str:
    metric = gate_metrics().get(spec.name)
    return metric.nothing if metric else "nothing to divide"


def _counted(spec: GateSpec, share: int, whole: int) -> str:
    """Write what was divided, in runs also where parts of them are counted."""
    metric = gate_metrics().get(spec.name)
    parts = metric.parts if metric else 1
    return f"{share} of {whole}" if parts == 1 else f"{share / parts:g} of {whole // parts}"


def no_runs(runs: int) -> str:
    """Say that there is nothing to ask of, or nothing."""
    return "" if runs else "no run was planned"


def _too_many(summary: Summary) -> str:
    share = percent(summary.unavailable / summary.runs)
    return f"{share} of the runs were unavailable, more than {percent(summary.tolerated)}"


def percent(share: float) -> str:
    """Write a share so that two that differ are not printed alike beside a bound."""
    return f"{100 * share:.4g}%"
