# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the second edition, as amended, as a function of a ticket."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

OLDEST_REFERRAL = 180  # clause 7
HOLLOW_DAYS, ENOUGH_BOXES = 28, 3  # clauses 8 and 25
OWN_HAND, RING, HOLLOW = 48, 21, 7  # clauses 9 and 26
ADMITTED = 2  # clause 11: the part of the points that is left
SHARERS, SHARED_DEVICE = 4, 13  # clause 12
WEEK, FEWEST_IN_A_BURST, BURST = 7, 4, 25  # clause 13
USUAL_TIMES, USUAL_TIMES_OF_A_STALL = 3, 5  # clause 13
OLDEST_COUNT = 28  # clause 13
FEWEST_AT_NIGHT, MORNING, NIGHT = 3, 5, 11  # clause 14
DECAY = ((90, 1), (365, 2), (730, 4))  # clause 16: days, and the part that is left
REFORMED_DAYS, REFORMED = 60, 2  # clause 17
CREDITS_OF_A_POUND = 5  # clause 18
LOSS, LOSS_POINTS, HEAVY_LOSS, HEAVY_LOSS_POINTS = 60, 10, 150, 22  # clause 18: pounds
RELAPSE = 49  # clause 19
TO_TERMINATE, TO_SUSPEND, TO_WITHHOLD, TO_WARN = 140, 90, 60, 28  # clauses 19 and 25
PAST_VIOLATIONS = 2  # clause 19
LOSS_TO_WITHHOLD = 80  # clause 26: pounds
SETTLED_DAYS = 45  # clause 20

Call = Callable[..., Any]
Row: TypeAlias = Mapping[str, Any]


def decide(ticket: Row, call: Call) -> dict[str, Any]:
    """Return the answer to one ticket; `call(tool, **arguments)` raises `ToolError`."""
    try:
        member = call("get_member_file", member_id=ticket["member_id"])
    except ToolError:
        return answer("NO ACTION", 0)  # clause 5
    friends = looked_at(ticket, every_page(member, call))
    kinds = kinds_of(member, friends)
    current = friend_points(ticket, kinds) + pattern_points(ticket, member, friends, call)
    if not current:
        return answer("NO ACTION", 0)  # clause 15

    past = call("list_past_violations", member_id=ticket["member_id"])
    weights = [weight(ticket, one) for one in past if one["status"] == "upheld"]
    reformed = is_reformed(ticket, member, past)
    history = sum(weights) // REFORMED if reformed else sum(weights)
    loss = loss_of(kinds, call("list_payouts", wallet_id=member["wallet_id"]))
    score = current + history + loss_points(loss)
    if reformed and current < RELAPSE:
        action = "PROBATION"
    elif is_settled(ticket, member) and is_the_end(score, kinds, weights):
        action = "TERMINATE"
    else:
        action = milder(score, current, history, loss)
    return answer(entered(ticket, action, score, loss, call), score)


def answer(action: str, score: int) -> dict[str, Any]:
    """Clause 1."""
    return {"enforcement_action": action, "violation_score": score}


def entered(ticket: Row, action: str, score: int, loss: Decimal, call: Call) -> str:
    """Clauses 21 and 22: the action that stands in the ledger."""
    if action == "NO ACTION":
        return action
    entry = {"ticket_id": ticket["ticket_id"], "member_id": ticket["member_id"]}
    entry |= {"score": score, "loss_pence": int(loss * 100)}
    if call("enter_action", action=action, **entry)["outcome"] == "locked":
        action = "PROBATION"
        call("enter_action", action=action, **entry)
    return action


def days(earlier: str, later: str) -> int:
    """Clause 4: of days, or of times on them."""
    return day_number(later) - day_number(earlier)


def day_number(day: str) -> int:
    """The days of the calendar up to this one."""
    return date.fromisoformat(day[:10]).toordinal()


def every_page(member: Row, call: Call) -> list[Row]:
    """Clause 7."""
    found: list[Row] = []
    page = 1
    while page:
        served = call("list_referrals", referral_code=member["referral_code"], page=page)
        found += served["referrals"]
        page = served["next_page"]
    return found


def looked_at(ticket: Row, referrals: Sequence[Row]) -> list[Row]:
    """Clause 7."""
    return [
        one
        for one in referrals
        if days(one["joined_at"], ticket["opened_on"]) <= OLDEST_REFERRAL and one["state"] != "void"
    ]


def kinds_of(member: Row, friends: Sequence[Row]) -> dict[str, str]:
    """The kind of each friend by its number, clause 8; empty if it has none."""
    cards = Counter(friend["card"] for friend in friends)
    return {friend["friend_id"]: kind_of(friend, member, cards) for friend in friends}


def kind_of(friend: Row, member: Row, cards: Mapping[str, int]) -> str:
    """Clause 8."""
    if by_own_hand(friend, member):
        return "own hand"
    if cards[friend["card"]] > 1:
        return "ring"
    return "hollow" if is_hollow(friend) else ""


def by_own_hand(friend: Row, member: Row) -> bool:
    """Clause 8."""
    if friend["card"] == member["card"]:
        return True
    same = friend["device"] is not None and friend["device"] == member["device"]
    return same and bool(friend["address"] == member["address"])


