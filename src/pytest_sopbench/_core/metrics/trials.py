"""Tasks that are run several times."""

from __future__ import annotations

from array import array
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


# Count trials task by task as runs arrive, at next to no cost if a task has only one.


class TrialTally:
    """Counts the trials of each task.

    Whether a task will have a second trial is not known when its first arrives. Of a first trial
    eight bytes are kept, the hash of its task with the outcome in the lowest bit; only a task
    that has a second is kept by name. Two of 100,000 tasks share a hash of 63 bits with a chance
    of one in a thousand million.
    """

    def __init__(self) -> None:
        self._first = array("q")
        self._later: dict[tuple[str, str, str], list[int]] = {}

    def add(self, record: RunRecord) -> None:
        """Count one run; each key must come once."""
        correct = record.outcome is Outcome.CORRECT
        key = record.domain, record.task, record.agent
        if record.trial == 1:
            self._first.append(hash(key) & ~1 | correct)
            return
        counts = self._later.setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += correct

    @property
    def tasks(self) -> int:
        """Tasks with a run, whichever of their trials it is."""
        if not self._later:
            return len(self._first)
        later = {hash(key) & ~1 for key in self._later}
        return len(later.union(first & ~1 for first in self._first))

    def counts(self) -> dict[tuple[int, int], int]:
        """Return (trials, correct) to tasks, sorted; empty if no task has several trials."""
        trials = {hash(key) & ~1: list(counts) for key, counts in self._later.items()}
        once: Counter[tuple[int, int]] = Counter()
        for first in self._first if trials else ():
            found = trials.get(first & ~1)
            if found is None:
                once[1, first & 1] += 1
            else:
                found[0] += 1
                found[1] += first & 1
        once.update((number, correct) for number, correct in trials.values())
        if all(number == 1 for number, _ in once):
            return {}
        return dict(sorted(once.items()))
