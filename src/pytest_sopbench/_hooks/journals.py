"""Where the journals of a session lie, for the process that keeps the books."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from pytest_sopbench._sessions.journal import clear_journals, journals_folder
from pytest_sopbench._sessions.names import LAST

from .session import SopSession

JOURNALS: Final = "sop_journals"
"""What a worker on the same machine is told: the folder of the journals."""

_JOURNALS = pytest.StashKey["Journals"]()


class Journals:
    """The folder of the journals, cleared before the first one is begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun = False

    def begin(self) -> None:
        """Remove what an earlier session has left, once."""
        if not self.begun:
            self.begun = True
            clear_journals(self.folder)

    def end(self) -> None:
        """Remove the journals of a session whose file is whole."""
        if self.begun:
            clear_journals(self.folder)


def journals_of(sop: SopSession) -> Journals:
    """Return the journals of a session, which are the same for all that ask."""
    stash = sop.config.stash
    if _JOURNALS not in stash:
        stash[_JOURNALS] = Journals(journals_folder(sop.options.sessions_dir / f"{LAST}.jsonl"))
    return stash[_JOURNALS]
