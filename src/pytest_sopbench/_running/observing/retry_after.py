"""Read from an exception for how long its provider asks to be left alone.

Clients keep the response on what they raise: openai, anthropic, httpx and requests as an object
with `headers`, botocore as a mapping. No client is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite
from typing import Any, Final

from pytest_sopbench._core.judging.availability import chain
from pytest_sopbench._core.values.foreign import call_safely, get_member

LONGEST: Final = 300.0
"""Seconds that are waited at most, whatever a provider asks for."""


def _now() -> datetime:
    return datetime.now(UTC)


def retry_after(error: BaseException, now: Callable[[], datetime] = _now) -> float | None:
    """Return the seconds of the first `Retry-After` along the chain of causes, or `None`.

    Read are seconds, HTTP dates (RFC 9110, 10.2.3), and the milliseconds of `retry-after-ms`.
    """
    for one in chain(error):
        response = get_member(one, "response")
        metadata = get_member(response, "ResponseMetadata")
        for headers in (get_member(response, "headers"), get_member(metadata, "HTTPHeaders")):
            found = _read(headers, now)
            if found is not None:
                return min(found, LONGEST)
    return None


def _read(headers: object, now: Callable[[], datetime]) -> float | None:
    milliseconds = _seconds(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = _header(headers, "retry-after")
    seconds = _seconds(text)
    return _until(text, now) if seconds is None else seconds


def _header(headers: Any, name: str) -> str:
    # Clients' headers know no case; those of a stand-in may be a plain dict.
    for spelling in (name, name.title()):
        value = call_safely(partial(_get, headers, spelling), None)
        if isinstance(value, str | int | float):
            return str(value).strip()
    return ""


def _get(headers: Any, name: str) -> object:
    found: object = headers.get(name)
    return found


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _until(text: str, now: Callable[[], datetime]) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now()).total_seconds())
