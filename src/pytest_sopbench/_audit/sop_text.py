"""The text of a procedure: its clauses, its numbers, and the thresholds that it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

from pytest_sopbench._core.values.json import JsonValue

_BEGINS: Final = re.compile(
    r"^[\s#>*_-]*(?:(?:clause|section|step)\s+)?([0-9]+(?:\.[0-9]+)*)[.):]?(?=[\s*_]|$)",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\b(?:clauses?|sections?|steps?|parts?|paragraphs?|chapters?|lines?|rules?|tables?|revisions?)"
    r"\s+[0-9]+(?:\.[0-9]+)*(?:(?:\s*,\s*|\s+(?:and|or|to)\s+)[0-9]+(?:\.[0-9]+)*)*",
    re.IGNORECASE,
)
_DIGITS: Final = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_NUMBER: Final = re.compile(
    rf"(?<![\w.])(?:{_DIGITS})(?![\w]|\.[0-9])"
    rf"|(?<=[A-Za-z_$\u20ac\u00a3(-])(?:{_DIGITS})|(?:{_DIGITS})(?=[A-Za-z%\u00b0])"
)
_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_LARGE: Final = "sixteen seventeen eighteen nineteen twenty"
_TENS: Final = "thirty forty fifty sixty seventy eighty ninety"
_ORDER: Final = "first second third fourth fifth sixth seventh"
_OTHER: Final = {"once": 1, "twice": 2, "double": 2, "dozen": 12, "hundred": 100, "thousand": 1000}
_SPELLED: Final[Mapping[str, Decimal]] = {
    **{word: Decimal(at) for at, word in enumerate(f"{_SMALL} {_LARGE}".split())},
    **{word: Decimal(10 * at) for at, word in enumerate(_TENS.split(), 3)},
    **{word: Decimal(at) for at, word in enumerate(_ORDER.split(), 1)},
    **{word: Decimal(number) for word, number in _OTHER.items()},
    "half": Decimal("0.5"),
    "quarter": Decimal("0.25"),
}
_WORD: Final = re.compile(r"[a-z]+", re.IGNORECASE)
_COMPARED: Final = re.compile(
    r"(?:at least|at most|(?:more|less|fewer|older|later|longer|higher|lower|greater) than"
    r"|over|under|above|below|up to(?: and including)?|exceed(?:s|ing)?|from)\s+"
    rf"[$\u20ac\u00a3]?(?P<one>-?(?:{_DIGITS}))(?![\w:]|\.[0-9])"
    rf"|(?<![\w.])(?P<two>(?:{_DIGITS}))(?:\s?[A-Za-z%\u00b0/]+){{0,3}}?\s+(?:or|and)\s+"
    r"(?:more|less|fewer|above|below|over|under|higher|lower|longer|older|later|earlier)\b",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(rf"^\D{{0,12}}?({_DIGITS})\s*(?:to|-|\u2013)\s*({_DIGITS})\D{{0,12}}$")
_WHOLE: Final = re.compile(rf"\bbetween ({_DIGITS}) and ({_DIGITS})(?![\w]|\.[0-9])")
_SOME: Final = 3
_GROUPED: Final = re.compile(
    r"(?<![\w.,'\u2019])(?:"
    r"(?P<comma>[1-9][0-9]{0,2}(?:[.'\u2019\u202f\u00a0 ][0-9]{3})+,[0-9]+)"
    r"|(?P<point>[1-9][0-9]{0,2}(?:['\u2019\u202f\u00a0 ][0-9]{3})+\.[0-9]+)"
    r"|(?P<whole>[1-9][0-9]{0,2}(?:['\u2019\u202f\u00a0][0-9]{3})+|[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,})"
    r")(?![0-9]|[.,'\u2019][0-9])"
)
"""Numbers that only one office writes so: `3.000,00`, `1'234.50`, `1.234.567`."""

_OF_COMMAS: Final = re.compile(
    r"(?<![\w.,])(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+,[0-9]+"
    r"|[1-9][0-9]{0,2}(?: [0-9]{3})+(?= ?(?:[$\u20ac\u00a3]|EUR|CHF)))(?![0-9]|[.,][0-9])"
)
_SHOWS_COMMA: Final = re.compile(r"(?<![\w.,])[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})(?![0-9]|[.,][0-9])")
_SHOWS_POINT: Final = re.compile(
    r"(?<![\w.,])[0-9]{1,3}(?:[,'\u2019][0-9]{3})+\.[0-9]"
    r"|[$\u20ac\u00a3] ?[0-9]+\.[0-9]{1,2}(?![0-9]|[.,][0-9])"
    r"|(?<![\w.,])[0-9]+\.[0-9]{1,2} ?(?:%|[$\u20ac\u00a3]|(?:EUR|USD|CHF|GBP|kg|km|cm|m)\b)"
)
_COMMA_OF_UNIT: Final = re.compile(
    r"(?<![\w.,])[0-9]+,[0-9]{1,2} ?(?:%|[$\u20ac\u00a3]|(?:EUR|USD|CHF|GBP|kg|km|cm|m)\b)"
)
_ENGLISH: Final = frozenset({"the", "and", "of", "is", "are", "must", "if", "to", "or", "for"})
_OTHERS: Final = frozenset(
    {"der", "die", "das", "und", "ist", "wird", "oder", "bei", "mit", "von", "le", "la", "les"}
    | {"et", "est", "des", "ou", "el", "los", "y", "il", "di", "e", "een", "het", "en", "og", "i"}
)
Range: TypeAlias = tuple[Decimal, Decimal]
_UPPER_END: Final = re.compile(rf"((?:{_DIGITS})\s*(?:to|-|\u2013)\s*|up to\s+)(?:{_DIGITS})")


@dataclass(frozen=True, slots=True)
class Clause:
    """A numbered part of the procedure; `line` is the line on which it begins."""

    number: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that the procedure compares with, in its own words."""

    value: Decimal
    line: int
    words: str


