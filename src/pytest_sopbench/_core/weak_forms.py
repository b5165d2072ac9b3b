"""The forms in which an answer is not marked: a line, a box, the whole text.

They count only where what they hold is just a value of the field, since prose has lines too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .answer_search import Candidate, Search
from .models import OutputField
from .plain_values import Reading, is_other_value, plain_value
from .spelling import is_empty
from .verdicts import AnswerForm
from .wrapping import bare_value

_BULLETS: Final = r"[ \t]*(?:(?:[-*+>#|\u2022]+|\d{1,3}[.)])[ \t]+)*(?:\|[ \t]*)?"
_PREFIX: Final = (
    r"(?:(?:the|my|our)[ \t]+)?(?:final[ \t]+)?(?:answer|decision)(?P<is>[ \t]+is(?![^\s:]))?"
)
_NEXT_LINE: Final = re.compile(r"\s*\n[ \t]*(?=\S)([^\n]*)")
_BOXED: Final = re.compile(r"\\boxed[ \t]*\{((?:[^{}\n]|\{[^{}\n]*\})*+)\}")
_LATEX: Final = re.compile(
    r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathsf)[ \t]*\{([^{}]*)\}"
)
_LATEX_MARK: Final = re.compile(r"\\([_%&#$ ])")


@dataclass(frozen=True, slots=True)
class _Said:
    """Words that stand for the value of a field."""

    field: OutputField
    words: str
    form: AnswerForm
    start: int
    end: int


def weak_candidates(search: Search) -> Iterator[Candidate]:
    """Yield what lines and boxes say together, or else the whole text."""
    said = sorted((*_lines(search), *_boxes(search)), key=lambda one: one.start)
    found = _last_of_each(search, said) if said else None
    if found is not None:
        yield found
    whole = _whole_text(search)
    if whole is not None:
        yield whole


def _last_of_each(search: Search, said: list[_Said]) -> Candidate | None:
    """Take the last plain value of each field; later words may take it back."""
    last: dict[str, tuple[_Said, str, bool]] = {}
    for one in said:
        name = one.field.name
        read = plain_value(one.field, one.words)
        if read.reading is Reading.NONE:
            if name in last and is_other_value(one.field, one.words, last[name][1]):
                del last[name]
        elif not search.is_echo(_alone(one, read.value)):
            last[name] = (one, read.value, read.reading is Reading.ANY_WORDS)
    if not last:
        return None
    # Of one field a box or a line; of several only lines.
    lines = [one for one, _, _ in last.values()]
    return Candidate(
        form=max(lines, key=lambda one: one.start).form,
        values={name: value for name, (_, value, _) in last.items()},
        start=min(one.start for one in lines),
        end=max(one.end for one in lines),
        free=any(free for _, _, free in last.values()),
    )


def _alone(said: _Said, value: str) -> Candidate:
    values = {said.field.name: value}
    return Candidate(form=said.form, values=values, start=said.start, end=said.end)


def _lines(search: Search) -> Iterator[_Said]:
    single = search.single
    by_name = {field.name: field for field in search.required}
    for match in _line_pattern(search.names.pattern, prefix=single is not None).finditer(
        search.text
    ):
        name = search.names.field_of(match["name"]) if match["name"] else None
        field = single if match["name"] is None else by_name.get(name or "")
        words, end = _words(search.text, match)
        if field is not None and words:
            yield _Said(field, words, AnswerForm.FIELD_LINES, match.start("label"), end)


def _words(text: str, match: re.Match[str]) -> tuple[str, int]:
    """Return what stands after the name; a heading's value may stand in the next line."""
    words = match["rest"].strip()
    if match["mark"] and not match["end"]:
        # `**Field:** value` or `**Field: value**`
        shorter = words.removeprefix(match["mark"])
        words = (shorter if shorter != words else words.removesuffix(match["mark"])).strip()
    if match["separator"] == "|":
        words = words.removesuffix("|").strip()
    if not words and match["name"] is None:
        following = _NEXT_LINE.match(text, match.end())
        return (following[1], following.end()) if following else ("", match.end())
    return words, match.end()


def _boxes(search: Search) -> Iterator[_Said]:
    single = search.single
    if single is None or "\\boxed" not in search.text:
        return
    for match in _BOXED.finditer(search.text):
        words = _LATEX_MARK.sub(r"\1", _LATEX.sub(r"\1", match[1]))
        yield _Said(single, words, AnswerForm.BOXED, match.start(), match.end())


def _whole_text(search: Search) -> Candidate | None:
    field = search.single
    value = bare_value(search.text) if field is not None else ""
    if field is None or not value:
        return None
    read = plain_value(field, value)
    # `None` is also what a broken agent says.
    if read.reading is not Reading.EXACT or is_empty(read.value):
        return None
    start = search.text.find(read.value)
    return Candidate(
        form=AnswerForm.WHOLE_TEXT,
        values={field.name: read.value},
        start=start,
        end=start + len(read.value),
    )


@lru_cache(maxsize=64)
def _line_pattern(names: str, *, prefix: bool) -> re.Pattern[str]:
    label = rf"(?P<name>{names})" + (rf"|{_PREFIX}" if prefix else "")
    marked = rf"(?P<mark>[*_`]*)(?P<label>{label})(?P<end>[*_`]*)"
    return re.compile(
        rf"^{_BULLETS}{marked}[ \t]*(?P<separator>[:\uff1a|])(?P<rest>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )
