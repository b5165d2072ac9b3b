"""What a project says of single tasks: which must pass, and which may fail until a day.

A task that may fail is *quarantined*: it runs, is shown apart, and its answer stays outside gates
and outside what was lost and gained. A rule that it may break is quarantined by its own name.
Nothing else is forgiven: a run that something stopped counts like that of any other task. A
quarantine ends by itself, so that nobody forgets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.demands import DemandKind
from pytest_sopbench._core.judging import breaches
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import ANSWERED, NO_EVIDENCE, Outcome

from .calibration import NO_DOUBT, Doubtful, in_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """What is said of one task: that it must pass, or why it may fail, and until when.

    `may_fail` is the reason, empty if the answer must not be wrong. `may_break` are the ids of
    rules that its runs may break. With either there is an `until`, the last day on which that is
    forgiven. `issue` says where that is being worked on, or is empty.
    """

    name: TaskName
    must_pass: bool = False
    may_fail: str = ""
    may_break: tuple[str, ...] = ()
    until: date | None = None
    issue: str = ""

    def holds(self, today: date) -> bool:
        """Tell whether something is forgiven on a day."""
        return self.until is not None and today <= self.until

    def is_expired(self, today: date) -> bool:
        """Tell whether something was forgiven once, and is no longer."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgiven:
    """What is forgiven: the answers of some tasks, and rules of some by their ids; nothing else."""

    answers: frozenset[TaskName] = frozenset()
    rules: Mapping[TaskName, frozenset[str]] = field(default_factory=dict[TaskName, frozenset[str]])

    def __bool__(self) -> bool:
        return bool(self.answers or self.rules)

    def excuses(self, task: TaskName, outcome: Outcome) -> bool:
        """Tell whether gates on answers leave a run out, right or wrong."""
        return task in self.answers and outcome in ANSWERED

    def forgives(self, task: TaskName, outcome: Outcome, broken: Iterable[str]) -> bool:
        """Tell whether all that is wrong with a run is forgiven.

        Args:
            task: that of the run.
            outcome: how it ended.
            broken: the ids of the rules that it broke.
        """
        if outcome is not Outcome.CORRECT and not self.excuses(task, outcome):
            return False
        return self.forgives_rules(task, broken)

    def forgives_rules(self, task: TaskName, broken: Iterable[str]) -> bool:
        """Tell whether the runs of a task may break all of some rules."""
        return self.rules.get(task, frozenset()).issuperset(broken)

    def unforgiven(self, run: RunRecord, *, enforce: bool = False) -> tuple[RuleResult, ...]:
        """Return the broken rules that fail a run and that nothing forgives."""
        broken = breaches(run.rules, run.outcome, enforce=enforce)
        if not broken:
            return ()
        may_break = self.rules.get(_task_of(run), frozenset[str]())
        return tuple(one for one in broken if one.id not in may_break)

    def broken_rules(self, run: RunRecord) -> tuple[str, ...]:
        """Return the ids of the rules that a run broke and may break."""
        may_break = self.rules.get(_task_of(run), frozenset[str]())
        return tuple(one.id for one in run.rules if one.broken and one.id in may_break)

    def leaves_out(self, run: RunRecord, about: About) -> bool:
        """Tell whether a gate leaves a run out, by what it is about."""
        task = _task_of(run)
        if about is About.ANSWERS:
            return self.excuses(task, run.outcome)
        if about is About.RULES:
            return self._leaves_out_rules(task, [one for one in run.rules if one.broken])
        if about is About.BOTH:
            lacks = [one for one in run.rules if one.broken and one.kind == DemandKind.REQUIRES]
            if run.grounded is not False:
                return self.excuses(task, run.outcome)
            may_lack = self._leaves_out_rules(task, lacks)
            return may_lack and self.forgives(task, run.outcome, ())
        return False

    def _leaves_out_rules(self, task: TaskName, broken: Sequence[RuleResult]) -> bool:
        return bool(broken) and self.forgives_rules(task, (one.id for one in broken))


