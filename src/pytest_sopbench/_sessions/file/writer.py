"""Write a session while it runs, so that whatever kills it leaves what was finished."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.summary_json import summary_to_json, total_to_json
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._sessions.lines.checksum import sealed, seed_of
from pytest_sopbench.errors import SessionFileError

from .header import SessionHeader, header_to_line
from .location import make_folder
from .start import MARK

# Taken at import: an agent may put another function into its place.
_dumps = json.dumps

SYNC_SECONDS = 1.0
"""How much of a session a power failure may take."""

_START = MARK.encode()
_STRING = rb'"(?:[^"\\]|\\.)*"'
# How a record's line begins; reading no more of it makes finishing cheap.
_KEY = re.compile(
    rb'\{"type":"run","domain":(%b),"task":(%b),"trial":(\d+),"agent":(%b)[,}]'
    % (_STRING, _STRING, _STRING)
)


class SessionWriter:
    """Appends lines to a session, and puts them in order at the end.

    Args:
        path: the session's file; one that is there is replaced. The header stands in it before
            the constructor returns.
        header: the first line.
        kept: a second file to which the finished session is copied. It must not exist.
        lines: of runs that were made before; they appear in the file together with its header.
        clock: seconds that only grow.

    Raises:
        SessionFileError: `kept` exists, or one of the two cannot be written. Nothing was
            replaced then.
    """

    def __init__(
        self,
        path: Path,
        header: SessionHeader,
        *,
        kept: Path | None = None,
        lines: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.kept = kept
        self._clock = clock
        self._seed = seed_of(header.identity)
        if kept is not None:
            _refuse_existing(kept)
            _make_folder(kept)
        _make_folder(path)
        with _told(path):
            with _replacing(path) as file:
                for line in sealed_session(header, lines):
                    file.write(line)
            self._file = path.open("a+b")
        self._began = self._synced = clock()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def append(self, line: str) -> None:
        """Add one line of JSON, given without its checksum and its end.

        Raises:
            SessionFileError: the disk did not take it. The file is closed then.
        """
        try:
            # One write for the line and its end: a line without an end is known to be cut.
            write_whole(self._file.fileno(), sealed(line, self._seed) + b"\n")
            if self._clock() - self._synced >= SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = self._clock()
        except OSError:
            # The guards are entered here alone: for each run they cost more than the writing.
            with _told(self.path), self._closed_by_failure():
                raise

    def close(self) -> None:
        """Stop here: the lines stay in the order of arrival, without a summary."""
        if not self._file.closed:
            with _told(self.path):
                os.fsync(self._file.fileno())
                self._file.close()

    def finish(
        self,
        order: Iterable[RunKey],
        summaries: Mapping[str, Summary],
        header: SessionHeader | None = None,
    ) -> None:
        """Rewrite the session in the order of the plan, with the summary as its last line.

        A `header` takes the place of the first line, since more is known at the end.

        The last line of a key wins, and what only says that a run began is dropped. Runs that
        the plan does not name follow in the order of their arrival. A planned run that nobody
        appended is missing: append its `not_run` record before.

        Raises:
            SessionFileError: the disk did not take it; what was appended is still there.
        """
        with _told(self.path), self._closed_by_failure(), _replacing(self.path) as new:
            # Its own descriptor, since another session may have put its file under this name.
            self._file.seek(0)
            lines = _ordered(self._file, order)
            first = next(lines)
            new.write(first if header is None else sealed(header_to_line(header)) + b"\n")
            # One by one: a session may be larger than the memory.
            new.writelines(lines)
            took = self._clock() - self._began
            summary = summary_to_line(summaries, duration=took)
            new.write(sealed(summary, self._seed) + b"\n")
            self._file.close()
        if self.kept is not None:
            with _told(self.kept), _adding(self.kept) as copy, self.path.open("rb") as whole:
                shutil.copyfileobj(whole, copy)

    @contextlib.contextmanager
    def _closed_by_failure(self) -> Generator[None]:
        try:
            yield
        except OSError:
            # Closing writes what is still buffered, which the disk may refuse once more.
            with contextlib.suppress(OSError):
                self._file.close()
            raise


def sealed_session(header: SessionHeader, lines: Iterable[str]) -> Iterator[bytes]:
    """Yield the header and then the lines of a session, each with its checksum and its end."""
    yield sealed(header_to_line(header)) + b"\n"
    seed = seed_of(header.identity)
    for line in lines:
        yield sealed(line, seed) + b"\n"


def _ordered(file: BinaryIO, order: Iterable[RunKey]) -> Iterator[bytes]:
    """Yield the header and then the last line of each key, planned keys first."""
    places: dict[RunKey, int] = {}
    place = 0
    for line in file:
        # The line of a write that the disk cut short has no end, and is nobody's last word.
        if place and line.endswith(b"\n") and not line.startswith(_START):
            places[_key_of(line)] = place
        place += len(line)
    file.seek(0)
    yield file.readline()
    planned = [key for key in dict.fromkeys(order) if key in places]
    for key in dict.fromkeys((*planned, *places)):
        file.seek(places[key])
        yield file.readline()


def _key_of(line: bytes) -> RunKey:
    found = _KEY.match(line)
    if found is not None:
        domain, task, trial, agent = found.groups()
        return RunKey(_repeated(domain), _text(task), int(trial), _repeated(agent))
    data = json.loads(line)
    return RunKey(data["domain"], data["task"], data["trial"], data["agent"])


def write_whole(descriptor: int, data: bytes) -> None:
    """Write past the buffer, which would be flushed at once anyhow.

    Raises:
        OSError: the disk did not take all of it.
    """
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def _text(literal: bytes) -> str:
    """Read a text as JSON writes it; without an escape it stands there as it is."""
    if b"\\" in literal:
        text: str = json.loads(literal)
        return text
    return literal[1:-1].decode("ascii")


@lru_cache
def _repeated(literal: bytes) -> str:
    """Read a text that nearly every line has."""
    return _text(literal)


def summary_to_line(summaries: Mapping[str, Summary], *, duration: float | None = None) -> str:
    """The last line of a session that came to its end, as ASCII JSON without its end.

    `duration` is the time from the first run to the end of the last one in seconds; `None` where
    the session is made of others.
    """
    data = {
        "type": "summary",
        "duration_s": None if duration is None else round(duration, 3),
        "domains": {name: summary_to_json(one) for name, one in summaries.items()},
        "total": total_to_json(total_of(summaries)),
    }
    return _dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _refuse_existing(kept: Path) -> None:
    if kept.exists():
        msg = f"{kept}: a session is kept there already"
        raise SessionFileError(msg, hint="choose another name, or move that file away first")


def _make_folder(path: Path) -> None:
    """Make the folder of a file, and see that it can be written before a model is paid for."""
    with _told(path):
        make_folder(path)
        with _temporary(path).open("wb"):
            pass
        _temporary(path).unlink()


def _temporary(path: Path) -> Path:
    # Of this process alone, in the same folder, so that renaming it is one step.
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


@contextlib.contextmanager
def _replacing(path: Path) -> Generator[BinaryIO]:
    """Write a file aside, and put it into place when it is whole and on the disk."""
    aside = _temporary(path)
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def _adding(path: Path) -> Generator[BinaryIO]:
    """Write a file aside, and put it into a place that is free."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.kept.tmp")
    try:
        with _replacing(aside) as file:
            yield file
        try:
            # Fails where two sessions keep the same name at once, which a look before would miss.
            os.link(aside, path)
        except FileExistsError:
            _refuse_existing(path)
        except OSError:
            # A disk without links.
            _refuse_existing(path)
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        hint = "say with sop_sessions_dir where sessions may be written"
        raise SessionFileError(msg, hint=hint) from fault
