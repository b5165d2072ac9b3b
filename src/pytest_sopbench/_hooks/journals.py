"""Where the journals of a session lie, for the process that keeps the books."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from pytest_sopbench._core.records import RunKey
from pytest_sopbench._sessions.journal import (
    FinishedRun,
    clear_journals,
    journals_folder,
    read_journals,
)
from pytest_sopbench._sessions.leftovers import mark_journals
from pytest_sopbench._sessions.names import LAST
from pytest_sopbench._sessions.resuming import bring_in_leftovers
from pytest_sopbench.errors import SessionFileError

from .session import SopSession

JOURNALS: Final = "sop_journals"
"""What a worker on the same machine is told: the folder of the journals."""

_JOURNALS = pytest.StashKey["Journals"]()


class Journals:
    """The folder of the journals, cleared before the first one is begun.

    `identity` is of this session: journals that it stands beside belong to no other.
    """

    def __init__(self, session: Path) -> None:
        self._session = session
        self.folder = journals_folder(session)
        self.identity = secrets.token_hex(8)
        self.begun = False

    def begin(self) -> None:
        """Remove what an earlier session has left, once."""
        if not self.begun:
            self.begun = True
            # The session of before stands until this one has something to write in its place.
            # Journals that cannot be read are nobody's any more.
            with suppress(SessionFileError):
                bring_in_leftovers(self._session)
            clear_journals(self.folder)
            mark_journals(self.folder, self.identity)

    def end(self) -> None:
        """Remove the journals of a session whose file is whole."""
        if self.begun:
            clear_journals(self.folder)


def journals_of(sop: SopSession) -> Journals:
    """Return the journals of a session, which are the same for all that ask."""
    stash = sop.config.stash
    if _JOURNALS not in stash:
        stash[_JOURNALS] = Journals(sop.options.sessions_dir / f"{LAST}.jsonl")
    return stash[_JOURNALS]


def finished_in_journals(sop: SopSession, problems: list[str]) -> Mapping[RunKey, FinishedRun]:
    """Return the runs that ended, as the journals have them; what cannot be read is a problem."""
    journals = journals_of(sop)
    if not journals.begun:
        return {}
    try:
        return read_journals(journals.folder).finished
    except SessionFileError as error:
        problems.append(str(error))
        return {}
