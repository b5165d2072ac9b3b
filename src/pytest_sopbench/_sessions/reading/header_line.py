"""The first line of a file that somebody calls a saved session: is it one, and whole?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pytest_sopbench._sessions.header.header import (
    SCHEMA,
    UNCHECKED,
    SessionHeader,
    header_from_json,
)
from pytest_sopbench._sessions.lines.checksum import is_intact, is_sealed
from pytest_sopbench._sessions.lines.parsing import read_json
from pytest_sopbench._sessions.lines.shapes import check_shape
from pytest_sopbench.errors import SessionFileError


def read_header(path: Path, line: bytes) -> SessionHeader:
    """Read the first line of a file, given with its end.

    Raises:
        SessionFileError: the file is no saved session, was written by a newer version, or its
            header is damaged.
    """
    if not line.strip(b"\0 \t\r\n"):
        raise _foreign(path, "it is empty")
    if not line.isascii():
        raise _foreign(path, "it holds bytes that no saved session holds")
    try:
        data = read_json(line)
    except (ValueError, RecursionError) as fault:
        raise _foreign(path, "its first line is no header") from fault
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("type") != "header":
        raise _foreign(path, "its first line is no header")
    return _checked_header(path, line.rstrip(b"\r\n"), cast("dict[str, Any]", data))


def _checked_header(path: Path, line: bytes, data: dict[str, Any]) -> SessionHeader:
    schema = data.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        msg = f"{path}: written by a newer pytest-sopbench (schema {schema}, known: {SCHEMA})"
        raise SessionFileError(msg, hint="upgrade pytest-sopbench to read it")
    try:
        check_shape("header", data)
        header = header_from_json(data)
    except ValueError as fault:
        raise _damaged(path, str(fault)) from fault
    if (header.schema > UNCHECKED or is_sealed(line)) and not is_intact(line):
        raise _damaged(path, "its checksum is missing, or of another content")
    return header


def _foreign(path: Path, why: str) -> SessionFileError:
    hint = "a saved session is a .jsonl file that pytest wrote with an option --sop-..."
    return SessionFileError(f"{path}: no saved session: {why}", hint=hint)


def _damaged(path: Path, why: str) -> SessionFileError:
    hint = "nothing can be concluded without its header: run the session again"
    return SessionFileError(f"{path}, line 1: damaged: {why}", hint=hint)
