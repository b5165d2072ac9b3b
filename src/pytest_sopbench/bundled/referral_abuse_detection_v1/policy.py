# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the letter as a function of a ticket and of what three doors answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

OLDEST_COPY = 30  # clause 6
OLDEST_REFERRAL = 90  # clause 7
STALL_DEVICE = "KX"  # clause 9
MOST_DECLARED = 2  # clause 11
HOLLOW_DAYS, ENOUGH_BOXES = 14, 2  # clause 12
CROWD, SHARERS = 4, 3  # clause 13
CREDITS_OF_A_POUND = 4  # clause 14
OWN_HAND, RING, SAME_ROOF, HOLLOW, IN_A_CROWD, SHARED_DEVICE = 42, 24, 15, 8, 20, 16  # clause 17
MOST_UNDER_A_ROOF = 2  # clause 17
FREE_HOLLOW, FREE_HOLLOW_OF_A_STALL = 1, 3  # clause 17
OWN_HANDS, BIG_RING = 2, 3  # clause 18
TO_TERMINATE, TO_SUSPEND, TO_WITHHOLD, ON_NOTICE, TO_WARN = 120, 100, 31, 16, 24  # clause 18
VALUE_TO_WITHHOLD = 30  # clause 18: pounds
SETTLED_DAYS = 60  # clause 18

Call = Callable[..., Any]
Row: TypeAlias = Mapping[str, Any]


def decide(ticket: Row, call: Call) -> dict[str, str]:
    """Return the answer to one ticket; `call(tool, **arguments)` raises `ToolError`."""
    try:
        member = call("get_member_file", member_id=ticket["member_id"])
    except ToolError:
        return answer("NO ACTION")  # clause 5
    friends = looked_at(ticket, call("list_referrals", referral_code=member["referral_code"]))
    kinds = kinds_of(ticket, member, friends)
    points = points_of(member, friends, kinds)
    action = rung(ticket, member, friends, kinds, points)
    if action == "NO ACTION":
        return answer(action)

    counted = sorted(friend["friend_id"] for friend in friends if kinds[friend["friend_id"]])
    entry = {"ticket_id": ticket["ticket_id"], "member_id": ticket["member_id"]}
    entry |= {"points": sum(points.values()), "friends": counted}
    if call("enter_action", action=action, **entry)["outcome"] == "locked":
        action = "WITHHOLD"  # clause 21
        call("enter_action", action=action, **entry)
    return answer(action)


def answer(action: str) -> dict[str, str]:
    """Clause 16."""
    return {"enforcement_action": action}


