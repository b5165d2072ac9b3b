"""A case of PA-03: what is changed in a drawn patient, and which patients are then kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .patients import Patient, Row, birthday, days_from

Change: TypeAlias = Callable[[Dice, Row], Row]
Wanted: TypeAlias = Callable[[Patient], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """So many rows of one kind; a row is of one case of each part that does not meddle."""

    tags: str = ""
    rows: int = 1
    change: Change = lambda _, row: row
    wanted: Wanted = lambda _: True


def fixed(**cells: Any) -> Change:
    """Change these cells, whatever stood in them."""
    return lambda _, row: row | cells


def has(**fields: Any) -> Wanted:
    """Keep a patient whose record says this."""
    return lambda patient: fields.items() <= patient.record.items()


def turns(field: str, **cells: Any) -> Wanted:
    """Keep a patient for whom this field would be another, had these cells been others."""
    return lambda patient: patient.differs(field, **cells)


def moved(field: str, column: str, days: int) -> Wanted:
    """The same, had this day been another, counted from the date of service."""
    return lambda patient: patient.differs(field, **{column: days_from(patient.row, days)})


def years_moved(field: str, column: str, years: int, days: int) -> Wanted:
    """The same, had so many years been completed so many days after the date of service."""
    return lambda patient: patient.differs(field, **{column: birthday(patient.row, years, days)})
