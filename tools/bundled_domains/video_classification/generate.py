"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

A plain upload is drawn and several irregularities are put into it. It is kept if the one that it
is wanted for matters, and has the tag of every irregularity that does. Notes and what a reader
takes from them stand in `readings.json`. Labels and expected calls come from `policy.py`.
"""

from __future__ import annotations

import sys

from bundled_domains.generator import Dice, Generator
from bundled_domains.video_classification.cases import irregularities
from bundled_domains.video_classification.uploads import FOLDER, Row, Writers, draft, other_rooms

SEED = 41
ROWS = 198
MOST_TOGETHER = 3
TURNS_IN_COMPANY = 25
TURNS = 2_000
FILLING = {"flicker", "softened", "told", "mistake", "beside", "nudity-among-adults", "passed-on"}
"""Of these are the rows beyond those that are wanted: most end with a warning."""


class Desk:
    """Draws uploads until each irregularity has as many as it is to have."""

    def __init__(self) -> None:
        self._dice = Dice(SEED)
        self._writers = Writers(self._dice)
        self._numbers = iter(self._dice.shuffled(range(100_000, 130_000, 7)))
        self._kinds = tuple(irregularities())
        self._wanted = [kind.rows for kind in self._kinds]

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for place in range(len(self._kinds)):
            while self._wanted[place] > 0:
                found.append(self._with(place))
        filling = [one for one, kind in enumerate(self._kinds) if kind.tag in FILLING]
        while len(found) < ROWS:
            found.append(self._with(self._dice.pick(filling)))
        if len(found) > ROWS:
            msg = f"{len(found)} uploads, {ROWS} wanted"
            raise SystemExit(msg)
        return [self._finished(row) for row in self._dice.shuffled(found)]

    def _with(self, place: int) -> Row:
        """An upload in which this irregularity matters, and others that are still wanted."""
        number = next(self._numbers)
        for turn in range(TURNS):
            # What ends a case early leaves room for no company, so that less and less is asked.
            company = max(0, MOST_TOGETHER - 1 - turn // TURNS_IN_COMPANY)
            row = draft(self._dice, number)
            together = self._together(place, company)
            for one in together:
                row = self._kinds[one].put(self._dice, row)
            row = self._writers.served(row)
            if row["answers"] is None or not self._kinds[place].matters(row):
                continue
            if company and not any(
                self._kinds[one].matters(row) for one in together if one != place
            ):
                continue
            matter = [one for one, kind in enumerate(self._kinds) if kind.matters(row)]
            for one in matter:
                self._wanted[one] -= 1
            self._writers.enter(row)
            tags = {self._kinds[one].tag for one in matter}
            return row | {"tags": ",".join(sorted(tags))}
        msg = f"no upload in which {self._kinds[place].tag} ({place}) matters"
        raise SystemExit(msg)

    def _together(self, place: int, company: int) -> list[int]:
        """This irregularity and so many others in any order, of which one is wanted if there is."""
        unmet = [one for one, rows in enumerate(self._wanted) if rows > 0]
        others = [self._dice.pick(unmet or [place])][:company]
        while len(others) < company:
            others.append(self._dice.below(len(self._kinds)))
        return self._dice.shuffled(sorted({place, *others}))

    def _finished(self, row: Row) -> Row:
        """The row as it is written, with what the other rooms say of it."""
        written = {name: cell for name, cell in row.items() if not name.startswith("_")}
        return written | other_rooms(self._dice, row)


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    return Desk().rows()


if __name__ == "__main__":
    sys.exit(Generator(folder=FOLDER, rows=rows, data="tasks.jsonl").main(sys.argv[1:]))
