"""Put the shards of a session together again: the whole, or an error that says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_sopbench._core.metrics import EMPTY, Summary
from pytest_sopbench._core.models import JsonValue
from pytest_sopbench._core.records import RunKey, RunRecord
from pytest_sopbench.errors import SessionFileError

from .header import DomainHeader, SessionHeader, planned_trials
from .reader import SavedSession
from .resuming import PAST
from .whole import SHARD, Shard, selection_of, shard_of, summarized

_SHOWN: Final = 3
_CONTENT: Final = ("sop", "specs", "tools", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The whole that shards make."""

    header: SessionHeader
    records: tuple[RunRecord, ...]
    summaries: Mapping[str, Summary]


def merge_shards(
    shards: Sequence[SavedSession], *, order: Mapping[str, Sequence[str]] | None = None
) -> Merged:
    """Put shards together, whichever way they are ordered.

    Args:
        shards: all parts of one session, each of which came to its end.
        order: the ids of the tasks of a domain in the order of its rows, where that is known;
            else the tasks of the first shard come first.

    Raises:
        SessionFileError: one is no shard, was cut short, is there twice, or is missing; a run is
            in two of them; or they differ in what was run, of whom, or how it was judged.
    """
    parts = _parts(shards)
    first = parts[0]
    for other in parts[1:]:
        difference = next(_differences(first, other), "")
        if difference:
            msg = f"{first.path} and {other.path} are no parts of one session: {difference}"
            raise SessionFileError(msg)
    return Merged(
        header=_header(parts, order or {}),
        records=_records(parts, order or {}),
        summaries=_summaries(parts),
    )


def _parts(shards: Sequence[SavedSession]) -> Sequence[SavedSession]:
    """Return the shards by their number: all of them, each once, each whole."""
    places: dict[int, SavedSession] = {}
    counts: dict[int, Path] = {}
    for one in shards:
        shard = _shard(one)
        counts.setdefault(shard.count, one.path)
        if shard.number in places:
            msg = f"{places[shard.number].path} and {one.path} are both shard {shard}"
            raise SessionFileError(msg, hint="name each shard once")
        places[shard.number] = one
    if len(counts) > 1:
        said = ", ".join(f"{path} is one of {count}" for count, path in counts.items())
        msg = f"these are no parts of one session: {said}"
        raise SessionFileError(msg)
    count = next(iter(counts), 0)
    missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in places]
    if missing or not places:
        msg = f"shards are missing: {', '.join(missing) or 'none was named'}"
        raise SessionFileError(msg, hint="a session is whole with all of its shards, or not at all")
    return [places[number] for number in sorted(places)]


def _shard(saved: SavedSession) -> Shard:
    shard = shard_of(saved)
    if shard is None:
        msg = f"{saved.path}: not a shard: it was made without --sop-shard"
        raise SessionFileError(msg, hint="merge puts the shards of one session together")
    seen = {(record.domain, record.task, record.trial) for record in saved.records}
    left = [
        _name(RunKey(name, task, trial))
        for name, domain in saved.header.domains.items()
        for task, trial in sorted(domain.runs)
        if (name, task, trial) not in seen
    ]
    if saved.summaries is None or left or saved.unfinished:
        lost = f": {_some(left)} did not come to an end" if left else ""
        msg = f"{saved.path}: shard {shard} was cut short{lost}"
        raise SessionFileError(msg, hint="run that shard again")
    return shard


def _differences(one: SavedSession, other: SavedSession) -> Iterator[str]:
    """Say in what two shards differ that one session cannot differ in."""
    a, b = one.header, other.header
    for what, mine, its in (
        ("agent", a.agent, b.agent),
        ("agent arguments", dict(a.agent_args), dict(b.agent_args)),
        ("commit", a.git and a.git.commit, b.git and b.git.commit),
        ("version of pytest-sopbench", a.plugin, b.plugin),
        ("options", _without_past(one), _without_past(other)),
    ):
        if mine != its:
            yield f"{what} {mine!r} and {its!r}"
    for name in sorted(a.domains.keys() & b.domains.keys()):
        yield from _domain_differences(name, a.domains[name], b.domains[name])
    # The judging hash is of all domains together, so it says nothing of a shard without one.
    if a.domains.keys() == b.domains.keys() and a.judging != b.judging:
        yield "answers are judged by other rules"
    keys = {record.key for record in one.records}
    twice = [_name(record.key) for record in other.records if record.key in keys]
    if twice:
        yield f"both have the run of {_some(twice)}"