class SopText:
    """A procedure, looked at as text, with its numbers as English writes them."""

    def __init__(self, text: str) -> None:
        self.text = with_points(text)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Its parts, each up to the next number; what stands before the first has no number."""
        found: list[Clause] = []
        number, begun, lines = "", 1, list[str]()
        for at, line in enumerate(self.text.splitlines(), 1):
            match = _BEGINS.match(line)
            if match is None:
                lines.append(line)
                continue
            found.append(Clause(number, begun, "\n".join(lines)))
            number, begun, lines = match[1], at, [line[match.end() :]]
        found.append(Clause(number, begun, "\n".join(lines)))
        return tuple(one for one in found if one.text.strip())

    @cached_property
    def numbering(self) -> frozenset[str]:
        """The numbers of its clauses, and of the parts that hold them."""
        own = {one.number for one in self.clauses if one.number}
        return frozenset(own | {one.rpartition(".")[0] for one in own if "." in one})

    def text_of(self, number: str) -> str:
        """The text of a clause, and of the clauses inside of it; empty if there is none."""
        inside = f"{number}."
        return "\n".join(
            one.text
            for one in self.clauses
            if one.number == number or one.number.startswith(inside)
        )

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """Every number of its clauses, however it is meant."""
        return frozenset(value for one in self.clauses for value in numbers_in(one.text))

    @cached_property
    def stated(self) -> frozenset[Decimal]:
        """The numbers of its clauses without those that refer to a clause."""
        return frozenset(
            value for one in self.clauses for value in numbers_in(self._plain(one.text))
        )

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The numbers that it compares with, as `20 kg or more` and `at least 7`."""
        return tuple(self._thresholds())

    @cached_property
    def cells(self) -> tuple[Threshold, ...]:
        """The numbers in the tables of its clauses, but for the upper ends of ranges."""
        return tuple(self._cells())

    @cached_property
    def broken_ranges(self) -> tuple[tuple[int, str], ...]:
        """Line and words of each step in a table of ranges that leaves a gap or goes twice."""
        whole = [
            (Decimal(low.replace(",", "")), Decimal(high.replace(",", "")))
            for clause in self.clauses
            for low, high in _WHOLE.findall(clause.text)
        ]
        return tuple(_broken_ranges(self.text.splitlines(), whole))

    def _cells(self) -> Iterator[Threshold]:
        for clause in self.clauses:
            # What stands before the first clause describes the document.
            lines = self._plain(clause.text).splitlines() if clause.number else []
            for start, rows in _tables(lines):
                for at, row in enumerate(rows):
                    for cell in row:
                        words = cell.strip()
                        for value in numbers_in(_UPPER_END.sub(r"\1", words)):
                            yield Threshold(value, clause.line + start - 1 + at, words)

    def _thresholds(self) -> Iterator[Threshold]:
        for clause in self.clauses:
            text = _REFERENCE.sub(_blanked, clause.text)
            for match in _COMPARED.finditer(text):
                if match["one"] in self.numbering and "." in match["one"]:
                    continue
                written = (match["one"] or match["two"]).replace(",", "").lstrip("-")
                line = clause.line + text.count("\n", 0, match.start())
                yield Threshold(Decimal(written), line, " ".join(match[0].split()))

    def _plain(self, text: str) -> str:
        """The text without what refers to clauses; lines stay where they are."""
        text = _REFERENCE.sub(_blanked, text)
        dotted = sorted((one for one in self.numbering if "." in one), key=len, reverse=True)
        for number in dotted:
            text = re.sub(
                rf"(?<![\w.]){re.escape(number)}(?![\w%]|\.[0-9]|\s*[A-Za-z%]*/)", "", text
            )
        return text


