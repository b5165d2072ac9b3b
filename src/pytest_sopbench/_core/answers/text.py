"""A text, as answers are looked for in it: what nobody means as an answer is blanked out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import FieldNames, name_pattern
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

HOLDERS: Final = (*CONTAINERS, "result", "final result", "final")
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
_TRANSCRIPT: Final = re.compile(
    r"^\[(?:tool|call|function|action)\b[^\n]*(?:\n+\[(?:result|output|response)\][^\n]*)?"
    r"|^TOOL \w+\W*\{[^\n]*|^```tool[\s\S]*?(?:^```|\Z)|<function=[\s\S]*?(?:</function>|\Z)"
    r"|^tool:[^\n]*\n+(?:\w[\w ]{0,30}:[^\n]*\n+){0,3}?(?:output|result|response):[^\n]*"
    r"|\[TOOL_RESULTS\][\s\S]*?(?:\[/TOOL_RESULTS\]|\Z)|<\|tool\w*\|>[\s\S]*?(?=<\||\Z)",
    re.IGNORECASE | re.MULTILINE,
)
"""The lines of a transcript that say which tool was called, and what came of it."""

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
    if "tool" not in fields:
        spans += [match.span() for match in _TRANSCRIPT.finditer(text)]
    if "<|" in text or "_of_turn>" in text or "</s>" in text:
        spans += [match.span() for match in _CONTROL.finditer(text)]
    return _merged(spans)


def _thought_spans(text: str, fields: frozenset[str]) -> Iterator[tuple[int, int]]:
    began: int | None = None
    alone = 0
    for match in _HIDING.finditer(text):
        close, tag, is_empty, end, mark, over, part = match.groups("")
        name = fold(tag or mark or part)
        if not name:
            yield match.span()
        elif name in fields or is_empty:
            continue
        elif not (close or end or over):
            began = match.start() if began is None else began
        elif began is None:
            alone = match.end()
        else:
            yield began, match.end()
            began = None
    if began is not None:
        yield began, len(text)
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


def plain_html(text: str) -> str:
    """Make HTML that formats transparent; the text stays as long as it was."""
    return _HTML.sub(_as_plain, text) if "<" in text else text


def _as_plain(tag: re.Match[str]) -> str:
    name = (tag[1] or "").lower()
    is_heading = len(name) == 2 and "h1" <= name <= "h6" and tag[0][1] != "/"  # noqa: PLR2004
    plain = " | " if not name else "\n## " if is_heading else "\n" if name in _ROWS else ""
    return plain.ljust(len(tag[0]), BLANK)
