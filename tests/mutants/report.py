"""What is printed of mutants: a line for each, and how many there were of each result."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mutants.mutant import Mutant
from mutants.trial import Ended, Result


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant, and how its tests ended."""

    mutant: Mutant
    ended: Ended
    seconds: float

    @property
    def result(self) -> Result:
        return self.ended.result


def line(tried: Tried, width: int) -> str:
    """A mutant as it ends: by which test, or where nothing found it, what that means."""
    result = f"{tried.result:<9}  {tried.seconds:5.1f} s"
    start = f"{tried.mutant.name:<{width}}  {result}  "
    if tried.result is Result.KILLED:
        return f"{start}{tried.ended.by}"
    if tried.result is Result.TIMED_OUT:
        return f"{start}{tried.ended.words}"
    told = [tried.mutant.harm, f"{tried.mutant.function}:", *_change(tried.mutant)]
    if tried.result is Result.UNCLEAR:
        told += [f"pytest ended with {tried.ended.status}:", tried.ended.words]
    return "\n".join([start.rstrip(), textwrap.indent("\n".join(told), "    ")])


def _change(mutant: Mutant) -> list[str]:
    old = [f"- {one}" for one in mutant.old.splitlines()]
    return [*old, *(f"+ {one}" for one in mutant.new.splitlines())]


def totals(tried: Sequence[Tried], seconds: float) -> str:
    """How many mutants there were, by area and by result."""
    areas = dict.fromkeys(area_of(one.mutant) for one in tried)
    rows = [("area", "mutants", *map(str, Result))]
    rows += [_row(area, [one for one in tried if area_of(one.mutant) == area]) for area in areas]
    rows.append(_row("all", tried))
    wide = max(len(row[0]) for row in rows)
    lines = ["  ".join((f"{row[0]:<{wide}}", *(f"{cell:>9}" for cell in row[1:]))) for row in rows]
    return "\n".join(["", *lines, f"in {seconds:.0f} seconds"])


def area_of(mutant: Mutant) -> str:
    return mutant.name.partition("/")[0]


def _row(title: str, tried: Sequence[Tried]) -> tuple[str, ...]:
    counts = Counter(one.result for one in tried)
    return title, str(len(tried)), *(str(counts[one]) for one in Result)
