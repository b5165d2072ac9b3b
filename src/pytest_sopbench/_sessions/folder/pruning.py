"""Removes old sessions of a folder, each with all that belongs to it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from pytest_sopbench._sessions.file.event_logs import traces_folder
from pytest_sopbench._sessions.journal.journal import clear_journals, journals_folder

from .mark import is_running, mark_path
from .pointer import followed, last_path
from .unended import own_sessions


def prune(sessions_dir: Path, keep: int) -> None:
    """Keep the newest sessions that have a name of their own, and remove the others.

    One that is running, that `last` leads to, or that somebody gave a name is never removed.
    """
    for session in _old(sessions_dir, keep):
        # The file last: as long as it is there, the next session tries again.
        clear_journals(journals_folder(session))
        shutil.rmtree(traces_folder(session), ignore_errors=True)
        for path in (mark_path(session), session):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _old(sessions_dir: Path, keep: int) -> Iterator[Path]:
    last = followed(last_path(sessions_dir))
    every = own_sessions(sessions_dir)
    # What has no file is no session that somebody could want back, and must not count for one.
    kept = [one for one in every if one.is_file()][-keep:]
    for session in every[: every.index(kept[0])] if kept else ():
        if session != last and not is_running(session):
            yield session