def _domain_differences(name: str, one: DomainHeader, other: DomainHeader) -> Iterator[str]:
    for part in _CONTENT:
        if getattr(one, part) != getattr(other, part):
            yield f"the {part} of domain {name} has another content"
    if one.judging != other.judging:
        yield f"answers of domain {name} are judged by other rules"


def _options(saved: SavedSession) -> Mapping[str, JsonValue]:
    return {**saved.header.options, "selection": _selection(saved)}


def _without_past(saved: SavedSession) -> Mapping[str, JsonValue]:
    """Leave out which sessions a shard was resumed from: another may have run through."""
    return {name: one for name, one in _options(saved).items() if name not in PAST}


def _past(parts: Sequence[SavedSession]) -> Mapping[str, JsonValue]:
    """Return all that the shards go back to, and what differed there."""
    past: dict[str, list[JsonValue]] = {}
    for saved in parts:
        for name in PAST:
            before = saved.header.options.get(name)
            past.setdefault(name, []).extend(before if isinstance(before, list) else ())
    return {name: every for name, every in past.items() if every}


def _selection(saved: SavedSession) -> list[str]:
    return [option for option in selection_of(saved) if not option.startswith(SHARD)]


def _header(parts: Sequence[SavedSession], order: Mapping[str, Sequence[str]]) -> SessionHeader:
    domains: dict[str, DomainHeader] = {}
    for one in parts:
        for name, domain in one.header.domains.items():
            before = domains.get(name, replace(domain, planned=()))
            planned = _ordered([*before.planned, *domain.planned], order.get(name, ()))
            trials = {one: before.trials_of(one) for one in before.planned}
            trials |= {one: domain.trials_of(one) for one in domain.planned}
            most, some = planned_trials(trials)
            domains[name] = replace(before, planned=tuple(planned), trials=most, some_trials=some)
    widest = max(parts, key=lambda one: len(one.header.domains))
    if widest.header.domains.keys() != domains.keys():
        msg = "no shard has runs of every domain, so it is not known how all of them are judged"
        raise SessionFileError(msg, hint="give each domain a session of its own, or fewer shards")
    git = widest.header.git
    if git is not None:
        git = replace(git, dirty=any(one.header.git and one.header.git.dirty for one in parts))
    return replace(
        widest.header,
        identity="",
        started=min(one.header.started for one in parts),
        options={**_options(widest), **_past(parts)},
        git=git,
        domains={name: domains[name] for name in widest.header.domains},
    )


def _ordered(tasks: Sequence[str], order: Sequence[str]) -> Sequence[str]:
    places = {task: place for place, task in enumerate(order)}
    return sorted(tasks, key=lambda task: places.get(task, len(places)))


def _records(
    parts: Sequence[SavedSession], order: Mapping[str, Sequence[str]]
) -> tuple[RunRecord, ...]:
    places = {
        (name, task): place for name, tasks in order.items() for place, task in enumerate(tasks)
    }
    domains = {name: place for place, name in enumerate(_header(parts, order).domains)}
    every = [record for one in parts for record in one.records]
    return tuple(
        sorted(
            every,
            key=lambda one: (
                domains.get(one.domain, len(domains)),
                one.trial,
                places.get((one.domain, one.task), len(places)),
            ),
        )
    )


def _summaries(parts: Sequence[SavedSession]) -> Mapping[str, Summary]:
    """Add what the shards counted, which knows more than their records: reruns, spellings."""
    added: dict[str, Summary] = {}
    for one in parts:
        for name, summary in (one.summaries or {}).items():
            added[name] = added.get(name, EMPTY) + summary
    counted = summarized(record for one in parts for record in one.records)
    # Where a shard has one agent of a domain and another has two, their titles differ.
    if added.keys() != counted.keys():
        return counted
    return {name: added[name] for name in counted}


def _name(key: RunKey) -> str:
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return f"{key.domain}/{key.task}{trial}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
