"""Judgements on disk, one small file for each, so that no question is paid for twice.

A file appears whole or not at all. What cannot be read as the judgement of its own name is as good
as absent: the question is asked again, and the file replaced. So it is where somebody has changed
the file, by its checksum, or where its quote stands nowhere in the answer; then it is said as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from pytest_sopbench._core.fields.match import stands_in
from pytest_sopbench._core.values.plain import escape_surrogates
from pytest_sopbench._judge.asking.reply import Judgement
from pytest_sopbench._sessions.file.atomic import replace_file
from pytest_sopbench._sessions.file.location import make_folder
from pytest_sopbench.errors import NotJudgedError

SCHEMA: Final = 1
CRC: Final = "crc"
CHANGED: Final = "kept judgements that were changed by hand were not believed, and asked again"
MISQUOTED: Final = (
    "kept judgements that quote what the answer does not say were not believed, and asked again"
)
_READ: Final = json.JSONDecoder().decode
_SEALED: Final = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode
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

    def find(self, key: str, answer: str) -> Judgement | None:
        """Return the judgement of this name; `None` where none is kept, or it cannot be read.

        Args:
            key: its name.
            answer: the text that was judged, in which its quote is looked for again.

        Raises:
            NotJudgedError: what is kept was changed, or quotes what the answer does not say.
        """
        path = self._path(key)
        if not path.is_file():
            # Also where it is a pipe: nobody knows whether that ends.
            return None
        try:
            data = _READ(path.read_text("ascii"))
            held, reason, quote = data["held"], data["reason"], data["quote"]
            seal = data.pop(CRC)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_own = data.get("schema") == SCHEMA and data.get("key") == key
        is_whole = isinstance(held, bool) and isinstance(reason, str) and isinstance(quote, str)
        if not (is_own and is_whole):
            return None
        if seal != _checksum(data):
            raise NotJudgedError(CHANGED)
        if not (stands_in(quote, answer) or stands_in(quote, self._written(answer))):
            raise NotJudgedError(MISQUOTED)
        return Judgement(held=held, reason=reason, quote=quote)

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
            "reason": self._written(judgement.reason),
            "quote": self._written(judgement.quote),
        }
        data[CRC] = _checksum(data)
        path = self._path(key)
        make_folder(path)
        with replace_file(path) as file:
            file.write(_WRITE(data).encode("ascii") + b"\n")

    def _written(self, text: str) -> str:
        return escape_surrogates(self._mask(text))

    def _path(self, key: str) -> Path:
        # Thousands of files in one folder are slow on some disks.
        return self.folder / key[:2] / f"{key}.json"


def _checksum(data: Mapping[str, Any]) -> str:
    """Return the checksum of a judgement, which says what that of a recording says."""
    return f"{crc32(_SEALED(data).encode('ascii')):08x}"
