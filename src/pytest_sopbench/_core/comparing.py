"""Sessions compared task by task, and the agents of one session side by side.

Both lay the same tasks beside each other and test their differences in the same way: two sessions
over what both have, unchanged; two agents over the tasks that both were to run. Agents are never
counted together, and are not compared at all unless they ran the same tasks of the same domains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import lcm
from typing import Final

from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import without_labels
from pytest_sopbench._core.model.task import GroupKey, OutputField, TaskName, labels_of
from pytest_sopbench._core.records.record import RunRecord

from .comparison import (
    NOTHING_TESTED,
    OTHER_RULES,
    PAIRED_SHARE,
    ComparedSession,
    ComparisonResult,
    Counts,
    GroupComparison,
    NotCompared,
    Pair,
    Pairs,
    SessionComparison,
    changes_of,
    fell_by_half,
    field_changes,
    pair_runs,
    score_changes,
    setup_changes,
)
from .statistics import ALPHA, PairedTest, holm, needed_for, paired_test
from .verdict import Outcome

# Which functions compared the fields of two sessions, if these are not the same.


def unlike_comparers(
    domain: str, before: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[str]:
    """Say of each field of a domain what compared it there, if it is something else here."""
    for field in {**before, **now}:
        there, here = before.get(field, "the judge"), now.get(field, "the judge")
        name, _, version = there.partition(" ")
        other, _, today = here.partition(" ")
        if name == other and version != today:
            yield f"{field} of {domain} by {name}, {version} there, {today} here"
        elif there != here:
            yield f"{field} of {domain} by {there} there, by {here} here"


# Two sessions compared: which tasks were lost and gained, and whether that is more than chance.
#
# What is compared is what both sessions have: the same tasks, unchanged, with runs that tell
# something of the agent. Everything else is set aside by name and counted.

_UNLIKE: Final = frozenset({NotCompared.CHANGED, NotCompared.ONLY_CURRENT})
"""Why a task is not compared that was run: the baseline has no such task."""


def compare(
    baseline: ComparedSession,
    current: ComparedSession,
    *,
    left_out: Collection[tuple[str, str]] = (),
    may_fail: Collection[tuple[str, str]] = (),
    fields: Mapping[str, Sequence[OutputField]] | None = None,
) -> SessionComparison:
    """Compare a session with a baseline.

    Args:
        baseline: the session that was accepted.
        current: the session in question.
        left_out: (domain, task) of what options left out of the current session; these tasks of
            the baseline are not missing.
        may_fail: (domain, task) of what may fail: neither lost nor gained, nor tested.
        fields: the output fields of each domain, for the labels of the collapse alarm.
    """
    pairs = pair_runs(baseline.records, current.records, left_out=left_out, may_fail=may_fail)
    keys = [*pairs.outcomes, *pairs.aside, *pairs.left_out, *pairs.may_fail]
    titles = dict.fromkeys((key.domain, key.agent) for key in keys)
    groups = {
        f"{domain} ({agent})" if agent else domain: _comparison(
            baseline.name,
            pairs.of(agent, domain) if len(titles) > 1 else pairs,
            why=_unlike(baseline, current, (domain,)),
            doubt=current.doubt or baseline.doubt,
            fields=(fields or {}).get(domain, ()),
        )
        for domain, agent in titles
    }
    setups = setup_changes(baseline.setups, current.setups)
    changed = {
        part: tuple(
            name for name, now in hashes.items() if baseline.contents[part].get(name, now) != now
        )
        for part, hashes in current.contents.items()
        if part in baseline.contents
    }
    if len(groups) == 1:
        return SessionComparison(
            groups=groups,
            pooled=next(iter(groups.values())),
            setups=setups,
            changed=changed,
        )

    def pooled(some: Pairs, domains: Sequence[str], number: int) -> GroupComparison:
        one = _comparison(
            baseline.name,
            some,
            why=_unlike(baseline, current, sorted({*domains})),
            doubt=current.doubt or baseline.doubt,
        )
        return replace(
            one,
            groups=number,
            baseline=without_labels(one.baseline),
            current=without_labels(one.current),
        )

    agents = {agent: [name for name, by in titles if by == agent] for _, agent in titles if agent}
    return SessionComparison(
        groups=groups,
        setups=setups,
        changed=changed,
        pooled=pooled(pairs, [domain for domain, _ in titles], len(groups)),
        agents={
            agent: pooled(pairs.of(agent), domains, len(domains))
            for agent, domains in agents.items()
            if len(domains) > 1
        },
    )


def paired_test_of(counts: Mapping[Counts, int]) -> PairedTest:
    """Test whether tasks came to the same on both sides, by their kinds and how many there are."""
    if not counts:
        return NOTHING_TESTED
    unit = lcm(*(of_was * of_now for _, of_was, _, of_now in counts))
    differences: list[int] = []
    for (was, of_was, now, of_now), number in counts.items():
        differences += [now * (unit // of_now) - was * (unit // of_was)] * number
    return paired_test(differences)


def _unlike(baseline: ComparedSession, current: ComparedSession, names: Sequence[str]) -> str:
    """Say why the runs of some domains cannot be compared, or nothing."""
    there = {record.domain for record in baseline.records}
    here = {record.domain for record in current.records}
    if there and here and there.isdisjoint(here):
        return f"it has no domain of this session, but {', '.join(sorted(there))}"
    shared = [name for name in names if name in there]
    before = [baseline.domains.get(name, "") for name in shared]
    now = [current.domains.get(name, "") for name in shared]
    unknown = not (all(before) and all(now))
    if (baseline.judging != current.judging) if unknown else before != now:
        unlike = "; ".join(
            line
            for one in shared
            for line in unlike_comparers(
                one, baseline.comparers.get(one, {}), current.comparers.get(one, {})
            )
        )
        said = f"{OTHER_RULES}: {unlike}" if unlike else OTHER_RULES
        return said if shared or not there else ""
    return ""


def _comparison(
    name: str, pairs: Pairs, *, why: str, doubt: str, fields: Sequence[OutputField] = ()
) -> GroupComparison:
    compared = pairs.pairs
    kinds = [pair.counts for pair in compared]
    counts = Counter(kinds)
    test = paired_test_of(counts)
    changes = changes_of(compared)
    fell = {kind: kind[0] * kind[3] - kind[2] * kind[1] for kind in counts}
    lost = {kind for kind in counts if fell_by_half(kind)}
    gained = {kind for kind in counts if fell_by_half((*kind[2:], *kind[:2]))}
    discordant = sum(number for kind, number in counts.items() if fell[kind])
    tier = _tier(test.p, changes["tsr"].difference, discordant)
    outcomes = Counter(outcome for ends in pairs.outcomes.values() for outcome in ends)
    return GroupComparison(
        name=name,
        tier=ComparisonResult.NOT_COMPARABLE if why else tier,
        why=why,
        doubt=doubt,
        lost=tuple(pair.key for pair, kind in zip(compared, kinds, strict=True) if kind in lost),
        gained=tuple(
            pair.key for pair, kind in zip(compared, kinds, strict=True) if kind in gained
        ),
        paired=len(compared),
        discordant=discordant,
        worse=sum(number for kind, number in counts.items() if fell[kind] > 0),
        needed=needed_for(ALPHA),
        aside=pairs.aside,
        left_out=len(pairs.left_out),
        may_fail=pairs.may_fail,
        not_correct=tuple(
            key
            for key, why in pairs.aside.items()
            if why in _UNLIKE and set(pairs.outcomes.get(key, ())) != {Outcome.CORRECT}
        ),
        test=test,
        changes=changes,
        kinds=_kinds(compared),
        baseline=summary_of((run for pair in compared for run in pair.baseline), fields),
        current=summary_of((run for pair in compared for run in pair.current), fields),
        outcomes={one: outcomes[one] for one in Outcome if outcomes[one]},
        fields=field_changes(compared),
        scores=score_changes(compared),
    )


def _tier(p: float, change: float | None, discordant: int) -> ComparisonResult:
    if change is None:
        return ComparisonResult.NOT_ENOUGH
    if p < ALPHA:
        return ComparisonResult.REGRESSION if change < 0 else ComparisonResult.IMPROVEMENT
    if 0 < discordant < needed_for(ALPHA):
        return ComparisonResult.NOT_ENOUGH
    return ComparisonResult.NO_DIFFERENCE


def _kinds(pairs: Sequence[Pair]) -> dict[tuple[Outcome, Outcome], int]:
    """Count what became of what, the most frequent first."""
    kinds = Counter(
        (pair.baseline[0].outcome, pair.current[0].outcome) for pair in pairs if pair.single
    )
    return {kind: number for kind, number in kinds.most_common() if kind[0] is not kind[1]}


# The agents of one session side by side, and which of their differences are more than chance.

OTHER_TASKS = "they did not run the same tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One agent: what all of its runs came to, on all of its domains."""

    agent: str
    label: str
    summary: Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two agents, the one with the larger share of correct runs first.

    Of `paired` tasks, `ahead` went better for the first agent and `behind` for the second, out of
    `tasks` that both were to run. `p` is that of `test`, adjusted for the number of pairs that were
    tested; at least `needed` tasks must differ before it is surely able to fall below 0.05. `why`
    says why the two were not compared, or nothing.
    """

    first: str
    second: str
    tasks: int = 0
    paired: int = 0
    ahead: int = 0
    behind: int = 0
    needed: int = 0
    test: PairedTest = NOTHING_TESTED
    p: float = 1.0
    why: str = ""

    @property
    def is_shown(self) -> bool:
        """Whether the difference is more than chance."""
        return not self.why and self.p < ALPHA

    @property
    def is_too_small(self) -> bool:
        """Whether too few tasks differ to tell the difference from chance, whatever it is."""
        return not (self.why or self.is_shown) and self.ahead + self.behind < self.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The agents of a session, best first, and each pair of them."""

    standings: tuple[Standing, ...]
    differences: tuple[Difference, ...] = ()


