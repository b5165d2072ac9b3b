"""What the cells of a column say: numbers, truth values, lists, or text.

A cell is kept as it is written until the type of its whole column says otherwise: `007`, `1.0`
and `None` in a column of names stay what they are.
"""

from __future__ import annotations

import ast
import difflib
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue

from .document import is_too_deep

# Which known name a wrong one may have meant.

SHOWN = 12
"""How many names a message lists before it stops."""

SHOWN_LENGTH = 60
"""Characters of a value that a message shows."""


CUT_LENGTH = 200
"""Characters of somebody else's words that a message repeats."""

COMPARED = 1_000
"""Known names that a wrong one is compared with; among more of them a guess says little."""

COMPARED_LENGTH = 100
"""Characters from which on a name is none that somebody misspelled."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or an empty string."""
    return next(iter(nearest_few(name, known)), "")


def nearest_few(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are like this one, the nearest first."""
    if len(name) > COMPARED_LENGTH:
        return []
    short = (one for one in known if len(one) <= COMPARED_LENGTH)
    return difflib.get_close_matches(name, islice(short, COMPARED), n=3, cutoff=0.6)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, or an empty string."""
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """The names with commas between them; a long list is cut, and says by how many."""
    every = list(names)
    shown = ", ".join(cut(name) for name in every[:SHOWN])
    return f"{shown} and {len(every) - SHOWN} more" if len(every) > SHOWN else shown


def shown(value: object) -> str:
    """The `repr` of a value, cut where it is long."""
    text = ready_to_cut(repr(value))
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def cut(text: str) -> str:
    """The text, without its middle where it is long."""
    if len(text) <= CUT_LENGTH:
        return text
    text = ready_to_cut(text)
    return f"{text[: CUT_LENGTH // 2]} ... {text[-CUT_LENGTH // 2 :]}"


class ColumnType(StrEnum):
    """How the cells of an input or of a tool result are read.

    An empty cell is null in each of them but `written`, which is what JSON says already.
    """

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    WRITTEN = "written"


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*")
_DIGITS = 300
# What Python reads as JSON, and may not be able to write again: without any of these it can.
_DOUBTFUL = re.compile(r"NaN|Infinity|[0-9][eE]|[0-9]{300}|[\\\ud800-\udfff]")
_INFERRED_BOOLEANS = {"true": True, "false": False}
_BOOLEANS = _INFERRED_BOOLEANS | {"yes": True, "no": False, "1": True, "0": False}


class CellError(ValueError):
    """A cell is not what its column is declared to be."""


def infer_type(cells: Iterable[JsonValue]) -> ColumnType:
    """The type that every cell of a column has; empty cells have no say.

    All cells JSON numbers: number. All `true` or `false`, in any case: boolean. All lists or
    objects, in JSON or as Python writes them: list. Else, and where all are empty: text.
    """
    texts = {cell for cell in cells if isinstance(cell, str) and cell}
    if not texts:
        return ColumnType.TEXT
    if all(_is_number(text) for text in texts):
        return ColumnType.NUMBER
    if all(_is_boolean(text) for text in texts):
        return ColumnType.BOOLEAN
    if all(_is_literal(text) for text in texts):
        return ColumnType.LIST
    return ColumnType.TEXT


def odd_cell(cells: Sequence[JsonValue]) -> tuple[int, str] | None:
    """The one cell that keeps a column from being read as the others are, and what they are.

    It turns a column of numbers into one of texts, so it is a slip more often than it is meant.
    Nothing where there are fewer than three others, or more than one such cell.
    """
    full = [(place, cell) for place, cell in enumerate(cells) if isinstance(cell, str) and cell]
    if len(full) <= _OTHERS:
        return None
    for word, fits in _SHAPES.items():
        odd = list(islice((place for place, cell in full if not fits(cell)), 2))
        if len(odd) == 1:
            return odd[0], word
    return None


def convert(cell: JsonValue, column_type: ColumnType) -> JsonValue:
    """The value of a cell; what is no text stays as it is.

    Raises:
        CellError: the cell is not of the type; cannot happen with an inferred type.
    """
    if not isinstance(cell, str) or column_type is ColumnType.WRITTEN:
        return cell
    if not cell:
        return None
    if column_type is ColumnType.NUMBER:
        return _number(cell)
    if column_type is ColumnType.BOOLEAN:
        return _boolean(cell)
    if column_type is ColumnType.LIST:
        return parse_literal(cell)
    return cell


def parse_literal(text: str) -> JsonValue:
    """The list or object that a text writes down, in JSON or as Python prints it.

    Raises:
        CellError: it is neither, or holds something that JSON has no word for.
    """
    if text.lstrip()[:1] not in {"[", "{"}:
        msg = f"{shown(text)} is neither a list nor an object"
        raise CellError(msg)
    try:
        value: JsonValue = json.loads(text)
        is_doubtful = _DOUBTFUL.search(text) is not None
    except (ValueError, RecursionError):
        value, is_doubtful = _python_literal(text), True
    is_container = isinstance(value, list | dict) and not is_too_deep(text, value)
    if not is_container or (is_doubtful and not _is_json(value)):
        msg = f"{shown(text)} is neither a list nor an object that JSON can write"
        raise CellError(msg)
    return value


def _python_literal(text: str) -> JsonValue:
    try:
        with warnings.catch_warnings():
            # A backslash in somebody's data is no business of whoever runs the tests.
            warnings.simplefilter("ignore")
            value: JsonValue = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as fault:
        msg = f"{shown(text)} is neither a list nor an object"
        raise CellError(msg) from fault
    return value


def _is_literal(text: str) -> bool:
    try:
        parse_literal(text)
    except CellError:
        return False
    return True


def _is_number(text: str) -> bool:
    return (
        len(text) <= _DIGITS and _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))
    )


def _number(text: str) -> JsonValue:
    if len(text) > _DIGITS or not _LOOSE_NUMBER.fullmatch(text):
        msg = f"{shown(text)} is not a number"
        raise CellError(msg)
    if text.strip().lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        msg = f"{shown(text)} is too large a number"
        raise CellError(msg)
    return number


def _is_boolean(text: str) -> bool:
    return text.lower() in _INFERRED_BOOLEANS


def _boolean(text: str) -> bool:
    known = _BOOLEANS.get(text.strip().lower())
    if known is None:
        msg = f"{shown(text)} is neither true nor false"
        raise CellError(msg)
    return known


_OTHERS = 3
_SHAPES: Mapping[str, Callable[[str], bool]] = {
    "number": _is_number,
    "boolean": _is_boolean,
    "list": _is_literal,
}
"""What a column can be but text, by its word in `types`."""


def _is_json(value: object) -> bool:
    """Whether JSON has words for a value that came out of a literal."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return _same_shape(value, json.loads(text))


def _same_shape(value: object, read: object) -> bool:
    # Tuples and keys that are numbers survive a dump, as something else.
    return value == read and repr(value) == repr(read)


# Which names a domain may have.

NAME_RULE = (
    "a domain's name has letters (a to z), digits, '.', '_' and '-', and starts with a letter"
    " or a digit"
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_domain_name(name: str) -> bool:
    """Whether this may be the name of a domain: nothing in it can leave a folder."""
    return _NAME.fullmatch(name) is not None
