"""A rule of the audit, as a value: what it is called, what it costs and what it looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from .finding import Fault, Finding, Severity

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[Seen]):
    """One thing that is looked for in a folder.

    Attributes:
        name: what findings and acceptances call it by.
        severity: what a finding of it costs.
        looks_for: what it looks for, in a sentence for the table of rules.
        look: a pure function from what was read to the faults in it.
    """

    name: str
    severity: Severity
    looks_for: str
    look: Callable[[Seen], Iterable[Fault]]

    def findings(self, seen: Seen) -> Iterator[Finding]:
        """Look, and say of each fault that it is one of this rule."""
        for fault in self.look(seen):
            yield Finding(
                rule=self.name,
                severity=self.severity,
                place=fault.place,
                what=fault.what,
                do=fault.do,
            )
