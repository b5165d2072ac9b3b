"""Texts, normalised; literals and quantities in them."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, cast
from urllib.parse import quote

from pytest_sopbench._core.hiding import shortened

from .json import JsonValue, is_list, same_json
from .patterns import GRAMMARS, Dialect, Grammar

# The spellings of one word: what is equal after normalisation.
#
# Case folded, white space collapsed, characters that nobody can see left out, `_` and `-` between
# letters or digits as space, and Unicode NFKC but for superscripts, subscripts, fractions and
# characters in circles, which mean something else than the characters they are made of.

EMPTY_WORDS: Final = frozenset({"", "null", "none", "n/a"})
"""What says, after folding, that there is explicitly no value."""

INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Zero-width characters, soft hyphens and marks of direction."""

_DASHES: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))

# A sign changes what a word means (`-7`, `A-`); a mark between two parts of a word does not.
_BETWEEN: Final = re.compile("[-_]+| [-_]+ ")
_MEANINGFUL: Final = ("<super>", "<sub>", "<fraction>", "<circle>")
_COMPOSED: Final = re.compile(r"[^\x00-\x7f]")
_SHORT: Final = 200

_MARKS_LIMIT: Final = 30
_MAY_BE_MARKS: Final = re.compile(rf"[^\x00-\x7f]{{{_MARKS_LIMIT + 1},}}")
_MADE_OF_MARKS: Final = frozenset("\u0f73\u0f75\u0f81")
_JOINER: Final = "\u034f"


def fold(text: str) -> str:
    """Return the one spelling of all texts that are equal after normalisation."""
    return _fold_short(text) if len(text) <= _SHORT else _fold(text)


def first_of(texts: Iterable[str], most: int, sign: str = ",") -> str:
    """Return the first of some texts with a sign between them, and how many there are beside."""
    every = list(texts)
    comma = "" if sign == "," else sign
    more = f"{comma} and {len(every) - most} more" if len(every) > most else ""
    return f"{f'{sign} '.join(every[:most])}{more}"


def short(value: JsonValue, limit: int = 60) -> str:
    """Write a value as JSON, on one line and cut."""
    return shortened(json.dumps(value, ensure_ascii=False), limit)


def is_empty(value: JsonValue) -> bool:
    """Whether a value says explicitly that there is none: `""`, null, none or n/a."""
    return value is None or (isinstance(value, str) and fold(value) in EMPTY_WORDS)


def normal_form(text: str) -> str:
    """Return the text in Unicode NFKC, but for what would change its meaning.

    `10` with a superscript 2 is not 102, and a half is not 1 and 2.
    """
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", _parted(text))
    expanded = _COMPOSED.sub(lambda found: _expanded(found[0]), parts)
    # What was expanded may be marks itself.
    return unicodedata.normalize("NFC", _parted(expanded))


def plain_dashes(text: str) -> str:
    """Return the text with one character for every dash, hyphen and minus sign."""
    return text.translate(_DASHES)


def _fold(text: str) -> str:
    if text.isascii():
        return _without_marks(" ".join(text.lower().split()))
    folded = INVISIBLE.sub("", text)
    # Folding case can undo the normal form, and the normal form can bring back capitals.
    for _ in range(2):
        folded = normal_form(folded).casefold()
    return _without_marks(" ".join(plain_dashes(normal_form(folded)).split()))


def _without_marks(text: str) -> str:
    return _BETWEEN.sub(_space_or_sign, text) if "-" in text or "_" in text else text


def _space_or_sign(mark: re.Match[str]) -> str:
    text, start, end = mark.string, mark.start(), mark.end()
    before, after = text[start - 1 : start], text[end : end + 1]
    joined = _is_of_a_word(before) and _is_of_a_word(after)
    # In `balance - 7` it can be the sign of the number; in `10 - 20` it is that of a range.
    sign = mark[0][0] == " " and after.isnumeric() and not before.isnumeric()
    return " " if joined and not sign else mark[0]


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or (
        # Vowels of many scripts are marks of their own.
        character != "" and unicodedata.category(character).startswith("M")
    )


