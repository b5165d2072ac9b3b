"""Cut an SOP into its steps and the text around them, of which nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from .choose import Choice, NoStructureError, choose
from .entries import APPROVAL, BARE, NUMBER, Entry, entries_of
from .lines import Kind, Line, read_lines
from .procedure import Moment, Procedure, Step, merged
from .titles import is_appendix

_JUMP: Final = re.compile(
    r"\b(?:go|goes|return|skip|jump|proceed|continue|move|resume|repeat)\b[^.;:\n]{0,40}?"
    rf"\b(?:step|section|clause|part|phase|stage)s?[ \t]+(?P<number>{NUMBER})",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)
def split_sop(sop: str) -> Procedure:
    """Cut an SOP into steps; where it does not show them, the whole of it is general text."""
    lines = read_lines(sop)
    try:
        chosen = choose(lines)
    except NoStructureError as none:
        return Procedure(parts=merged([sop]), why_not=str(none))
    parts = merged(_parts(lines, chosen))
    steps = [part for part in parts if isinstance(part, Step)]
    numbers = [step.number for step in steps]
    told = [
        replace(part, jumps=jumps_of(part.text, part.number, numbers))
        if isinstance(part, Step)
        else part
        for part in parts
    ]
    return Procedure(parts=tuple(told), source=chosen.source, warnings=tuple(_strays(parts)))


def sections_of(sop: str) -> Mapping[str, Step]:
    """Return everything in an SOP that has a number, as a step of its own, by that number.

    What has the number of something before it is left out, as it is not clear which is meant.
    """
    lines = read_lines(sop)
    entries = entries_of(lines)
    found: dict[str, Step] = {}
    for place, entry in enumerate(entries):
        depth = (entry.level, len(entry.number))
        ends = (one.place for one in entries[place + 1 :] if (one.level, len(one.number)) <= depth)
        headings = (
            line.place
            for line in lines[entry.place + 1 :]
            if line.kind is Kind.HEADING and line.level <= entry.level
        )
        end = min(next(ends, len(lines)), next(headings, len(lines)))
        text = "\n".join(line.text for line in lines[entry.place : end]).strip("\n")
        found.setdefault(entry.label, _step(entry, text))
    return found


def approvals_of(text: str) -> tuple[Moment, ...]:
    """Return which approvals the markers of a step ask for; what stands in code asks for none."""
    spoken = (line.text for line in read_lines(text) if line.kind is not Kind.CODE)
    found = {
        Moment.BEFORE if marker["before"] else Moment.AFTER
        for line in spoken
        for marker in APPROVAL.finditer(line)
    }
    return tuple(moment for moment in Moment if moment in found)


def jumps_of(text: str, number: str, numbers: Sequence[str]) -> tuple[str, ...]:
    """Return the other steps that a step's text sends the reader to; a clause stands for its step.

    It is for readers. What a run follows is what the model makes of the text.
    """
    targets = (_step_of(jump["number"], numbers) for jump in _JUMP.finditer(text))
    return tuple(dict.fromkeys(one for one in targets if one and one != number))


def _step_of(clause: str, numbers: Sequence[str]) -> str:
    parts = clause.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in numbers), "")


def _parts(lines: Sequence[Line], chosen: Choice) -> Iterator[Step | str]:
    starts: dict[int, Entry | None] = dict.fromkeys(_ends(lines, chosen))
    starts |= dict.fromkeys(one.place for one in chosen.sections)
    starts |= {one.place: one for one in chosen.steps}
    places = sorted({0, *starts})
    for place, end in zip(places, [*places[1:], len(lines)], strict=True):
        text = "\n".join(line.text for line in lines[place:end]).strip("\n")
        entry = starts.get(place)
        yield text if entry is None else _step(entry, text)


def _step(entry: Entry, text: str) -> Step:
    return Step(
        number=entry.label,
        title=entry.title,
        text=text,
        approvals=approvals_of(text),
        line=entry.place + 1,
    )


def _ends(lines: Sequence[Line], chosen: Choice) -> Iterator[int]:
    """Yield the places at which a step ends and no other begins."""
    level = chosen.steps[0].level
    if chosen.end is not None and chosen.end < len(lines):
        yield chosen.end
    for line in lines:
        heading = line.kind is Kind.HEADING and line.level <= level
        # Without headings nothing else shows where the last step ends.
        appendix = level == BARE and line.kind is Kind.TEXT and is_appendix(line.text)
        if heading or appendix:
            yield line.place


def _strays(parts: Sequence[Step | str]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str) and approvals_of(part):
            found = APPROVAL.search(part)
            marker = found[0] if found else ""
            yield f"{marker} stands in text that is no step, so nobody is asked for it"
