"""What the judge was asked and what that consumed, apart from the runs of the agent.

Each process appends a line for each question, at once, to one file of the session: so nothing is
lost with a worker that dies, and nothing has to travel between processes.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from pytest_sopbench._core.model.prices import Prices, Reckoning
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.model.usage import add_usage, read_usage, usage_to_json
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.file.location import make_folder
from pytest_sopbench.agents.conversation import ModelUsage

KEPT: Final = "kept"
ASKED: Final = "asked"
FAILED: Final = "failed"
NOTE: Final = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """What judging came to.

    Attributes:
        asked: questions that the model was asked.
        failed: those of them that gave no judgement.
        kept: questions whose judgement was there already.
        usage: tokens and cost; the cost is unknown as soon as that of one reply is.
        notes: what readers should know of how it was asked, each once.
    """

    asked: int = 0
    failed: int = 0
    kept: int = 0
    usage: Usage = UNKNOWN_USAGE
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        return self.asked + self.kept


class ConsumptionLog:
    """Appends what one process asks; several may share a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()

    def add(self, what: str, usage: ModelUsage | None = None) -> None:
        """Append a line; a disk that does not take it costs a number, and no judgement."""
        self._write({"what": what, **({"usage": asdict(usage)} if usage is not None else {})})

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


def read_log(path: Path, prices: Prices | None = None) -> Consumption:
    """Add up what a log holds; a line that is torn is passed over."""
    counts = {KEPT: 0, ASKED: 0, FAILED: 0}
    usage, reckoning = UNKNOWN_USAGE, Reckoning(prices)
    notes: dict[str, None] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return Consumption()
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            data = json.loads(line)
            if data["what"] == NOTE:
                notes[data["text"]] = None
                continue
            counts[data["what"]] += 1
            if "usage" in data:
                told = ModelUsage(**data["usage"])
                read = read_usage(told.as_report())
                reckoning.add(read, told.server)
                usage = add_usage(usage, read)
    return Consumption(
        asked=counts[ASKED] + counts[FAILED],
        failed=counts[FAILED],
        kept=counts[KEPT],
        usage=reckoning.priced(usage),
        notes=tuple(notes),
    )


def consumption_to_json(one: Consumption) -> dict[str, JsonValue]:
    """Return it for a program; unknown counts are `null`."""
    return {
        ASKED: one.asked,
        FAILED: one.failed,
        KEPT: one.kept,
        "usage": usage_to_json(one.usage),
    }


def log_path(judgements: Path, session: str) -> Path:
    """Return where a session counts what its judge is asked, beside the judgements."""
    return judgements / "asked" / f"{session}.jsonl"
