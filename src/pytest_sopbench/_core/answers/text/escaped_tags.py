"""Read tags that arrive escaped, as `&lt;final_decision&gt;`: they are tags all the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.names import name_pattern
from pytest_sopbench._core.values.reasoning_tags import REASONING

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
