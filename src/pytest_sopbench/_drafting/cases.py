"""Choose rows: what each branch, cut-off and changed policy needs, and labels by execution.

Rows are drawn and searched for, until each condition lies on all of its sides. Of these a few are
picked, and among them as many messy ones as are wanted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Final

from pytest_sopbench._audit.observing.covering import EQUAL, HELD, NOT_HELD, conditions_of
from pytest_sopbench._audit.observing.mutants import Mutation
from pytest_sopbench._audit.policy_source import every_number
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.policies import Ran, Texts, mutants, run_policy
from pytest_sopbench._drafting.shape import BOOLEAN, ID, KEY, NUMBER, Column, Row, Shape
from pytest_sopbench._drafting.worlds import Worlds
from pytest_sopbench._loading.load import POLICY_FILE

TASKS: Final = 40
"""Rows that a draft has, unless its branches need more."""

_DRAWN: Final = 120
_ROUNDS: Final = 6
_EACH: Final = 6
_SEARCHED: Final = 900
"""Rows that the search may try."""

_POOL: Final = 260
_TWICE: Final = 2
"""Rows that each branch and each changed policy gets, so that no row bears one alone."""

Goal = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Rows, and what two policies did on each."""

    rows: Sequence[Row]
    a: Sequence[Ran]
    b: Sequence[Ran]

    def __add__(self, other: Tried) -> Tried:
        return Tried(rows=[*self.rows, *other.rows], a=[*self.a, *other.a], b=[*self.b, *other.b])


def try_out(
    texts: Texts,
    sources: tuple[str, str],
    worlds: Worlds | None = None,
    known: Sequence[Row] = (),
    messy: int = 0,
) -> Tried:
    """Draw rows, and search for those that come to what no row has come to yet.

    The search looks at the conditions of both policies: each is to hold and not to hold, and each
    cut-off is to be met exactly. Rows that are `known` come first in what is returned. So many
    rows as are to be `messy` are drawn of irregular values alone.
    """
    worlds = worlds or Worlds(texts.shape, sources)
    rows = worlds.draw(_DRAWN)
    for row in rows[:2]:
        rows += worlds.around(row)
    rows += worlds.messy(messy)
    found = run_both(texts, sources, [*known, *rows])
    left = _SEARCHED
    for _ in range(_ROUNDS):
        more = [*_searched(worlds, found, sources)][:left]
        if not more:
            break
        left -= len(more)
        found += run_both(texts, sources, more)
    return found


def run_both(texts: Texts, sources: tuple[str, str], rows: Sequence[Row]) -> Tried:
    a = run_policy(texts, sources[0], rows)
    b = a if sources[0] == sources[1] else run_policy(texts, sources[1], rows)
    return Tried(rows=rows, a=a, b=b)


def _searched(
    worlds: Worlds, found: Tried, sources: tuple[str, str]
) -> Iterator[dict[str, JsonValue]]:
    for runs, source in ((found.a, sources[0]), (found.b, sources[1])):
        near_by = {
            (number, side): [at for at, one in enumerate(runs) if number in one.sides]
            for number, side in unreached(runs, source)
        }
        # Behind a condition that few rows come to most is still to be found; one that many rows
        # came to may have no other side.
        for (number, side), near in sorted(near_by.items(), key=lambda one: len(one[1])):
            if not near:
                # It lies behind another condition, which more rows may pass.
                yield from worlds.draw(_EACH * _EACH)
            elif side == EQUAL:
                yield from _closer(worlds, found.rows, runs, number)
            else:
                for at in worlds.some(near, _EACH):
                    yield from worlds.near(found.rows[at], _EACH)


