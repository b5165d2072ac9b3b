"""What an audit finds: a rule that does not hold, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """

    file: str = ""
    line: int | None = None
    column: str = ""
    tool: str = ""

    def __str__(self) -> str:
        parts = [self.file if self.line is None else f"{self.file}:{self.line}"]
        if self.column:
            parts.append(f"column {self.column!r}")
        if self.tool:
            parts.append(f"tool {self.tool!r}")
        return ", ".join(part for part in parts if part) or "the folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a rule has seen: `what` is wrong at this `place`, and what to `do` about it."""

    place: Place
    what: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault, with the rule that does not hold because of it.

    Attributes:
        rule: the name of the rule.
        severity: as its rule has it.
        place: where it stands.
        what: what is wrong, in a sentence without the place.
        do: what to do about it; may be empty.
    """

    rule: str
    severity: Severity
    place: Place
    what: str
    do: str = ""
