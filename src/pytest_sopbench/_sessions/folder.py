"""The folder of sessions: how a session is named, which is the last one, and what came of it.

Whoever names a session on a command line gives a name in the folder, a path, or `last`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from pytest_sopbench._sessions.atomic import replace_path
from pytest_sopbench._sessions.event_logs import traces_folder
from pytest_sopbench._sessions.header import header_from_json, read_session_options
from pytest_sopbench._sessions.journal import clear_journals, journals_folder
from pytest_sopbench._sessions.mark import SUFFIX as MARK
from pytest_sopbench._sessions.mark import is_running, mark_path, owner_of
from pytest_sopbench._sessions.writer import require_plain_file
from pytest_sopbench.errors import SessionFileError

from .atomic import refused_as

# Where a session lies that is named on a command line.

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
    """Return the name of a session, and when it began, if the name is the session's own."""
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


# `last`: a pointer to the session that ended last, whose file has a name of its own.
#
# It lies where earlier versions kept the session itself, at `last.jsonl`, so that a path to it
# still leads to the session: as a symbolic link if the disk takes one, else as a file of one
# line that names the session. Each session moves it in one step as it ends.
#
# While a session is under way `last` is withdrawn: the pointer has a name of that session, so that
# no gate decides on an older one if this one comes to no result. A rename needs no room on a
# disk.

TYPE: Final = "pointer"
WITHDRAWN: Final = f"{LAST}.withdrawn-"
"""How the name of a pointer begins that a session has withdrawn, whose own name follows."""
_BEGINS: Final = b'{"type":"pointer"'
_LONGEST_LINE: Final = 4_096


def last_path(sessions_dir: Path) -> Path:
    """Return where the pointer of a folder of sessions lies."""
    return sessions_dir / f"{LAST}{SUFFIX}"


def followed(path: Path) -> Path:
    """Return the file of a session: where a pointer leads, and any other path as it is.

    A pointer that was withdrawn leads where it led before.
    """
    target = _target(path)
    if not target and path.name == f"{LAST}{SUFFIX}" and (held := _held(path.parent)):
        target = _target(held[-1])
    return path.with_name(target) if target else path


def withdrawn_by(sessions_dir: Path) -> str:
    """Return the name of the session that has withdrawn `last` and not come to its end, if any."""
    held = _held(sessions_dir)
    if not held:
        return ""
    name = held[-1].name.removeprefix(WITHDRAWN)
    ended = _target(last_path(sessions_dir)).removesuffix(SUFFIX)
    # One that is older was overtaken by the session that ended.
    return "" if is_own_name(ended) and name <= ended else name


class Withdrawal:
    """Takes `last` back from whoever checks a gate, until a session has ended and was written.

    It is given back by `point_at`, or by `give_back` if no session comes of it.

    `session` is the file that the session is going to have. `problem` says why the disk did not let
    `last` be withdrawn, or nothing.
    """

    def __init__(self, session: Path) -> None:
        self.problem = ""
        self._pointer = last_path(session.parent)
        self._aside = session.with_name(f"{WITHDRAWN}{session.stem}")
        self._session = session
        self._before: Path | None = None
        self.take()

    def take(self) -> None:
        """Withdraw `last`, also if it was given back before."""
        try:
            if self._before is None:
                self._take()
        except OSError as fault:
            self.problem = fault.strerror or str(fault)

    def _take(self) -> None:
        moved = _move_away(self._pointer)
        if moved is not None:
            # If the disk takes no link, nothing is left that a gate could be checked on.
            with contextlib.suppress(OSError, NotImplementedError):
                self._aside.symlink_to(moved.name)
            self._before = self._pointer
            return
        # Another session that is under way has it, or one that came to no result.
        places = [self._pointer] if _target(self._pointer) else _held(self._pointer.parent)[-1:]
        for place in places:
            with contextlib.suppress(FileNotFoundError):
                place.rename(self._aside)
                self._before = place

    def give_back(self) -> None:
        """Leave `last` as it was found: this process has run no SOP session."""
        before, self._before = self._before, None
        if before is None:
            return
        # Another session may have taken it since, or ended.
        with contextlib.suppress(OSError):
            if before == self._pointer and _target(before):
                self._aside.unlink()
            else:
                self._aside.rename(before)

    def hold(self) -> None:
        """Withdraw the session itself, which was written, and then ended otherwise than it said."""
        if _target(self._pointer) == self._session.name:
            with contextlib.suppress(OSError):
                self._pointer.rename(self._aside)