def _closer(
    worlds: Worlds, rows: Sequence[Row], runs: Sequence[Ran], number: int
) -> Iterator[dict[str, JsonValue]]:
    """Search for a cut-off between two rows on its two sides that differ in one column alone.

    Each time the rows lie closer together, until they are one step apart.
    """
    near = [at for at, one in enumerate(runs) if number in one.sides]
    held = [at for at in near if HELD in runs[at].sides[number]]
    others = [at for at in near if NOT_HELD in runs[at].sides[number]]
    for column in (one for one in worlds.shape.columns if one.is_ordered):
        known = [at for at in near if rows[at][column.name] is not None]
        groups: dict[str, list[int]] = defaultdict(list)
        for at in known:
            groups[worlds.apart_from(rows[at], column)].append(at)
        gaps = list[tuple[Decimal, int, int]]()
        for group in groups.values():
            group.sort(key=lambda at: column.number(rows[at][column.name]))
            for one, other in pairwise(group):
                gap = column.number(rows[other][column.name]) - column.number(
                    rows[one][column.name]
                )
                if gap and runs[one].sides[number] != runs[other].sides[number]:
                    gaps.append((gap, one, other))
        if gaps:
            gap, one, other = min(gaps)
            if gap > column.step:
                yield from worlds.between(rows[one], rows[other], column)
        elif held and others:
            yield from worlds.between(rows[held[0]], rows[others[0]], column)


def unreached(runs: Sequence[Ran], source: str) -> list[tuple[int, str]]:
    """Return the conditions of a policy with the sides on which no row lies."""
    seen: dict[int, set[str]] = defaultdict(set)
    for one in runs:
        for number, sides in one.sides.items():
            seen[number] |= sides
    return [
        (number, side)
        for number, condition in enumerate(conditions_of(source))
        for side in (HELD, NOT_HELD, *((EQUAL,) if condition.is_cut_off else ()))
        if side not in seen[number]
    ]


