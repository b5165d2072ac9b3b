"""The steps of an SOP: its text is cut into them, and a run may need an approval of one.

The lines of the text are told apart, its numbered entries are found, and those that are steps are
chosen. If an SOP does not show its steps, it says why. Last come the approvals of steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, Literal, TypeAlias

# Tell the lines of an SOP apart: headings, text, and what only looks like them.

_ATX: Final = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*$")
_CLOSING: Final = re.compile(r"(?:^|[ \t]+)#+$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"^[ \t]{0,7}(?P<marks>`{3,}|~{3,})(?P<info>.*)$")
_INDENTED: Final = re.compile(r"^(?: {2,}|\t| {0,3}>)")
_FRONT: Final = "---"
_FRONT_ENDS: Final = frozenset({"---", "..."})


class Kind(Enum):
    """What a line is. Code and tables hold what looks like a heading and is none."""

    BLANK = auto()
    HEADING = auto()
    TEXT = auto()
    INSIDE = auto()
    CODE = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `title` and `level` are those of a heading, `place` counts from 0.

    `INSIDE` is the kind of an indented line, which belongs to what stands above it, and of a line
    that is quoted. The underline of a heading is a line of code.
    """

    place: int
    text: str
    kind: Kind
    title: str = ""
    level: int = 0


def read_lines(text: str) -> tuple[Line, ...]:
    """Say of each line of a text what it is."""
    raw = text.split("\n")
    start = 0
    if raw[0].rstrip() == _FRONT:
        # The YAML that stands before a text.
        ends = (place for place in range(1, len(raw)) if raw[place].rstrip() in _FRONT_ENDS)
        start = next(ends, -1) + 1
    front = [Line(place, raw[place], Kind.CODE) for place in range(start)]
    return (*front, *_body(raw, start))


def _body(raw: Sequence[str], start: int) -> Iterator[Line]:
    fence = ""
    skipped = False
    for place in range(start, len(raw)):
        text = raw[place]
        marks = _FENCE.match(text)
        if fence:
            yield Line(place, text, Kind.CODE)
            if marks and marks["marks"].startswith(fence) and not marks["info"].strip():
                fence = ""
        elif skipped:
            yield Line(place, text, Kind.CODE)
            skipped = False
        elif marks and "`" not in marks["info"]:
            fence = marks["marks"]
            yield Line(place, text, Kind.CODE)
        else:
            line = _plain(place, text, raw)
            # The underline must not pass for the end of something.
            skipped = line.kind is Kind.HEADING and not text.lstrip().startswith("#")
            yield line


def _plain(place: int, text: str, raw: Sequence[str]) -> Line:
    if not text.strip():
        return Line(place, text, Kind.BLANK)
    heading = _ATX.match(text)
    if heading:
        title = _CLOSING.sub("", heading["title"] or "")
        return Line(place, text, Kind.HEADING, title.strip(), len(heading["marks"]))
    if text.lstrip().startswith("|"):
        return Line(place, text, Kind.TABLE)
    if _INDENTED.match(text):
        return Line(place, text, Kind.INSIDE)
    level = _underlined(place, raw)
    if level:
        return Line(place, text, Kind.HEADING, text.strip(), level)
    return Line(place, text, Kind.TEXT)


def _underlined(place: int, raw: Sequence[str]) -> int:
    """Return the level of a heading that is marked by the line below it, or 0."""
    alone = place == 0 or not raw[place - 1].strip()
    under = _UNDERLINE.match(raw[place + 1]) if alone and place + 1 < len(raw) else None
    if under is None:
        return 0
    return 1 if under[1].startswith("=") else 2


# Find the numbered entries of an SOP: `## 1. Title`, `Step 3 - Title`, `1) ...`, `4.1 ...`.

NUMBER: Final = r"\d{1,3}(?:\.\d{1,3})*"
APPROVAL: Final = re.compile(
    r"`?\[[ \t]*(?P<before>pre[- ]?)?approval[ \t]+required\b[^\]\n]*\]`?", re.IGNORECASE
)
TITLE_LIMIT: Final = 80

BARE: Final = 7
"""The level of an entry that is no heading: below all headings."""

