"""Where the journals of a session lie, for the process that keeps the books."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._hooks.session.last import BegunSession, begun_session
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench._sessions.journal import (
    MAIN,
    DeadWorkerRuns,
    Journal,
    ReadJournal,
    claim_journals,
    clear_journals,
    journal_path,
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

    `identity` is of this session: journals that it stands beside belong to no other. `is_there`
    tells that some process of the session keeps a journal.
    """

    def __init__(self, begun: BegunSession) -> None:
        self.identity, self.session = begun
        self.folder = journals_folder(self.session)
        self.is_there = False

    def make(self) -> Path:
        """Make the folder, once, and return it."""
        if not self.is_there:
            self.is_there = True
            claim_journals(self.folder, self.identity)
        return self.folder

    def remove(self) -> None:
        """Remove the journals of a session whose file is whole."""
        if self.is_there:
            clear_journals(self.folder)

    def read(self, problems: list[str] | None = None) -> ReadJournal | None:
        """Return what all of them say, `None` where no process keeps one.

        It is `None` as well where they cannot be read, which is added to `problems`.
        """
        try:
            return read_journals(self.folder) if self.is_there else None
        except SessionFileError as error:
            if problems is not None:
                problems.append(str(error))
            return None

    def left_plan(self) -> str:
        """Return the plan that a worker on this machine has left; empty where none did."""
        try:
            return (self.folder / _PLAN).read_text("ascii") if self.is_there else ""
        except OSError:
            return ""


def journal_folder(sop: SopSession) -> JournalFolder:
    """Return the journals of a session, which are the same for all that ask."""
    stash = sop.config.stash
    if _JOURNALS not in stash:
        stash[_JOURNALS] = JournalFolder(begun_session(sop.config))
    return stash[_JOURNALS]


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


# What a process writes down of its runs, and what workers have left it that died before.


class RunJournal:
    """The journal of this process; what goes wrong with it is added to `problems`."""

    def __init__(self, sop: SopSession, problems: list[str]) -> None:
        self._problems = problems
        self._journal: Journal | None = None
        self._estate: DeadWorkerRuns | None = None
        self._is_refused = False
        self._is_over = False
        given: dict[str, Any] = getattr(sop.config, "workerinput", {})
        try:
            if not given:
                self._journal = Journal(journal_path(journal_folder(sop).make(), MAIN))
            elif JOURNALS in given:
                folder = Path(given[JOURNALS])
                self._journal = Journal(journal_path(folder, given["workerid"]))
                self._estate = DeadWorkerRuns(folder)
        except SessionFileError as error:
            problems.append(str(error))

    @property
    def is_inherited(self) -> bool:
        """Whether another worker goes on with what stands here, should this one die."""
        return self._estate is not None

    def start(self, key: RunKey) -> None:
        """Write down that a run begins."""
        if self._journal is not None:
            self._write(partial(self._journal.start, key))

    def end(self, key: RunKey, line: str, trace: Trace | None, events: str) -> None:
        """Write down what came of a run."""
        if self._journal is not None:
            self._write(partial(self._journal.end, key, line, trace, events))

    def is_suspect(self, key: RunKey) -> bool:
        """Tell whether a run may have ended a worker, so that no other is made beside it."""
        return self._estate is not None and key in self._estate.suspects

    def left(self, key: RunKey) -> Trace | None:
        """Return the trace of a run that a dead worker has finished, or that ended the worker."""
        if self._estate is None:
            return None
        try:
            self._estate.look()
        except SessionFileError as error:
            self._problems.append(str(error))
        if key in self._estate.condemned:
            return Trace(ending=Ending.PROCESS_DIED)
        run = self._estate.finished.get(key)
        return run.trace if run is not None else None

    def close(self) -> None:
        """Take down no more: a run that ends later ends after its session."""
        self._is_over = True
        if self._journal is not None:
            self._journal.close()

    def _write(self, write: Callable[[], None]) -> None:
        if self._is_refused:
            return
        try:
            write()
        except SessionFileError as error:
            if self._is_over:
                # Its file is closed, which is no fault of the disk.
                return
            # A disk that refuses ends the journal, never a run.
            self._is_refused = True
            self._problems.append(str(error))
