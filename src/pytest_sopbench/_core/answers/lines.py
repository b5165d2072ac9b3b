"""Runs of `name: value` lines, as Markdown lays them out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pytest_sopbench._core.fields.values import FieldNames, value_key
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import fold

from .text import BLANK, plain_html
from .values import (
    GENERIC,
    Candidate,
    Reading,
    bare_value,
    is_call,
    is_labelled,
    is_of_tool,
    is_title,
    leads_in_no_answer,
    plain_value,
)

LONGEST: Final = 16_000
"""Characters at the end of a text whose Markdown is read."""

_MOST_WORDS: Final = 8
_SENTENCE: Final = 5
_FEW: Final = 3
_TWO: Final = 2
_DATA: Final = frozenset(
    ("", "text", "txt", "plaintext", "yaml", "yml", "json", "markdown", "md", "toml", "ini")
)
_VALUE_HEADS: Final = frozenset(("value", "answer", "result", "decision", "output", "outcome"))
_COMPARED: Final = re.compile(
    r"before|after|previous|old|new|draft|expected|corrected|option|alternative|initial",
    re.IGNORECASE,
)
_PAIR: Final = re.compile(
    r"(?P<name>[^:\uff1a=\u2192|\n]{1,80}?)\s*"
    r"(?P<sep>:(?!//)[:=]?|\uff1a|=(?!=)>?|\u2192|->|(?<=[ \t])\.{2}(?:\.{2,})?(?=[ \t]))\s*"
    r"(?P<value>.*)"
)
_FINAL: Final = re.compile(
    r"^(?:\d{1,3}[.)] ?)?(?:(?:the|my|our) )?(?:(?:final|correct|corrected|revised|updated) )?"
)
_SAID_FINAL: Final = re.compile(
    r"(?P<mark>\*\*|__|[*_]?)(?:(?:the |my )?(?:final )?answer is(?= )|(?:so|thus|hence|therefore|"
    r"in field form|final|(?:the |my )?(?:final )?(?:answer|result|output|value)s?(?: are)?)"
    r"(?P<close>[*_]{0,2})[ \t]*(?:[:\uff1a\u2192\u2013\u2014]|->|=>))"
    r"(?P<end>[*_]{0,2})(?P<rest>[ \t]+\S.*)",
    re.IGNORECASE,
)
_DASHED: Final = re.compile(
    r"(?P<mark>\*\*|__|`|)(?P<name>[^*_`\n|][^*`\n|]{0,79})(?P=mark) (?P<dash>[-\u2013\u2014]) "
    r"(?P<value>\S.*)"
)
_QUOTES: Final = ("''", '""', "\u201c\u201d", "\u2018\u2019")
_CORRECTION: Final = re.compile(r"correct(?:ion|ed)", re.IGNORECASE)
_UNDECIDED: Final = re.compile(r"(?i:not|n?either|never|still|open|pending|un\w+)\b")
_REMARK: Final = re.compile(r"#.*|;.*|\[[^\]]*\]")
"""A line of data that says what is below it: a comment, or the name of a section."""

_COMMENT: Final = re.compile(r"\s+#\s.*$")
_QUALIFIES: Final = re.compile(
    r"\d|\b(?:or|if|not|no|unless|until|maybe|may|might|could|would|about|minutes|hours|days|"
    r"applicable|to be|tbd|todo|confirm\w*|check\w*|unsure|unclear)\b",
    re.IGNORECASE,
)
_ADDENDA: Final = frozenset(("edit", "update", "addendum", "postscript", "ps", "p.s."))
_PICTURES: Final = re.compile(
    "^[\u2022\u2023\u25e6\u25aa\u231a-\u23ff\u2705\u2713\u2714\u2611\U0001f300-\U0001faff\u27a1\ufe0f\\s]+"
)
_AROUND: Final = "*_` "


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a block: of a paragraph, the first of a list item, a heading, a table, a stop."""

    kind: str
    row: int = 0
    text: str = ""
    cells: tuple[tuple[int, list[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """What a line says of a name; the field is `None` if it is the name of something else."""

    name: str
    field: OutputField | None
    value: JsonValue
    row: int
    reading: Reading = Reading.EXACT

    @property
    def is_short(self) -> bool:
        """Whether a value is just that, or a few words that can hold no other pair."""
        few = len(str(self.value).split()) <= _FEW
        return self.reading is Reading.EXACT or (self.reading is Reading.ANY_WORDS and few)

    @property
    def corrects(self) -> bool:
        return self.field is None and _CORRECTION.fullmatch(self.name) is not None


def find_runs(text: str, names: FieldNames, required: Sequence[OutputField]) -> Iterator[Candidate]:
    """Yield the runs of lines that have every field once, the last one first."""
    cut = max(len(text) - LONGEST, 0)
    if cut and not (cut := text.find("\n", cut) + 1):
        return
    source = plain_html(text[cut:])
    shown = source.replace(BLANK, "").replace("\r", "")
    if not _may_name(shown, required):
        return
    rows = [cut]
    for line in source.split("\n"):
        rows.append(rows[-1] + len(line) + 1)
    reader = _Runs(names, required, has_braces="{" in text or "}" in text)
    runs = [*reader.runs([*_lines(shown)])]
    for lead, run in reversed(runs):
        found = dict[str, _Pair]()
        after = next((at for at in range(len(run), 0, -1) if run[at - 1].corrects), 0)
        is_led_in = leads_in_no_answer(lead) or is_of_tool(lead)
        if not is_led_in and not (found := reader.every_field(run)):
            found = reader.every_field(run[after:])
        if found:
            told = [pair.row for pair in found.values()]
            yield Candidate(
                form=AnswerForm.FIELD_LINES,
                start=rows[min(told)],
                end=rows[max(told) + 1] - 1,
                values={name: pair.value for name, pair in found.items()},
                over=rows[max(pair.row for pair in run) + 1] - 1,
                sentences="\n".join(
                    str(pair.value)
                    for pair in run
                    if pair.row > max(told) and len(str(pair.value).split()) >= _SENTENCE
                ),
            )


def _may_name(text: str, required: Sequence[OutputField]) -> bool:
    """Whether a text has the first word of each name; else its Markdown is not worth reading."""
    generic = ("answer", "decision") if len(required) == 1 else ()
    folded = text.casefold()
    return all(
        any(word in folded for word in (fold(one.name).split()[0], *generic)) for one in required
    )


@lru_cache(maxsize=1)
def _markdown() -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only if a text must be read so

    return MarkdownIt("commonmark").enable("table")


def _lines(source: str) -> Iterator[_Line]:
    """Yield the lines of the blocks; what stands in a line is not parsed, which takes most time."""
    parser = _markdown()
    tokens: list[Any] = []
    parser.block.parse(source, parser, {}, tokens)
    quoted = 0
    kind = "line"
    table: list[tuple[int, list[str]]] = []
    kinds = {"heading_open": "heading", "list_item_open": "item", "table_open": "table"}
    for token in tokens:
        name = token.type
        quoted += token.nesting if name.startswith("blockquote") else 0
        if quoted or name in ("blockquote_close", "hr", "code_block"):
            yield _Line("stop")
        elif name == "tr_open":
            table.append((token.map[0], []))
        elif name == "table_close":
            yield _Line("table", cells=tuple(table))
            table, kind = [], "line"
        elif name == "inline" and kind == "table":
            table[-1][1].append(token.content.strip())
        elif name == "fence" and token.info.strip().lower() not in _DATA:
            yield _Line("stop")
        elif name in ("inline", "html_block", "fence"):
            first = token.map[0] + (name == "fence")
            for row, line in enumerate(token.content.split("\n"), start=first):
                text = line.strip().removesuffix("\\").replace("\\_", "_")
                is_item = name == "fence" and text.startswith("- ")
                of = "item" if is_item else kind if row == first else "line"
                of = "comment" if name == "fence" and _REMARK.fullmatch(text) else of
                if text:
                    yield _Line(of, row, text[2:].strip() if is_item else text)
            kind = "line"
        else:
            kind = kinds.get(name, kind)


def _inside(text: str) -> str:
    """Return a line without what wraps all of it."""
    bare = bare_value(text.rstrip(" ;"))
    return bare[1:-1] if bare.startswith("(") and bare.endswith(")") else bare


def _without_comment(value: str) -> str:
    """Return a value without the comment behind it, unless that speaks of another value."""
    match = _COMMENT.search(value)
    return value if match is None or _QUALIFIES.search(match[0]) else value[: match.start()]


class _Runs:
    """Knows the fields by their names, and finds runs of pairs."""

    def __init__(
        self, names: FieldNames, required: Sequence[OutputField], *, has_braces: bool
    ) -> None:
        self._names = names
        # A name in quotes may be a key of an object that is no answer.
        self._may_quote = not has_braces
        self._fields = {one.name: one for one in required}
        self._single = required[0] if len(required) == 1 else None
        generic = "|answer|decision" if self._single else ""
        self._said = re.compile(
            rf"(?:(?:the|my|our)\s+)?(?P<name>(?:final\s+)?(?:{names.pattern}{generic}))[*_`]*"
            r"\s+is(?P<sep>:?)\s+(?P<value>.+)",
            re.IGNORECASE,
        )
        mark = r"[\"'*_`]{0,3}"
        self._joint = re.compile(
            r"(?:(?:[,|/]|\.(?=[ \t]))(?:[ \t]*and\b)?|[ \t]and)[ \t]*"
            rf"(?={mark}(?:{names.pattern}){mark}[ \t]*(?:[:\uff1a=\u2192]|->))|;",
            re.IGNORECASE,
        )

    def every_field(self, run: Sequence[_Pair]) -> dict[str, _Pair]:
        """Return the pair of each field, or nothing unless the run gives every one one value."""
        found: dict[str, _Pair] = {}
        for pair in run:
            if pair.field is None:
                below = f" {fold(pair.name)} "
                if any(f" {fold(name)} " in below for name in found):
                    return {}
                continue
            earlier = found.get(pair.field.name, pair)
            is_other = value_key(pair.field, earlier.value) != value_key(pair.field, pair.value)
            if is_other or pair.reading is Reading.NONE:
                return {}
            found[pair.field.name] = pair
        return found if len(found) == len(self._fields) else {}

    def runs(self, lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Pair]]]:
        """Yield each run of pairs, and the line that leads it in."""
        run: list[_Pair] = []
        lead = ""
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            pairs = self._table(line) if line.kind == "table" else self._pairs(line)
            if pairs is not None and all(pair.value != "" for pair in pairs):
                run += pairs
                continue
            name = pairs[0].name if pairs else line.text.strip("#:" + _AROUND)
            is_name = line.kind == "heading" or pairs or line.text.startswith(("**", "__"))
            field = self._field_of(name) if is_name else None
            below, used = self._below(field, lines[at : at + 200]) if field else (None, 0)
            if used:
                run.append(self._pair(name, below, lines[at + used - 1].row))
                at += used
                continue
            yield lead, run
            if line.kind == "comment":
                # What leads in the data leads in all of it.
                run, lead = [], f"{lead.rstrip(':')}, {line.text.strip('#;[] ')}:"
                continue
            is_lead = line.text.rstrip(_AROUND).endswith((":", "\uff1a", "?")) or (
                line.text.startswith("**") and line.text.endswith("**")
            )
            is_lead = is_lead or line.kind == "heading" or is_title(line.text) or is_call(line.text)
            run, lead = [], line.text if is_lead else ""
        yield lead, run

    def _field_of(self, name: str) -> OutputField | None:
        bare = fold(name.strip(_AROUND))
        shorter = _FINAL.sub("", bare)
        known = self._names.field_of(bare) or self._names.field_of(shorter)
        if known is None and shorter in GENERIC:
            return self._single
        return self._fields.get(known or "")

    def _pair(self, name: str, value: JsonValue, row: int) -> _Pair:
        field = self._field_of(name)
        is_plain = field is not None and field.type is not FieldType.TEXT and not is_labelled(field)
        if isinstance(value, str) and is_plain:
            value = _without_comment(value)
        if field is None or not isinstance(value, str):
            return _Pair(name.strip(_AROUND), field, value, row)
        read, reading = plain_value(field, value)
        return _Pair(name, field, read, row, reading)

    def _pairs(self, line: _Line) -> list[_Pair] | None:
        """Return what a line says, or `None` if it is no pair; its value may be empty."""
        if line.kind == "stop":
            return None
        if "|" in line.text:
            cells = [cell.strip() for cell in line.text.strip("| ").split("|")]
            if len(cells) == _TWO and self._field_of(cells[0]):
                # The row that heads a table names fields, and gives none.
                is_head = self._field_of(cells[1])
                return [] if is_head else [self._pair(cells[0], cells[1], line.row)]
            if line.text.startswith("|"):
                return None
        text = self._without_final(line.text)
        one = self._one(text, line.row)
        if (one and one.field) or ";" in text or text.startswith("("):
            split = [self._one(part.strip(), line.row) for part in self._joint.split(_inside(text))]
            several = [
                it for it in split if it and it.value != "" and (not it.field or it.is_short)
            ]
            if len(several) == len(split) and sum(it.field is not None for it in several) > 1:
                return several
        is_added = one and one.field is None and fold(one.name) in _ADDENDA
        return None if one is None or is_added else [one]

    def _without_final(self, text: str) -> str:
        """Return a line without `Final answer:` before the name of a field."""
        match = _SAID_FINAL.fullmatch(_PICTURES.sub("", text))
        if match is None:
            return text
        # `**Final answer:** name: value`, or the emphasis goes on: `**Final answer: name: value**`
        is_open = match["mark"] and not (match["close"] or match["end"])
        rest = match["rest"].strip()
        rest = match["mark"] + rest if is_open else rest
        first = self._one(self._joint.split(_inside(rest))[0].strip(), 0)
        return rest if first and first.field else text

    def _one(self, text: str, row: int) -> _Pair | None:
        text = _PICTURES.sub("", text)
        said = self._said.fullmatch(text.strip("*_"))
        dashed = _DASHED.fullmatch(text)
        if dashed and self._is_dashed(dashed):
            return self._pair(dashed["name"], dashed["value"], row)
        match = said or _PAIR.fullmatch(text)
        if match is None:
            return None
        name, value = match["name"].strip(), match["value"].strip()
        if not said:
            mark = next(
                (it for it in ("***", "**", "__", "*", "_", "`") if name.startswith(it)), ""
            )
            if mark and (not name.endswith(mark) or len(name) <= len(mark)):
                # `**Field:** value` or `**Field: value**`
                shorter = value.removeprefix(mark)
                value = (shorter if shorter != value else value.removesuffix(mark)).strip()
        name = name.strip(_AROUND)
        if self._may_quote and name[:1] + name[-1:] in _QUOTES and self._field_of(name[1:-1]):
            name, value = name[1:-1], value.removesuffix(",")
        if not name or len(name.split()) > _MOST_WORDS or any(mark in name for mark in '?,{"'):
            return None
        pair = self._pair(name, value, row)
        # A sentence about a field that gives it no value is prose.
        is_prose = said and not said["sep"] and pair.field and pair.reading is Reading.NONE
        return None if is_prose and not _UNDECIDED.match(value) else pair

    def _is_dashed(self, match: re.Match[str]) -> bool:
        """Whether a dash stands before a known value: before words it explains, or is a minus."""
        field = self._field_of(match["name"])
        if field is None or not (match["mark"] or self._names.field_of(match["name"])):
            return False
        is_number = field.type in (FieldType.NUMBER, FieldType.INTEGER)
        may_be_minus = is_number and match["dash"] != "\u2014"
        return not may_be_minus and plain_value(field, match["value"])[1] is Reading.EXACT

    def _table(self, line: _Line) -> list[_Pair] | None:
        """Return the pairs of a table of rows, or of columns with one row."""
        (first, head), *body = line.cells
        if len(head) == 1 or any(self._field_of(one) for one in head[1:]):
            if len(body) != 1:
                return None
            row, values = body[0]
            return [self._pair(*pair, row) for pair in zip(head, values, strict=False)]
        heads = [fold(one.strip(_AROUND)) in _VALUE_HEADS for one in head[1:]]
        if len(head) > _TWO and (heads.index(True) if sum(heads) == 1 else 1):
            return None
        if any(map(_COMPARED.search, head)):
            return None
        rows = [(first, head), *body] if self._field_of(head[0]) else body
        return [self._pair(cells[0], cells[1], row) for row, cells in rows if len(cells) > 1]

    def _below(self, field: OutputField, lines: Sequence[_Line]) -> tuple[JsonValue, int]:
        """Return the value that stands below the name of a field, and in how many lines."""
        items: list[JsonValue] = []
        for line in lines if field.type is FieldType.LIST else ():
            if line.kind != "item":
                break
            items.append(_without_comment(line.text).strip("*` "))
        if items:
            return items, len(items)
        if not lines or lines[0].kind in ("stop", "table"):
            return None, 0
        is_exact = plain_value(field, lines[0].text)[1] is Reading.EXACT
        is_free = field.type is not FieldType.LIST and self._pairs(lines[0]) is None
        return (lines[0].text, 1) if is_exact or is_free else (None, 0)
