"""The forms in which texts hold answers, in the order of trust."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import read_boolean, value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import (
    fold,
    is_empty,
    objects,
    read_list,
    read_moment,
    read_number,
)

from .text import (
    ANSWERS,
    DECISIONS,
    WRAPPERS,
    AnswerCandidate,
    Element,
    Search,
    bare_value,
    count_words,
    decoded,
    elements,
    pattern_of,
    tags,
)

# Read dicts whose words are not quoted, as `{decision: approve}`, which some SOPs prescribe.

_FLAT: Final = re.compile(r"\{([^{}]*)\}")
_PART: Final = re.compile(r"""("[^"]*"|'[^']*')|([:,])|([^:,"']+)|(["'])""")
_WORDS: Final[dict[str, JsonValue]] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BareDict:
    """A flat dict in a text. `bare` are the keys whose values stood without quotes."""

    start: int
    end: int
    value: dict[str, JsonValue]
    bare: frozenset[str]


def bare_dicts(text: str) -> Iterator[BareDict]:
    """Yield the flat dicts of a text in their order; every value is a text or a JSON word."""
    for match in _FLAT.finditer(text):
        read = _read(match[1])
        if read is not None:
            value, bare = read
            yield BareDict(match.start(), match.end(), value, frozenset(bare))


def _read(inside: str) -> tuple[dict[str, JsonValue], set[str]] | None:
    value: dict[str, JsonValue] = {}
    bare: set[str] = set()
    for item in _items(inside):
        pair = _pair(item)
        if pair is None:
            return None
        key, words, quoted = pair
        value[key] = words if quoted or words not in _WORDS else _WORDS[words]
        bare.discard(key)
        if not quoted:
            bare.add(key)
    return (value, bare) if value else None


def _items(inside: str) -> Iterator[list[re.Match[str]]]:
    """Yield what stands between the commas; a comma at the very end is none."""
    item: list[re.Match[str]] = []
    for part in _PART.finditer(inside):
        if part[2] == ",":
            yield item
            item = []
        elif part[0].strip():
            item.append(part)
    if item:
        yield item


def _pair(item: list[re.Match[str]]) -> tuple[str, str, bool] | None:
    # A time of day has colons too.
    if len(item) < 3 or item[0][2] or item[1][2] != ":" or any(part[4] for part in item):  # noqa: PLR2004 - key, colon, value
        return None
    key = item[0][0].strip()
    value, quoted = "".join(part[0] for part in item[2:]).strip(), bool(item[2][1])
    if quoted and len(item) > 3:  # noqa: PLR2004 - key, colon, value
        return None
    return (_unquoted(key), _unquoted(value) if quoted else value, quoted)


def _unquoted(word: str) -> str:
    return word[1:-1] if word[:1] in ("'", '"') else word


# Tell whether words are just a value of an output field, and nothing more.

_STOPS: Final = ".!\u3002\uff0e\uff01"
_SYMBOLS: Final = "\u2600"
_AS_PICTURE: Final = "\ufe0f"
_LONGEST_LABEL: Final = 1_000


class Reading(Enum):
    """How words read as a value: not at all, as any words would, or as just this value."""

    NONE = 0
    ANY_WORDS = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class PlainValue:
    """Words that are a value, without a full stop after it, and how they read."""

    value: str
    reading: Reading


def plain_value(field: OutputField, words: str) -> PlainValue:
    """Read words as a value: a known label, or what the field's type asks for.

    A full stop after it is left out. Where the field takes any words, any words are a value.
    """
    bare = bare_value(words)
    for value in (bare, bare_value(_without_end(bare)) if _has_end(bare) else ""):
        if value and _reads(field, value):
            return PlainValue(value, Reading.EXACT)
    if bare and (field.compare is not Compare.EXACT or _takes_any(field)):
        return PlainValue(bare, Reading.ANY_WORDS)
    return PlainValue(bare, Reading.NONE)


def settled(field: OutputField, value: JsonValue) -> JsonValue:
    """Return a value without the full stop after it, where only so it is one of the field's."""
    if not isinstance(value, str) or not _has_end(value.rstrip()):
        return value
    if len(value) > _LONGEST_LABEL or fold(value) in labels_of(field):
        return value
    read = plain_value(field, value)
    return read.value if read.reading is Reading.EXACT else value


