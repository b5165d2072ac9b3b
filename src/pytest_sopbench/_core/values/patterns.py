"""Patterns of users, matched in linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from math import inf, nan
from typing import Any, Final

from .json import JsonValue

# The two dialects in which agents write objects: JSON, and Python literals.

_SPACE: Final = r"[ \t\n\r]*"
_DOUBLE: Final = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SINGLE: Final = r"'[^'\\]*(?:\\.[^'\\]*)*'"
_NUMBER: Final = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])"
_WORD: Final = r"-?[A-Za-z]+(?!\w)"
_LONGEST_INTEGER: Final = 4_000
_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": "",
                   "\\": "\\", "'": "'", '"': '"'}  # fmt: skip
_LAST_CODE_POINT: Final = 0x10FFFF

_JSON_WORDS: Final[dict[str, JsonValue]] = {
    "true": True, "false": False, "null": None, "NaN": nan, "Infinity": inf, "-Infinity": -inf,
}  # fmt: skip
_LITERAL_WORDS: Final[dict[str, JsonValue]] = {"True": True, "False": False, "None": None}
_PYTHON_WORDS: Final[dict[str, JsonValue]] = {**_JSON_WORDS, **_LITERAL_WORDS}


class Dialect(StrEnum):
    """Whose literals are read. Python's has both quotes, tuples and trailing commas.

    Agents mix the words of both, which `PYTHON` allows and `LITERAL` does not.
    """

    JSON = "json"
    PYTHON = "python"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Patterns and readers of one dialect; each pattern but `start` begins after white space.

    `start` finds a brace that may open an object with a key; `key` takes a key and its colon,
    `value` an opening mark, a string, a number or a word, `after` what follows a value, and
    `end` the end of a container. A reader raises `ValueError` for what is no literal.
    """

    start: re.Pattern[str]
    key: re.Pattern[str]
    value: re.Pattern[str]
    after: re.Pattern[str]
    end: re.Pattern[str]
    unquote: Callable[[str], str]
    read: Mapping[str, Callable[[str], JsonValue]]
    trailing_comma: bool


