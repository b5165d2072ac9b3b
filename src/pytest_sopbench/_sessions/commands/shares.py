"""Prove that the shards of a session cover it: each has planned its share, and no more or less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.model.shards import Share, ids_digest, shard_number
from pytest_sopbench._sessions.header.header import DomainHeader
from pytest_sopbench._sessions.reading.planned import planned_keys, selection_of, shard_of
from pytest_sopbench._sessions.reading.reader import SavedSession
from pytest_sopbench._settings.values import Shard
from pytest_sopbench.errors import SessionFileError

_CUTS: Final = ("--sop-sample=", "--sop-limit=")
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
        shard = shard_of(saved)
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
        yield f"it does not say what its share of domain {name} is; an older version made it"
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
    """Return to how many tasks of a domain a sample and a limit cut a part, after no cut at all."""
    values = [
        option.removeprefix(cut).partition("@")[0]
        for option in selection_of(saved)
        for cut in _CUTS
        if option.startswith(cut)
    ]
    return [MANY, *map(int, values)]
