"""`last`: a pointer to the session that ended last, whose file has a name of its own.

It lies where earlier versions kept the session itself, at `last.jsonl`, so that a path to it still
leads to the session: as a symbolic link where the disk takes one, else as a file of one line that
names the session. Each session moves it in one step as it ends, and none as it starts.
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

from .paths import LAST, SUFFIX, own_name

TYPE: Final = "pointer"
_BEGINS: Final = b'{"type":"pointer"'
_LONGEST: Final = 4_096


def last_path(sessions_dir: Path) -> Path:
    """Return where the pointer of a folder of sessions lies."""
    return sessions_dir / f"{LAST}{SUFFIX}"


def followed(path: Path) -> Path:
    """Return the file of a session: where a pointer leads, and any other path as it is."""
    target = _link(path) or _line(path)
    return path.with_name(target) if target else path


def point_at(session: Path) -> None:
    """Make a finished session the last one of its folder.

    A session that an earlier version left in the pointer's place gets a name of its own.

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


def _move_away(old: Path) -> None:
    """Give the session of an earlier version the name that it would have today."""
    if old.is_symlink() or _line(old):
        return
    try:
        require_plain_file(old)
        with old.open("rb") as file:
            header: Any = json.loads(file.readline())
        started = datetime.fromisoformat(header["started"])
        session = old.with_name(f"{own_name(started, str(header.get('identity', '')))}{SUFFIX}")
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        # There is none, another session has just moved it, or it is no session.
        return
    with contextlib.suppress(FileNotFoundError):
        traces_folder(old).rename(traces_folder(session))
    with contextlib.suppress(FileNotFoundError):
        journals_folder(old).rename(journals_folder(session))
    with contextlib.suppress(FileNotFoundError):
        old.rename(session)
