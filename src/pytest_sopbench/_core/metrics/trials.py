"""Tasks that are run several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics import Bounds, bootstrap, wilson
from pytest_sopbench._core.verdict import NO_EVIDENCE, Outcome

# What the trials of a task come to: at least one correct, all of them, or a part.
#
# Sources: M. Chen et al., Evaluating large language models trained on code (2021), for pass@k; S.
# Yao et al., tau-bench (2024), for pass^k.


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialBounds:
    """95 % intervals over tasks; `None` without a task."""

    tsr: Bounds | None
    pass_any: Bounds | None
    pass_all: Bounds | None


NO_BOUNDS: Final = TrialBounds(tsr=None, pass_any=None, pass_all=None)
"""No interval at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCounts:
    """How many tasks had so many trials, and so many of them correct.

    `tasks_by` maps (trials, correct) to tasks. Runs that were unavailable or never started are
    trials that are not correct, exactly as they are for TSR.
    """

    tasks_by: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    @property
    def tasks(self) -> int:
        return sum(self.tasks_by.values())

    @property
    def least(self) -> int:
        """Trials of the task that has fewest; 0 without a task."""
        return min((trials for trials, _ in self.tasks_by), default=0)

    @property
    def most(self) -> int:
        """Trials of the task that has most; 0 without a task."""
        return max((trials for trials, _ in self.tasks_by), default=0)

    @property
    def any_passed(self) -> int:
        """Tasks with at least one correct trial."""
        return sum(tasks for (_, correct), tasks in self.tasks_by.items() if correct)

    @property
    def all_passed(self) -> int:
        """Tasks whose trials are all correct."""
        return sum(tasks for (n, correct), tasks in self.tasks_by.items() if correct == n)

    def pass_any(self) -> float | None:
        """Return pass@k with k all trials of each task; `None` if there is no task."""
        return self.any_passed / self.tasks if self.tasks else None

    def pass_all(self) -> float | None:
        """Return pass^k with k all trials of each task; `None` if there is no task."""
        return self.all_passed / self.tasks if self.tasks else None

    def passed(self, rate: float) -> int:
        """Count the tasks that passed at least this rate of their trials."""
        # As counts, since a rate is not exact: 0.1 + 0.2 is not 0.3.
        return sum(
            tasks
            for (trials, correct), tasks in self.tasks_by.items()
            if correct + 1e-9 >= rate * trials
        )

    def bounds(self) -> TrialBounds:
        """Return 95 % intervals of TSR, pass any and pass all by a bootstrap over tasks.

        If all tasks are alike a bootstrap has no spread and would claim certainty, so Wilson's
        interval over the tasks stands in for it.
        """
        found = bootstrap(self.tasks_by, _rates)
        if not found:
            return NO_BOUNDS
        rates = _rates(self.tasks_by)
        tsr, passed_any, passed_all = (
            bounds if bounds and bounds[0] < bounds[1] else wilson(round(rate * n), n)
            for bounds, rate, n in zip(found, rates, [self.tasks] * 3, strict=True)
        )
        return TrialBounds(tsr=tsr, pass_any=passed_any, pass_all=passed_all)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTrials:
    """One task with its runs, by how they ended; some may have been unavailable, or never started.

    `agent` is empty if the runs may be of several.
    """

    domain: str
    task: str
    agent: str = ""
    outcomes: Mapping[Outcome, int]

    @property
    def trials(self) -> int:
        return sum(self.outcomes.values())

    @property
    def correct(self) -> int:
        return self.outcomes.get(Outcome.CORRECT, 0)

    @property
    def rate(self) -> float:
        return self.correct / self.trials

    @property
    def disagree(self) -> bool:
        """Whether some are correct and others are not; what says nothing disagrees with nothing."""
        silent = sum(self.outcomes.get(one, 0) for one in NO_EVIDENCE)
        return 0 < self.correct < self.trials - silent


def disagreements(runs: Iterable[tuple[RunKey, Outcome]]) -> tuple[TaskTrials, ...]:
    """Return the tasks whose trials disagree, in the order of their first run."""
    counts: dict[tuple[str, str, str], Counter[Outcome]] = {}
    for key, outcome in runs:
        counts.setdefault((key.domain, key.task, key.agent), Counter())[outcome] += 1
    found = (
        TaskTrials(domain=domain, task=task, agent=agent, outcomes=outcomes)
        for (domain, task, agent), outcomes in counts.items()
    )
    return tuple(one for one in found if one.disagree)


def repeated_tasks(records: Iterable[RunRecord]) -> tuple[TaskTrials, ...]:
    """Return the tasks that were run more than once, in the order of their first run.

    Runs of a row that was changed in between are of another task: only those of the row's last
    state count. What was unavailable or never started says nothing of the agent.
    """
    runs: dict[tuple[str, str], list[RunRecord]] = {}
    for one in records:
        if one.outcome in NO_EVIDENCE:
            continue
        made = runs.setdefault((one.domain, one.task), [])
        if made and made[-1].task_hash != one.task_hash:
            made.clear()
        made.append(one)
    return tuple(
        TaskTrials(domain=domain, task=task, outcomes=Counter(one.outcome for one in made))
        for (domain, task), made in runs.items()
        if len(made) > 1
    )


def _rates(tasks_by: Mapping[tuple[int, int], int]) -> tuple[float, float, float]:
    """Return TSR, pass any and pass all; there is at least one task."""
    runs = right = tasks = any_passed = all_passed = 0
    for (trials, correct), number in tasks_by.items():
        tasks += number
        runs += number * trials
        right += number * correct
        any_passed += number * (correct > 0)
        all_passed += number * (correct == trials)
    return right / runs, any_passed / tasks, all_passed / tasks
