"""What is in a folder of recordings."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants import task_of
from pytest_sopbench._replay.tape.exchange import IGNORED, MASKED
from pytest_sopbench.errors import CassetteError

from .lines import CHANGED, SHARED, VERSION, Seal, TaskPlace, cassettes_under, seal_of
from .store import DAMAGED, Store, credentials_of, read_file

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
    seal: Seal
    keyed_by: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What is told of one cassette."""

    path: Path
    place: TaskPlace
    trials: Mapping[int, TrialSurvey]
    size: int

    @property
    def seals(self) -> Mapping[int, Seal]:
        """What the checksums of its recordings say."""
        return {number: one.seal for number, one in self.trials.items()}


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
            seal = seal_of(told, lines[number + 1 : behind])
            trials[int(told["trial"])] = _trial(told, seal)
            number = behind
        if number != len(lines) or not content.endswith(b"\n"):
            msg = "the file ends before all requests that it announces"
            raise ValueError(msg)  # noqa: TRY301 - as above
        place = TaskPlace(str(head["agent"]), str(head["domain"]), str(head["task"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        msg = f"{path}: cannot be read: {fault}"
        raise CassetteError(msg, hint=DAMAGED) from fault
    return Survey(path=path, place=place, trials=trials, size=len(content))


def _trial(told: Mapping[str, Any], seal: Seal) -> TrialSurvey:
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
        seal=seal,
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
    for path in cassettes_under(root):
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
        if changed and cassette.seals[trial] is not Seal.BROKEN:
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
    for number, trial in one.trials.items():
        if trial.seal is Seal.BROKEN:
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
