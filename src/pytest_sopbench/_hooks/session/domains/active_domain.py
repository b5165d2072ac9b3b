"""A domain in use, and the runs that items ask for of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version

from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.judging.fingerprint import rules_fingerprint
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._loading.domain.task_rows import TaskRows
from pytest_sopbench._running.comparing.compare import Comparers


@dataclass(frozen=True, slots=True)
class TaskRef:
    """One run that an item asks for, its task by position, so that no item holds a row.

    `variant` is empty, or that of a run beside the original, which is counted nowhere.
    """

    domain: ActiveDomain
    position: int
    key: RunKey
    variant: str = ""

    @property
    def line(self) -> int:
        """The line of the data file on which the task's row starts, from 1."""
        # Without building the task, where it is not built yet.
        rows = self.domain.domain.tasks
        if isinstance(rows, TaskRows):
            return rows.line_at(self.position)
        from pytest_sopbench._loading.documents.rows import DocumentRows  # noqa: PLC0415 - only where an answer is a document

        if isinstance(rows, DocumentRows):
            return rows.line_at(self.position)
        return rows[self.position].line

    @property
    def task(self) -> Task:
        return self.domain.domain.tasks[self.position]

    @property
    def selected(self) -> bool:
        return self.position in self.domain.selected

    def by(self, agent: str) -> TaskRef:
        """Return the same run by another agent."""
        return (
            self if agent == self.key.agent else replace(self, key=self.key._replace(agent=agent))
        )


@dataclass(frozen=True, eq=False)
class ActiveDomain:
    """A domain in use: as loaded, how it is judged, and which of its tasks are selected.

    `spec` is the value of `--sop-domain` that finds it again, `nodeid` the id of its collector.
    `pool` are the positions of the tasks that shards share out, `positions` the selected ones.
    """

    domain: Domain
    rules: JudgingRules
    spec: str
    nodeid: str
    trusted: bool
    comparers: Comparers
    pool: tuple[int, ...]
    positions: tuple[int, ...]

    @cached_property
    def selected(self) -> frozenset[int]:
        """The positions of the tasks that the options select."""
        return frozenset(self.positions)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each task by its id."""
        return {task_id: position for position, task_id in enumerate(self.domain.task_ids)}

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the domain's tools."""
        return tuple(spec.name for spec in self.domain.tool_specs)

    @property
    def contents(self) -> dict[str, str]:
        """Hashes of what decides on the verdicts; equal on machines that judge alike."""
        return {
            **self.domain.hashes,
            "judging": rules_fingerprint({self.domain.name: self.rules}),
            "pytest-sopbench": own_version(),
        }

    def refs(self, agents: Sequence[str], trials: int) -> Sequence[TaskRef]:
        """Return every task, selected or not: pytest and other plugins must see the others go.

        The first trials of all tasks come before the second ones: whatever ends a session early,
        a budget, `-x` or Ctrl-C, it has tried as many tasks as it could, and not a few of them
        again and again. Runs that are made at the same time are of different tasks then. All
        agents try a task before the next one comes, so that they are compared on what was tried.
        """
        name = self.domain.name
        return [
            TaskRef(self, position, RunKey(name, task_id, trial, agent))
            for trial in range(1, trials + 1)
            for position, task_id in enumerate(self.domain.task_ids)
            for agent in agents
        ]


@cache
def own_version() -> str:
    """Return the version of this package; its metadata are read once.

    It is empty where the package lies on the path without having been installed.
    """
    try:
        return version("pytest-sopbench")
    except PackageNotFoundError:
        return ""
