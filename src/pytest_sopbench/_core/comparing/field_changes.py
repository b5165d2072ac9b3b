"""Which output fields were lost since a baseline, and whether their scores have moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics.multiple_tests import holm
from pytest_sopbench._core.statistics.paired_tests import PairedTest, paired_test
from pytest_sopbench._core.verdict import COMPLETED

from .pairs import Counts, Pair, fell_by_half

_FEW = 100
"""Paired tasks up to which scores are told apart by hundredths in the test; then by twentieths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One output field over the paired tasks: runs in which it is right, and tasks that changed.

    `lost` and `gained` count tasks in which the field's rate fell or rose by at least half.
    """

    field: str
    before: int = 0
    of_before: int = 0
    now: int = 0
    of_now: int = 0
    lost: int = 0
    gained: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """The scores of one output field over the tasks that have one in both sessions.

    `before` and `now` are the means. `test` is of the paired differences by random signs; its p is
    corrected by Holm's method where several fields have scores.
    """

    field: str
    tasks: int
    before: float
    now: float
    test: PairedTest


def field_changes(pairs: Sequence[Pair]) -> tuple[FieldChange, ...]:
    """Count field by field; nothing for one field alone, of which the tasks themselves tell."""
    names = _fields(pairs)
    return tuple(_field_change(name, pairs) for name in names) if len(names) > 1 else ()


def score_changes(pairs: Sequence[Pair]) -> tuple[ScoreChange, ...]:
    """Compare the scores that comparers gave, as they are: no threshold is laid on them again."""
    found = [one for name in _scored(pairs) if (one := _score_change(name, pairs)) is not None]
    corrected = holm([one.test.p for one in found])
    return tuple(
        replace(one, test=replace(one.test, p=p)) for one, p in zip(found, corrected, strict=True)
    )


def _fields(pairs: Sequence[Pair]) -> list[str]:
    # Fields of several domains are others, though they may be called the same.
    if len({pair.key.domain for pair in pairs}) != 1:
        return []
    runs = (pair.current[0] for pair in pairs)
    return list(dict.fromkeys(name for run in runs for name in _asked(run)))


def _asked(run: RunRecord) -> Iterator[str]:
    return (name for name in run.expected if name not in run.ignored)


def _field_change(name: str, pairs: Sequence[Pair]) -> FieldChange:
    counts: list[Counts] = [
        (*_right(name, pair.baseline), *_right(name, pair.current)) for pair in pairs
    ]
    before, of_before, now, of_now = (sum(one[place] for one in counts) for place in range(4))
    return FieldChange(
        field=name,
        before=before,
        of_before=of_before,
        now=now,
        of_now=of_now,
        lost=sum(fell_by_half(one) for one in counts),
        gained=sum(fell_by_half((*one[2:], *one[:2])) for one in counts),
    )


def _right(name: str, runs: Sequence[RunRecord]) -> tuple[int, int]:
    right = sum(
        run.outcome in COMPLETED
        and name in run.expected
        and all(one.field != name for one in run.mismatches)
        for run in runs
    )
    return right, len(runs)


def _scored(pairs: Sequence[Pair]) -> list[str]:
    if len({pair.key.domain for pair in pairs}) != 1:
        return []
    runs = (run for pair in pairs for run in pair.current)
    found = (one.field for run in runs for one in run.compared if one.score is not None)
    return list(dict.fromkeys(found))


def _score_change(name: str, pairs: Sequence[Pair]) -> ScoreChange | None:
    both = [(_mean(name, pair.baseline), _mean(name, pair.current)) for pair in pairs]
    scores = [(was, now) for was, now in both if was is not None and now is not None]
    if not scores:
        return None
    unit = 100 if len(scores) <= _FEW else 20
    tested = paired_test([round((now - was) * unit) for was, now in scores])
    before, after = (float(sum(one[side] for one in scores) / len(scores)) for side in (0, 1))
    return ScoreChange(field=name, tasks=len(scores), before=before, now=after, test=tested)


def _mean(name: str, runs: Sequence[RunRecord]) -> Fraction | None:
    """Return the mean of the best score in each run that has one."""
    best = [
        max(scores)
        for run in runs
        if (
            scores := [
                one.score for one in run.compared if one.field == name and one.score is not None
            ]
        )
    ]
    return sum(map(Fraction, best), Fraction(0)) / len(best) if best else None
