"""The one decision: do the gates of a session hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from pytest_sopbench._core.comparing import Leaderboard
from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import evaluate_comparison
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._core.variants import VariantFinding
from pytest_sopbench._core.verdict import Outcome

from .calibration import Doubtful, JudgeReport, uncalibrated, unreviewed
from .conditions import (
    COMPARISON_GATES,
    Agents,
    GateSpec,
    GateState,
    GateVerdict,
    about_of,
    blockers_of,
    evaluate,
    has_gate,
    unasked_agents,
    unasked_verdicts,
)
from .quarantine import NOTHING_FORGIVEN, Forgiven, PolicyReport

# The gates that nobody has to ask for: rules that must hold, and tasks that must pass.

_SHOWN = 3


def contract_verdicts(
    records: Iterable[RunRecord], forgiven: Forgiven = NOTHING_FORGIVEN, *, enforce: bool = False
) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold if a run broke a rule; no gate forgives that.

    Args:
        records: the runs.
        forgiven: which rules which tasks may break.
        enforce: whether every rule must hold, and not only those of severity `must`.
    """
    broken = [
        (record, found)
        for record in records
        if (found := forgiven.unforgiven(record, enforce=enforce))
    ]
    if not broken:
        return ()
    asked = f"runs that break a {'' if enforce else 'must '}rule <= 0"
    names = [f"{one.domain}/{one.task} {found[0].id}" for one, found in broken]
    return (_verdict(asked, names, GateState.FAILS),)


def failure_verdicts(failures: int | None) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold if tests failed that no gate forgives.

    Args:
        failures: how many; `None` if the session was cut short, so that others might have.
    """
    asked = "tests that failed, which no gate forgives <= 0"
    if failures is None:
        why = "the session was cut short"
        return (GateVerdict(asked=asked, got="n/a", state=GateState.INCONCLUSIVE, why=why),)
    if not failures:
        return ()
    got = str(failures)
    return (GateVerdict(asked=asked, got=got, state=GateState.FAILS, value=failures),)


def quarantine_verdicts(report: PolicyReport) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold if a task that must pass did not, or an entry expired.

    If a task that must pass was unavailable or never started, or rests on a model judge that
    must not decide, it is inconclusive.
    """
    broken, unsure = "tasks that must pass and did not <= 0", "tasks that must pass, unknown <= 0"
    expired = "tasks whose entry is expired <= 0"
    unknown = [
        f"{one.entry.name} ({one.doubt})" if one.doubt else str(one.entry.name)
        for one in report.unsure
    ]
    said = (
        (broken, [str(one.entry.name) for one in report.broken], GateState.FAILS),
        (expired, [str(one.name) for one in report.expired], GateState.FAILS),
        (unsure, unknown, GateState.INCONCLUSIVE),
    )
    return tuple(_verdict(*one) for one in said if one[1])


def _verdict(asked: str, names: Sequence[str], state: GateState) -> GateVerdict:
    got, why = str(len(names)), first_of(names, _SHOWN)
    return GateVerdict(asked=asked, got=got, state=state, why=why, value=len(names))


