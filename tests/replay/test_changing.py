"""What changes with every run is recognised, and what says something is not."""

from __future__ import annotations

import re

import pytest

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import linear_pattern
from pytest_sopbench._replay.tape.miss import PATTERNS, advice_on

FIELDS: dict[str, tuple[str, JsonValue, JsonValue]] = {
    "a-moment": ("sent_at", "2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z"),
    "a-moment-with-a-zone": ("at", "2026-01-02 03:04:05.678901+02:00", "2026-01-02 03:04:06+02:00"),
    "a-day": ("metadata.day", "2026-01-02", "2026-02-03"),
    "a-time": ("clock", "03:04:05", "13:04:05"),
    "seconds": ("created", 1_767_322_000, 1_767_322_999),
    "seconds-by-another-name": ("metadata.t0", 1_767_322_000.25, 1_767_322_999.5),
    "a-uuid": (
        "metadata.key",
        "123e4567-e89b-12d3-a456-426614174000",
        "00112233-4455-6677-8899-aabbccddeeff",
    ),
    "hexadecimal": ("trace", "0123456789abcdef", "fedcba9876543210"),
    "a-prefix-and-a-uuid": (
        "metadata.run",
        "run-123e4567-e89b-12d3-a456-426614174000",
        "run-00112233-4455-6677-8899-aabbccddeeff",
    ),
    "a-random-id": ("requestId", "req_a1B2c3D4e5F6", "req_Z9y8X7w6V5u4"),
    "a-counter-in-an-id": ("metadata.request_id", "request-17", "request-18"),
    "a-counter": ("metadata.call_count", 17, 18),
    "in-a-list": ("events[3].event_id", "e-00000001", "e-00000002"),
}
"""Whole fields, which need not agree."""

TEXTS: dict[str, tuple[str, str]] = {
    "a-day": ("Today is 2026-01-02. Grade it.", "Today is 2026-02-03. Grade it."),
    "a-day-in-words": ("It is Friday, 2 January 2026 now", "It is Tuesday, 3 February 2026 now"),
    "an-american-day": ("Date: January 2, 2026", "Date: Feb 13, 2026"),
    "a-day-with-dots": ("Stand: 02.01.2026", "Stand: 3.2.2026"),
    "a-moment": ("now: 2026-01-02T03:04:05Z, go", "now: 2026-01-02T03:05:05.123Z, go"),
    "a-day-and-a-time": ("At 02 January 2026, 13:14:15, go", "At 03 January 2026, 11:14:15, go"),
    "a-uuid": (
        "session 123e4567-e89b-12d3-a456-426614174000 begins",
        "session 00112233-4455-6677-8899-aabbccddeeff begins",
    ),
    "hexadecimal": ("see /tmp/0123456789abcdef/a", "see /tmp/fedcba9876543210/a"),
}
"""Texts of a prompt, in which a pattern is masked and the rest counts."""

SAYS: dict[str, tuple[str, JsonValue, JsonValue]] = {
    "a-word": ("messages[0].content", "Grade it.", "Weigh it."),
    "a-day-and-a-word": ("prompt", "On 2026-01-02 it is late", "On 2026-02-03 it is early"),
    "an-amount": ("messages[3].content", '{"refund": 12}', '{"refund": 120}'),
    "an-order": ("messages[1].content", "order ORD-17", "order ORD-18"),
    "a-number-in-the-talk": ("messages[1].count", 17, 18),
    "a-parameter": ("max_tokens", 64, 128),
    "a-seed": ("seed", 1, 2),
    "a-temperature": ("temperature", 0, 1),
    "a-model": ("model", "small-2026-01-02", "small-2026-02-03b"),
    "a-flag": ("stream", True, False),
    "another-type": ("metadata.id", "17", 17),
    "a-name": ("metadata.user", "Ms. Roe", "Mr. Poe"),
    "a-choice": ("tool_choice", "auto", "none"),
}
"""What a model is told, or is to do: recorded anew, never left out."""


@pytest.mark.parametrize(
    ("path", "recorded", "sent"), [pytest.param(*one, id=name) for name, one in FIELDS.items()]
)
def test_a_field_that_changes_is_ignored_wherever_it_stands(
    path: str, recorded: JsonValue, sent: JsonValue
) -> None:
    advice = advice_on(path, recorded, sent)

    assert advice is not None
    assert re.sub(r"\[\d+\]", "[*]", path) == advice.ignore
    assert () == advice.mask


@pytest.mark.parametrize(
    ("recorded", "sent"), [pytest.param(*one, id=name) for name, one in TEXTS.items()]
)
@pytest.mark.parametrize("path", ["messages[0].content", "system", "input[1].content[0].text"])
def test_what_changes_in_a_prompt_is_masked_by_a_pattern_that_makes_both_equal(
    path: str, recorded: str, sent: str
) -> None:
    advice = advice_on(path, recorded, sent)

    assert advice is not None
    assert "" == advice.ignore
    for pattern in advice.mask:
        recorded = linear_pattern(pattern).sub("***", recorded)
        sent = linear_pattern(pattern).sub("***", sent)
    assert recorded == sent


@pytest.mark.parametrize(
    ("path", "recorded", "sent"), [pytest.param(*one, id=name) for name, one in SAYS.items()]
)
def test_what_says_something_is_never_left_out(
    path: str, recorded: JsonValue, sent: JsonValue
) -> None:
    assert advice_on(path, recorded, sent) is None


def test_the_day_of_a_moment_is_masked_with_its_time() -> None:
    advice = advice_on("prompt", "It is 2 March 2026, 13:14:15.", "It is 2 March 2026, 14:14:15.")

    assert advice is not None
    assert 2 == len(advice.mask)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_that_is_proposed_can_be_set(pattern: str) -> None:
    assert not linear_pattern(pattern).fullmatch("")
