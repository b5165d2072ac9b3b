"""Put the shards of a session together again: the whole, or an error that says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_sopbench._core.comparing import unlike_comparers
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.model.task import RunKey, Share, ids_digest, shard_number
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._sessions.header import (
    SHARD,
    DomainHeader,
    SessionHeader,
    SessionOptions,
    made_of,
    planned_tasks,
)
from pytest_sopbench._sessions.lines import some_runs
from pytest_sopbench._sessions.reader import refuse_doubted
from pytest_sopbench._sessions.saved import (
    SavedSession,
    planned_keys,
    recorded_gates,
    summarized,
)
from pytest_sopbench._settings.readers import Shard, read_sample
from pytest_sopbench.errors import SessionFileError

from .resume import learned, unlike

# Prove that the shards of a session cover it: each has planned its share, and no more or less.

_CUT: Final = "--sop-sample="
_AGAIN: Final = "run that shard again"


MANY: Final = 2**63
"""More tasks than any domain has."""


def check_shares(parts: Sequence[SavedSession]) -> None:
    """Check all parts of one session, each of which is there once.

    Raises:
        SessionFileError: one has planned something else than its share, or together they are not
            all that was to be shared out.
    """
    for saved in parts:
        shard = saved.header.options.shard
        for name, domain in saved.header.domains.items():
            fault = next(_faults(name, domain, shard, _cuts(saved)), "") if shard else ""
            if fault:
                msg = f"{saved.path}: shard {shard} is not its part: {fault}"
                raise SessionFileError(msg, hint=_AGAIN)
    for name in parts[0].header.domains:
        fault = next(_gaps(name, parts), "")
        if fault:
            msg = f"these shards are not the whole: {fault}"
            raise SessionFileError(msg, hint=_AGAIN)


def _faults(name: str, domain: DomainHeader, shard: Shard, cuts: Sequence[int]) -> Iterator[str]:
    """Say how a shard's plan of a domain differs from its share."""
    if domain.share is None:
        yield f"it does not say what its share of domain {name} is"
        return
    foreign = [one for one in domain.planned if shard_number(one, shard.count) != shard.number]
    if foreign:
        yield f"{name}/{foreign[0]} is a task of another shard"
    due = min(domain.share.part, *cuts)
    odd = next((task for task, some in domain.some_trials.items() if max(some) != len(some)), "")
    if odd:
        yield f"it did not plan every trial of {name}/{odd}"
    if len(domain.planned) != due:
        yield f"it planned {len(domain.planned)} tasks of domain {name}, and its share is {due}"


def _gaps(name: str, parts: Sequence[SavedSession]) -> Iterator[str]:
    """Say what the shards together lack of a domain."""
    domains = [one.header.domains[name] for one in parts]
    shares = [one.share for one in domains if one.share is not None]
    first: Share = shares[0]
    if any((one.tasks, one.digest) != (first.tasks, first.digest) for one in shares):
        yield f"they share out other tasks of domain {name}"
    if sum(one.part for one in shares) != first.tasks:
        yield f"they have parts of {sum(one.part for one in shares)} tasks of {first.tasks}"
    trials = {
        min(len(one.trials_of(task)) for task in one.planned) for one in domains if one.planned
    }
    if len(trials) > 1:
        yield f"tasks of domain {name} have {min(trials)} trials in one, {max(trials)} in another"
    planned = [task for one in domains for task in one.planned]
    if not any(_cuts(one)[1:] for one in parts) and ids_digest(planned) != first.digest:
        yield f"their tasks of domain {name} are not those that were to be shared out"
    yield from _lacking_agents(name, parts)


def _lacking_agents(name: str, parts: Sequence[SavedSession]) -> Iterator[str]:
    """Say which shard lacks an agent that another shard ran on all of its tasks."""
    shares = [(one, {*one.header.domains[name].planned}, _by_agent(name, one)) for one in parts]
    # An agent of a few tasks may be in one shard only; one of all tasks is in all of them.
    every = {agent for _, all_, own in shares for agent, tasks in own.items() if tasks == all_}
    for saved, tasks, own in shares:
        lacking = sorted(agent for agent in every if own.get(agent, set()) != tasks)
        if lacking:
            yield f"{saved.path} lacks runs of {lacking[0]} on domain {name}"


