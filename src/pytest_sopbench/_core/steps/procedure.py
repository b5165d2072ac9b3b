"""An SOP as steps, and the text around them that applies to all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Moment(StrEnum):
    """When an approval of a step is asked for: before it begins, or after its work is done."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        number: what the SOP calls it, without a word such as `Step`: `4`, `5.2`.
        title: its heading, or its first words.
        text: all its lines, heading included, as the SOP has them.
        approvals: when somebody has to approve it.
        jumps: the numbers of other steps that its text sends the reader to.
        line: the line of the SOP on which it begins, from 1; 0 where it is not a part of the SOP.
    """

    number: str
    title: str
    text: str
    approvals: tuple[Moment, ...] = ()
    jumps: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """An SOP, cut into steps and general text; without steps, `why_not` says why there are none.

    Attributes:
        parts: steps and general texts, in the order of the SOP. Joined, they are the whole of it.
        source: where the steps come from, in words.
        why_not: why the SOP has no steps, or nothing.
        warnings: what looks odd about the steps, one sentence each.
    """

    parts: tuple[Step | str, ...]
    source: str = ""
    why_not: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in their order."""
        return tuple(part for part in self.parts if isinstance(part, Step))

    @property
    def general(self) -> str:
        """What applies to every step: preamble, appendix, and what stands between steps."""
        return "\n\n".join(part for part in self.parts if not isinstance(part, Step))


def merged(parts: Iterable[Step | str]) -> tuple[Step | str, ...]:
    """Join general texts that follow one another, and leave empty ones out."""
    joined: list[Step | str] = []
    for part in parts:
        if isinstance(part, Step):
            joined.append(part)
        elif not part.strip():
            continue
        elif joined and isinstance(joined[-1], str):
            joined[-1] = f"{joined[-1]}\n\n{part}"
        else:
            joined.append(part)
    return tuple(joined)
