"""Receipts as they come on any day, and what the policy makes of each."""

from __future__ import annotations

import json
import runpy
from datetime import date, timedelta
from functools import cached_property
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, bundled, decided, look_ups

FOLDER = bundled("warehouse_package_inspection")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
METADATA: dict[str, Any] = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))
FIRST_DAY, DAYS = date(2026, 2, 3), 96
DOCKS = ("ELM", "PIER", "YARD")
PACKS = (4, 6, 8, 10, 12, 20, 24)
NOTICE = ("vendor_id", "purchase_order", "item_announced", "freight", "cancelled_on")
BARCODE = ("item_number", "eaches_per_case", "replaces_item", "retired_on")
DAMAGE = ("damaged_eaches", "cause", "seen_before_unloading")
# What was changed in how many eaches of a hundred, between order and count.
DEVIATIONS = (0, 0, 0, -1, 1, -4, -8, -15, -30, 6, 20, 45)
REMARKS = (
    None,
    None,
    None,
    "Driver swears it is all there.",
    "Looks like the right stuff to me.",
    "One pallet was leaning.",
    "Shrink wrap torn, probably nothing.",
    "Counted twice, Ola and me.",
    "Wrong colour of tape, so surely the wrong goods.",
    "Vendor called, wants this one forgiven.",
    "Driver says the fork at our last stop did it.",
    "Please be quick, the aisle is blocked.",
    "Some cases wet on one side.",
    "Paperwork was for ELM, I think.",
    "Charge them double, third time this month!",
    "Too many by my reckoning.",
    "Label peels off.",
    "Nothing to report.",
)

Row: TypeAlias = dict[str, Any]


