"""Judgements on disk, one small file for each, so that no question is paid for twice.

A file appears whole or not at all. What cannot be read as the judgement of its own name is as good
as absent: the question is asked again, and the file replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.values.plain import escape_surrogates
from pytest_sopbench._judge.asking.reply import Judgement
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench._sessions.file.location import make_folder

SCHEMA: Final = 1
_READ: Final = json.JSONDecoder().decode
_WRITE: Final = json.JSONEncoder(ensure_ascii=True, indent=1).encode


class Judgements:
    """A folder of judgements, shared by every process of a session and by later ones.

    Args:
        folder: where they lie.
        mask: takes secrets out of a text that is written.
    """

    def __init__(self, folder: Path, mask: Callable[[str], str]) -> None:
        self.folder = folder
        self._mask = mask

    def find(self, key: str) -> Judgement | None:
        """Return the judgement of this name; `None` where none is kept, or it cannot be read."""
        path = self._path(key)
        if not path.is_file():
            # Also where it is a pipe: nobody knows whether that ends.
            return None
        try:
            data = _READ(path.read_text("ascii"))
            held, reason, quote = data["held"], data["reason"], data["quote"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_own = data.get("schema") == SCHEMA and data.get("key") == key
        is_whole = isinstance(held, bool) and isinstance(reason, str) and isinstance(quote, str)
        return Judgement(held=held, reason=reason, quote=quote) if is_own and is_whole else None

    def keep(self, key: str, judgement: Judgement, **about: str) -> None:
        """Write a judgement.

        Args:
            key: its name.
            judgement: what is kept, without secrets.
            about: what people may want to know of it.

        Raises:
            OSError: the disk did not take it.
        """
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "key": key,
            **about,
            "held": judgement.held,
            "reason": escape_surrogates(self._mask(judgement.reason)),
            "quote": escape_surrogates(self._mask(judgement.quote)),
        }
        path = self._path(key)
        make_folder(path)
        with replace_file(path) as file:
            file.write(_WRITE(data).encode("ascii") + b"\n")

    def _path(self, key: str) -> Path:
        # Thousands of files in one folder are slow on some disks.
        return self.folder / key[:2] / f"{key}.json"
