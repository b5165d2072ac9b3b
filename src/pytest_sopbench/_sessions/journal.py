"""What each process has begun, so that a killed session can be gone on with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.event_log import events_of, trace_of_events
from pytest_sopbench._core.records.record import RunRecord, record_from_json
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench._sessions.writer import (
    require_plain_file,
    start_to_line,
    write_whole,
)
from pytest_sopbench.errors import SessionFileError

from .atomic import SOP_DIR
from .header import SessionHeader
from .lines import (
    CHANGED,
    SHOWN,
    bare,
    is_intact,
    read_json,
    read_line,
    sealed,
)

# What one process has begun and ended, on disk at once: what is left when it dies.
#
# A process that keeps many runs in flight reports each of them only when pytest asks for it. Until
# then its journal has them: a line as a run begins, another as it ends. The journals of a session
# lie in a folder beside its file, one per process, and go when the session is whole.

_encode = json.JSONEncoder(separators=(",", ":")).encode

JOURNALS = ".journals"
MAIN = "main"
"""What the journal of a session without workers is called."""


def journals_folder(session: Path) -> Path:
    """Return the folder that belongs to a saved session: `last.jsonl`, `last.journals`."""
    return session.with_name(f"{session.name.removesuffix('.jsonl')}{JOURNALS}")


def journal_path(folder: Path, process: str) -> Path:
    """Return where a process keeps its journal; `process` is a worker's id, or `MAIN`."""
    return folder / f"{process}.jsonl"


def clear_journals(folder: Path) -> None:
    """Remove what an earlier session left behind, or this one needs no more."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run as a journal has it: its line, the record in it, and its trace if it was kept.

    `events` is its event log; empty if none is wanted.
    """

    line: str
    record: RunRecord
    trace: Trace | None = None
    events: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJournal:
    """What a journal says: the runs that ended, and those that were only begun, in order.

    `problems` are what is to be told of it, such as lines that are damaged and were passed over.
    """

    finished: dict[RunKey, FinishedRun] = field(default_factory=dict[RunKey, FinishedRun])
    unfinished: tuple[RunKey, ...] = ()
    problems: tuple[str, ...] = ()


