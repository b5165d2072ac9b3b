"""Find an order of a run's calls that is one of the expected orders as well.

Both sides are interval orders (`overlap`). A run keeps to what is expected where some order of
both sides pairs each expected call with one that answers it. Two interval orders can be merged
exactly where no two pairs stand in opposite order in them: a longer contradiction always has a
shorter one inside, so pairs of pairs are all that has to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from .overlap import Span

Law: TypeAlias = Literal["mergeable", "kept"]
"""`mergeable`: no order of one side contradicts the other. `kept`: the run has each expected
order, so that what was expected to end before another call began did."""

Matrix: TypeAlias = Sequence[Sequence[bool]]
"""Whether an expected call, by its position, is answered by an actual one."""

MOST: Final = 10_000
"""Steps of a search. Where many calls fit many patterns it is hard, and what takes longer fails."""


def joined(
    same: Matrix, expected: Sequence[Span], actual: Sequence[Span], *, law: Law, whole: bool
) -> list[tuple[int, int]] | None:
    """Pair every expected call with an actual one that answers it, in an order of both.

    Args:
        same: which actual calls answer which expected ones.
        expected: the spans of the expected calls, in the order in which they begin.
        actual: those of the actual ones.
        law: what the orders of the two sides have to do with each other.
        whole: whether no actual call may be left.

    Returns:
        The pairs by position, or `None` where there are none, or none were found in time.
    """
    spare = len(actual) - len(expected)
    if spare < 0 or (whole and spare) or not all(map(any, same)):
        return None
    if not expected:
        return []
    columns = [sum(row[at] << place for place, row in enumerate(same)) for at in range(len(actual))]
    sequence = all(one.first == at for at, one in enumerate(expected))
    return _Joining(
        same=same,
        expected=expected,
        low=[one.first if law == "mergeable" else one.last + 1 for one in actual],
        high=[one.last if law == "mergeable" else one.first for one in actual],
        twin=_twins(columns, actual),
        whole=whole,
        decided=whole and law == "mergeable" and sequence and _are_kinds(columns),
    ).search()


@dataclass(slots=True, kw_only=True)
class _Joining:
    """One search: expected calls are answered one by one, in the order in which they begin.

    What is used for one of them sets a floor for those that it stands before. `low` is the floor
    that the use of an actual call sets, `high` the highest one at which it can be used. `twin` is
    the call before it that cannot be told from it, or -1. With `decided` the first choice at each
    step is as good as any: of calls of one kind, the one that ends first.
    """

    same: Matrix
    expected: Sequence[Span]
    low: Sequence[int]
    high: Sequence[int]
    twin: Sequence[int]
    whole: bool
    decided: bool
    dead: set[object] = field(default_factory=set[object])

    def search(self) -> list[tuple[int, int]] | None:
        chosen: list[int] = []
        choices = [self._choices(chosen)]
        for _ in range(MOST + len(self.expected)):
            step = next(choices[-1], None)
            if step is not None:
                chosen.append(step)
                if len(chosen) == len(self.expected):
                    return list(enumerate(chosen))
                choices.append(self._choices(chosen))
                continue
            choices.pop()
            if not choices:
                return None
            self.dead.add(self._state(chosen))
            chosen.pop()
        return None

    def _choices(self, chosen: Sequence[int]) -> Iterator[int]:
        if self.dead and self._state(chosen) in self.dead:
            return iter(())
        place, used = len(chosen), frozenset(chosen)
        floor = self._floor(chosen)
        free = [step for step in range(len(self.low)) if step not in used]
        if self.whole and any(self.high[step] < floor for step in free):
            # What is left behind can never be used.
            return iter(())
        fit = [
            step
            for step in free
            if self.same[place][step]
            and self.high[step] >= floor
            and (self.twin[step] < 0 or self.twin[step] in used)
        ]
        fit.sort(key=lambda step: (self.high[step], self.low[step], step != place))
        return iter(fit[:1] if self.decided else fit)

    def _floor(self, chosen: Sequence[int]) -> int:
        """Return the floor for the expected call that is to be answered next."""
        begins = self.expected[len(chosen)].first
        return max(
            (
                self.low[step]
                for one, step in zip(self.expected, chosen, strict=False)
                if one.last < begins
            ),
            default=0,
        )

    def _state(self, chosen: Sequence[int]) -> object:
        """Return what decides whether the rest can be answered, and no more of the past."""
        floor = self._floor(chosen)
        begins = self.expected[len(chosen)].first
        later: dict[int, int] = {}
        for one, step in zip(self.expected, chosen, strict=False):
            if one.last >= begins:
                later[one.last] = max(later.get(one.last, 0), self.low[step])
        used = frozenset(step for step in chosen if self.high[step] >= floor)
        return len(chosen), floor, used, frozenset(later.items())


def laid_out(
    same: Matrix, expected: Sequence[Span], actual: Sequence[Span]
) -> tuple[list[int], list[int]]:
    """Return an order of each side in which as many calls as are seen at once lie side by side.

    Where `same` is the pairs of a merge, all of them do.
    """
    places, steps = list(range(len(expected))), list(range(len(actual)))
    laid: tuple[list[int], list[int]] = [], []
    while places and steps:
        first, second = _ready(places, expected), _ready(steps, actual)
        pair = next(((p, s) for p in first for s in second if same[p][s]), None)
        place, step = pair or _lone(same, places, steps, first, second)
        for one, side, order in ((place, places, laid[0]), (step, steps, laid[1])):
            if one is not None:
                side.remove(one)
                order.append(one)
    return [*laid[0], *places], [*laid[1], *steps]


def _lone(
    same: Matrix,
    places: Sequence[int],
    steps: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
) -> tuple[int | None, int | None]:
    """Choose what is to stand alone where no two calls that are ready answer each other."""
    extra = next((s for s in second if not any(same[p][s] for p in places)), None)
    if extra is not None:
        return None, extra
    missing = next((p for p in first if not any(same[p][s] for s in steps)), None)
    return (missing, None) if missing is not None else (None, second[0])


def _ready(left: Sequence[int], spans: Sequence[Span]) -> list[int]:
    ends = min(spans[at].last for at in left)
    return [at for at in left if spans[at].first <= ends]


def _twins(columns: Sequence[int], actual: Sequence[Span]) -> list[int]:
    last: dict[object, int] = {}
    twins: list[int] = []
    for step, (column, span) in enumerate(zip(columns, actual, strict=True)):
        twins.append(last.get((column, span), -1))
        last[column, span] = step
    return twins


def _are_kinds(columns: Sequence[int]) -> bool:
    """Whether two calls that answer one expected call answer all the same ones."""
    kinds = {column for column in columns if column}
    together = 0
    for column in kinds:
        if together & column:
            return False
        together |= column
    return True
