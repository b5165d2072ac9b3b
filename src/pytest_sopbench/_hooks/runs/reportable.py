"""A run, judged: what its tests see, what may leave its process, and where it is written down.

`judged` makes a `JudgedRun` of a trace, once. While many runs are in flight, each process writes
what it has begun and what has ended into a journal, which outlives it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import RunKey, Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.record import RunRecord, record_of, to_line
from pytest_sopbench._core.verdict import Outcome, Verdict
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.last import BegunSession, begun_session
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench._sessions.event_logs import trace_name
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

CUT_BY_PLUGIN: Final = "pytest-timeout ended the test that waited for the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run that was made and judged.

    `trace` and `verdict` are whole, for the tests of the run. `record`, its `line` and its event
    log `events` lack what must not leave the process; `events` is empty if no log is kept.
    `taken_over` tells that an earlier session made it, `inherited` that a worker made it which has
    died since, and may have reported it.
    """

    ref: TaskRef
    task: Task
    trace: Trace
    verdict: Verdict
    record: RunRecord
    line: str
    events: str = ""
    taken_over: bool = False
    inherited: bool = False


def judged(sop: SopSession, ref: TaskRef, task: Task, trace: Trace | None) -> JudgedRun:
    """Judge a run by what was observed; without a trace it never began, and leaves no log."""
    active, redaction = ref.domain, sop.options.hidden.redaction
    with masking(redaction.text):
        verdict = judge(active.rules, task, trace)
    logs = sop.options.traces
    if logs == "failed" and verdict.outcome is Outcome.CORRECT:
        logs = "all" if verdict.rules and any(one.broken for one in verdict.rules) else "none"
    seen = trace
    if seen is not None and logs == "none":
        # What a log alone would hold, the whole conversation, need not be looked through.
        returned = seen.returned and replace(seen.returned, mapping={}, messages=())
        seen = replace(seen, returned=returned, messages=(), output="")
    redaction = redaction.of(active.domain.private_columns)
    # Before anything is cut: a part of a secret is no longer known for one.
    seen, told = seen and redaction.part(seen), redaction.part(verdict)
    trial, agent = ref.key.trial, ref.key.agent
    record = record_of(active.rules, task, seen, told, trial=trial, agent=agent)
    # What a task says by itself stands in neither of the two.
    record = replace(
        record,
        expected=redaction.mapping(record.expected),
        disagreement=redaction.text(record.disagreement),
    )
    events = ""
    if seen is not None and logs != "none":
        record = replace(record, trace=trace_name(ref.key))
        events = event_log(ref.key, active.rules, seen, told, redaction)
    return JudgedRun(
        ref=ref,
        task=task,
        trace=trace or Trace(ending=Ending.TIMED_OUT, notes=(CUT_BY_PLUGIN,)),
        verdict=verdict,
        record=record,
        line=to_line(record),
        events=events,
    )


def may_store_trace(sop: SopSession, ref: TaskRef, trace: Trace) -> bool:
    """Tell whether a trace may lie on the disk as it is, since nothing in it must be masked."""
    redaction = sop.options.redaction
    if ref.domain.domain.private_columns:
        # In free text a private answer cannot be told from the rest.
        return False
    return not redaction.masks_texts or redaction.part(trace) == trace


def unreported_record(sop: SopSession, key: RunKey, trace: Trace | None) -> RunRecord:
    """Return the record of a run that no report tells of, without what must not be written."""
    active = sop.find_active(key.domain)
    task = active.domain.tasks[active.places[key.task]]
    verdict = judge(active.rules, task, trace)
    record = record_of(active.rules, task, trace, verdict, trial=key.trial, agent=key.agent)
    return sop.options.redaction.of(active.domain.private_columns).part(record)


# Where the journals of a session lie, for the process that records results.

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
        """Return what all of them say, `None` if no process keeps one.

        It is `None` as well if they cannot be read, which is added to `problems`.
        """
        try:
            return read_journals(self.folder) if self.is_there else None
        except SessionFileError as error:
            if problems is not None:
                problems.append(str(error))
            return None

    def left_plan(self) -> str:
        """Return the plan that a worker on this machine has left; empty if none did."""
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
        self._dead_workers: DeadWorkerRuns | None = None
        self._is_refused = False
        self._is_over = False
        given: dict[str, Any] = getattr(sop.config, "workerinput", {})
        try:
            if not given:
                self._journal = Journal(journal_path(journal_folder(sop).make(), MAIN))
            elif JOURNALS in given:
                folder = Path(given[JOURNALS])
                self._journal = Journal(journal_path(folder, given["workerid"]))
                self._dead_workers = DeadWorkerRuns(folder)
        except SessionFileError as error:
            problems.append(str(error))

    @property
    def is_inherited(self) -> bool:
        """Whether another worker goes on with what stands here, should this one die."""
        return self._dead_workers is not None

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
        return self._dead_workers is not None and key in self._dead_workers.suspects

    def left(self, key: RunKey) -> Trace | None:
        """Return the trace of a run that a dead worker has finished, or that ended the worker."""
        if self._dead_workers is None:
            return None
        try:
            self._dead_workers.look()
        except SessionFileError as error:
            self._problems.append(str(error))
        if key in self._dead_workers.condemned:
            return Trace(ending=Ending.PROCESS_DIED)
        run = self._dead_workers.finished.get(key)
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
