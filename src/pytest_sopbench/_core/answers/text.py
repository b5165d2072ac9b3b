"""A text, as answers are looked for in it: without what only looks like one."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import FieldNames, name_pattern
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.model.trace import Returned
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import INVISIBLE, REASONING, fold

# Find the passages of the SOP that stand in a text, so that its examples are no answers.
#
# Words are compared, in any case, and nothing between them: an agent reflows and cuts what it
# quotes. A passage is an echo of the SOP where it is clearly longer than the answer that stands in
# it. An answer in just the form of the SOP's example is an answer.

SHORTEST: Final = 6
"""Words in their order that make a passage; fewer occur in anybody's sentences."""

MORE: Final = 6
"""Words by which a passage exceeds the answer in it, if it is an echo."""

# A letter of a script without spaces counts as a word; an escape is no part of one. That class is
# written by what it leaves out: `re` goes through each character that a class names.
_WORD: Final = re.compile(
    r"\\[nrt\"']|&(?:lt|gt|quot|amp|apos|\#\w{1,6});"
    r"|([^\W_\u2e80-\U0003ffff]+|(?![\U00040000-\U0010ffff])[^\x00-\u2e7f])"
)
_PLACES: Final = 32


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the SOP in a text, up to the words around it, and how many words it has."""

    start: int
    end: int
    words: int


class Echoes:
    """The passages of one text that stand in the SOP too."""

    __slots__ = ("_ends", "_passages", "_sop", "_starts")

    def __init__(self, text: str, sop: str) -> None:
        self._sop = _indexed(sop) if sop else None
        self._passages = _passages(text, self._sop) if self._sop else []
        self._starts = [passage.start for passage in self._passages]
        self._ends = [passage.end for passage in self._passages]

    def around(self, start: int, end: int) -> list[Passage]:
        """Return the passages that hold this stretch of the text whole.

        Passages start and end in the same order, and few of them hold the same word.
        """
        first = bisect_left(self._ends, end)
        return self._passages[first : bisect_right(self._starts, start)]

    def quotes(self, pairs: Mapping[str, JsonValue]) -> bool:
        """Whether all of these pairs stand in the SOP, and one of them nowhere by chance."""
        if self._sop is None or not any(map(_tells, pairs.values())):
            return False
        joined = self._sop.joined
        return all(
            _is_plain(value) and f" {_joined(key, value)} " in joined
            for key, value in pairs.items()
        )


def count_words(value: JsonValue) -> int:
    """How many words a value has, as they are compared with the SOP."""
    count = 0
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            parts += (*part.keys(), *part.values())
        elif isinstance(part, str):
            count += sum(1 for match in _WORD.finditer(part) if match[1])
        elif isinstance(part, Sequence):
            parts += part
        else:
            parts.append(str(part))
    return count


@dataclass(frozen=True, slots=True)
class _Sop:
    """The words of the SOP, also as one text, and where each run of `SHORTEST` begins."""

    words: tuple[str, ...]
    joined: str
    places: Mapping[tuple[str, ...], list[int]]


@lru_cache(maxsize=16)
def _indexed(sop: str) -> _Sop:
    words = tuple(match[1].casefold() for match in _WORD.finditer(sop) if match[1])
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(words) - SHORTEST + 1):
        known = places.setdefault(words[place : place + SHORTEST], [])
        # However often the SOP repeats itself, a word of the text costs the same.
        if len(known) < _PLACES:
            known.append(place)
    return _Sop(words, f" {' '.join(words)} ", places)


def _tells(value: JsonValue) -> bool:
    """Whether a value is one of a kind, as an id or a sentence is, and `true` is not."""
    if not isinstance(value, str):
        return False
    is_id = len(value) >= SHORTEST and any(map(str.isdigit, value))
    return is_id or count_words(value) >= SHORTEST - 2


def _is_plain(value: JsonValue) -> bool:
    return value is None or isinstance(value, str | int | float)


def _joined(key: str, value: JsonValue) -> str:
    text = f"{key} {value if isinstance(value, str) else json.dumps(value)}"
    return " ".join(match[1].casefold() for match in _WORD.finditer(text) if match[1])


def _passages(text: str, indexed: _Sop) -> list[Passage]:
    found = [match for match in _WORD.finditer(text) if match[1]]
    words = tuple(match[1].casefold() for match in found)
    passages: list[Passage] = []
    start = 0
    while start + SHORTEST <= len(words):
        places = indexed.places.get(words[start : start + SHORTEST])
        if places is None:
            start += 1
            continue
        end = _end(words, start, indexed.words, places)
        before = found[start - 1].end(1) if start else 0
        after = found[end].start(1) if end < len(found) else len(text)
        passages.append(Passage(before, after, end - start))
        # The next passage may begin before this one ends, where two of them meet.
        start = end - SHORTEST + 1
    return passages


def _end(words: tuple[str, ...], start: int, sop: tuple[str, ...], places: list[int]) -> int:
    """How far the words go on as the SOP does, from any of its places."""
    end = start + SHORTEST
    going_on = places
    while end < len(words):
        ahead = end - start
        going_on = [
            place
            for place in going_on
            if place + ahead < len(sop) and sop[place + ahead] == words[end]
        ]
        if not going_on:
            break
        end += 1
    return end


# Read tags that arrive escaped, as `&lt;final_decision&gt;`: they are tags all the same.

ANSWERS: Final = ("answer", "final answer")
"""Tags that models put around an answer, of which a task knows nothing."""

DECISIONS: Final = ("final output", "final decision")
"""Tags that say explicitly that something is the answer."""

WRAPPERS: Final = ("final response", "response", "output")

_OPEN: Final = r"(?:&lt;|&\#0*60;|&\#x0*3c;|\\u003c)"
_CLOSE: Final = r"(?:&gt;|&\#0*62;|&\#x0*3e;|\\u003e)"
_INSIDE: Final = r"(?:\s[^<>&\\\n]{0,200})?"


def tags_unescaped(text: str, fields: frozenset[str]) -> str:
    """Return the text with each escaped tag that matters as a tag; every offset stays.

    Only whole tags of names that matter: elsewhere `&lt;` is a value's own.
    """
    if "&" not in text and "\\u003" not in text:
        return text
    return _pattern(fields).sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    # Where a tag allows white space, it makes up for the length that is lost.
    if match["comment"]:
        return f"<!--{' ' * (len(match[0]) - 4)}"
    if match["end"]:
        return f"{' ' * (len(match[0]) - 3)}-->"
    inside = match["inside"]
    lost = len(match[0]) - len(inside) - 2
    return f"<{' ' * (lost // 2)}{inside}{' ' * (lost - lost // 2)}>"


@lru_cache(maxsize=64)
def _pattern(fields: frozenset[str]) -> re.Pattern[str]:
    names = sorted({*fields, *REASONING, *ANSWERS, *DECISIONS, *WRAPPERS}, key=len, reverse=True)
    alternatives = "|".join(map(name_pattern, names))
    tag = rf"{_OPEN}(?P<inside>\s{{0,20}}/?\s{{0,20}}(?:{alternatives}){_INSIDE}/?){_CLOSE}"
    return re.compile(rf"{tag}|(?P<comment>{_OPEN}!--)|(?P<end>--{_CLOSE})", re.IGNORECASE)


# Find the tags that matter in what an agent said, in linear time.
#
# Each pattern begins at a `<` and never passes the next one, so no text makes it hang.

_COMMENT: Final = "<!--"
_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>]+))*"""
_HIDING: Final = re.compile(
    rf"<\s*(/\s*)?({'|'.join(REASONING)}){_ATTRIBUTES}\s*(/\s*)?>|(<!--)|(-->)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: its name after folding, and where it starts and ends."""

    name: str
    start: int
    end: int
    closing: bool
    empty: bool


@dataclass(frozen=True, slots=True)
class Element:
    """One element: where it starts and ends, where the text inside does, and if it is closed."""

    name: str
    start: int
    end: int
    inner_start: int
    inner_end: int
    closed: bool = True

    def inside(self, text: str) -> str:
        return text[self.inner_start : self.inner_end]


def tag_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the tags of these names, however they are spelled."""
    longest_first = sorted(names, key=len, reverse=True)
    alternatives = "|".join(map(name_pattern, longest_first))
    return re.compile(rf"<\s*(/\s*)?({alternatives}){_ATTRIBUTES}\s*(/\s*)?>", re.IGNORECASE)


def tags(text: str, pattern: re.Pattern[str]) -> Iterator[Tag]:
    """Return the tags of a text in order."""
    for match in pattern.finditer(text):
        closing, empty = bool(match[1]), bool(match[3])
        yield Tag(fold(match[2]), match.start(), match.end(), closing, empty)


def elements(text: str, found: list[Tag]) -> dict[str, list[Element]]:
    """Return the elements of each name, the first last.

    An element that is never closed is read to the end of its line, or to the next tag that
    matters. One that is not closed and holds nothing was cut off before its value, and is none.
    No two elements of one name share any text, so that all of them may be read in linear time.
    """
    by_name: dict[str, list[Element]] = {}
    closings: dict[str, Tag] = {}
    following = len(text)
    for tag in reversed(found):
        if tag.closing:
            closings[tag.name] = tag
        else:
            element = _element(text, tag, closings.pop(tag.name, None), following)
            if element is not None:
                by_name.setdefault(tag.name, []).append(element)
        following = tag.start
    for several in by_name.values():
        several.reverse()
    return by_name


def without_hidden(text: str, fields: frozenset[str]) -> str:
    """Return the text with reasoning and comments blanked out; every offset stays what it was.

    A closing tag alone ends reasoning that began with the text, as some providers cut off the
    opening one; an opening tag or comment mark alone hides all that follows. `fields` are folded
    names that are no reasoning in this task.
    """
    if "<" not in text:
        return text
    spans = _hidden_spans([tag for tag in _hiding_tags(text) if tag.name not in fields], len(text))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], " " * (end - start))
        position = end
    return "".join(parts) + text[position:]


def _element(text: str, tag: Tag, closing: Tag | None, following: int) -> Element | None:
    if tag.empty:
        return Element(tag.name, tag.start, tag.end, tag.end, tag.end)
    if closing is not None:
        return Element(tag.name, tag.start, closing.end, tag.end, closing.start)
    rest = text[tag.end : following]
    start = tag.end + len(rest) - len(rest.lstrip())
    end = start + len(text[start:following].partition("\n")[0])
    return Element(tag.name, tag.start, end, start, end, closed=False) if start < end else None


def _hiding_tags(text: str) -> Iterator[Tag]:
    for match in _HIDING.finditer(text):
        if match[2] is None:
            yield Tag(_COMMENT, match.start(), match.end(), closing=bool(match[5]), empty=False)
        elif not match[3]:
            yield Tag(fold(match[2]), match.start(), match.end(), bool(match[1]), empty=False)


def _hidden_spans(found: list[Tag], length: int) -> list[tuple[int, int]]:
    last_closing = {tag.name: tag.start for tag in found if tag.closing}
    spans: list[tuple[int, int]] = []
    opened: Tag | None = None
    for tag in found:
        if opened is None and not tag.closing:
            opened = tag
        elif opened is None:
            # An arrow in a text looks like the end of a comment, and ends nothing.
            spans = spans if tag.name == _COMMENT else [(0, tag.end)]
        elif tag.closing and _closes(tag, opened, last_closing):
            spans.append((opened.start, tag.end))
            opened = None
    if opened is not None:
        spans.append((opened.start, length))
    return spans


def _closes(tag: Tag, opened: Tag, last_closing: dict[str, int]) -> bool:
    """A tag of another name closes reasoning only where none of its own name ever will."""
    if tag.name == opened.name or _COMMENT in (tag.name, opened.name):
        return tag.name == opened.name
    return last_closing.get(opened.name, -1) < opened.start


# Leave out the SOP where an agent pasted the whole of it: its examples are no answer.

_MARK: Final = "[the SOP]"


def without_quoted_sop(returned: Returned, sop: str) -> Returned:
    """Blank out every whole copy of the SOP, so that every offset stays what it was.

    Only a whole copy: a line of it may well be what the SOP asks the agent to say.
    """
    text = returned.text
    if len(text) < len(_MARK) or not sop:
        return returned
    for copy in _copies(sop):
        if copy in text:
            text = text.replace(copy, _MARK.ljust(len(copy)))
    return returned if text is returned.text else replace(returned, text=text)


@lru_cache(maxsize=64)
def _copies(sop: str) -> tuple[str, ...]:
    """The SOP as it may be pasted: with other line ends, or as a JSON or Python string."""
    whole = sop.strip().replace("\r\n", "\n")
    copies = (
        whole,
        whole.replace("\n", "\r\n"),
        json.dumps(whole)[1:-1],
        json.dumps(whole, ensure_ascii=False)[1:-1],
        repr(whole)[1:-1],
    )
    return tuple(copy for copy in dict.fromkeys(copies) if len(copy) > len(_MARK))


# One text in which the answer to one task is looked for, and what is found in it.

_BLANK: Final = re.compile(r"\.{3}|\u2026")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCandidate:
    """What one form yields, perhaps not for every field, and where it stands.

    `beside` is what an object says of other names. `tag_words` are the words that tags take up
    in it. `explicit` is what is marked as the final answer, `free` a value that any words would
    be.
    """

    form: str
    values: Mapping[str, JsonValue]
    start: int
    end: int
    beside: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tag_words: int = 0
    explicit: bool = False
    free: bool = False


@dataclass(slots=True)
class _Tags:
    by_name: dict[str, list[Element]] = field(default_factory=dict[str, list[Element]])
    starts: list[int] = field(default_factory=list[int])


class Search:
    """The text, the fields that are asked for, and the passages of the SOP in the text."""

    __slots__ = ("_echoes", "_tags", "names", "required", "text")

    def __init__(
        self, text: str, names: FieldNames, required: Sequence[OutputField], sop: str = ""
    ) -> None:
        self.text = text
        self.names = names
        self.required = required
        self._echoes = Echoes(text, sop)
        self._tags: _Tags | None = None

    @property
    def single(self) -> OutputField | None:
        """The one field that is asked for, or `None` where there are several."""
        return self.required[0] if len(self.required) == 1 else None

    def elements(self, name: str) -> list[Element]:
        """Return the elements of a folded name that matters, the last one last."""
        return self._found().by_name.get(name, [])

    def holds_tags(self, start: int, end: int) -> bool:
        """Whether a tag that matters begins in this stretch of the text."""
        starts = self._found().starts
        place = bisect_left(starts, start)
        return place < len(starts) and starts[place] < end

    def echo(self, found: AnswerCandidate) -> Passage | None:
        """Return the passage of the SOP that a candidate merely stands in, if any."""
        around = self._echoes.around(found.start, found.end)
        if not around:
            return None
        # Only here are words counted: objects inside one another share theirs.
        own = found.tag_words + count_words(found.values)
        return next((passage for passage in around if passage.words - own >= MORE), None)

    def is_echo(self, found: AnswerCandidate) -> bool:
        """Whether a candidate says nothing: a passage, an example, or a form to be filled in."""
        return (
            self.echo(found) is not None
            or self._echoes.quotes(found.beside)
            or _is_a_form(found.values)
        )

    def missing(self, values: Mapping[str, JsonValue]) -> tuple[str, ...]:
        return tuple(one.name for one in self.required if one.name not in values)

    def _found(self) -> _Tags:
        if self._tags is None:
            self._tags = _Tags()
            if "<" in self.text:
                found = list(tags(self.text, pattern_of(self.names.all)))
                self._tags = _Tags(elements(self.text, found), [tag.start for tag in found])
        return self._tags


def _is_a_form(values: Mapping[str, JsonValue]) -> bool:
    return bool(values) and all(
        isinstance(value, str) and _BLANK.fullmatch(value.strip()) for value in values.values()
    )


@lru_cache(maxsize=64)
def pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the tags that matter where these are the output fields."""
    return tag_pattern((*names, *DECISIONS, *WRAPPERS, *ANSWERS))


# Prepare a text to be searched, and know where its characters came from.

_WIDE_SPACES: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


@dataclass(frozen=True, slots=True)
class SearchText:
    """A text as it is searched; `removed` are the offsets in it at which a character was."""

    text: str
    removed: tuple[int, ...] = ()

    def original(self, position: int) -> int:
        """Return the offset in the text as the agent said it."""
        return position + bisect_right(self.removed, position)


def search_text(text: str, fields: frozenset[str]) -> SearchText:
    """Blank out what is hidden, leave out what nobody can see, and make every space a plain one.

    Hidden are reasoning and comments. Tags that arrive escaped become tags. `fields` are the
    folded names of the output fields, whose tags are never reasoning.
    """
    if text.isascii():
        return SearchText(_shown(text, fields))
    invisible = [match.start() for match in INVISIBLE.finditer(text)]
    visible = _WIDE_SPACES.sub(" ", INVISIBLE.sub("", text) if invisible else text)
    removed = tuple(offset - before for before, offset in enumerate(invisible))
    return SearchText(_shown(visible, fields), removed)


def _shown(text: str, fields: frozenset[str]) -> str:
    return without_hidden(tags_unescaped(text, fields), fields)


# Take off what stands around a value in a text: fences, quotes, emphasis, entities.

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_CDATA: Final = "<![CDATA["
_CDATA_END: Final = "]]>"
_FENCE: Final = "```"
_LANGUAGE: Final = re.compile(r"[\w+.#-]{0,20}[ \t]*\r?\n")
_RUNS: Final = "*`"
_LONGEST_RUN: Final = 3
_PAIRS: Final = {
    '"': '"', "'": "'", "`": "`", "*": "*",
    "\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb",
}  # fmt: skip


def bare_value(text: str) -> str:
    """Return a value without code fences, quotes, backticks and emphasis around it."""
    return _unquoted(_unfenced(text.strip()))


def decoded(text: str) -> str:
    """Return the text that markup stands for: entities decoded, CDATA as it is."""
    if _CDATA not in text:
        return _entities(text)
    parts: list[str] = []
    position = 0
    while (start := text.find(_CDATA, position)) >= 0:
        end = text.find(_CDATA_END, start)
        if end < 0:
            break
        parts += (_entities(text[position:start]), text[start + len(_CDATA) : end])
        position = end + len(_CDATA_END)
    return "".join(parts) + _entities(text[position:])


def _entities(text: str) -> str:
    if "&" not in text:
        return text
    # One entity after the other: left to itself `html.unescape` also takes `&lt` without its end.
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def _unfenced(text: str) -> str:
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    inside = text[len(_FENCE) : -len(_FENCE)]
    language = _LANGUAGE.match(inside)
    return (inside[language.end() :] if language else inside).strip()


def _unquoted(text: str) -> str:
    # A mark that wraps is nowhere inside, so there are no more layers than kinds of marks.
    while width := _wrapping_width(text):
        text = text[width:-width].strip()
    return text


def _wrapping_width(text: str) -> int:
    """How many characters at each end only wrap what is between them."""
    if len(text) < 2 or _PAIRS.get(text[0]) != text[-1]:  # noqa: PLR2004 - one at each end
        return 0
    mark, end = text[0], text[-1]
    width = 1
    while mark in _RUNS and width < _LONGEST_RUN and text[width : width + 1] == mark:
        width += 1
    if len(text) < 2 * width or not text.endswith(end * width):
        return 0
    # `"A", "B"` is two quoted values, and not one.
    return 0 if end in text[width:-width] or mark in text[width:-width] else width
