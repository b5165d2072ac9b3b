"""What is wrong with the cassettes on disk, and which of their files nothing uses."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.variants.variant import task_of
from pytest_sopbench._replay.cassettes.lines.seals import CHANGED, Seal
from pytest_sopbench.errors import CassetteError

from .places import SHARED, cassettes_under
from .reading import read_file
from .store import DAMAGED, Store, credentials_of
from .survey import Survey, survey

TasksOf: TypeAlias = "Mapping[str, Collection[str]]"
"""The tasks of each domain that is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What lies there: cassettes that can be read, and what is wrong, file by file."""

    surveys: tuple[Survey, ...]
    problems: tuple[str, ...]

    @property
    def unsealed(self) -> int:
        """How many cassettes have a recording without a checksum: earlier versions wrote none."""
        return sum(Seal.NONE in one.seals.values() for one in self.surveys)


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
    """Return the texts that cassettes of a folder name; `None` where one cannot be read."""
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
