"""A saved session: every run that it planned, however it ended, and what they came to.

`read_session` makes it of a file. Whatever is counted is counted from the lines of runs again; what
the session itself counted is not believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from pytest_sopbench._core.gates.conditions import GateSpec, bounded, read_gate
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.metrics.counts import share_of
from pytest_sopbench._core.metrics.metric import About, Metric, cell_of, run_columns
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.tally import Tally
from pytest_sopbench._core.model.task import GroupKey, OutputField, RunKey, agents_of
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._sessions.folder import newest_with
from pytest_sopbench._sessions.header import PlannedTasks, SessionHeader
from pytest_sopbench._sessions.lines import DamagedLine
from pytest_sopbench.errors import SessionFileError

Signs: TypeAlias = Mapping[tuple[str, str, int], set[str]]
"""The tasks of which a file has a sign, by domain, agent and trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSession:
    """A session as it lies on disk.

    Attributes:
        path: the file.
        header: what was asked of whom, and how it was judged.
        records: the runs, each once, in the order of the file. Runs that stand only in the
            journals of a session that did not end follow.
        unfinished: the runs that were begun and left no line: their process died.
        finished: whether the session came to its end.
        reruns: how often other plugins ran tests again, by the title of each group.
        absent: the planned runs of which the file has no sign.
        damaged: the lines that hold something else than was written; they count for nothing.
        doubts: why nothing may be concluded from the file; empty if all is well.
        problems: what is odd about the file: doubts, damaged lines and more.
        called: what the session was asked for by.
    """

    path: Path
    header: SessionHeader
    records: tuple[RunRecord, ...]
    unfinished: tuple[RunKey, ...] = ()
    finished: bool = False
    reruns: Mapping[str, int] | None = None
    absent: tuple[RunKey, ...]
    damaged: tuple[DamagedLine, ...] = ()
    doubts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    called: str = ""

    @property
    def name(self) -> str:
        """What the session was asked for by, such as `last`, else the name of its file."""
        return self.called or self.path.stem

    @property
    def slim(self) -> bool:
        """Whether it is a slim baseline, whose runs have an outcome and names of calls alone."""
        return self.header.options.slim

    @property
    def summaries(self) -> Mapping[str, Summary] | None:
        """What the runs of each domain came to, counted; `None` without an end of the session."""
        return summaries_of(self) if self.finished else None

    def runs_of(self, task: str) -> tuple[RunRecord, ...]:
        """Return the runs of one task, in the order of trials.

        Args:
            task: `DOMAIN/TASK`, `DOMAIN::TASK`, or the task's id if one domain has it.

        Raises:
            SessionFileError: no task is called so, or tasks of several domains are.
        """
        found = [one for one in self.records if is_called(one.domain, one.task, task)]
        if not found:
            ids = {name for one in self.records for name in _names_of(one.domain, one.task)}
            near = get_close_matches(task, sorted(ids), n=3)
            count = len({(one.domain, one.task) for one in self.records})
            by = " ".join(("", *self.header.options.selection))
            ran = f"it ran {count} task{'s' * (count != 1)}{by and f', selected by{by}'}"
            msg = f"{self.path}: no run of a task {task!r}; {ran}"
            hint = f"did you mean {' or '.join(near)}?" if near else "tasks are named DOMAIN/TASK"
            if other := newest_with(task, self.path):
                hint = f"the session {other} ran it"
            raise SessionFileError(msg, hint=hint)
        domains = sorted({record.domain for record in found})
        if len(domains) > 1:
            msg = f"{self.path}: {task!r} is a task of {', '.join(domains)}"
            raise SessionFileError(msg, hint=f"write {domains[0]}/{task}")
        return tuple(sorted(found, key=lambda record: (record.agent, record.trial)))

    def to_dataframe(self) -> Any:
        """Return the runs as a `pandas.DataFrame`, one row each, in the order of the file.

        Its columns are `domain`, `task`, `trial`, `agent`, `outcome`, `correct`, `reason`,
        `answer.FIELD` for each output field, `calls`, `duration_s`, `input_tokens`,
        `cached_tokens`, `cache_write_tokens`, `output_tokens`, `reasoning_tokens`, `model_calls`,
        `cost_usd`, `model`. What is not known is missing, and never 0.

        Raises:
            SessionFileError: pandas is not installed.
        """
        return frame_of(self.records)


def is_called(domain: str, task: str, name: str) -> bool:
    """Tell whether a user names a task so."""
    return name.endswith(task) and name in _names_of(domain, task)


def _names_of(domain: str, task: str) -> tuple[str, ...]:
    return task, f"{domain}/{task}", f"{domain}::{task}"


def planned_records(saved: SavedSession) -> tuple[RunRecord, ...]:
    """Return a record of each planned run; denominators never shrink.

    A run that was begun and left no line is a `crash`, a planned one without any sign `not_run`.
    They follow the runs of the file.
    """
    return (*saved.records, *_missing(saved))


def summaries_of(
    saved: SavedSession,
    *,
    without: Collection[RunKey] = (),
) -> Mapping[str, Summary]:
    """Return what the runs of each domain came to, counted from their lines.

    If a domain was run by several agents there is a summary for each, `DOMAIN (AGENT)`. What the
    session itself counted is not believed, but for reruns, of which no line of a run tells. As many
    runs may be unavailable as the session's own gates say.

    Args:
        saved: a session.
        without: runs that are left out; groups are called as with them.

    Raises:
        SessionFileError: a gate of the session cannot be read.
    """
    records = planned_records(saved)
    names = dict.fromkeys(GroupKey(one.domain, one.agent) for one in records)
    kept = (one for one in records if one.key not in without) if without else records
    reruns = saved.reruns or {}
    counted = {group.title(names): one for group, one in grouped(kept).items()}
    found = bounded(counted, recorded_gates(saved), agents_of(names))
    return {name: replace(one, reruns=reruns.get(name, 0)) for name, one in found.items()}


