"""A saved session with every run that it planned, however it ended, and what they came to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_sopbench._core.metrics import Summary
from pytest_sopbench._core.models import OutputField
from pytest_sopbench._core.records import RunKey, RunRecord
from pytest_sopbench._core.tally import Tally
from pytest_sopbench._core.task_entries import TaskName
from pytest_sopbench._core.verdicts import Outcome

from .reader import SavedSession

SHARD = "--sop-shard="
"""How the option of a shard begins, among what selected the tasks of a session."""

NOT_EVALUATED = "not_evaluated"
"""Among the options of a header: what took selected tasks away, where something did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The `number`-th of `count` parts of a session, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def selection_of(saved: SavedSession) -> tuple[str, ...]:
    """Return the options that selected the session's tasks, as they are written."""
    given = saved.header.options.get("selection")
    return tuple(map(str, given)) if isinstance(given, list) else ()


def shard_of(saved: SavedSession) -> Shard | None:
    """Return which part of a session this is, or `None` where it is no part."""
    for option in selection_of(saved):
        if option.startswith(SHARD):
            number, _, count = option.removeprefix(SHARD).partition("/")
            return Shard(number=int(number), count=int(count))
    return None


def planned_records(saved: SavedSession) -> tuple[RunRecord, ...]:
    """Return a record of each planned run; denominators never shrink.

    A run that was begun and left no line is a `crash`, a planned one without any sign `not_run`.
    They follow the runs of the file.
    """
    return (*saved.records, *_missing(saved))


def summaries_of(
    saved: SavedSession, *, without: Collection[TaskName] = ()
) -> Mapping[str, Summary]:
    """Return what the runs of each domain came to, as the session's own summary names them.

    Where a domain was run by several agents there is a summary for each, `DOMAIN (AGENT)`.

    Args:
        saved: a session; where it came to its end, its own last line is what counts.
        without: tasks that are left out.
    """
    if saved.summaries is not None and not without:
        return saved.summaries
    return summarized(
        one for one in planned_records(saved) if TaskName(one.domain, one.task) not in without
    )


def summarized(
    records: Iterable[RunRecord],
    fields: Mapping[str, Sequence[OutputField]] = MappingProxyType({}),
) -> Mapping[str, Summary]:
    """Count records by domain, and by agent where a domain has several.

    Args:
        records: each key once.
        fields: the output fields of the domains that are at hand; see `Tally`.
    """
    tallies: dict[tuple[str, str], Tally] = {}
    for one in records:
        tallies.setdefault((one.domain, one.agent), Tally(fields.get(one.domain, ()))).add(one)
    return {_title(group, tallies): tally.summary() for group, tally in tallies.items()}


def _title(group: tuple[str, str], groups: Collection[tuple[str, str]]) -> str:
    domain, agent = group
    return domain if sum(one == domain for one, _ in groups) == 1 else f"{domain} ({agent})"


def planned_keys(saved: SavedSession) -> Iterator[RunKey]:
    """Yield the planned runs, by domain and agent.

    Where the header does not tell agents, they are of the one that runs of the domain tell first.
    """
    told = {one.domain: one.agent for one in reversed(saved.records)}
    for name, domain in saved.header.domains.items():
        agents = domain.agents or {told.get(name, saved.header.agent): domain}
        for agent, planned in agents.items():
            for task, trial in planned.runs:
                yield RunKey(name, task, trial, agent)


def never_started(saved: SavedSession) -> Iterator[RunKey]:
    """Yield the planned runs of which the file has no sign."""
    seen = {*(one.key for one in saved.records), *saved.unfinished}
    of_anyone = {key._replace(agent="") for key in seen}
    for key in planned_keys(saved):
        if saved.header.domains[key.domain].agents:
            found = key in seen
        else:
            # Which agent the others had is a guess, which must not make up a run.
            found = key._replace(agent="") in of_anyone
        if not found:
            yield key


def _missing(saved: SavedSession) -> Iterator[RunRecord]:
    for key in saved.unfinished:
        yield _unseen(key, Outcome.CRASH, "the process that ran it died")
    for key in never_started(saved):
        yield _unseen(key, Outcome.NOT_RUN, "it was never started")


def _unseen(key: RunKey, outcome: Outcome, reason: str) -> RunRecord:
    return RunRecord(
        domain=key.domain,
        task=key.task,
        trial=key.trial,
        agent=key.agent,
        outcome=outcome,
        reason=reason,
    )