def is_hollow(friend: Row) -> bool:
    """Clauses 8 and 25."""
    if friend["state"] != "cancelled" or friend["boxes_paid"] >= ENOUGH_BOXES:
        return False
    return days(friend["joined_at"], friend["ended_on"]) <= HOLLOW_DAYS


def friend_points(ticket: Row, kinds: Mapping[str, str]) -> int:
    """Clauses 9 and 11."""
    points = {"own hand": OWN_HAND, "ring": RING, "hollow": HOLLOW, "": 0}
    admitted = admitted_in(ticket["statement"])
    total = 0
    for number, kind in kinds.items():
        halved = number in admitted and kind != "hollow"
        total += points[kind] // ADMITTED if halved else points[kind]
    return total


def admitted_in(statement: str | None) -> set[str]:
    """Clause 11."""
    return set(re.findall(r"F-[0-9]{5}", statement or ""))


def pattern_points(ticket: Row, member: Row, friends: Sequence[Row], call: Call) -> int:
    """Clauses 12 to 14."""
    points = SHARED_DEVICE if is_shared(friends) else 0
    points += BURST if is_burst(ticket, member, friends, call) else 0
    return points + (NIGHT if is_at_night(friends) else 0)


def is_shared(friends: Sequence[Row]) -> bool:
    """Clause 12."""
    return largest(one["device"] for one in friends if one["device"] is not None) >= SHARERS


def largest(things: Iterable[str]) -> int:
    """How often the most frequent of these is there."""
    return sum(often for _, often in Counter(things).most_common(1))


def is_burst(ticket: Row, member: Row, friends: Sequence[Row], call: Call) -> bool:
    """Clause 13."""
    joined = [day_number(friend["joined_at"]) for friend in friends]
    weeks = [sum(first <= one < first + WEEK for one in joined) for first in joined]
    busy = [often for often in weeks if often >= FEWEST_IN_A_BURST]
    if not busy:
        return False
    usual = baseline(ticket, member["district"], call)
    times = USUAL_TIMES_OF_A_STALL if member["sort"] == "ambassador" else USUAL_TIMES
    return usual is not None and max(busy) > times * usual


def baseline(ticket: Row, district: str, call: Call) -> Decimal | None:
    """Clause 13: the usual number of a week, unless it is not known or too old."""
    served = call("get_district_baseline", district=district, attempt=1)
    if served["state"] == "counting":
        served = call("get_district_baseline", district=district, attempt=2)
    if served["state"] == "counting":
        return None
    if days(served["counted_on"], ticket["opened_on"]) > OLDEST_COUNT:
        return None
    return Decimal(str(served["per_week"]))


def is_at_night(friends: Sequence[Row]) -> bool:
    """Clause 14."""
    hours = [datetime.fromisoformat(friend["joined_at"]).hour for friend in friends]
    nights = sum(hour < MORNING for hour in hours)
    return nights >= FEWEST_AT_NIGHT and nights > len(friends) - nights


def weight(ticket: Row, violation: Row) -> int:
    """Clause 16: what an upheld violation still gives."""
    age = days(violation["decided_on"], ticket["opened_on"])
    points: int = violation["points"]
    return next((points // part for limit, part in DECAY if age <= limit), 0)


def is_reformed(ticket: Row, member: Row, past: Sequence[Row]) -> bool:
    """Clause 17."""
    passed = member["course_passed_on"]
    if passed is None or days(passed, ticket["opened_on"]) < REFORMED_DAYS:
        return False
    return not any(one["status"] == "upheld" and one["decided_on"] > passed for one in past)


def loss_of(kinds: Mapping[str, str], payouts: Sequence[Row]) -> Decimal:
    """Clauses 18 and 26: in pounds."""
    lost = [one for one in payouts if one["status"] != "reversed"]
    return sum((pounds(one) for one in lost if kinds.get(one["friend_id"])), Decimal())


def pounds(payout: Row) -> Decimal:
    """Clauses 18 and 26."""
    amount = Decimal(str(payout["amount"]))
    return amount / CREDITS_OF_A_POUND if payout["unit"] == "credits" else amount


def loss_points(loss: Decimal) -> int:
    """Clause 18."""
    if loss >= HEAVY_LOSS:
        return HEAVY_LOSS_POINTS
    return LOSS_POINTS if loss >= LOSS else 0


def is_settled(ticket: Row, member: Row) -> bool:
    """Clause 20."""
    return days(member["member_since"], ticket["opened_on"]) >= SETTLED_DAYS


def is_the_end(score: int, kinds: Mapping[str, str], weights: Sequence[int]) -> bool:
    """Clause 19, the lines of TERMINATE."""
    if "own hand" in kinds.values() and sum(map(bool, weights)) >= PAST_VIOLATIONS:
        return True
    return score >= TO_TERMINATE


def milder(score: int, current: int, history: int, loss: Decimal) -> str:
    """Clause 19, from the line of SUSPEND on."""
    if score >= TO_SUSPEND:
        return "SUSPEND"
    if history > current:
        return "PROBATION"
    if loss >= LOSS_TO_WITHHOLD or score >= TO_WITHHOLD:
        return "WITHHOLD"
    return "WARNING" if score >= TO_WARN else "NO ACTION"
