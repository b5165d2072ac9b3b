"""Findings, places, rules, acceptances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from pytest_sopbench._core.values.json import JsonValue

# What an audit finds: a rule that does not hold, where, and what to do about it.


class Severity(StrEnum):
    """What a finding costs: the exit status, that of `--strict`, or nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a finding stands; what is not known is left out.

    Attributes:
        file: the name of the file in the domain's folder; empty for the folder itself.
        line: the line on which the record starts, counted as an editor does.
        column: the header of the column, or the key of the document.
        tool: the name of a tool.
        change: what a mutant changes there, on a line that may move.
    """

    file: str = ""
    line: int | None = None
    column: str = ""
    tool: str = ""
    change: str = ""

    @property
    def inside(self) -> str:
        """Where it is inside of the file."""
        column = f"column {self.column!r}" if self.column else ""
        tool = f"tool {self.tool!r}" if self.tool else ""
        return ", ".join(filter(None, (column, tool, self.change)))

    def __str__(self) -> str:
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return ", ".join(filter(None, (file, self.inside))) or "the folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong at a place, and the rule that does not hold because of it.

    Attributes:
        place: where it stands.
        what: what is wrong, in a sentence without the place.
        do: what to do about it; may be empty.
        rule: the name of the rule, which enters it and its severity itself.
        severity: as its rule has it.
    """

    place: Place
    what: str
    do: str = ""
    rule: str = ""
    severity: Severity = Severity.NOTE


# Findings that `metadata.json` accepts, with a reason each.

KEY = "audit"
"""The key of `metadata.json` that holds the acceptances."""

FORM = '"audit": {"accept": [{"rule": NAME, "place": TEXT, "reason": TEXT}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A rule whose findings are accepted, everywhere or at the places that contain `place`."""

    rule: str
    reason: str
    place: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether this finding is accepted; a place is matched by the text that is shown."""
        return finding.rule == self.rule and self._at(str(finding.place))

    def _at(self, shown: str) -> bool:
        # `data.csv:1` must not accept what stands on line 12.
        at = shown.find(self.place)
        after = shown[at + len(self.place) :][:1]
        return at >= 0 and not (self.place[-1:].isdigit() and after.isdigit())


def read_acceptances(
    metadata: Mapping[str, JsonValue], known: Iterable[str]
) -> tuple[tuple[Acceptance, ...], tuple[str, ...]]:
    """Return the acceptances that can be used, and what is wrong with the others."""
    names = frozenset(known)
    section = metadata.get(KEY, {})
    entries = section.get("accept", []) if isinstance(section, Mapping) else None
    if not isinstance(entries, list):
        return (), (f"key {KEY!r} is not of the form {FORM}",)
    read: list[Acceptance] = []
    wrong: list[str] = []
    for number, entry in enumerate(entries, 1):
        one = _acceptance(entry)
        if isinstance(one, str):
            wrong.append(f"acceptance {number} {one}")
        elif one.rule not in names:
            wrong.append(f"acceptance {number}: there is no rule {one.rule!r}")
        else:
            read.append(one)
    if isinstance(section, Mapping) and set(section) - {"accept"}:
        wrong.append(f"key {KEY!r} has other keys than 'accept'")
    return tuple(read), tuple(wrong)


def sorted_out(
    findings: Iterable[Finding], acceptances: Sequence[Acceptance]
) -> tuple[tuple[Finding, ...], tuple[tuple[Finding, str], ...], tuple[Acceptance, ...]]:
    """Part findings from those that are accepted; return the acceptances without any as well."""
    left: list[Finding] = []
    accepted: list[tuple[Finding, str]] = []
    used: set[Acceptance] = set()
    for finding in findings:
        by = [one for one in acceptances if one.covers(finding)]
        used.update(by)
        if by:
            accepted.append((finding, by[0].reason))
        else:
            left.append(finding)
    return tuple(left), tuple(accepted), tuple(one for one in acceptances if one not in used)


def _acceptance(entry: JsonValue) -> Acceptance | str:
    if not isinstance(entry, Mapping) or set(entry) - {"rule", "place", "reason"}:
        return f"is not of the form {FORM}"
    rule, place, reason = entry.get("rule"), entry.get("place", ""), entry.get("reason")
    if not isinstance(rule, str) or not isinstance(place, str):
        return f"is not of the form {FORM}"
    if not isinstance(reason, str) or not reason.strip():
        return "has no reason: whoever reads it wants to know why"
    return Acceptance(rule=rule, place=place, reason=reason)


# The result of an audit: findings, those that were accepted, and what they were made of.


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many mutants are noticed, of those that were not accepted as survivors."""

    noticed: int
    of: int
    is_whole: bool = True

    @property
    def percent(self) -> float:
        """The share; 0 if there is none, so that no gate holds by having nothing to check."""
        return 100 * self.noticed / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found in one folder.

    Attributes:
        name: the name of the domain, or of its folder if it cannot be loaded.
        folder: the folder.
        findings: what does not hold, errors first.
        accepted: findings that `metadata.json` accepts, each with its reason.
        hash: of the content of the folder's files.
        is_whole: whether the domain was loaded, and its code was run.
        facts: lines that say what was measured, such as the highest TSR.
        score: how many mutants fail the suite; `None` if they were not asked for.
    """

    name: str
    folder: Path
    findings: tuple[Finding, ...] = ()
    accepted: tuple[tuple[Finding, str], ...] = ()
    hash: str = ""
    is_whole: bool = False
    facts: tuple[str, ...] = field(default=())
    score: Score | None = None

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
        """Such as `3 errors, 1 warning`; `sound` if nothing was found."""
        parts = [
            f"{count} {severity}{'' if count == 1 else 's'}"
            for severity, count in self.counts.items()
            if count
        ]
        return ", ".join(parts) or "sound"


# A rule of the audit, as a value: what it is called, what it costs and what it looks for.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is looked for in a folder.

    Attributes:
        name: what findings and acceptances call it by.
        severity: what a finding of it costs.
        looks_for: what it looks for, in a sentence for the table of rules.
        look: a pure function from what was read to its findings.
    """

    name: str
    severity: Severity
    looks_for: str
    look: Callable[[Any], Iterable[Finding]]

    def findings(self, seen: object) -> Iterator[Finding]:
        """Look, and say of each finding that it is one of this rule."""
        return map(self.named, self.look(seen))

    def named(self, finding: Finding) -> Finding:
        """Return a finding as one of this rule."""
        return replace(finding, rule=self.name, severity=self.severity)


def rule(
    severity: Severity, name: str, looks_for: str
) -> Callable[[Callable[[Any], Iterable[Finding]]], Rule]:
    """Make a rule of the function that looks for its findings."""

    def made(look: Callable[[Any], Iterable[Finding]]) -> Rule:
        return Rule(name=name, severity=severity, looks_for=looks_for, look=look)

    return made


error, warning, note = (partial(rule, severity) for severity in Severity)
