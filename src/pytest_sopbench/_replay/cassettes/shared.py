"""Texts that many requests repeat, each kept once, under the hash of its content.

The SOP and the tool specs stand in every request of every task. They are written line by line, so
that a change of the prompt can be read in a diff.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import CassetteError

from .atomic import write_whole
from .reading import read_file

_dumps = json.JSONEncoder(sort_keys=True, indent=1).encode


class SharedTexts:
    """The shared texts of one folder; each is read once in a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._read: dict[str, JsonValue] = {}

    def put(self, value: JsonValue) -> str:
        """Return the name of a value; it is written by `write`."""
        name = name_of(value)
        with self._lock:
            self._read.setdefault(name, value)
        return name

    def get(self, name: str) -> JsonValue:
        """Return the value of a name.

        Raises:
            CassetteError: its file is not there, or is not what its name says.
        """
        with self._lock:
            if name in self._read:
                return self._read[name]
        value = self._load(name)
        with self._lock:
            return self._read.setdefault(name, value)

    def write(self, names: Iterable[str]) -> None:
        """Write what is not on disk so far.

        Raises:
            OSError: the disk did not take it.
        """
        for name in names:
            path = self.path(name)
            if not path.exists():
                write_whole(path, _written(self.get(name)))

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _load(self, name: str) -> JsonValue:
        path = self.path(name)
        try:
            data: dict[str, Any] = json.loads(read_file(path))
            value: JsonValue = "\n".join(data["text"]) if "text" in data else data["json"]
        except FileNotFoundError:
            msg = f"{path}: not there, and a recording needs it"
            raise CassetteError(msg, hint=RESTORE) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            msg = f"{path}: cannot be read: {fault}"
            raise CassetteError(msg, hint=RESTORE) from None
        if name_of(value) != name:
            msg = f"{path}: its content was changed, and a recording needs it as it was"
            raise CassetteError(msg, hint=RESTORE)
        return value


RESTORE = "take it back from version control, or record anew with --sop-replay=record"


def name_of(value: JsonValue) -> str:
    """Return the name of a shared value, by its content."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _written(value: JsonValue) -> bytes:
    data = {"text": value.split("\n")} if isinstance(value, str) else {"json": value}
    return f"{_dumps(data)}\n".encode("ascii")
