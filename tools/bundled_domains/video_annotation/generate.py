"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

A ticket is drawn with several twists, and kept if those that it is wanted for matter. Labels and
expected calls come from `policy.py` and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from bundled_domains.generator import Decided, Dice, Generator
from bundled_domains.video_annotation.desk import (
    FOLDER,
    POLICY,
    Row,
    beside,
    draft,
    outcome,
    row_of,
)
from bundled_domains.video_annotation.twists import twists

SEED = 41
ROWS = 168
MOST_TOGETHER = 4
FEWEST_THAT_MATTER = 3
TURNS_IN_COMPANY = 12
TURNS = 200
NO_FILE: str = POLICY["NO_FILE"]
PARTS = 1_000
"""Dice of one ticket: one for the draft, and one for each twist."""


class Desk:
    """Draws tickets until each twist has as many rows as it is to have."""

    def __init__(self) -> None:
        self._dice = Dice(SEED)
        self._twists = twists()
        self._wanted = [twist.rows for twist in self._twists]
        every = range(len(self._twists))
        self._ending = {place for place in every if self._ends(place)}
        self._going_on = [place for place in every if place not in self._ending]

    def rows(self) -> list[Row]:
        found: list[Row] = []
        for place in [*self._going_on, *sorted(self._ending)]:
            while self._wanted[place] > 0:
                found.append(self._with(place))
        while len(found) < ROWS:
            row = self._with(self._dice.pick(self._going_on))
            # Enough tickets have ended without a file by now.
            if outcome(row).answer["segmentation_file"] != NO_FILE:
                found.append(row)
        if len(found) > ROWS:
            msg = f"{len(found)} tickets, {ROWS} wanted"
            raise SystemExit(msg)
        numbers = self._dice.shuffled(range(10_000, 10_000 + 40 * ROWS))
        return [
            {"ticket_id": f"AT-{number}", **row, **beside(self._dice)}
            for number, row in zip(numbers, self._dice.shuffled(found), strict=False)
        ]

    def _ends(self, place: int) -> bool:
        """Whether nobody further along is asked about a ticket with this twist."""
        found = outcome(self._row(PARTS, [place]))
        return found.answer["final_status"] in {"REFUSED", "WAITING"} and (
            found.calls[-1]["name"] != "enter_result"
        )

    def _with(self, place: int) -> Row:
        """A ticket on which this twist matters, and others that are still wanted."""
        for turn in range(TURNS):
            # Few twists matter on a ticket that ends early, so that less and less is asked.
            company = max(0, MOST_TOGETHER - 1 - turn // TURNS_IN_COMPANY)
            together = self._together(place, company)
            if together is None:
                continue
            seed = PARTS * self._dice.below(10**9)
            row = self._row(seed, together)
            here = outcome(row)
            if not self._matters(seed, together, place, row, here):
                continue
            fewest = min(company, FEWEST_THAT_MATTER - 1)
            others: list[int] = []
            for left, one in enumerate(reversed([one for one in together if one != place])):
                if len(others) + company - left < fewest:
                    break
                if self._matters(seed, together, one, row, here):
                    others.append(one)
            if len(others) < fewest:
                continue
            for one in (place, *others):
                self._wanted[one] -= 1
            tags = {self._twists[one].tag for one in (place, *others)}
            return row | {"tags": ",".join(sorted(tags))}
        msg = f"no ticket on which {self._twists[place].tag} matters"
        raise SystemExit(msg)

    def _together(self, place: int, company: int) -> Sequence[int] | None:
        """This twist and so many others that go with it, of those that are wanted."""
        unmet = [one for one in self._going_on if self._wanted[one] > 0] or self._going_on
        chosen = sorted({place, *(self._dice.pick(unmet) for _ in range(company))})
        return chosen if self._kind(chosen) is not None else None

    def _kind(self, chosen: Sequence[int]) -> Mapping[str, Sequence[str]] | None:
        """The projects and lights for which all of these are; nothing if there is none."""
        kind: dict[str, Sequence[str]] = {}
        for one in chosen:
            for name, values in self._twists[one].kind.items():
                kind[name] = [value for value in kind.get(name, values) if value in values]
        return kind if all(kind.values()) else None

    def _row(self, seed: int, chosen: Sequence[int], without: int = -1) -> Row:
        """The ticket, with what stands instead of one of its twists."""
        plan = draft(Dice(seed), self._kind(chosen) or {})
        for one in chosen:
            twist = self._twists[one]
            (twist.instead if one == without else twist.put)(Dice(seed + 1 + one), plan)
        return row_of(plan, Dice(seed + PARTS - 1))

    def _matters(self, seed: int, chosen: Sequence[int], one: int, row: Row, here: Decided) -> bool:
        """Whether the ticket would be decided or worked otherwise without it."""
        twist = self._twists[one]
        if not twist.met(row, here.answer["final_status"]):
            return False
        if twist.plain:
            return True
        there = outcome(self._row(seed, chosen, one))
        if twist.decides:
            return bool(here.answer["final_status"] != there.answer["final_status"])
        return here != there


def rows() -> list[Row]:
    """Every row without its labels, in the order of the file."""
    return Desk().rows()


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
