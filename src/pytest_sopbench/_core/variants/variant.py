"""What a variant puts in the place of a task's own SOP or inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

NOSOP: Final = "nosop"
NOISE: Final = "noise"
AUTOMATIC: Final = (NOSOP, NOISE)
"""Variants that every domain has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The SOP or the inputs that a run is given instead; `None` leaves what the task has."""

    sop: str | None = None
    inputs: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant of a domain: the same for every task, or each task by its id."""

    name: str
    of_all: Replacement | None = None
    by_task: Mapping[str, Replacement] = field(default_factory=dict[str, Replacement])

    def of(self, task_id: str) -> Replacement | None:
        """Return what is replaced in a task; `None` where it has no such variant."""
        return self.of_all or self.by_task.get(task_id)


def variant_id(task_id: str, name: str) -> str:
    """Return what the run of a variant is called, so that no run of the task has its key."""
    return f"{task_id}{_VARIANT}{name}"


def task_of(run_id: str) -> str:
    """Return the task of a run that is called as a variant's is, else the id itself."""
    task, found, _ = run_id.rpartition(_VARIANT)
    return task if found else run_id


_VARIANT: Final = "/v-"
