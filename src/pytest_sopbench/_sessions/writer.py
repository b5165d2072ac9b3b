"""Write a session while it runs, so that whatever kills it leaves what was finished."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import summary_to_json, totals_to_json
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import CallRecord, RunRecord, to_line
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.atomic import add_file, replace_file, try_making
from pytest_sopbench._sessions.event_logs import traces_folder
from pytest_sopbench._sessions.header import SCHEMA, SessionHeader, header_to_line
from pytest_sopbench._sessions.lines import sealed, seed_of
from pytest_sopbench.errors import SessionFileError

from .atomic import SOP_DIR, refused_as

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
            with _free(kept):
                if kept.exists():
                    raise FileExistsError(kept)
            _make_folder(kept)
        _make_folder(path)
        self._first = sealed(header_to_line(header)) + b"\n"
        self._count = -1
        with refused_as(SessionFileError, path, SOP_DIR):
            with replace_file(path, is_durable=True) as file:
                for line in sealed_session(header, lines):
                    file.write(line)
                    self._count += 1
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
            self._count += 1
            if self._clock() - self._synced >= SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = self._clock()
        except OSError:
            # The guards are entered here alone: for each run they cost more than the writing.
            with refused_as(SessionFileError, self.path, SOP_DIR), self._closed_by_failure():
                raise

    def close(self) -> None:
        """Stop here: the lines stay in the order of arrival, without a summary."""
        if not self._file.closed:
            with refused_as(SessionFileError, self.path, SOP_DIR):
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
            refused_as(SessionFileError, self.path, SOP_DIR),
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
                refused_as(SessionFileError, self.kept, SOP_DIR),
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
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def summary_to_line(summaries: Mapping[str, Summary], *, duration: float | None = None) -> str:
    """The last line of a session that came to its end, as ASCII JSON without its end.

    `duration` is the time from the first run to the end of the last one in seconds; `None` if
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


def _make_folder(path: Path) -> None:
    """Make the folder of a file, and see that it can be written before a model is paid for."""
    with refused_as(SessionFileError, path, SOP_DIR):
        make_folder(path)
        try_making(path)


# Write a session that was made of others, whole and in one step.


def store_session(
    path: Path,
    header: SessionHeader,
    records: Iterable[RunRecord],
    summaries: Mapping[str, Summary],
    *,
    logs: Iterable[Path] = (),
) -> None:
    """Write a session under a name that is free, and the event logs of others beside it.

    Args:
        path: the file.
        header: its first line.
        records: its runs, in order.
        summaries: what they came to.
        logs: sessions whose event logs are taken over; one without any is passed over.

    Raises:
        SessionFileError: the file, or its folder of event logs, exists; or the disk did not take
            them.
    """
    for one in (path, traces_folder(path)):
        if one.exists():
            msg = f"{one}: is there already"
            raise SessionFileError(msg, hint="choose another name, or move it away first")
    lines = chain(map(to_line, records), map(summary_to_line, (summaries,)))
    write_lines(path, sealed_session(header, lines))
    with refused_as(SessionFileError, traces_folder(path)):
        for session in logs:
            if traces_folder(session).is_dir():
                shutil.copytree(traces_folder(session), traces_folder(path), dirs_exist_ok=True)


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write the lines of a file aside and rename it, so that nobody ever reads half of it.

    The lines have their ends.

    Raises:
        SessionFileError: the disk did not take it.
    """
    with refused_as(SessionFileError, path), replace_file(path) as file:
        file.writelines(lines)


# A slim baseline: a session with nothing but what a comparison needs, to be committed.
#
# Of each run it holds the task, the trial, the agent, the hash of the task, the outcome and the
# names of the tools that were called; no answer, no text, no argument, no result.

TYPE: Final = "slim"
"""The type of a slim line."""


def slim_header(header: SessionHeader, *, reason: str) -> SessionHeader:
    """Return the header of the baseline that a session becomes, with why it was accepted."""
    return replace(
        # Without an identity: a diff of two baselines shows what changed, and no checksums beside.
        header,
        schema=SCHEMA,
        identity="",
        options=replace(header.options, slim=True, reason=reason),
        domains={
            name: replace(one, planned=tuple(sorted(one.planned)))
            for name, one in header.domains.items()
        },
    )


def slimmed(record: RunRecord) -> RunRecord:
    """Return a record with what a slim line holds of it, and nothing else."""
    return RunRecord(
        domain=record.domain,
        task=record.task,
        trial=record.trial,
        agent=record.agent,
        task_hash=record.task_hash,
        outcome=record.outcome,
        calls=tuple(CallRecord(name=call.name, arguments=None) for call in record.calls),
    )


def slim_to_line(record: RunRecord) -> str:
    """One line of ASCII JSON without its end."""
    data = {
        "type": TYPE,
        **record.key._asdict(),
        "task_hash": record.task_hash,
        "outcome": record.outcome.value,
        "calls": [call.name for call in record.calls],
    }
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


def slim_from_json(data: Mapping[str, Any]) -> RunRecord:
    """Return what a slim line holds of a run; what it does not hold is empty."""
    return RunRecord(
        domain=data["domain"],
        task=data["task"],
        trial=data["trial"],
        agent=data["agent"],
        task_hash=data["task_hash"],
        outcome=Outcome(data["outcome"]),
        calls=tuple(CallRecord(name=name, arguments=None) for name in data["calls"]),
    )


# What a path must stand for to be read: a pipe hangs its reader, and a device never ends.


def require_plain_file(path: Path) -> None:
    """Refuse what is no file on a disk; a folder is left to whoever opens it.

    Raises:
        OSError: it is a pipe, a socket or a device, or there is nothing.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and no file")


# The lines of a session, found again if it is put in order at the end.

# The line that says that a run was begun: what is left of it when its process dies.

MARK: Final = '{"type":"start",'
"""How the line begins; a finished session has none."""


def start_to_line(key: RunKey) -> str:
    """One line of ASCII JSON without its end."""
    return json.dumps({"type": "start", **key._asdict()}, separators=(",", ":"))


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