def point_at(session: Path) -> None:
    """Make a finished session the last one of its folder, whoever has withdrawn that before.

    A session that lies in the pointer's place, as in a copy of a folder, gets a name of its own.

    Raises:
        SessionFileError: the disk did not take it.
    """
    pointer = last_path(session.parent)
    with refused_as(SessionFileError, pointer):
        _move_away(pointer)
        with replace_path(pointer) as aside:
            aside.unlink(missing_ok=True)
            try:
                aside.symlink_to(session.name)
            except (OSError, NotImplementedError):
                # Windows grants links to few users, and some disks have none.
                aside.write_text(f'{{"type":"{TYPE}","session":"{session.name}"}}\n', "ascii")
    for held in _held(session.parent):
        # That of a session which began later stays, until that one has ended.
        if held.name.removeprefix(WITHDRAWN) <= session.stem:
            with contextlib.suppress(OSError):
                held.unlink()


def _held(sessions_dir: Path) -> list[Path]:
    """Return the pointers that are withdrawn, the one of the newest session last."""
    return sorted(sessions_dir.glob(f"{WITHDRAWN}*"))


def _target(path: Path) -> str:
    return _link(path) or _line(path)


def _link(path: Path) -> str:
    try:
        target = path.readlink()
    except (OSError, ValueError):
        return ""
    # A link of the user's to another folder is followed by the disk itself.
    return target.name if Path(target.name) == target else ""


def _line(path: Path) -> str:
    try:
        require_plain_file(path)
        with path.open("rb") as file:
            line = file.readline(_LONGEST_LINE)
        data: Any = json.loads(line) if line.startswith(_BEGINS) else {}
    except (OSError, ValueError):
        return ""
    name = str(data.get("session", ""))
    return name if Path(name).name == name else ""


def _move_away(old: Path) -> Path | None:
    """Give a session that lies in the pointer's place the name that is its own; return that."""
    if old.is_symlink() or _line(old):
        return None
    try:
        require_plain_file(old)
        with old.open("rb") as file:
            header: Any = json.loads(file.readline())
        started = datetime.fromisoformat(header["started"])
        session = old.with_name(f"{own_name(started, str(header.get('identity', '')))}{SUFFIX}")
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        # There is none, another session has just moved it, or it is no session.
        return None
    with contextlib.suppress(FileNotFoundError):
        traces_folder(old).rename(traces_folder(session))
    with contextlib.suppress(FileNotFoundError):
        journals_folder(old).rename(journals_folder(session))
    with contextlib.suppress(FileNotFoundError):
        old.rename(session)
    return session


# What the session before this one took, read from the two ends of its file.

_BLOCK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSession:
    """Of whom and of what the session was, and what it took.

    `concurrency` is how many runs were in flight: a number, `auto`, or `None` for one in each
    process. `cost_usd` is `None` if some run did not report its cost: a part of it would mislead.
    """

    agent: str
    domains: frozenset[str]
    runs: int
    duration_s: float
    concurrency: int | str | None = None
    cost_usd: float | None = None
    replay: str = ""


