"""Write a pattern of Python in the syntax of RE2, so that it means the same.

Python's own parser reads it, so that escapes, flags and comments are those that people know. RE2
takes words, digits and white space for ASCII, and Python for Unicode; here they are written out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final

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
