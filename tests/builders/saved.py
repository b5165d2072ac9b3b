"""The doors of saved sessions: their lines, sealed and bare, and the file that `last` points at."""

from __future__ import annotations

from pytest_sopbench._core.records.record import CallRecord, to_line
from pytest_sopbench._sessions.commands.resume import read_resumable
from pytest_sopbench._sessions.folder import followed
from pytest_sopbench._sessions.header import DomainHeader, SessionHeader
from pytest_sopbench._sessions.lines import bare, is_sealed, sealed, seed_of
from pytest_sopbench._sessions.saved import planned_records
from pytest_sopbench._sessions.writer import SessionWriter

__all__ = [
    "CallRecord",
    "DomainHeader",
    "SessionHeader",
    "SessionWriter",
    "bare",
    "followed",
    "is_sealed",
    "planned_records",
    "read_resumable",
    "sealed",
    "seed_of",
    "to_line",
]
