"""The commit that a session ran on, as far as git tells it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 5.0
"""Seconds that git may take; a session does not wait longer for a line in its header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
    """A commit, and whether the working tree held anything that is not in it."""

    commit: str
    dirty: bool


def git_state(folder: Path, *, time_limit: float = TIME_LIMIT) -> GitState | None:
    """Return the state of the repository around `folder`.

    `None` where there is no repository, no commit, no git, or no reply in time; never raises.
    """
    if not _has_repository(folder):
        return None
    command = ["git", "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, found on PATH as any git call is
            command,
            cwd=folder,
            # Reading must not take the lock that a commit of the user may need meanwhile.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=time_limit,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "")
    if done.returncode or not commit or commit == "(initial)":
        return None
    return GitState(commit=commit, dirty=any(not line.startswith("#") for line in lines))


def _has_repository(folder: Path) -> bool:
    """Tell whether git would find one; to ask git itself costs a process."""
    if "GIT_DIR" in os.environ:
        return True
    start = folder.resolve()
    # Not of `pathlib`, which raises where a folder above may not be read.
    return any(os.path.exists(above / ".git") for above in (start, *start.parents))  # noqa: PTH110
