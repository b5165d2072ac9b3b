"""What stands below the header of a saved session, taken line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.summary_json import summary_from_json
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.lines.run_line import record_from_json
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._sessions.file.line_places import run_key
from pytest_sopbench._sessions.file.slim import TYPE as SLIM
from pytest_sopbench._sessions.file.slim import slim_from_json
from pytest_sopbench._sessions.file.start import start_from_json
from pytest_sopbench._sessions.lines.checksum import is_intact, is_sealed, seal_of
from pytest_sopbench._sessions.lines.parsing import read_json

if TYPE_CHECKING:
    from pytest_sopbench._sessions.lines.damage import DamagedLine

Parse: TypeAlias = Callable[[dict[str, Any]], RunRecord]
"""Reads what stands in a run's line besides its type and its checksum."""

parse_run: Parse = record_from_json


class KnownRun(NamedTuple):
    """A run that the reader has in memory, since it wrote the line; `seal` is its checksum."""

    seal: bytes
    record: RunRecord


NOTHING_KNOWN: Final[Mapping[RunKey, KnownRun]] = MappingProxyType({})

_STRING: Final = rb'"((?:[^"\\]|\\.)*)"'
_RUN: Final = re.compile(
    rb'"domain":%b,"task":%b,"trial":(\d+),"agent":%b' % (_STRING, _STRING, _STRING)
)


class Content:
    """Lines that were read so far.

    `records` hold each key once, its last line. `begun` are runs of which a start was written.
    `stored` is what the last line counts, `finished` whether it is there and nothing of the session
    behind it. `differing` are runs with two lines that say different things. `cut` is the number of
    a last line that has no end, or 0.

    Args:
        seed: of the checksums; `None` where lines have none.
        parse: reads the line of a run.
        known: runs whose lines need not be parsed where they are still what was written.
    """

    def __init__(
        self,
        seed: int | None,
        parse: Parse = parse_run,
        known: Mapping[RunKey, KnownRun] = NOTHING_KNOWN,
    ) -> None:
        from pytest_sopbench._sessions.lines.skimming import Skimmer  # noqa: PLC0415 - only where a session is read

        self._seed = seed
        self._parse = parse
        self._known = known
        self._glance = parse.glance if isinstance(parse, Skimmer) else _never
        self.records: dict[RunKey, RunRecord] = {}
        self.begun: dict[RunKey, None] = {}
        self.stored: Mapping[str, Summary] | None = None
        self.finished = False
        self.damaged: list[DamagedLine] = []
        self.differing: dict[RunKey, None] = {}
        self.cut = 0

    def take(self, number: int, line: bytes) -> None:
        """Take one line with its end, where it has one."""
        bare = line.rstrip(b"\r\n")
        fault = self._fault(bare)
        if not fault:
            run = self._glance(bare)
            if run is not None:
                self._add_run(run)
                return
            try:
                if (record := self._known_run(bare)) is not None:
                    self._add_run(record)
                else:
                    self._add(read_json(bare))
            except (ValueError, RecursionError) as broken:
                # A header that stands in the middle, and whatever else no session has there.
                fault = str(broken) or type(broken).__name__
        # A power failure may leave a block of zeros where the last line should be.
        if not fault or not bare.strip(b"\0 \t"):
            return
        if not line.endswith(b"\n"):
            self.cut = number
        else:
            from pytest_sopbench._sessions.lines.damage import DamagedLine  # noqa: PLC0415 - only where a session is read

            self.damaged.append(DamagedLine(number=number, why=fault, run=_run_in(bare)))

    def _known_run(self, line: bytes) -> RunRecord | None:
        """Return the run of an intact line that is known; of another line of it, nothing."""
        key = run_key(line) if self._known else None
        known = self._known.get(key) if key is not None else None
        return known.record if known is not None and known.seal == seal_of(line) else None

    def _fault(self, line: bytes) -> str:
        from pytest_sopbench._sessions.lines.damage import CHANGED, UNSEALED  # noqa: PLC0415 - only where a session is read

        if self._seed is None:
            # Written when lines had no checksums, and no line has one by chance.
            return "it is of another session" if is_sealed(line) else ""
        if is_intact(line, self._seed):
            return ""
        return CHANGED if is_sealed(line) else UNSEALED

    def _add(self, data: object) -> None:
        from pytest_sopbench._sessions.lines.shapes import check_shape  # noqa: PLC0415 - only where a session is read

        entry = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        kind = entry.pop("type", None)
        entry.pop("crc", None)
        check_shape(kind, entry)
        if kind == "run":
            self._add_run(self._parse(entry))
        elif kind == SLIM:
            self._add_run(slim_from_json(entry))
        elif kind == "start":
            self.begun[start_from_json(entry)] = None
        elif kind == "summary" and isinstance(entry.get("domains"), dict):
            self.stored = {name: summary_from_json(one) for name, one in entry["domains"].items()}
            self.finished = True
        else:
            msg = "neither a run nor a summary"
            raise ValueError(msg)

    def _add_run(self, record: RunRecord) -> None:
        key = record.key
        before = self.records.setdefault(key, record)
        if before is not record:
            if before != record:
                self.differing[key] = None
            self.records[key] = record
        # A summary counts what stands above it, and nothing that was appended after it.
        self.finished = False


def _never(_: bytes) -> RunRecord | None:
    return None


def _run_in(line: bytes) -> RunKey | None:
    """Return of which run a damaged line seems to have been."""
    found = _RUN.search(line[:2_000])
    if found is None:
        return None
    domain, task, trial, agent = found.groups()
    return RunKey(_text(domain), _text(task), int(trial[:9]), _text(agent))


def _text(literal: bytes) -> str:
    try:
        text: str = json.loads(b'"%b"' % literal)
    except ValueError:
        return literal.decode("ascii", "backslashreplace")
    return text
