"""Decide which numbered entries of an SOP are its steps; where that is not clear, say why.

In this order: entries that are called steps; numbered headings; numbered lines. Of numbered
sections, one that is titled `Procedure` or the like has the steps inside it, and those titled
`Purpose`, `Definitions` or the like are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from .entries import Entry, entries_of, in_order
from .lines import Kind, Line
from .titles import holds_steps, is_general


class NoStructureError(Exception):
    """The SOP does not show its steps; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The entries that are steps.

    `sections` are entries that end a step and begin none, `end` is the place at which the section
    ends that holds all of the steps, and `source` says where they were found.
    """

    steps: tuple[Entry, ...]
    source: str
    sections: tuple[Entry, ...] = ()
    end: int | None = None


@dataclass(frozen=True, slots=True)
class _Range:
    """A section with a title, from its first place to where it ends."""

    title: str
    start: int
    end: int

    def holds(self, entry: Entry) -> bool:
        return self.start < entry.place < self.end


def choose(lines: Sequence[Line]) -> Choice:
    """Return which entries are the steps.

    Raises:
        NoStructureError: there are none, or more than one reading of what they are.
    """
    entries = entries_of(lines)
    called = _by_level(one for one in entries if one.says_step)
    named = next((group for group in called if in_order(group)), None)
    if named is not None:
        return Choice(steps=named, source="steps that are called so")
    plain = tuple(one for one in entries if not one.says_step)
    headings = tuple(one for one in plain if not one.is_bare)
    bare = tuple(one for one in plain if one.is_bare)
    sections = _headed(headings)
    if sections:
        return _of_sections(lines, sections, plain, source="numbered headings")
    runs = _runs(bare)
    if any(line.kind is Kind.HEADING for line in lines):
        return _under_headings(lines, runs)
    return _of_sections(lines, _only(runs), plain, source="numbered lines")


def _by_level(entries: Iterable[Entry]) -> list[tuple[Entry, ...]]:
    in_levels = sorted(entries, key=lambda one: one.level)
    return [tuple(group) for _, group in groupby(in_levels, key=lambda one: one.level)]


def _headed(headings: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the numbered headings of the highest level that has several; none where there is none.

    Raises:
        NoStructureError: their numbers start again, or several sections have steps of their own.
    """
    groups = [one for one in _by_level(h for h in headings if _depth(h) == 1) if len(one) > 1]
    if groups:
        return _rising(groups[0])
    parents = {one.number[:-1] for one in headings}
    if len(parents) > 1:
        msg = f"the headings {headings[0].label} to {headings[-1].label} belong to several sections"
        raise NoStructureError(msg)
    inner = [one for one in _by_level(headings) if len(one) > 1]
    return _rising(inner[0]) if inner else ()


def _rising(group: tuple[Entry, ...]) -> tuple[Entry, ...]:
    for one, other in pairwise(group):
        if other.number <= one.number:
            here, there = (f"{each.label} (line {each.place + 1})" for each in (other, one))
            msg = f"the headings are not in order: {here} follows {there}"
            raise NoStructureError(msg)
    return group


def _runs(bare: Sequence[Entry]) -> list[tuple[Entry, ...]]:
    """Return the lists of numbered lines: a list goes on as long as it counts on."""
    runs: list[list[Entry]] = []
    for one in bare:
        if _depth(one) > 1:
            continue
        if runs and one.number[0] == runs[-1][-1].number[0] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return [tuple(run) for run in runs if len(run) > 1]


def _only(runs: Sequence[tuple[Entry, ...]]) -> tuple[Entry, ...]:
    if not runs:
        msg = "no numbered headings, steps or lines"
        raise NoStructureError(msg)
    if len(runs) > 1:
        places = ", ".join(str(run[0].place + 1) for run in runs)
        msg = (
            f"{len(runs)} numbered lists (lines {places}), and it is not clear which has the steps"
        )
        raise NoStructureError(msg)
    return runs[0]


def _under_headings(lines: Sequence[Line], runs: Sequence[tuple[Entry, ...]]) -> Choice:
    """Find the list that is meant among headings without numbers."""
    titled = [one for one in _ranges(lines) if holds_steps(one.title)]
    if len(titled) == 1:
        inside = [run for run in runs if all(map(titled[0].holds, run))]
        if inside:
            return Choice(steps=_only(inside), source=f"the list of {titled[0].title!r}")
    run = _only(runs)
    title, *others = (line for line in lines if line.kind is Kind.HEADING)
    is_title = all(title.level < line.level for line in others)
    if others and not (is_title and run[-1].place < others[0].place):
        # What else the section is for only its title could tell.
        msg = f"the numbered list (line {run[0].place + 1}) stands in a section of another title"
        raise NoStructureError(msg)
    return Choice(steps=run, source="numbered lines")


def _ranges(lines: Sequence[Line]) -> list[_Range]:
    headings = [line for line in lines if line.kind is Kind.HEADING]
    ranges: list[_Range] = []
    for place, one in enumerate(headings):
        ends = (other.place for other in headings[place + 1 :] if other.level <= one.level)
        ranges.append(_Range(one.title, one.place, next(ends, len(lines))))
    return ranges


def _of_sections(
    lines: Sequence[Line], sections: tuple[Entry, ...], entries: Sequence[Entry], *, source: str
) -> Choice:
    ends = [*(one.place for one in sections[1:]), len(lines)]
    titled = [
        _Range(one.label, one.place, end)
        for one, end in zip(sections, ends, strict=True)
        if holds_steps(one.title)
    ]
    if len(titled) == 1:
        inside = _inner(titled[0], [one for one in entries if titled[0].holds(one)])
        if inside:
            return Choice(
                steps=inside,
                source=f"the parts of section {titled[0].title}",
                sections=sections,
                end=titled[0].end,
            )
    steps = tuple(one for one in sections if not is_general(one.title))
    if len(steps) < 2:  # noqa: PLR2004 - one step is the whole SOP
        msg = "fewer than two numbered sections are left beside purpose, definitions and the like"
        raise NoStructureError(msg)
    return Choice(steps=steps, source=source, sections=sections)


def _inner(section: _Range, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the parts of one section: `5.1`, `5.2`, or its own list; none where it has neither."""
    number = tuple(map(int, section.title.split(".")))
    parts = [one for one in entries if one.number[:-1] == number]
    for group in _by_level(parts):
        if in_order(group):
            return group
    headed = [one for one in _by_level(entries) if not one[0].is_bare and in_order(one)]
    runs = _runs([one for one in entries if one.is_bare])
    if headed:
        return headed[0]
    return runs[0] if len(runs) == 1 else ()


def _depth(entry: Entry) -> int:
    return len(entry.number)
