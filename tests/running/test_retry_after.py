"""For how long a provider asks to be left alone, and for how long it is."""

from __future__ import annotations

import email.message
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._running.observing.problem import LONGEST, retry_after
from pytest_sopbench._running.queue import Backoff


class ThrottledError(Exception):
    def __init__(self, headers: Any, *, mapping: bool = False) -> None:
        super().__init__()
        self.response: Any = SimpleNamespace(headers=headers)
        if mapping:
            self.response = {"ResponseMetadata": {"HTTPHeaders": headers}}


def message(value: str) -> email.message.Message:
    headers = email.message.Message()
    headers["Retry-After"] = value
    return headers


class Hostile:
    def get(self, name: str) -> str:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ThrottledError({"retry-after": "7"}), 7.0, id="seconds"),
        pytest.param(ThrottledError({"Retry-After": 1.5}), 1.5, id="number"),
        pytest.param(ThrottledError({"retry-after-ms": "250"}), 0.25, id="milliseconds"),
        pytest.param(ThrottledError(message("3")), 3.0, id="message"),
        pytest.param(ThrottledError({"retry-after": "4"}, mapping=True), 4.0, id="botocore"),
        pytest.param(
            ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 GMT"}), 20.0, id="date"
        ),
        pytest.param(
            ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 -0000"}), 20.0, id="naive"
        ),
        pytest.param(
            ThrottledError({"retry-after": "Fri, 31 Dec 1999 00:00:00 GMT"}), 0.0, id="past"
        ),
        pytest.param(ThrottledError({"retry-after": "-4"}), 0.0, id="negative"),
        pytest.param(ThrottledError({"retry-after": "86400"}), LONGEST, id="a-day"),
        pytest.param(ThrottledError({"retry-after": "nan"}), None, id="nan"),
        pytest.param(ThrottledError({"retry-after": "soon"}), None, id="words"),
        pytest.param(ThrottledError({"retry-after": None}), None, id="empty"),
        pytest.param(ThrottledError({}), None, id="none"),
        pytest.param(ThrottledError(Hostile()), None, id="hostile"),
        pytest.param(ValueError(), None, id="no-response"),
    ],
)
def test_the_header_is_read(error: BaseException, expected: float | None) -> None:
    asked = retry_after(error, now=lambda: datetime(2000, 1, 1, tzinfo=UTC))

    assert expected == asked


def test_the_chain_of_causes_is_followed() -> None:
    error = ValueError()
    error.__cause__ = ThrottledError({"retry-after": "5"})

    assert 5.0 == retry_after(error)


def test_a_date_is_held_against_the_clock_of_the_machine() -> None:
    error = ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 GMT"})

    assert 0.0 == retry_after(error)


@given(st.integers(1, 5_000), st.floats(0, 1), st.none() | st.floats(0, 300))
def test_a_wait_is_bounded_and_never_shorter_than_asked_for(
    failed: int, drawn: float, asked: float | None
) -> None:
    backoff = Backoff(first=0.5, most=60, random=lambda: drawn)

    delay = backoff.delay(failed, asked)

    assert (asked or 0.0) <= delay <= (asked or 0.0) + 60


def test_the_bound_of_a_wait_doubles() -> None:
    backoff = Backoff(first=1, most=60, random=lambda: 1.0)

    assert [1, 2, 4, 8, 16, 32, 60, 60] == [backoff.delay(failed) for failed in range(1, 9)]
