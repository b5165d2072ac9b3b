"""The mark of a session that is running: a locked file beside the session, which names the process.

The lock goes with the process, however that ends, and the file only with an honest end. So a mark
that is locked is of a session that is running, and one that is not of a session that never ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pytest_sopbench._sessions.writer import make_folder
from pytest_sopbench.errors import SessionFileError

from .atomic import SOP_DIR, refused_as

SUFFIX: Final = ".running"
_TRIES: Final = 10
_PAUSE: Final = 0.02
"""Seconds; whoever only looks at a mark holds its lock for less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that a mark names."""

    process: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


UNKNOWN: Final = Owner(process=0, host="an unknown machine", since="an unknown time")


def mark_path(session: Path) -> Path:
    """Return where the mark of a session lies: beside its file."""
    return session.with_name(f"{session.name.removesuffix('.jsonl')}{SUFFIX}")


def owner_of(session: Path) -> Owner:
    """Return the process that the mark of a session names."""
    try:
        data = json.loads(mark_path(session).read_text("ascii"))
        return Owner(process=data["process"], host=data["host"], since=data["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return UNKNOWN


def is_running(session: Path) -> bool:
    """Tell whether the process that marked a session is alive."""
    try:
        descriptor = os.open(mark_path(session), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        # Of another user; nobody can tell, and what is in use must not be taken.
        return True
    try:
        # Shared, so that two that look at once do not see each other.
        return not _lock(descriptor, owner_of(session), shared=True)
    finally:
        os.close(descriptor)


def refuse_running(session: Path) -> None:
    """Refuse to touch a session that is running.

    Raises:
        SessionFileError: it is; names the process.
    """
    if is_running(session):
        msg = f"{session}: this session is still running ({owner_of(session)})"
        raise SessionFileError(msg, hint="wait for its end, or end that process")


def claim(session: Path) -> Mark | None:
    """Mark a session that another one is about to take over, so that no second one does.

    Returns:
        `None` if its folder takes no mark: what was downloaded may be read-only.

    Raises:
        SessionFileError: it is running, or being taken over already.
    """
    refuse_running(session)
    try:
        return Mark(session)
    except SessionFileError:
        refuse_running(session)
        return None


class Mark:
    """Marks a session as running, until it is taken off or this process ends.

    Args:
        session: the session's file, which need not be there.

    Raises:
        SessionFileError: another process has marked it, or the disk did not take the mark.
    """

    def __init__(self, session: Path) -> None:
        self.path = mark_path(session)
        self._process = os.getpid()
        self._was_there = False
        self._descriptor: int | None = None
        with refused_as(SessionFileError, self.path, SOP_DIR):
            try:
                # Also ignored by git, which would else take the project for changed.
                make_folder(self.path)
                self._was_there = self.path.exists()
                self._descriptor = self._locked(session)
                self._write(self._descriptor)
            except OSError:
                self.give_back()
                raise
        if hasattr(os, "register_at_fork"):
            # A child drops its copy of the lock, so that it cannot outlive this process.
            os.register_at_fork(after_in_child=self.leave)

    def take_off(self) -> None:
        """Say that the session has ended as it should."""
        if self._descriptor is None or os.getpid() != self._process:
            return
        # Before the lock goes, so that nobody finds a mark that looks left behind.
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.leave()

    def give_back(self) -> None:
        """Leave everything as it was: a mark that was there is of a session that never ended."""
        if self._was_there:
            self.leave()
        else:
            self.take_off()

    def leave(self) -> None:
        """Let go of the lock, and leave the mark."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _locked(self, session: Path) -> int:
        for _ in range(_TRIES):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _lock(descriptor, owner_of(session)):
                os.close(descriptor)
                time.sleep(_PAUSE)
            elif _is_at(descriptor, self.path):
                return descriptor
            else:
                # Its owner took it off between the opening and the lock.
                os.close(descriptor)
        refuse_running(session)
        msg = f"{self.path}: cannot be locked"
        raise SessionFileError(msg, hint="is another session of this folder about to begin?")

    def _write(self, descriptor: int) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        owner = Owner(process=self._process, host=socket.gethostname(), since=since)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{json.dumps(asdict(owner))}\n".encode("ascii"))
        os.fsync(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, owner: Owner, *, shared: bool = False) -> bool:
        """Take the lock of a mark, and tell whether it was free."""
        del owner, shared
        # Behind the text, which others must be able to read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(descriptor: int, owner: Owner, *, shared: bool = False) -> bool:
        """Take the lock of a mark, and tell whether it was free."""
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # A disk without locks: then the process itself is looked for.
            return not _is_alive(owner)
        return True


def _is_alive(owner: Owner) -> bool:
    if owner is UNKNOWN:
        return False
    if owner.host != socket.gethostname():
        return True
    try:
        os.kill(owner.process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
