"""The agents of one session side by side, and which of their differences are more than chance.

Agents are never counted together. Two of them are compared task by task, over the tasks that both
were to run: the same tasks of the same domains, or they are not compared at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.total import without_labels
from pytest_sopbench._core.model.agent_labels import labels_of
from pytest_sopbench._core.model.task import GroupKey, TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics import ALPHA, PairedTest, holm, needed_for

from .compare import paired_test_of
from .comparison import NOTHING_TESTED, PAIRED_SHARE, Pairs, pair_runs

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
    standings.sort(key=lambda one: _rank(one.summary))
    return Leaderboard(
        standings=tuple(standings),
        differences=_differences([one.agent for one in standings], records, may_fail),
    )


def _rank(summary: Summary) -> tuple[bool, float, float]:
    return summary.unmeasured, -(summary.tsr or 0), -(summary.ecr or 0)


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
