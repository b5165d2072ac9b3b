"""Recordings on disk."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EINVAL
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._replay.tape.exchange import Recorded, Recording, Shaping, redaction_of
from pytest_sopbench.errors import CassetteError

from .lines import (
    CHANGED,
    SHARED,
    Cassette,
    Seal,
    TaskPlace,
    cassette_lines,
    cassette_path,
    kept_headers,
    read_lines,
)
from .masking import Found, credentials_in, credentials_in_body, masked_reply

# Files that appear whole or not at all.

_NUMBERS = itertools.count()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it into that in one step.

    Raises:
        OSError: the disk did not take it; what was there is there as before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short, whatever the file is called: the name of a task may be as long as a name can be.
    aside = path.with_name(f".{os.getpid()}.{next(_NUMBERS)}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


# The bytes of a file that may have been put there by anybody.


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read. A pipe or a device is none: nobody knows whether it ends.
    """
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "no regular file")
    return path.read_bytes()


# Texts that many requests repeat, each kept once, under the hash of its content.
#
# The SOP and the tool specs stand in every request of every task. They are written line by line,
# so that a change of the prompt can be read in a diff.

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


# All cassettes of a project: read when their runs begin, replaced when they end.
#
# A cassette is replaced in one rename, so that a session that is killed leaves each one as it was.

ATTRIBUTES: Final = "* -text\n"
"""Of `.gitattributes`: what a hash names must come back from git byte by byte."""

DAMAGED: Final = "take it back from version control, or record it anew with --sop-replay=record"


@dataclass
class Store:
    """The cassettes below one folder.

    Attributes:
        root: the folder.
        shaping: how requests become shapes.
    """

    root: Path
    shaping: Shaping = field(default_factory=Shaping)
    _shared: dict[Path, SharedTexts] = field(default_factory=dict[Path, SharedTexts])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def path(self, place: TaskPlace) -> Path:
        """Return where the cassette of a task lies."""
        return cassette_path(self.root, place)

    def load(self, place: TaskPlace) -> Cassette:
        """Return the recordings of a task, which may be none.

        Raises:
            CassetteError: its file cannot be read, or a recording in it was changed by hand.
        """
        path = self.path(place)
        if not path.exists():
            return Cassette(place=place, trials={})
        found = self.read(path)
        if found.place != place:
            msg = f"{path}: it is of {'/'.join(found.place)}, and not of {'/'.join(place)}"
            raise CassetteError(msg, hint="files of cassettes cannot be renamed; record anew")
        refuse_changed(path, found.seals)
        return found

    def read(self, path: Path) -> Cassette:
        """Read one file; whether its checksums fit stands in what is returned.

        Raises:
            CassetteError: it cannot be read.
        """
        try:
            lines = read_file(path).splitlines()
            return read_lines(lines, self.shaping, self.shared(path.parent).get)
        except (OSError, ValueError, RecursionError) as fault:
            msg = f"{path}: cannot be read: {fault}"
            raise CassetteError(msg, hint=DAMAGED) from fault

    def shared(self, folder: Path) -> SharedTexts:
        """Return the texts that the cassettes of a folder share."""
        with self._lock:
            if folder not in self._shared:
                self._shared[folder] = SharedTexts(folder / SHARED)
            return self._shared[folder]

    def keep(
        self,
        place: TaskPlace,
        trial: int,
        recording: Recording,
        *,
        trials: int,
        texts: Sequence[str] = (),
        sent: frozenset[str] = frozenset(),
    ) -> None:
        """Replace the recording of one trial; those above `trials` go, as they are of before.

        `sent` are the credentials that its requests had. What replies echo of them is masked.

        Raises:
            CassetteError: it holds a credential, or the disk did not take it; the old one stays.
        """
        path = self.path(place)
        recording = masked_recording(recording, self.shaping.mask)
        recording = masked_recording(recording, redaction_of(sent).value if sent else None)
        found = [*dict.fromkeys((*credentials_of(recording), *_echoes(recording, sent)))]
        if found:
            raise CassetteError(_told(found), hint=NAME_IT)
        try:
            with _alone_in(path.parent):
                before = self._before(place)
                others = {n: one for n, one in before.trials.items() if n <= trials}
                recordings = {**others, trial: recording}
                self._write(path, Cassette(place=place, trials=recordings), texts)
        except OSError as fault:
            msg = f"{path}: cannot be written: {fault.strerror or fault}"
            raise CassetteError(msg) from fault

    def _before(self, place: TaskPlace) -> Cassette:
        try:
            return self.load(place)
        except CassetteError:
            # What cannot be read cannot be replayed either.
            return Cassette(place=place, trials={})

    def _write(self, path: Path, cassette: Cassette, texts: Sequence[str]) -> None:
        shared = self.shared(path.parent)
        names: list[str] = []

        def put(value: JsonValue) -> str:
            names.append(shared.put(value))
            return names[-1]

        lines = [*cassette_lines(cassette, self.shaping, put, texts)]
        # Before what names them, so that a kill in between leaves nothing that lacks a text.
        shared.write(names)
        attributes = self.root / ".gitattributes"
        if not attributes.exists():
            write_whole(attributes, ATTRIBUTES.encode())
        write_whole(path, "".join(f"{line}\n" for line in lines).encode("ascii"))


