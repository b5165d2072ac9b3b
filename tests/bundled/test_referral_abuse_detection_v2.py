"""The policy of `referral_abuse_detection_v2` says what the second edition and its amendments say.

Worked out by hand, resolution by resolution, from a member who has brought nobody yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from bundled_domains.referral_abuse_detection_v2.desk import DESK

from pytest_sopbench.errors import ToolError

Row = Mapping[str, Any]

MEMBER = {
    "referral_code": "ABCD11",
    "district": "N01",
    "wallet_id": "W-1",
    "member_since": "2020-01-01",
    "sort": "private",
    "address": "home",
    "card": "own",
    "device": "D-0001",
    "course_passed_on": None,
    "standing": "on notice",
    "copied_on": "2026-01-01",
}


def friend(number: int, **cells: Any) -> dict[str, Any]:
    """Somebody who joined alone, at noon, and stayed; ten days after the one before."""
    named = {"friend_id": f"F-{number:05}", "address": f"{number}", "card": f"{number}"}
    joined = {"joined_at": f"2026-0{1 + number // 3}-{1 + number % 3 * 10:02}T12:00"}
    usual = {"state": "active", "ended_on": None, "boxes_paid": 9, "device": None}
    return {**named, **joined, **usual, **cells}


def own(number: int, **cells: Any) -> dict[str, Any]:
    return friend(number, card="own", **cells)


def ring(*numbers: int, **cells: Any) -> list[dict[str, Any]]:
    return [friend(number, card="shared", **cells) for number in numbers]


def hollow(number: int, **cells: Any) -> dict[str, Any]:
    gone = {"state": "cancelled", "joined_at": "2026-03-01T12:00", "ended_on": "2026-03-29"}
    return friend(number, **{**gone, "boxes_paid": 2, **cells})


def in_a_week(*days: int, **cells: Any) -> list[dict[str, Any]]:
    return [friend(9 + day, joined_at=f"2026-04-{day:02}T23:59", **cells) for day in days]


def at_night(*numbers: int, time: str = "04:59") -> list[dict[str, Any]]:
    whole = [friend(number) for number in numbers]
    return [{**one, "joined_at": f"{one['joined_at'][:10]}T{time}"} for one in whole]


def past(day: str, points: int, status: str = "upheld") -> dict[str, Any]:
    return {"decided_on": day, "points": points, "status": status}


def payout(number: int, amount: float, **cells: Any) -> dict[str, Any]:
    named = {"friend_id": f"F-{number:05}", "amount": amount}
    return {**named, "unit": "pounds", "status": "paid", **cells}


def usual(per_week: float, counted_on: str = "2026-05-03") -> dict[str, Any]:
    return {"state": "ready", "per_week": per_week, "counted_on": counted_on}


COUNTING = {"state": "counting", "per_week": None, "counted_on": None}
STALL = {"sort": "ambassador"}
FOUR = in_a_week(1, 3, 5, 7)
COURSE = {"course_passed_on": "2026-04-01"}


@pytest.mark.parametrize(
    ("friends", "given", "expected"),
    [
        pytest.param([], {}, ("NO ACTION", 0), id="15 nobody"),
        pytest.param(
            [friend(1, address="home")],
            {"past": [past("2026-05-01", 99)]},
            ("NO ACTION", 0),
            id="10 roof",
        ),
        pytest.param([own(1)], {}, ("WARNING", 48), id="26 own hand"),
        pytest.param([own(1)], {"statement": "F-00001!"}, ("NO ACTION", 24), id="11 admitted"),
        pytest.param(
            ring(1, 2, 3), {"statement": "F-00001 F-00002 F-00003"}, ("WARNING", 30), id="11 three"
        ),
        pytest.param([hollow(1)], {"statement": "F-00001"}, ("NO ACTION", 7), id="11 hollow"),
        pytest.param([hollow(n) for n in (1, 2, 3)], {}, ("NO ACTION", 21), id="9 three hollow"),
        pytest.param([hollow(n) for n in (1, 2, 3, 4)], {}, ("WARNING", 28), id="25 a warning"),
        pytest.param([hollow(1, ended_on="2026-03-30")], {}, ("NO ACTION", 0), id="25 29 days"),
        pytest.param([hollow(1, boxes_paid=3)], {}, ("NO ACTION", 0), id="8 three boxes"),
        pytest.param(ring(1, 2), {}, ("WARNING", 42), id="9 ring"),
        pytest.param(
            [*ring(1), friend(2, card="shared", joined_at="2025-12-02T23:59")],
            {},
            ("WARNING", 42),
            id="7 180 days",
        ),
        pytest.param(
            [*ring(1), friend(2, card="shared", joined_at="2025-12-01T23:59")],
            {},
            ("NO ACTION", 0),
            id="7 181 days",
        ),
        pytest.param(
            [friend(1, device="KX-01", address="home")],
            {"device": "KX-01"},
            ("WARNING", 48),
            id="8 a tablet",
        ),
        pytest.param(
            [friend(n, device="KX-01") for n in (1, 2, 3)],
            {},
            ("NO ACTION", 0),
            id="12 three share",
        ),
        pytest.param(
            [friend(n, device="KX-01") for n in (1, 2, 3, 4)], {}, ("NO ACTION", 13), id="12 four"
        ),
        pytest.param(FOUR, {"counts": [usual(1.3)]}, ("NO ACTION", 25), id="13 burst"),
        pytest.param(
            [*FOUR[:3], *in_a_week(8)],
            {"counts": [usual(0.1)]},
            ("NO ACTION", 0),
            id="13 eight days",
        ),
        pytest.param(FOUR, {"counts": [usual(1.4)]}, ("NO ACTION", 0), id="13 no burst"),
        pytest.param(FOUR, STALL | {"counts": [usual(0.8)]}, ("NO ACTION", 0), id="13 stall"),
        pytest.param(
            FOUR, {"counts": [COUNTING, usual(1.0)]}, ("NO ACTION", 25), id="13 second attempt"
        ),
        pytest.param(FOUR, {"counts": [COUNTING, COUNTING]}, ("NO ACTION", 0), id="13 never ready"),
        pytest.param(
            FOUR, {"counts": [usual(1.0, "2026-05-02")]}, ("NO ACTION", 0), id="13 29 days old"
        ),
        pytest.param(at_night(1, 2, 3), {}, ("NO ACTION", 11), id="14 night"),
        pytest.param(at_night(1, 2, 3, time="05:00"), {}, ("NO ACTION", 0), id="14 morning"),
        pytest.param(
            [*at_night(1, 2, 3), friend(4), friend(5), friend(6)],
            {},
            ("NO ACTION", 0),
            id="14 half",
        ),
        pytest.param(
            [own(1)],
            {
                "past": [
                    past("2026-03-02", 9),
                    past("2026-03-01", 9),
                    past("2025-05-31", 9),
                    past("2025-05-30", 9),
                    past("2024-05-31", 9),
                    past("2024-05-30", 99),
                    past("2026-05-01", 99, "overturned"),
                    past("2026-05-01", 99, "pending"),
                ],
                "member_since": "2026-04-17",
            },
            ("WITHHOLD", 48 + 9 + 4 + 4 + 2 + 2),
            id="16 decay",
        ),
        pytest.param([own(1)], {"past": [past("2026-05-01", 49)]}, ("SUSPEND", 97), id="19 ninety"),
        pytest.param(
            [hollow(1)],
            {"past": [past("2026-05-01", 8)]},
            ("PROBATION", 15),
            id="19 the past weighs",
        ),
        pytest.param(
            [hollow(1)],
            {"past": [past("2026-05-01", 7)]},
            ("NO ACTION", 14),
            id="19 no more than now",
        ),
        pytest.param(
            [own(1)],
            {"past": [past("2026-05-01", 1), past("2026-05-01", 1)]},
            ("TERMINATE", 50),
            id="19 own hand again",
        ),
        pytest.param(
            [own(1)],
            {"past": [past("2026-05-01", 1), past("2026-03-01", 1)]},
            ("WARNING", 49),
            id="19 one of them gives nothing",
        ),
        pytest.param([own(1), own(2), own(3)], {}, ("TERMINATE", 144), id="19 a hundred and forty"),
        pytest.param(
            [own(1), own(2), own(3)], {"member_since": "2026-04-16"}, ("TERMINATE", 144), id="20 45"
        ),
        pytest.param(
            [own(1), own(2), own(3)], {"member_since": "2026-04-17"}, ("SUSPEND", 144), id="20 44"
        ),
        pytest.param(
            [own(1)],
            COURSE | {"past": [past("2026-04-01", 5), past("2026-04-01", 4)]},
            ("PROBATION", 52),
            id="17 reformed",
        ),
        pytest.param(
            [own(1)],
            COURSE | {"past": [past("2026-04-02", 5), past("2026-04-02", 4)]},
            ("TERMINATE", 57),
            id="17 not since",
        ),
        pytest.param(
            [own(1)], {"course_passed_on": "2026-04-02"}, ("WARNING", 48), id="17 59 days"
        ),
        pytest.param([own(1), hollow(2)], COURSE, ("WARNING", 55), id="19 too much for it"),
        pytest.param([own(1)], {"paid": [payout(1, 60.0)]}, ("WARNING", 58), id="18 sixty"),
        pytest.param([own(1)], {"paid": [payout(1, 59.99)]}, ("WARNING", 48), id="18 a penny less"),
        pytest.param([own(1)], {"paid": [payout(1, 80.0)]}, ("WITHHOLD", 58), id="26 eighty"),
        pytest.param(
            [own(1)],
            {"paid": [payout(1, 400, unit="credits", status="pending")]},
            ("WITHHOLD", 58),
            id="26 five credits",
        ),
        pytest.param(
            [own(1), friend(2)],
            {"paid": [payout(1, 80.0, status="reversed"), payout(2, 99.0), payout(3, 99.0)]},
            ("WARNING", 48),
            id="18 no loss",
        ),
        pytest.param(
            [own(1)], {"paid": [payout(1, 75.0), payout(1, 75.0)]}, ("WITHHOLD", 70), id="18 heavy"
        ),
        pytest.param([own(1), own(2)], {"outcome": "locked"}, ("PROBATION", 96), id="22 locked"),
    ],
)
def test_the_policy_answers_as_the_second_edition_says(
    referral_abuse_detection_v2: Any,
    friends: Sequence[Row],
    given: Row,
    expected: tuple[str, int],
) -> None:
    ticket = {"ticket_id": "RT-1", "member_id": "M-1", "opened_on": "2026-05-31"}
    ticket = {**ticket, "raised_by": "member", "statement": None, **given}
    entered: list[Any] = []

    def call(name: str, /, **arguments: Any) -> Any:
        match name:
            case "get_member_file":
                return {**MEMBER, **given}
            case "list_referrals":
                # One on each page.
                page = arguments["page"]
                more = page + 1 if page < len(friends) else None
                return {"referrals": friends[page - 1 : page], "next_page": more}
            case "get_district_baseline":
                return given.get("counts", [usual(9.0)])[arguments["attempt"] - 1]
            case "list_past_violations":
                return given.get("past", [])
            case "list_payouts":
                return given.get("paid", [])
        entered.append(arguments)
        refused = arguments["action"] in {"SUSPEND", "TERMINATE"}
        return {"outcome": given.get("outcome", "posted") if refused else "posted"}

    found = referral_abuse_detection_v2.decide(ticket, call)

    action, score = expected
    assert {"enforcement_action": action, "violation_score": score} == found
    assert [action] * (action != "NO ACTION") == [one["action"] for one in entered[-1:]]


def test_nobody_is_asked_about_a_member_who_has_left(referral_abuse_detection_v2: Any) -> None:
    def call(name: str, /, **_: Any) -> Any:
        assert "get_member_file" == name
        raise ToolError(name)

    found = referral_abuse_detection_v2.decide({"member_id": "M-1"}, call)

    assert {"enforcement_action": "NO ACTION", "violation_score": 0} == found


def test_there_are_two_hundred_tickets_and_many_texts(referral_abuse_detection_v2: Any) -> None:
    """Notes and statements are there to be read, and most of them decide nothing."""
    rows = referral_abuse_detection_v2.rows

    assert 200 == len(rows)
    assert len({row["statement"] for row in rows}) >= 40
    assert len({row["case_note"] for row in rows}) >= 20


@pytest.mark.parametrize("tag", sorted(DESK.misreadings))
def test_who_misreads_a_resolution_is_wrong_on_tasks(
    referral_abuse_detection_v2: Any, tag: str
) -> None:
    """So are those who go on by the first edition, or by what was printed before it was amended."""
    rows = referral_abuse_detection_v2.rows
    lost: set[str] = set()

    for way in DESK.misreadings[tag]:
        with DESK.reading(way):
            wrong = [
                row
                for row in rows
                if DESK.outcome(row).answer != referral_abuse_detection_v2.expected(row)
            ]
        lost |= {row["ticket_id"] for row in wrong}

    assert len(lost) >= 3
    assert lost == {row["ticket_id"] for row in rows if tag in row["tags"].split(",")}
