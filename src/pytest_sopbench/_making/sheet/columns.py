"""Named columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .grid import Cell, Kind

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """What is odd about a column. `{}` in the text stands for `cells`; `rows` says where."""

    column: str
    text: str
    cells: int = 0
    rows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. `short` is the last part of its name, and `letter` where it stands.

    `stays_text` tells that its cells look like numbers and are not to be read so, and
    `is_in_doubt` that they could be if the user said what the decimal sign is.
    """

    name: str
    short: str
    letter: str
    cells: Sequence[Cell]
    stays_text: bool = False
    is_in_doubt: bool = False
    oddities: tuple[Odd, ...] = ()

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


def rows_text(numbers: Sequence[int]) -> str:
    """Return such as `rows 2, 5, 8 and 7 more`."""
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"row{'s' if len(numbers) > 1 else ''} {shown}{more}"


def letter_of(place: int) -> str:
    """Return the letters that a spreadsheet shows over a column: A, B, ..., AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = f"{chr(ord('A') + rest)}{letters}"
    return letters
