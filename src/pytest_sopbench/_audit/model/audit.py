"""The result of an audit: findings, those that were accepted, and what they were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .finding import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found in one folder.

    Attributes:
        name: the name of the domain, or of its folder where it cannot be loaded.
        folder: the folder.
        findings: what does not hold, errors first.
        accepted: findings that `metadata.json` accepts, each with its reason.
        hash: of the content of the folder's files.
        is_whole: whether the domain was loaded, and its code was run.
        facts: lines that say what was measured, such as the highest TSR.
    """

    name: str
    folder: Path
    findings: tuple[Finding, ...] = ()
    accepted: tuple[tuple[Finding, str], ...] = ()
    hash: str = ""
    is_whole: bool = False
    facts: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> Mapping[Severity, int]:
        """How many findings of each severity there are."""
        found = Counter(one.severity for one in self.findings)
        return {severity: found[severity] for severity in Severity}

    def masked_by(self, mask: Callable[[str], str]) -> Audit:
        """Return it without secrets: rows, and what the code of a domain says, may hold some."""

        def masked(one: Finding) -> Finding:
            return replace(one, what=mask(one.what), do=mask(one.do))

        return replace(
            self,
            findings=tuple(map(masked, self.findings)),
            accepted=tuple((masked(one), mask(reason)) for one, reason in self.accepted),
            facts=tuple(map(mask, self.facts)),
        )

    @property
    def summary(self) -> str:
        """Such as `3 errors, 1 warning`; `sound` where nothing was found."""
        parts = [
            f"{count} {severity}{'' if count == 1 else 's'}"
            for severity, count in self.counts.items()
            if count
        ]
        return ", ".join(parts) or "sound"