def _parted(text: str) -> str:
    """Put a joiner into every run of combining marks that is longer than any script has.

    Python sorts the marks of a run in a time that is the square of its length: some 100,000 of
    them would hang the judge. This is the "Stream-Safe Text Format" of Unicode (UAX 15).
    """
    return _MAY_BE_MARKS.sub(lambda found: _parted_run(found[0]), text)


def _parted_run(run: str) -> str:
    parts: list[str] = []
    marks = 0
    for character in run:
        is_mark = unicodedata.combining(character) or character in _MADE_OF_MARKS
        marks = marks + 1 if is_mark else 0
        if marks > _MARKS_LIMIT:
            parts.append(_JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)


@lru_cache(maxsize=4096)
def _expanded(character: str) -> str:
    tag, *codes = unicodedata.decomposition(character).split() or ("",)
    if not tag.startswith("<") or tag in _MEANINGFUL:
        return character
    return "".join(_expanded(chr(int(code, 16))) for code in codes)


# The same few labels and field names come again in every run.
_fold_short = lru_cache(maxsize=4096)(_fold)


# Read JSON and Python literals that stand somewhere in a text, in linear time.
#
# Every `{` is tried, wherever it stands: prose is full of stray braces and quotes. A parser that
# starts at one `{` passes others; those that it took for structure fail or succeed with it, so
# they are never tried again. The rest stood inside its strings. Each kind of quote swaps two of
# the states "outside" and "inside such a string", and a swap never brings two different states
# together, so that at most three passes see the same character.
#
# Nothing recurses, and nothing is evaluated.

_Object = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An object in a text, from `start` up to `end`."""

    start: int
    end: int
    value: _Object


def objects(text: str, dialect: Dialect) -> Iterator[Found]:
    """Yield the balanced objects of a text; of two that overlap, the inner one comes first."""
    # No object ends behind the last brace, and much text has none.
    grammar = GRAMMARS[dialect]
    limit = text.rfind("}") + 1
    parser = _Parser(text, grammar, limit)
    for match in grammar.start.finditer(text, 0, limit):
        if not parser.passed[match.start()]:
            parser.parse(match.start())
            yield from parser.found
            parser.found.clear()


def read_list(text: str) -> list[JsonValue] | None:
    """Read a text that is one JSON or Python list literal, and nothing else."""
    return cast("list[JsonValue] | None", _read_whole(text.strip(), ("[", "(")))


def read_object(text: str, dialect: Dialect) -> _Object | None:
    """Read a text that is one object of that dialect, and nothing else."""
    return cast("_Object | None", _read_whole(text, ("{",), dialect))


def read_container(text: str) -> JsonValue:
    """Read a text that is one JSON or Python list or object, and nothing else, or `None`."""
    return _read_whole(text.strip(), ("[", "(", "{"))


def _read_whole(text: str, marks: tuple[str, ...], dialect: Dialect = Dialect.PYTHON) -> JsonValue:
    if not text.startswith(marks):
        return None
    parser = _Parser(text, GRAMMARS[dialect], len(text))
    return parser.value if parser.parse(0) == len(text) else None


class _Parser:
    """Reads literals of one text, one after the other.

    `found` are the objects that were completed, also inside a literal that broke off; `passed`
    marks each `{` that was taken for structure.
    """

    __slots__ = ("_grammar", "_key", "_limit", "_position", "_stack", "_text", "found", "passed",
                 "value")  # fmt: skip

    def __init__(self, text: str, grammar: Grammar, limit: int) -> None:
        self.found: list[Found] = []
        self.passed = bytearray(limit)
        self.value: Any = None
        self._text = text
        self._grammar = grammar
        self._limit = limit
        self._position = 0
        self._key = ""
        # Each open container: itself, its start, its closing mark, its key in the one around it.
        self._stack: list[tuple[Any, int, str, str]] = []

    def parse(self, start: int) -> int | None:
        """Read one container into `value`; where it ends, or `None` if it breaks off."""
        self._stack.clear()
        self._position = start
        self.value = None
        step: Callable[[], Any] | None = self._read_value
        while step is not None:
            step = step()
        return self._position if self.value is not None else None

    def _read_value(self) -> Callable[[], Any] | None:
        match = self._grammar.value.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        if match.lastgroup == "open":
            return self._open(match["open"])
        try:
            value = self._grammar.read[match.lastgroup or ""](match[match.lastgroup or ""])
        except ValueError:
            return None
        return self._put(value, self._key)

    def _open(self, mark: str) -> Callable[[], Any]:
        start = self._position - 1
        if mark == "{":
            self.passed[start] = 1
            self._stack.append(({}, start, "}", self._key))
            return self._read_key_or_end
        self._stack.append(([], start, "]" if mark == "[" else ")", self._key))
        return self._read_value_or_end

    def _read_key(self) -> Callable[[], Any] | None:
        match = self._grammar.key.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        try:
            self._key = self._grammar.unquote(match[1])
        except ValueError:
            return None
        return self._read_value

    def _read_key_or_end(self) -> Callable[[], Any] | None:
        return self._end_here() or self._read_key()

    def _read_value_or_end(self) -> Callable[[], Any] | None:
        return self._end_here() or self._read_value()

    def _end_here(self) -> Callable[[], Any] | None:
        match = self._grammar.end.match(self._text, self._position, self._limit)
        if match is None or match[1] != self._stack[-1][2]:
            return None
        self._position = match.end()
        return self._close

    def _close(self) -> Callable[[], Any] | None:
        value, start, mark, key = self._stack.pop()
        if mark == "}":
            self.found.append(Found(start=start, end=self._position, value=value))
        if self._stack:
            return self._put(value, key)
        self.value = value
        return None

    def _put(self, value: Any, key: str) -> Callable[[], Any] | None:
        """Put a value where it belongs, and read what follows it."""
        container, _, end, _ = self._stack[-1]
        if end == "}":
            if key in container and container[key] != value:
                # Neither is lost: a space beside it makes another spelling of the same name.
                container[f"{key} "] = container[key]
            container[key] = value
        else:
            container.append(value)
        match = self._grammar.after.match(self._text, self._position, self._limit)
        if match is None:
            return None
        self._position = match.end()
        if match[1] != ",":
            return self._close if match[1] == end else None
        if self._grammar.trailing_comma:
            return self._read_key_or_end if end == "}" else self._read_value_or_end
        return self._read_key if end == "}" else self._read_value


# Read numbers and moments as they are written, by value.

_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?")
_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WRITTEN_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
"""Text that JSON would read as a number."""
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII | re.IGNORECASE,
)
LONGEST_NUMBER: Final = 400
"""Digits of a number that is read; a longer one is a text."""

OFF_BY: Final = "number off by "
"""How the reason begins that tells how far a number is off."""

_NOISE: Final = 1e-9
_MILLIONTH: Final = 1e-6
_SAID_IN_FULL: Final = range(-12, 13)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Of our own, since an agent may have changed the precision of its thread.
_CONTEXT: Final = Context(prec=60)


def is_json_number(text: str) -> bool:
    """Whether JSON would read the text as a number; `007` is none, and so stays a name."""
    return _JSON_NUMBER.fullmatch(text) is not None


def read_as_json_writes(text: str) -> Decimal | None:
    """Read a number only if it has the spelling that JSON gives it: `1`, `1.0`, `-2.5`.

    `007`, `1.10` and `1E5` are the names of something, which a number does not have.
    """
    stripped = plain_dashes(text.strip())
    if len(stripped) > LONGEST_NUMBER or not is_json_number(stripped):
        return None
    whole = stripped.lstrip("-").isdigit()
    usual = str(int(stripped)) if whole else repr(float(stripped))
    return Decimal(stripped) if usual == stripped else None


def read_number(value: JsonValue) -> Decimal | None:
    """Read a number by value: `12.50` is `12.5`. A boolean is no number, nor is `1,000`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(repr(value)) if abs(value) < 10**LONGEST_NUMBER else None
    if not isinstance(value, str) or len(value) > LONGEST_NUMBER:
        return None
    text = _as_typed(value)
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _as_typed(text: str) -> str:
    # Models write `2026-05-01` with hyphens that do not break a line, or a mark before it.
    return plain_dashes(normal_form(INVISIBLE.sub("", text))).strip()


def read_as_written(value: JsonValue) -> JsonValue:
    """Return the number or boolean that a text writes; everything else as it is."""
    if not isinstance(value, str):
        return value
    if value in {"true", "True", "false", "False"}:
        return value in {"true", "True"}
    if not _WRITTEN_NUMBER.fullmatch(value):
        return value
    number: int | float = json.loads(value)
    return number


