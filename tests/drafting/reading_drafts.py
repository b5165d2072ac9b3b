"""A reader who has the procedure of the drafted domain right."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from drafting_model import decided

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._drafting.reviewing import rows_to_read
from pytest_sopbench._loading.load import load_domain


def claims_of(tasks: Iterable[Task]) -> int:
    """How many of these tasks need a claim with the carrier: one request more to the solver."""
    return sum(int(str(task.results["days_late"] or 0)) >= 15 for task in tasks)


def truth(folder: Path) -> dict[str, str]:
    """What a careful reader of the procedure decides, by task."""
    domain = load_domain(folder)
    return {
        task.id: decided(
            dict(task.inputs), None if task.results["price"] is None else dict(task.results)
        )
        for task in domain.tasks
    }


def read_all(folder: Path, *, but: str = "") -> str:
    """What a reader types who has the procedure right on each of thirty rows, but for one label."""
    right = truth(folder)
    typed = ["Ann", "y"]
    for task in rows_to_read(load_domain(folder)):
        typed.append(right[task.id])
        if right[task.id] == but:
            typed[-1:] = ["voucher", "me"]
    return "\n".join(typed) + "\n"
