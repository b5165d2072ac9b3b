"""A text, as answers are looked for in it: what nobody means as an answer is blanked out."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import FieldNames, name_pattern
from pytest_sopbench._core.model.trace import Returned
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import INVISIBLE, REASONING, Found, fold, objects

LONGEST: Final = 60_000
"""Characters at the end of a text that are read; what stands before them is no answer."""

BLANK: Final = "\ufdd0"
"""Stands for each character that is unseen, so that offsets stay; Unicode has no such character."""

CONTAINERS: Final = (
    "final output", "final decision", "final response", "final answer", "answer", "decision",
    "response", "output",
)  # fmt: skip
"""Elements and keys whose value is an answer, whatever the output fields are called."""

HOLDERS: Final = (*CONTAINERS, "result", "final result")
"""Elements, and keys of objects, in which an answer may stand."""

# What is unseen: reasoning, comments, channels, quotes, code, and elements that hold no answer.

_WIDE_SPACES: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>]+))*"""
_THOUGHTS: Final = rf"(?:{'|'.join(REASONING)}|ant:?thinking|seed:think|inner[_ ]monologue)"
_HIDING: Final = re.compile(
    rf"<\s*(/\s*)?({_THOUGHTS}){_ATTRIBUTES}\s*(/\s*)?>|\[(/)?(THINK)\]"
    r"|<\|(?:begin|(end))_of_(thought)\|>|<!--.*?(?:-->|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_CHANNEL: Final = re.compile(r"<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CONTROL: Final = re.compile(
    r"<\|[\w-]{1,40}\|>|<start_of_turn>(?:model\b)?|<end_of_turn>|</s>\s*$"
)
_OPEN: Final = r"(?:&lt;|&\#0*60;|&\#x0*3c;|\\u003c)"
_CLOSE: Final = r"(?:&gt;|&\#0*62;|&\#x0*3e;|\\u003e)"
_ROWS: Final = frozenset(
    ("br", "p", "div", "li", "tr", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "dt", "dd")
)
_FORMATS: Final = (
    *sorted(_ROWS), "a", "b", "big", "body", "center", "code", "details", "dl", "em", "font",
    "footer", "head", "header", "html", "i", "img", "label", "main", "mark", "pre",
    "section", "article", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "tt", "u",
)  # fmt: skip
_HTML: Final = re.compile(
    rf"</t[dh]>\s*<t[dh](?:\s[^<>]*)?>|</?({'|'.join(_FORMATS)})(?:\s[^<>]*)?/?>", re.IGNORECASE
)
_STRUCK_OUT: Final = re.compile(r"~~(?=\S)[^~\n]+~~")
_CODE: Final = 4
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: its folded name, where it starts and ends."""

    name: str
    start: int
    end: int
    closing: bool
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """One element: where it starts and ends, where the text inside does, and if it is closed."""

    name: str
    start: int
    end: int
    inner_start: int
    inner_end: int
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """A text as it is read: blanked, with its elements and its objects in their order."""

    text: str
    elements: tuple[Element, ...]
    objects: tuple[tuple[Dialect, Found], ...]
    removed: tuple[int, ...]
    source: str

    def original(self, position: int) -> int:
        """Return the offset in the text as the agent said it."""
        return position + bisect_right(self.removed, position)


def see(text: str, names: FieldNames) -> Seen:
    """Blank out what is unseen, and find the elements and objects in the rest."""
    removed: tuple[int, ...] = ()
    shown = text
    if not text.isascii():
        places = [match.start() for match in INVISIBLE.finditer(text)]
        removed = tuple(place - before for before, place in enumerate(places))
        shown = _WIDE_SPACES.sub(" ", INVISIBLE.sub("", text))
    if "&" in shown or "\\u003" in shown:
        shown = _escaped(names.all).sub(_unescaped, shown)
    shown = _blanked(shown, _thoughts(shown, names.folded))
    if len(shown) > LONGEST:
        cut = shown.find("\n", len(shown) - LONGEST) + 1 or len(shown) - LONGEST
        shown = " " * cut + shown[cut:]
    found = _objects(shown, names) if "{" in shown else []
    spans = [(one.start, one.end) for _, one in found]
    tags = [tag for tag in _tags(shown, names.all) if not _inside(tag.start, spans)]
    known = {*names.folded, *HOLDERS}
    unknown = [one for one in tags if one.name not in known | {*_FORMATS}]
    unseen = [*_pairs(unknown)]
    unseen += [
        (m.start(), m.end()) for m in _STRUCK_OUT.finditer(shown) if not _inside(m.start(), spans)
    ]
    elements = _pairs([one for one in tags if one.name in known])
    unseen += _quoted_lines(shown, _merged([*spans, *elements]))
    unseen = _merged(unseen)
    return Seen(
        _blanked(shown, unseen),
        _elements(
            shown, [one for one in tags if one.name in known and not _inside(one.start, unseen)]
        ),
        tuple(one for one in found if not _inside(one[1].start, unseen)),
        removed,
        shown,
    )


def _unescaped(match: re.Match[str]) -> str:
    tag = "<!--" if match["comment"] else "-->" if match["over"] else f"<{match[1]}>"
    return tag.rjust(len(match[0]), BLANK)


@lru_cache(maxsize=64)
def _escaped(names: tuple[str, ...]) -> re.Pattern[str]:
    # Only whole tags of names that matter: elsewhere `&lt;` is a value's own.
    several = sorted({*names, *HOLDERS}, key=len, reverse=True)
    tag = rf"\s{{0,9}}/?\s{{0,9}}(?:{'|'.join(map(name_pattern, several))}|{_THOUGHTS})"
    tag += r"(?:\s[^<>&\\\n]{0,200})?/?"
    return re.compile(
        rf"{_OPEN}({tag}){_CLOSE}|{_OPEN}(?P<comment>!--)|(?P<over>--){_CLOSE}", re.IGNORECASE
    )


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        lines = text[start:end].split("\n")
        parts += (text[position:start], "\n".join(BLANK * len(line) for line in lines))
        position = end
    return "".join(parts) + text[position:] if parts else text


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect_right(spans, (place, 1 << 60)) - 1
    return at >= 0 and place < spans[at][1]


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if not merged or end > merged[-1][1]:
            merged.append((max(start, merged[-1][1]) if merged else start, end))
    return merged


def _thoughts(text: str, fields: frozenset[str]) -> list[tuple[int, int]]:
    """Return what is thought aloud, commented, or said in a channel that is not the final one.

    A closing tag alone ends reasoning that began with the text, as some providers cut off the
    opening one; an opening mark alone hides all that follows.
    """
    spans = [*_thought_spans(text, fields)] if "<" in text or "[" in text else []
    channels = [*_CHANNEL.finditer(text)] if "<|channel|>" in text else []
    for match, end in zip(channels, [*(m.start() for m in channels[1:]), len(text)], strict=False):
        spans.append((match.start(), match.end() if match[1].lower() == "final" else end))
    if channels:
        spans.append((0, channels[0].start()))
    if "<|" in text or "_of_turn>" in text or "</s>" in text:
        spans += [match.span() for match in _CONTROL.finditer(text)]
    return _merged(spans)


def _thought_spans(text: str, fields: frozenset[str]) -> Iterator[tuple[int, int]]:
    marks: list[tuple[int, int, str, bool, bool]] = []
    for match in _HIDING.finditer(text):
        close, tag, is_empty, end, mark, over, part = match.groups("")
        name = fold(tag or mark or part)
        if name not in fields:
            is_whole = bool(is_empty or not name)
            marks.append((*match.span(), name, bool(close or end or over), is_whole))
    ends: list[int] = []
    closings: dict[str, int] = {}
    for _, end_of_mark, name, is_closing, _ in reversed(marks):
        # A tag of another name closes reasoning only if none of its own name ever will.
        ends.append(closings.get(name) or closings.get("", len(text)))
        if is_closing:
            closings[name] = closings[""] = end_of_mark
    position = alone = 0
    for (start, end_of_mark, name, is_closing, is_whole), closing in zip(
        marks, reversed(ends), strict=True
    ):
        if start < position:
            continue
        position = end_of_mark
        if is_closing:
            alone = position
        elif not is_whole:
            position = closing
            yield start, position
        elif not name:
            yield start, position
    yield 0, alone


def _objects(text: str, names: FieldNames) -> list[tuple[Dialect, Found]]:
    """Return the objects that stand in no other one, of both dialects."""
    plain = text.replace(BLANK, " ")
    found = [
        (dialect, one)
        for dialect in (Dialect.JSON, Dialect.PYTHON)
        for one in objects(plain, dialect)
    ]
    # Of two that begin at one place the longer one comes first, and JSON before Python.
    found.sort(key=lambda one: (one[1].start, -one[1].end))
    outer: list[tuple[Dialect, Found]] = []
    for dialect, one in found:
        if not outer or one.start >= outer[-1][1].end:
            outer.append((dialect, one))
    spans = [(one.start, one.end) for _, one in outer]
    bare = [
        (Dialect.LITERAL, one) for one in bare_dicts(plain, names) if not _inside(one.start, spans)
    ]
    return sorted([*outer, *bare], key=lambda one: one[1].start)


_FLAT: Final = re.compile(r"\{([^{}]*)\}")
_PAIR: Final = re.compile(
    r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s:,"'][^:,"']*?))\s*:\s*(?:"([^"]*)"|'([^']*)'|([^,"']*?))\s*(?:,|$)"""
)