def equal_as_written(one: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON, or a number or boolean and the text that writes it (`12` and `"12"`).

    Agents and tools often pass an id or a score as text; `"007"` is no number, and stays text.
    """
    if isinstance(one, str) is not isinstance(other, str):
        one, other = read_as_written(one), read_as_written(other)
    return same_json(one, other)


def distance(one: Decimal, other: Decimal) -> Decimal:
    """Return how far two numbers are apart."""
    return _CONTEXT.abs(_CONTEXT.subtract(one, other))


def without_float_noise(value: JsonValue, meant: Sequence[float]) -> JsonValue:
    """Return a value, each of its floats as the number that it stands for, if there is one.

    A sum of floats is off in its last digits: `0.1 + 0.2 - 0.3` stands for 0. Such a float is
    within 1e-9 of the number, absolutely or of the larger magnitude; but never is a millionth
    forgiven, neither as a number nor as a part of what is meant. A float without decimals, such as
    an identifier that a table has made a float, is the integer that it is.

    Args:
        value: what an agent returned; texts, integers and booleans stay as they are.
        meant: the numbers that it may stand for, in their order.
    """
    if isinstance(value, float):
        if value.is_integer():
            return value
        at = bisect_left(meant, value)
        near = [one for one in meant[max(at - 1, 0) : at + 1] if _is_noise(one, value)]
        nearest = min(near, key=lambda one: abs(one - value), default=value)
        return int(nearest) if nearest.is_integer() else nearest
    if isinstance(value, Mapping):
        return {name: without_float_noise(one, meant) for name, one in value.items()}
    if is_list(value):
        return [without_float_noise(one, meant) for one in value]
    return value


def _is_noise(meant: float, value: float) -> bool:
    off = abs(meant - value)
    near = off <= _NOISE * max(1.0, abs(meant), abs(value))
    return near and off < _MILLIONTH and (not meant or off < _MILLIONTH * abs(meant))


def has_fraction(value: JsonValue) -> bool:
    """Tell whether there is a float with decimals in a value."""
    if isinstance(value, float):
        return not value.is_integer()
    if isinstance(value, Mapping):
        return any(map(has_fraction, value.values()))
    return is_list(value) and any(map(has_fraction, value))


def as_words(number: Decimal) -> str:
    """Write a number as short as it can be said: `0.45`, `1000`, `1E+30`."""
    short = _CONTEXT.normalize(number)
    exponent = short.as_tuple().exponent
    return f"{short:f}" if exponent in _SAID_IN_FULL else str(short)


def read_moment(value: JsonValue) -> float | None:
    """Read an ISO date, or date and time, as seconds since 1970.

    A day is its midnight, and if no offset is written the moment is read as UTC.
    """
    if not isinstance(value, str):
        return None
    text = _as_typed(value[:LONGEST_NUMBER])
    if not _MOMENT.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH).total_seconds()


def as_seconds(duration: float) -> str:
    """Write a duration in seconds: `600 s`, `0.5 s`."""
    return f"{duration:.1f}".removesuffix(".0") + " s"


# Names of files and folders that are made of names that somebody else chose.

_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{one}{n}" for one in ("com", "lpt") for n in range(1, 10)))
)
"""Names that Windows keeps for devices, whatever follows behind a dot."""


def safe_name(text: str, *, longest: int = 80, safe: str = "") -> str:
    """Return a name for a file or a folder that is safe on every disk, and of this text alone.

    Args:
        text: what it is made of.
        longest: its characters; a longer one ends in a hash.
        safe: signs that stay as they are, beside letters, digits and `-_.~`.
    """
    name = quote(text, safe=safe, errors="surrogatepass") or "%"
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if name.partition(".")[0].lower() in _RESERVED:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) <= longest:
        return name
    return f"{name[:longest]}~{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


# The tags in which models think aloud.

REASONING: Final = (
    "thinking", "think", "thoughts", "thought", "analysis", "reasoning", "reflection", "scratchpad"
)  # fmt: skip
"""Tags inside which nothing is an answer."""