def _blanked(match: re.Match[str]) -> str:
    return " " * 3 + "\n" * match[0].count("\n")


def numbers_in(text: str) -> Iterator[Decimal]:
    """Every number of a text, in digits or as a word."""
    for match in _NUMBER.finditer(text):
        yield Decimal(match[0].replace(",", ""))
    for match in _WORD.finditer(text):
        if match[0].lower() in _SPELLED:
            yield _SPELLED[match[0].lower()]


def with_points(text: str) -> str:
    """Write the numbers of a text without signs between thousands and with decimal points.

    `3.000,00` is three thousand in any language. What `3.000` and `3,5` are follows from the
    other numbers of the text, else from its language. English ones stay as they are.
    """
    has_commas = _has_decimal_commas(text)
    text = _GROUPED.sub(_with_point, text)
    return _OF_COMMAS.sub(_of_commas, text) if has_commas else text


def _with_point(match: re.Match[str]) -> str:
    whole, _, part = match[0].replace(",", "." if match["comma"] else "").rpartition(".")
    if match["whole"]:
        whole, part = match[0], ""
    digits = "".join(sign for sign in whole if sign.isdigit())
    return f"{digits}.{part}" if part else digits


def _of_commas(match: re.Match[str]) -> str:
    written = match[0]
    return written.replace(",", ".") if "," in written else re.sub("[. ]", "", written)


def _has_decimal_commas(text: str) -> bool:
    words = Counter(word.lower() for word in _WORD.findall(text))
    is_english = sum(words[one] for one in _ENGLISH) >= sum(words[one] for one in _OTHERS)
    # English has commas between numbers as well: `lines 1,2 and 4`.
    commas = any(one["comma"] for one in _GROUPED.finditer(text)) or (
        _COMMA_OF_UNIT if is_english else _SHOWS_COMMA
    ).search(text)
    points = _SHOWS_POINT.search(text)
    return bool(commas) if bool(commas) != bool(points) else not is_english


def _broken_ranges(lines: list[str], whole: list[Range]) -> Iterator[tuple[int, str]]:
    for start, rows in _tables(lines):
        for column in range(max((len(row) for row in rows), default=0)):
            ranges = [
                (start + at, Decimal(match[1].replace(",", "")), Decimal(match[2].replace(",", "")))
                for at, row in enumerate(rows)
                if column < len(row) and (match := _RANGE.match(row[column].strip()))
            ]
            yield from _broken_steps(ranges)
            yield from _other_ends(ranges, whole)


