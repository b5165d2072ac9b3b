"""`last`: a pointer to the session that ended last, whose file has a name of its own.

It lies where earlier versions kept the session itself, at `last.jsonl`, so that a path to it still
leads to the session: as a symbolic link where the disk takes one, else as a file of one line that
names the session. Each session moves it in one step as it ends.

While a session is under way `last` is withdrawn: the pointer has a name of that session, so that no
gate decides on an older one where this one comes to no result. A rename needs no room on a disk.
"""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._sessions.file.atomic import replace_path
from pytest_sopbench._sessions.file.event_logs import traces_folder
from pytest_sopbench._sessions.file.plain_file import require_plain_file
from pytest_sopbench._sessions.journal.journal import journals_folder
from pytest_sopbench.errors import SessionFileError

from .paths import LAST, SUFFIX, is_own_name, own_name

TYPE: Final = "pointer"
WITHDRAWN: Final = f"{LAST}.withdrawn-"
"""How the name of a pointer begins that a session has withdrawn, whose own name follows."""
_BEGINS: Final = b'{"type":"pointer"'
_LONGEST: Final = 4_096


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
    """Takes `last` back from whoever asks a gate, until a session has ended and was written.

    It is given back by `point_at`, or by `give_back` where no session comes of it.

    `session` is the file that the session is going to have. `problem` says why the disk did not let
    `last` be withdrawn, or nothing.
    """

    def __init__(self, session: Path) -> None:
        self.problem = ""
        self._pointer = last_path(session.parent)
        self._aside = session.with_name(f"{WITHDRAWN}{session.stem}")
        self._before: Path | None = None
        self.take()

    def take(self) -> None:
        """Withdraw `last`, also where it was given back before."""
        if self._before is not None:
            return
        try:
            self._take()
        except OSError as fault:
            self.problem = fault.strerror or str(fault)

    def _take(self) -> None:
        moved = _move_away(self._pointer)
        if moved is not None:
            # Where the disk takes no link, nothing is left that a gate could be asked of.
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


def point_at(session: Path) -> None:
    """Make a finished session the last one of its folder, whoever has withdrawn that before.

    A session that lies in the pointer's place, as in a copy of a folder, gets a name of its own.

    Raises:
        SessionFileError: the disk did not take it.
    """
    pointer = last_path(session.parent)
    try:
        _move_away(pointer)
        with replace_path(pointer) as aside:
            aside.unlink(missing_ok=True)
            try:
                aside.symlink_to(session.name)
            except (OSError, NotImplementedError):
                # Windows grants links to few users, and some disks have none.
                aside.write_text(f'{{"type":"{TYPE}","session":"{session.name}"}}\n', "ascii")
    except OSError as fault:
        msg = f"{pointer}: cannot be written: {fault.strerror or fault}"
        raise SessionFileError(msg) from fault
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
            line = file.readline(_LONGEST)
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