class Receipt:
    """A row with what the policy makes of it, step by step."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.answer = decided(POLICY["decide"], row, look_ups(METADATA["tools"], row)).answer
        self.problem: str = self.answer["problem_type"]
        self.status: str = self.answer["resolution_status"]
        self.amended: bool = POLICY["amended"](row)

    @cached_property
    def findings(self) -> list[Any]:
        if self.problem in {"UNANNOUNCED", "NO PROBLEM"}:
            return []
        found: list[Any] = POLICY["findings_of"](self.row, self.row, self._call)
        return found

    @cached_property
    def terms(self) -> tuple[str, float | None]:
        """The agreement and the monthly ceiling that hold; no agreement if nothing is wrong."""
        if not self.findings:
            return "", None
        terms: tuple[str, float | None] = POLICY["terms_of"](
            self.row, self.row["vendor_id"], self._call
        )
        return terms

    @cached_property
    def charges(self) -> dict[str, int]:
        agreement, _ = self.terms
        charge_of = POLICY["charge_of"]
        return {one[0]: charge_of(self.row, one, agreement) for one in self.findings}

    @property
    def agreement(self) -> str:
        return self.terms[0]

    def _call(self, name: str, /, **arguments: Any) -> Any:
        return look_ups(METADATA["tools"], self.row)(name, arguments)

    @property
    def cents(self) -> int:
        dollars: float = self.answer["chargeback_amount"]
        return round(100 * dollars)

    @property
    def total(self) -> int:
        """The sum of the charges."""
        return sum(self.charges.values())

    @property
    def raised(self) -> int:
        if not self.total:
            return 0
        past = self.row["past_chargebacks"]
        cents: int = POLICY["raised"](self.row, self.problem, self.total, past)
        return cents

    @property
    def lines(self) -> list[Row]:
        """The open lines of the announced item."""
        announced = self.row["item_announced"]
        lines = self.row["order_lines"]
        return [one for one in lines if one["item"] == announced and one["status"] == "open"]

    @property
    def here(self) -> list[Row]:
        return [one for one in self.lines if one["ship_to"] == self.row["dock"]]

    @property
    def expected(self) -> int:
        return sum(map(POLICY["eaches"], self.here))

    @property
    def count(self) -> int:
        """The count in eaches."""
        size: int = (self.row["eaches_per_case"] or 0) if self.row["count_unit"] == "case" else 1
        return size * int(self.row["count"])

    def differs(self, **cells: Any) -> bool:
        """Whether the answer would be another, had these cells been others."""
        return bool(Receipt(self.row | cells).answer != self.answer)


def days_from(row: Row, days: int) -> str:
    """The day so many days after the arrival, or before it."""
    return (date.fromisoformat(row["arrived_on"]) + timedelta(days=days)).isoformat()


def draft(dice: Dice, number: int) -> Row:
    """A receipt with whatever may happen to one."""
    item = _item(dice)
    row: Row = {
        "receipt_id": f"RC-{number:06}",
        "delivery_number": f"DN{dice.between(0, 9_999_999):07}",
        "dock": dice.pick(DOCKS),
        "arrived_on": (FIRST_DAY + timedelta(days=dice.below(DAYS))).isoformat(),
        "barcode": f"0{dice.between(10**9, 10**10 - 1)}{dice.between(10, 99)}",
        "count": 0,
        "count_unit": dice.pick(("each", "each", "case")),
        "remark": dice.pick(REMARKS),
        "vendor_id": f"V-{dice.between(0, 99_999):05}",
        "purchase_order": f"PO-{dice.between(0, 999_999):06}",
        "item_announced": item,
        "freight": dice.pick(("vendor", "vendor", "ours")),
        "cancelled_on": None,
        "item_number": item,
        "eaches_per_case": dice.pick(PACKS),
        "replaces_item": None,
        "retired_on": None,
    }
    row |= _barcode(dice, row)
    row["order_lines"] = dice.shuffled(_lines(dice, row))
    row["count"] = _count(row, dice.pick(DEVIATIONS))
    row |= _damage(dice) | _terms(dice, row)
    row["past_chargebacks"] = _past(dice, row)
    return row | {
        "ledger_answer": dice.pick(("posted", "posted", "posted", "held", "held")),
        "open_claims": dice.below(4),
        "shelves": [
            {"item": one, "aisle": f"{dice.pick('ABCDEFG')}{dice.between(1, 40)}"}
            for one in sorted({item, row["item_number"]})
        ],
        "photos": dice.below(9),
        "last_photo_at": f"{dice.between(6, 18):02}:{dice.below(60):02}",
        "contact": f"extension {dice.between(100, 999)}",
    }


def _item(dice: Dice) -> str:
    letters = "BCDFGHKLMNPRSTVW"
    return f"{dice.pick(letters)}{dice.pick(letters)}-{dice.between(0, 9_999):04}"


def _barcode(dice: Dice, row: Row) -> Row:
    cells: Row = {}
    kind = dice.below(10)
    if kind in {0, 1}:
        cells = {"item_number": _item(dice), "replaces_item": row["item_announced"]}
    if kind == 2:  # noqa: PLR2004 - one in ten
        cells = {"replaces_item": _item(dice)}
    retired = dice.pick((None, None, None, -dice.between(1, 300), dice.between(2, 90)))
    return cells | {"retired_on": None if retired is None else days_from(row, retired)}


def line(dice: Dice, row: Row, number: int, **cells: Any) -> Row:
    """An open line for the dock of the card, of which a part may have come already."""
    size = dice.pick((row["eaches_per_case"], dice.pick(PACKS)))
    unit = dice.pick(("each", "case"))
    ordered = dice.between(3, 18) if unit == "case" else 5 * dice.between(6, 44)
    each = dice.between(45, dice.pick((400, 1_100)))
    return {
        "item": row["item_announced"],
        "line": number,
        "status": "open",
        "ship_to": row["dock"],
        "unit": unit,
        "eaches_per_case": size,
        "ordered": ordered,
        "received_before": dice.pick((0, 0, 0, dice.between(1, ordered - 1))),
        "unit_price": (each * size + dice.below(size) if unit == "case" else each) / 100,
        "due_on": days_from(row, dice.between(-12, 12)),
        **cells,
    }


def _lines(dice: Dice, row: Row) -> list[Row]:
    wanted: list[Row] = [{}] * dice.pick((1, 1, 2, 2, 3))
    closed = {"status": dice.pick(("closed", "cancelled"))}
    elsewhere = {"ship_to": dice.pick([dock for dock in DOCKS if dock != row["dock"]])}
    other = {"item": row["item_number"] if row["replaces_item"] else _item(dice)}
    more = [one for one in (closed, elsewhere, other) if dice.below(5) < 2]  # noqa: PLR2004 - two in five
    cells = dice.shuffled([*wanted, *more])
    return [line(dice, row, 1 + number, **one) for number, one in enumerate(cells)]


def _count(row: Row, deviation: int) -> int:
    """So many of a hundred more than expected, in the unit of the card."""
    here = [one for one in row["order_lines"] if _is_expected(row, one)]
    expected = sum(map(POLICY["eaches"], here))
    if row["count_unit"] == "case":
        expected = -(-expected // row["eaches_per_case"])
    return int(max(1, expected + expected * deviation // 100))


def _is_expected(row: Row, one: Row) -> bool:
    wanted = (row["item_announced"], "open", row["dock"])
    return (one["item"], one["status"], one["ship_to"]) == wanted


def _damage(dice: Dice) -> Row:
    if dice.below(5) < 2:  # noqa: PLR2004 - two in five
        return dict.fromkeys(DAMAGE)
    causes = ("packing", "packing", "transit", "transit", "handling", "unknown", "unknown")
    return {
        "damaged_eaches": dice.between(1, dice.pick((8, 24))),
        "cause": dice.pick(causes),
        "seen_before_unloading": dice.pick((True, False)),
    }


def _terms(dice: Dice, row: Row) -> Row:
    runs = dice.pick((*[dice.between(20, 400)] * 4, -dice.between(1, 40)))
    ceilings = (None, None, None, 300, 450, 600, 900, 1_500, 2_400)
    return {
        "agreement": dice.pick(("standard", "standard", "partner", "partner", "trial")),
        "valid_through": days_from(row, runs),
        "monthly_ceiling": dice.pick(ceilings),
    }


def past(dice: Dice, row: Row, days: int, code: str, status: str) -> Row:
    """An earlier chargeback, so many days before the arrival."""
    return {
        "entered_on": days_from(row, -days),
        "code": code,
        "amount": dice.between(2_600, 24_000) / 100,
        "status": status,
    }


def _past(dice: Dice, row: Row) -> list[Row]:
    codes = list(POLICY["CODES"].values())
    usual = dice.pick(("SH", "SH", "DM", *codes))
    statuses = ("posted", "posted", "posted", "held", "reversed")
    return [
        past(
            dice,
            row,
            dice.between(1, dice.pick((25, 130))),
            dice.pick((usual, usual, *codes)),
            dice.pick(statuses),
        )
        for _ in range(dice.below(7))
    ]
