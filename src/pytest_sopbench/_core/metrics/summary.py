"""What a group of runs came to: counts that are kept, and rates that derive from them.

Since only counts are kept, summaries add. n is always the number of planned runs: a run that
crashed or never started is counted like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from pytest_sopbench._core.metrics.counts.counts import (
    NOTHING_DISPUTED,
    NOTHING_EXPECTED,
    NOTHING_REQUIRED,
    Amount,
    DisputedCounts,
    FieldPairs,
    GroundedCounts,
    PairCounter,
    RunCounts,
    ToolCounts,
    UnneededCounts,
    added,
    ratio,
)
from pytest_sopbench._core.metrics.counts.document_counts import NO_DOCUMENTS, DocumentCounts
from pytest_sopbench._core.metrics.counts.field_counts import FieldCounts
from pytest_sopbench._core.metrics.counts.rule_counts import (
    NO_CONTRACT,
    ContractTally,
    RuleTally,
    added_rules,
)
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.statistics.intervals import wilson
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .trials import NO_BOUNDS, TrialBounds, TrialCounts

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.counts.confusion import Collapse, Confusion
    from pytest_sopbench._core.statistics.bootstrap import Bounds

USAGE_NAMES = COUNTS
"""What a run may have consumed: the fields of `Usage` that add up."""

UNAVAILABLE_SHARE: Final = 0.05
"""The share of unavailable runs above which no rate is told, unless a gate sets another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a group of runs came to.

    `tasks` counts tasks, `runs` planned runs: tasks x trials. `by_expected` groups them by the
    expected answer, all fields jointly; `by_class` by the fields of few values alone, and is empty
    where there are no others. `answers` holds, for fields of few values, the label
    given where which was expected, in completed runs; `wrong_pairs` the same for what the judge
    called a mismatch, wherever both values are short; `mismatched` counts mismatches by field.
    `by_field` counts where each field is right, `by_number` the right fields of runs by how many
    fields these were asked for.
    `durations` are in seconds, sorted, of the runs that left a trace; `without_calls` are those
    of them that called no tool. `rules` count rule by rule, `contract` run by run, `grounded`,
    `unneeded` and `documents` as their own words say. `trials_by` maps (trials, correct) to tasks,
    and is empty where each task has one trial. Two summaries add where they have no task in
    common. A rate is `None` where there is nothing to divide.

    `tolerated` is the share of runs that may be unavailable. Where more of them are, nobody can
    tell what the agent would have done, so the summary is `unmeasured` and every rate is `None`.
    """

    runs: int = 0
    tasks: int = 0
    outcomes: Mapping[Outcome, int] = field(default_factory=dict[Outcome, int])
    tools: Mapping[str, ToolCounts] = field(default_factory=dict[str, ToolCounts])
    by_expected: Mapping[str, RunCounts] = field(default_factory=dict[str, RunCounts])
    by_class: Mapping[str, RunCounts] = field(default_factory=dict[str, RunCounts])
    answers: FieldPairs = field(default_factory=dict[str, Mapping[tuple[str, str], int]])
    wrong_pairs: FieldPairs = field(default_factory=dict[str, Mapping[tuple[str, str], int]])
    mismatched: Mapping[str, int] = field(default_factory=dict[str, int])
    by_field: Mapping[str, FieldCounts] = field(default_factory=dict[str, FieldCounts])
    by_number: Mapping[int, FieldCounts] = field(default_factory=dict[int, FieldCounts])
    disputed: DisputedCounts = NOTHING_DISPUTED
    only_published: int = 0
    reruns: int = 0
    trials_by: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    without_calls: int = 0
    rules: tuple[RuleTally, ...] = ()
    contract: ContractTally = NO_CONTRACT
    grounded: GroundedCounts = NOTHING_REQUIRED
    unneeded: UnneededCounts = NOTHING_EXPECTED
    documents: DocumentCounts = NO_DOCUMENTS
    durations: tuple[float, ...] = ()
    usage: Mapping[str, Amount] = field(default_factory=dict[str, Amount])
    tolerated: float = UNAVAILABLE_SHARE

    @property
    def unavailable(self) -> int:
        """How many runs were unavailable; they stay in n."""
        return self.outcomes.get(Outcome.UNAVAILABLE, 0)

    @property
    def unmeasured(self) -> bool:
        """Whether more runs were unavailable than is tolerated."""
        # 29 of 100 are not more than 0.29, whatever the fractions leave in the last digit.
        return self.unavailable > self.tolerated * self.runs + 1e-9

    def rate(self, part: float, whole: float) -> float | None:
        """Divide counts of these runs; `None` where they are unmeasured, or nothing is divided."""
        return None if self.unmeasured else ratio(part, whole)

    def interval(self, part: int, whole: int) -> Bounds | None:
        """Return the 95 % interval of a rate over runs, where there is a rate.

        Trials of a task are not independent, and would make an interval over runs too narrow.
        """
        return None if self.trials_by or self.unmeasured else wilson(part, whole)

    @property
    def trial_bounds(self) -> TrialBounds:
        """The 95 % intervals of TSR, pass any and pass all over the tasks."""
        return NO_BOUNDS if self.unmeasured else self.trials.bounds()

    @property
    def tsr_bounds(self) -> Bounds | None:
        """The 95 % interval of TSR: over tasks where each has several trials."""
        return self.trial_bounds.tsr if self.trials_by else self.interval(self.correct, self.runs)

    @property
    def correct(self) -> int:
        """How many runs are correct."""
        return self.outcomes.get(Outcome.CORRECT, 0)

    @property
    def completed(self) -> int:
        """How many runs gave an answer for every output field."""
        return sum(self.outcomes.get(outcome, 0) for outcome in COMPLETED)

    @property
    def tsr(self) -> float | None:
        """Task success rate: correct runs / planned runs."""
        return self.rate(self.correct, self.runs)

    @property
    def ecr(self) -> float | None:
        """Execution completion rate: completed runs / planned runs."""
        return self.rate(self.completed, self.runs)

    @property
    def c_tsr(self) -> float | None:
        """Correct runs / completed runs."""
        return self.rate(self.correct, self.completed)

    @property
    def contract_rate(self) -> float | None:
        """Runs whose contract holds / runs to whose task a rule applies."""
        return self.rate(self.contract.held, self.contract.runs)

    @property
    def grounded_tsr(self) -> float | None:
        """Runs that are correct and lack no required tool / n; `None` where nothing is required."""
        return self.rate(self.grounded.grounded, self.runs) if self.grounded.required else None

    @property
    def undisputed(self) -> RunCounts:
        """The runs of tasks that no known disagreement is recorded for."""
        left_out = self.disputed.counts
        return RunCounts(
            runs=self.runs - left_out.runs,
            completed=self.completed - left_out.completed,
            correct=self.correct - left_out.correct,
        )

    @property
    def calls(self) -> ToolCounts:
        """The calls of all tools together."""
        return sum(self.tools.values(), ToolCounts())

    @property
    def tool_accuracy(self) -> float | None:
        """(Calls - bad calls) / calls."""
        return self.rate(self.calls.calls - self.calls.bad, self.calls.calls)

    @property
    def calls_per_run(self) -> float | None:
        """Tool calls / runs that left a trace."""
        return ratio(self.calls.calls, len(self.durations))

    @property
    def cost_per_correct(self) -> float | None:
        """Dollars of all runs / correct runs.

        `None` where none is correct, or where a cost is missing that a run must have had: fewer
        are known than runs returned.
        """
        cost = self.usage.get("cost_usd")
        returned = self.completed + self.outcomes.get(Outcome.NO_ANSWER, 0)
        if cost is None or cost.known < returned:
            return None
        return ratio(cost.total, self.correct)

    @property
    def trials(self) -> TrialCounts:
        """The tasks by how many of their trials are correct."""
        if self.trials_by:
            return TrialCounts(tasks_by=self.trials_by)
        once = {(1, 0): self.runs - self.correct, (1, 1): self.correct}
        return TrialCounts(tasks_by={kind: tasks for kind, tasks in once.items() if tasks})

    @property
    def pass_any(self) -> float | None:
        """Tasks with a correct trial / tasks (pass@k, with k all trials of a task)."""
        return None if self.unmeasured else self.trials.pass_any()

    @property
    def pass_all(self) -> float | None:
        """Tasks whose trials are all correct / tasks (pass^k, with k all trials of a task)."""
        return None if self.unmeasured else self.trials.pass_all()

    @property
    def most_frequent(self) -> int | None:
        """Runs that always giving the most frequent answer would have right.

        `None` where an expected answer is masked or missing: then nobody can tell.
        """
        labelled = sum(counts.runs for counts in self.by_expected.values())
        if not self.runs or labelled != self.runs:
            return None
        return max(counts.runs for counts in self.by_expected.values())

    @property
    def chance(self) -> float | None:
        """The TSR of always giving the most frequent answer."""
        most = self.most_frequent
        return None if most is None else most / self.runs

    @property
    def latency_median(self) -> float | None:
        """Seconds."""
        return median(self.durations) if self.durations else None

    @property
    def latency_p95(self) -> float | None:
        """Seconds: the nearest-rank 95th percentile, a duration that was really measured."""
        count = len(self.durations)
        return self.durations[ceil(0.95 * count) - 1] if count else None

    @property
    def confusions(self) -> tuple[Confusion, ...]:
        """One table for each field of few values."""
        from pytest_sopbench._core.metrics.counts.confusion import LABELS_LIMIT, Confusion  # noqa: PLC0415 - only where confusions are shown

        tables = (Confusion(field=name, pairs=pairs) for name, pairs in self.answers.items())
        return tuple(table for table in tables if 1 < len(table.expected) <= LABELS_LIMIT)

    @property
    def collapses(self) -> tuple[Collapse, ...]:
        """What the collapse alarm has to say, field by field; empty when all is well."""
        trials = self.runs / self.tasks if self.tasks else 1.0
        found = (table.collapse(trials=trials) for table in self.confusions)
        return tuple(collapse for collapse in found if collapse)

    def __add__(self, other: Summary) -> Summary:
        outcomes = {
            outcome: self.outcomes.get(outcome, 0) + other.outcomes.get(outcome, 0)
            for outcome in Outcome
            if outcome in self.outcomes or outcome in other.outcomes
        }
        return Summary(
            runs=self.runs + other.runs,
            tasks=self.tasks + other.tasks,
            outcomes=outcomes,
            tools=_sum_of(self.tools, other.tools, ToolCounts()),
            by_expected=_sum_of(self.by_expected, other.by_expected, RunCounts()),
            by_class=_sum_of(self.by_class, other.by_class, RunCounts()),
            answers=_sum_of_pairs(self.answers, other.answers),
            wrong_pairs=_sum_of_pairs(self.wrong_pairs, other.wrong_pairs),
            mismatched=added(self.mismatched, other.mismatched),
            by_field=_sum_in_order(self.by_field, other.by_field),
            by_number=_sum_in_order(self.by_number, other.by_number),
            disputed=self.disputed + other.disputed,
            only_published=self.only_published + other.only_published,
            reruns=self.reruns + other.reruns,
            trials_by=_sum_of_trials(self, other),
            without_calls=self.without_calls + other.without_calls,
            rules=added_rules(self.rules, other.rules),
            contract=self.contract + other.contract,
            grounded=self.grounded + other.grounded,
            unneeded=self.unneeded + other.unneeded,
            documents=self.documents + other.documents,
            durations=tuple(sorted(self.durations + other.durations)),
            usage=_sum_of(self.usage, other.usage, Amount()),
            tolerated=_tolerated(self, other),
        )


EMPTY = Summary()
"""The summary of no runs, to which others can be added."""


class _Adds(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


_Counts = TypeVar("_Counts", bound=_Adds)


def _sum_of(
    a: Mapping[str, _Counts], b: Mapping[str, _Counts], zero: _Counts
) -> dict[str, _Counts]:
    return {name: a.get(name, zero) + b.get(name, zero) for name in sorted({*a, *b})}


_Key = TypeVar("_Key", int, str)


def _sum_in_order(
    a: Mapping[_Key, FieldCounts], b: Mapping[_Key, FieldCounts]
) -> dict[_Key, FieldCounts]:
    # The order of fields is that of the domain.
    zero = FieldCounts()
    return {name: a.get(name, zero) + b.get(name, zero) for name in {**a, **b}}


def _sum_of_pairs(a: FieldPairs, b: FieldPairs) -> dict[str, Mapping[tuple[str, str], int]]:
    counter = PairCounter()
    counter.add_all(a)
    counter.add_all(b)
    return counter.pairs()


def _tolerated(a: Summary, b: Summary) -> float:
    """Return what the sum tolerates: nothing where one of its parts is unmeasured.

    A gate on all domains is inconclusive where one domain is, and so is their rate. Many runs
    elsewhere must not make up for a domain of which nobody knows anything.
    """
    if not (a.runs and b.runs):
        return a.tolerated if a.runs else b.tolerated
    return 0.0 if a.unmeasured or b.unmeasured else max(a.tolerated, b.tolerated)


def _sum_of_trials(a: Summary, b: Summary) -> dict[tuple[int, int], int]:
    if not (a.trials_by or b.trials_by):
        return {}
    counts = Counter(a.trials.tasks_by) + Counter(b.trials.tasks_by)
    return dict(sorted(counts.items()))