# The one decision on a session, made by the session itself and by `sopbench gate`.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What decides on a session, whoever has found it out.

    `summaries` are of all planned runs, by domain; `asked` are of those that gates are checked on,
    by what these ask of, if what is `forgiven` leaves some out. `agents` are those of the
    groups. `records` are the runs, or those of them that broke a rule. `enforces`
    holds if every rule must hold. `is_baseline` holds if this session is the baseline from
    now on, so that there is nothing to compare it with. `failures` counts the tests that failed and
    that no gate forgives; `None` is unknown. `not_evaluated` says what took selected tasks away.
    `doubt` says why the file of the session proves nothing. `is_ended` holds if the session came
    to its end. `doubtful` are the model judges on which no gate may rest, and `drafts` the domains
    whose labels nobody has reviewed.
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
    drafts: Mapping[str, str] = field(default_factory=dict[str, str])

    def asked_of(self, about: About) -> Mapping[str, Summary]:
        """Return what the runs came to that a gate is checked on."""
        return self.asked.get(about, self.summaries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What came of a session.

    `gates` are the verdicts on its gates and mandatory rules, `entries` those on its tasks file,
    `failures` that on its other tests. `not_evaluated` says why no gate was checked, or nothing;
    tests that failed, and what the tasks file says, count all the same. `unasked` says of which
    agents with misses no gate is checked, since the gates name others.
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

    If selected tasks were taken away no gate is checked. If the file is in doubt every gate is
    inconclusive, and none holds if the session has no end.
    """
    entries, failures = quarantine_verdicts(facts.entries), failure_verdicts(facts.failures)
    if facts.not_evaluated:
        return Decision(entries=entries, failures=failures, not_evaluated=facts.not_evaluated)
    asked = facts.asked_of(About.ANSWERS)
    gates = _asked_verdicts(facts)
    if has_gate(facts.gates):
        gates += unasked_verdicts(_asked(facts), asked, facts.agents)
    return Decision(
        gates=gates,
        entries=entries,
        failures=failures,
        unasked=tuple(unasked_agents(facts.gates, asked, facts.agents)),
    )


def refused_as_baseline(facts: SessionFacts) -> str:
    """Say why a session may not become the baseline that is missing, or nothing.

    Gates on a comparison are not checked: there is nothing yet to compare with.
    """
    if facts.entries.fails:
        return "the tasks file fails the session"
    for one in decide(replace(facts, is_baseline=True)).verdicts:
        if one.state is not GateState.HOLDS:
            return f"a gate does not hold: {one.asked}{f'; {one.why}' if one.why else ''}"
    return ""


def _asked(facts: SessionFacts) -> Sequence[GateSpec]:
    """Return the gates that are checked; those on a comparison need something to compare with."""
    left_out = COMPARISON_GATES if facts.is_baseline else ()
    return [gate for gate in facts.gates if gate.name not in left_out]


def _asked_verdicts(facts: SessionFacts) -> tuple[GateVerdict, ...]:
    if not facts.gates:
        return ()
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
    """Return a verdict as inconclusive if the file, or a judge, is no ground for it."""
    why = ""
    if verdict.state is not GateState.INCONCLUSIVE:
        why = facts.doubt or uncalibrated(gate.name, verdict.where, facts.doubtful)
        why = why or unreviewed(verdict.where, facts.drafts)
    if not why and not facts.is_ended and verdict.state is GateState.HOLDS:
        # What else failed in it, a session says at its end.
        why = "the session did not come to its end"
    return replace(verdict, state=GateState.INCONCLUSIVE, why=why) if why else verdict


# What a page may ask for beside the runs of a session: tasks, event logs, the baseline's runs.


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What its domain says of the task of a run; everything is masked, and empty if unknown.

    Attributes:
        inputs: what the agent was given, without private columns.
        expected_calls: the calls that are expected of the task.
        clauses: what the SOP says in the clauses of the rules that the run broke, by number.
        tags: the tags of the task.
        location: the file and line of the row.
        remark: what was changed since the run, or why nothing is known.
    """

    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    expected_calls: Sequence[ExpectedCall] = ()
    clauses: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: tuple[str, ...] = ()
    location: str = ""
    remark: str = ""


class PageSources(Protocol):
    """Where a page finds what most formats do not show, so that only a page that asks pays."""

    def facts(self, record: RunRecord, /) -> TaskFacts:
        """Return what the domain of a run says of its task."""
        ...

    def again(self, record: RunRecord, /) -> str:
        """Return the command that makes a run again; empty if nobody knows it."""
        ...

    def sop(self, domain: str, /) -> str:
        """Return the SOP of a domain as it is today; empty if the domain is not found."""
        ...

    def trace(self, record: RunRecord, /) -> Trace | None:
        """Return what the event log of a run holds; `None` if there is none to read."""
        ...

    def baseline(self) -> Sequence[RunRecord]:
        """Return the runs of the session that this one was compared with, or nothing."""
        ...

    def masked(self, text: str, /) -> str:
        """Return a text without what the project wants to be masked."""
        ...


# What a page on a session tells, in whichever format it is written.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """What a page tells.

    `records` are all runs that were planned, `summaries` what they came to by domain. `gates` are
    empty if none was set; `not_evaluated` says why, if one was set. `remarks` are lines
    that must not go unsaid, `facts` what a reader may need to find the session again, by name.
    `comparison` is `None` if there is no baseline, and `leaderboard` if there is one agent.
    `judge` is what came
    of the model judge, `None` if there is none. `failures` counts the tests that failed and
    that no gate forgives. `forgiven` is what gates and the comparison leave out. `sources`
    find what only some formats show; `None` if nothing beside the runs is at hand. `variants`
    is what variants of the tasks tell, which count nowhere else.
    """

    agent: str
    records: Sequence[RunRecord]
    summaries: Mapping[str, Summary]
    gates: Sequence[GateVerdict] = ()
    not_evaluated: str = ""
    remarks: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    comparison: SessionComparison | None = None
    leaderboard: Leaderboard | None = None
    judge: JudgeReport | None = None
    failures: int = 0
    forgiven: Forgiven = NOTHING_FORGIVEN
    sources: PageSources | None = None
    variants: Sequence[VariantFinding] = ()

    @property
    def apart(self) -> Sequence[RunRecord]:
        """The runs of tasks that may fail, but for those that something stopped."""
        return [one for one in self.records if self.forgiven.leaves_out(one, About.ANSWERS)]

    @property
    def asked(self) -> Sequence[RunRecord]:
        """The runs that gates on answers are checked on."""
        return [one for one in self.records if not self.forgiven.leaves_out(one, About.ANSWERS)]

    @property
    def without(self) -> Summary:
        """What the runs that gates on answers are checked on came to, as far as outcomes tell."""
        counts: dict[tuple[str, str], Counter[Outcome]] = {}
        for one in self.asked:
            counts.setdefault((one.domain, one.agent), Counter())[one.outcome] += 1
        tolerated = min((one.tolerated for one in self.summaries.values()), default=0.0)
        groups = (
            Summary(runs=one.total(), outcomes=one, tolerated=tolerated) for one in counts.values()
        )
        return sum(groups, EMPTY)


# Where the row of a task lies, for those who look at a repository.


class RowPlace(NamedTuple):
    """A line of a data file, by its path from the top of the repository, with `/` between."""

    path: str
    line: int
