"""Tickets of the second edition, and what may be misread in it or carried over from the first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
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

NAME = "referral_abuse_detection_v2"
FIRST_DAY, DAYS = date(2025, 9, 1), 420
FILE = (
    "referral_code",
    "district",
    "wallet_id",
    "member_since",
    "sort",
    "address",
    "card",
    "device",
    "course_passed_on",
    "standing",
    "copied_on",
)
ACTIONS = ("WARNING", "WITHHOLD", "PROBATION", "SUSPEND", "TERMINATE")
LOSSES = (60, 80, 150)
PENNY = Decimal("0.01")
SCORES = (140, 90, 60, 60, 28, 28)
FRESH = 90


def draft(desk: Desk, dice: Dice) -> dict[str, Any]:
    """A ticket with whatever may happen to one."""
    opened = (FIRST_DAY + timedelta(days=dice.below(DAYS))).isoformat()
    age = dice.pick((44, 45, dice.between(20, 43), *[dice.between(100, 1_500)] * 8))
    row: dict[str, Any] = {
        "member_id": member_number(dice),
        "opened_on": opened,
        "raised_by": dice.pick(("system", "staff", "member")),
        "case_note": dice.pick((None, *desk.texts["notes"])),
        "statement": None,
        "referral_code": referral_code(dice),
        "district": f"N{dice.between(1, 40):02}",
        "wallet_id": f"W-{dice.below(10**7):07}",
        "member_since": ago(opened, age),
        "sort": dice.pick(("private", "private", "ambassador")),
        "address": address(dice),
        "card": card(dice),
        "device": dice.pick((*[device(dice)] * 3, stall_device(dice), None)),
        "course_passed_on": None,
        "standing": dice.pick(("good", "on notice")),
        "copied_on": ago(opened, dice.between(0, 70)),
    }
    circle = Circle(
        dice=dice, row=row, age=age, oldest=180, hollow_days=28, boxes=(0, 1, 2, 2, 3, 4)
    )
    friends = dice.shuffled(circle.friends())
    if one_in(dice, 2):
        _bunch(dice, row, friends)
    row |= {"payouts": _payouts(dice, friends), "violations": _violations(dice, row, age)}
    row["course_passed_on"] = _course(dice, row, age)
    row["statement"] = _statement(desk, dice, row, friends)
    row |= {
        "pages": _pages(dice, _served(dice, friends)),
        "baselines": _baselines(dice, row),
        "ledger": _ledger(dice),
    }
    if one_in(dice, 40):
        return row | dict.fromkeys(FILE) | {"pages": [], "payouts": [], "violations": []}
    if one_in(dice, 2):
        _set_loss(desk, row, dice.pick(LOSSES) - PENNY * dice.below(2))
    if one_in(dice, 2):
        _set_score(desk, row, dice.pick(SCORES) - dice.below(2))
    return row


def _bunch(dice: Dice, row: Row, friends: list[dict[str, Any]]) -> None:
    """Have several friends join in a week, or in a little more."""
    some = dice.shuffled(friends)[: dice.pick((3, 4, 4, 5, 6, 7))]
    if not some:
        return
    first = min(one["joined_on"] for one in some)
    for one in some:
        joined = min(ago(first, -dice.pick((0, 6, 6, 7, dice.between(1, 5)))), row["opened_on"])
        one["joined_on"] = joined
        if one["ended_on"] is not None:
            one["ended_on"] = max(joined, one["ended_on"])


def _served(dice: Dice, friends: Sequence[Row]) -> list[dict[str, Any]]:
    """The referrals as the list serves them: with the time of day, and without rewards."""
    late = one_in(dice, 3)
    served: list[dict[str, Any]] = []
    for friend in friends:
        hour = dice.pick((0, 2, 4, 4, 5, 5)) if late else dice.between(4, 23)
        found = {name: of for name, of in friend.items() if not name.startswith("reward")}
        joined = f"{found.pop('joined_on')}T{hour:02}:{dice.below(60):02}"
        number = found.pop("friend_id")
        served.append({"friend_id": number, "joined_at": joined, **found})
    return served


def _pages(dice: Dice, served: Sequence[Row]) -> list[dict[str, Any]]:
    size = dice.pick((4, 6, 8))
    parts = [served[at : at + size] for at in range(0, len(served), size)] or [[]]
    return [
        {
            "page": number,
            "referrals": list(part),
            "next_page": number + 1 if number < len(parts) else None,
        }
        for number, part in enumerate(parts, start=1)
    ]


def _payouts(dice: Dice, friends: Sequence[Row]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for friend in friends:
        for _ in range(dice.pick((0, 1, 1, 1, 2))):
            unit = friend["reward_unit"]
            found.append(
                {
                    "friend_id": friend["friend_id"],
                    "amount": _amount(dice, unit),
                    "unit": unit,
                    "status": dice.pick(("paid", "paid", "paid", "pending", "reversed")),
                }
            )
    return dice.shuffled(found)


def _amount(dice: Dice, unit: str) -> float:
    return dice.between(300, 3_000) / 100 if unit == "pounds" else dice.between(15, 150)


def _violations(dice: Dice, row: Row, age: int) -> list[dict[str, Any]]:
    edges = (90, 91, 365, 366, 730, 731)
    found: list[dict[str, Any]] = []
    for _ in range(dice.pick((0, 0, 1, 1, 2, 2, 3, 4))):
        others = (dice.between(5, 89), dice.between(92, 364), dice.between(367, 1_300))
        days = dice.pick((*edges, *others, *others))
        violation = {
            "decided_on": ago(row["opened_on"], days),
            "points": dice.between(2, dice.pick((9, 90))),
            "status": dice.pick(("upheld", "upheld", "upheld", "overturned", "pending")),
        }
        if days < age:
            found.append(violation)
    return found


def _course(dice: Dice, row: Row, age: int) -> str | None:
    if one_in(dice, 2) or age < 100:  # noqa: PLR2004 - newcomers have not been to it
        return None
    days = dice.pick((59, 60, dice.between(20, 58), dice.between(61, 99)))
    on_the_day: list[str] = [one["decided_on"] for one in row["violations"]]
    return dice.pick([ago(row["opened_on"], days), *on_the_day])


def _baselines(dice: Dice, row: Row) -> list[dict[str, Any]]:
    """What the two attempts serve; the first may be counting still, and so may the second."""
    age = dice.pick((28, 29, *[dice.between(0, 27)] * 4, dice.between(30, 90)))
    usual: dict[str, Any] = {
        "state": "ready",
        "per_week": dice.pick((0.8, 0.9, 1.0, 1.2, 1.3, 1.4, 1.6, 1.7, 1.9, 2.0)),
        "counted_on": ago(row["opened_on"], age),
    }
    counting: dict[str, Any] = {"state": "counting", "per_week": None, "counted_on": None}
    served = dice.pick(((usual, usual), (usual, usual), (counting, usual), (counting, counting)))
    return [{"attempt": number, **one} for number, one in enumerate(served, start=1)]


def _ledger(dice: Dice) -> list[dict[str, str]]:
    refused = ("SUSPEND", "TERMINATE") if one_in(dice, 4) else ()
    return [
        {"action": action, "outcome": "locked" if action in refused else "posted"}
        for action in ACTIONS
    ]


def _statement(desk: Desk, dice: Dice, row: Row, friends: Sequence[Row]) -> str | None:
    """A text in which those are named first who share a card."""
    cards = Counter([row["card"], *(one["card"] for one in friends)])
    shared = [one["friend_id"] for one in friends if cards[one["card"]] > 1]
    others = [one["friend_id"] for one in friends if cards[one["card"]] == 1]
    text: str | None = dice.pick((None, *desk.texts["statements"]))
    return None if text is None else written(text, [*dice.shuffled(shared), *others])


def _kinds(desk: Desk, row: Row) -> dict[str, str]:
    policy = desk.policy
    served = [one for page in row["pages"] for one in page["referrals"]]
    kinds: dict[str, str] = policy["kinds_of"](row, policy["looked_at"](row, served))
    return kinds


def _set_loss(desk: Desk, row: Row, loss: Decimal) -> None:
    """Fix one payout in pounds so that the loss is this, if one can."""
    policy, kinds = desk.policy, _kinds(desk, row)
    pounds = [
        one
        for one in row["payouts"]
        if kinds.get(one["friend_id"]) and one["unit"] == "pounds" and one["status"] != "reversed"
    ]
    if not pounds:
        return
    others = [one for one in row["payouts"] if one is not pounds[0]]
    missing = loss - policy["loss_of"](kinds, others)
    if missing > 0:
        pounds[0]["amount"] = float(missing)


def _set_score(desk: Desk, row: Row, score: int) -> None:
    """Fix the points of a fresh violation so that the score is this, if one can."""
    fresh = [
        one
        for one in row["violations"]
        if one["status"] == "upheld" and one["decided_on"] >= ago(row["opened_on"], FRESH)
    ]
    if not fresh or desk.policy["is_reformed"](row, row, row["violations"]):
        return
    fresh[0]["points"] = max(1, fresh[0]["points"] + score - _score(desk, row))


def _score(desk: Desk, row: Row) -> int:
    score: int = desk.outcome({**row, "ticket_id": ""}).answer["violation_score"]
    return score


# --- what may be misread ---------------------------------------------------------------------

POLICY = Desk(name=NAME, draft=draft, misreadings={}, tags={}).policy


def _with_limit(statement: str | None) -> set[str]:
    """The first edition's limit of two numbers in a statement."""
    numbers = set(re.findall(r"F-[0-9]{5}", statement or ""))
    return numbers if len(numbers) < 3 else set()  # noqa: PLR2004 - as the first edition said