_MARKS: Final = r"[*_]{0,3}"
_STEP: Final = re.compile(
    rf"^(?:[-*+][ \t]+)?{_MARKS}(?:step|schritt)[ \t]*#?[ \t]*(?P<number>{NUMBER})"
    rf"{_MARKS}(?P<sign>[ \t]*[:.)]|[ \t]+[-\u2013\u2014](?=[ \t]))?{_MARKS}"
    r"(?:[ \t]+|$)(?P<title>.*)$",
    re.IGNORECASE,
)
_IN_HEADING: Final = re.compile(
    rf"^{_MARKS}(?:(?:section|phase|stage|part|clause)[ \t]+)?\(?(?P<number>{NUMBER})"
    rf"(?:[.):]|[ \t]*[-\u2013\u2014](?=[ \t]))?{_MARKS}(?:[ \t]+|$)(?P<title>.*)$",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    rf"^{_MARKS}(?:(?P<one>\d{{1,3}})[.)]|\((?P<braced>\d{{1,3}})\)|(?P<number>{NUMBER})[.)]?)"
    rf"{_MARKS}[ \t]+(?P<title>\S.*)$"
)
_SENTENCE: Final = re.compile(r"(?<=[.!?:])[ \t]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line that begins something with a number.

    `level` is that of its heading, or `BARE`; `says_step` tells that it is called a step.
    """

    place: int
    number: tuple[int, ...]
    label: str
    title: str
    level: int
    says_step: bool = False

    @property
    def is_bare(self) -> bool:
        return self.level == BARE


def in_order(entries: Sequence[Entry]) -> bool:
    """Whether the numbers of at least two entries only ever rise."""
    rises = all(one.number < other.number for one, other in pairwise(entries))
    return len(entries) > 1 and rises


def entries_of(lines: Sequence[Line]) -> tuple[Entry, ...]:
    """Return every numbered entry; numbers in code, tables and indented lines are none."""
    entries: list[Entry] = []
    listing = False
    for place, line in enumerate(lines):
        found = None
        if line.kind is Kind.HEADING:
            found = _read(_STEP, line, line.level) or _read(_IN_HEADING, line, line.level)
        elif line.kind is Kind.TEXT:
            begins = listing or place == 0 or lines[place - 1].kind is not Kind.TEXT
            found = _bare(line, begins=begins)
        if found is not None:
            entries.append(found)
        # A list goes on over its own lines; a line of prose that wraps is no entry of it.
        listing = found is not None or (listing and line.kind is Kind.INSIDE)
    return tuple(entries)


def _bare(line: Line, *, begins: bool) -> Entry | None:
    step = _STEP.match(line.text)
    if step is not None:
        return _read(_STEP, line, BARE) if step["sign"] and begins else None
    return _read(_LISTED, line, BARE) if begins else None


def _read(form: re.Pattern[str], line: Line, level: int) -> Entry | None:
    found = form.match(line.title or line.text)
    if found is None:
        return None
    named = found.groupdict()
    label: str = named.get("one") or named.get("braced") or named["number"]
    return Entry(
        place=line.place,
        number=tuple(map(int, label.split("."))),
        label=label,
        title=_title(found["title"], shorten=level == BARE),
        level=level,
        says_step=form is _STEP,
    )


def _title(text: str, *, shorten: bool) -> str:
    bare = " ".join(APPROVAL.sub(" ", text).split()).strip("*_ :")
    if shorten:
        bare = _SENTENCE.split(bare, maxsplit=1)[0].strip("*_ :")
    return bare if len(bare) <= TITLE_LIMIT else f"{bare[: TITLE_LIMIT - 3].rstrip()}..."


# An SOP as steps, and the text around them that applies to all.


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
        line: the line of the SOP on which it begins, from 1; 0 if it is not a part of the SOP.
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


# What the title of a section says of it: that it holds for all steps, or holds the steps.

_GENERAL: Final = frozenset(
    {
        *(
            "abbreviations",
            "acronyms",
            "annex",
            "annexes",
            "appendices",
            "appendix",
            "applicability",
        ),
        *("attachment", "attachments", "audience", "background", "changes", "contacts", "context"),
        *(
            "definition",
            "definitions",
            "disclaimer",
            "glossary",
            "history",
            "introduction",
            "notes",
        ),
        *("objective", "objectives", "overview", "preamble", "preface", "prerequisites", "purpose"),
        *("reference", "references", "responsibilities", "revision", "revisions", "role", "roles"),
        *("scope", "terminology", "terms"),
    }
)
_PROCEDURE: Final = frozenset(
    {
        *("instruction", "instructions", "method", "procedure", "procedures", "process", "steps"),
        "workflow",
    }
)
_BESIDE: Final = frozenset(
    {
        *("a", "and", "detailed", "document", "documents", "for", "general", "important", "key"),
        *("main", "of", "our", "related", "step-by-step", "the", "used", "words"),
    }
)
_WORD: Final = re.compile(r"[^\W\d_][\w-]*")
_APPENDIX: Final = re.compile(r"^[*_#\s]*(?:appendix|annex|attachment)\b", re.IGNORECASE)


def holds_steps(title: str) -> bool:
    """Whether a section of that title holds the steps: `Main Procedure`, `Instructions`."""
    return _says_only(title, _PROCEDURE)


def is_appendix(title: str) -> bool:
    """Whether a line begins an appendix."""
    return _APPENDIX.match(title) is not None


def _says_only(title: str, words: frozenset[str]) -> bool:
    said = [word.lower() for word in _WORD.findall(title)]
    return any(one in words for one in said) and all(one in words | _BESIDE for one in said)


# Decide which numbered entries of an SOP are its steps; if that is not clear, say why.
#
# In this order: entries that are called steps; numbered headings; numbered lines. Of numbered
# sections, one that is titled `Procedure` or the like has the steps inside it, and those titled
# `Purpose`, `Definitions` or the like are none.


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
    """Return the numbered headings of the highest level that has several; none if there is none.

    Raises:
        NoStructureError: their numbers start again, or several sections have steps of their own.
    """
    groups = [one for one in _by_level(h for h in headings if len(h.number) == 1) if len(one) > 1]
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
        if one.number[1:]:
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
    # Every word of a title has to be one of a short list, so that no step is taken for general.
    steps = tuple(
        one for one in sections if not (is_appendix(one.title) or _says_only(one.title, _GENERAL))
    )
    if len(steps) < 2:  # noqa: PLR2004 - one step is the whole SOP
        msg = "fewer than two numbered sections are left beside purpose, definitions and the like"
        raise NoStructureError(msg)
    return Choice(steps=steps, source=source, sections=sections)


def _inner(section: _Range, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the parts of one section: `5.1`, `5.2`, or its own list; none if it has neither."""
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


# Cut an SOP into its steps and the text around them, of which nothing is lost.

_JUMP: Final = re.compile(
    r"\b(?:go|goes|return|skip|jump|proceed|continue|move|resume|repeat)\b[^.;:\n]{0,40}?"
    rf"\b(?:step|section|clause|part|phase|stage)s?[ \t]+(?P<number>{NUMBER})",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)
def split_sop(sop: str) -> Procedure:
    """Cut an SOP into steps; if it does not show them, the whole of it is general text."""
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


# Who approves the steps of a run: what is asked, what is answered, and those who need no person.
#
# An approver is a function of the user's: it is given an `ApprovalRequest`, and returns true,
# false, or an `ApprovalDecision`. One approver serves all runs of a session, from many threads.


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request to approve one step of one run.

    Attributes:
        step: the number of the step, as the SOP has it.
        title: its title.
        moment: `before` the step begins, or `after` its work is done.
        summary: what the agent says that it has found so far, or done in this step.
        domain: the name of the domain.
        task_id: the id of the task.
    """

    step: str
    title: str = ""
    moment: Literal["before", "after"] = "after"
    summary: str = ""
    domain: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecision:
    """What came of a request; true in a condition exactly if it was approved.

    Attributes:
        approved: whether the run may go on.
        by: who decided.
        reason: why, mostly of a denial.
    """

    approved: bool
    by: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return self.approved


Approver: TypeAlias = Callable[[ApprovalRequest], "ApprovalDecision | bool"]

AUTO: Final = "auto"
DENY: Final = "deny"
SCRIPTED: Final = "scripted"
EVERY: Final = "*"
"""In a script: every step that it does not name."""

Decisions: TypeAlias = Mapping[str, "bool | str"]


def approve_all(_: ApprovalRequest) -> ApprovalDecision:
    """Approve every step."""
    return ApprovalDecision(approved=True, by=AUTO)


def deny_all(_: ApprovalRequest) -> ApprovalDecision:
    """Deny every step."""
    return ApprovalDecision(approved=False, by=DENY, reason="every approval is denied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """Decides as a script says: by step, and for some tasks, called `DOMAIN/TASK`, otherwise.

    A decision is true, false, or a text: why it is denied. What the script does not decide is
    denied.
    """

    decisions: Decisions = field(default_factory=dict[str, "bool | str"])
    tasks: Mapping[str, Decisions] = field(default_factory=dict[str, Decisions])

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        task = self.tasks.get(f"{request.domain}/{request.task_id}", {})
        unsaid = f"the script does not decide about step {request.step}"
        places = ((task, request.step), (task, EVERY), (self.decisions, request.step))
        found = next((script[key] for script, key in places if key in script), None)
        decided = self.decisions.get(EVERY, unsaid) if found is None else found
        if isinstance(decided, str):
            return ApprovalDecision(approved=False, by=SCRIPTED, reason=decided)
        return ApprovalDecision(approved=decided, by=SCRIPTED)
