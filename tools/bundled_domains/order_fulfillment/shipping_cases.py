"""Cases of parts 5 to 8: stock, pickups, the choice of a warehouse, and the reservation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bundled_domains.generator import Dice

from .case import Case, Change, Wanted, fixed, is_, matters
from .orders import POLICY, WAREHOUSES, Order, Row, later

ISLAND_ZIPS = ("02554", "02564", "02584")
FERRY = POLICY["FERRY_MINUTES"]
LARGE, MORE_IF_LARGE = POLICY["LARGE_PIECES"], POLICY["MORE_MINUTES_IF_LARGE"]


def shipping_cases() -> Iterator[Case]:
    """Part by part."""
    yield from _stocks()
    yield from _pickups()
    yield from _warehouses()
    yield from _splits()
    yield Case(
        tags="refused",
        rows=6,
        change=fixed(reservation="refused"),
        wanted=lambda order: "reserve_stock" in order.calls,
    )


def _stocks() -> Iterator[Case]:
    unknown = fixed(pack_size=None, warehouses=None)
    yield Case(
        tags="discontinued",
        rows=3,
        change=unknown,
        wanted=lambda order: "get_stock" in order.calls,
    )
    for backorder, priorities, decision, rows in (
        ("no", ("standard", "express"), "REJECT", 1),
        ("yes", ("standard", "express"), "HOLD", 2),
        ("no", ("medical",), "HOLD", 2),
    ):
        yield Case(
            tags="short," + ("back-order" if decision == "HOLD" else "no-backorder"),
            rows=rows,
            change=(
                _of_all_there_is(1, priorities)
                if "medical" in priorities
                else _short(backorder, priorities)
            ),
            wanted=_ended_by_stock(decision),
        )
    for side in ("at", "below"):
        yield Case(
            tags="boundary-total" + ",short,no-backorder" * (side == "below"),
            rows=2,
            change=_of_all_there_is(0 if side == "at" else 1, priorities=("standard", "express")),
            wanted=is_("SPLIT") if side == "at" else _ended_by_stock("REJECT"),
        )
        yield Case(
            tags="boundary-whole",
            rows=2,
            change=_of_one_warehouse(0 if side == "at" else 1),
            wanted=matters("quantity", *((1, "FULFIL") if side == "at" else (-1, "SPLIT"))),
        )
    yield Case(
        tags="medical,counter-pack",
        rows=3,
        change=fixed(priority="medical"),
        wanted=lambda order: (
            len(order.ship_from) > 0 and order.differs(warehouses=_one_pack_less(order.row))
        ),
    )


def _short(backorder: str, priorities: tuple[str, ...]) -> Change:
    return lambda dice, row: row | {"priority": dice.pick(priorities), "backorder": backorder}


def _ended_by_stock(decision: str) -> Wanted:
    return lambda order: order.calls == ["get_account", "get_stock"] and order.decision == decision


def _of_all_there_is(more: int, priorities: tuple[str, ...]) -> Change:
    def change(dice: Dice, row: Row) -> Row:
        row = row | {"priority": dice.pick(priorities), "backorder": "no"}
        # One warehouse has promised more than it has: that takes nothing from the others.
        place = dice.pick(WAREHOUSES)
        promised = row["warehouses"][place] | {"allocated": 6, "on_hand": 4}
        row["warehouses"] = row["warehouses"] | {place: promised}
        return row | {"quantity": sum(Order(row).available.values()) + more}

    return change


def _of_one_warehouse(more: int) -> Change:
    def change(dice: Dice, row: Row) -> Row:
        return row | {"quantity": Order(row).available[dice.pick(WAREHOUSES)] + more}

    return change


def _one_pack_less(row: Row) -> dict[str, Any]:
    return {
        place: packs | {"on_hand": packs["on_hand"] - 1}
        for place, packs in row["warehouses"].items()
    }


def _pickups() -> Iterator[Case]:
    for tags, priority, rows, cells in (
        ("boundary-pickup", "express", 2, {}),
        ("boundary-pickup", "medical", 2, {}),
        ("boundary-pickup,large", "standard", 2, {"quantity": LARGE + 20}),
        ("boundary-ferry", "standard", 1, {"ship_to_zip": ISLAND_ZIPS[0]}),
        ("boundary-ferry", "express", 1, {"ship_to_zip": ISLAND_ZIPS[1]}),
    ):
        for late in (0, 1):
            yield Case(
                tags=tags,
                rows=rows,
                change=_received(priority, late, **cells),
                wanted=_both(_ready(1 - 2 * late), _ships if tags != "boundary-ferry" else _any),
            )
    for zip_code in ISLAND_ZIPS:
        yield Case(
            tags="island,too-late-for-the-ferry",
            rows=1,
            change=fixed(ship_to_zip=zip_code),
            wanted=_both(_off_the_island(FERRY), _ready(-FERRY)),
        )
    for quantity, minutes in ((LARGE, MORE_IF_LARGE), (LARGE + 1, -MORE_IF_LARGE)):
        yield Case(
            tags="boundary-large",
            rows=2,
            change=fixed(quantity=quantity),
            wanted=_both(_ready(minutes), _ships),
        )
    yield Case(
        tags="nothing-open",
        rows=3,
        wanted=lambda order: "get_pickup_schedule" in order.calls and not order.open,
    )


def _ready(minutes: int) -> Wanted:
    """Keep an order that would be decided otherwise, were it ready so many minutes later."""
    return lambda order: order.differs(received_at=later(order.row["received_at"], minutes))


def _off_the_island(minutes: int) -> Wanted:
    """The same, for a zip code of the same zone, ready so many minutes earlier."""
    return lambda order: order.differs(
        ship_to_zip="02601", received_at=later(order.row["received_at"], FERRY - minutes)
    )


def _ships(order: Order) -> bool:
    """So that not every order that is late is held: another warehouse ships it."""
    return bool(order.ship_from)


def _any(_: Order) -> bool:
    return True


def _both(one: Wanted, other: Wanted) -> Wanted:
    return lambda order: one(order) and other(order)


def _received(priority: str, late: int, **cells: Any) -> Change:
    """Ready when the last pickup of one warehouse goes, or later than that."""

    def change(dice: Dice, row: Row) -> Row:
        row = row | {"priority": priority} | cells
        zone = POLICY["zone_of"](row["ship_to_zip"])
        time = dice.pick([time for time in row["schedule"][zone].values() if time])
        needed = POLICY["MINUTES_TO_READY"][priority]
        needed += FERRY * (row["ship_to_zip"] in ISLAND_ZIPS)
        needed += MORE_IF_LARGE * (row["quantity"] > LARGE)
        return row | {"received_at": later(time, late - needed)}

    return change


def _warehouses() -> Iterator[Case]:
    yield Case(
        tags="home-before-more",
        rows=3,
        change=fixed(priority="standard"),
        wanted=lambda order: (
            order.ship_from == [order.home]
            and max(order.whole, key=lambda place: order.available[place]) != order.home
        ),
    )
    yield Case(
        tags="most-available",
        rows=3,
        change=fixed(priority="standard"),
        wanted=lambda order: (
            len(order.whole) > 1 and order.home not in order.whole and order.decision == "FULFIL"
        ),
    )
    yield Case(
        tags="equal-stock",
        rows=3,
        change=lambda _, row: row | {"priority": "standard", "warehouses": _levelled(row)},
        wanted=lambda order: (
            len(order.whole) > 1 and order.home not in order.whole and order.decision == "FULFIL"
        ),
    )
    yield Case(
        tags="earliest-pickup,shared-pickup",
        rows=3,
        change=fixed(priority="express"),
        wanted=lambda order: order.decision == "FULFIL" and _shares_the_earliest(order),
    )


def _shares_the_earliest(order: Order) -> bool:
    times = sorted(order.open[place] for place in order.whole)
    return len(times) > 1 and times[0] == times[1]


def _levelled(row: Row) -> dict[str, Any]:
    """The same to give at each warehouse but for the home, which has nothing."""
    home = POLICY["HOMES"][POLICY["zone_of"](row["ship_to_zip"])]
    return {
        place: row["warehouses"][place]
        | {"allocated": 3, "quarantine": number, "on_hand": 3 if place == home else 20 + number}
        for number, place in enumerate(WAREHOUSES)
    }


def _splits() -> Iterator[Case]:
    yield Case(
        tags="split,small-value",
        rows=3,
        change=_worth(28.0, ("express", "medical")),
        wanted=is_("SPLIT"),
    )
    for side, value, rows in (("at", 75.0, 2), ("below", 74.99, 2)):
        yield Case(
            tags="boundary-split-value",
            rows=rows,
            change=_worth(value, ("standard",)),
            wanted=(
                matters("order_value", -0.01, "SPLIT")
                if side == "at"
                else matters("order_value", 0.01, "HOLD")
            ),
        )
    for zip_code in ISLAND_ZIPS:
        yield Case(
            tags="island,no-split",
            rows=1,
            change=fixed(ship_to_zip=zip_code),
            # As ready for the ferry as it would be for any other carrier.
            wanted=_both(is_("HOLD"), _off_the_island(0)),
        )
    yield Case(
        tags="three-needed",
        rows=3,
        change=fixed(order_value=412.5),
        wanted=lambda order: (
            order.decision == "HOLD"
            and len(order.open) == len(WAREHOUSES)
            and order.zone != "Bay"
            and "get_pickup_schedule" in order.calls
        ),
    )


def _worth(value: float, priorities: tuple[str, ...]) -> Change:
    return lambda dice, row: row | {"order_value": value, "priority": dice.pick(priorities)}