def _by_agent(name: str, saved: SavedSession) -> Mapping[str, set[str]]:
    """Return the planned tasks of each agent of a domain."""
    tasks: dict[str, set[str]] = {}
    for key in planned_keys(saved):
        if key.domain == name:
            tasks.setdefault(key.agent, set()).add(key.task)
    return tasks


def _cuts(saved: SavedSession) -> Sequence[int]:
    """Return to how many tasks of a domain a sample cuts a part, after no cut at all."""
    values = [
        one.removeprefix(_CUT) for one in saved.header.options.selection if one.startswith(_CUT)
    ]
    return [MANY, *(read_sample(one).size for one in values)]


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
        order: the ids of the tasks of a domain in the order of its rows, if that is known;
            else the tasks of the first shard come first.

    Raises:
        SessionFileError: one is no shard, was cut short, is damaged, lacks tasks that it selected,
            is there twice, or is missing; a run is in two of them; they differ in what was
            selected and run, of whom, or how it was judged; or their plans are not the shares of
            one whole.
    """
    parts = _parts(shards)
    for other in parts[1:]:
        difference = next(_differences(parts[0], other), "")
        if difference:
            raise _no_parts(parts[0], other, difference)
    _check_overlaps(parts)
    check_shares(parts)
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
    shard = saved.header.options.shard
    if shard is None:
        msg = f"{saved.path}: not a shard: it was made without --sop-shard"
        raise SessionFileError(msg, hint="merge puts the shards of one session together")
    left = [*saved.unfinished, *saved.absent]
    if not saved.finished or left:
        lost = f": {some_runs(left)} did not come to an end" if left else ""
        msg = f"{saved.path}: shard {shard} was cut short{lost}"
        raise SessionFileError(msg, hint="run that shard again")
    refuse_doubted(saved)
    away = saved.header.options.not_evaluated
    if away:
        msg = f"{saved.path}: shard {shard} is not all of its part: {away}"
        raise SessionFileError(msg, hint="mend that, then run this shard again")
    return shard


def _differences(one: SavedSession, other: SavedSession) -> Iterator[str]:
    """Say in what two shards differ that one session cannot differ in."""
    a, b = one.header, other.header
    for what, mine, its in (
        # In whichever order they were given.
        ("agent", ", ".join(sorted(a.agents)), ", ".join(sorted(b.agents))),
        ("agent arguments", dict(a.agent_args), dict(b.agent_args)),
        ("commit", a.git and a.git.commit, b.git and b.git.commit),
        ("version of pytest-sopbench", a.plugin, b.plugin),
        ("options that select tasks", _selected_by(one), _selected_by(other)),
        ("options", *unlike(_without_past(one), _without_past(other))),
    ):
        if mine != its:
            yield f"{what} {mine!r} and {its!r}"
    if a.domains.keys() != b.domains.keys():
        yield f"domains {_domains_of(one)} and {_domains_of(other)}"
        return
    for name in sorted(a.domains):
        yield from _domain_differences(name, a.domains[name], b.domains[name])
    if a.judging != b.judging:
        yield "answers are judged by other rules"


def _domains_of(saved: SavedSession) -> str:
    return ", ".join(sorted(saved.header.domains)) or "(none)"


def _check_overlaps(parts: Sequence[SavedSession]) -> None:
    holders: dict[RunKey, SavedSession] = {}
    for one in parts:
        twice = [record.key for record in one.records if record.key in holders]
        if twice:
            said = f"both have the run of {some_runs(twice)}"
            raise _no_parts(holders[twice[0]], one, said)
        holders.update((record.key, one) for record in one.records)


def _no_parts(one: SavedSession, other: SavedSession, difference: str) -> SessionFileError:
    msg = f"{one.path} and {other.path} are no parts of one session: {difference}"
    return SessionFileError(msg)


def _domain_differences(name: str, one: DomainHeader, other: DomainHeader) -> Iterator[str]:
    for part in _CONTENT:
        if getattr(one, part) != getattr(other, part):
            yield f"the {part} of domain {name} has another content"
    if one.judging != other.judging:
        unlike = "; ".join(unlike_comparers(name, one.comparers, other.comparers))
        yield f"answers of domain {name} are judged by other rules{unlike and f' ({unlike})'}"


def _options(saved: SavedSession) -> SessionOptions:
    return replace(saved.header.options, selection=_selection(saved))


def _without_past(saved: SavedSession) -> SessionOptions:
    """Leave out which sessions a shard was resumed from: another may have run through."""
    return replace(_options(saved), resumed=(), resumed_anyway=(), failures=None)


def _options_of_all(parts: Sequence[SavedSession]) -> SessionOptions:
    """Return the options of the whole: with all that the shards go back to and have learned."""
    asked = [one.header.options for one in parts]
    numbers = [one.failures for one in asked if one.failures is not None]
    whole = replace(
        _options(parts[0]),
        resumed=tuple(session for one in asked for session in one.resumed),
        resumed_anyway=tuple(difference for one in asked for difference in one.resumed_anyway),
        # How many tests failed in all shards together, if all of them tell.
        failures=sum(numbers) if len(numbers) == len(parts) else None,
    )
    return learned(whole, asked)


def _selection(saved: SavedSession) -> tuple[str, ...]:
    return tuple(
        option for option in saved.header.options.selection if not option.startswith(SHARD)
    )


def _selected_by(saved: SavedSession) -> str:
    return " ".join(_selection(saved)) or "none"


def _header(parts: Sequence[SavedSession], order: Mapping[str, Sequence[str]]) -> SessionHeader:
    first = parts[0].header
    git = first.git
    if git is not None:
        git = replace(git, dirty=any(one.header.git and one.header.git.dirty for one in parts))
    keys = [key for one in parts for key in planned_keys(one)]
    return replace(
        made_of(first, "merged", *(one.header.identity for one in parts)),
        started=min(one.header.started for one in parts),
        options=_options_of_all(parts),
        git=git,
        domains={
            name: _domain(
                domain,
                [key for key in keys if key.domain == name],
                order.get(name, ()),
                has_agents=any(one.header.domains[name].agents for one in parts),
            )
            for name, domain in first.domains.items()
        },
    )


def _domain(
    domain: DomainHeader, keys: Sequence[RunKey], order: Sequence[str], *, has_agents: bool
) -> DomainHeader:
    """Return a domain with all these runs planned."""
    places = {task: place for place, task in enumerate(order)}
    of_all: dict[str, list[int]] = {}
    of_agents: dict[str, dict[str, list[int]]] = {}
    for key in sorted(keys, key=lambda one: places.get(one.task, len(places))):
        of_all.setdefault(key.task, []).append(key.trial)
        tasks = of_agents.setdefault(key.agent, {})
        tasks.setdefault(key.task, []).append(key.trial)
    whole = planned_tasks(of_all)
    agents = {name: planned_tasks(one) for name, one in of_agents.items()}
    return replace(
        domain,
        planned=whole.planned,
        trials=whole.trials,
        some_trials=whole.some_trials,
        agents=agents if has_agents else {},
        share=None,
    )


def _records(
    parts: Sequence[SavedSession], order: Mapping[str, Sequence[str]]
) -> tuple[RunRecord, ...]:
    places = {
        (name, task): place for name, tasks in order.items() for place, task in enumerate(tasks)
    }
    domains = {name: place for place, name in enumerate(parts[0].header.domains)}
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
    """Add what the runs of the shards came to, with the reruns, of which no record tells."""
    added: dict[str, Summary] = {}
    for one in parts:
        for name, summary in (one.summaries or {}).items():
            added[name] = added.get(name, EMPTY) + summary
    records = (record for one in parts for record in one.records)
    counted = summarized(records, gates=recorded_gates(parts[0]))
    # If a shard has one agent of a domain and another has two, their titles differ.
    if added.keys() != counted.keys():
        return counted
    # A shard whose provider was away is no measure of the whole, which bounds it anew.
    return {name: replace(added[name], tolerated=one.tolerated) for name, one in counted.items()}