def _has_end(text: str) -> bool:
    """Whether a full stop or a symbol, as a tick, stands at the end."""
    last = text[-1:]
    return last != "" and (
        last in _STOPS
        or last == _AS_PICTURE
        or (last >= _SYMBOLS and unicodedata.category(last) == "So")
    )


def _without_end(text: str) -> str:
    while _has_end(text):
        text = text[:-1].rstrip()
    return text


def is_other_value(field: OutputField, words: str, value: str) -> bool:
    """Whether words that are no plain value speak of another one than this."""
    labels = labels_of(field)
    if labels:
        said, chosen = fold(words), fold(value)
        return any(label in said.replace(chosen, " ") for label in labels - {chosen, ""})
    return field.type in _VALUE_READERS and any(character.isdigit() for character in words)


def labels_of(field: OutputField) -> frozenset[str]:
    """Return the folded labels of a field, and their aliases."""
    return _folded((*field.values, *field.aliases))


@lru_cache(maxsize=256)
def _folded(labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(fold, labels))


def _reads(field: OutputField, value: str) -> bool:
    if len(value) > _LONGEST_LABEL and field.type is not FieldType.LIST:
        return False
    if fold(value) in labels_of(field):
        return True
    if is_empty(value):
        # A stroke where a value belongs is no word for nothing.
        return any(map(str.isalnum, value))
    read = _VALUE_READERS.get(field.type)
    if read is None:
        return False
    # How its values may be written a field may say itself.
    is_told = field.spelled or bool(field.formats)
    return read(value) is not None or (is_told and value_key(field, value)[0] in _SPELLED)


def _takes_any(field: OutputField) -> bool:
    return field.type in (FieldType.TEXT, FieldType.LIST) or (
        field.type is FieldType.ENUM and not field.values
    )


_SPELLED: Final = frozenset({"number", "date"})
_VALUE_READERS: Final[Mapping[FieldType, Callable[[str], object]]] = {
    FieldType.BOOLEAN: read_boolean,
    FieldType.INTEGER: read_number,
    FieldType.NUMBER: read_number,
    FieldType.DATE: read_moment,
    FieldType.LIST: read_list,
}


# Find an answer among the JSON objects and Python dicts of a text.

_LONG: Final = 50_000
_FINAL: Final = "final decision"
_GENERIC: Final = frozenset(
    {"final decision", "decision", "final answer", "answer", "final output", "result", "value"}
)
"""Keys under which one value may stand inside a tag that is an answer anyway."""


@dataclass(frozen=True, slots=True)
class AnswerObject:
    """An object in a text: the values of the fields, and what it says beside them."""

    start: int
    end: int
    values: Mapping[str, JsonValue]
    beside: Mapping[str, JsonValue]