def read_last(path: Path) -> LastSession | None:
    """Read a saved session's first and last line, however many lines lie between.

    Returns:
        `None` if there is no such file, or if it does not tell: it was cut short, its
        duration was not recorded or is that of a part of its runs, or it holds something else.
    """
    try:
        with path.open("rb") as file:
            header, summary = json.loads(file.readline()), json.loads(_last_line(file))
        totals: list[dict[str, Any]] = [*summary.get("agents", {"": summary["total"]}).values()]
        pooled = [one["pooled"] for one in totals]
        options = read_session_options(header["options"])
        if summary["type"] != "summary" or summary["duration_s"] is None or options.resumed:
            return None
        # A run that was never started has cost nothing.
        started = sum(one["runs"] - one["outcomes"].get("not_run", 0) for one in pooled)
        costs = [cost for one in pooled if (cost := one["usage"].get("cost_usd"))]
        is_whole = bool(costs) and sum(one["known"] for one in costs) == started
        return LastSession(
            agent=header["agent"],
            domains=frozenset(header["domains"]),
            runs=started,
            duration_s=summary["duration_s"],
            concurrency=options.concurrency,
            cost_usd=sum(one["total"] for one in costs) if is_whole else None,
            replay=options.replay,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # It only serves for a remark, which can be left out.
        return None


def has_summary(path: Path) -> bool:
    """Tell whether a session's file has the line that stands at its end."""
    try:
        with path.open("rb") as file:
            return _last_line(file).startswith(b'{"type":"summary"')
    except OSError:
        return False


def _last_line(file: BinaryIO) -> bytes:
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end and tail.count(b"\n", 0, -1) == 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        tail = file.read(end - start) + tail
        end = start
    return tail.rstrip(b"\n").rpartition(b"\n")[2]


# Sessions of a folder that never came to their end: killed, or ended by what they ran.


def own_sessions(sessions_dir: Path) -> list[Path]:
    """Return the sessions of a folder that have a name of their own, the oldest first.

    Of one that died early there may be no file, but a mark.
    """
    try:
        names = {path.name.partition(".")[0] for path in sessions_dir.iterdir()}
    except OSError:
        return []
    return [sessions_dir / f"{name}{SUFFIX}" for name in sorted(names) if is_own_name(name)]


def running_since_last(sessions_dir: Path, *, but: Path) -> Path | None:
    """Return the newest session after the last one that is still running, beside the one given."""
    found = (one for one in _since_last(sessions_dir) if one != but and is_running(one))
    return next(found, None)


def unended_since_last(sessions_dir: Path) -> Path | None:
    """Return the newest session after the last one that is not running, and has no end."""
    return next((one for one in _since_last(sessions_dir) if is_unended(one)), None)


def resumable_since_last(sessions_dir: Path) -> Path | None:
    """Return the newest of those that left something to take over."""
    found = (one for one in _since_last(sessions_dir) if one.is_file() and is_unended(one))
    return next(found, None)


def marked_unended(sessions_dir: Path) -> list[Path]:
    """Return the sessions whose mark was left behind by their process."""
    marked = sessions_dir.glob(f"*{MARK}")
    sessions = [path.with_name(f"{path.name.removesuffix(MARK)}{SUFFIX}") for path in marked]
    return [one for one in sorted(sessions) if not is_running(one) and mark_path(one).exists()]


def not_ended(path: Path) -> str:
    """Say which session did not end, if a path stands for one that did not; else nothing."""
    if path == last_path(path.parent):
        return _last_not_ended(path.parent)
    session = followed(path)
    if is_running(session):
        return f"the session is still running ({owner_of(session)}): {session.stem}"
    return f"the session did not end: {session.stem}" if mark_path(session).exists() else ""


def _last_not_ended(sessions_dir: Path) -> str:
    name = withdrawn_by(sessions_dir)
    if name and is_running(sessions_dir / f"{name}{SUFFIX}"):
        return f"the last session is still running: {with_time(name)}"
    marked = marked_unended(sessions_dir)
    found = marked[-1] if marked else unended_since_last(sessions_dir)
    if found is not None and found.stem >= name:
        return f"the last session did not end: {with_time(found.stem)}"
    # It ended before it had a file, or the disk did not take that.
    return f"no result was saved of the last session: {with_time(name)}" if name else ""


def is_unended(session: Path) -> bool:
    """Tell whether a session has a mark without a process, or a file without a summary."""
    if is_running(session):
        return False
    return mark_path(session).exists() or (session.is_file() and not has_summary(session))


def _since_last(sessions_dir: Path) -> Iterator[Path]:
    """Yield the sessions that began after the last one, or with it; the newest first."""
    last = followed(last_path(sessions_dir))
    known = last.name if is_own_name(last.stem) else ""
    for session in reversed(own_sessions(sessions_dir)):
        if session.name < known:
            return
        # That which `last` is has its file; its process may have had a bad end all the same.
        if session.name != known or mark_path(session).exists():
            yield session


# Which other session of a folder ran a task that one has not run.


def newest_with(task: str, but: Path) -> str:
    """Return the name of the newest session beside `but` that planned a task, or nothing.

    Only heads are read: a session that cannot be read is none to be sent to.
    """
    for path in _newest_first(but):
        try:
            with path.open("rb") as file:
                header = header_from_json(json.loads(file.readline()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        planned = ((name, one.planned) for name, one in header.domains.items())
        if not header.options.slim and any(_has(name, ids, task) for name, ids in planned):
            return path.stem
    return ""


def _has(domain: str, planned: tuple[str, ...], task: str) -> bool:
    names = (task.removeprefix(f"{domain}{mark}") for mark in ("/", "::"))
    return task in planned or any(name in planned for name in names)


def _newest_first(but: Path) -> Iterator[Path]:
    try:
        found = [(one.stat().st_mtime, one) for one in but.parent.glob(f"*{SUFFIX}")]
    except OSError:
        return
    for _, path in sorted(found, reverse=True):
        # A pointer leads to one of the others.
        if path.is_file() and followed(path) == path and path != but:
            yield path


# Removes old sessions of a folder, each with all that belongs to it.


def prune(sessions_dir: Path, keep: int) -> None:
    """Keep the newest sessions that have a name of their own, and remove the others.

    One that is running, that `last` leads to, or that somebody gave a name is never removed.
    """
    last = followed(last_path(sessions_dir))
    every = own_sessions(sessions_dir)
    # What has no file is no session that somebody could want back, and must not count for one.
    kept = [one for one in every if one.is_file()][-keep:]
    for session in every[: every.index(kept[0])] if kept else ():
        if session == last or is_running(session):
            continue
        # The file last: as long as it is there, the next session tries again.
        clear_journals(journals_folder(session))
        shutil.rmtree(traces_folder(session), ignore_errors=True)
        for path in (mark_path(session), session):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