def _grammar(
    strings: str,
    marks: str,
    unquote: Callable[[str], str],
    words: Mapping[str, JsonValue],
    *,
    trailing_comma: bool,
) -> Grammar:
    scalar = rf"(?P<string>{strings})|(?P<number>{_NUMBER})|(?P<word>{_WORD})"
    opening, closing = marks[: len(marks) // 2], marks[len(marks) // 2 :]
    flags = re.DOTALL | re.ASCII
    return Grammar(
        start=re.compile(rf"\{{(?={_SPACE}(?:{strings}){_SPACE}:)", flags),
        key=re.compile(rf"{_SPACE}({strings}){_SPACE}:", flags),
        value=re.compile(rf"{_SPACE}(?:(?P<open>[{re.escape(opening)}])|{scalar})", flags),
        after=re.compile(rf"{_SPACE}([,{re.escape(closing)}])", flags),
        end=re.compile(rf"{_SPACE}([{re.escape(closing)}])", flags),
        unquote=unquote,
        read={"string": unquote, "number": _number, "word": _reader(words)},
        trailing_comma=trailing_comma,
    )


def _reader(words: Mapping[str, JsonValue]) -> Callable[[str], JsonValue]:
    def read(word: str) -> JsonValue:
        if word not in words:
            raise ValueError(word)
        return words[word]

    return read


def _number(text: str) -> JsonValue:
    if text.lstrip("-").isdigit():
        # Python takes quadratic time for long integers, and refuses the longest.
        return int(text) if len(text) <= _LONGEST_INTEGER else text
    return float(text)


def _json_unquote(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    words: str = json.loads(text, strict=False)
    return words


def _python_unquote(text: str) -> str:
    return text[1:-1] if "\\" not in text else _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _ESCAPED.get(match[4], match[0])
    code = int(digits, 16)
    if code > _LAST_CODE_POINT:
        raise ValueError(digits)
    return chr(code)


GRAMMARS: Final[Mapping[Dialect, Grammar]] = {
    Dialect.JSON: _grammar(_DOUBLE, "{[}]", _json_unquote, _JSON_WORDS, trailing_comma=False),
    **{
        dialect: _grammar(
            f"{_DOUBLE}|{_SINGLE}", "{[(}])", _python_unquote, words, trailing_comma=True
        )
        for dialect, words in (
            (Dialect.PYTHON, _PYTHON_WORDS),
            (Dialect.LITERAL, _LITERAL_WORDS),
        )
    },
}


# Write a pattern of Python in the syntax of RE2, so that it means the same.
#
# Python's own parser reads it, so that escapes, flags and comments are those that people know. RE2
# takes words, digits and white space for ASCII, and Python for Unicode; here they are written out.

# Python has no public parser of patterns; this one is in every version since 3.11.
_PARSER: Final[Any] = import_module("re._parser")

_UNICODE: Final = {
    "DIGIT": r"\p{Nd}",
    "SPACE": r"\t-\r\x1c-\x20\x{85}\p{Z}",
    "WORD": r"\p{L}\p{N}_",
}
_ASCII: Final = {"DIGIT": "0-9", "SPACE": r"\t-\r\x20", "WORD": "0-9A-Za-z_"}
_PLACES: Final = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": r"\A",
    # Python's also stands before a line end that is the last character.
    "AT_END": "(?m:$)",
    "AT_END_STRING": r"\z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
_FLAGS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
_REFUSED: Final = {
    "ASSERT": "it looks ahead or behind",
    "ASSERT_NOT": "it looks ahead or behind",
    "GROUPREF": "it refers back to a group",
    "GROUPREF_EXISTS": "it refers back to a group",
    "ATOMIC_GROUP": "it has an atomic group",
    "POSSESSIVE_REPEAT": "it has a possessive quantifier",
}


class PatternError(ValueError):
    """A pattern is no regular expression, or none that can be matched in linear time."""


def translated(source: str) -> str:
    """Return the pattern as RE2 writes it.

    Raises:
        PatternError: it is no regular expression, or RE2 cannot express it.
    """
    try:
        tree: Any = _PARSER.parse(source)
        ascii_only = bool(tree.state.flags & re.ASCII)
        written = _with_flags(tree.state.flags, _sequence(tree, ascii_only=ascii_only))
    except re.error as fault:
        raise PatternError(str(fault)) from None
    except OverflowError:
        msg = "it repeats something too often"
        raise PatternError(msg) from None
    except RecursionError:
        msg = "it is nested too deeply"
        raise PatternError(msg) from None
    if not source.isascii() and r"\b" in written.lower():
        # RE2 knows the ends of ASCII words only, and would never match beside another letter.
        msg = "it has a word boundary and letters beyond ASCII, which cannot be matched together"
        raise PatternError(msg)
    return written


def _with_flags(flags: int, written: str) -> str:
    letters = "".join(letter for flag, letter in _FLAGS.items() if flags & flag)
    return f"(?{letters}:{written})" if letters else f"(?:{written})"


def _sequence(items: Iterable[tuple[Any, Any]], *, ascii_only: bool) -> str:
    return "".join(_node(str(operator), value, ascii_only) for operator, value in items)


def _node(operator: str, value: Any, ascii_only: bool) -> str:
    if operator in _REFUSED:
        msg = f"{_REFUSED[operator]}, which cannot be matched in linear time"
        raise PatternError(msg)
    return _WRITERS[operator](value, ascii_only)


def _character(code: int) -> str:
    return rf"\x{{{code:x}}}"


def _class(items: Iterable[tuple[Any, Any]], ascii_only: bool) -> str:
    positive: list[str] = []
    others: list[str] = []
    negated = False
    for operator, value in items:
        match str(operator):
            case "NEGATE":
                negated = True
            case "LITERAL":
                positive.append(_character(value))
            case "RANGE":
                positive.append(f"{_character(value[0])}-{_character(value[1])}")
            case _:
                name = str(value).removeprefix("CATEGORY_")
                kind = name.removeprefix("NOT_")
                letters = (_ASCII if ascii_only else _UNICODE)[kind]
                (others if name != kind else positive).append(letters)
    return _united(positive, others, negated=negated)


def _united(positive: list[str], others: list[str], *, negated: bool) -> str:
    """Write a class; `others` are the sets whose opposites belong to it."""
    if not others:
        return f"[{'^' if negated else ''}{''.join(positive)}]"
    if negated and (positive or len(others) > 1):
        msg = r"it has a class like [^\Wx], with the opposite of a class beside something else"
        raise PatternError(msg)
    if negated:
        return f"[{others[0]}]"
    parts = [f"[^{letters}]" for letters in others]
    if positive:
        parts.append(f"[{''.join(positive)}]")
    return f"(?:{'|'.join(parts)})"


def _repeat(lazy: str) -> Callable[[Any, bool], str]:
    def write(value: Any, ascii_only: bool) -> str:
        least, most, items = value
        bounds = f"{least}," if most is _PARSER.MAXREPEAT else f"{least},{most}"
        return f"(?:{_sequence(items, ascii_only=ascii_only)}){{{bounds}}}{lazy}"

    return write


def _group(value: Any, ascii_only: bool) -> str:
    _, added, removed, items = value
    if added & re.ASCII:
        ascii_only = True
    if added & re.UNICODE:
        ascii_only = False
    off = "".join(letter for flag, letter in _FLAGS.items() if removed & flag)
    inside = _with_flags(added, _sequence(items, ascii_only=ascii_only))
    return f"(?-{off}:{inside})" if off else inside


def _branches(value: Any, ascii_only: bool) -> str:
    return f"(?:{'|'.join(_sequence(one, ascii_only=ascii_only) for one in value[1])})"


_WRITERS: Final[Mapping[str, Callable[[Any, bool], str]]] = {
    "LITERAL": lambda value, _: _character(value),
    "NOT_LITERAL": lambda value, _: f"[^{_character(value)}]",
    "ANY": lambda _, __: ".",
    "AT": lambda value, _: _PLACES[str(value)],
    "IN": _class,
    "MAX_REPEAT": _repeat(""),
    "MIN_REPEAT": _repeat("?"),
    "SUBPATTERN": _group,
    "BRANCH": _branches,
}


# Regular expressions of users and domains, matched in linear time.
#
# They are read as Python's own, and matched by RE2, which cannot explode. What no linear engine
# can do, to look around and to refer back, is refused when a pattern is read.

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
