"""Write `data.csv` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

A plain case is drawn and several irregularities are put into it. It is kept if those that it is
wanted for matter. Labels and expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from bundled_domains.content_flagging.cases import (
    FOLDER,
    POLICY,
    Row,
    draft,
    facts_of,
    holds_together,
    square_of,
)
from bundled_domains.content_flagging.irregularities import irregularities
from bundled_domains.generator import Dice, Generator

SEED = 40
ROWS = 226
MOST_TOGETHER = 3
TURNS_IN_COMPANY = 25
TURNS = 1_000
OF_A_SQUARE = 3
SQUARES = [
    (row, column)
    for row in POLICY["SHEET"]
    for column in POLICY["COLUMNS"]
    if row != "none" or column == "machine"  # clause 18
]


class Desk:
    """Draws cases until each irregularity and each square has as many as it is to have."""

    def __init__(self) -> None:
        self._dice = Dice(SEED)
        self._numbers = iter(self._dice.shuffled(range(10_000, 40_000)))
        self._kinds = tuple(irregularities())
        self._wanted = [kind.rows for kind in self._kinds]

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for place in range(len(self._kinds)):
            while self._wanted[place] > 0:
                found.append(self._with(place))
        met = Counter(square_of(row) for row in found)
        for square in SQUARES:
            found += [self._at(square) for _ in range(OF_A_SQUARE - met[square])]
        while len(found) < ROWS:
            found.append(self._with(self._dice.below(len(self._kinds))))
        if len(found) > ROWS:
            msg = f"{len(found)} cases, {ROWS} wanted"
            raise SystemExit(msg)
        return self._dice.shuffled(found)

    def _with(self, place: int) -> Row:
        """A case in which this irregularity matters, and others that are still wanted."""
        number = next(self._numbers)
        for turn in range(TURNS):
            # What ends a case early leaves room for no company, so that less and less is asked.
            company = max(0, MOST_TOGETHER - 1 - turn // TURNS_IN_COMPANY)
            together = self._together(place, company)
            row = draft(self._dice, number)
            facts: dict[int, set[tuple[str, ...]]] = {}
            for one in together:
                before, row = facts_of(row), self._kinds[one].put(self._dice, row)
                facts[one] = facts_of(row) - before
            there = facts_of(row)
            # What another has written over is in the case no more.
            left = [one for one in together if facts[one] <= there]
            if place not in left or not holds_together(row):
                continue
            matter = [one for one in left if self._kinds[one].matters(row)]
            if place not in matter:
                continue
            if len(matter) > min(company, 1):
                for one in matter:
                    self._wanted[one] -= 1
                return _tagged(row, (self._kinds[one].tag for one in matter))
        msg = f"no case in which {self._kinds[place].tag} matters"
        raise SystemExit(msg)

    def _together(self, place: int, company: int) -> list[int]:
        """This irregularity and so many others in any order, of which one is wanted if there is."""
        unmet = [one for one, rows in enumerate(self._wanted) if rows > 0]
        others = [self._dice.pick(unmet or [place])][:company]
        while len(others) < company:
            others.append(self._dice.below(len(self._kinds)))
        return self._dice.shuffled(sorted({place, *others}))

    def _at(self, square: tuple[str, str]) -> Row:
        """A case of this square in which one irregularity matters, or none."""
        number = next(self._numbers)
        for _ in range(TURNS):
            kind = self._dice.pick(self._kinds)
            row = kind.put(self._dice, draft(self._dice, number))
            if holds_together(row) and square_of(row) == square:
                return _tagged(row, (kind.tag,) if kind.matters(row) else ())
        msg = f"no case of the square {square}"
        raise SystemExit(msg)


def _tagged(row: Row, tags: Iterable[str]) -> Row:
    return row | {"tags": ",".join(sorted(set(tags)))}


def rows() -> list[Row]:
    """Every row without its label, in the order of the file."""
    return Desk().rows()


if __name__ == "__main__":
    sys.exit(Generator(folder=FOLDER, rows=rows).main(sys.argv[1:]))
