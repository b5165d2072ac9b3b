"""Conditions on metrics and on comparisons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite, nan
from types import MappingProxyType
from typing import Final, TypeAlias

from pytest_sopbench._core.comparison import (
    OTHER_RULES,
    PAIRED_SHARE,
    ComparisonResult,
    GroupComparison,
    NotCompared,
    SessionComparison,
)
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.metrics.metric import METRICS, PAID, About, Metric, percent
from pytest_sopbench._core.metrics.summary import EMPTY, UNAVAILABLE_SHARE, Summary
from pytest_sopbench._core.model.task import agent_of, named_agents
from pytest_sopbench._core.statistics import needed_for
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._core.verdict import Outcome

# The names of the gates that need a baseline; knowing them loads no comparison.

LOST: Final = "lost"
DROP: Final = "drop"
P: Final = "p"
COMPARISON_GATES: Final = (LOST, DROP, P)
"""The gates that need a baseline; the bound of `lost` is a number of tasks."""


# Where a gate is checked: on which groups of runs, and on which of them together.
#
# Groups are called as in a summary: `DOMAIN`, or `DOMAIN (AGENT)` if the domain had several
# agents. The runs of two agents are never counted together: one rate of both says nothing of
# either, and a good agent would hide a bad one.

POOLED: Final = "all"
"""Where a gate on the pooled total is checked, beside the names of domains."""

Agents: TypeAlias = Mapping[str, str]
"""The agent of each group, as far as its name does not tell."""

NO_AGENTS: Final[Agents] = MappingProxyType({})


def places_of(
    spec: GateSpec, groups: Collection[str], agents: Agents = NO_AGENTS
) -> Sequence[tuple[str, Sequence[str]]]:
    """Return each place where a gate is checked, and the groups that stand there together.

    Without a domain that is every group, and all domains of each agent. If there is no such
    group the gate is checked on nothing, and never left out.
    """
    of = {one: agents.get(one) or agent_of(one) for one in groups}
    every = {*of.values()}
    meant = {*named_agents(spec.agent, every)} if spec.agent else every
    mine = [one for one in of if of[one] in meant and (not spec.domain or is_of(one, spec.domain))]
    if not mine:
        by = f" ({spec.agent})" if spec.agent else ""
        return [(f"{spec.domain or POOLED}{by}", ())]
    if spec.domain:
        return [(one, (one,)) for one in mine]
    if len(of) == 1:
        return [("", mine)]
    together = {agent: [one for one in mine if of[one] == agent] for agent in map(of.get, mine)}
    return [
        *((one, (one,)) for one in mine),
        *(
            (f"{POOLED} ({agent})" if len(every) > 1 else POOLED, some)
            for agent, some in together.items()
            if len(some) > 1
        ),
    ]


def is_of(name: str, domain: str) -> bool:
    """Tell whether a group of runs is of a domain."""
    # If several agents ran on a domain, each has a summary of its own, `DOMAIN (AGENT)`.
    return name == domain or name.startswith(f"{domain} (")


# Gates on single output fields: `field:refund`, and `field:*` for each of them.

FIELD: Final = "field:"
"""How the name of such a gate begins; the name of the field follows."""

EVERY: Final = "*"
"""The field that stands for each of them."""


def split_field(asked: str) -> tuple[str, str] | None:
    """Split `[DOMAIN:]field:NAME` into domain and gate; `None` if it is something else."""
    if asked.startswith(FIELD):
        domain, name = "", asked.removeprefix(FIELD)
    else:
        domain, colon, name = asked.partition(f":{FIELD}")
        if not colon:
            return None
    return (domain, f"{FIELD}{name}") if name else None


def is_field_gate(name: str) -> bool:
    """Tell whether a gate asks of a field."""
    return name.startswith(FIELD)


def no_such_field(name: str, summary: Summary) -> str:
    """Say that the runs have no such field, or nothing."""
    if not is_field_gate(name) or name.removeprefix(FIELD) in summary.by_field:
        return ""
    return _other_field([*summary.by_field])


# Conditions on summaries, decided without pytest.
#
# A gate bounds a metric of one domain, or of every domain and of all runs pooled. It holds, it does
# not, or nobody can tell; the last is never a pass.

TSR: Final = "tsr"
TASK: Final = "task"
UNAVAILABLE: Final = "unavailable"


class GateState(StrEnum):
    """What came of a gate; an inconclusive one is not a pass."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSpec:
    """What a gate demands: a metric by name, a bound, and of which domain and agent.

    The bound of a share is from 0 to 1, any other is in the unit of its metric. `missing` is the
    package of a metric that is not installed here: nobody can tell whether such a gate holds. An
    empty `domain` means every selected domain and the pooled total, an empty `agent` each agent by
    itself. An agent is named as the session files its runs, or by its label.
    """

    name: str
    value: float
    domain: str = ""
    agent: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """One gate: what it demanded, what it got, and what that means; `why` is empty when it holds.

    `value` is what it got as a number: a share from 0 to 1, a count, or what a metric has as its
    unit; `None` if there is none.
    `part` says of how many tasks a comparison speaks, if these are not all.
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


def gate_metrics() -> Mapping[str, Metric]:
    """Return the metrics that a gate may bound, by the name of the gate."""
    return {**{metric.gate: metric for metric in METRICS.values() if metric.gate}, **PAID}


def gate_names() -> tuple[str, ...]:
    """Return the gates that are checked on summaries."""
    return (*gate_metrics(), TASK, UNAVAILABLE)


def about_of(gate: GateSpec) -> About:
    """Return what a gate asks of runs; what is no metric asks of their answers."""
    metric = gate_metrics().get(gate.name)
    return metric.about if metric else About.ANSWERS


def outcome_gates() -> frozenset[str]:
    """Return the gates that need nothing but how the runs ended."""
    names = (name for name, metric in gate_metrics().items() if metric.of_outcomes)
    return frozenset((*names, UNAVAILABLE))


@dataclass(frozen=True, slots=True)
class GateBlockers:
    """Why gates cannot be decided, whatever the runs that there are came to.

    One run that was never started leaves every gate of its session open, also those of other
    domains: something has ended the session early. Too many unavailable runs leave open what is
    checked on their domain, and on all runs together; the summaries know how many are too many.
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
            # A comparison may tell agents apart if the session has one, and the other way round.
            asked = name in pooled or is_of(name, where) or is_of(where, name)
            if asked and one.unmeasured:
                share, most = percent(one.unavailable / one.runs), percent(one.tolerated)
                why = f"{share} of the runs were unavailable, more than {most}"
                return f"{name}: {why}" if is_of(where, POOLED) else why
        return ""

    def _pooled(self, where: str) -> Sequence[str]:
        """Return the groups that a gate is checked on together: all, or those of one agent."""
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

    Of several bounds on `unavailable` the strictest counts; if there is none, the usual one.
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
        summaries: of the runs that the gates are checked on, by domain.
        whole: of all runs that were planned, if gates leave some of them out.
        agents: of each group, if its name does not tell.
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
    """Check every gate on the groups that it is meant for, and of all domains of each agent.

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
    """Return what a gate demands in one place: itself, or one gate for each field that it means.

    Of all domains together nothing is checked: fields of the same name are others there. A gate
    without a domain is checked on the domains that have the field; one that nobody has is checked
    everywhere, and never left out.
    """
    if not is_field_gate(spec.name):
        return (spec,)
    if len(groups) > 1:
        return ()
    here = [field for group in groups for field in summaries[group].by_field]
    field = spec.name.removeprefix(FIELD)
    if field == EVERY:
        return [replace(spec, name=f"{FIELD}{one}") for one in here] or (spec,)
    elsewhere = any(field in one.by_field for one in summaries.values())
    return () if field not in here and elsewhere and not spec.domain else (spec,)


def has_gate(specs: Iterable[GateSpec]) -> bool:
    """Tell whether there is a gate that can hold by itself, and not only what gates tolerate."""
    return any(spec.name != UNAVAILABLE for spec in specs)


def _verdict(spec: GateSpec, summary: Summary, *, where: str, doubts: GateBlockers) -> GateVerdict:
    asked, part, whole, holds = _question(spec, summary)
    metric = gate_metrics().get(spec.name)
    of_tasks = spec.name == TASK and whole > 0
    why = no_runs(summary.runs) or doubts.of(where) or no_such_field(spec.name, summary)
    why = why or (_open(metric, summary) if metric is not None else spec.missing)
    nothing = metric.nothing if metric is not None else "nothing to divide"
    why = why or ("" if whole else nothing)
    if why:
        state = GateState.INCONCLUSIVE
    elif holds:
        state = GateState.HOLDS
    else:
        state = GateState.FAILS
        why = metric.counted(part, whole) if metric is not None else f"{part:g} of {whole}"
        why = f"{whole - int(part)} below" if of_tasks else why
    value = part / whole if whole else None
    if spec.name != UNAVAILABLE and doubts.unmeasured(where):
        value = None
    if metric is not None and (metric.measured(summary).fault or metric.is_unknown(summary)):
        value = None
    got = "n/a" if value is None else metric.text(value) if metric is not None else percent(value)
    if of_tasks and value is not None:
        got = f"{part:g} of {whole} tasks"
    elif value is not None and state is GateState.FAILS and asked.endswith(f" {got}"):
        # Rounded, it would be the bound that it does not reach.
        got = f"{100 * value:.9g}%" if got.endswith("%") else got
    return GateVerdict(asked=asked, got=got, state=state, where=where, why=why, value=value)


def _question(spec: GateSpec, summary: Summary) -> tuple[str, float, int, bool]:
    """Return what is asked, what is divided by what, and whether that keeps the bound."""
    bound = percent(spec.value)
    if spec.missing:
        return f"{spec.name} {spec.value:g}", 0, 0, False
    if spec.name == UNAVAILABLE:
        return f"unavailable <= {bound}", summary.unavailable, summary.runs, True
    if spec.name == TASK:
        passed, tasks = summary.trials.passed(spec.value), summary.trials.tasks
        return f"every task >= {bound}", passed, tasks, passed == tasks
    if is_field_gate(spec.name):
        name = spec.name.removeprefix(FIELD)
        counts = summary.by_field.get(name)
        right, runs = (counts.right, counts.runs) if counts else (0, 0)
        asked = f"field {name} >= {bound}"
        return asked, right, runs, right + 1e-9 >= spec.value * runs
    metric = gate_metrics()[spec.name]
    part, whole = metric.divided(summary)
    sign = "<=" if metric.better == "lower" else ">="
    asked = f"{metric.label} {sign} {metric.text(spec.value)}"
    return asked, part, whole, metric.holds(part, whole, spec.value)


def _open(metric: Metric, summary: Summary) -> str:
    """Say why nobody can tell whether a metric keeps a bound, or nothing."""
    if metric.of_trials and not summary.trials_by:
        # Of one try nothing can be said but how often it was right, which TSR says.
        return "each task was run once (--sop-trials)"
    return metric.lacks(summary)


def no_runs(runs: int) -> str:
    """Say that there is nothing to check a gate on, or nothing."""
    return "" if runs else "no run was planned, or all that were are forgiven"


# Gates on a comparison: at most so many tasks lost, so far a fall, no significant loss.

RESCORE: Final = "the baseline was judged by other rules (sopbench rescore)"


def evaluate_comparison(
    specs: Sequence[GateSpec],
    comparison: SessionComparison | None,
    doubts: GateBlockers | None = None,
    agents: Agents = NO_AGENTS,
) -> tuple[GateVerdict, ...]:
    """Check every gate on the groups that it is meant for, and of all tasks of each agent.

    A gate `p` holds if no task fell. If one did, and fewer tasks changed than p can tell from
    chance, it is inconclusive: the fall may be real.

    Args:
        specs: gates on a comparison and no others.
        comparison: `None` if there is no baseline; then every gate is inconclusive.
        doubts: of the current session; else those of the runs that were compared.
        agents: of each group, if its name does not tell.

    Raises:
        KeyError: a gate is none of `COMPARISON_GATES`.
        ValueError: the bound of a gate `p` is not in (0, 1].
    """
    groups = comparison.groups.items() if comparison is not None else ()
    found = doubts or blockers_of((), {name: _counted(one) for name, one in groups})
    return tuple(
        _comparison_verdict(spec, one, where=where, doubts=found)
        for spec in specs
        for where, one in _asked_of(spec, comparison, agents)
    )


def _asked_of(
    spec: GateSpec, comparison: SessionComparison | None, agents: Agents
) -> Sequence[tuple[str, GroupComparison | None]]:
    if comparison is None:
        return [(spec.domain, None)]
    return [
        (where, _together(comparison, groups))
        for where, groups in places_of(spec, comparison.groups, agents)
    ]


def _together(comparison: SessionComparison, groups: Sequence[str]) -> GroupComparison | None:
    """Return the comparison of one group, or of all domains of an agent."""
    if len(groups) == 1:
        return comparison.groups[groups[0]]
    return comparison.agents.get(agent_of(groups[0]), comparison.pooled) if groups else None


def _counted(comparison: GroupComparison) -> Summary:
    return Summary(runs=sum(comparison.outcomes.values()), outcomes=comparison.outcomes)


def _comparison_verdict(
    spec: GateSpec, comparison: GroupComparison | None, *, where: str, doubts: GateBlockers
) -> GateVerdict:
    bound = percent(spec.value) if spec.name == DROP else f"{spec.value:g}"
    asked = _ASKED[spec.name].format(bound=bound)
    if comparison is None:
        why = "there is nothing to compare with"
        return GateVerdict(
            asked=asked, got="n/a", state=GateState.INCONCLUSIVE, where=where, why=why
        )
    value, got, held, why = _FOUND[spec.name](comparison, spec.value)
    open_for = no_runs(_counted(comparison).runs) or doubts.of(where) or _doubt(comparison, spec)
    if open_for:
        state, why = GateState.INCONCLUSIVE, open_for
    elif held:
        state, why = GateState.HOLDS, ""
    else:
        state = GateState.FAILS
    return GateVerdict(
        asked=asked,
        got=got,
        state=state,
        where=where,
        why=why,
        value=value,
        part=_part(comparison),
    )


def _part(comparison: GroupComparison) -> str:
    """Say of how many tasks a gate speaks and what became of the others; nothing of all."""
    if not comparison.aside:
        return ""
    counts = Counter(comparison.aside.values())
    others = [
        f"{counts[reason]} {word}"
        for reason, word in _WORDS.items()
        if counts[reason] or reason in _ALWAYS
    ]
    return f"{comparison.paired} of {comparison.tasks} tasks; {', '.join(others)}"


_WORDS: Final = {
    NotCompared.CHANGED: "changed",
    NotCompared.ONLY_BASELINE: "gone",
    NotCompared.ONLY_CURRENT: "new",
    NotCompared.NO_EVIDENCE: "unavailable or never started",
}
_ALWAYS: Final = (NotCompared.CHANGED, NotCompared.ONLY_BASELINE)


def _doubt(comparison: GroupComparison, spec: GateSpec) -> str:
    """Say why a gate cannot be decided by what was compared, or nothing."""
    if comparison.tier is ComparisonResult.NOT_COMPARABLE:
        other_rules = comparison.why.startswith(OTHER_RULES)
        return RESCORE if other_rules else f"the baseline cannot be compared: {comparison.why}"
    if comparison.doubt:
        return comparison.doubt
    paired, tasks = comparison.paired, comparison.tasks
    if not paired or paired + 1e-9 < PAIRED_SHARE * tasks:
        return f"only {paired} of {tasks} tasks can be compared"
    if not comparison.changes["tsr"].before:
        return "no task is right in the baseline, so that none can be lost: keep a better session"
    return _too_few(comparison, spec.value) if spec.name == P else ""


def _too_few(comparison: GroupComparison, bound: float) -> str:
    """Say that a loss cannot be told from chance, whatever it is, if anything was lost."""
    needed, changed = needed_for(bound), comparison.discordant
    if not comparison.worse or changed >= needed:
        return ""
    return (
        f"{comparison.worse} fell, {changed} of {comparison.paired} tasks changed, and "
        f"p < {bound:g} takes {needed} that change (lost=0 needs none)"
    )


_Got = tuple[float | None, str, bool, str]
"""What a gate got, as a number and in words, whether it holds, and why not."""


def _lost(comparison: GroupComparison, bound: float) -> _Got:
    lost = len(comparison.lost)
    return lost, f"{lost}", lost <= bound, f"{lost - int(bound)} too many"


def _drop(comparison: GroupComparison, bound: float) -> _Got:
    change = comparison.changes["tsr"]
    if change.before is None or change.after is None:
        return None, "n/a", False, ""
    drop = change.before - change.after
    got = percent(drop) if drop >= 0 else f"a rise of {percent(-drop)}"
    why = f"TSR {percent(change.before)} before, {percent(change.after)} now"
    # A fall of one task in ten is 0.1 whatever the fractions leave in the last digit.
    return drop, got, drop <= bound + 1e-9, why


def _p(comparison: GroupComparison, bound: float) -> _Got:
    p = comparison.test.p
    why = f"lost {len(comparison.lost)}, gained {len(comparison.gained)}"
    return p, f"p = {p:.2g}", not (comparison.fell and p < bound), why


_ASKED: Final = {
    LOST: "lost tasks <= {bound}",
    DROP: "drop of TSR <= {bound}",
    P: "no loss at p < {bound}",
}
_FOUND: Final = {LOST: _lost, DROP: _drop, P: _p}


# Which gates nothing can be measured for, as the domains say before anything is run.

_NAMED: Final = 12
"""Fields that are named when another one is asked for."""


def why_unmeasurable(gate: GateSpec, domains: Sequence[Domain], *, contract: bool = True) -> str:
    """Say why a gate would stay inconclusive whatever the runs come to; nothing if it may not.

    Args:
        gate: what is asked.
        domains: those that are run, and no other.
        contract: whether runs are held against contracts.
    """
    asked = [one for one in domains if gate.domain in {"", one.name}]
    if is_field_gate(gate.name):
        return _without_field(gate.name.removeprefix(FIELD), asked)
    metric = gate_metrics().get(gate.name)
    if metric is None or not asked:
        return ""
    has = {
        "": True,
        "document": any(one.document is not None for one in asked),
        "contract": contract and any(one.contract is not None for one in asked),
        "expected calls": any(one.expected_calls for one in asked),
    }
    return "" if has[metric.needs] else metric.nothing


def _without_field(name: str, domains: Sequence[Domain]) -> str:
    names = list(dict.fromkeys(field.name for one in domains for field in one.fields))
    if name in names or not domains or (name == EVERY and names):
        return ""
    return _other_field(names)


def _other_field(names: Sequence[str]) -> str:
    if not names:
        return "the answers have no output fields"
    return f"no output field has this name (fields: {first_of(names, _NAMED)})"


# Gates as they are written on a command line, and in the header of a saved session.


def names() -> tuple[str, ...]:
    """Return every gate that can be set."""
    return (*gate_names(), *COMPARISON_GATES)


def read_gate(text: str, outside: Mapping[str, str] = MappingProxyType({})) -> GateSpec:
    """Read `[DOMAIN:]NAME=VALUE[@AGENT]`.

    The agent stands last, since its name may hold any of the signs before it.

    Args:
        text: as it was written.
        outside: gates that a saved session had from packages, and the packages; one that is not
            installed here is read as a gate of which nobody can tell whether it holds.

    Raises:
        ValueError: it is written otherwise, or the value is none that the gate takes.
    """
    asked, sign, rest = text.partition("=")
    bound, at, agent = rest.partition("@")
    domain, _, name = asked.rpartition(":")
    if name not in names() and (of_field := split_field(asked)):
        domain, name = of_field
    known = name in names() or is_field_gate(name) or name in outside
    if not sign or not known or (at and not agent):
        every = ", ".join((*names(), f"{FIELD}FIELD"))
        msg = f"{text}: write [DOMAIN:]NAME=VALUE[@AGENT], NAME being one of {every}"
        raise ValueError(msg)
    if name == LOST:
        return GateSpec(name=name, value=_number(text, bound), domain=domain, agent=agent)
    if name not in names() and name in outside:
        missing = f"its metric is of {outside[name]}, which is not installed here"
        value = _amount(text, bound, "the unit of its metric")
        return GateSpec(name=name, value=value, domain=domain, agent=agent, missing=missing)
    metric = gate_metrics().get(name)
    unit = metric.unit if metric is not None else ""
    value = _amount(text, bound, unit) if unit else _rate(text, bound)
    if name in PAID and value < 0:
        msg = f"{text}: nothing costs less than 0 {unit}"
        raise ValueError(msg)
    if name == P and not value:
        msg = f"{text}: a probability above 0 expected, such as 0.05"
        raise ValueError(msg)
    return GateSpec(name=name, value=value, domain=domain, agent=agent)


def read_fail_under(text: str) -> GateSpec:
    """Read a bound on TSR.

    Raises:
        ValueError: it is no rate.
    """
    return GateSpec(name=TSR, value=_rate(text, text))


def gate_text(spec: GateSpec) -> str:
    """Write a gate so that `read_gate` reads it back."""
    bound = f"{spec.value:.0f}" if spec.name == LOST else repr(spec.value)
    domain = f"{spec.domain}:" if spec.domain else ""
    return f"{domain}{spec.name}={bound}{f'@{spec.agent}' if spec.agent else ''}"


def _rate(text: str, bound: str) -> float:
    number = bound.removesuffix("%")
    try:
        # Python takes a "_" between digits, which is a slip of the finger here.
        rate = float(number.replace("_", " ")) / (100 if number != bound else 1)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        msg = f"{text}: a rate from 0 to 1 expected, such as 0.9 or 90%"
        raise ValueError(msg)
    return rate


def _amount(text: str, bound: str, unit: str) -> float:
    try:
        value = float(bound.replace("_", " "))
    except ValueError:
        value = nan
    if not isfinite(value):
        msg = f"{text}: a number expected, in {unit}"
        raise ValueError(msg)
    return value


def _number(text: str, bound: str) -> float:
    # The header of a session writes every bound as a float.
    if not re.fullmatch(r"[0-9]+(\.0)?", bound):
        msg = f"{text}: a number of tasks expected, such as 0 or 3"
        raise ValueError(msg)
    return float(bound)


# Runs of which no gate is checked, though gates are checked on others.
#
# A gate turns the failed tests of its runs into misses, which it then bounds. So a gate on one
# domain must not forgive what the runs of another one came to: nobody would look at them. The same
# holds of a session that becomes the baseline, which has nothing yet to be compared with. Who
# names one agent of several in a gate has chosen to do without the others; they are named beside
# the gates.


def unasked_verdicts(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents = NO_AGENTS
) -> tuple[GateVerdict, ...]:
    """Return a verdict that does not hold for each group of runs with misses but without a gate.

    Args:
        specs: the gates that are checked.
        summaries: of the runs that gates are checked on, by domain.
        agents: of each group, if its name does not tell.
    """
    of_all = [replace(spec, agent="") for spec in specs]
    return tuple(
        GateVerdict(
            asked="runs that are not correct, if no gate is checked <= 0",
            got=str(count),
            state=GateState.FAILS,
            where=name,
            why="give a gate for them too, such as tsr=0.9",
            value=count,
        )
        for name, count in _missed(of_all, summaries, agents).items()
    )


def unasked_agents(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents = NO_AGENTS
) -> Iterator[str]:
    """Say of which agents no gate is checked, since the gates name others."""
    failing = {one.where for one in unasked_verdicts(specs, summaries, agents)}
    for name, count in _missed(specs, summaries, agents).items():
        if name not in failing:
            yield f"{name}: no gate is checked; {count} of {summaries[name].runs} are not correct"


def _missed(
    specs: Sequence[GateSpec], summaries: Mapping[str, Summary], agents: Agents
) -> Mapping[str, int]:
    """Return how many runs are not correct in each group of which no gate is checked, if any is."""
    asked = {one for spec in specs for one in _asked(spec, summaries, agents)}
    missed = {
        name: summary.runs - summary.outcomes.get(Outcome.CORRECT, 0)
        for name, summary in summaries.items()
        if name not in asked
    }
    return {name: count for name, count in missed.items() if count}


def _asked(spec: GateSpec, summaries: Mapping[str, Summary], agents: Agents) -> Iterator[str]:
    """Yield the groups whose misses a gate bounds; what is paid or tolerated bounds none."""
    if spec.name == UNAVAILABLE or spec.name in PAID:
        return
    for _, groups in places_of(spec, summaries, agents):
        if spec.name in COMPARISON_GATES or gates_at(spec, groups, summaries):
            yield from groups


# The verdict on a gate as JSON, for machines.


def verdict_to_json(one: GateVerdict) -> dict[str, str | float | None]:
    """Return what was asked and what was got, as a number (`None` is unknown) and as a text."""
    return {
        "where": one.where,
        "asked": one.asked,
        "got": one.value,
        "got_text": one.got,
        "state": one.state.value,
        "why": one.why,
        "part": one.part,
    }
