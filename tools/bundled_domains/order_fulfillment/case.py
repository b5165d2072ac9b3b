"""A case of OD-7: what is changed in a drawn order, and which orders are then kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .orders import Order, Row

Change: TypeAlias = Callable[[Dice, Row], Row]
Wanted: TypeAlias = Callable[[Order], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """So many rows of one kind."""

    tags: str
    rows: int
    change: Change = lambda _, row: row
    wanted: Wanted


def fixed(**cells: Any) -> Change:
    """Change these cells, whatever stood in them."""
    return lambda _, row: row | cells


def is_(decision: str) -> Wanted:
    """Keep an order that is decided so."""
    return lambda order: order.decision == decision


def matters(column: str, step: float, decision: str) -> Wanted:
    """Keep an order so decided, where a value so much larger had been decided otherwise."""
    return lambda order: (
        order.decision == decision and order.differs(**{column: round(order.row[column] + step, 2)})
    )
