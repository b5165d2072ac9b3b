"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

Readings, plates and papers meddle little with one another, so that a row is of one case of each.
Labels and expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from bundled_domains.aircraft_inspection.aircraft import FOLDER, Row, Sheet, heading, settled
from bundled_domains.aircraft_inspection.cases import (
    Case,
    condition_cases,
    paper_cases,
    part_cases,
    reading_cases,
    suits,
)
from bundled_domains.generator import Dice, Generator, first_kept

SEED = 7
ROWS = 150
MOST_OF_A_LABEL = 67
MOST_CASES = 3
TRIES = 60
GROUNDED_FIRST = (
    "quarantine",
    "too-heavy",
    "boundary-heaviest",
    "boundary-departure",
    "boundary-oxy",
)
WIDE = 5
"""A case that touches so much is wide, and is laid out while there is room for it."""

ORDER = ("shows", "spoils", "")


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    dice = Dice(SEED)
    numbers = dice.shuffled(range(40_000, 59_000))
    tails = dice.shuffled(map("".join, itertools.product("ABDEFGHKLM", "ACEIOUYN", "BDFKLMRST")))
    seen: Counter[tuple[str, str]] = Counter()
    found: list[Row] = []
    piles = _together(dice)
    for place, pile in enumerate(piles):
        while (sheet := _sheet(dice, pile, (numbers[place], f"SK-{tails[place]}"), seen)) is None:
            # What does not go together after all is parted, and finds another place later on.
            _laid(pile.pop(), piles[place + 1 :])
        seen.update(sheet.entries.items())
        tags = sorted({tag for case in pile for tag in case.tags.split(",") if tag})
        found.append(sheet.row | {"tags": ",".join(tags)})
    return dice.shuffled(found)


def _together(dice: Dice) -> list[list[Case]]:
    """Cases by row, up to three that do not meddle with one another."""
    piles: list[list[Case]] = [[] for _ in range(ROWS)]
    every = [
        *itertools.chain(reading_cases(), condition_cases(), part_cases(), paper_cases()),
    ]
    drawn = dice.shuffled(_each(every))
    # Those that are seen by the standing are laid out first, since they bear least beside them.
    for case in sorted(drawn, key=_narrowness):
        free = [pile for pile in piles if len(pile) < MOST_CASES and _agree([*pile, case])]
        rank = [_rank(pile, case) for pile in free]
        dice.pick([pile for pile, one in zip(free, rank, strict=True) if one == min(rank)]).append(
            case
        )
    return sorted(piles, key=_last)


def _laid(case: Case, piles: Sequence[list[Case]]) -> None:
    """Put a case to the first of these that it goes with."""
    free = (pile for pile in piles if len(pile) < MOST_CASES and _agree([*pile, case]))
    if (pile := next(free, None)) is None:
        msg = f"no aircraft is left for a case of {case.tags}"
        raise SystemExit(msg)
    pile.append(case)


def _narrowness(case: Case) -> tuple[bool, int, bool, bool]:
    """Least goes beside a case that bars deferred items, so that what may is laid out early."""
    barring = "calm" in case.touches
    wide = len(case.touches) >= WIDE
    return not barring, ORDER.index(case.standing), not wide, "deferred" in case.touches


def _rank(pile: Sequence[Case], case: Case) -> tuple[bool, bool, int]:
    """Aircraft that cannot go are to be few, so that what spoils one stands beside its like.

    What bars deferred items leaves room for little, which is then to go there.
    """
    beside_its_like = case.standing == "spoils" and any(one.standing == "spoils" for one in pile)
    welcome = "deferred" not in case.touches and any("calm" in one.touches for one in pile)
    return not beside_its_like, not welcome, -len(pile) if beside_its_like else len(pile)


def _last(pile: Sequence[Case]) -> tuple[int, int]:
    """What has little choice among labels is drawn first, while none is frequent yet."""
    grounded = any(case.tags.split(",")[0] in GROUNDED_FIRST for case in pile)
    standings = {case.standing for case in pile}
    calm = any("calm" in case.touches for case in pile)
    choice = (grounded, "spoils" in standings, "shows" in standings, calm, True)
    return choice.index(True), -len(pile)


def _each(cases: Iterable[Case]) -> list[Case]:
    return list(itertools.chain.from_iterable([case] * case.rows for case in cases))


def _agree(cases: Sequence[Case]) -> bool:
    """Whether one aircraft can be of the kind of each of them, and no two meddle."""
    touched = [what for case in cases for what in case.touches if what != "deferred"]
    deferred = any("deferred" in case.touches for case in cases)
    standings = [case.standing for case in cases]
    if len(set(touched)) < len(touched) or (deferred and "calm" in touched):
        return False
    if standings.count("shows") > 1 or {"shows", "spoils"} <= set(standings):
        return False
    return _kind(cases) is not None


def _kind(cases: Iterable[Case]) -> Row | None:
    """What all of them ask of an aircraft; nothing if they contradict each other."""
    allowed: dict[str, set[object]] = {}
    for case in cases:
        for name, value in case.kind.items():
            values = set(_alternatives(value))
            allowed[name] = allowed.get(name, values) & values
    if not all(allowed.values()):
        return None
    return {name: tuple(values) for name, values in allowed.items()}


def _alternatives(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


def _sheet(
    dice: Dice, cases: Sequence[Case], names: tuple[int, str], seen: Counter[tuple[str, str]]
) -> Sheet | None:
    """The first drawn sheet that is of all these cases and of no label that is frequent already."""
    kind = _kind(cases) or {}
    touched = {what for case in cases for what in case.touches}
    for _ in range(TRIES):
        head = first_kept(lambda: heading(dice, *names), lambda one: suits(one, kind), str(kind))
        row = settled(dice, head, needed=touched)
        for case in cases:
            row = case.change(dice, row)
        sheet = Sheet(row)
        if all(seen[entry] < MOST_OF_A_LABEL for entry in sheet.entries.items()) and all(
            case.wanted(sheet) for case in cases
        ):
            return sheet
    return None


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
