"""How each metric changed over paired tasks, with an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics.bootstrap import Bounds, bootstrap
from pytest_sopbench._core.statistics.paired_tests import newcombe
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .pairs import Counts, Pair

NEWCOMBE: Final = "Newcombe"
BOOTSTRAP: Final = "bootstrap over tasks"

_Kind = TypeVar("_Kind", bound=Hashable)


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
    return {
        "tsr": _change(pairs, _is_correct),
        "ecr": _change(pairs, _is_completed),
        "c_tsr": _ratio_change(pairs),
        "grounded_tsr": _change(pairs, _is_grounded) if _both_require(pairs) else Change(),
    }


def _is_correct(run: RunRecord) -> bool:
    return run.outcome is Outcome.CORRECT


def _is_completed(run: RunRecord) -> bool:
    return run.outcome in COMPLETED


def _is_grounded(run: RunRecord) -> bool:
    return run.outcome is Outcome.CORRECT and run.grounded is not False


def _both_require(pairs: Sequence[Pair]) -> bool:
    sides = [pair.baseline for pair in pairs], [pair.current for pair in pairs]
    return all(any(run.grounded is not None for runs in side for run in runs) for side in sides)


def _change(pairs: Sequence[Pair], counts: Callable[[RunRecord], bool]) -> Change:
    if not pairs:
        return Change()
    kinds = Counter(
        (*_share(pair.baseline, counts), *_share(pair.current, counts)) for pair in pairs
    )
    # Few kinds of tasks, however many tasks: fractions of each would take longer than all else.
    rates = {
        (was, of_was, now, of_now): (Fraction(was, of_was), Fraction(now, of_now))
        for was, of_was, now, of_now in kinds
    }
    before, after = (
        float(sum(rates[kind][side] * number for kind, number in kinds.items()) / len(pairs))
        for side in (0, 1)
    )
    if all(pair.single for pair in pairs):
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


def _ratio_change(pairs: Sequence[Pair]) -> Change:
    """Return the change of correct runs / completed runs."""
    kinds = Counter(
        (*_right_of_done(pair.baseline), *_right_of_done(pair.current)) for pair in pairs
    )
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


def _right_of_done(runs: Sequence[RunRecord]) -> tuple[int, int]:
    return sum(map(_is_correct, runs)), sum(map(_is_completed, runs))


def _share(runs: Sequence[RunRecord], counts: Callable[[RunRecord], bool]) -> tuple[int, int]:
    return sum(map(counts, runs)), len(runs)
