"""Put the runs of two sessions side by side, task by task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from pytest_sopbench._core.metrics.trials import NO_EVIDENCE
from pytest_sopbench._core.model.keys import TaskKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import ANSWERED, Outcome


class NotCompared(StrEnum):
    """Why a task that one of the sessions has is not compared."""

    ONLY_BASELINE = "only in the baseline"
    ONLY_CURRENT = "only in this session"
    CHANGED = "the task itself changed"
    NO_EVIDENCE = "unavailable or never started"


PAIRED_SHARE: Final = 0.8
"""The share of the tasks that must be paired before anything is said of all of them."""

Counts: TypeAlias = tuple[int, int, int, int]
"""Parts and wholes of a task: part and whole in the baseline, part and whole now."""


def fell_by_half(counts: Counts) -> bool:
    """Tell whether a rate fell by at least half; in whole numbers, since fractions are slow."""
    was, of_was, now, of_now = counts
    return 2 * (was * of_now - now * of_was) >= of_was * of_now


class Pair(NamedTuple):
    """One task with its runs in both sessions: those in which the agent could show what it does."""

    # Not a dataclass: a large session has a hundred thousand, and a tuple is made in a third.

    key: TaskKey
    baseline: tuple[RunRecord, ...]
    current: tuple[RunRecord, ...]

    @property
    def single(self) -> bool:
        """Whether both sessions have one trial of the task."""
        return len(self.baseline) == len(self.current) == 1

    @property
    def counts(self) -> Counts:
        """Correct runs and runs, in the baseline and now."""
        return *_right_of(self.baseline), *_right_of(self.current)

    @property
    def before(self) -> Fraction:
        """The share of correct runs in the baseline."""
        return Fraction(*_right_of(self.baseline))

    @property
    def after(self) -> Fraction:
        """The share of correct runs in the current session."""
        return Fraction(*_right_of(self.current))

    @property
    def lost(self) -> bool:
        """Whether the rate fell by at least half; with one trial: correct before, not now."""
        return fell_by_half(self.counts)

    @property
    def gained(self) -> bool:
        """Whether the rate rose by at least half; with one trial: not correct before, now."""
        was, of_was, now, of_now = self.counts
        return fell_by_half((now, of_now, was, of_was))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The tasks that are compared, and those that are not, with the reason.

    `left_out` are tasks of the baseline that options left out of the current session: nobody
    asked for them, so they are neither compared nor missing. Nor are those that `may_fail`.
    `outcomes` are those of all other runs of the current session, compared or not.
    """

    pairs: tuple[Pair, ...] = ()
    aside: Mapping[TaskKey, NotCompared] = field(default_factory=dict[TaskKey, NotCompared])
    left_out: tuple[TaskKey, ...] = ()
    may_fail: tuple[TaskKey, ...] = ()
    outcomes: Mapping[TaskKey, tuple[Outcome, ...]] = field(
        default_factory=dict[TaskKey, tuple[Outcome, ...]]
    )

    @property
    def tasks(self) -> int:
        """Tasks that are compared or should have been."""
        return len(self.pairs) + len(self.aside)

    def of(self, domain: str, agent: str) -> Pairs:
        """Return the part that belongs to an agent in a domain."""
        return self._where(lambda key: key.is_of(domain, agent))

    def by(self, agent: str) -> Pairs:
        """Return the part that belongs to an agent."""
        return self._where(lambda key: key.agent == agent)

    def _where(self, is_meant: Callable[[TaskKey], bool]) -> Pairs:
        return Pairs(
            pairs=tuple(pair for pair in self.pairs if is_meant(pair.key)),
            aside={key: why for key, why in self.aside.items() if is_meant(key)},
            left_out=tuple(key for key in self.left_out if is_meant(key)),
            may_fail=tuple(key for key in self.may_fail if is_meant(key)),
            outcomes={key: ends for key, ends in self.outcomes.items() if is_meant(key)},
        )


