"""The folder of recordings: texts that requests share, one cassette for each task, and a survey.

A cassette is read when the runs of its task begin, and replaced when they end. `survey` looks at
one without its exchanges, `faults_of` and `unused` at all of them.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from errno import EINVAL
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants import task_of
from pytest_sopbench._replay.cassette_lines import (
    CHANGED,
    SHARED,
    SUFFIX,
    VERSION,
    Cassette,
    TaskPlace,
    cassette_lines,
    cassette_path,
    is_sealed,
    read_lines,
)
from pytest_sopbench._replay.exchange import (
    IGNORED,
    MASKED,
    Recording,
    Shaping,
    redaction_of,
)
from pytest_sopbench._replay.masking import Found, credentials_of, echoes, masked_recording
from pytest_sopbench.errors import CassetteError

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
        found = [*dict.fromkeys((*credentials_of(recording), *echoes(recording, sent)))]
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


def refuse_changed(path: Path, seals: Mapping[int, bool]) -> None:
    """Refuse a cassette with a recording whose checksum does not fit.

    Raises:
        CassetteError: there is one.
    """
    for trial, fits in seals.items():
        if not fits:
            msg = f"{path}: trial {trial}: {CHANGED}"
            raise CassetteError(msg, hint=DAMAGED)


NAME_IT: Final = "name it in sop_redact, so that it is masked, and record anew"


def _told(found: Sequence[Found]) -> str:
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"not recorded: {first.where} holds what looks like a {first.form}{more}"


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Let no other process or thread replace a cassette of a folder: trials share a file."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        # If folders cannot be locked, workers get the trials of a task one after the other.
        yield
        return
    # The folder itself, so that no file is left behind.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# What lies on disk, told by the lines about trials; exchanges are not read, but checksummed.


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSurvey:
    """What is told of one recording; `tokens` is `None` if the run told none.

    `keyed_by` is what its keys depend on beside its requests: see `Shaping.keyed_by`.
    """

    recorded: datetime
    requests: int
    models: tuple[str, ...]
    tokens: int | None = None
    cost_usd: float | None = None
    is_sealed: bool
    keyed_by: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What is told of one cassette."""

    path: Path
    place: TaskPlace
    trials: Mapping[int, TrialSurvey]
    size: int

    @property
    def seals(self) -> Mapping[int, bool]:
        """Whether the checksums of its recordings fit."""
        return {number: one.is_sealed for number, one in self.trials.items()}


def survey(path: Path) -> Survey:
    """Look at a cassette.

    Raises:
        CassetteError: it cannot be read, or is not whole.
    """
    try:
        content = read_file(path)
        lines = content.splitlines()
        head: dict[str, Any] = json.loads(lines[0]) if lines else {}
        if head.get("cassette") != VERSION:
            msg = f"not a cassette of version {VERSION}"
            raise ValueError(msg)  # noqa: TRY301 - the path is added below
        trials: dict[int, TrialSurvey] = {}
        number = 1
        while number < len(lines):
            told: dict[str, Any] = json.loads(lines[number])
            behind = number + 1 + max(0, int(told["requests"]))
            trials[int(told["trial"])] = _trial(told, lines[number + 1 : behind])
            number = behind
        if number != len(lines):
            msg = "the file ends before all requests that it announces"
            raise ValueError(msg)  # noqa: TRY301 - as above
        place = TaskPlace(str(head["agent"]), str(head["domain"]), str(head["task"]))
    except KeyError as fault:
        msg = f"{path}: cannot be read: key {fault} is missing where a trial should begin"
        raise CassetteError(msg, hint=DAMAGED) from fault
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as fault:
        msg = f"{path}: cannot be read: {fault}"
        raise CassetteError(msg, hint=DAMAGED) from fault
    return Survey(path=path, place=place, trials=trials, size=len(content))


def _trial(told: Mapping[str, Any], lines: Sequence[bytes]) -> TrialSurvey:
    usage: Mapping[str, Any] = told.get("usage", {})
    tokens = [usage[name] for name in ("input_tokens", "output_tokens") if name in usage]
    recorded = datetime.fromisoformat(told["recorded"])
    if recorded.tzinfo is None:
        msg = f"recorded {told['recorded']}: a time of no zone"
        raise ValueError(msg)
    return TrialSurvey(
        recorded=recorded,
        requests=int(told["requests"]),
        models=tuple(map(str, told["models"])),
        tokens=sum(tokens) if tokens else None,
        cost_usd=usage.get("cost_usd"),
        is_sealed=is_sealed(told, lines),
        keyed_by={name: told[name] for name in (IGNORED, MASKED) if name in told},
    )