def _broken_steps(ranges: list[tuple[int, Decimal, Decimal]]) -> Iterator[tuple[int, str]]:
    ordered = sorted(ranges, key=lambda one: one[1])
    for line, low, high in ordered:
        if low > high:
            yield line, f"the range {low} to {high} is empty"
    steps = [(after, after[1] - before[2], before) for before, after in pairwise(ordered)]
    usual = [step for _, step, _ in steps if step in (0, 1, Decimal("0.1"), Decimal("0.01"))]
    if not usual or 2 * len(usual) <= len(steps):
        return
    wanted = max(set(usual), key=usual.count)
    for (line, low, high), step, before in steps:
        if step != wanted:
            kind = "leaves a gap after" if step > wanted else "overlaps"
            yield line, f"the range {low} to {high} {kind} {before[1]} to {before[2]}"


def _other_ends(
    ranges: list[tuple[int, Decimal, Decimal]], whole: list[Range]
) -> Iterator[tuple[int, str]]:
    """Where the text says what the table covers, and one of its ends is a little off."""
    if len(ranges) < _SOME:
        return
    ordered = sorted(ranges, key=lambda one: one[1])
    first, last = ordered[0], ordered[-1]
    low, high = first[1], last[2]
    near = (high - low) / 4
    if (low, high) in whole:
        return
    for least, most in whole:
        if (low == least and abs(high - most) <= near) or (
            high == most and abs(low - least) <= near
        ):
            line = last[0] if low == least else first[0]
            yield line, f"the table covers {low} to {high}, and the text says {least} to {most}"


def _tables(lines: list[str]) -> Iterator[tuple[int, list[list[str]]]]:
    rows: list[list[str]] = []
    for at, line in enumerate([*lines, ""], 1):
        if line.lstrip().startswith("|"):
            rows.append(line.strip().strip("|").split("|"))
        elif rows:
            yield at - len(rows), rows
            rows = []


# Cut-offs: the numbers of a column between which labels change.

PURE: Final = 0.95
"""Share of rows that a column has to put right before its cut-offs count."""

_FEWEST: Final = 100
"""Rows below which some column of many separates labels by accident."""

_RUN: Final = 0.02
_RUNS: Final = 8


@dataclass(slots=True)
class LabelRange:
    """Values of a column, from `first` to `last`, of which most `rows` have the label."""

    label: str
    first: Decimal
    last: Decimal
    rows: int
    right: int


def cut_offs(
    cells: Sequence[JsonValue], labels: Sequence[str]
) -> Iterator[tuple[LabelRange, LabelRange]]:
    """Yield the ranges on both sides of each cut-off, if a column gives the labels by ranges."""
    counted: dict[Decimal, Counter[str]] = {}
    for cell, label in zip(cells, labels, strict=True):
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            continue
        counted.setdefault(Decimal(str(cell)), Counter())[label] += 1
    runs = _runs(counted)
    rows = sum(run.rows for run in runs)
    right = sum(run.right for run in runs)
    usual = max(Counter(labels).values(), default=0)
    if rows < max(_FEWEST, len(cells) / 2) or not 1 < len(runs) <= _RUNS:
        return
    # A label that comes twice is no range.
    if len({run.label for run in runs}) < len(runs):
        return
    # What is usual anyway is told by no cut-off.
    if right < PURE * rows or right - usual < (1 - PURE) * 2 * rows:
        return
    for one, other in pairwise(runs):
        if min(one.rows, other.rows) >= _RUN * rows:
            yield one, other


def _runs(counted: dict[Decimal, Counter[str]]) -> list[LabelRange]:
    runs: list[LabelRange] = []
    for value in sorted(counted):
        found = counted[value]
        label, right = found.most_common(1)[0]
        rows = sum(found.values())
        if runs and runs[-1].label == label:
            last = runs[-1]
            last.last, last.rows, last.right = value, last.rows + rows, last.right + right
        else:
            runs.append(LabelRange(label, value, value, rows, right))
    return runs
