"""The policy of `content_flagging` says what the flag sheet says: worked out by hand, note by note.

Fifteen rows were decided from the text, the inputs and the answers of the services before their
labels were looked at, with all that is entered; they agreed with the policy on each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from bundled_domains.content_flagging.cases import POLICY, TOOLS, square_of
from bundled_domains.generator import decided, look_ups

HOME = {"at": "2026-03-09 08:00", "distance": 3, "unit": "km", "relay": False}


def sign_in(at: str, distance: int, unit: str = "km", *, relay: bool = False) -> dict[str, Any]:
    return {"at": f"2026-03-10 {at}", "distance": distance, "unit": unit, "relay": relay}


def rating(attempt: int = 1, **cells: Any) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "primary": "harassment",
        "primary_sure": 90,
        "secondary": None,
        "secondary_sure": None,
        "rated_on": "2026-03-10",
        **cells,
    }


def flag(number: int, **cells: Any) -> dict[str, Any]:
    return {
        "flag_id": f"F{number:06}",
        "flagged_post": f"p-{number:07}",
        "violation": "spam",
        "outcome": "upheld",
        "settled_on": "2026-02-01",
        "appeal": "none",
        **cells,
    }


def case(**cells: Any) -> dict[str, Any]:
    """Harassment by a regular author, flagged by three others too: the square says remove."""
    row = {
        "case_id": "FD-10000",
        "case_day": "2026-03-10",
        "appealed_decision": None,
        "decided_on": None,
        "post_id": "p-9000000",
        "edited_on": "2026-03-10",
        "account_id": "HG000001",
        "account_kind": "private",
        "opened_on": "2020-01-01",
        "reporter": "member",
        "reporter_in_post": "no",
        "reporter_words": "",
        "other_flaggers": 3,
        "captcha_tries": 0,
        "fingerprint_shared": 0,
        "sign_ins": [HOME],
        "ratings": [rating(), rating(2)],
        "trust": 50,
        "worked_out_on": "2026-03-10",
        "flags": [],
        "entry": "entered",
    }
    assert set(cells) <= set(row)
    return row | cells


def answer(row: Mapping[str, Any]) -> str:
    found = decided(POLICY["decide"], row, look_ups(TOOLS, row))
    return str(found.answer["final_decision"])


def rated(**cells: Any) -> list[dict[str, Any]]:
    return [rating(**cells), rating(2)]


def strikes(number: int) -> list[dict[str, Any]]:
    return [flag(one) for one in range(number)]


ROBOT = {
    "captcha_tries": 6,
    "fingerprint_shared": 3,
    "sign_ins": [HOME, sign_in("08:00", 30), sign_in("09:00", 900)],
}
APPEAL = {"appealed_decision": "remove", "decided_on": "2026-03-01"}
ALONE = {"other_flaggers": 1}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, "remove", id="the-square"),
        pytest.param(
            {"appealed_decision": "limit", "decided_on": "2026-02-07"}, "limit", id="4-a-day-late"
        ),
        pytest.param({"ratings": rated(rated_on="2026-03-09")}, "remove", id="6-other-words"),
        pytest.param(
            {"ratings": [rating(rated_on="2026-03-09"), rating(2, rated_on="2026-03-09")]},
            "escalate",
            id="6-neither-serves",
        ),
        pytest.param({"ratings": rated(primary_sure=79)}, "limit", id="9-one-point-less"),
        pytest.param({"ratings": rated(primary_sure=54)}, "keep", id="9-not-sure"),
        pytest.param(
            {"ratings": rated(secondary="hate", secondary_sure=70), "trust": 80},
            "escalate",
            id="10-grave-by-the-secondary",
        ),
        pytest.param(
            {"ratings": rated(secondary="hate", secondary_sure=69), "trust": 80},
            "limit",
            id="10-too-unsure",
        ),
        pytest.param(
            {"ratings": rated(secondary="harassment", secondary_sure=99), "trust": 80},
            "limit",
            id="10-the-same-over-again",
        ),
        pytest.param(
            {"ratings": rated(primary="threat"), "trust": 80, "account_kind": "newsroom"},
            "limit",
            id="12-newsroom",
        ),
        pytest.param(ROBOT, "suspend", id="23-machine"),
        pytest.param(
            {**ROBOT, "sign_ins": [HOME, sign_in("09:00", 9000, relay=True)], "trust": 80},
            "remove",
            id="23-good-is-read-as-regular",
        ),
        pytest.param(
            {**ROBOT, "ratings": rated(primary="none")}, "limit", id="18-none-but-machine"
        ),
        pytest.param({"trust": 70}, "limit", id="20-good"),
        pytest.param({"trust": 69}, "remove", id="20-regular"),
        pytest.param({"trust": 80, "worked_out_on": "2026-02-23"}, "remove", id="21-out-of-date"),
        pytest.param({"trust": 80, "worked_out_on": "2026-02-24"}, "limit", id="21-14-days"),
        pytest.param({"trust": 80, "flags": strikes(1)}, "limit", id="22-one-strike"),
        pytest.param({"trust": 80, "flags": strikes(2)}, "remove", id="22-two-strikes"),
        pytest.param({"flags": strikes(3)}, "suspend", id="24-three-strikes"),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, appeal="reversed")]}, "remove", id="19-reversed"
        ),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, appeal="pending")]}, "suspend", id="19-pending"
        ),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, flagged_post="p-0000002")]},
            "remove",
            id="19-one-post-twice",
        ),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, flagged_post="p-9000000")]},
            "remove",
            id="19-the-post-of-this-case",
        ),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, settled_on="2025-09-11")]},
            "suspend",
            id="19-180-days",
        ),
        pytest.param(
            {"flags": [flag(1), flag(2), flag(3, settled_on="2025-09-10")]},
            "remove",
            id="19-181-days",
        ),
        pytest.param(ALONE, "limit", id="25-no-second-signal"),
        pytest.param(
            {**ALONE, "flags": [flag(1, violation="harassment")]}, "remove", id="25-again"
        ),
        pytest.param({**ALONE, "reporter": "trusted"}, "remove", id="26-trusted"),
        pytest.param(
            {**ALONE, "reporter": "trusted", "reporter_in_post": "yes"}, "limit", id="26-in-post"
        ),
        pytest.param(
            {**ALONE, **APPEAL, "reporter": "trusted"}, "limit", id="26-never-in-an-appeal"
        ),
        pytest.param({**ROBOT, "account_kind": "public office"}, "escalate", id="27-public-office"),
        pytest.param(
            {**ROBOT, **ALONE, "account_kind": "public office"}, "remove", id="27-after-25"
        ),
        pytest.param(
            {
                **ALONE,
                **APPEAL,
                "ratings": rated(secondary="child_safety", secondary_sure=40),
                "account_kind": "public office",
            },
            "suspend",
            id="28-before-everything",
        ),
        pytest.param(
            {"ratings": rated(primary="child_safety", primary_sure=39)}, "escalate", id="29-unsure"
        ),
        pytest.param(
            {"ratings": rated(secondary="child_safety", secondary_sure=14)},
            "remove",
            id="29-slight",
        ),
        pytest.param(
            {"ratings": rated(primary="self_harm", primary_sure=55)}, "escalate", id="30-self-harm"
        ),
        pytest.param({**APPEAL, "trust": 80}, "limit", id="32-reversed"),
        pytest.param({**APPEAL, "flags": strikes(3)}, "remove", id="32-nobody-is-worse-off"),
        pytest.param(
            {**APPEAL, "appealed_decision": "suspend", "ratings": rated(primary="none")},
            "escalate",
            id="33-too-far",
        ),
        pytest.param({"entry": "hold"}, "escalate", id="37-on-hold"),
    ],
)
def test_policy_follows_the_note(cells: Mapping[str, Any], expected: str) -> None:
    assert expected == answer(case(**cells))


@pytest.mark.parametrize(
    ("cells", "points"),
    [
        pytest.param({"captcha_tries": None}, 1, id="13-none-shown"),
        pytest.param({"captcha_tries": 3}, 1, id="13-three"),
        pytest.param({"captcha_tries": 5}, 2, id="13-five"),
        pytest.param({"fingerprint_shared": None}, 2, id="14-withheld"),
        pytest.param(
            {"fingerprint_shared": None, "account_kind": "public office"}, 0, id="14-public-office"
        ),
        pytest.param({"fingerprint_shared": 2}, 1, id="14-two"),
        pytest.param({"sign_ins": [HOME, sign_in("08:00", 9000)]}, 0, id="15-time-enough"),
        pytest.param(
            {"sign_ins": [sign_in("08:00", 9000), sign_in("09:00", 800)]}, 0, id="15-800-km-h"
        ),
        pytest.param(
            {"sign_ins": [sign_in("08:00", 0), sign_in("09:00", 501, "mi")]}, 2, id="15-in-miles"
        ),
        pytest.param(
            {"sign_ins": [sign_in("08:00", 0), sign_in("08:01", 99)]}, 0, id="15-below-100-km"
        ),
        pytest.param({"opened_on": "2026-03-04"}, 2, id="16-six-days"),
        pytest.param({"opened_on": "2026-03-03"}, 0, id="16-seven-days"),
    ],
)
def test_the_bot_index_has_the_points_of_the_note(cells: Mapping[str, Any], points: int) -> None:
    assert points == POLICY["bot_index"](case(**cells))


@pytest.mark.parametrize(
    ("cells", "asked"),
    [
        pytest.param({**APPEAL, "decided_on": "2026-01-01"}, "", id="4-nobody"),
        pytest.param(
            {"ratings": [rating(rated_on="2026-03-09"), rating(2)]},
            "rate_post rate_post get_author_file search_flags enter_decision",
            id="6-asked-again",
        ),
        pytest.param(
            {"ratings": rated(primary="none")}, "rate_post enter_decision", id="18-no-file"
        ),
        pytest.param(
            {"ratings": rated(primary="child_safety")}, "rate_post enter_decision", id="28-no-file"
        ),
        pytest.param(
            {"trust": 80, "ratings": rated(primary="threat")},
            "rate_post get_author_file search_flags",
            id="38-no-entry",
        ),
    ],
)
def test_nothing_is_asked_that_no_note_asks_for(cells: Mapping[str, Any], asked: str) -> None:
    row = case(**cells)

    calls = decided(POLICY["decide"], row, look_ups(TOOLS, row)).calls

    assert asked.split() == [call["name"] for call in calls]


def test_rows_come_to_every_square_that_is_read(content_flagging: Any) -> None:
    """For note 18 only a machine comes to the row none."""
    squares: Counter[Any] = Counter(square_of(row) for row in content_flagging.rows)

    read: set[tuple[str, str]] = {
        (row, column) for row in POLICY["SHEET"] for column in POLICY["COLUMNS"]
    }
    unread = {("none", "good"), ("none", "regular"), ("none", "poor")}
    assert read - unread == set(squares) - {None}
    assert min(squares.values()) >= 3


def test_rows_are_of_every_month(content_flagging: Any) -> None:
    months = Counter(row["case_day"][5:7] for row in content_flagging.rows)

    assert 12 == len(months)
