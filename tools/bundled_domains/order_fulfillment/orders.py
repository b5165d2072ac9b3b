"""Orders as they come in on any day, and what the policy makes of each, step by step."""

from __future__ import annotations

import json
import runpy
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, bundled, decided
from bundled_domains.worlds import answers_in

FOLDER = bundled("order_fulfillment")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
ANSWERS = answers_in(FOLDER)
METADATA: dict[str, Any] = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))
WAREHOUSES = ("HFD", "MAN", "NWK")
LEDGER = ("warehouses", "reservation")
PREFIXES = {"Bay": (10, 29), "North": (30, 59), "Sound": (60, 69), "Jersey": (70, 89)}
PICKUPS = {  # last pickups of each day at HFD, MAN and NWK, for each zone; - is none
    "2026-03-09": {
        "Bay": "15:30 16:30 14:00",
        "North": "14:30 16:00 13:00",
        "Sound": "17:00 14:45 15:15",
        "Jersey": "15:00 13:30 17:00",
    },
    "2026-03-10": {
        "Bay": "14:15 15:00 14:15",
        "North": "- 15:00 12:30",
        "Sound": "16:30 - 15:30",
        "Jersey": "15:30 12:00 16:45",
    },
    "2026-03-11": {
        "Bay": "16:00 15:15 13:45",
        "North": "13:45 14:30 -",
        "Sound": "15:45 15:45 14:00",
        "Jersey": "14:00 14:00 15:30",
    },
    "2026-03-12": {
        "Bay": "15:30 17:15 12:45",
        "North": "15:00 17:15 14:00",
        "Sound": "16:15 13:15 16:15",
        "Jersey": "16:15 - 17:30",
    },
    "2026-03-13": {
        "Bay": "13:30 14:30 13:30",
        "North": "12:45 14:30 12:00",
        "Sound": "14:45 13:00 13:45",
        "Jersey": "13:30 12:15 14:15",
    },
}
NOTES = (
    "",
    "",
    "",
    "Please ring the bell twice, the dog is deaf.",
    "A single parcel would be nice.",
    "Ship from Hartford if you can, it was quicker last time.",
    "Needed by Saturday!",
    "No hurry at all.",
    "Leave with the neighbours at number 12.",
    "Gift. Please no invoice in the box.",
    "We have paid the March invoice by cheque today.",
    "Rather send a part now than nothing.",
    "Dock is closed from 12 to 1.",
    "Same as my order of last autumn.",
    "URGENT, the clinic is waiting for it.",
    "Do not split, the porter signs once only.",
)

Row: TypeAlias = dict[str, Any]


class Order:
    """A row with what the policy makes of it, step by step."""

    def __init__(self, row: Row) -> None:
        self.row = row
        found = decided(POLICY["decide"], row, ANSWERS(METADATA["tools"], in_ledger(row)))
        self.decision: str = found.answer["decision"]
        self.ship_from: list[str] = found.answer["ship_from"]
        self.calls = [call["name"] for call in found.calls]
        reserved: list[list[Row]] = [
            call["arguments"]["parcels"] for call in found.calls if "parcels" in call["arguments"]
        ]
        self.parcels = reserved[0] if reserved else []
        self.zone: str | None = POLICY["zone_of"](row["ship_to_zip"])

    @property
    def home(self) -> str:
        return str(POLICY["HOMES"][self.zone])

    @property
    def available(self) -> dict[str, int]:
        medical = self.row["priority"] == "medical"
        pieces: dict[str, int] = POLICY["available_pieces"](self.row, medical=medical)
        return pieces

    @property
    def open(self) -> dict[str, int]:
        times = self.row["schedule"][self.zone]
        pickups = {place: POLICY["minutes"](time) for place, time in times.items() if time}
        found: dict[str, int] = POLICY["open_pickups"](self.row, pickups)
        return found

    @property
    def whole(self) -> list[str]:
        """The open warehouses that could ship it alone."""
        return [place for place in self.open if self.available[place] >= self.row["quantity"]]

    def differs(self, **other: Any) -> bool:
        """Whether it would have been decided otherwise, had these cells been others."""
        order = Order(self.row | other)
        return (order.decision, order.ship_from) != (self.decision, self.ship_from)


