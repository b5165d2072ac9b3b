"""How each metric changed over paired tasks, with an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar

from pytest_sopbench._core.metrics.metric import METRICS, PerRun
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics.bootstrap import Bounds, bootstrap
from pytest_sopbench._core.statistics.paired_tests import newcombe

from .pairs import Counts, Pair

NEWCOMBE: Final = "Newcombe"
BOOTSTRAP: Final = "bootstrap over tasks"

_Kind = TypeVar("_Kind", bound=Hashable)

_End: TypeAlias = tuple[bool | None, ...]
"""What each metric that is compared says of a run."""

_Ends: TypeAlias = tuple[_End, ...]
_PairEnds: TypeAlias = Mapping[tuple[_Ends, _Ends], int]
"""The ends of a task's runs in both sessions, to the tasks that ended so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric in both sessions, over the same tasks; a rate with nothing to divide is `None`.

    `bounds` are those of the difference, 95 %; `None` where no method has any to give, as where
    all tasks changed alike over several trials. `method` says how they were found.
    """

    before: float | None = None
    after: float | None = None
    bounds: Bounds | None = None
    method: str = ""

    @property
    def difference(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


def changes_of(pairs: Sequence[Pair]) -> dict[str, Change]:
    """Return the changes of every metric that says something of single runs.

    With one trial of each task the intervals are Newcombe's; with several, and for a metric that
    does not divide by all runs, they are of a bootstrap over the tasks. With
    several trials a rate is the mean over tasks.
    """
    compared = {name: one.per_run for name, one in METRICS.items() if one.per_run is not None}
    marks = [one.of for one in compared.values()]
    # Once: the pairs of a large session are many, and of a few kinds.
    ends = Counter((_ends(pair.baseline, marks), _ends(pair.current, marks)) for pair in pairs)
    return {
        name: _change_of(one, ends, place) if _both_have(one, pairs) else Change()
        for place, (name, one) in enumerate(compared.items())
    }


def _ends(runs: Sequence[RunRecord], marks: Sequence[Callable[[RunRecord], bool | None]]) -> _Ends:
    if len(runs) == 1:
        return (tuple([mark(runs[0]) for mark in marks]),)
    return tuple([tuple([mark(run) for mark in marks]) for run in runs])


def _both_have(metric: PerRun, pairs: Sequence[Pair]) -> bool:
    return any(metric.applies(run) for pair in pairs for run in pair.baseline) and any(
        metric.applies(run) for pair in pairs for run in pair.current
    )


def _change_of(metric: PerRun, ends: _PairEnds, place: int) -> Change:
    # What says something of each run divides by all of them, as a rate of every run does.
    is_of_all = metric.every or all(
        end[place] is not None for pair in ends for side in pair for end in side
    )
    return _change(ends, place) if is_of_all else _ratio_change(ends, place)


def _change(ends: _PairEnds, place: int) -> Change:
    tasks = sum(ends.values())
    kinds: Counter[Counts] = Counter()
    for (was, now), number in ends.items():
        kinds[*_share(was, place), *_share(now, place)] += number
    # Few kinds of tasks, however many tasks: fractions of each would take longer than all else.
    rates = {
        (was, of_was, now, of_now): (Fraction(was, of_was), Fraction(now, of_now))
        for was, of_was, now, of_now in kinds
    }
    before, after = (
        float(sum(rates[kind][side] * number for kind, number in kinds.items()) / tasks)
        for side in (0, 1)
    )
    if all(of_was == of_now == 1 for _, of_was, _, of_now in kinds):
        both, lost, gained, neither = (
            kinds[was, 1, now, 1] for was, now in ((1, 1), (1, 0), (0, 1), (0, 0))
        )
        bounds = newcombe(both, lost, gained, neither)
        return Change(before=before, after=after, bounds=bounds, method=NEWCOMBE)
    differences: Counter[float] = Counter()
    for kind, number in kinds.items():
        differences[float(rates[kind][1] - rates[kind][0])] += number
    bounds = _bootstrap(differences, _mean)
    return Change(before=before, after=after, bounds=bounds, method=BOOTSTRAP)


def _ratio_change(ends: _PairEnds, place: int) -> Change:
    """Return the change of a rate that divides by those runs alone of which it says something."""
    kinds: Counter[Counts] = Counter()
    for (was, now), number in ends.items():
        kinds[*_part(was, place), *_part(now, place)] += number
    before, after = _ratios(kinds)
    if before is None or after is None:
        return Change(before=before, after=after)
    bounds = _bootstrap(kinds, _ratio_difference)
    return Change(before=before, after=after, bounds=bounds, method=BOOTSTRAP)


def _bootstrap(
    kinds: Mapping[_Kind, int], rate: Callable[[Mapping[_Kind, int]], float | None]
) -> Bounds | None:
    (bounds,) = bootstrap(kinds, lambda drawn: (rate(drawn),))
    # Without any spread the bootstrap would claim certainty.
    return bounds if bounds and bounds[0] < bounds[1] else None


def _mean(kinds: Mapping[float, int]) -> float:
    return sum(value * number for value, number in kinds.items()) / sum(kinds.values())


def _ratio_difference(kinds: Mapping[Counts, int]) -> float | None:
    before, after = _ratios(kinds)
    return None if before is None or after is None else after - before


def _ratios(kinds: Mapping[Counts, int]) -> tuple[float | None, float | None]:
    was, was_of, now, now_of = (
        sum(kind[place] * number for kind, number in kinds.items()) for place in range(4)
    )
    return (was / was_of if was_of else None), (now / now_of if now_of else None)


def _part(ends: _Ends, place: int) -> tuple[int, int]:
    marks = [end[place] for end in ends]
    return sum(mark is True for mark in marks), sum(mark is not None for mark in marks)


def _share(ends: _Ends, place: int) -> tuple[int, int]:
    return sum(end[place] is True for end in ends), len(ends)
