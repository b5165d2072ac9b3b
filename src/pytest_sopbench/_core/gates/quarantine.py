"""What a project says of single tasks: which must pass, and which may fail until a day.

A task that may fail is *quarantined*: it runs, is shown apart, and stays outside gates and
outside what was lost and gained. A quarantine ends by itself, so that nobody forgets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from pytest_sopbench._core.metrics.trials import NO_EVIDENCE
from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome

from .calibration import NO_DOUBT, Doubtful, in_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """What is said of one task: that it must pass, or why it may fail, and until when.

    `may_fail` is the reason, empty for a task that must pass; with it there is an `until`, the
    last day on which the task may fail. `issue` says where that is being worked on, or is empty.
    """

    name: TaskName
    must_pass: bool = False
    may_fail: str = ""
    until: date | None = None
    issue: str = ""

    def holds(self, today: date) -> bool:
        """Tell whether the task may fail on a day."""
        return self.until is not None and today <= self.until

    def is_expired(self, today: date) -> bool:
        """Tell whether the task might fail once, and may no longer."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntries:
    """The entries of a tasks file, by the task that each speaks of."""

    entries: Mapping[TaskName, TaskPolicy] = field(default_factory=dict[TaskName, TaskPolicy])

    def quarantined(self, today: date) -> frozenset[TaskName]:
        """Return the tasks that may fail on a day."""
        return frozenset(name for name, one in self.entries.items() if one.holds(today))

    def expired(self, today: date) -> tuple[TaskPolicy, ...]:
        """Return the entries whose last day is over, in the order of the file."""
        return tuple(one for one in self.entries.values() if one.is_expired(today))

    @property
    def must_pass(self) -> frozenset[TaskName]:
        """The tasks that must pass."""
        return frozenset(name for name, one in self.entries.items() if one.must_pass)


NO_ENTRIES: Final = TaskEntries()
"""Says nothing of any task, as where a project has no tasks file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOfEntry:
    """An entry, and the runs of its task that speak for what is said of it."""

    entry: TaskPolicy
    runs: int
    correct: int
    first: RunRecord | None = None
    """The first run that is not correct, where there is one."""
    doubt: str = ""
    """Why a model judge that decided on it must not, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """What a session shows of its entries, in the order of the file.

    `failed` may fail and did; `passed` may fail, and all of their runs are correct, so that the
    entry can go. `expired` are entries whose last day is over and whose task was run; they fail a
    session. `broken` must pass and did not; `unsure` must pass, and some run was unavailable or
    never started, or rests on a model judge that must not decide, while the others are correct,
    which fails it too.
    """

    failed: tuple[RunsOfEntry, ...] = ()
    passed: tuple[RunsOfEntry, ...] = ()
    expired: tuple[TaskPolicy, ...] = ()
    broken: tuple[RunsOfEntry, ...] = ()
    unsure: tuple[RunsOfEntry, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a session fails by what its entries say, whatever its gates say.

        Of a task that must pass, not to know is no pass.
        """
        return bool(self.expired or self.broken or self.unsure)


def report_entries(
    records: Iterable[RunRecord],
    entries: TaskEntries,
    today: date,
    doubtful: Doubtful = NO_DOUBT,
) -> PolicyReport:
    """Hold the runs of a session against the entries; tasks that were not selected say nothing.

    Args:
        records: the runs.
        entries: those of the tasks file.
        today: the day on which entries hold or are expired.
        doubtful: the model judges on which no gate may rest. A task that must pass may not either:
            of a run that such a judge decided nobody knows whether it passed.
    """
    runs: dict[TaskName, list[RunRecord]] = {name: [] for name in entries.entries}
    for record in records:
        if (name := TaskName(record.domain, record.task)) in runs:
            runs[name].append(record)
    seen = [(one, runs[name]) for name, one in entries.entries.items() if runs[name]]
    may_fail = [(one, made) for one, made in seen if one.holds(today)]
    must_pass = [(one, made) for one, made in seen if one.must_pass]
    held = _of_mandatory(must_pass, doubtful)
    return PolicyReport(
        failed=_of(may_fail, failed=True),
        passed=tuple(one for one in _of(may_fail, failed=False) if one.correct == one.runs),
        expired=tuple(one for one, _ in seen if one.is_expired(today)),
        broken=tuple(one for one, is_broken in held if is_broken),
        unsure=tuple(
            one
            for one, is_broken in held
            if not is_broken and (one.doubt or one.correct < one.runs)
        ),
    )


def _of_mandatory(
    seen: Sequence[tuple[TaskPolicy, Sequence[RunRecord]]], doubtful: Doubtful
) -> Sequence[tuple[RunsOfEntry, bool]]:
    """Return the entries of tasks that must pass, and whether some run failed for certain."""
    found: list[tuple[RunsOfEntry, bool]] = []
    for entry, runs in seen:
        doubts = [judged_in_doubt(one, doubtful.get(one.domain, {})) for one in runs]
        known = [one for one, doubt in zip(runs, doubts, strict=True) if not doubt]
        is_broken = _has_failed(known)
        doubt = "" if is_broken else next(filter(None, doubts), "")
        found.append((replace(_runs_of(entry, runs), doubt=doubt), is_broken))
    return found


def judged_in_doubt(run: RunRecord, doubts: Mapping[str, str]) -> str:
    """Say which judge decided on a run and must not, or nothing where it is known without one.

    A run that another field makes wrong is wrong whatever the judge says.
    """
    if not doubts or run.outcome not in {Outcome.CORRECT, Outcome.WRONG}:
        return ""
    if any(one.field not in doubts for one in run.mismatches):
        return ""
    field = next((one.field for one in run.mismatches), next(iter(doubts)))
    return in_doubt(run.domain, field, doubts[field])


def _of(
    seen: Sequence[tuple[TaskPolicy, Sequence[RunRecord]]], *, failed: bool
) -> tuple[RunsOfEntry, ...]:
    """Return the entries of which some run failed, or those of which none did."""
    return tuple(_runs_of(entry, runs) for entry, runs in seen if failed is _has_failed(runs))


def _has_failed(runs: Sequence[RunRecord]) -> bool:
    return any(one.outcome not in {*NO_EVIDENCE, Outcome.CORRECT} for one in runs)


def _runs_of(entry: TaskPolicy, runs: Sequence[RunRecord]) -> RunsOfEntry:
    others = [one for one in runs if one.outcome is not Outcome.CORRECT]
    told = [one for one in others if one.outcome not in NO_EVIDENCE] or others
    return RunsOfEntry(
        entry=entry,
        runs=len(runs),
        correct=len(runs) - len(others),
        first=told[0] if told else None,
    )