def in_ledger(row: Row, dice: Dice | None = None) -> Row:
    """The row with its stock in a world of its own, in place of the cells that tell of it.

    Where the ledger refuses, other desks are quicker at one of the warehouses that the order needs.
    What they take elsewhere is drawn; without dice it is all that there is, or nothing.
    """
    told = {name: value for name, value in row.items() if name not in LEDGER}
    if row["warehouses"] is None:
        return told | {"world": None}
    refused = row["reservation"] == "refused"
    shelves = {place: row["warehouses"][place] | {"pending": 0} for place in WAREHOUSES}
    needed = {
        parcel["warehouse"]: -(-parcel["pieces"] // row["pack_size"])
        for parcel in (Order(row | {"reservation": "confirmed"}).parcels if dice else ())
    }
    for place, shelf in shelves.items():
        free = max(0, shelf["on_hand"] - shelf["allocated"] - shelf["quarantine"])
        if dice is None:
            shelf["pending"] = free if refused else 0
        elif refused and place == next(iter(needed)):
            shelf["pending"] = free - dice.below(needed[place])
        else:
            shelf["pending"] = dice.below(1 + max(0, free - needed.get(place, 0)))
    stock = [
        {"shelf": f"{row['article']} {place}", "article": row["article"], "warehouse": place}
        | shelf
        for place, shelf in shelves.items()
    ]
    return told | {"world": {"stock": stock}}


def draft(dice: Dice, number: str, article: str) -> Row:
    """An order that nothing stands against, as it comes in on any day."""
    zone = dice.pick(tuple(PREFIXES))
    # Where a zone begins and ends is met as often as what lies between.
    first, last = PREFIXES[zone]
    prefix = dice.pick((first, last, dice.between(first, last)))
    quantity = dice.between(2, dice.pick((12, 40, 120)))
    day = dice.pick(tuple(PICKUPS))
    return {
        "order_id": f"SO-{number}",
        "customer_id": f"C{dice.between(0, 999_999):06}",
        "article": article,
        "quantity": quantity,
        "order_value": dice.between(quantity * 150, quantity * 2_400) / 100,
        "payment": dice.pick(("account", "account", "account", "prepaid")),
        "priority": dice.pick(("standard", "standard", "express", "express", "medical")),
        "backorder": dice.pick(("yes", "no")),
        "ship_to_zip": f"{prefix:03}{dice.between(1, 53):02}",
        "ship_day": day,
        "received_at": later("07:00", dice.between(0, 500)),
        "note": dice.pick(NOTES) or None,
        **_account(dice),
        **_stock(dice, quantity),
        "schedule": {
            zone: {
                place: None if time == "-" else time
                for place, time in dice.shuffled(zip(WAREHOUSES, times.split(), strict=True))
            }
            for zone, times in PICKUPS[day].items()
        },
        "reservation": "confirmed",
    }


def _account(dice: Dice) -> Row:
    standing = dice.pick(("good", "good", "good", "watch"))
    limit = dice.pick((2_000, 2_500, 4_000, 5_000, 7_500))
    days = dice.pick((0, 0, 0, 3, 8, 22) if standing == "good" else (0, 0, 4, 9))
    return {
        "standing": standing,
        "open_balance": dice.between(0, 25 * limit) / 100,
        "credit_limit": limit,
        "days_overdue": days,
    }


def _stock(dice: Dice, quantity: int) -> Row:
    """Packs of which some warehouses have enough, and some a part of it."""
    size = dice.pick((1, 4, 6, 10, 12, 20))
    needed = -(-quantity // size)
    warehouses: dict[str, dict[str, int]] = {}
    for place in WAREHOUSES:
        free = needed * dice.pick((0, 3, 5, 6, 8, 11, 14, 20)) // 10 + dice.below(2)
        allocated, quarantine = dice.below(7), dice.pick((0, 0, 1, 2, 5))
        on_hand = max(0, free + allocated + quarantine + dice.pick((1, 1, 1, 0)))
        warehouses[place] = {
            "on_hand": on_hand,
            "allocated": allocated,
            "quarantine": quarantine,
        }
    return {"pack_size": size, "warehouses": warehouses}


def later(time: str, minutes: int) -> str:
    """A time of day so many minutes after another."""
    at = POLICY["minutes"](time) + minutes
    return f"{at // 60:02}:{at % 60:02}"
