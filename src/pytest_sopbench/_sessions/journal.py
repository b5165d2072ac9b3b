"""What one process has begun and ended, on disk at once: what is left when it dies.

A process that keeps many runs in flight reports each of them only when pytest asks for it. Until
then its journal has them: a line as a run begins, another as it ends. The journals of a session
lie in a folder beside its file, one per process, and go when the session is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from pytest_sopbench._core.records import RunKey, RunRecord, from_line
from pytest_sopbench._core.trace_json import trace_from_json, trace_to_json
from pytest_sopbench._core.traces import Trace
from pytest_sopbench.errors import SessionFileError

from .start import start_from_json, start_to_line

# Taken at import: an agent may put another function into its place.
_dumps = json.dumps

SUFFIX = ".journals"
MAIN = "main"
"""What the journal of a session without workers is called."""


def journals_folder(session: Path) -> Path:
    """Return the folder that belongs to a saved session: `last.jsonl`, `last.journals`."""
    return session.with_name(f"{session.name.removesuffix('.jsonl')}{SUFFIX}")


def journal_path(folder: Path, process: str) -> Path:
    """Return where a process keeps its journal; `process` is a worker's id, or `MAIN`."""
    return folder / f"{process}.jsonl"


def clear_journals(folder: Path) -> None:
    """Remove what an earlier session left behind, or this one needs no more."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run as a journal has it: its line, the record in it, and its trace where it was kept.

    `events` is its event log; empty where none is wanted.
    """

    line: str
    record: RunRecord
    trace: Trace | None = None
    events: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJournal:
    """What a journal says: the runs that ended, and those that were only begun, in order."""

    finished: dict[RunKey, FinishedRun] = field(default_factory=dict[RunKey, FinishedRun])
    unfinished: tuple[RunKey, ...] = ()


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
        self._write(f"{start_to_line(key)}\n")

    def end(self, key: RunKey, line: str, trace: Trace | None, events: str = "") -> None:
        """Write how a run ended: its line, and its trace where another process may have it.

        Args:
            key: the run.
            line: its record.
            trace: what nothing is masked in, else `None`.
            events: its event log, or empty.

        Raises:
            SessionFileError: the disk did not take it.
        """
        # Before the run's line: a run counts as finished when all of it is there.
        before = ""
        if trace is not None:
            before = _part("trace", key, trace_to_json(trace))
        if events:
            before += _part("events", key, events)
        self._write(f"{before}{line}\n")

    def close(self) -> None:
        self._file.close()

    def _write(self, text: str) -> None:
        with self._lock:
            try:
                os.write(self._file.fileno(), text.encode("ascii"))
            except (OSError, ValueError) as fault:
                raise _refused(self.path, fault) from fault


def read_journal(path: Path) -> ReadJournal:
    """Read what a process left; a line that was cut short is passed over.

    Raises:
        SessionFileError: the file cannot be read, or holds something else than a journal.
    """
    begun: dict[RunKey, None] = {}
    parts: dict[RunKey, dict[str, Any]] = {}
    finished: dict[RunKey, FinishedRun] = {}
    try:
        for line in _lines(path):
            data: dict[str, Any] = json.loads(line)
            kind: str = data["type"]
            if kind == "start":
                begun[start_from_json(data)] = None
            elif kind in {"trace", "events"}:
                key = RunKey(data["domain"], data["task"], data["trial"], data["agent"])
                part = trace_from_json(data[kind]) if kind == "trace" else data[kind]
                parts.setdefault(key, {})[kind] = part
            else:
                record = from_line(line)
                left = parts.pop(record.key, {})
                finished[record.key] = FinishedRun(line=line, record=record, **left)
    except (KeyError, TypeError, ValueError) as fault:
        msg = f"{path}: no journal of a session: {fault}"
        raise SessionFileError(msg, hint="remove the folder that it lies in") from fault
    return ReadJournal(
        finished=finished, unfinished=tuple(key for key in begun if key not in finished)
    )


def read_journals(folder: Path) -> ReadJournal:
    """Read all journals of a session as one; without the folder there is nothing.

    Raises:
        SessionFileError: as `read_journal`.
    """
    found = [read_journal(path) for path in sorted(folder.glob("*.jsonl"))]
    finished = {key: run for one in found for key, run in one.finished.items()}
    begun = dict.fromkeys(key for one in found for key in one.unfinished)
    return ReadJournal(
        finished=finished, unfinished=tuple(key for key in begun if key not in finished)
    )


def _part(kind: str, key: RunKey, value: object) -> str:
    data = {"type": kind, **key._asdict(), kind: value}
    return f"{_dumps(data, ensure_ascii=True, separators=(',', ':'))}\n"


def _lines(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes().decode("ascii")
    except (OSError, UnicodeDecodeError) as fault:
        raise _refused(path, fault) from fault
    whole, _, _ = text.rstrip("\0").rpartition("\n")
    return (line for line in whole.split("\n") if line)


def _refused(path: Path, fault: Exception) -> SessionFileError:
    why = fault.strerror if isinstance(fault, OSError) else None
    hint = "say with sop_sessions_dir where sessions may be written"
    return SessionFileError(f"{path}: cannot be used: {why or fault}", hint=hint)