def asked_summaries(
    saved: SavedSession, forgiven: Forgiven
) -> Mapping[About, Mapping[str, Summary]]:
    """Return what the runs came to that gates are checked on, if these are not all.

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


def recorded_gates(saved: SavedSession) -> tuple[GateSpec, ...]:
    """Return the gates of the session itself.

    Raises:
        SessionFileError: one of them cannot be read.
    """
    try:
        options = saved.header.options
        return tuple(read_gate(one, options.metrics) for one in options.gates)
    except ValueError as fault:
        msg = f"{saved.path}, line 1: {fault}"
        raise SessionFileError(msg, hint="was it written by another pytest-sopbench?") from fault


def outcomes_of(saved: SavedSession) -> Mapping[str, Summary]:
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
    """Count records by domain, and by agent if a domain has several.

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


def planned_keys(saved: SavedSession) -> Iterator[RunKey]:
    """Yield the planned runs, by domain and agent.

    If the header does not tell agents, they are of the one that runs of the domain tell first.
    """
    told = {one.domain: one.agent for one in reversed(saved.records)}
    for name, domain in saved.header.domains.items():
        agents = domain.agents or {told.get(name, saved.header.agent): domain}
        for agent, planned in agents.items():
            for task, trial in planned.runs:
                yield RunKey(name, task, trial, agent)


def never_started(saved: SavedSession, seen: Signs) -> Iterator[RunKey]:
    """Yield the planned runs of which the file has no sign."""
    for key in planned_keys(saved):
        agent = key.agent if saved.header.domains[key.domain].agents else ""
        if key.task not in seen.get((key.domain, agent, key.trial), ()):
            yield key


def unplanned(saved: SavedSession, seen: Signs) -> Iterator[RunKey]:
    """Yield the runs of the file that its session did not plan, if it says what it planned."""
    if not saved.header.domains:
        return
    for (name, agent, trial), tasks in seen.items():
        domain = saved.header.domains.get(name)
        agents: Mapping[str, PlannedTasks] = {} if domain is None else domain.agents or {"": domain}
        planned = agents.get(agent)
        known = frozenset(planned.planned) if planned is not None else frozenset[str]()
        for task in sorted(tasks):
            if planned is None or task not in known or trial not in planned.trials_of(task):
                yield RunKey(name, task, trial, agent)


def signs_of(saved: SavedSession) -> Signs:
    """Return the tasks of which there is a sign, by domain, agent and trial.

    If the header does not tell agents, which one the others had is a guess, which must not make
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


def _missing(saved: SavedSession) -> Iterator[RunRecord]:
    for key in saved.unfinished:
        yield _unseen(key, Outcome.CRASH, "the process that ran it died")
    damaged = {one.run for one in saved.damaged}
    # At its end a session writes a line of every planned run, whatever became of it.
    why = "its line is missing" if saved.finished else "it was never started"
    for key in saved.absent:
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


# A saved session as a table of pandas: one row for each run.

RUN = ("domain", "task", "trial", "agent", "outcome")
"""The first columns; those of metrics follow, the reason, and the share of right fields."""

BEHIND = ("calls", "duration_s", *COUNTS, "model")
"""Columns behind them; what a run did not tell is missing, and never 0."""


def frame_of(records: Iterable[RunRecord]) -> Any:
    """Return a `pandas.DataFrame` with one row for each run, in the order of the records.

    The columns are `RUN`, those of metrics, `reason` and `fields`, then `answer.FIELD` for each
    field that some run answered and `right.FIELD` for each that was compared, sorted, then
    `BEHIND`. `calls` counts tool calls.

    Raises:
        SessionFileError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        msg = "to_dataframe() needs pandas, which is not installed"
        raise SessionFileError(msg, hint=install_hint("pandas", extra="pandas")) from None
    metrics = run_columns()
    rows = [_row(one, metrics) for one in records]
    before = (*RUN, *metrics, "reason", "fields")
    answers = sorted({name for row in rows for name in row} - {*before, *BEHIND})
    return pandas.DataFrame(rows, columns=[*before, *answers, *BEHIND])


def _right(record: RunRecord) -> Mapping[str, bool]:
    """Return of each field whether it is right; of what was not judged nobody knows."""
    if any(one.held is None for one in record.compared):
        return {}
    wrong = {one.field for one in record.mismatches}
    completed = record.outcome in COMPLETED
    names = (name for name in record.expected if name not in record.ignored)
    return {f"right.{name}": completed and name not in wrong for name in names}


def _row(record: RunRecord, metrics: Mapping[str, Metric]) -> Mapping[str, Any]:
    answer: Mapping[str, JsonValue] = record.answer or {}
    return {
        "domain": record.domain,
        "task": record.task,
        "trial": record.trial,
        "agent": record.agent,
        "outcome": record.outcome.value,
        **{column: cell_of(metric, record) for column, metric in metrics.items()},
        "reason": record.reason,
        "fields": share_of(record, completed=record.outcome in COMPLETED),
        **{f"answer.{name}": value for name, value in answer.items()},
        **_right(record),
        "calls": len(record.calls),
        "duration_s": record.duration_s,
        **{name: getattr(record.usage, name) for name in COUNTS},
        "model": record.usage.model,
    }
