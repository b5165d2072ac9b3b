"""The policy of `referral_abuse_detection_v1` says what the letter says.

Worked out by hand, paragraph by paragraph, from a member who has brought nobody yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from bundled_domains.referral_abuse_detection_v1.desk import DESK

from pytest_sopbench.errors import ToolError

Row = Mapping[str, Any]

MEMBER = {
    "referral_code": "ABCD11",
    "member_since": "2020-01-01",
    "sort": "private",
    "address": "home",
    "card": "own",
    "device": "D-0001",
    "standing": "good",
    "copied_on": "2024-05-20",
}
NO_OTHER_DEVICE = {"device": None}


def friend(number: int, **cells: Any) -> dict[str, Any]:
    """Somebody who joined by himself and stayed."""
    usual = {"state": "active", "ended_on": None, "boxes_paid": 9, "reward": 5.0}
    named = {"friend_id": f"F-{number:05}", "address": f"{number}", "card": f"{number}"}
    when = {"joined_on": f"2024-04-{1 + number:02}", "reward_unit": "pounds"}
    return named | usual | when | NO_OTHER_DEVICE | cells


def own(number: int, **cells: Any) -> dict[str, Any]:
    return friend(number, card="own", **cells)


def roof(number: int, **cells: Any) -> dict[str, Any]:
    return friend(number, address="home", **cells)


def hollow(number: int, **cells: Any) -> dict[str, Any]:
    ended = {"state": "cancelled", "ended_on": f"2024-04-{15 + number:02}", "boxes_paid": 1}
    return friend(number, **{**ended, **cells})


def ring(*numbers: int, card: str = "shared", **cells: Any) -> list[dict[str, Any]]:
    return [friend(number, card=card, **cells) for number in numbers]


def crowd(*numbers: int, **cells: Any) -> list[dict[str, Any]]:
    return [friend(number, joined_on="2024-04-20", **cells) for number in numbers]


def sharing(device: str | None, *numbers: int) -> list[dict[str, Any]]:
    return [friend(number, device=device) for number in numbers]


NOTICE = {"standing": "on notice"}
STALL = {"sort": "ambassador"}
SEVERAL = [roof(1), roof(2), *ring(3, 4), *sharing("D-0009", 5, 6, 7)]  # 94 points


@pytest.mark.parametrize(
    ("friends", "given", "expected"),
    [
        pytest.param([], {}, ("NO ACTION", None), id="18 nobody"),
        pytest.param([roof(1)], {}, ("NO ACTION", None), id="18 fifteen points"),
        pytest.param([own(1)], {}, ("WITHHOLD", 42), id="18 own hand"),
        pytest.param([roof(1, device="D-0001")], {}, ("WITHHOLD", 42), id="9 device and address"),
        pytest.param(
            [roof(1, device="KX-01")], {"device": "KX-01"}, ("NO ACTION", None), id="9 tablet"
        ),
        pytest.param(
            [roof(1)], {"device": None}, ("NO ACTION", None), id="9 no device on both sides"
        ),
        pytest.param(ring(1, 2), {}, ("WARNING", 48), id="18 a ring that cost little"),
        pytest.param(
            ring(1, 2, reward=15.0), {}, ("WITHHOLD", 48), id="18 a ring that cost thirty pounds"
        ),
        pytest.param(
            ring(1, 2, reward=60, reward_unit="credits"), {}, ("WITHHOLD", 48), id="14 credits"
        ),
        pytest.param(
            ring(1, 2, reward=59, reward_unit="credits"), {}, ("WARNING", 48), id="14 too few"
        ),
        pytest.param(ring(1, 2, 3), {}, ("SUSPEND", 72), id="18 three on one card"),
        pytest.param(
            [*ring(1, 2), friend(3, card="shared", state="void")], {}, ("WARNING", 48), id="7 void"
        ),
        pytest.param(
            [*ring(1), friend(3, card="shared", joined_on="2024-03-01")],
            {},
            ("NO ACTION", None),
            id="7 ninety-one days",
        ),
        pytest.param(
            [*ring(1), friend(3, card="shared", joined_on="2024-03-02")],
            {},
            ("WARNING", 48),
            id="7 ninety days",
        ),
        pytest.param([roof(1), roof(2), roof(3)], {}, ("WARNING", 30), id="17 two of three"),
        pytest.param(
            [roof(1), roof(2)], {"statement": "F-00002"}, ("NO ACTION", None), id="11 declared"
        ),
        pytest.param(
            [roof(1), roof(2)],
            {"statement": "F-00002, F-00001, F-00009"},
            ("WARNING", 30),
            id="11 three numbers",
        ),
        pytest.param(
            [hollow(1), hollow(2), hollow(3), hollow(4, address="home")],
            {"statement": "F-00004"},
            ("WARNING", 24),
            id="11 declared and hollow",
        ),
        pytest.param([hollow(n) for n in range(1, 5)], {}, ("WARNING", 24), id="17 one is free"),
        pytest.param(
            [hollow(n) for n in range(1, 5)], STALL, ("NO ACTION", None), id="17 three are free"
        ),
        pytest.param(
            [hollow(1), hollow(2), hollow(3), hollow(4, ended_on="2024-04-20")],
            {},
            ("NO ACTION", None),
            id="12 fifteen days",
        ),
        pytest.param([*crowd(1, 2, 3, 4), roof(5)], {}, ("WARNING", 35), id="13 crowd"),
        pytest.param([*crowd(1, 2, 3, 4), roof(5)], STALL, ("NO ACTION", None), id="13 market day"),
        pytest.param(
            [*sharing("D-0009", 1, 2, 3), roof(4)], {}, ("WARNING", 31), id="13 shared device"
        ),
        pytest.param(
            [*sharing("KX-09", 1, 2, 3), roof(4)], {}, ("NO ACTION", None), id="13 shared tablet"
        ),
        pytest.param(
            ring(1, 2, 3) + ring(4, 5, 6, card="other"),
            {"raised_by": "member"},
            ("WARNING", 144),
            id="18 a quarrel",
        ),
        pytest.param([own(1)], {"raised_by": "member"}, ("WITHHOLD", 42), id="18 no quarrel"),
        pytest.param([own(1), own(2)], NOTICE, ("TERMINATE", 84), id="18 twice on notice"),
        pytest.param(
            [own(1), own(2)],
            NOTICE | {"copied_on": "2024-04-30"},
            ("WITHHOLD", 84),
            id="6 old copy",
        ),
        pytest.param(
            [own(1), own(2)],
            NOTICE | {"copied_on": "2024-05-01"},
            ("TERMINATE", 84),
            id="6 not too old",
        ),
        pytest.param(
            [own(1), own(2), own(3)], {"member_since": "2024-04-02"}, ("SUSPEND", 126), id="18 new"
        ),
        pytest.param(
            [own(1), own(2), own(3)],
            {"member_since": "2024-04-01"},
            ("TERMINATE", 126),
            id="18 settled",
        ),
        pytest.param(
            sharing("D-0009", 1, 2, 3), NOTICE, ("WITHHOLD", 16), id="18 sixteen on notice"
        ),
        pytest.param([roof(1)], NOTICE, ("NO ACTION", None), id="18 fifteen on notice"),
        pytest.param(SEVERAL, {}, ("WARNING", 94), id="18 short of a hundred, cheap"),
        pytest.param(
            [*SEVERAL, hollow(8), hollow(9)],
            {"member_since": "2024-04-20"},
            ("SUSPEND", 102),
            id="18 a hundred",
        ),
        pytest.param(ring(1, 2, 3), {"outcome": "locked"}, ("WITHHOLD", 72), id="21 locked"),
    ],
)
def test_the_policy_answers_as_the_letter_says(
    referral_abuse_detection_v1: Any,
    friends: Sequence[Row],
    given: Row,
    expected: tuple[str, int | None],
) -> None:
    ticket = {"ticket_id": "RT-1", "member_id": "M-1", "opened_on": "2024-05-31"}
    ticket = {**ticket, "raised_by": "system", "statement": None, **given}
    entered: list[Any] = []

    def call(name: str, /, **arguments: Any) -> Any:
        if name == "get_member_file":
            return {**MEMBER, **given}
        if name == "list_referrals":
            return friends
        entered.append(arguments)
        refused = arguments["action"] in {"SUSPEND", "TERMINATE"}
        return {"outcome": given.get("outcome", "posted") if refused else "posted"}

    found = referral_abuse_detection_v1.decide(ticket, call)

    action = found["enforcement_action"]
    assert expected == (action, entered[-1]["points"] if entered else None)
    assert entered == [] or entered[-1]["action"] == action


def test_nobody_is_asked_about_a_member_who_has_left(referral_abuse_detection_v1: Any) -> None:
    def call(name: str, /, **_: Any) -> Any:
        assert "get_member_file" == name
        raise ToolError(name)

    assert {"enforcement_action": "NO ACTION"} == referral_abuse_detection_v1.decide(
        {"member_id": "M-1"}, call
    )


def test_there_are_two_hundred_tickets_and_many_texts(referral_abuse_detection_v1: Any) -> None:
    """Notes and statements are there to be read, and most of them decide nothing."""
    rows = referral_abuse_detection_v1.rows

    assert 200 == len(rows)
    assert len({row["statement"] for row in rows}) >= 40
    assert len({row["tip"] for row in rows}) >= 20


@pytest.mark.parametrize("tag", sorted(DESK.misreadings))
def test_who_misreads_a_paragraph_answers_wrong_on_tasks(
    referral_abuse_detection_v1: Any, tag: str
) -> None:
    """Every named misreading costs three tasks at least, and the tag is on those tasks alone."""
    rows = referral_abuse_detection_v1.rows
    lost: set[str] = set()

    for way in DESK.misreadings[tag]:
        with DESK.reading(way):
            wrong = [
                row
                for row in rows
                if DESK.outcome(row).answer != referral_abuse_detection_v1.expected(row)
            ]
        lost |= {row["ticket_id"] for row in wrong}

    assert len(lost) >= 3
    assert lost == {row["ticket_id"] for row in rows if tag in row["tags"].split(",")}
