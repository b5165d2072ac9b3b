"""Read numbers and moments as they are written, by value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Final

from .json import JsonValue
from .normalise import INVISIBLE, normal_form, plain_dashes

_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?")
_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
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
    """Read a number only where it has the spelling that JSON gives it: `1`, `1.0`, `-2.5`.

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
    if isinstance(value, Sequence) and not isinstance(value, str):
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
    return (
        isinstance(value, Sequence) and not isinstance(value, str) and any(map(has_fraction, value))
    )


def as_words(number: Decimal) -> str:
    """Write a number as short as it can be said: `0.45`, `1000`, `1E+30`."""
    short = _CONTEXT.normalize(number)
    exponent = short.as_tuple().exponent
    return f"{short:f}" if exponent in _SAID_IN_FULL else str(short)


def read_moment(value: JsonValue) -> float | None:
    """Read an ISO date, or date and time, as seconds since 1970.

    A day is its midnight, and where no offset is written the moment is read as UTC.
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
