"""Judgements and what they cost, on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final
from zlib import crc32

from pytest_sopbench._core.fields.comparison import stands_in
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.model.usage import (
    Prices,
    Reckoning,
    add_usage,
    read_usage,
)
from pytest_sopbench._core.values.json import escape_surrogates
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench._sessions.writer import make_folder
from pytest_sopbench.agents.conversation import ModelUsage
from pytest_sopbench.errors import NotJudgedError

from .asking import Judgement

# What the judge was asked and what that consumed, apart from the runs of the agent.
#
# Each process appends a line for each question, at once, to one file of the session: so nothing is
# lost with a worker that dies, and nothing has to travel between processes.

KEPT: Final = "kept"
ASKED: Final = "asked"
FAILED: Final = "failed"
REPEATED: Final = "repeated"
NOTE: Final = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """What judging came to.

    Attributes:
        asked: questions that the model was asked.
        failed: those of them that gave no judgement.
        kept: questions whose judgement was there before the first of them was asked.
        repeated: questions that were asked already, by the same log.
        usage: tokens and cost; the cost is unknown as soon as that of one reply is.
        notes: what readers should know of how it was asked, each once.
    """

    asked: int = 0
    failed: int = 0
    kept: int = 0
    repeated: int = 0
    usage: Usage = UNKNOWN_USAGE
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        return self.asked + self.kept + self.repeated

    @property
    def cost_usd(self) -> float | None:
        """What replies have cost; 0 if none came, `None` if nobody knows."""
        return 0.0 if self.usage == UNKNOWN_USAGE else self.usage.cost_usd


class ConsumptionLog:
    """Appends what one process asks; several may share a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()

    def add(self, what: str, usage: ModelUsage | None = None, *, key: str = "") -> None:
        """Append a line; a disk that does not take it costs a number, and no judgement.

        Args:
            what: how the judgement was found.
            usage: what the model consumed.
            key: the name of the judgement, by which a question is known that is put again.
        """
        told = {"usage": asdict(usage)} if usage is not None else {}
        self._write({"what": what, "key": key, **told})

    def note(self, text: str) -> None:
        """Append what readers should know of how the judge was asked."""
        self._write({"what": NOTE, "text": text})

    def _write(self, line: dict[str, object]) -> None:
        data = json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"
        with self._lock, suppress(OSError):
            self._append(data)

    def _append(self, data: bytes) -> None:
        make_folder(self.path)
        # One write of a short line to the end of a file is not mixed with others.
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, data)
        finally:
            os.close(file)


class LogReader:
    """Adds up what a log holds, as it grows: each line is read once.

    A line that is torn is passed over.
    """

    def __init__(self, path: Path, prices: Prices | None = None) -> None:
        self._path = path
        self._at = 0
        self._counts = {KEPT: 0, ASKED: 0, FAILED: 0}
        # Another process may have asked what this one found on disk.
        self._asked: set[str] = set()
        self._found: list[str] = []
        self._usage, self._reckoning = UNKNOWN_USAGE, Reckoning(prices)
        self._notes: dict[str, None] = {}

    def read(self) -> Consumption:
        """Read what has come, and return what all of it comes to."""
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(self._at)
            whole, end, _ = file.read().rpartition(b"\n")
            self._at += len(whole) + len(end)
            for line in whole.splitlines():
                with suppress(ValueError, KeyError, TypeError):
                    self._add(json.loads(line))
        repeated = sum(key in self._asked for key in self._found)
        return Consumption(
            asked=self._counts[ASKED] + self._counts[FAILED],
            failed=self._counts[FAILED],
            kept=self._counts[KEPT] - repeated,
            repeated=repeated,
            usage=self._reckoning.priced(self._usage),
            notes=tuple(self._notes),
        )

    def _add(self, data: Mapping[str, Any]) -> None:
        if data["what"] == NOTE:
            self._notes[data["text"]] = None
            return
        self._counts[data["what"]] += 1
        if data["what"] == ASKED:
            self._asked.add(data["key"])
        elif data["what"] == KEPT:
            self._found.append(data["key"])
        if "usage" in data:
            told = ModelUsage(**data["usage"])
            read = read_usage(told.as_report())
            self._reckoning.add(read, told.server)
            self._usage = add_usage(self._usage, read)


def read_log(path: Path, prices: Prices | None = None) -> Consumption:
    """Add up what a log holds."""
    return LogReader(path, prices).read()


# Judgements on disk, one small file for each, so that no question is paid for twice.
#
# A file appears whole or not at all. What cannot be read as the judgement of its own name is as
# good as absent: the question is asked again, and the file replaced. So it is if somebody has
# changed the file, by its checksum, or if its quote stands nowhere in the answer; then it is
# said as well.

SCHEMA: Final = 1
CRC: Final = "crc"
CHANGED: Final = "kept judgements that were changed by hand were not believed, and asked again"
MISQUOTED: Final = (
    "kept judgements that quote what the answer does not say were not believed, and asked again"
)


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
        """Return the judgement of this name; `None` if none is kept, or it cannot be read.

        Args:
            key: its name.
            answer: the text that was judged, in which its quote is looked for again.

        Raises:
            NotJudgedError: what is kept was changed, or quotes what the answer does not say.
        """
        path = self._path(key)
        if not path.is_file():
            # Also if it is a pipe: nobody knows whether that ends.
            return None
        try:
            data = json.loads(path.read_text("ascii"))
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
            file.write(json.dumps(data, indent=1).encode("ascii") + b"\n")

    def _written(self, text: str) -> str:
        return escape_surrogates(self._mask(text))

    def _path(self, key: str) -> Path:
        # Thousands of files in one folder are slow on some disks.
        return self.folder / key[:2] / f"{key}.json"


def _checksum(data: Mapping[str, Any]) -> str:
    """Return the checksum of a judgement, which says what that of a recording says."""
    sealed = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{crc32(sealed.encode('ascii')):08x}"
