"""Open a saved session from a program: a notebook, a script, a test."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_sopbench._sessions.folder.paths import session_path
from pytest_sopbench._sessions.reading.reader import SavedSession, read_session
from pytest_sopbench._settings.extensions import load_metrics
from pytest_sopbench._settings.project_file import read_project


def load_session(session: str | os.PathLike[str]) -> SavedSession:
    """Read a saved session, which may still be written or left behind by a process that died.

    Args:
        session: a path, or the name of a session in `sop_dir`, such as `"last"`. A text
            with a separator, or one that ends in `.jsonl`, is a path.

    Returns:
        The session with all of its runs. Its summaries and its table have the metrics of the
        packages that are installed.

    Raises:
        ExtensionError: a metric of a package cannot be used.
        SessionFileError: it cannot be read, is no saved session, was written by another version,
            or is damaged elsewhere than at its end.
    """
    load_metrics()
    if not isinstance(session, str):
        return read_session(Path(session))
    return read_session(session_path(session, read_project(Path.cwd()).sessions_dir))
