"""Take off what stands around a value in a text: fences, quotes, emphasis, entities."""

from __future__ import annotations

import html
import re
from typing import Final

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
