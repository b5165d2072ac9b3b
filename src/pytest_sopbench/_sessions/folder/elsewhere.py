"""Which other session of a folder ran a task that one has not run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_sopbench._sessions.header.header import header_from_json

from .paths import SUFFIX
from .pointer import followed


def newest_with(task: str, but: Path) -> str:
    """Return the name of the newest session beside `but` that planned a task, or nothing.

    Only heads are read: a session that cannot be read is none to be sent to.
    """
    for path in _newest_first(but):
        try:
            with path.open("rb") as file:
                header = header_from_json(json.loads(file.readline()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        planned = ((name, one.planned) for name, one in header.domains.items())
        if not header.options.slim and any(_has(name, ids, task) for name, ids in planned):
            return path.stem
    return ""


def _has(domain: str, planned: tuple[str, ...], task: str) -> bool:
    names = (task.removeprefix(f"{domain}{mark}") for mark in ("/", "::"))
    return task in planned or any(name in planned for name in names)


def _newest_first(but: Path) -> Iterator[Path]:
    try:
        found = [(one.stat().st_mtime, one) for one in but.parent.glob(f"*{SUFFIX}")]
    except OSError:
        return
    for _, path in sorted(found, reverse=True):
        # A pointer leads to one of the others.
        if path.is_file() and followed(path) == path and path != but:
            yield path