def pair_runs(
    baseline: Iterable[RunRecord],
    current: Iterable[RunRecord],
    *,
    left_out: Collection[tuple[str, str]] = (),
    may_fail: Collection[tuple[str, str]] = (),
) -> Pairs:
    """Pair the tasks of two sessions by domain and task, in the order of the current one.

    Where one of the sessions has several agents they are paired by name; else one agent is
    compared with the other, whatever they are called. Runs that were unavailable or never
    started are no evidence for or against the agent: they are left out of their task's trials,
    and a task that has no other is set aside.

    Args:
        baseline: the runs of the session that was accepted.
        current: the runs of the session in question.
        left_out: (domain, task) of what options left out of the current session.
        may_fail: (domain, task) of what may fail, and so proves nothing, unless something stopped
            one of its runs.
    """
    old, new = list(baseline), list(current)
    several = max(len({run.agent for run in runs}) for runs in (old, new)) > 1
    before = _by_task(old, several=several)
    after = _by_task(new, before, several=several)
    skipped, names = set(left_out), set(may_fail)
    excused = {
        key
        for key in chain(before, after)
        if key[:2] in names and all(run.outcome in ANSWERED for run in after.get(key, ()))
    }
    pairs: list[Pair] = []
    aside: dict[TaskKey, NotCompared] = {}
    unasked: list[TaskKey] = []
    for key in chain(after, (key for key in before if key not in after)):
        was, now = before.get(key, ()), after.get(key, ())
        if key in excused:
            continue
        if not now and key[:2] in skipped:
            unasked.append(key)
            continue
        why = _why_not(was, now)
        if why:
            aside[key] = why
        else:
            pairs.append(Pair(key, _telling(was), _telling(now)))
    # Each of the tables of a large session takes as much as what is made of it below.
    before = {}
    return Pairs(
        pairs=tuple(pairs),
        aside=aside,
        left_out=tuple(unasked),
        may_fail=tuple(key for key in after if key in excused),
        outcomes={
            key: _ONCE[runs[0].outcome] if len(runs) == 1 else tuple(run.outcome for run in runs)
            for key, runs in after.items()
            if key not in excused
        },
    )


_Runs: TypeAlias = Mapping[TaskKey, tuple[RunRecord, ...]]


def _by_task(
    runs: Sequence[RunRecord], others: _Runs = MappingProxyType({}), *, several: bool
) -> _Runs:
    """Group runs by their tasks; those of `others` are known by the same keys."""
    tasks: dict[TaskKey, tuple[RunRecord, ...]] = {}
    # Two sessions have most of their keys in common, which are as large as all else here.
    known = {key: key for key in others}
    for run in runs:
        key = TaskKey(run.domain, run.task, run.agent if several else "")
        key = known.get(key, key)
        # Tuples, since nearly all tasks of a large session have one run: lists take twice as much.
        tasks[key] = (*tasks[key], run) if key in tasks else (run,)
    return tasks


def _why_not(was: tuple[RunRecord, ...], now: tuple[RunRecord, ...]) -> NotCompared | None:
    if not now:
        return NotCompared.ONLY_BASELINE
    if not was:
        return NotCompared.ONLY_CURRENT
    if not (_telling(was) and _telling(now)):
        return NotCompared.NO_EVIDENCE
    if was[0].task_hash == now[0].task_hash and len(was) == len(now) == 1:
        return None
    before, after = _hashes(was), _hashes(now)
    if before and after and before != after:
        return NotCompared.CHANGED
    return None


def _hashes(runs: Sequence[RunRecord]) -> set[str]:
    # Of a run that died with its process nothing is known but that it was begun.
    return {run.task_hash for run in runs if run.task_hash}


def _telling(runs: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    if len(runs) == 1:
        return () if runs[0].outcome in NO_EVIDENCE else runs
    return tuple(run for run in runs if run.outcome not in NO_EVIDENCE)


_ONCE: Final = {one: (one,) for one in Outcome}
"""The outcomes of a task that was run once, which nearly all are: a large session has few."""


def _right_of(runs: Sequence[RunRecord]) -> tuple[int, int]:
    if len(runs) == 1:
        return int(runs[0].outcome is Outcome.CORRECT), 1
    return sum(run.outcome is Outcome.CORRECT for run in runs), len(runs)