def refuse_changed(path: Path, seals: Mapping[int, Seal]) -> None:
    """Refuse a cassette with a recording whose checksum does not fit.

    Raises:
        CassetteError: there is one.
    """
    for trial, seal in seals.items():
        if seal is Seal.BROKEN:
            msg = f"{path}: trial {trial}: {CHANGED}"
            raise CassetteError(msg, hint=DAMAGED)


NAME_IT: Final = "name it in sop_redact, so that it is masked, and record anew"


def _told(found: Sequence[Found]) -> str:
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"not recorded: {first.where} holds what looks like a {first.form}{more}"


def masked_recording(
    recording: Recording, mask: Callable[[JsonValue], JsonValue] | None
) -> Recording:
    """Return a recording whose replies are masked, as its requests are already."""
    if mask is None:
        return recording
    exchanges = tuple(
        Recorded(key=one.key, shape=one.shape, response=masked_reply(one.response, mask))
        for one in recording.exchanges
    )
    return Recording(exchanges=exchanges, recorded=recording.recorded, usage=recording.usage)


def _echoes(recording: Recording, sent: frozenset[str]) -> Iterator[Found]:
    """Yield the requests that say to the model what they send as a credential.

    There it cannot be masked: a request counts as it was sent.
    """
    redaction = redaction_of(sent)
    for number, one in enumerate(recording.exchanges if sent else (), start=1):
        said: dict[str, JsonValue] = {"path": one.shape.path, "query": dict(one.shape.query)}
        for part, value in {**said, "body": one.shape.body}.items():
            if redaction.value(value) != value:
                yield Found(f"request {number}: {part}", "key that a header or a query sends")


def credentials_of(recording: Recording) -> Iterator[Found]:
    """Yield the known forms of credentials in what would be written."""
    for number, one in enumerate(recording.exchanges, start=1):
        request = f"request {number}"
        shape = one.shape
        yield from credentials_in(shape.path, f"{request}: path")
        yield from credentials_in(dict(shape.query), f"{request}: query")
        yield from credentials_in(shape.body, f"{request}: body")
        headers = dict(kept_headers(one.response.headers))
        yield from credentials_in(headers, f"reply {number}: headers")
        yield from credentials_in_body(one.response.body, f"reply {number}: body")


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Let no other process or thread replace a cassette of a folder: trials share a file."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        # Where folders cannot be locked, workers get the trials of a task one after the other.
        yield
        return
    # The folder itself, so that no file is left behind.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
