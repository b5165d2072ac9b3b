"""The one decision on a session, asked by the session itself and by `sopbench gate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_sopbench._core.gates.conditions.comparison_names import COMPARISON_GATES
from pytest_sopbench._core.gates.conditions.places import Agents
from pytest_sopbench._core.gates.conditions.summary_gates import (
    GateSpec,
    GateState,
    GateVerdict,
    about_of,
    blockers_of,
    evaluate,
    has_gate,
)
from pytest_sopbench._core.gates.conditions.unasked import unasked_agents, unasked_verdicts
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.records.record import RunRecord

from .calibration import Doubtful, uncalibrated
from .mandatory import contract_verdicts, failure_verdicts, quarantine_verdicts
from .quarantine import NOTHING_FORGIVEN, Forgiven, PolicyReport

if TYPE_CHECKING:
    from pytest_sopbench._core.comparing.comparison import SessionComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What decides on a session, whoever has found it out.

    `summaries` are of all planned runs, by domain; `asked` are of those that gates are asked of,
    by what these ask of, where what is `forgiven` leaves some out. `agents` are those of the
    groups. `records` are the runs, or those of them that broke a rule. `enforces`
    holds where every rule must hold. `is_baseline` holds where this session is the baseline from
    now on, so that there is nothing to compare it with. `failures` counts the tests that failed and
    that no gate forgives; `None` is unknown. `not_evaluated` says what took selected tasks away.
    `doubt` says why the file of the session proves nothing. `is_ended` holds where the session came
    to its end. `doubtful` are the model judges on which no gate may rest.
    """

    gates: Sequence[GateSpec]
    summaries: Mapping[str, Summary] = field(default_factory=dict[str, Summary])
    asked: Mapping[About, Mapping[str, Summary]] = field(
        default_factory=dict[About, "Mapping[str, Summary]"]
    )
    records: Iterable[RunRecord] = ()
    agents: Agents = field(default_factory=dict[str, str])
    forgiven: Forgiven = NOTHING_FORGIVEN
    enforces: bool = False
    comparison: SessionComparison | None = None
    is_baseline: bool = False
    entries: PolicyReport = field(default_factory=PolicyReport)
    failures: int | None = 0
    not_evaluated: str = ""
    doubt: str = ""
    is_ended: bool = True
    doubtful: Doubtful = field(default_factory=dict[str, "Mapping[str, str]"])

    def asked_of(self, about: About) -> Mapping[str, Summary]:
        """Return what the runs came to that a gate is asked of."""
        return self.asked.get(about, self.summaries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What came of a session.

    `gates` are the verdicts on its gates and mandatory rules, `entries` those on its tasks file,
    `failures` that on its other tests. `not_evaluated` says why no gate was asked, or nothing;
    tests that failed, and what the tasks file says, count all the same. `unasked` says of which
    agents with misses no gate is asked, since the gates name others.
    """

    gates: tuple[GateVerdict, ...] = ()
    entries: tuple[GateVerdict, ...] = ()
    failures: tuple[GateVerdict, ...] = ()
    not_evaluated: str = ""
    unasked: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[GateVerdict, ...]:
        return (*self.gates, *self.entries, *self.failures)

    @property
    def state(self) -> GateState:
        """What all of it comes to: one verdict that does not hold decides."""
        states = {verdict.state for verdict in self.verdicts}
        if GateState.FAILS in states:
            return GateState.FAILS
        if GateState.INCONCLUSIVE in states or self.not_evaluated or not states:
            return GateState.INCONCLUSIVE
        return GateState.HOLDS


def decide(facts: SessionFacts) -> Decision:
    """Decide on a session.

    Where selected tasks were taken away no gate is asked. Where the file is in doubt every gate is
    inconclusive, and none holds where the session has no end.
    """
    return Decision(
        gates=() if facts.not_evaluated else _gate_verdicts(facts),
        entries=quarantine_verdicts(facts.entries),
        failures=failure_verdicts(facts.failures),
        not_evaluated=facts.not_evaluated,
        unasked=()
        if facts.not_evaluated
        else (*unasked_agents(facts.gates, facts.asked_of(About.ANSWERS), facts.agents),),
    )


def refused_as_baseline(facts: SessionFacts) -> str:
    """Say why a session may not become the baseline that is missing, or nothing.

    Gates on a comparison are not asked: there is nothing yet to compare with. Misses that no gate
    bounds fail the session, and yet it may be the baseline, as where there is no gate at all.
    """
    asked = _asked_verdicts(replace(facts, is_baseline=True))
    if any(verdict.state is not GateState.HOLDS for verdict in asked):
        return "a gate does not hold"
    return "the tasks file fails the session" if facts.entries.fails else ""


def _gate_verdicts(facts: SessionFacts) -> tuple[GateVerdict, ...]:
    if not has_gate(facts.gates):
        return _asked_verdicts(facts)
    return (
        *_asked_verdicts(facts),
        *unasked_verdicts(_asked(facts), facts.asked_of(About.ANSWERS), facts.agents),
    )


def _asked(facts: SessionFacts) -> Sequence[GateSpec]:
    """Return the gates that are asked; those on a comparison need something to compare with."""
    left_out = COMPARISON_GATES if facts.is_baseline else ()
    return [gate for gate in facts.gates if gate.name not in left_out]


def _asked_verdicts(facts: SessionFacts) -> tuple[GateVerdict, ...]:
    if not facts.gates:
        return ()
    from .conditions.comparison_gates import evaluate_comparison  # noqa: PLC0415 - only where sessions are compared

    doubts = {
        about: blockers_of(facts.gates, facts.asked_of(about), facts.summaries, facts.agents)
        for about in About
    }
    of_summary = [
        _doubted(facts, gate, one)
        for gate in facts.gates
        if gate.name not in COMPARISON_GATES
        for about in (about_of(gate),)
        for one in evaluate([gate], facts.asked_of(about), doubts[about], facts.agents)
    ]
    of_comparison = [
        _doubted(facts, gate, one)
        for gate in _asked(facts)
        if gate.name in COMPARISON_GATES
        for one in evaluate_comparison(
            [gate], facts.comparison, doubts[About.ANSWERS], facts.agents
        )
    ]
    # A rule that a run broke stays broken, whatever else of the file is in doubt.
    broken = contract_verdicts(facts.records, facts.forgiven, enforce=facts.enforces)
    return (*of_summary, *broken, *of_comparison)


def _doubted(facts: SessionFacts, gate: GateSpec, verdict: GateVerdict) -> GateVerdict:
    """Return a verdict as inconclusive where the file, or a judge, is no ground for it."""
    why = ""
    if verdict.state is not GateState.INCONCLUSIVE:
        why = facts.doubt or uncalibrated(gate.name, verdict.where, facts.doubtful)
    if not why and not facts.is_ended and verdict.state is GateState.HOLDS:
        # What else failed in it, a session says at its end.
        why = "the session did not come to its end"
    return replace(verdict, state=GateState.INCONCLUSIVE, why=why) if why else verdict