def leaderboard_of(
    groups: Mapping[GroupKey, Summary],
    records: Iterable[RunRecord],
    *,
    may_fail: Collection[TaskName] = (),
) -> Leaderboard | None:
    """Put the agents of a session side by side; `None` if it has one.

    The order is that of TSR, then of ECR, then that of the session; an agent of which too many runs
    were unavailable has no rate, and stands last. p is that of the exact McNemar
    test, with trials of the permutation test over the tasks' rates (`paired_test`), adjusted over
    all pairs that are tested (`holm`). Runs that were unavailable or never started are no evidence;
    a pair of which less than four fifths of the tasks are left is not compared.

    Args:
        groups: what came of each agent on each domain.
        records: every planned run.
        may_fail: tasks that prove nothing; the rates have them, the comparison has not.
    """
    summaries: dict[str, Summary] = {}
    for group, summary in groups.items():
        summaries[group.agent] = summaries.get(group.agent, EMPTY) + summary
    if len(summaries) < 2:  # noqa: PLR2004 - one agent is compared with no other
        return None
    labels = labels_of(summaries)
    standings = [
        Standing(agent=agent, label=labels[agent], summary=without_labels(one))
        for agent, one in summaries.items()
    ]
    standings.sort(
        key=lambda one: (one.summary.unmeasured, -(one.summary.tsr or 0), -(one.summary.ecr or 0))
    )
    return Leaderboard(
        standings=tuple(standings),
        differences=_differences([one.agent for one in standings], records, may_fail),
    )