def days(earlier: str, later: str) -> int:
    """Clause 4."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def looked_at(ticket: Row, referrals: Sequence[Row]) -> list[Row]:
    """Clause 7."""
    return [
        one
        for one in referrals
        if days(one["joined_on"], ticket["opened_on"]) <= OLDEST_REFERRAL and one["state"] != "void"
    ]


def telling(device: str | None) -> bool:
    """Whether people can be told apart by a device, clause 9."""
    return device is not None and not device.startswith(STALL_DEVICE)


def kinds_of(ticket: Row, member: Row, friends: Sequence[Row]) -> dict[str, str]:
    """The kind of each friend by its number, clause 8; empty if it has none."""
    cards = Counter(friend["card"] for friend in friends)
    declared = declared_in(ticket["statement"])
    return {friend["friend_id"]: kind_of(friend, member, cards, declared) for friend in friends}


def kind_of(friend: Row, member: Row, cards: Mapping[str, int], declared: set[str]) -> str:
    """Clauses 9 to 12."""
    if by_own_hand(friend, member):
        return "own hand"
    if cards[friend["card"]] > 1:
        return "ring"
    if under_same_roof(friend, member) and friend["friend_id"] not in declared:
        return "same roof"
    return "hollow" if is_hollow(friend) else ""


def under_same_roof(friend: Row, member: Row) -> bool:
    """Clause 11."""
    return bool(friend["address"] == member["address"])


def by_own_hand(friend: Row, member: Row) -> bool:
    """Clause 9."""
    if friend["card"] == member["card"]:
        return True
    device = friend["device"]
    same = telling(device) and device == member["device"]
    return bool(same) and under_same_roof(friend, member)


def declared_in(statement: str | None) -> set[str]:
    """Clause 11."""
    numbers = set(re.findall(r"F-[0-9]{5}", statement or ""))
    return set() if len(numbers) > MOST_DECLARED else numbers


def is_hollow(friend: Row) -> bool:
    """Clause 12."""
    if friend["state"] != "cancelled" or friend["boxes_paid"] >= ENOUGH_BOXES:
        return False
    return days(friend["joined_on"], friend["ended_on"]) <= HOLLOW_DAYS


def is_crowd(member: Row, friends: Sequence[Row]) -> bool:
    """Clause 13."""
    if member["sort"] == "ambassador":
        return False
    return largest(friend["joined_on"] for friend in friends) >= CROWD


def is_shared(friends: Sequence[Row]) -> bool:
    """Clause 13."""
    devices = [friend["device"] for friend in friends if telling(friend["device"])]
    return largest(devices) >= SHARERS


def largest(things: Iterable[str]) -> int:
    """How often the most frequent of these is there."""
    return sum(often for _, often in Counter(things).most_common(1))


def points_of(member: Row, friends: Sequence[Row], kinds: Mapping[str, str]) -> dict[str, int]:
    """Clause 17: the points of each line that gives any."""
    number = Counter(kinds.values())
    free = FREE_HOLLOW_OF_A_STALL if member["sort"] == "ambassador" else FREE_HOLLOW
    points = {
        "own hand": OWN_HAND * number["own hand"],
        "ring": RING * number["ring"],
        "same roof": SAME_ROOF * min(number["same roof"], MOST_UNDER_A_ROOF),
        "hollow": HOLLOW * max(0, number["hollow"] - free),
        "crowd": IN_A_CROWD if is_crowd(member, friends) else 0,
        "shared device": SHARED_DEVICE if is_shared(friends) else 0,
    }
    return {line: some for line, some in points.items() if some}


def rung(
    ticket: Row,
    member: Row,
    friends: Sequence[Row],
    kinds: Mapping[str, str],
    points: Mapping[str, int],
) -> str:
    """Clause 18: the first rung that fits."""
    if only_told(ticket, points):
        return "WARNING"
    total = sum(points.values())
    own = [kind for kind in kinds.values() if kind == "own hand"]
    noticed = on_notice(ticket, member)
    if is_settled(ticket, member) and (
        total >= TO_TERMINATE or (noticed and len(own) >= OWN_HANDS)
    ):
        return "TERMINATE"
    if total >= TO_SUSPEND or has_big_ring(friends):
        return "SUSPEND"
    if own or is_costly(friends, kinds, total) or (noticed and total >= ON_NOTICE):
        return "WITHHOLD"
    return "WARNING" if total >= TO_WARN else "NO ACTION"


def only_told(ticket: Row, points: Mapping[str, int]) -> bool:
    """Clause 18, the first rung."""
    return ticket["raised_by"] == "member" and len(points) == 1 and "own hand" not in points


def on_notice(ticket: Row, member: Row) -> bool:
    """Clause 6."""
    if days(member["copied_on"], ticket["opened_on"]) > OLDEST_COPY:
        return False
    return bool(member["standing"] == "on notice")


def is_settled(ticket: Row, member: Row) -> bool:
    """Clause 18, below the rungs."""
    return days(member["member_since"], ticket["opened_on"]) >= SETTLED_DAYS


def has_big_ring(friends: Sequence[Row]) -> bool:
    """Clause 18, the fourth rung."""
    return largest(friend["card"] for friend in friends) >= BIG_RING


def is_costly(friends: Sequence[Row], kinds: Mapping[str, str], total: int) -> bool:
    """Clause 18, the seventh rung."""
    if total < TO_WITHHOLD:
        return False
    return sum(pounds(one) for one in friends if kinds[one["friend_id"]]) >= VALUE_TO_WITHHOLD


def pounds(friend: Row) -> Decimal:
    """Clause 14."""
    if friend["reward"] is None:
        return Decimal()
    reward = Decimal(str(friend["reward"]))
    return reward / CREDITS_OF_A_POUND if friend["reward_unit"] == "credits" else reward
