"""Tickets of the first edition, and what may be misread in its letter."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from bundled_domains.generator import Dice, Row
from bundled_domains.referrals import (
    Circle,
    Desk,
    address,
    ago,
    card,
    constant,
    device,
    member_number,
    near,
    one_in,
    referral_code,
    stall_device,
    written,
)

NAME = "referral_abuse_detection_v1"
FIRST_DAY, DAYS = date(2023, 5, 2), 420
FILE = (
    "referral_code",
    "member_since",
    "sort",
    "address",
    "card",
    "device",
    "standing",
    "copied_on",
)
ACTIONS = ("WARNING", "WITHHOLD", "SUSPEND", "TERMINATE")


def draft(desk: Desk, dice: Dice) -> dict[str, Any]:
    """A ticket with whatever may happen to one."""
    opened = (FIRST_DAY + timedelta(days=dice.below(DAYS))).isoformat()
    age = dice.pick((59, 60, dice.between(25, 58), *[dice.between(61, 1_500)] * 6))
    row: dict[str, Any] = {
        "member_id": member_number(dice),
        "opened_on": opened,
        "raised_by": dice.pick(("system", "system", "staff", "member", "member")),
        "tip": dice.pick((None, *desk.texts["tips"])),
        "statement": None,
        "referral_code": referral_code(dice),
        "member_since": ago(opened, age),
        "sort": dice.pick(("private", "private", "private", "ambassador")),
        "address": address(dice),
        "card": card(dice),
        "device": dice.pick((device(dice), device(dice), device(dice), stall_device(dice), None)),
        "standing": dice.pick(("good", "on notice")),
        "copied_on": ago(opened, dice.pick((30, 31, dice.between(0, 29), dice.between(0, 70)))),
    }
    circle = Circle(
        dice=dice, row=row, age=age, oldest=90, hollow_days=14, boxes=(0, 0, 1, 1, 1, 2, 3)
    )
    friends = dice.shuffled(circle.friends())
    row["statement"] = _statement(desk, dice, row, friends)
    row |= {"referrals": friends, "ledger": _ledger(dice)}
    if one_in(dice, 40):
        return row | dict.fromkeys(FILE) | {"referrals": []}
    if one_in(dice, 3):
        _set_value(desk, row, dice.pick((Decimal(30), Decimal("29.99"))))
    return row


def _ledger(dice: Dice) -> list[dict[str, str]]:
    refused = ("SUSPEND", "TERMINATE") if one_in(dice, 3) else ()
    return [
        {"action": action, "outcome": "locked" if action in refused else "posted"}
        for action in ACTIONS
    ]


def _statement(desk: Desk, dice: Dice, row: Row, friends: list[dict[str, Any]]) -> str | None:
    """A text in which those are named first who live with the member."""
    others = [one["friend_id"] for one in friends if one["address"] != row["address"]]
    home = [one["friend_id"] for one in friends if one["address"] == row["address"]]
    text: str | None = dice.pick((None, *desk.texts["statements"]))
    return None if text is None else written(text, [*dice.shuffled(home), *others])


def _set_value(desk: Desk, row: Row, value: Decimal) -> None:
    """Fix one reward so that the counted friends have this value in pounds, if one can."""
    policy = desk.policy
    friends = policy["looked_at"](row, row["referrals"])
    kinds = policy["kinds_of"](row, row, friends)
    counted = [one for one in friends if kinds[one["friend_id"]]]
    in_pounds = [one for one in counted if one["reward_unit"] == "pounds"]
    if not in_pounds:
        return
    missing = value - sum(policy["pounds"](one) for one in counted if one is not in_pounds[0])
    if missing > 0:
        in_pounds[0]["reward"] = float(missing)


DESK = Desk(
    name=NAME,
    draft=draft,
    misreadings={
        "old-copy": [{"OLDEST_COPY": 999}],
        "boundary-copy": near("OLDEST_COPY", 30),
        "old-referral": [{"OLDEST_REFERRAL": 999}],
        "boundary-referral": near("OLDEST_REFERRAL", 90),
        "stall-device": [{"STALL_DEVICE": "none"}],
        "declared": [{"declared_in": constant(set())}],
        "boundary-declared": near("MOST_DECLARED", 2),
        "boundary-hollow-days": near("HOLLOW_DAYS", 14),
        "boundary-boxes": near("ENOUGH_BOXES", 2),
        "crowd": [{"is_crowd": constant(False)}],
        "boundary-crowd": near("CROWD", 4),
        "shared-device": [{"is_shared": constant(False)}],
        "boundary-sharers": near("SHARERS", 3),
        "credits": [{"CREDITS_OF_A_POUND": 1}],
        "third-under-a-roof": [{"MOST_UNDER_A_ROOF": 99}],
        "free-hollow": [{"FREE_HOLLOW": 0}],
        "stall-hollow": [{"FREE_HOLLOW_OF_A_STALL": 1}],
        "quarrel": [{"only_told": constant(False)}],
        "own-hands-on-notice": [{"OWN_HANDS": 99}],
        "big-ring": [{"has_big_ring": constant(False)}],
        "boundary-big-ring": near("BIG_RING", 3),
        "boundary-terminate": near("TO_TERMINATE", 120),
        "boundary-suspend": near("TO_SUSPEND", 100),
        "boundary-withhold": near("TO_WITHHOLD", 31),
        "boundary-value": [{"VALUE_TO_WITHHOLD": Decimal(pounds)} for pounds in ("29.99", "30.01")],
        "boundary-notice": near("ON_NOTICE", 16),
        "boundary-warn": near("TO_WARN", 24),
        "not-settled": [{"is_settled": constant(True)}],
        "boundary-settled": near("SETTLED_DAYS", 60),
    },
    tags={
        "no-file": lambda row: row["referral_code"] is None,
        "locked": lambda row: "locked" in _outcomes(row),
    },
)


def _outcomes(row: Row) -> set[str]:
    """What the ledger answered, entry by entry."""
    said = {one["action"]: one["outcome"] for one in row["ledger"]}
    calls = DESK.outcome(row).calls
    return {said[one["arguments"]["action"]] for one in calls if one["name"] == "enter_action"}
