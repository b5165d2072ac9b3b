"""Named columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .grid import Cell, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. `short` is the last part of its name, and `letter` where it stands.

    `had_comma` tells that its numbers had decimal commas, which are points here.
    """

    name: str
    short: str
    letter: str
    cells: Sequence[Cell]
    had_comma: bool = False

    @property
    def texts(self) -> list[str]:
        return [cell.text for cell in self.cells]

    @property
    def is_empty(self) -> bool:
        return not any(cell.text for cell in self.cells)

    def is_all(self, *kinds: Kind) -> bool:
        """Whether every cell that is not empty is of these kinds, and there is one."""
        full = [cell.kind for cell in self.cells if cell.text]
        return bool(full) and all(kind in kinds for kind in full)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The rows under the header. `numbers` are those that its own program shows."""

    path: Path
    title: str
    header: str
    columns: Sequence[Column]
    numbers: Sequence[int]
    typed: bool
    notes: tuple[str, ...]


def letter_of(place: int) -> str:
    """Return the letters that a spreadsheet shows over a column: A, B, ..., AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = f"{chr(ord('A') + rest)}{letters}"
    return letters
