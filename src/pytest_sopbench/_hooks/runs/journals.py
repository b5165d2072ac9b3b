"""Where the journals of a session lie, for the process that keeps the books."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._hooks.process.ahead import load_reading
from pytest_sopbench._hooks.session.last import BegunSession, begun_session
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench._sessions.journal.journal import (
    FinishedRun,
    clear_journals,
    journals_folder,
    read_journals,
)
from pytest_sopbench.errors import SessionFileError

JOURNALS: Final = "sop_journals"
"""What a worker on the same machine is told: the folder of the journals."""

_PLAN: Final = "plan.json"

_JOURNALS = pytest.StashKey["JournalFolder"]()


class JournalFolder:
    """The folder of the journals, beside the file that this session and no other writes.

    `identity` is of this session: journals that it stands beside belong to no other.
    """

    def __init__(self, begun: BegunSession) -> None:
        self.identity, self.session = begun
        self.folder = journals_folder(self.session)
        self.begun = False

    def begin(self) -> Path:
        """Make the folder, once, and return it."""
        if not self.begun:
            # Runs whose tests never came are read back from them, at the end.
            load_reading()
            from pytest_sopbench._sessions.journal.leftovers import claim_journals  # noqa: PLC0415 - only where a session is read

            self.begun = True
            claim_journals(self.folder, self.identity)
        return self.folder

    def end(self) -> None:
        """Remove the journals of a session whose file is whole."""
        if self.begun:
            clear_journals(self.folder)


def journal_folder(sop: SopSession) -> JournalFolder:
    """Return the journals of a session, which are the same for all that ask."""
    stash = sop.config.stash
    if _JOURNALS not in stash:
        stash[_JOURNALS] = JournalFolder(begun_session(sop.config))
    return stash[_JOURNALS]


def finished_in_journals(sop: SopSession, problems: list[str]) -> Mapping[RunKey, FinishedRun]:
    """Return the runs that ended, as the journals have them; what cannot be read is a problem."""
    journals = journal_folder(sop)
    if not journals.begun:
        return {}
    try:
        found = read_journals(journals.folder)
    except SessionFileError as error:
        problems.append(str(error))
        return {}
    problems += found.problems
    return found.finished


def unfinished_in_journals(sop: SopSession) -> Collection[RunKey] | None:
    """Return the runs that began and did not end; `None` where no process keeps a journal."""
    journals = journal_folder(sop)
    if not journals.begun:
        return None
    try:
        return read_journals(journals.folder).unfinished
    except SessionFileError:
        # What is wrong with them is told with those that ended.
        return None


def begun_in_journals(sop: SopSession) -> int:
    """Return how many runs the journals know of, whether they ended or not."""
    journals = journal_folder(sop)
    try:
        found = read_journals(journals.folder)
    except SessionFileError:
        # What is wrong with them is told at the end.
        return 0
    return len(found.finished) + len(found.unfinished)


def leave_plan(sop: SopSession) -> None:
    """Write what the user's tests ask for where the controller looks before it hands one out.

    With its reports a worker sends the same, but runs may have ended before the first of these.
    """
    given: dict[str, Any] = getattr(sop.config, "workerinput", {})
    path = Path(given.get(JOURNALS, "")) / _PLAN
    # All workers have the same one.
    if JOURNALS not in given or not sop.plan.tests.keys or path.exists():
        return
    # A disk that refuses takes no journal either, so no run is lost by that.
    with contextlib.suppress(OSError), replace_file(path) as file:
        file.write(sop.plan.to_json().encode("ascii"))


def left_plan(sop: SopSession) -> str:
    """Return what a worker on this machine has left; empty where none did."""
    journals = journal_folder(sop)
    try:
        return (journals.folder / _PLAN).read_text("ascii") if journals.begun else ""
    except OSError:
        return ""