def bare_dicts(text: str, names: FieldNames) -> Iterator[Found]:
    """Yield flat dicts with words that are not quoted, as `{decision: approve}`."""
    for match in _FLAT.finditer(text):
        value: dict[str, JsonValue] = {}
        position = 0
        inside = match[1].strip()
        while position < len(inside) and (pair := _PAIR.match(inside, position)):
            value[next(one for one in pair.groups()[:3] if one is not None)] = next(
                one for one in pair.groups()[3:] if one is not None
            )
            position = pair.end()
        if value and position >= len(inside) and names.any_in(value):
            yield Found(start=match.start(), end=match.end(), value=value)


@lru_cache(maxsize=64)
def _tag_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    known = "|".join(map(name_pattern, sorted({*names, *HOLDERS}, key=len, reverse=True)))
    return re.compile(
        rf"<\s*(/\s*)?({known}|[^\W\d][\w.:-]*){_ATTRIBUTES}\s*(/\s*)?>", re.IGNORECASE
    )


def _tags(text: str, names: tuple[str, ...]) -> Iterator[Tag]:
    for match in _tag_pattern(names).finditer(text) if "<" in text else ():
        yield Tag(fold(match[2]), match.start(), match.end(), bool(match[1]), bool(match[3]))


def _pairs(tags: Sequence[Tag]) -> Iterator[tuple[int, int]]:
    """Yield the closed elements of these tags; what is not closed is no element."""
    opened: dict[str, list[int]] = {}
    for tag in tags:
        if tag.empty:
            continue
        if not tag.closing:
            opened.setdefault(tag.name, []).append(tag.start)
        elif opened.get(tag.name):
            yield opened[tag.name].pop(), tag.end


