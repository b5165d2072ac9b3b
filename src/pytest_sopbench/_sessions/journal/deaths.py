"""Which workers died, told to the workers that go on, through files beside the journals.

Whoever sees a worker die puts its mark there before anything of the worker's is given to another.
So a worker that is asked for a run finds out whether a dead one has begun or ended it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench.errors import SessionFileError

from .journal import FinishedRun, journal_path, read_journal

SUFFIX = ".dead"

# Our own, since an agent may put others in their place.
_dumps, _loads = json.dumps, json.loads


def record_worker_death(folder: Path, worker: str, condemned: RunKey | None) -> None:
    """Tell that a worker died; `condemned` is the run that ended it, where only one can have.

    Raises:
        OSError: the disk does not take it.
    """
    # Whole, or not there: a worker may look at any moment.
    with replace_file(folder / f"{worker}{SUFFIX}") as file:
        file.write(_dumps(condemned).encode("ascii"))


class DeadWorkerRuns:
    """What dead workers have left, as one of the others sees it.

    `finished` are runs that they ended and never reported, `suspects` such as they had begun: one
    of those may have ended its process. `condemned` are runs that are known to have.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self.finished: dict[RunKey, FinishedRun] = {}
        self.suspects: set[RunKey] = set()
        self.condemned: set[RunKey] = set()

    def look(self) -> None:
        """Take note of workers that died since the last look.

        Raises:
            SessionFileError: the journal of one of them cannot be read.
        """
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - asked before every run, and cheaper
        except OSError:
            return
        for name in sorted(names):
            if name.endswith(SUFFIX) and name not in self._seen:
                self._seen.add(name)
                self._take(name.removesuffix(SUFFIX))

    def _take(self, worker: str) -> None:
        try:
            condemned = _loads((self._folder / f"{worker}{SUFFIX}").read_text("ascii"))
        except (OSError, ValueError) as fault:
            msg = f"{self._folder}: the mark of {worker} cannot be read: {fault}"
            raise SessionFileError(msg) from fault
        if condemned is not None:
            self.condemned.add(RunKey(*condemned))
        journal = read_journal(journal_path(self._folder, worker))
        self.finished.update(journal.finished)
        self.suspects.update(journal.unfinished)
