"""Paths that start at the home of a user."""

from __future__ import annotations

import os
from pathlib import Path


def from_home(path: str) -> Path:
    """Return a path with `~` and `~user` replaced.

    As in a shell, the name of a user that does not exist stays, so that whoever opens the path says
    that it is missing; `Path.expanduser` raises instead.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111
