"""Write a session while it runs, so that whatever kills it leaves what was finished."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.summary_json import summary_to_json, totals_to_json
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._sessions.header.header import SessionHeader, header_to_line
from pytest_sopbench._sessions.lines.checksum import seal_of, sealed, seed_of
from pytest_sopbench.errors import SessionFileError

from .atomic import add_file, replace_file, try_making
from .line_places import ordered, places_of
from .location import make_folder

# Taken at import: an agent may put others into their place, also into those that JSON calls.
_write = os.write
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

SYNC_SECONDS = 1.0
"""How much of a session a power failure may take."""


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
        self._first = sealed(header_to_line(header)) + b"\n"
        self._count = -1
        with _told(path):
            with replace_file(path, is_durable=True) as file:
                for line in sealed_session(header, lines):
                    file.write(line)
                    self._count += 1
            self._file = path.open("a+b")
        self._began = self._synced = clock()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def append(self, line: str) -> bytes:
        """Add one line of JSON, given without its checksum and its end; return its checksum.

        Raises:
            SessionFileError: the disk did not take it. The file is closed then.
        """
        try:
            # One write for the line and its end: a line without an end is known to be cut.
            whole = sealed(line, self._seed)
            write_whole(self._file.fileno(), whole + b"\n")
            self._count += 1
            if self._clock() - self._synced >= SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = self._clock()
        except OSError:
            # The guards are entered here alone: for each run they cost more than the writing.
            with _told(self.path), self._closed_by_failure():
                raise
        return seal_of(whole)

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
            SessionFileError: the disk did not take it; what was appended is still there. Or
                something else has written into the file, which is left as it is.
        """
        with (
            _told(self.path),
            self._closed_by_failure(),
            replace_file(self.path, is_durable=True) as new,
        ):
            # Its own descriptor, since another session may have put its file under this name.
            places = places_of(self._file, self._first, self._count)
            first = self._first if header is None else sealed(header_to_line(header)) + b"\n"
            new.write(first)
            # One by one: a session may be larger than the memory.
            new.writelines(ordered(self._file, places, order))
            took = self._clock() - self._began
            summary = summary_to_line(summaries, duration=took)
            new.write(sealed(summary, self._seed) + b"\n")
            self._file.close()
        if self.kept is not None:
            with (
                _told(self.kept),
                _free(self.kept),
                self.path.open("rb") as whole,
                add_file(self.kept) as copy,
            ):
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


def write_whole(descriptor: int, data: bytes) -> None:
    """Write past the buffer, which would be flushed at once anyhow.

    Raises:
        OSError: the disk did not take all of it.
    """
    written = _write(descriptor, data)
    while written < len(data):
        written += _write(descriptor, data[written:])


def summary_to_line(summaries: Mapping[str, Summary], *, duration: float | None = None) -> str:
    """The last line of a session that came to its end, as ASCII JSON without its end.

    `duration` is the time from the first run to the end of the last one in seconds; `None` where
    the session is made of others.
    """
    data = {
        "type": "summary",
        "duration_s": None if duration is None else round(duration, 3),
        "domains": {name: summary_to_json(one) for name, one in summaries.items()},
        **totals_to_json(summaries),
    }
    return _encode(data)


@contextlib.contextmanager
def _free(kept: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:
        msg = f"{kept}: a session is kept there already"
        hint = "choose another name, or move that file away first"
        raise SessionFileError(msg, hint=hint) from None


def _refuse_existing(kept: Path) -> None:
    with _free(kept):
        if kept.exists():
            raise FileExistsError(kept)


def _make_folder(path: Path) -> None:
    """Make the folder of a file, and see that it can be written before a model is paid for."""
    with _told(path):
        make_folder(path)
        try_making(path)


@contextlib.contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        hint = "say with sop_sessions_dir where sessions may be written"
        raise SessionFileError(msg, hint=hint) from fault
