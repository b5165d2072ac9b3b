"""Where the rows of tasks lie, as those who look at the repository name them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.row_place import RowPlace
from pytest_sopbench._core.model.keys import TaskName

WORKSPACE: Final = "GITHUB_WORKSPACE"
"""Where GitHub Actions has checked the repository out."""


def row_places(
    domains: Iterable[Domain],
    tasks: Collection[TaskName],
    project: Path,
    environment: Mapping[str, str] = os.environ,
) -> Mapping[TaskName, RowPlace]:
    """Return the place of each task whose row lies in the repository, and is still there.

    Args:
        domains: those of the tasks.
        tasks: whose rows are looked for.
        project: a folder in the repository. What is installed does not belong to it, even where
            its environment does.
        environment: tells where the repository is where it was checked out without git.
    """
    top = _top(project.resolve(), environment)
    places: dict[TaskName, RowPlace] = {}
    for domain in domains:
        ids = [one.task for one in tasks if one.domain == domain.name]
        path = _inside(domain.data_file.resolve(), top) if ids else None
        lines = {name: place for place, name in enumerate(domain.task_ids)} if path else {}
        for name in ids:
            if path is not None and name in lines:
                line = domain.tasks[lines[name]].line
                places[TaskName(domain.name, name)] = RowPlace(path, line)
    return places


def _top(project: Path, environment: Mapping[str, str]) -> Path:
    above = (folder for folder in (project, *project.parents) if (folder / ".git").exists())
    found = next(above, None)
    if found is None and (given := environment.get(WORKSPACE)):
        found = Path(given).resolve()
    return project if found is None else found


def _inside(file: Path, top: Path) -> str | None:
    """Return the path of a file from the top of the repository, or nothing where it is none."""
    if not file.is_relative_to(top):
        return None
    path = file.relative_to(top)
    is_installed = any(part.startswith(".") or part == "site-packages" for part in path.parts)
    return None if is_installed else path.as_posix()
