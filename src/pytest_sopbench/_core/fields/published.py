"""The rules of the scorer that was published with SOP-Bench, for numbers to lay beside its own.

They are more lenient than ours: a part of the expected value is as good as the whole.
"""

from __future__ import annotations

from typing import Final

from pytest_sopbench._core.values.json import JsonValue

_NULLS: Final = frozenset({"", "none", "null", "nan", "n/a", "na", "unknown"})


def matches_as_published(expected: JsonValue, actual: JsonValue) -> bool:
    """Whether one value contains the other, after lower-casing and `_` and `-` as space.

    Null-like values are equal to one another, and to nothing else.
    """
    wanted, given = _lower(expected), _lower(actual)
    if wanted in _NULLS or given in _NULLS:
        return wanted in _NULLS and given in _NULLS
    wanted, given = _spaced(wanted), _spaced(given)
    return wanted in given or given in wanted


def _lower(value: JsonValue) -> str:
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return text.lower().strip()


def _spaced(text: str) -> str:
    return text.replace("_", " ").replace("-", " ")
