"""What a process writes down of its runs, and what workers have left it that died before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.journal.deaths import DeadWorkerRuns
from pytest_sopbench._sessions.journal.journal import MAIN, Journal, journal_path
from pytest_sopbench.errors import SessionFileError

from .journals import JOURNALS, journal_folder


class RunJournal:
    """The journal of this process; what goes wrong with it is added to `problems`."""

    def __init__(self, sop: SopSession, problems: list[str]) -> None:
        self._problems = problems
        self._journal: Journal | None = None
        self._estate: DeadWorkerRuns | None = None
        self._is_refused = False
        given: dict[str, Any] = getattr(sop.config, "workerinput", {})
        try:
            if not given:
                self._journal = Journal(journal_path(journal_folder(sop).begin(), MAIN))
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
        if self._journal is not None:
            self._journal.close()

    def _write(self, write: Callable[[], None]) -> None:
        if self._is_refused:
            return
        try:
            write()
        except SessionFileError as error:
            # A disk that refuses ends the journal, never a run.
            self._is_refused = True
            self._problems.append(str(error))
