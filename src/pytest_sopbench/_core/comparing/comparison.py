"""What a comparison of two sessions comes to, as values; `compare` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.metrics.counts.confusion import Collapse
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.model.keys import TaskKey, agent_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics.paired_tests import PairedTest
from pytest_sopbench._core.verdict import Outcome

from .changes import Change
from .field_changes import FieldChange, ScoreChange
from .pairs import NotCompared
from .setups import Setup, SetupChange

OTHER_RULES: Final = "judged by other rules than ours (sopbench rescore)"
"""Why sessions are not comparable whose answers mean different things."""

NOTHING_TESTED: Final = PairedTest(p=1.0, source="no task to compare")


class ComparisonResult(StrEnum):
    """What a comparison comes to, in words that go no further than the numbers."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_DIFFERENCE = "no difference shown"
    NOT_ENOUGH = "not enough data"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSession:
    """One side of a comparison: its runs, and the hash of the rules by which they were judged.

    `domains` are the hashes of single domains, as far as they were recorded; where both sessions
    have that of a domain, it decides. `doubt` says why nothing may be concluded from the runs.
    `setups` are what its agents say of themselves, `comparers` what compared which field by domain.
    """

    name: str
    records: Sequence[RunRecord]
    judging: str = ""
    domains: Mapping[str, str] = field(default_factory=dict[str, str])
    doubt: str = ""
    setups: Mapping[str, Setup] = field(default_factory=dict[str, Setup])
    comparers: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """What became of a group of tasks since a baseline.

    `lost` and `gained` are in the order of the current session. `discordant` counts the paired
    tasks whose rate changed at all, `worse` those whose rate fell; at least `needed` tasks must
    change before p can fall below 0.05. `aside` are the tasks that only one session has or that
    could not be compared, `left_out` counts those that options left out, `may_fail` are those that
    were run and prove nothing. `not_correct` are those of `aside` that are new or changed, and have
    a run now that is not correct. `baseline` and `current` are the summaries of the paired runs,
    while `outcomes` counts all runs of the current session. `kinds` counts, for tasks with one
    trial in both, (outcome before, outcome now) where these differ. `groups` are the domains (and
    agents) that it spans. `why` says why the sessions are not comparable, where they are not;
    `doubt` why nothing may be concluded from one of them, whatever it comes to. `fields` and
    `scores` are of the output fields of one domain.
    """

    name: str
    tier: ComparisonResult
    fields: tuple[FieldChange, ...] = ()
    scores: tuple[ScoreChange, ...] = ()
    groups: int = 1
    lost: tuple[TaskKey, ...] = ()
    gained: tuple[TaskKey, ...] = ()
    paired: int = 0
    discordant: int = 0
    worse: int = 0
    needed: int = 0
    why: str = ""
    doubt: str = ""
    aside: Mapping[TaskKey, NotCompared] = field(default_factory=dict[TaskKey, NotCompared])
    left_out: int = 0
    may_fail: tuple[TaskKey, ...] = ()
    not_correct: tuple[TaskKey, ...] = ()
    test: PairedTest = NOTHING_TESTED
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    kinds: Mapping[tuple[Outcome, Outcome], int] = field(
        default_factory=dict[tuple[Outcome, Outcome], int]
    )
    baseline: Summary = EMPTY
    current: Summary = EMPTY
    outcomes: Mapping[Outcome, int] = field(default_factory=dict[Outcome, int])

    @property
    def tasks(self) -> int:
        """Tasks that are paired or should have been."""
        return self.paired + len(self.aside)

    @property
    def fell(self) -> bool:
        """Whether the paired tasks came to less than before."""
        change = self.changes["tsr"].difference if self.changes else None
        return change is not None and change < 0

    @property
    def collapses(self) -> tuple[Collapse, ...]:
        """The alarms of the current session that the baseline did not raise."""
        return _only_in(self.current.collapses, self.baseline.collapses)

    @property
    def ended_collapses(self) -> tuple[Collapse, ...]:
        """The alarms of the baseline that the current session does not raise."""
        return _only_in(self.baseline.collapses, self.current.collapses)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionComparison:
    """Two sessions: by domain (and agent, `DOMAIN (AGENT)`, where there are several), and pooled.

    `pooled` has no collapse where there are several groups: labels of domains do not mix. Where
    there are several agents it serves for lists of tasks alone, since no number of two agents
    together says anything; `agents` pools the domains of each agent that ran on several, then.
    `setups` is what differs in the agents themselves.
    """

    groups: Mapping[str, GroupComparison]
    pooled: GroupComparison
    setups: tuple[SetupChange, ...] = ()
    agents: Mapping[str, GroupComparison] = field(default_factory=dict[str, GroupComparison])

    @property
    def has_agents(self) -> bool:
        """Whether agents are told apart."""
        return any(map(agent_of, self.groups))

    def by(self, agent: str) -> GroupComparison | None:
        """Return all of an agent's tasks, where agents are told apart."""
        groups = (one for name, one in self.groups.items() if agent_of(name) == agent)
        return self.agents.get(agent) or next(groups, None)


def _only_in(these: Sequence[Collapse], those: Sequence[Collapse]) -> tuple[Collapse, ...]:
    known = {one.field: one for one in those}
    left = (_less(one, known.get(one.field, Collapse(field=one.field))) for one in these)
    return tuple(one for one in left if one)


def _less(one: Collapse, other: Collapse) -> Collapse:
    return Collapse(
        field=one.field,
        favoured={name: z for name, z in one.favoured.items() if name not in other.favoured},
        never={name: n for name, n in one.never.items() if name not in other.never},
    )
