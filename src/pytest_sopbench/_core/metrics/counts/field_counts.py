"""How often each output field is right, and how much of an answer is.

A field counts as right in a run that is completed and whose field matches. A run that gave no
answer, or whose answer nobody could judge, has no right field, and stays in every denominator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

from pytest_sopbench._core.records.record import RunRecord

from .counts import ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCounts:
    """The planned runs that were asked for something, and where it was right."""

    runs: int = 0
    right: int = 0

    @property
    def rate(self) -> float | None:
        """Right / runs; `None` without a run."""
        return ratio(self.right, self.runs)

    def __add__(self, other: FieldCounts) -> FieldCounts:
        return FieldCounts(runs=self.runs + other.runs, right=self.right + other.right)


class FieldTally:
    """Counts by which fields are asked for, of which a domain has one kind, or few."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], list[int]] = {}

    def add(self, record: RunRecord, *, completed: bool) -> None:
        asked = tuple(record.expected)
        if record.ignored:
            asked = tuple(name for name in asked if name not in record.ignored)
        counts = self._kinds.get(asked)
        if counts is None:
            counts = self._kinds[asked] = [0, 0, 0]
        counts[0] += 1
        if completed:
            counts[1] += 1
            counts[2] += len(record.mismatches)

    def by_field(self, mismatched: Mapping[str, int]) -> dict[str, FieldCounts]:
        """Return the counts of each field, in the order of the fields.

        Args:
            mismatched: the completed runs in which each field differs.
        """
        found: dict[str, FieldCounts] = {}
        for asked, (runs, completed, _) in self._kinds.items():
            for name in asked:
                found[name] = found.get(name, FieldCounts()) + FieldCounts(
                    runs=runs, right=completed
                )
        return {
            name: FieldCounts(runs=one.runs, right=one.right - mismatched.get(name, 0))
            for name, one in found.items()
        }

    def by_number(self) -> dict[int, FieldCounts]:
        """Return, by how many fields were asked for, the runs and their right fields."""
        found: dict[int, FieldCounts] = {}
        for asked, (runs, completed, wrong) in self._kinds.items():
            number = len(asked)
            right = number * completed - wrong
            found[number] = found.get(number, FieldCounts()) + FieldCounts(runs=runs, right=right)
        return {number: found[number] for number in sorted(found) if number}


def mean_share(by_number: Mapping[int, FieldCounts]) -> tuple[int, int]:
    """Return part and whole of the mean share of right fields, as whole numbers.

    Each run counts alike, however many fields it was asked for.
    """
    unit = lcm(*by_number) if by_number else 1
    part = sum(one.right * (unit // number) for number, one in by_number.items())
    return part, unit * sum(one.runs for one in by_number.values())


def share_of(record: RunRecord, *, completed: bool) -> float | None:
    """Return the share of the fields of one run that are right; `None` where none is asked for."""
    asked = len(record.expected) - len(record.ignored)
    if not asked:
        return None
    return (asked - len(record.mismatches)) / asked if completed else 0.0
