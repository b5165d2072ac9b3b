"""Which run ended a worker: with many in flight it need not be the one whose test was waiting.

The worker's journal has the runs that it had begun and not ended. A single one is to blame; of
several each is a suspect, and is made alone when its turn comes, so that the guilty one is found
and no other pays for it. If their turn never comes, since a budget is spent or nobody is left to
make them, nobody can tell them apart: each has died in its process, and counts as a crash.

A worker on another machine has no journal here: then the test that was waiting is blamed, as xdist
does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import NOBODY_KNOWS, Ending, Trace
from pytest_sopbench._hooks.runs.reportable import JOURNALS, journal_folder
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.notices import death_lines, untold_lines
from pytest_sopbench._sessions.journal import (
    ReadJournal,
    journal_path,
    read_journal,
    record_worker_death,
)
from pytest_sopbench.errors import SessionFileError

AGAIN = "rerun"
"""The outcome of a report of a crash whose test is run again: no failure, and no pass."""

STOPPED = "keyboard-interrupt"
"""What xdist says of a worker that was stopped by Ctrl-C, and has not died."""

MOST = 5
"""How often a test is given back at most: each time some of the suspects are cleared."""


@dataclass(frozen=True, slots=True)
class WorkerCrash:
    """What a dead worker's journal tells; `guilty` is the run that ended it, if one is known."""

    journal: ReadJournal
    guilty: RunKey | None


class WorkerCrashes:
    """Looks into the journals of dead workers, before anything of theirs is given to others."""

    def __init__(self, sop: SopSession, entered: Container[RunKey]) -> None:
        self._sop = sop
        self._entered = entered
        self._deaths: dict[str, WorkerCrash] = {}
        self._died_in: dict[RunKey, int] = {}
        self._attempts = 0
        self._waiting: set[str] = set()
        self._unmade: tuple[RunKey, ...] = ()
        self._given_back: Counter[str] = Counter()
        self._reported: dict[str, tuple[str, str]] = {}
        self.problems: list[str] = []

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if not error or JOURNALS not in node.workerinput:
            return
        folder, worker = journal_folder(self._sop).folder, node.workerinput["workerid"]
        path = journal_path(folder, worker)
        if not path.exists():
            # One run at a time needs no journal, and a worker may die before it has one.
            return
        try:
            journal = read_journal(path)
            guilty = journal.unfinished[0] if len(journal.unfinished) == 1 else None
            record_worker_death(folder, worker, guilty)
        except (SessionFileError, OSError) as error_:
            self.problems.append(str(error_))
            return
        self._deaths[worker] = WorkerCrash(journal, guilty)
        if error != STOPPED:
            self._died_in.update(dict.fromkeys(journal.unfinished, len(journal.unfinished)))
            self._attempts += len(journal.unfinished) if guilty is None else 0

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Fail a session that never came back to what had been in flight in a dead worker."""
        try:
            return (yield)
        finally:
            # Nobody else does: a crash whose test is to be run again is no failure.
            self._unmade = tuple(self.unmade())
            session.testsfailed += bool(self._unmade or self._waiting)

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        if not (self._unmade or self._waiting):
            return []
        return [*death_lines(self._unmade, tests=len(self._waiting))]

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._unmade and not self._sop.plan.planned:
            # No worker has lived to say what was to be run, so there is no summary.
            for line in untold_lines(self._unmade):
                terminalreporter.write_line(line, red=True)

    @property
    def made_again(self) -> int:
        """How many runs were begun in dead workers, beside the runs that were entered."""
        alone = sum(self._died_in[key] == 1 for key in self._unmade)
        return max(0, self._attempts - len(self._unmade) + alone)

    def unmade(self) -> Mapping[RunKey, Trace]:
        """Return what is known of runs that a dead worker had begun, and nobody has made again."""
        finished = {key for death in self._deaths.values() for key in death.journal.finished}
        return {
            key: Trace(ending=Ending.PROCESS_DIED, notes=(NOBODY_KNOWS,) if number > 1 else ())
            for key, number in self._died_in.items()
            if key not in self._entered and key not in finished
        }

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        node: Any = getattr(report, "node", None)
        if is_again(report):
            # What the test itself has reported stays; only what this report has added goes.
            if self._reported.get(node.gateway.id) != (report.nodeid, "call"):
                _drop_from_junit(self._sop.config, report)
        elif node is not None and report.when in {"call", "teardown"}:
            self._waiting.discard(report.nodeid)
            self._reported[node.gateway.id] = report.nodeid, report.when

    def has_ended(self, crashitem: str, report: Any) -> bool:
        """Tell whether the test had its outcome, and another run that was in flight is to blame."""
        # The worker may have died in the middle of the test's last reports, and xdist learns that
        # a test is over a moment after them.
        node = getattr(report, "node", None)
        if node is None or self._reported.get(node.gateway.id, ("",))[0] != crashitem:
            return False
        death = self._death(report)
        return death is not None and bool(death.journal.unfinished)

    def is_given_back(self, crashitem: str, key: RunKey | None, report: Any) -> bool:
        """Tell whether the test that was waiting is to be run again, since it is not to blame.

        `key` is its run, `None` if nobody has told yet which runs tests ask for. Then the test
        is run again in any case: should its run be the guilty one, that is told by then.
        """
        self._waiting.discard(crashitem)
        death = self._death(report)
        if death is None or (key is not None and death.guilty == key):
            return False
        if not death.journal.unfinished:
            # Nothing was in flight but the test: its own code, or what its run left behind.
            return False
        # With runs in flight it may be the test's own code nevertheless, again and again.
        self._given_back[crashitem] += 1
        if self._given_back[crashitem] > MOST:
            return False
        self._waiting.add(crashitem)
        return True

    def had_finished(self, key: RunKey, report: Any) -> bool:
        """Tell whether a run had ended when its worker died, so that its record stands."""
        death = self._death(report)
        return death is not None and key in death.journal.finished

    def _death(self, report: Any) -> WorkerCrash | None:
        node = getattr(report, "node", None)
        return self._deaths.get(node.workerinput["workerid"]) if node is not None else None


def is_again(report: Any) -> bool:
    """Tell the report of a crash whose test is run again."""
    # Only xdist has reports that belong to no phase of a test.
    return bool(report.outcome == AGAIN and report.when == "???")


def _drop_from_junit(config: pytest.Config, report: Any) -> None:
    """Let JUnit XML forget a test that is run again: it would count it twice, once as passed."""
    plugins: set[Any] = config.pluginmanager.get_plugins()
    # Up to pytest 9.1 it knows a test by the text of its id.
    key = getattr(report, "id", report.nodeid), getattr(report, "node", None)
    for xml in (one for one in plugins if type(one).__name__ == "LogXML"):
        reporter = xml.node_reporters.pop(key, None)
        if reporter in xml.node_reporters_ordered:
            xml.node_reporters_ordered.remove(reporter)
