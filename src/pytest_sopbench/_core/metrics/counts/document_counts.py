"""Count answers that are JSON documents: the three tiers, and each path by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .counts import added, ratio

if TYPE_CHECKING:
    from pytest_sopbench._core.records.document import DocumentRecord

FIFTHS: Final = 5
"""Parts of a run that the tier score counts: a match has five, a mismatch one, the others none."""

UNEXPECTED_LIMIT: Final = 200
"""Paths that no task expects, above which no further one is counted by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCounts:
    """What runs came to whose answer is a document.

    Attributes:
        runs: planned, like everywhere.
        matches: runs that are correct.
        mismatches: runs that are wrong: their document satisfies the schema alone.
        right: by path, the runs in which it is right.
        of: by path, the runs that are asked for it; one without an answer is among them.
        domain_class: that of the domain, or of all that were added; empty where they differ.
    """

    runs: int = 0
    matches: int = 0
    mismatches: int = 0
    right: Mapping[str, int] = field(default_factory=dict[str, int])
    of: Mapping[str, int] = field(default_factory=dict[str, int])
    domain_class: str = ""

    @property
    def invalid(self) -> int:
        """Runs without a document that satisfies the schema."""
        return self.runs - self.matches - self.mismatches

    @property
    def fifths(self) -> tuple[int, int]:
        """What the tier score divides: fifths of runs, and all of them."""
        return FIFTHS * self.matches + self.mismatches, FIFTHS * self.runs

    @property
    def tier_score(self) -> float | None:
        """(Matches + 0.2 mismatches) / planned runs."""
        return ratio(*self.fifths)

    def worst(self, number: int) -> tuple[tuple[str, int, int], ...]:
        """Return the paths that are wrong most often, with the runs right and those asked."""
        wrong = [(name, self.right.get(name, 0), n) for name, n in self.of.items()]
        wrong = [one for one in wrong if one[1] < one[2]]
        # Of paths that are alike the one that more runs are asked for says more.
        return tuple(sorted(wrong, key=lambda one: (one[1] / one[2], -one[2], one[0]))[:number])

    def __add__(self, other: DocumentCounts) -> DocumentCounts:
        if not (self.runs and other.runs):
            return self if self.runs else other
        same = self.domain_class == other.domain_class
        return DocumentCounts(
            runs=self.runs + other.runs,
            matches=self.matches + other.matches,
            mismatches=self.mismatches + other.mismatches,
            right=added(self.right, other.right),
            of=added(self.of, other.of),
            domain_class=self.domain_class if same else "",
        )


NO_DOCUMENTS: Final = DocumentCounts()
"""No run whose answer is a document."""


def without_paths(counts: DocumentCounts) -> DocumentCounts:
    """Leave out the paths, which mean nothing across domains."""
    return replace(counts, right={}, of={})


class DocumentTally:
    """Counts runs; what it holds grows with the paths, not with the runs."""

    def __init__(self) -> None:
        self._runs = self._matches = self._mismatches = 0
        self._right: dict[str, int] = {}
        self._of: dict[str, int] = {}
        self._unexpected: set[str] = set()
        self._classes: set[str] = set()

    def add(self, document: DocumentRecord, record: RunRecord) -> None:
        """Count one run."""
        self._runs += 1
        self._matches += record.outcome is Outcome.CORRECT
        self._mismatches += record.outcome is Outcome.WRONG
        self._classes.add(document.domain_class)
        completed = record.outcome in COMPLETED
        wrong = wrong_of(document, record) if completed else frozenset(document.paths)
        for path in document.paths:
            self._of[path] = self._of.get(path, 0) + 1
            self._right[path] = self._right.get(path, 0) + (path not in wrong)
        for path in wrong.difference(document.paths):
            if path in self._unexpected or len(self._unexpected) < UNEXPECTED_LIMIT:
                self._unexpected.add(path)
                self._of[path] = self._of.get(path, 0) + 1

    def counts(self) -> DocumentCounts:
        """Return what was counted so far."""
        return DocumentCounts(
            runs=self._runs,
            matches=self._matches,
            mismatches=self._mismatches,
            right={path: n for path, n in sorted(self._right.items()) if n},
            of=dict(sorted(self._of.items())),
            domain_class=next(iter(self._classes)) if len(self._classes) == 1 else "",
        )


def wrong_of(document: DocumentRecord, record: RunRecord) -> frozenset[str]:
    """Return the paths that are wrong in a run that gave a document."""
    from pytest_sopbench._core.documents.leaves import wrong_paths  # noqa: PLC0415 - only where an answer is a document

    return wrong_paths(document.paths, [one.field for one in record.mismatches])


def path_moves(was: DocumentCounts, now: DocumentCounts) -> list[tuple[str, str, str]]:
    """Return the paths whose share of right runs changed, the largest fall first, with both."""
    moves: list[tuple[float, str, str, str]] = []
    for name in sorted(was.of.keys() & now.of.keys()):
        shares = [one.right.get(name, 0) / one.of[name] for one in (was, now)]
        if shares[0] != shares[1]:
            before, after = (f"{one.right.get(name, 0)} of {one.of[name]}" for one in (was, now))
            moves.append((shares[1] - shares[0], name, before, after))
    # A fall says more than a rise of the same size.
    moves.sort(key=lambda one: (-abs(one[0]), one[0], one[1]))
    return [move[1:] for move in moves]


def documents_to_json(counts: DocumentCounts) -> dict[str, Any]:
    return {
        "runs": counts.runs,
        "matches": counts.matches,
        "mismatches": counts.mismatches,
        "class": counts.domain_class,
        "paths": {
            name: {"right": counts.right.get(name, 0), "of": n} for name, n in counts.of.items()
        },
    }


def documents_from_json(data: Mapping[str, Any]) -> DocumentCounts:
    """Read what `documents_to_json` wrote; the errors are those of mappings."""
    paths = data["paths"]
    return DocumentCounts(
        runs=data["runs"],
        matches=data["matches"],
        mismatches=data["mismatches"],
        domain_class=data["class"],
        right={name: one["right"] for name, one in paths.items() if one["right"]},
        of={name: one["of"] for name, one in paths.items()},
    )
