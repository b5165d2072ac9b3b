"""A saved session with every run that it planned, however it ended, and what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeAlias

from pytest_sopbench._core.gates.conditions import GateSpec, bounded, read_gate
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.tally import Tally
from pytest_sopbench._core.model.task import GroupKey, OutputField, RunKey, agents_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.header import PlannedTasks, SessionHeader
from pytest_sopbench._sessions.lines import DamagedLine
from pytest_sopbench._settings.readers import Shard
from pytest_sopbench.errors import SessionFileError

Signs: TypeAlias = Mapping[tuple[str, str, int], set[str]]
"""The tasks of which a file has a sign, by domain, agent and trial."""


class ReadSession(Protocol):
    """What a saved session must tell to be counted; `SavedSession` counts itself by it."""

    @property
    def path(self) -> Path: ...
    @property
    def header(self) -> SessionHeader: ...
    @property
    def records(self) -> tuple[RunRecord, ...]: ...
    @property
    def unfinished(self) -> tuple[RunKey, ...]: ...
    @property
    def finished(self) -> bool: ...
    @property
    def reruns(self) -> Mapping[str, int] | None: ...
    @property
    def absent(self) -> tuple[RunKey, ...] | None: ...
    @property
    def damaged(self) -> tuple[DamagedLine, ...]: ...


def selection_of(saved: ReadSession) -> tuple[str, ...]:
    """Return the options that selected the session's tasks, as they are written."""
    return saved.header.options.selection


def shard_of(saved: ReadSession) -> Shard | None:
    """Return which part of a session this is, or `None` where it is no part."""
    return saved.header.options.shard


def planned_records(saved: ReadSession) -> tuple[RunRecord, ...]:
    """Return a record of each planned run; denominators never shrink.

    A run that was begun and left no line is a `crash`, a planned one without any sign `not_run`.
    They follow the runs of the file.
    """
    return (*saved.records, *_missing(saved))


def summaries_of(
    saved: ReadSession,
    *,
    without: Collection[RunKey] = (),
    fields: Mapping[str, Sequence[OutputField]] = MappingProxyType({}),
) -> Mapping[str, Summary]:
    """Return what the runs of each domain came to, counted from their lines.

    Where a domain was run by several agents there is a summary for each, `DOMAIN (AGENT)`. What the
    session itself counted is not believed, but for reruns, of which no line of a run tells. As many
    runs may be unavailable as the session's own gates say.

    Args:
        saved: a session.
        without: runs that are left out; groups are called as with them.
        fields: the output fields of the domains that are at hand; see `Tally`.

    Raises:
        SessionFileError: a gate of the session cannot be read.
    """
    records = planned_records(saved)
    names = dict.fromkeys(GroupKey(one.domain, one.agent) for one in records)
    kept = (one for one in records if one.key not in without) if without else records
    reruns = saved.reruns or {}
    counted = {group.title(names): one for group, one in grouped(kept, fields).items()}
    found = bounded(counted, recorded_gates(saved), agents_of(names))
    return {name: replace(one, reruns=reruns.get(name, 0)) for name, one in found.items()}


def asked_summaries(
    saved: ReadSession, forgiven: Forgiven
) -> Mapping[About, Mapping[str, Summary]]:
    """Return what the runs came to that gates are asked of, where these are not all.

    Args:
        saved: a session.
        forgiven: what gates leave out.

    Raises:
        SessionFileError: a gate of the session cannot be read.
    """
    if not forgiven:
        return {}
    records = planned_records(saved)
    left_out = {
        about: frozenset(one.key for one in records if forgiven.leaves_out(one, about))
        for about in About
    }
    return {about: summaries_of(saved, without=keys) for about, keys in left_out.items() if keys}


def recorded_gates(saved: ReadSession) -> tuple[GateSpec, ...]:
    """Return the gates that the session itself was asked.

    Raises:
        SessionFileError: one of them cannot be read.
    """
    try:
        options = saved.header.options
        return tuple(read_gate(one, options.metrics) for one in options.gates)
    except ValueError as fault:
        msg = f"{saved.path}, line 1: {fault}"
        raise SessionFileError(msg, hint="was it written by another pytest-sopbench?") from fault


def outcomes_of(saved: ReadSession) -> Mapping[str, Summary]:
    """Return what `summaries_of` does as far as outcomes go, which is quicker to count."""
    counts = Counter([(one.domain, one.agent, one.outcome) for one in planned_records(saved)])
    groups: dict[GroupKey, dict[Outcome, int]] = {}
    for (domain, agent, outcome), number in counts.items():
        groups.setdefault(GroupKey(domain, agent), {})[outcome] = number
    return {
        group.title(groups): Summary(runs=sum(one.values()), outcomes=one)
        for group, one in groups.items()
    }


