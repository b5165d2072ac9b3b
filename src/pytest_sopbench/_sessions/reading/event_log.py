"""The event log that was kept of one run: where it lies, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.event_log import trace_of_log
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._sessions.file.event_logs import trace_name, traces_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLog:
    """What is left of the event log of a run.

    Attributes:
        path: where it lies; `None` where none was kept.
        trace: what it holds; `None` where it cannot be read.
        why: why it cannot be read.
    """

    path: Path | None = None
    trace: Trace | None = None
    why: str = ""


def kept_log(session: Path, record: RunRecord) -> KeptLog:
    """Return the event log of a run of a saved session, as far as it is there."""
    if not record.trace:
        return KeptLog()
    path = traces_folder(session) / trace_name(record.key)
    try:
        return KeptLog(path=path, trace=trace_of_log(path.read_text("ascii")))
    except FileNotFoundError:
        return KeptLog(path=path, why="is gone")
    except (OSError, ValueError) as fault:
        return KeptLog(path=path, why=f"cannot be read: {fault}")
