"""How each metric changed over paired tasks, with an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics.bootstrap import Bounds, bootstrap
from pytest_sopbench._core.statistics.paired_tests import newcombe
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .pairs import Counts, Pair

NEWCOMBE: Final = "Newcombe"
BOOTSTRAP: Final = "bootstrap over tasks"

_Kind = TypeVar("_Kind", bound=Hashable)

_End: TypeAlias = tuple[Outcome, bool | None]
"""How a run ended, and whether it lacks no tool that its task requires."""

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
    """Return the changes of `tsr`, `ecr`, `c_tsr` and `grounded_tsr`.

    With one trial of each task the intervals are Newcombe's; with several, and for C-TSR, which
    divides by another number in each session, they are of a bootstrap over the tasks. With
    several trials a rate is the mean over tasks.
    """
    # Once: the pairs of a large session are many, and of a few kinds.
    ends = Counter((_ends(pair.baseline), _ends(pair.current)) for pair in pairs)
    return {
        "tsr": _change(ends, _is_correct),
        "ecr": _change(ends, _is_completed),
        "c_tsr": _ratio_change(ends),
        "grounded_tsr": _change(ends, _is_grounded) if _both_require(ends) else Change(),
    }


def _ends(runs: Sequence[RunRecord]) -> _Ends:
    if len(runs) == 1:
        return ((runs[0].outcome, runs[0].grounded),)
    return tuple([(run.outcome, run.grounded) for run in runs])


def _is_correct(end: _End) -> bool:
    return end[0] is Outcome.CORRECT


def _is_completed(end: _End) -> bool:
    return end[0] in COMPLETED


def _is_grounded(end: _End) -> bool:
    return end[0] is Outcome.CORRECT and end[1] is not False


def _both_require(ends: _PairEnds) -> bool:
    return all(
        any(grounded is not None for pair in ends for _, grounded in pair[side]) for side in (0, 1)
    )


def _change(ends: _PairEnds, counts: Callable[[_End], bool]) -> Change:
    if not ends:
        return Change()
    tasks = sum(ends.values())
    kinds: Counter[Counts] = Counter()
    for (was, now), number in ends.items():
        kinds[*_share(was, counts), *_share(now, counts)] += number
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


def _ratio_change(ends: _PairEnds) -> Change:
    """Return the change of correct runs / completed runs."""
    kinds: Counter[Counts] = Counter()
    for (was, now), number in ends.items():
        kinds[*_right_of_done(was), *_right_of_done(now)] += number
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


def _right_of_done(ends: _Ends) -> tuple[int, int]:
    return sum(map(_is_correct, ends)), sum(map(_is_completed, ends))


def _share(ends: _Ends, counts: Callable[[_End], bool]) -> tuple[int, int]:
    return sum(map(counts, ends)), len(ends)
