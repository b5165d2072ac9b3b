"""Compare with regular expressions, which are matched in linear time, and never with a part."""

from __future__ import annotations

from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import INVISIBLE, normal_form

from .several import several


def matches(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say why a value does not match the pattern that is expected; nothing where it does."""
    del field
    return "" if _fits(written(expected).strip(), actual) else "does not match the pattern"


def one_of(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say why a value matches none of the patterns that are expected."""
    del field
    patterns = several(expected)
    if any(_fits(pattern, actual) for pattern in patterns):
        return ""
    return f"matches none of {len(patterns)} patterns"


def _fits(pattern: str, actual: JsonValue) -> bool:
    from pytest_sopbench._core.values.patterns import PatternError  # noqa: PLC0415 - only where there is a pattern

    if not pattern or actual is None:
        return False
    text = " ".join(normal_form(INVISIBLE.sub("", written(actual))).split())
    try:
        from pytest_sopbench._core.values.patterns import linear_pattern  # noqa: PLC0415 - only where there is a pattern

        return linear_pattern(pattern).fullmatch(text)
    except PatternError:
        # Loading refuses it; in a row's further acceptable answers it fits nothing.
        return False