def in_json(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer among the JSON objects, and the last part of one."""
    return _of_form(search, AnswerForm.JSON)


def in_python(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the same of Python dicts, and then of dicts with bare words."""
    return _of_form(search, AnswerForm.PYTHON)


def _of_form(search: Search, form: AnswerForm) -> Iterator[AnswerCandidate]:
    for own, read in _READERS:
        if own is form:
            found = (_candidate(form, one) for one in read(search, search.text))
            yield from last_ones(search, found)


def object_inside(search: Search, text: str) -> AnswerObject | None:
    """Return the last object in the text of an element."""
    for inside in (text, decoded(text)) if "&" in text else (text,):
        last = (_last(search, read(search, inside)) for _, read in _READERS)
        found = [one for one in last if one is not None]
        if found:
            return min(found, key=lambda one: bool(search.missing(one.values)))
    generic = _generic(search, text)
    return None if generic is None else AnswerObject(0, len(text), generic, {})


def last_ones(search: Search, found: Iterable[AnswerCandidate]) -> Iterator[AnswerCandidate]:
    """Yield the last candidate that is whole, and the last one that is not; no echo is one."""
    whole: AnswerCandidate | None = None
    part: AnswerCandidate | None = None
    for one in found:
        is_part = bool(search.missing(one.values))
        best = part if is_part else whole
        if (best is None or one.end > best.end) and not search.is_echo(one):
            part, whole = (one, whole) if is_part else (part, one)
    yield from (one for one in (whole, part) if one is not None)


def _candidate(form: AnswerForm, found: AnswerObject) -> AnswerCandidate:
    return AnswerCandidate(
        form=form,
        values=found.values,
        start=found.start,
        end=found.end,
        beside=found.beside,
    )


def _last(search: Search, found: Iterator[AnswerObject]) -> AnswerObject | None:
    best: tuple[bool, int, AnswerObject] | None = None
    for one in found:
        rank = (not search.missing(one.values), one.end)
        if best is None or rank > best[:2]:
            best = (*rank, one)
    return None if best is None else best[2]


def _json(search: Search, text: str) -> Iterator[AnswerObject]:
    return _literals(search, text, Dialect.JSON)


def _python(search: Search, text: str) -> Iterator[AnswerObject]:
    return _literals(search, text, Dialect.PYTHON)


def _literals(search: Search, text: str, dialect: Dialect) -> Iterator[AnswerObject]:
    # Of a long text it pays to know first whether any key of it can be a field.
    if len(text) > _LONG and not search.names.may_occur(text):
        return
    for found in objects(text, dialect):
        if search.names.any_in(found.value):
            values, beside = search.names.split(found.value)
            unwrapped = {name: _unwrapped(search, name, value) for name, value in values.items()}
            yield AnswerObject(found.start, found.end, unwrapped, beside)


def _bare_words(search: Search, text: str) -> Iterator[AnswerObject]:
    for found in bare_dicts(text):
        if search.names.any_in(found.value):
            read = _known(search, found)
            if read is not None:
                yield read


def _known(search: Search, found: BareDict) -> AnswerObject | None:
    """Read a dict with bare words, each of which has to be a value of its field."""
    values, beside = search.names.split(found.value)
    bare = {search.names.field_of(key) for key in found.bare}
    for field in search.required:
        value = values.get(field.name)
        if field.name in bare and isinstance(value, str):
            read = plain_value(field, value)
            if read.reading is not Reading.EXACT:
                return None
            values[field.name] = read.value
    return AnswerObject(found.start, found.end, values, beside)


def _generic(search: Search, text: str) -> dict[str, JsonValue] | None:
    """Return the one field's value under a key that only says that it is the answer."""
    field = search.single
    if field is None or "{" not in text:
        return None
    for dialect in (Dialect.JSON, Dialect.PYTHON):
        for found in objects(text, dialect):
            if len(found.value) == 1 and fold(next(iter(found.value))) in _GENERIC:
                return {field.name: next(iter(found.value.values()))}
    for one in bare_dicts(text):
        ((key, value),) = one.value.items() if len(one.value) == 1 else (("", None),)
        read = plain_value(field, value) if isinstance(value, str) else None
        if fold(key) in _GENERIC and read is not None and read.reading is Reading.EXACT:
            return {field.name: read.value}
    return None


def _unwrapped(search: Search, name: str, value: JsonValue) -> JsonValue:
    """Take off a tag of the field's own around its value."""
    if not isinstance(value, str) or not value.lstrip().startswith("<"):
        return value
    found = elements(value, list(tags(value, pattern_of(search.names.all))))
    for spelled in (fold(name), _FINAL):
        for one in found.get(spelled, ()):
            if value[: one.start].strip() == value[one.end :].strip() == "":
                return bare_value(decoded(one.inside(value)))
    return value


_READERS: Final[tuple[tuple[AnswerForm, Callable[[Search, str], Iterator[AnswerObject]]], ...]] = (
    (AnswerForm.JSON, _json),
    (AnswerForm.PYTHON, _python),
    (AnswerForm.PYTHON, _bare_words),
)


# The marked forms in which a text can hold an answer: tags, JSON and dicts.

_FINAL_OUTPUT, _FINAL_DECISION = DECISIONS
_FORMS: Final = {_FINAL_OUTPUT: AnswerForm.FINAL_OUTPUT}


def in_final_output(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer in a final output, and the last part of one."""
    return last_ones(search, _in_elements(search, (_FINAL_OUTPUT,)))


def in_final_decision(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer in a final decision, and then in what is called an answer."""
    yield from last_ones(search, _in_elements(search, (_FINAL_DECISION,)))
    yield from last_ones(search, _in_elements(search, (*ANSWERS, *WRAPPERS)))


def _in_elements(search: Search, names: Sequence[str]) -> Iterator[AnswerCandidate]:
    for name in names:
        # A field of that name has its own form, but a final decision is one.
        if name in search.names.folded:
            continue
        for element in search.elements(name):
            found = _in_element(search, element)
            if found is not None:
                yield found


def _in_element(search: Search, element: Element) -> AnswerCandidate | None:
    inside = element.inside(search.text)
    explicit = element.name in DECISIONS
    read = object_inside(search, inside) if explicit and "{" in inside else None
    if read is None:
        value = _only_value(search, element, inside)
        if value is None or search.single is None:
            return None
        read = AnswerObject(element.start, element.end, {search.single.name: value}, {})
    return AnswerCandidate(
        form=_FORMS.get(element.name, AnswerForm.FINAL_DECISION),
        values=read.values,
        start=element.start,
        end=element.end,
        tag_words=2 * count_words(element.name),
        beside=read.beside,
        explicit=explicit,
    )


def _only_value(search: Search, element: Element, inside: str) -> str | None:
    """Return the value that an element holds; only a final decision may hold any words."""
    field = search.single
    if field is None or search.holds_tags(element.inner_start, element.inner_end):
        return None
    value = bare_value(decoded(inside))
    read = plain_value(field, value)
    if element.name == _FINAL_DECISION and (element.closed or read.reading is not Reading.NONE):
        return value
    return read.value if read.reading is Reading.EXACT else None


def in_field_tags(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last element of each field together, and then each of them alone."""
    fields = {field.name: field for field in search.required}
    named = {
        name: [
            element
            for element in search.elements(spelled)
            if element.closed or _is_cut_off_value(search, fields.get(name), element)
        ]
        for name, spelled in search.names.each
    }
    while hits := {name: several[-1] for name, several in named.items() if several}:
        found = _together(search, hits)
        echo = search.echo(found)
        if echo is None:
            yield found
            if len(hits) > 1:
                yield from (_together(search, {name: hit}) for name, hit in hits.items())
            return
        for several in named.values():
            while several and several[-1].start >= echo.start:
                several.pop()


def _is_cut_off_value(search: Search, field: OutputField | None, element: Element) -> bool:
    """Whether an element that is never closed holds a value; prose names tags too."""
    inside = element.inside(search.text)
    if field is None or inside.startswith("{"):
        return True
    return plain_value(field, decoded(inside)).reading is not Reading.NONE


def _together(search: Search, hits: dict[str, Element]) -> AnswerCandidate:
    values = {name: _tag_value(search, name, hit) for name, hit in hits.items()}
    start = min(hit.start for hit in hits.values())
    last = max(hits.values(), key=lambda hit: hit.end)
    outer = [element for name in DECISIONS for element in search.elements(name)[-1:]]
    return AnswerCandidate(
        form=AnswerForm.FIELD_TAGS,
        values=values,
        start=start,
        end=last.end,
        tag_words=sum(map(count_words, values)),
        explicit=any(one.start <= start and last.end <= one.end for one in outer),
    )


def _tag_value(search: Search, name: str, element: Element) -> JsonValue:
    inside = element.inside(search.text)
    value = bare_value(decoded(inside))
    if value.startswith("{"):
        read = object_inside(search, value)
        if read is not None and name in read.values:
            return read.values[name]
    return value


# The forms in which an answer is not marked: a line, a box, the whole text.
#
# They count only where what they hold is just a value of the field, since prose has lines too.

_BULLETS: Final = r"[ \t]*(?:(?:[-*+>#|\u2022]+|\d{1,3}[.)])[ \t]+)*(?:\|[ \t]*)?"
_PREFIX: Final = (
    r"(?:(?:the|my|our)[ \t]+)?(?:final[ \t]+)?(?:answer|decision)(?P<is>[ \t]+is(?![^\s:]))?"
)
# Lazy, since `final status` may be a field beside `status`.
_FINAL_WORDS: Final = r"(?:(?:(?:the|my|our)[ \t]+)?final[ \t]+)??"
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
    label = rf"{_FINAL_WORDS}(?P<name>{names})" + (rf"|{_PREFIX}" if prefix else "")
    marked = rf"(?P<mark>[*_`]*)(?P<label>{label})(?P<end>[*_`]*)"
    separators = _SEPARATORS + (r"|(?(is)(?<=[ \t])|(?!))" if prefix else "")
    begin = rf"(?:(?P<begin>^)(?P<line>{_BULLETS})|(?<=[.!?])[ \t]+)"
    return re.compile(
        rf"{begin}{marked}[ \t]*(?P<separator>{separators})(?P<rest>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )


# Every form in which an answer can be given, in order of trust.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerFormSpec:
    """A form of an answer.

    Attributes:
        id: in a saved session; its candidates carry it.
        words: what gave too few fields, in the reason of a run without an answer.
        heading: where the answer was found, in the report of a run.
        find: yields the candidates in a text; `None` where no text is searched for the form alone.
        marked: whether the form says by itself that this is the answer; a line does not.
    """

    id: str
    words: str
    heading: str
    find: Callable[[Search], Iterator[AnswerCandidate]] | None = None
    marked: bool = True


_IN_ORDER: Final = (
    AnswerFormSpec(
        id=AnswerForm.MAPPING,
        words="the mapping that was returned",
        heading="as the mapping that was returned",
    ),
    AnswerFormSpec(
        id=AnswerForm.FINAL_OUTPUT,
        words="the JSON in <final_output>",
        heading="in <final_output>",
        find=in_final_output,
    ),
    AnswerFormSpec(
        id=AnswerForm.FIELD_TAGS,
        words="the tags",
        heading="in one tag per output field",
        find=in_field_tags,
    ),
    AnswerFormSpec(
        id=AnswerForm.FINAL_DECISION,
        words="the JSON in <final_decision>",
        heading="in <final_decision> or <answer>",
        find=in_final_decision,
    ),
    AnswerFormSpec(
        id=AnswerForm.JSON,
        words="the last JSON object",
        heading="in a JSON object",
        find=in_json,
    ),
    AnswerFormSpec(
        id=AnswerForm.PYTHON,
        words="the last Python dict",
        heading="in a Python dict",
        find=in_python,
    ),
    # Lines and boxes are read together: of one field the last of either counts.
    AnswerFormSpec(
        id=AnswerForm.FIELD_LINES,
        words="the `Field: value` lines",
        heading="in lines such as 'field: value'",
        find=in_lines,
        marked=False,
    ),
    AnswerFormSpec(id=AnswerForm.BOXED, words="the \\boxed{}", heading="in \\boxed{}"),
    AnswerFormSpec(
        id=AnswerForm.WHOLE_TEXT,
        words="the whole text",
        heading="as the whole text",
        find=in_whole_text,
        marked=False,
    ),
    AnswerFormSpec(
        id=AnswerForm.DOCUMENT,
        words="the JSON document",
        heading="as one JSON document",
    ),
    AnswerFormSpec(
        id=AnswerForm.PUBLISHED,
        words="the published scorer",
        heading="as the published scorer finds it",
    ),
)

FORMS: Final[dict[str, AnswerFormSpec]] = {str(form.id): form for form in _IN_ORDER}
"""Every form by its id; of those that are marked, and of the others, the first is trusted most."""


def candidates(search: Search, *, marked: bool) -> list[AnswerCandidate]:
    """Return what the forms find in a text, in order of trust."""
    finders = [form.find for form in FORMS.values() if form.marked is marked]
    return [found for find in finders if find is not None for found in find(search)]


def read_form(text: str) -> str:
    """Return the form that a saved session names.

    Raises:
        ValueError: there is none of that name.
    """
    return text if text in FORMS and text not in {*AnswerForm} else AnswerForm(text)