NOTHING_FORGIVEN: Final = Forgiven()


def _task_of(run: RunRecord) -> TaskName:
    return TaskName(run.domain, run.task)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntries:
    """The entries of a tasks file, by the task that each speaks of."""

    entries: Mapping[TaskName, TaskPolicy] = field(default_factory=dict[TaskName, TaskPolicy])

    def forgiven(self, today: date) -> Forgiven:
        """Return what is forgiven on a day."""
        held = [(name, one) for name, one in self.entries.items() if one.holds(today)]
        return Forgiven(
            answers=frozenset(name for name, one in held if one.may_fail),
            rules={name: frozenset(one.may_break) for name, one in held if one.may_break},
        )

    def expired(self, today: date) -> tuple[TaskPolicy, ...]:
        """Return the entries whose last day is over, in the order of the file."""
        return tuple(one for one in self.entries.values() if one.is_expired(today))

    @property
    def must_pass(self) -> frozenset[TaskName]:
        """The tasks that must pass."""
        return frozenset(name for name, one in self.entries.items() if one.must_pass)


NO_ENTRIES: Final = TaskEntries()
"""Says nothing of any task, as when a project has no tasks file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOfEntry:
    """An entry, and the runs of its task that speak for what is said of it."""

    entry: TaskPolicy
    runs: int
    correct: int
    first: RunRecord | None = None
    """The first run that is not correct, if there is one."""
    doubt: str = ""
    """Why a model judge that decided on it must not, or nothing."""
    broken: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many runs broke each of the rules that they may break, of those that any broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """What a session shows of its entries, in the order of the file.

    `failed` may fail and did; `passed` may fail, and all of their runs are correct, so that the
    entry can go. `broke` may break rules and did; `kept` may, and held all of them. `expired` are
    entries whose last day is over and whose task was run; they fail a session. `broken` must pass
    and did not; `unsure` must pass, and some run was unavailable or never started, or rests on a
    model judge that must not decide, while the others are correct, which fails it too.
    """

    failed: tuple[RunsOfEntry, ...] = ()
    passed: tuple[RunsOfEntry, ...] = ()
    broke: tuple[RunsOfEntry, ...] = ()
    kept: tuple[RunsOfEntry, ...] = ()
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
    held_today = [(one, made) for one, made in seen if one.holds(today)]
    may_fail = [(one, made) for one, made in held_today if one.may_fail]
    may_break = [
        replace(_runs_of(one, made), broken=_broken_rules(one, made))
        for one, made in held_today
        if one.may_break
    ]
    must_pass = [(one, made) for one, made in seen if one.must_pass]
    held = _of_mandatory(must_pass, doubtful)
    return PolicyReport(
        # Those of which some run came to an answer that had to be forgiven.
        failed=tuple(
            _runs_of(one, made)
            for one, made in may_fail
            if any(run.outcome in ANSWERED and run.outcome is not Outcome.CORRECT for run in made)
        ),
        passed=tuple(
            one for one in (_runs_of(*each) for each in may_fail) if one.correct == one.runs
        ),
        broke=tuple(one for one in may_break if one.broken),
        kept=tuple(one for one in may_break if not one.broken),
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
    """Say which judge decided on a run and must not, or nothing if it is known without one.

    A run that another field, or its state, makes wrong is wrong whatever the judge says.
    """
    if not doubts or run.outcome not in {Outcome.CORRECT, Outcome.WRONG}:
        return ""
    if run.state_differs or any(one.field not in doubts for one in run.mismatches):
        return ""
    field = next((one.field for one in run.mismatches), next(iter(doubts)))
    return in_doubt(run.domain, field, doubts[field])


def _broken_rules(entry: TaskPolicy, runs: Sequence[RunRecord]) -> dict[str, int]:
    """Return how many runs broke each rule that they may break, of those that any broke."""
    broken = Counter(one.id for run in runs for one in run.rules if one.broken)
    return {rule: broken[rule] for rule in entry.may_break if broken[rule]}


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
