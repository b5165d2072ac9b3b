"""The forms in which an answer is not marked: a line, a box, the whole text.

They count only where what they hold is just a value of the field, since prose has lines too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search
from pytest_sopbench._core.answers.text.wrapping import bare_value
from pytest_sopbench._core.model.answer import AnswerForm
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.values.normalise import is_empty

from .plain_values import Reading, is_other_value, plain_value

_BULLETS: Final = r"[ \t]*(?:(?:[-*+>#|\u2022]+|\d{1,3}[.)])[ \t]+)*(?:\|[ \t]*)?"
_PREFIX: Final = (
    r"(?:(?:the|my|our)[ \t]+)?(?:final[ \t]+)?(?:answer|decision)(?P<is>[ \t]+is(?![^\s:]))?"
)
# Lazy, since `final status` may be a field beside `status`.
_FINAL: Final = r"(?:(?:(?:the|my|our)[ \t]+)?final[ \t]+)??"
_SEPARATORS: Final = (
    # A dash before a number may be its sign.
    r"[:\uff1a|]|=(?!=)|[-=]>|\u2192|(?<=[ \t])[-\u2013\u2014](?=[ \t])(?![ \t]+[\d.])|(?=\r?$)"
)
_SURE: Final = (":", "\uff1a", "|")
_NEXT_LINE: Final = re.compile(r"\s*\n[ \t]*(?:>[ \t]*)*(?=\S)([^\n]*)")
_ITEMS: Final = re.compile(
    r"[ \t]*(?:\n[ \t]*)?((?:\n[ \t]*(?:[-*\u2022]|\d{1,3}[.)])[ \t]+[^\n]*)+)"
)
_BOXED: Final = re.compile(r"\\boxed[ \t]*\{((?:[^{}\n]|\{[^{}\n]*\})*+)\}")
_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathsf)[ \t]*\{([^{}]*)\}"
)
_LATEX_MARK: Final = re.compile(r"\\([_%&#$ ])")


@dataclass(frozen=True, slots=True)
class _Said:
    """Words that stand for the value of a field; of a `loose` form only just a value does."""

    field: OutputField
    words: str
    form: AnswerForm
    start: int
    end: int
    loose: bool = False


def in_lines(search: Search) -> Iterator[AnswerCandidate]:
    """Yield what lines and boxes say together."""
    said = sorted((*_lines(search), *_boxes(search)), key=lambda one: one.start)
    found = _last_of_each(search, said) if said else None
    if found is not None:
        yield found


def in_whole_text(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the whole text, where it is just a value."""
    whole = _whole_text(search)
    if whole is not None:
        yield whole


def _last_of_each(search: Search, said: list[_Said]) -> AnswerCandidate | None:
    """Take the last plain value of each field; later words may take it back."""
    last: dict[str, tuple[_Said, str, bool]] = {}
    for one in said:
        name = one.field.name
        read = plain_value(one.field, one.words)
        if one.loose and read.reading is not Reading.EXACT:
            continue
        if read.reading is Reading.NONE:
            if name in last and is_other_value(one.field, one.words, last[name][1]):
                del last[name]
        elif not search.is_echo(_alone(one, read.value)):
            last[name] = (one, read.value, read.reading is Reading.ANY_WORDS)
    if not last:
        return None
    # Of one field a box or a line; of several only lines.
    lines = [one for one, _, _ in last.values()]
    return AnswerCandidate(
        form=max(lines, key=lambda one: one.start).form,
        values={name: value for name, (_, value, _) in last.items()},
        start=min(one.start for one in lines),
        end=max(one.end for one in lines),
        free=any(free for _, _, free in last.values()),
    )


def _alone(said: _Said, value: str) -> AnswerCandidate:
    values = {said.field.name: value}
    return AnswerCandidate(form=said.form, values=values, start=said.start, end=said.end)


def _lines(search: Search) -> Iterator[_Said]:
    single = search.single
    by_name = {field.name: field for field in search.required}
    for match in _line_pattern(search.names.pattern, prefix=single is not None).finditer(
        search.text
    ):
        name = search.names.field_of(match["name"]) if match["name"] else None
        field = single if match["name"] is None else by_name.get(name or "")
        if field is None or not _is_told(match):
            continue
        words, end = _words(search, match, field)
        if words:
            loose = _is_loose(search.text, match, end, field)
            yield _Said(field, words, AnswerForm.FIELD_LINES, match.start("label"), end, loose)


def _is_told(match: re.Match[str]) -> bool:
    """Whether something is said of a name: without a separator it is a heading, or `is` follows."""
    if match["separator"] or match.groupdict().get("is"):
        return True
    return "#" in match["line"] or (len(match["mark"]) > 1 and match["mark"] == match["end"])


def _is_loose(text: str, match: re.Match[str], end: int, field: OutputField) -> bool:
    if match["begin"] is None or match["separator"] not in _SURE:
        return True
    # The items of a list stand below its name; of others only a value does.
    below = end > match.end() and match["name"] is not None
    return below and not (field.type is FieldType.LIST and _ITEMS.match(text, match.end()))


def _words(search: Search, match: re.Match[str], field: OutputField) -> tuple[str, int]:
    """Return what stands after the name; a heading's value may stand in the next line."""
    text = search.text
    words = match["rest"].strip()
    if match["mark"] and not match["end"]:
        # `**Field:** value` or `**Field: value**`
        shorter = words.removeprefix(match["mark"])
        words = (shorter if shorter != words else words.removesuffix(match["mark"])).strip()
    if match["separator"] == "|":
        words = words.split("|")[0].strip()
        # The row that heads a table names fields, and gives none.
        return ("" if search.names.field_of(words) else words), match.end()
    if words:
        return words, match.end()
    pattern = _ITEMS if field.type is FieldType.LIST else _NEXT_LINE
    following = pattern.match(text, match.end()) or _NEXT_LINE.match(text, match.end())
    return (following[1].strip(), following.end()) if following else ("", match.end())


def _boxes(search: Search) -> Iterator[_Said]:
    single = search.single
    if single is None or "\\boxed" not in search.text:
        return
    for match in _BOXED.finditer(search.text):
        words = _LATEX_MARK.sub(r"\1", _LATEX.sub(r"\1", match[1]))
        yield _Said(single, words, AnswerForm.BOXED, match.start(), match.end())


def _whole_text(search: Search) -> AnswerCandidate | None:
    field = search.single
    value = bare_value(search.text) if field is not None else ""
    if field is None or not value:
        return None
    read = plain_value(field, value)
    # `None` is also what a broken agent says.
    if read.reading is not Reading.EXACT or is_empty(read.value):
        return None
    start = search.text.find(read.value)
    return AnswerCandidate(
        form=AnswerForm.WHOLE_TEXT,
        values={field.name: read.value},
        start=start,
        end=start + len(read.value),
    )


@lru_cache(maxsize=64)
def _line_pattern(names: str, *, prefix: bool) -> re.Pattern[str]:
    label = rf"{_FINAL}(?P<name>{names})" + (rf"|{_PREFIX}" if prefix else "")
    marked = rf"(?P<mark>[*_`]*)(?P<label>{label})(?P<end>[*_`]*)"
    separators = _SEPARATORS + (r"|(?(is)(?<=[ \t])|(?!))" if prefix else "")
    begin = rf"(?:(?P<begin>^)(?P<line>{_BULLETS})|(?<=[.!?])[ \t]+)"
    return re.compile(
        rf"{begin}{marked}[ \t]*(?P<separator>{separators})(?P<rest>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )
