"""Read dates in the formats that a field declares beside the ISO format."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import INVISIBLE, normal_form, plain_dashes
from pytest_sopbench._core.values.quantities import read_moment

_LONGEST: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE: Final = datetime(2001, 2, 23, tzinfo=UTC)


def read_spelled_date(value: JsonValue, formats: Sequence[str]) -> float | None:
    """Read a date as seconds since 1970; one that two formats read otherwise is none."""
    moment = read_moment(value)
    if moment is not None or not isinstance(value, str) or len(value) > _LONGEST:
        return moment
    text = plain_dashes(normal_form(INVISIBLE.sub("", value))).strip()
    found = {one for one in (_read(text, format_) for format_ in formats) if one is not None}
    return found.pop() if len(found) == 1 else None


def says_a_day(format_: str) -> bool:
    """Whether a format of `strptime` says year, month and day, so that a day can be read by it."""
    try:
        read = datetime.strptime(_SAMPLE.strftime(format_), format_)  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return False
    return read.date() == _SAMPLE.date()


def _read(text: str, format_: str) -> float | None:
    try:
        moment = datetime.strptime(text, format_)  # noqa: DTZ007 - what has no zone is read as UTC
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None
