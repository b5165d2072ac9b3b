"""What is installed beside the tests, read once and not by each of their sessions.

Every `-p NAME` of a session reads the entry points of all that is installed, and each start of
ours does so again for domains. Nothing is installed while tests run, so what stands in the folders
of this interpreter is remembered; all that a test puts elsewhere is read as ever.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

FOLDERS = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}


def remember() -> None:
    """Let this process, and all that fork from it, read what is installed once."""
    for name in ("entry_points", "metadata"):
        read = vars(Distribution)[name].fget
        if not hasattr(read, "kept"):
            setattr(Distribution, name, property(remembered(read)))


def remembered(read: Callable[[Distribution], Any]) -> Callable[[Distribution], Any]:
    kept: dict[object, Any] = {}

    def known(distribution: Distribution) -> Any:
        path = getattr(distribution, "_path", None)
        if path in kept:
            return kept[path]
        value = read(distribution)
        if isinstance(path, Path) and path.parent in FOLDERS:
            kept[path] = value
        return value

    known.kept = kept  # type: ignore[attr-defined]
    return known
