# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: OD-7 as a function of an order and the answers of four offices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_sopbench.errors import ToolError

ZONES = (  # clause 3.1: first and last three digits, zone; 055 stands before what it lies in
    ("055", "055", "Bay"),
    ("010", "029", "Bay"),
    ("030", "059", "North"),
    ("060", "069", "Sound"),
    ("070", "089", "Jersey"),
)
HOMES = {"Bay": "MAN", "North": "MAN", "Sound": "HFD", "Jersey": "NWK"}
FISHERS_ISLAND = "06390"  # clause 3.2
ISLAND = frozenset({"02554", "02564", "02584"})  # clause 3.4
OVERDUE_DAYS = {"good": 30, "watch": 10}  # clause 4.4
PERCENT_OF_LIMIT = {"good": 100, "watch": 80}
MORE_DAYS_IF_MEDICAL = 30  # clause 4.5
COUNTER_PACKS = 1  # clause 5.3
MINUTES_TO_READY = {"standard": 90, "express": 45, "medical": 45}  # clause 6.2
LARGE_PIECES, MORE_MINUTES_IF_LARGE = 50, 30
FERRY_MINUTES = 60  # clause 6.3
SMALLEST_SPLIT_CENTS = 75_00  # clause 7.5

Call = Callable[..., Any]
Decision = dict[str, Any]


def decide(order: Mapping[str, Any], call: Call) -> Decision:
    """Return the decision on one order; `call(tool, **arguments)` raises `ToolError`."""
    zone = zone_of(order["ship_to_zip"])
    if zone is None:
        return nothing_ships("REJECT")  # clause 3.3
    ended = refused_by_credit(order, call)
    if ended:
        return nothing_ships(ended)
    try:
        stock = call("get_stock", article=order["article"])
    except ToolError:
        return nothing_ships("REJECT")  # clause 5.2

    available = available_pieces(stock, medical=order["priority"] == "medical")
    if sum(available.values()) < order["quantity"]:  # clause 5.4
        waits = order["backorder"] == "yes" or order["priority"] == "medical"
        return nothing_ships("HOLD" if waits else "REJECT")

    schedule = call("get_pickup_schedule", ship_day=order["ship_day"])["schedule"]
    pickups = {place: minutes(time) for place, time in schedule[zone].items() if time}
    parcels = parcels_of(order, available, open_pickups(order, pickups), HOMES[zone])
    return reserved(order, parcels, call) if parcels else nothing_ships("HOLD")


def nothing_ships(decision: str) -> Decision:
    """Clause 10.1: the answer where the list is empty."""
    return {"decision": decision, "ship_from": []}


def zone_of(zip_code: str) -> str | None:
    """Clauses 3.1 and 3.2."""
    if zip_code == FISHERS_ISLAND:
        return None
    return next((zone for first, last, zone in ZONES if first <= zip_code[:3] <= last), None)


def refused_by_credit(order: Mapping[str, Any], call: Call) -> str:
    """Part 4: the decision where the customer may not order; empty where nothing stands against."""
    prepaid = order["payment"] == "prepaid"
    try:
        account = call("get_account", customer_id=order["customer_id"])
    except ToolError:
        return "" if prepaid else "HOLD"  # clause 4.3
    standing = account["standing"]
    if standing == "blocked":
        return "REJECT"  # clause 4.2
    if prepaid:
        return ""  # clause 4.6
    days = OVERDUE_DAYS[standing]
    if order["priority"] == "medical":
        days += MORE_DAYS_IF_MEDICAL
    owed = cents(account["open_balance"]) + cents(order["order_value"])
    too_much = 100 * owed > PERCENT_OF_LIMIT[standing] * cents(account["credit_limit"])
    return "HOLD" if account["days_overdue"] > days or too_much else ""


def available_pieces(stock: Mapping[str, Any], *, medical: bool) -> dict[str, int]:
    """Clause 5.3."""
    kept_back = 0 if medical else COUNTER_PACKS
    return {
        place: stock["pack_size"]
        * max(0, packs["on_hand"] - packs["allocated"] - packs["quarantine"] - kept_back)
        for place, packs in stock["warehouses"].items()
    }


def open_pickups(order: Mapping[str, Any], pickups: Mapping[str, int]) -> dict[str, int]:
    """Clauses 6.2 and 6.3: the open warehouses with their last pickups."""
    ready = minutes(order["received_at"]) + MINUTES_TO_READY[order["priority"]]
    if order["quantity"] > LARGE_PIECES:
        ready += MORE_MINUTES_IF_LARGE
    if order["ship_to_zip"] in ISLAND:
        ready += FERRY_MINUTES
    return {place: pickup for place, pickup in pickups.items() if pickup >= ready}


def parcels_of(
    order: Mapping[str, Any], available: Mapping[str, int], pickups: Mapping[str, int], home: str
) -> list[dict[str, Any]]:
    """Part 7: what each warehouse gives; empty where the order is held."""
    quantity: int = order["quantity"]
    whole = [place for place in pickups if available[place] >= quantity]
    if whole:
        if order["priority"] != "standard":  # clause 7.3
            earliest = min(pickups[place] for place in whole)
            whole = [place for place in whole if pickups[place] == earliest]
        one = home if home in whole else most_first(whole, available)[0]  # clause 7.2
        return [{"warehouse": one, "pieces": quantity}]

    two = most_first(pickups, available)[:2]
    small = order["priority"] == "standard" and cents(order["order_value"]) < SMALLEST_SPLIT_CENTS
    if sum(available[place] for place in two) < quantity or small or order["ship_to_zip"] in ISLAND:
        return []
    more, other = two
    return [
        {"warehouse": more, "pieces": available[more]},
        {"warehouse": other, "pieces": quantity - available[more]},
    ]


def reserved(
    order: Mapping[str, Any], parcels: Sequence[Mapping[str, Any]], call: Call
) -> Decision:
    """Part 8."""
    answer = call(
        "reserve_stock", order_id=order["order_id"], article=order["article"], parcels=parcels
    )
    if answer["reservation"] == "refused":
        return nothing_ships("HOLD")
    places = [parcel["warehouse"] for parcel in parcels]
    return {"decision": "FULFIL" if len(places) == 1 else "SPLIT", "ship_from": places}


def most_first(places: Iterable[str], available: Mapping[str, int]) -> list[str]:
    """Clauses 7.2 and 7.4: the most available pieces first, then the alphabet."""
    return sorted(places, key=lambda place: (-available[place], place))


def minutes(time: str) -> int:
    """A time of day as minutes since midnight."""
    hours, rest = time.split(":")
    return 60 * int(hours) + int(rest)


def cents(dollars: float) -> int:
    """Whole cents, so that sums are exact."""
    return round(100 * dollars)
