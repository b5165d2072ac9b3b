"""The two dialects in which agents write objects: JSON, and Python literals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, nan
from typing import Final

from .json import JsonValue

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
