"""Which label was given where which was expected, and whether answers collapse onto a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as default
from math import sqrt

EXCESS = 0.15
"""How far an answer's share of the answers may exceed its share of the labels."""

Z_LIMIT = 3.0
"""How many standard errors an excess must measure before it is called a collapse."""

EXPECTED_TASKS = 5
"""Tasks that must expect a label before it is remarkable that it is never given."""

LABELS_LIMIT = 20
"""Distinct expected labels beyond which a field has no classes to confuse."""

Pairs = Mapping[tuple[str, str], int]
"""(expected label, actual label) to the number of completed runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """What is remarkable in the answers of one field.

    `favoured` are labels given too often, with their share of the answers, their share of the
    labels, and z; `never` are labels never given, with the number of runs that expected them.
    """

    field: str
    favoured: Mapping[str, tuple[float, float, float]] = default(
        default_factory=dict[str, tuple[float, float, float]]
    )
    never: Mapping[str, int] = default(default_factory=dict[str, int])

    def __bool__(self) -> bool:
        return bool(self.favoured or self.never)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """The table of one field: rows are expected labels, columns are labels given."""

    field: str
    pairs: Pairs

    @property
    def expected(self) -> tuple[str, ...]:
        return tuple(sorted({expected for expected, _ in self.pairs}))

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Labels that were given and that no run expected, the most frequent first."""
        known = set(self.expected)
        given = self._given()
        return tuple(sorted(given.keys() - known, key=lambda label: (-given[label], label)))

    @property
    def completed(self) -> int:
        return sum(self.pairs.values())

    def collapse(self, *, trials: float = 1.0) -> Collapse:
        """Look for labels given too often and for labels never given.

        Both shares are of the same completed runs, so z is that of paired counts (McNemar):
        (b - d) / sqrt(b + d) with b runs that gave the label and expected another, d runs that
        expected it and gave another.

        Args:
            trials: runs per task, since the limit for labels never given counts tasks.
        """
        given, labels, right = self._given(), self._labels(), self._right()
        favoured: dict[str, tuple[float, float, float]] = {}
        for label in sorted(given):
            more, less = given[label] - right[label], labels[label] - right[label]
            excess = (more - less) / self.completed
            z = (more - less) / sqrt(more + less) if more + less else 0.0
            if excess > EXCESS and z > Z_LIMIT:
                shares = given[label] / self.completed, labels[label] / self.completed
                favoured[label] = (*shares, z)
        never = {
            label: labels[label]
            for label in sorted(labels)
            if not given[label] and labels[label] >= EXPECTED_TASKS * trials
        }
        return Collapse(field=self.field, favoured=favoured, never=never)

    def _given(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (_, actual), number in self.pairs.items():
            counts[actual] += number
        return counts

    def _labels(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (expected, _), number in self.pairs.items():
            counts[expected] += number
        return counts

    def _right(self) -> Counter[str]:
        return Counter({a: number for (a, b), number in self.pairs.items() if a == b})
