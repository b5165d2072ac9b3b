"""The journals that lie beside a session's file: what it ended, and had no time to record.

They belong to the session whose identity stands in their folder, and to no other: a session that
keeps no journals leaves those of an earlier one where they are.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench._sessions.header.header import UNCHECKED, SessionHeader

from .journal import ReadJournal, journals_folder, read_journals

MARK: Final = "session"
"""The file in a folder of journals that holds the identity of their session."""


def claim_journals(folder: Path, identity: str) -> None:
    """Say whose journals are going to lie in a folder.

    A disk that refuses takes no journal either, so whoever opens one is told.
    """
    # Whole, or not there: half an identity is another's.
    with contextlib.suppress(OSError), replace_file(folder / MARK) as file:
        file.write(identity.encode("ascii"))


def unmerged_journal(session: Path, header: SessionHeader) -> ReadJournal:
    """Return what the journals of a session hold, which is nothing where none are its own.

    Args:
        session: the file of the saved session.
        header: its first line, which has its identity.

    Raises:
        SessionFileError: a journal of its own cannot be read at all.
    """
    folder = journals_folder(session)
    try:
        owner = (folder / MARK).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ReadJournal()
    if not header.identity or owner != header.identity:
        return ReadJournal()
    return read_journals(folder, may_be_unsealed=header.schema <= UNCHECKED)
