"""What a campaign says: a line to repeat each failure, and a table of all parts."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = ("part", "tried", "survived", "failed")


@dataclass(frozen=True, slots=True)
class Result:
    """How cases that were tried together ended: `failure` is None where all survived."""

    part: str
    cases: tuple[str, ...]
    failure: str | None


@dataclass(slots=True)
class Tally:
    """The numbers of one part."""

    part: str
    planned: int
    survived: int = 0
    failed: int = 0

    def add(self, result: Result) -> None:
        if result.failure is None:
            self.survived += len(result.cases)
        else:
            self.failed += len(result.cases)

    @property
    def tried(self) -> int:
        return self.survived + self.failed

    @property
    def holds(self) -> bool:
        """Whether all that was planned survived, and something was."""
        return 0 < self.planned == self.survived

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.part, str(self.tried), str(self.survived), str(self.failed)

    @property
    def shortfall(self) -> str:
        if self.planned == 0:
            return f"{self.part}: nothing was tried"
        if self.tried < self.planned:
            return f"{self.part}: {self.planned - self.tried} cases were not tried any more"
        return ""


def explain(result: Result, again: Sequence[str]) -> str:
    """What is printed of a failure."""
    names = ", ".join(result.cases)
    reason = textwrap.indent(result.failure or "", "    ")
    return f"FAILED {result.part}: {names}\n{reason}\n  repeat: {shlex.join(again)}\n"


def table(tallies: Sequence[Tally]) -> str:
    """The numbers as text, and what is missing of them."""
    rows = [COLUMNS, *(tally.row for tally in _with_total(tallies))]
    width = max(len(row[0]) for row in rows)
    lines = [f"{row[0]:<{width}}  {row[1]:>7}  {row[2]:>8}  {row[3]:>6}" for row in rows]
    return "\n".join([*lines, *_shortfalls(tallies)])


def markdown(tallies: Sequence[Tally]) -> str:
    """The numbers as a table of Markdown, and what is missing of them."""
    rows = [COLUMNS, ("---", "--:", "--:", "--:"), *(tally.row for tally in _with_total(tallies))]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    missing = _shortfalls(tallies)
    return "\n".join([*lines, *(["", *missing] if missing else [])])


def _with_total(tallies: Sequence[Tally]) -> list[Tally]:
    total = Tally(
        "all",
        sum(tally.planned for tally in tallies),
        sum(tally.survived for tally in tallies),
        sum(tally.failed for tally in tallies),
    )
    return [*tallies, total]


def _shortfalls(tallies: Sequence[Tally]) -> list[str]:
    return [tally.shortfall for tally in tallies if tally.shortfall]