# What is wrong with the cassettes on disk, and which of their files nothing uses.

TasksOf: TypeAlias = "Mapping[str, Collection[str]]"
"""The tasks of each domain that is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What lies there: cassettes that can be read, and what is wrong, file by file."""

    surveys: tuple[Survey, ...]
    problems: tuple[str, ...]


def inspect(root: Path) -> Inspection:
    """Look at every cassette, without its exchanges."""
    surveys: list[Survey] = []
    problems: list[str] = []
    for path in sorted(root.glob(f"*/*/*{SUFFIX}")):
        try:
            surveys.append(survey(path))
        except CassetteError as error:
            problems.append(error.message)
    return Inspection(surveys=tuple(surveys), problems=tuple(problems))


def faults_of(root: Path, found: Inspection, tasks: TasksOf) -> Iterator[str]:
    """Yield what is wrong: unreadable, changed, of no task, with a credential, missing."""
    yield from found.problems
    store = Store(root)
    for one in found.surveys:
        yield from _faults(store, one, tasks)
    yield from _missing(found, tasks)


def _faults(store: Store, one: Survey, tasks: TasksOf) -> Iterator[str]:
    if store.path(one.place) != one.path:
        yield f"{one.path}: it is of {'/'.join(one.place)}, and lies in the place of another"
        return
    if _is_gone(one, tasks):
        yield f"{one.path}: the domain has no task {one.place.task!r}; sopbench cassettes prune"
    yield from _faults_of_trials(one)
    try:
        cassette = store.read(one.path)
    except CassetteError as error:
        yield error.message
        return
    for trial, recording in cassette.trials.items():
        changed = [
            number
            for number, exchange in enumerate(recording.exchanges, start=1)
            if exchange.key != exchange.shape.key
        ]
        # A checksum that does not fit says the same of the whole recording.
        if changed and cassette.seals[trial]:
            yield f"{one.path}: trial {trial}, request {changed[0]}: changed since it was recorded"
        for credential in dict.fromkeys(credentials_of(recording)):
            where = f"{one.path}: trial {trial}, {credential.where}"
            yield f"{where}: what looks like a {credential.form}"


def _is_gone(one: Survey, tasks: TasksOf) -> bool:
    """Tell whether a domain that is found has the task no more, nor the task of the variant."""
    known = tasks.get(one.place.domain)
    return (
        known is not None and one.place.task not in known and task_of(one.place.task) not in known
    )


def _faults_of_trials(one: Survey) -> Iterator[str]:
    if not one.trials:
        yield f"{one.path}: no recording in it: {DAMAGED}"
    for number, trial in one.trials.items():
        if not trial.is_sealed:
            yield f"{one.path}: trial {number}: {CHANGED}: {DAMAGED}"
        if not trial.requests:
            yield f"{one.path}: trial {number}: no request in it, so that a replay proves nothing"


def _missing(found: Inspection, tasks: TasksOf) -> Iterator[str]:
    there: dict[tuple[str, str], set[str]] = {}
    for one in found.surveys:
        there.setdefault((one.place.agent, one.place.domain), set()).add(one.place.task)
    for (agent, domain), recorded in there.items():
        lacking = [task for task in tasks.get(domain, ()) if task not in recorded]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            yield f"{agent}, {domain}: no recording of {lacking[0]}{more}"


def unused(root: Path, tasks: TasksOf) -> Iterator[Path]:
    """Yield the files that no task uses: of tasks that are gone, and shared texts of no cassette.

    What belongs to a domain that is not found is left alone, and so is what cannot be read, with
    the texts beside it.
    """
    found = inspect(root)
    gone = {one.path for one in found.surveys if _is_gone(one, tasks)}
    yield from sorted(gone)
    for folder in sorted(root.glob(f"*/*/{SHARED}")):
        named = _named_in(folder.parent, gone)
        if named is not None:
            yield from (path for path in sorted(folder.glob("*.json")) if path.stem not in named)


def _named_in(folder: Path, gone: Collection[Path]) -> set[str] | None:
    """Return the texts that cassettes of a folder name; `None` if one cannot be read."""
    named: set[str] = set()
    for path in folder.glob("*.jsonl"):
        if path in gone:
            continue
        try:
            for line in read_file(path).splitlines():
                _collect(json.loads(line), named)
        except (OSError, ValueError, RecursionError):
            return None
    return named


def _collect(value: JsonValue, named: set[str]) -> None:
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key == "$shared" and isinstance(one, str):
                named.add(one)
            else:
                _collect(one, named)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            _collect(one, named)
