"""Tasks whose runs disagree: the same agent was right on them, and was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_sopbench._core.metrics.trials import NO_EVIDENCE
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import ANSWERED, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyTask:
    """A task with runs that are correct and runs that are not; `others` counts these."""

    name: TaskName
    runs: int
    correct: int
    others: Mapping[Outcome, int] = field(default_factory=dict[Outcome, int])

    @property
    def may_be_forgiven(self) -> bool:
        """Whether some run came to an answer: nothing forgives what was stopped."""
        return not ANSWERED.isdisjoint(self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyTasks:
    """The tasks that disagree, of the `repeated` ones that were run more than once."""

    flaky: tuple[FlakyTask, ...] = ()
    repeated: int = 0


def flaky_tasks(records: Iterable[RunRecord]) -> FlakyTasks:
    """Find the tasks whose runs disagree, in the order of their first run.

    Runs of a row that was changed in between are of another task: only those of the row's last
    state count. What was unavailable or never started says nothing of the agent.
    """
    runs: dict[TaskName, list[RunRecord]] = {}
    for one in records:
        if one.outcome in NO_EVIDENCE:
            continue
        made = runs.setdefault(TaskName(one.domain, one.task), [])
        if made and made[-1].task_hash != one.task_hash:
            made.clear()
        made.append(one)
    repeated = {name: made for name, made in runs.items() if len(made) > 1}
    found = (_flaky(name, made) for name, made in repeated.items())
    return FlakyTasks(
        flaky=tuple(one for one in found if 0 < one.correct < one.runs), repeated=len(repeated)
    )


def _flaky(name: TaskName, runs: list[RunRecord]) -> FlakyTask:
    counts = Counter(one.outcome for one in runs)
    correct = counts.pop(Outcome.CORRECT, 0)
    return FlakyTask(
        name=name,
        runs=len(runs),
        correct=correct,
        others={one: counts[one] for one in Outcome if counts[one]},
    )
