"""What a comparer says of one value, and how that is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Final, cast

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.foreign import type_name
from pytest_sopbench._core.values.plain import escape_surrogates

DIFFERENT: Final = "different"
WHY_LIMIT: Final = 300
"""Characters that are kept of what a comparer says."""

_ASKED_FOR: Final = "a comparer returns a Match, a bool, or a float from 0 to 1"


@dataclass(frozen=True, slots=True)
class Match:
    """What a comparer says of one field of an answer.

    Attributes:
        held: whether the value is right.
        why: what is wrong with it, in a few words; they stand in the report.
        score: how good it is, from 0 to 1. It is kept and compared with the baseline, and decides
            nothing.
    """

    held: bool
    why: str = ""
    score: float | None = None


def read_match(field: OutputField, place: int, said: object) -> Compared:
    """Read what a comparer returned; what says neither yes nor no is not judged.

    A number alone holds where it is at least the `at_least` of its field. A private field keeps
    nothing that may tell its value. What is read may run code of its own, and raise.
    """
    # By its type, since a value may say that it is of another class.
    kind = type(said)
    if kind is bool:
        said = Match(cast("bool", said))
    elif issubclass(kind, Real):
        return _scored(field, place, said)
    elif not issubclass(kind, Match):
        return not_judged(field, place, f"it returned {_named(said)}; {_ASKED_FOR}")
    match = cast("Match", said)
    held, why, score = cast("tuple[object, object, object]", (match.held, match.why, match.score))
    if held is not True and held is not False:
        return not_judged(field, place, f"its Match has a 'held' of type {type_name(held)}")
    if not issubclass(type(why), str):
        return not_judged(field, place, f"its Match has a 'why' of type {type_name(why)}")
    # A subclass may have methods of its own.
    why = str.__str__(cast("str", why))
    number = None if score is None else _share(score)
    if score is not None and number is None:
        return not_judged(field, place, f"its Match has the score {_shown(score)}; 0 to 1 is asked")
    return Compared(
        field=field.name,
        place=place,
        held=held,
        why="" if held else _told(field, why) or DIFFERENT,
        score=number,
    )


def not_judged(field: OutputField, place: int, why: str, *, secret: str = "") -> Compared:
    """Tell why nothing could be found out; `secret` is what may hold a value of the field."""
    told = why if field.private or not secret else f"{why}: {secret}"
    return Compared(field=field.name, place=place, why=_line(told))


def _scored(field: OutputField, place: int, said: object) -> Compared:
    score = _share(said)
    if score is None:
        return not_judged(field, place, f"it returned {_shown(said)}; {_ASKED_FOR}")
    if field.at_least is None:
        why = f"it returned the number {score:g}, and no 'at_least' is declared for the field"
        return not_judged(field, place, why)
    held = score >= field.at_least
    why = "" if held else f"{score:.6g}, where at least {field.at_least:g} is asked"
    return Compared(
        field=field.name, place=place, held=held, why=why and _told(field, why), score=score
    )


def _share(value: object) -> float | None:
    """Return a number from 0 to 1; anything else is none."""
    if type(value) is bool or not issubclass(type(value), Real):
        return None
    try:
        number = float(cast("float", value))
    except (ValueError, OverflowError, ArithmeticError):
        return None
    return number if isfinite(number) and 0 <= number <= 1 else None


def _named(value: object) -> str:
    if value is None:
        return "nothing"
    return "a text" if isinstance(value, str) else f"a value of type {type_name(value)}"


def _shown(value: object) -> str:
    if type(value) is bool:
        return str(value)
    try:
        return f"{float(cast('float', value)):g}"
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return f"a {type_name(value)}"


def _told(field: OutputField, why: str) -> str:
    return DIFFERENT if field.private else _line(why)


def _line(words: str) -> str:
    line = " ".join(escape_surrogates(ready_to_cut(words))[: 4 * WHY_LIMIT].split())
    return line if len(line) <= WHY_LIMIT else f"{line[: WHY_LIMIT - 3]}..."