def _differences(
    agents: Sequence[str], records: Iterable[RunRecord], may_fail: Collection[TaskName]
) -> tuple[Difference, ...]:
    runs: dict[str, list[RunRecord]] = {agent: [] for agent in agents}
    for record in records:
        runs[record.agent].append(record)
    found = [_difference(a, b, runs[a], runs[b], may_fail) for a, b in combinations(agents, 2)]
    tested = [one for one in found if not one.why]
    adjusted = iter(holm([one.test.p for one in tested]))
    needed = needed_for(ALPHA / len(tested)) if tested else 0
    return tuple(one if one.why else replace(one, p=next(adjusted), needed=needed) for one in found)


def _difference(
    a: str,
    b: str,
    runs: Sequence[RunRecord],
    others: Sequence[RunRecord],
    may_fail: Collection[TaskName],
) -> Difference:
    if {(one.domain, one.task) for one in runs} != {(one.domain, one.task) for one in others}:
        return Difference(first=a, second=b, why=OTHER_TASKS)
    # The second is the baseline of the first, so that what rose is ahead.
    pairs = pair_runs(others, runs, may_fail=may_fail)
    if not pairs.pairs or len(pairs.pairs) + 1e-9 < PAIRED_SHARE * pairs.tasks:
        why = f"only {len(pairs.pairs)} of {pairs.tasks} tasks can be compared"
        return Difference(first=a, second=b, tasks=pairs.tasks, why=why)
    return _counted(a, b, pairs)


def _counted(a: str, b: str, pairs: Pairs) -> Difference:
    counts = Counter(pair.counts for pair in pairs.pairs)
    rose = {kind: kind[2] * kind[1] - kind[0] * kind[3] for kind in counts}
    share = sum((pair.after - pair.before for pair in pairs.pairs), start=0)
    ahead = sum(number for kind, number in counts.items() if rose[kind] > 0)
    behind = sum(number for kind, number in counts.items() if rose[kind] < 0)
    # By the tasks that were compared, the order may be another one than by all runs.
    first, second, ahead, behind = (b, a, behind, ahead) if share < 0 else (a, b, ahead, behind)
    return Difference(
        first=first,
        second=second,
        tasks=pairs.tasks,
        paired=len(pairs.pairs),
        ahead=ahead,
        behind=behind,
        test=paired_test_of(counts),
    )