def summarized(
    records: Iterable[RunRecord],
    fields: Mapping[str, Sequence[OutputField]] = MappingProxyType({}),
    gates: Sequence[GateSpec] = (),
) -> Mapping[str, Summary]:
    """Count records by domain, and by agent where a domain has several.

    Args:
        records: each key once.
        fields: the output fields of the domains that are at hand; see `Tally`.
        gates: those of the session, which say how many runs may be unavailable.
    """
    groups = grouped(records, fields)
    counted = {group.title(groups): summary for group, summary in groups.items()}
    return bounded(counted, gates, agents_of(groups))


def grouped(
    records: Iterable[RunRecord],
    fields: Mapping[str, Sequence[OutputField]] = MappingProxyType({}),
) -> Mapping[GroupKey, Summary]:
    """Count records by domain and agent; see `summarized`."""
    tallies: dict[GroupKey, Tally] = {}
    for one in records:
        group = GroupKey(one.domain, one.agent)
        tally = tallies.get(group)
        if tally is None:
            tally = tallies[group] = Tally(fields.get(one.domain, ()))
        tally.add(one)
    return {group: tally.summary() for group, tally in tallies.items()}


def planned_keys(saved: ReadSession) -> Iterator[RunKey]:
    """Yield the planned runs, by domain and agent.

    Where the header does not tell agents, they are of the one that runs of the domain tell first.
    """
    told = _told(saved)
    for name, domain in saved.header.domains.items():
        agents = domain.agents or {told.get(name, saved.header.agent): domain}
        for agent, planned in agents.items():
            for task, trial in planned.runs:
                yield RunKey(name, task, trial, agent)


def never_started(saved: ReadSession, seen: Signs | None = None) -> Iterator[RunKey]:
    """Yield the planned runs of which the file has no sign; `seen` is known to who asks again."""
    if saved.absent is not None:
        yield from saved.absent
        return
    seen = signs_of(saved) if seen is None else seen
    told = _told(saved)
    for name, domain in saved.header.domains.items():
        for agent, planned in (domain.agents or {"": domain}).items():
            for task, trial in planned.runs:
                if task not in seen.get((name, agent, trial), ()):
                    known = agent or told.get(name, saved.header.agent)
                    yield RunKey(name, task, trial, known)


def unplanned(saved: ReadSession, seen: Signs | None = None) -> Iterator[RunKey]:
    """Yield the runs of the file that its session did not plan, where it says what it planned."""
    if not saved.header.domains:
        return
    for (name, agent, trial), tasks in (signs_of(saved) if seen is None else seen).items():
        domain = saved.header.domains.get(name)
        agents: Mapping[str, PlannedTasks] = {} if domain is None else domain.agents or {"": domain}
        planned = agents.get(agent)
        known = frozenset(planned.planned) if planned is not None else frozenset[str]()
        for task in sorted(tasks - known if _have_all(planned, trial) else tasks):
            if planned is None or task not in known or trial not in planned.trials_of(task):
                yield RunKey(name, task, trial, agent)


def _have_all(planned: PlannedTasks | None, trial: int) -> bool:
    """Tell whether this trial was planned of every task, so that none need be looked at."""
    return planned is not None and not planned.some_trials and 1 <= trial <= planned.trials


def signs_of(saved: ReadSession) -> Signs:
    """Return the tasks of which there is a sign, by domain, agent and trial.

    Where the header does not tell agents, which one the others had is a guess, which must not make
    up a run: there all runs are of the agent without a name.
    """
    telling = {name for name, one in saved.header.domains.items() if one.agents}
    seen: dict[tuple[str, str, int], set[str]] = {}
    signs: Iterable[RunRecord | RunKey] = chain(saved.records, saved.unfinished)
    for one in signs:
        agent = one.agent if one.domain in telling else ""
        tasks = seen.get((one.domain, agent, one.trial))
        if tasks is None:
            tasks = seen[one.domain, agent, one.trial] = set()
        tasks.add(one.task)
    return seen


def _told(saved: ReadSession) -> Mapping[str, str]:
    """Return the agent of each domain that its runs tell first."""
    return {one.domain: one.agent for one in reversed(saved.records)}


def _missing(saved: ReadSession) -> Iterator[RunRecord]:
    for key in saved.unfinished:
        yield _unseen(key, Outcome.CRASH, "the process that ran it died")
    damaged = {one.run for one in saved.damaged}
    # At its end a session writes a line of every planned run, whatever became of it.
    why = "its line is missing" if saved.finished else "it was never started"
    for key in never_started(saved):
        said = "its line is damaged" if key in damaged else why
        yield _unseen(key, Outcome.NOT_RUN, said)


def _unseen(key: RunKey, outcome: Outcome, reason: str) -> RunRecord:
    return RunRecord(
        domain=key.domain,
        task=key.task,
        trial=key.trial,
        agent=key.agent,
        outcome=outcome,
        reason=reason,
    )
