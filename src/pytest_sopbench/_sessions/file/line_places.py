"""The lines of a session's file, found again when it is put in order at the end."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from pytest_sopbench._core.model.task import RunKey

# The line that says that a run was begun: what is left of it when its process dies.

MARK: Final = '{"type":"start",'
"""How the line begins; a finished session has none."""


def start_to_line(key: RunKey) -> str:
    """One line of ASCII JSON without its end."""
    return json.dumps({"type": "start", **key._asdict()}, separators=(",", ":"))


def start_from_json(data: Mapping[str, Any]) -> RunKey:
    """Read what `start_to_line` wrote.

    Raises:
        ValueError: a key is missing.
    """
    try:
        return RunKey.read(data)
    except KeyError as fault:
        msg = f"a start without {fault}"
        raise ValueError(msg) from fault


CHANGED: Final = "something else has written into it, and runs are gone from it"

_START: Final = MARK.encode()


def places_of(file: BinaryIO, first: bytes, count: int) -> Mapping[RunKey, int]:
    """Return where the last line of each key begins.

    Args:
        file: of the session.
        first: its first line, as it was written.
        count: how many lines were written below it.

    Raises:
        OSError: lines are gone that were written.
    """
    file.seek(0)
    begins = file.readline()
    places: dict[RunKey, int] = {}
    place, found = len(begins), 0
    for line in file:
        is_start = line.startswith(_START)
        # The line of a write that the disk cut short has no end, and is nobody's last word.
        key = _key_of(line) if line.endswith(b"\n") and not is_start else None
        if key is not None:
            places[key] = place
        found += is_start or key is not None
        place += len(line)
    if begins != first or found < count:
        raise OSError(errno.EIO, CHANGED)
    return places


def ordered(
    file: BinaryIO, places: Mapping[RunKey, int], order: Iterable[RunKey]
) -> Iterator[bytes]:
    """Yield the line at each place, planned keys first."""
    planned = [key for key in dict.fromkeys(order) if key in places]
    for key in dict.fromkeys((*planned, *places)):
        file.seek(places[key])
        yield file.readline()


def _key_of(line: bytes) -> RunKey | None:
    """Return of which run a line is, or `None` if no session has written it."""
    try:
        return RunKey.read(json.loads(line))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


# The folder that sessions lie in.


def make_folder(path: Path) -> None:
    """Make the folder of a file; `.sop` ignores itself in git.

    Raises:
        OSError: the disk did not take it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = next((one for one in path.absolute().parents if one.name == ".sop"), None)
    if own is not None and not (own / ".gitignore").exists():
        (own / ".gitignore").write_text("*\n", "utf-8")
