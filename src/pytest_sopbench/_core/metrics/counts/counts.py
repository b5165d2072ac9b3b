"""The small counts that a summary is made of; each of them adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MONEY_DIGITS = 9
"""Decimals that sums of money keep, so that the order of adding leaves no trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounts:
    """The calls of one tool: all, those that were bad, and good ones in which the tool failed."""

    calls: int = 0
    bad: int = 0
    failed: int = 0

    @property
    def accuracy(self) -> float | None:
        """1 - bad / calls; `None` without a call."""
        return ratio(self.calls - self.bad, self.calls)

    def __add__(self, other: ToolCounts) -> ToolCounts:
        return ToolCounts(
            calls=self.calls + other.calls,
            bad=self.bad + other.bad,
            failed=self.failed + other.failed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """Runs of one kind: planned, completed and correct."""

    runs: int = 0
    completed: int = 0
    correct: int = 0

    @property
    def tsr(self) -> float | None:
        return ratio(self.correct, self.runs)

    def __add__(self, other: RunCounts) -> RunCounts:
        return RunCounts(
            runs=self.runs + other.runs,
            completed=self.completed + other.completed,
            correct=self.correct + other.correct,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A sum over the runs that told it, and how many these were; unknown is not 0."""

    total: float = 0
    known: int = 0

    @property
    def mean(self) -> float | None:
        return ratio(self.total, self.known)

    def __add__(self, other: Amount) -> Amount:
        total = round(self.total + other.total, MONEY_DIGITS)
        return Amount(total=total, known=self.known + other.known)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnneededCounts:
    """Calls of the runs whose task has expected calls, and those to tools that none of these name.

    `affected` are the runs with at least one such call.
    """

    runs: int = 0
    calls: int = 0
    unneeded: int = 0
    affected: int = 0

    @property
    def rate(self) -> float | None:
        """Unneeded calls / calls."""
        return ratio(self.unneeded, self.calls)

    @property
    def share(self) -> float | None:
        """Runs with at least one unneeded call / runs."""
        return ratio(self.affected, self.runs)

    def __add__(self, other: UnneededCounts) -> UnneededCounts:
        return UnneededCounts(
            runs=self.runs + other.runs,
            calls=self.calls + other.calls,
            unneeded=self.unneeded + other.unneeded,
            affected=self.affected + other.affected,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedCounts:
    """Runs that are correct and lack no required tool; `required` are those that require one."""

    required: int = 0
    grounded: int = 0

    def __add__(self, other: GroundedCounts) -> GroundedCounts:
        return GroundedCounts(
            required=self.required + other.required, grounded=self.grounded + other.grounded
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedCounts:
    """Runs of tasks whose expected answer is known to contradict the SOP, with the reasons."""

    counts: RunCounts = RunCounts()
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: DisputedCounts) -> DisputedCounts:
        return DisputedCounts(
            counts=self.counts + other.counts, reasons=added(self.reasons, other.reasons)
        )


FieldPairs = Mapping[str, Mapping[tuple[str, str], int]]
"""Field to (expected label, actual label) to runs; a field without pairs had too many kinds."""

KINDS_LIMIT = 400
"""Kinds of pairs of one field, above which none is kept: they would say nothing, and take room."""


class PairCounter:
    """Counts pairs of labels field by field, within bounds whatever the order."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[tuple[str, str], int]] = {}
        self._full: set[str] = set()

    def add(self, name: str, expected: str, actual: str, number: int = 1) -> None:
        if name in self._full:
            return
        table = self._tables.setdefault(name, {})
        pair = expected, actual
        table[pair] = table.get(pair, 0) + number
        if len(table) > KINDS_LIMIT:
            self._full.add(name)
            table.clear()

    def add_all(self, pairs: FieldPairs) -> None:
        for name, table in pairs.items():
            if not table:
                self._full.add(name)
                self._tables[name] = {}
            for (expected, actual), number in table.items():
                self.add(name, expected, actual, number)

    def pairs(self) -> dict[str, Mapping[tuple[str, str], int]]:
        """Return a copy of what was counted, sorted."""
        return {field: dict(sorted(table.items())) for field, table in sorted(self._tables.items())}


NOTHING_DISPUTED = DisputedCounts()
"""No known disagreement at all."""


NOTHING_EXPECTED = UnneededCounts()
"""No task with expected calls."""

NOTHING_REQUIRED = GroundedCounts()
"""No rule that requires a tool."""


def ratio(part: float, whole: float) -> float | None:
    """Divide, or return `None` where there is nothing to divide."""
    return part / whole if whole else None


def added(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    """Add two tables of counts; sorted, so that the order of adding leaves no trace."""
    return {key: a.get(key, 0) + b.get(key, 0) for key in sorted(a.keys() | b.keys())}
