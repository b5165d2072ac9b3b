"""Regular expressions of users and domains, matched in linear time.

They are read as Python's own, and matched by RE2, which cannot explode. What no linear engine can
do, to look around and to refer back, is refused when a pattern is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from .pattern_syntax import PatternError, translated

__all__ = ["LONGEST", "Pattern", "PatternError", "linear_pattern"]

LONGEST: Final = 10_000
"""Characters up to which a pattern is read."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as it was written, with what matches it."""

    source: str
    engine: Any

    def fullmatch(self, text: str) -> bool:
        """Whether the whole of a text fits."""
        return self.engine.fullmatch(_encodable(text)) is not None

    def sub(self, replacement: str, text: str) -> str:
        """Return the text with the replacement, word for word, in place of every match."""
        if self.engine.search(_encodable(text)) is None:
            return text

        def word_for_word(_: object) -> str:
            return replacement

        replaced: str = self.engine.sub(word_for_word, _encodable(text))
        return replaced


@lru_cache(maxsize=256)
def linear_pattern(source: str) -> Pattern:
    """Read a pattern.

    Raises:
        PatternError: it is too long, too deep or too large, no regular expression, or one that
            looks around or refers back.
    """
    # Heavy, and most sessions have no pattern.
    re2: Any = import_module("re2")

    if len(source) > LONGEST:
        msg = f"it has more than {LONGEST:,} characters"
        raise PatternError(msg)
    options = re2.Options()
    options.log_errors = False
    try:
        return Pattern(source, re2.compile(translated(source), options))
    except re2.error as fault:
        words: object = fault.args[0]
        msg = words.decode() if isinstance(words, bytes) else str(words)
        raise PatternError(msg) from None


def _encodable(text: str) -> str:
    """Return the text without halves of surrogate pairs, which the engine cannot be given."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