class Journal:
    """Writes down what a process begins and ends; safe to use from many threads.

    Args:
        path: the file; one that is there is replaced.

    Raises:
        SessionFileError: the disk does not take it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._torn = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what was written is there when the process is gone.
            self._file = path.open("wb", buffering=0)
        except OSError as fault:
            raise _refused(path, fault) from fault

    def start(self, key: RunKey) -> None:
        """Write that a run begins.

        Raises:
            SessionFileError: the disk did not take it.
        """
        self._write(sealed(start_to_line(key)))

    def end(self, key: RunKey, line: str, trace: Trace | None, events: str = "") -> None:
        """Write how a run ended: its line, and its trace if another process may have it.

        Args:
            key: the run.
            line: its record.
            trace: what nothing is masked in, else `None`.
            events: its event log, or empty.

        Raises:
            SessionFileError: the disk did not take it.
        """
        # Before the run's line: a run counts as finished when all of it is there.
        parts: list[bytes] = []
        if trace is not None:
            parts.append(_part("trace", key, [*events_of(trace)]))
        if events:
            parts.append(_part("events", key, events))
        self._write(b"\n".join((*parts, sealed(line))))

    def close(self) -> None:
        self._file.close()

    def _write(self, lines: bytes) -> None:
        with self._lock:
            # What a full disk has torn must not spoil the line behind it.
            data = b"\n%b\n" % lines if self._torn else lines + b"\n"
            self._torn = True
            try:
                write_whole(self._file.fileno(), data)
            except (OSError, ValueError) as fault:
                raise _refused(self.path, fault) from fault
            self._torn = False


def read_journal(path: Path) -> ReadJournal:
    """Read what a process left; a line that was cut short is passed over, a damaged one counted.

    Raises:
        SessionFileError: the file cannot be read.
    """
    begun: dict[RunKey, None] = {}
    finished: dict[RunKey, FinishedRun] = {}
    # The trace and the event log of a run stand before its line.
    parts: dict[RunKey, dict[str, Any]] = {}
    damaged: list[int] = []
    for number, sealed_line in _lines(path):
        try:
            # A line that was edited by hand counts no more without its checksum than with a wrong
            # one.
            if not is_intact(sealed_line):
                raise ValueError(CHANGED)  # noqa: TRY301 - counted below
            line = bare(sealed_line)
            told = cast("dict[str, Any]", read_json(line))
            kind: str = told.pop("type")
            data = read_line(kind, told)
            if kind == "start":
                begun[RunKey.read(data)] = None
            elif kind in {"trace", "events"}:
                part = trace_of_events(data[kind]) if kind == "trace" else data[kind]
                parts.setdefault(RunKey.read(data), {})[kind] = part
            elif kind == "run":
                record = record_from_json(data)
                left = parts.pop(record.key, {})
                text = line.decode("ascii")
                finished[record.key] = FinishedRun(line=text, record=record, **left)
            else:
                damaged.append(number)
        except (KeyError, TypeError, ValueError, RecursionError):
            damaged.append(number)
    more = ", ..." if len(damaged) > SHOWN else ""
    lines = f"{'lines' if len(damaged) > 1 else 'line'} {', '.join(map(str, damaged[:SHOWN]))}"
    problem = f"{path}: {len(damaged)} damaged ({lines}{more}), passed over; the others count"
    return ReadJournal(
        finished=finished,
        unfinished=tuple(key for key in begun if key not in finished),
        problems=(problem,) if damaged else (),
    )


def read_journals(folder: Path) -> ReadJournal:
    """Read all journals of a session as one; without the folder there is nothing.

    Raises:
        SessionFileError: as `read_journal`.
    """
    try:
        paths = sorted(folder.glob("*.jsonl"))
    except OSError as fault:
        # When a process may open no more files, for one.
        raise _refused(folder, fault) from fault
    found = [read_journal(path) for path in paths]
    finished = {key: run for one in found for key, run in one.finished.items()}
    begun = dict.fromkeys(key for one in found for key in one.unfinished)
    return ReadJournal(
        finished=finished,
        unfinished=tuple(key for key in begun if key not in finished),
        problems=tuple(problem for one in found for problem in one.problems),
    )


def _part(kind: str, key: RunKey, value: object) -> bytes:
    data = {"type": kind, **key._asdict(), kind: value}
    return sealed(_encode(data))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that have an end, with their numbers."""
    try:
        require_plain_file(path)
        data = path.read_bytes()
    except OSError as fault:
        raise _refused(path, fault) from fault
    whole, _, _ = data.rstrip(b"\0").rpartition(b"\n")
    return ((number, line) for number, line in enumerate(whole.split(b"\n"), start=1) if line)


def _refused(path: Path, fault: Exception) -> SessionFileError:
    why = fault.strerror if isinstance(fault, OSError) else None
    return SessionFileError(f"{path}: cannot be used: {why or fault}", hint=SOP_DIR)


# Which workers died, told to the workers that go on, through files beside the journals.
#
# Whoever sees a worker die puts its mark there before anything of the worker's is given to
# another. So a worker that is asked for a run finds out whether a dead one has begun or ended it.

DEATHS = ".dead"


def record_worker_death(folder: Path, worker: str, condemned: RunKey | None) -> None:
    """Tell that a worker died; `condemned` is the run that ended it, if only one can have.

    Raises:
        OSError: the disk does not take it.
    """
    # Whole, or not there: a worker may look at any moment.
    with replace_file(folder / f"{worker}{DEATHS}") as file:
        file.write(json.dumps(condemned).encode("ascii"))


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
            if name.endswith(DEATHS) and name not in self._seen:
                self._seen.add(name)
                self._take(name.removesuffix(DEATHS))

    def _take(self, worker: str) -> None:
        try:
            condemned = json.loads((self._folder / f"{worker}{DEATHS}").read_text("ascii"))
        except (OSError, ValueError) as fault:
            msg = f"{self._folder}: the mark of {worker} cannot be read: {fault}"
            raise SessionFileError(msg) from fault
        if condemned is not None:
            self.condemned.add(RunKey(*condemned))
        journal = read_journal(journal_path(self._folder, worker))
        self.finished.update(journal.finished)
        self.suspects.update(journal.unfinished)


# The journals that lie beside a session's file: what it ended, and had no time to record.
#
# They belong to the session whose identity stands in their folder, and to no other: a session that
# keeps no journals leaves those of an earlier one where they are.

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
    """Return what the journals of a session hold, which is nothing if none are its own.

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
    return read_journals(folder)