def unreached_lines(runs: Sequence[Ran], source: str) -> Iterator[str]:
    """Say which sides no row lies on; some of them no case can have."""
    words = {HELD: "holds", NOT_HELD: "does not hold", EQUAL: "is met exactly"}
    conditions = conditions_of(source)
    for number, side in unreached(runs, source):
        one = conditions[number]
        yield f"no labelled case in which {one.text} ({POLICY_FILE}, line {one.line}) {words[side]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rows are wanted.

    Attributes:
        rows: so many, though the branches of a policy may need more.
        messy: of them, as far as there are such cases.
        is_limit: whether there may not be more rows.
    """

    rows: int = TASKS
    messy: int = 0
    is_limit: bool = False


def choose(
    texts: Texts,
    tried: Tried,
    source: str,
    is_usable: Callable[[int], bool],
    *,
    which: str,
    size: Size,
) -> tuple[Sequence[Row], Sequence[str]]:
    """Choose rows on which the reference policy is not in doubt, with their labels.

    Beside them stands what is worth knowing of them.

    Args:
        texts: what the domain is made of.
        tried: what there is to choose from.
        source: of the reference policy.
        is_usable: tells by its place whether both policies agree on a row, or people decided.
        which: whose runs label the rows: `a` or `b`.
        size: how many rows are wanted.
    """
    runs = tried.a if which == "a" else tried.b
    places = [at for at, one in enumerate(runs) if one.answer is not None and is_usable(at)]
    pool = thinned(runs, places)
    rows = [{**tried.rows[at], **(runs[at].answer or {})} for at in pool]
    mutation = mutants(texts, source, rows)
    goals = [
        {*goals_of(runs[at], texts), *noticing(mutation, place)} for place, at in enumerate(pool)
    ]
    weighed = weigh(texts, source, rows, whether_messy_alone=True)
    messy = {at for at, one in enumerate(weighed) if one.is_messy}
    labels = [label_of(runs[at]) for at in pool]
    picked = pick(goals, labels, size, messy=messy)
    # A row keeps its id whatever else is picked, so that nobody answers it twice.
    named = [{**rows[at], ID: f"C-{str(rows[at][ID])[1:]}"} for at in picked]
    return named, [*unreached_lines([runs[at] for at in places], source)]


def goals_of(ran: Ran, texts: Texts) -> Iterator[Goal]:
    for number, sides in ran.sides.items():
        yield from (("side", number, side) for side in sides)
    for name in texts.shape.output_names:
        yield "label", name, json.dumps((ran.answer or {}).get(name))


def noticing(mutation: Mutation, row: int) -> Iterator[Goal]:
    for number, one in enumerate(mutation.mutants):
        if not one.broken and row in one.fails:
            yield "mutant", number


def label_of(ran: Ran) -> str:
    return json.dumps(ran.answer, sort_keys=True)


def thinned(runs: Sequence[Ran], places: Sequence[int]) -> list[int]:
    """Leave out rows that do what many before them did, so that not all need be mutated."""
    alike: Counter[tuple[object, ...]] = Counter()
    kept = list[tuple[int, int]]()
    for at in places:
        one = runs[at]
        sides = tuple(sorted((number, *sorted(held)) for number, held in one.sides.items()))
        alike[sides, label_of(one)] += 1
        kept.append((alike[sides, label_of(one)], at))
    return sorted(at for _, at in sorted(kept)[:_POOL])


def pick(
    goals: Sequence[Collection[Goal]],
    labels: Sequence[str],
    size: Size,
    *,
    messy: Collection[int] = (),
    known: Sequence[Collection[Goal]] = (),
) -> list[int]:
    """Pick rows until each goal has two, as far as there are, and then by the rarest label.

    Args:
        goals: what each row is good for.
        labels: of the rows.
        size: how many rows are wanted.
        messy: rows that are preferred until enough of them are there.
        known: what rows are good for that are there already.
    """
    wanted = Counter({goal: _TWICE for goals_of in goals for goal in goals_of})
    wanted.subtract(goal for goals_of in known for goal in goals_of if goal in wanted)
    picked = list[int]()
    left = {*range(len(goals))}
    while left and not (size.is_limit and len(picked) >= size.rows):
        gains = {at: sum(wanted[goal] > 0 for goal in goals[at]) for at in left}
        held = Counter(labels[at] for at in picked)
        lacks = sum(at in messy for at in picked) < size.messy
        # Of rows that help alike a messy one, then the one with the rarest label, then the first.
        best = max(
            sorted(left), key=lambda at: (gains[at], lacks and at in messy, -held[labels[at]])
        )
        if not gains[best] and len(picked) >= size.rows:
            break
        picked.append(best)
        left.discard(best)
        for goal in goals[best]:
            wanted[goal] -= 1
    return sorted(picked, key=lambda at: (at * 7919) % 10_007)


# Messy cases: several things are irregular in a row, and decide by themselves or do not.
#
# A value is irregular if it lies at a cut-off or one step beside it, if it is one of the odd values
# of its column, or if a record is missing. In a column of which nearly all values lie at a cut-off,
# such as a score from 1 to 5, that is nothing irregular. Whether it decides, running the policy
# says: on the row, and on the same row with usual values in its place.

_TWO: Final = 2
"""Irregularities that decide, from which on a row is messy."""

_USUAL: Final = 2


@dataclass(kw_only=True)
class Weighed:
    """What of one row is irregular, and what decides.

    Attributes:
        irregular: columns, and tools whose record is missing.
        decides: those of all columns and missing records without which the policy does otherwise.
    """

    irregular: frozenset[str] = frozenset()
    decides: set[str] = field(default_factory=set[str])

    @property
    def is_messy(self) -> bool:
        return len(self.irregular & self.decides) >= _TWO


def weigh(
    texts: Texts, source: str, rows: Sequence[Row], *, whether_messy_alone: bool = False
) -> list[Weighed]:
    """Say of each row what is irregular in it, and what decides.

    Whether a row is messy is known from its irregular values alone, which few rows have two of:
    nothing else is run with usual values then.
    """
    shape, numbers = texts.shape, every_number(source)
    found = [Weighed(irregular=frozenset(_irregular(shape, numbers, row))) for row in rows]
    others = list[tuple[int, str, Row]]()
    for at, row in enumerate(rows):
        irregular = found[at].irregular
        if whether_messy_alone and len(irregular) < _TWO:
            continue
        for name, other in _others(shape, numbers, row, rows):
            if whether_messy_alone and name not in irregular:
                continue
            others.append((at, name, {**other, ID: f"other-{len(others)}"}))
    every = [*rows, *(row for *_, row in others)]
    did = [_did(one, row) for one, row in zip(run_policy(texts, source, every), every, strict=True)]
    for (at, name, _), done in zip(others, did[len(rows) :], strict=True):
        if done != did[at]:
            found[at].decides.add(name)
    return found


def _did(ran: Ran, row: Row) -> tuple[object, object]:
    """What the policy answered and called, whatever the id of the row."""
    calls = [
        (tool, {name: value for name, value in given.items() if value != row[ID]})
        for tool, given in ran.calls
    ]
    return ran.answer, calls


def _irregular(shape: Shape, numbers: frozenset[Decimal], row: Row) -> Iterator[str]:
    for tool in shape.tools:
        if tool.returns and all(row.get(name) is None for name in tool.returns):
            yield tool.name
    for column in shape.columns:
        value = row.get(column.name)
        if value in column.odd or (
            value is not None
            and _is_irregular(column, numbers, value)
            and not all(_is_irregular(column, numbers, one) for one in _spread(column))
        ):
            yield column.name


def _is_irregular(column: Column, numbers: frozenset[Decimal], value: object) -> bool:
    """Whether a value is odd, or lies at a number that a policy compares with."""
    if value in column.odd:
        return True
    if column.type != NUMBER or isinstance(value, bool):
        return False
    held = Decimal(str(value))
    return any(abs(held - one) <= column.step for one in numbers if column.holds(one))


def _others(
    shape: Shape, numbers: frozenset[Decimal], row: Row, rows: Sequence[Row]
) -> Iterator[tuple[str, Row]]:
    """Yield the row with usual values in place of what one column, or no record, has."""
    for tool in shape.tools:
        if tool.returns and all(row.get(name) is None for name in tool.returns):
            there = (one for one in rows if any(one.get(n) is not None for n in tool.returns))
            for _, one in zip(range(_USUAL), there, strict=False):
                yield tool.name, {**row, **{name: one[name] for name in tool.returns}}
    for column in shape.columns:
        if column.type != KEY and row.get(column.name) is not None:
            for value in _usual(column, numbers):
                if value != row[column.name]:
                    yield column.name, {**row, column.name: value}


def _usual(column: Column, numbers: frozenset[Decimal]) -> Sequence[JsonValue]:
    if column.type == BOOLEAN:
        return [True, False]
    if not column.is_ordered:
        return [*column.values][: _USUAL + 1]
    values = _spread(column)
    return [one for one in values if not _is_irregular(column, numbers, one)] or values


def _spread(column: Column) -> Sequence[JsonValue]:
    span = column.high - column.low
    return [column.value(column.low + span * part / 8) for part in (1, 7, 4)]


def messy_lines(shape: Shape, weighed: Sequence[Weighed], share: float) -> Iterator[str]:
    """Say how messy rows are, beside the share that was asked for, and which columns are noise."""
    messy = sum(one.is_messy for one in weighed)
    idle = sum(len(one.irregular - one.decides) for one in weighed)
    yield (
        f"{messy} of {len(weighed)} rows have two irregularities or more that decide"
        f" ({share:.0%} asked for); {idle} irregular values decide nothing"
    )
    deciding: dict[str, int] = defaultdict(int)
    for one in weighed:
        for name in one.decides:
            deciding[name] += 1
    noise = [one.name for one in shape.columns if one.type != KEY and not deciding[one.name]]
    yield f"noise, which decides no row: {', '.join(noise) or 'no column'}"