def _elements(text: str, tags: Sequence[Tag]) -> tuple[Element, ...]:
    """Return the elements in their order; no two of one name share any text.

    One that is never closed is read to the end of its line, or to the next tag.
    """
    found: list[Element] = []
    closings: dict[str, Tag] = {}
    following = len(text)
    for tag in reversed(tags):
        closing = None if tag.closing else closings.pop(tag.name, None)
        if tag.closing:
            closings[tag.name] = tag
        elif tag.empty:
            found.append(Element(tag.name, tag.start, tag.end, tag.end, tag.end))
        elif closing:
            found.append(Element(tag.name, tag.start, closing.end, tag.end, closing.start))
        else:
            rest = text[tag.end : min(following, tag.end + 2_000)]
            start = tag.end + len(rest) - len(rest.lstrip())
            end = start + len(rest.lstrip().partition("\n")[0])
            found.append(Element(tag.name, tag.start, end, start, end, closed=False))
        following = tag.start
    return tuple(reversed(found))


def _quoted_lines(text: str, held: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the lines that quote, and those of indented code."""
    lines = text.split("\n")
    is_code = any(it.strip(" \t" + BLANK) and not it.startswith(_INDENTS) for it in lines)
    start = 0
    fenced = listed = False
    after_blank = True
    for line in lines:
        bare = line.strip()
        is_free = not _inside(start, held)
        is_indented = line.startswith(_INDENTS)
        if _FENCE.match(line):
            fenced = not fenced
        elif is_free and bare.startswith(">") and not bare.startswith(">>>"):
            yield start, start + len(line)
        elif bare and is_indented:
            if after_blank and is_free and is_code and not (fenced or listed):
                yield start, start + len(line)
                # What follows code without a gap is code too.
                bare = ""
        elif bare:
            listed = _ITEM.match(line) is not None or (listed and line[0] == " ")
        after_blank = not bare
        start += len(line) + 1


_INDENTS: Final = ("    ", "\t")
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


# Find the passages of the SOP that stand in a text, so that its examples are no answers.
#
# Words are compared, in any case, and nothing between them: an agent reflows and cuts what it
# quotes. An answer in just the form of the SOP's example is an answer.

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


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the SOP in a text, up to the words around it, and how many words it has."""

    start: int
    end: int
    words: int


class Echoes:
    """The passages of one text that stand in the SOP too, in their order."""

    def __init__(self, text: str, sop: str) -> None:
        self._sop = f" {' '.join(_words(sop))} "
        self.passages = _passages(text.replace(BLANK, " "), _sequences(sop)) if sop else []

    def holds(self, start: int, end: int, said: JsonValue) -> bool:
        """Whether a passage that is clearly longer than what is said holds this stretch whole."""
        at = bisect_right(self.passages, start, key=lambda one: one.start) - 1
        if at < 0 or self.passages[at].end < end:
            return False
        return self.passages[at].words - count_words(said) >= MORE

    def quotes(self, pairs: Mapping[str, JsonValue]) -> bool:
        """Whether all of these pairs stand in the SOP, and one of them nowhere by chance."""
        if not any(isinstance(one, str) and _tells(one) for one in pairs.values()):
            return False
        return all(f" {' '.join(_words(_written(pair)))} " in self._sop for pair in pairs.items())


def _tells(value: str) -> bool:
    """Whether a value is one of a kind, as an id or a sentence is."""
    is_id = len(value) >= SHORTEST and any(map(str.isdigit, value))
    return is_id or count_words(value) >= SHORTEST - 2


def count_words(value: JsonValue) -> int:
    """How many words a value has, as they are compared with the SOP."""
    return len(_words(_written(value)))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> tuple[str, ...]:
    return tuple(match[1].casefold() for match in _WORD.finditer(text) if match[1])


@lru_cache(maxsize=16)
def _sequences(sop: str) -> frozenset[tuple[str, ...]]:
    words = _words(sop)
    return frozenset(words[at : at + SHORTEST] for at in range(len(words) - SHORTEST + 1))


def _passages(text: str, known: frozenset[tuple[str, ...]]) -> list[Passage]:
    """Return the runs of words in which each `SHORTEST` that follow each other are in the SOP."""
    found = [match for match in _WORD.finditer(text) if match[1]]
    words = [match[1].casefold() for match in found]
    passages: list[Passage] = []
    first = 0
    for start in range(len(words) - SHORTEST + 2):
        if tuple(words[start : start + SHORTEST]) in known:
            continue
        if start > first:
            end = start + SHORTEST - 1
            before = found[first - 1].end(1) if first else 0
            after = found[end].start(1) if end < len(found) else len(text)
            passages.append(Passage(before, after, end - first))
        first = start + 1
    return passages


_MARK: Final = "[the SOP]"


def without_quoted_sop(returned: Returned, sop: str) -> Returned:
    """Blank out every whole copy of the SOP, so that every offset stays what it was.

    Only a whole copy: a line of it may well be what the SOP asks the agent to say.
    """
    text, whole = returned.text, sop.strip().replace("\r\n", "\n")
    in_lines = (whole, whole.replace("\n", "\r\n"))
    for copy in (*in_lines, json.dumps(whole)[1:-1], repr(whole)[1:-1]):
        if len(copy) > len(_MARK):
            text = text.replace(copy, _MARK.ljust(len(copy)))
    return returned if text == returned.text else replace(returned, text=text)


# Take off what stands around a value: fences, quotes, emphasis, entities, ticks, a full stop.

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_LANGUAGE: Final = re.compile(r"[\w+.#-]{0,20}[ \t]*\r?\n")
_LONGEST_RUN: Final = 3
_PAIRS: Final = {
    '"': '"', "'": "'", "`": "`", "*": "*", "_": "_",
    "\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb",
}  # fmt: skip
_TICKS: Final = re.compile("[\u2705\u2713\u2714\u2611\U0001f5f8]\ufe0f?")


def plain_html(text: str) -> str:
    """Make HTML that formats transparent; the text stays as long as it was."""
    return _HTML.sub(_as_plain, text) if "<" in text else text


def _as_plain(tag: re.Match[str]) -> str:
    name = (tag[1] or "").lower()
    is_heading = len(name) == 2 and "h1" <= name <= "h6" and tag[0][1] != "/"  # noqa: PLR2004
    plain = " | " if not name else "\n## " if is_heading else "\n" if name in _ROWS else ""
    return plain.ljust(len(tag[0]), BLANK)


def bare_value(text: str) -> str:
    """Return a value without code fences, quotes, backticks and emphasis around it."""
    value = text.replace(BLANK, "").strip()
    if len(value) >= 2 * 3 and value.startswith("```") and value.endswith("```"):
        inside = value[3:-3]
        language = _LANGUAGE.match(inside)
        value = (inside[language.end() :] if language else inside).strip()
    # A mark that wraps is nowhere inside, so there are no more layers than kinds of marks.
    while width := _wrapping_width(value):
        value = value[width:-width].strip()
    return value


def without_end(value: str) -> str:
    """Return a bare value without one full stop, and without ticks beside it."""
    value = bare_value(_TICKS.sub("", value))
    return (
        bare_value(value[:-1]) if value[-1:] in (".", "!", "\u3002", "\uff0e", "\uff01") else value
    )


def decoded(text: str) -> str:
    """Return the text that markup stands for: entities decoded, CDATA as it is."""
    first, *others = text.split("<![CDATA[")
    parts = [_entities(first)]
    for other in others:
        inside, end, after = other.partition("]]>")
        parts += (inside, _entities(after)) if end else ("<![CDATA[", _entities(other))
    return "".join(parts)


def _entities(text: str) -> str:
    # One entity after the other: left to itself `html.unescape` also takes `&lt` without its end.
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def _wrapping_width(text: str) -> int:
    """How many characters at each end only wrap what is between them."""
    if len(text) < 2 or _PAIRS.get(text[0]) != text[-1]:  # noqa: PLR2004 - one at each end
        return 0
    mark, end = text[0], text[-1]
    width = 1
    while mark in "*`_" and width < _LONGEST_RUN and text[width : width + 1] == mark:
        width += 1
    if len(text) < 2 * width or not text.endswith(end * width):
        return 0
    # `"A", "B"` is two quoted values, and not one.
    inside = text[width:-width]
    return 0 if mark != "_" and (end in inside or mark in inside) else width