def _without_stalls(right: Callable[..., bool]) -> Callable[..., bool]:
    """The first edition's tablets, which are taken out before devices are compared."""

    def is_shared(friends: Sequence[Row]) -> bool:
        told = [one for one in friends if not (one["device"] or "").startswith("KX")]
        return right(told)

    return is_shared


DESK = Desk(
    name=NAME,
    draft=draft,
    misreadings={
        # Of the first edition.
        "first-edition-window": [{"OLDEST_REFERRAL": 90}],
        "first-edition-points": [{"OWN_HAND": 42}, {"RING": 24}, {"HOLLOW": 8}],
        "first-edition-declarations": [{"admitted_in": _with_limit}],
        "first-edition-tablets": [{"is_shared": _without_stalls(POLICY["is_shared"])}],
        "first-edition-sharers": [{"SHARERS": 3}],
        "first-edition-credits": [{"CREDITS_OF_A_POUND": 4}],
        "first-edition-grace": [{"SETTLED_DAYS": 60}],
        # As printed, before the amendments.
        "printed-hollow-days": [{"HOLLOW_DAYS": 21}],
        "printed-warning": [{"TO_WARN": 25}],
        "printed-own-hand": [{"OWN_HAND": 45}],
        "printed-loss": [{"LOSS_TO_WITHHOLD": 100}],
        "withdrawn-credits": [{"CREDITS_OF_A_POUND": 10}],
        # Anything else.
        "boundary-referral": near("OLDEST_REFERRAL", 180),
        "boundary-hollow-days": near("HOLLOW_DAYS", 28),
        "boundary-boxes": near("ENOUGH_BOXES", 3),
        "admitted": [{"admitted_in": constant(set())}],
        "shared-device": [{"is_shared": constant(False)}],
        "burst": [{"is_burst": constant(False)}],
        "no-burst": [{"baseline": constant(0)}],
        "boundary-week": near("WEEK", 7),
        "boundary-count": near("OLDEST_COUNT", 28),
        "stall-burst": [{"USUAL_TIMES_OF_A_STALL": 3}],
        "at-night": [{"is_at_night": constant(False)}],
        "boundary-morning": near("MORNING", 5),
        "decay": [{"DECAY": ((9_999, 1),)}],
        "boundary-decay": [
            {"DECAY": ((90 + more, 1), (365 + more, 2), (730 + more, 4))} for more in (-1, 1)
        ],
        "reformed": [{"is_reformed": constant(False)}],
        "boundary-reformed": near("REFORMED_DAYS", 60),
        "relapse": [{"RELAPSE": 9_999}],
        "boundary-relapse": near("RELAPSE", 49),
        "repeated": [{"PAST_VIOLATIONS": 99}],
        "boundary-loss": [
            {name: loss + more}
            for name, loss in (("LOSS", 60), ("HEAVY_LOSS", 150), ("LOSS_TO_WITHHOLD", 80))
            for more in (PENNY, -PENNY)
        ],
        "boundary-terminate": near("TO_TERMINATE", 140),
        "boundary-suspend": near("TO_SUSPEND", 90),
        "boundary-withhold": near("TO_WITHHOLD", 60),
        "boundary-warn": near("TO_WARN", 28),
        "not-settled": [{"is_settled": constant(True)}],
        "boundary-settled": near("SETTLED_DAYS", 45),
    },
    tags={
        "no-file": lambda row: row["referral_code"] is None,
        "locked": lambda row: len(_calls(row, "enter_action")) > 1,
        "asked-again": lambda row: len(_calls(row, "get_district_baseline")) > 1,
        "several-pages": lambda row: len(_calls(row, "list_referrals")) > 1,
        "no-points": lambda row: (
            bool(_calls(row, "list_referrals")) and not _calls(row, "list_payouts")
        ),
    },
)


def _calls(row: Row, name: str) -> list[Any]:
    return [one for one in DESK.outcome(row).calls if one["name"] == name]
