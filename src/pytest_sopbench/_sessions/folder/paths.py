"""Where a session lies that is named on a command line."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from pytest_sopbench.errors import SessionFileError

SUFFIX = ".jsonl"
LAST = "last"
"""The name of the session that ended last."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OWN = re.compile(r"\d{8}-\d{6}-\d{3}-[0-9a-f]{8}")
_LONGEST = 200
"""Bytes of a name; disks take 255, and what belongs to a session has longer names."""
_IDENTITY = 8
"""Characters of an identity that stand in a name."""


def own_name(started: datetime, identity: str) -> str:
    """Return the name that a session's file has from its start, which sorts by time."""
    moment = started.astimezone(UTC)
    digits = re.sub("[^0-9a-f]", "0", identity)[:_IDENTITY].ljust(_IDENTITY, "0")
    return f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond // 1000:03d}-{digits}"


def is_own_name(name: str) -> bool:
    """Tell the name that a session has of itself from one that somebody chose."""
    return _OWN.fullmatch(name) is not None


def with_time(name: str) -> str:
    """Return the name of a session, and when it began, where the name is the session's own."""
    if not is_own_name(name):
        return name
    started = datetime.strptime(name[:15], "%Y%m%d-%H%M%S")  # noqa: DTZ007 - names have UTC
    return f"{name}, begun {started} UTC"


def session_path(value: str, sessions_dir: Path) -> Path:
    """Return the file that a NAME or a path stands for.

    A value with a separator, or one that ends in `.jsonl`, is a path as it stands; any other is
    a name in `sessions_dir`.

    Raises:
        SessionFileError: the value is neither.
    """
    separators = {"/", os.sep, os.altsep or os.sep}
    if value.endswith(SUFFIX) or any(sign in value for sign in separators):
        return file_path(value)
    if not _NAME.fullmatch(value) or len(value) > _LONGEST:
        msg = f"{value!r} is no name of a session"
        hint = f"use up to {_LONGEST} letters, digits, '.', '_' and '-', or a path with a '/'"
        raise SessionFileError(msg, hint=hint)
    return sessions_dir / f"{value}{SUFFIX}"


def file_path(value: str) -> Path:
    """Return the path that a value is, whose last part must be the name of a file.

    Raises:
        SessionFileError: it is not, or a disk takes no such name.
    """
    try:
        path = Path(value).expanduser()
    except RuntimeError as fault:
        msg = f"{value!r} is no path of a session: {fault}"
        raise SessionFileError(msg) from fault
    # A disk refuses a name that is too long wherever it is asked for it, also by a mere look.
    if path.name in {"", ".."} or len(os.fsencode(path.name)) > _LONGEST:
        msg = f"{value!r} is no path of a session: its last part is no name of a file"
        raise SessionFileError(msg, hint=f"name a file, with up to {_LONGEST} bytes")
    return path
