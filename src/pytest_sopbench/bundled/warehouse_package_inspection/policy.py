# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the Receiving Book as a function of a card and what the offices answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

# Money is in whole cents, values that are not rounded yet in fractions of them.
WRONG_ITEM_FEE, WRONG_ITEM_FEE_PER_CASE = 64_00, 2_40  # clause 3.3
LABEL_FEE, LABEL_LIMIT = 6, 48_00  # clause 3.4
MISROUTED_FEE, MISROUTED_FEE_PER_CASE = 38_00, 1_15  # clause 4.2
PASSED_PERCENT = 2  # clause 4.4
OVERAGE_FEE_PER_CASE = 4_25  # clause 4.6
FEWEST_DAMAGED = 4  # clause 4.8
RATES = {  # clause 5.3
    "shortage": {"standard": 100, "partner": 80, "trial": 50},
    "packing": {"standard": 110, "partner": 90, "trial": 60},
    "transit": {"standard": 70, "partner": 45, "trial": 30},
    "fee": {"standard": 100, "partner": 75, "trial": 100},
}
AMENDED_TRANSIT = {"standard": 55, "partner": 55, "trial": 20}  # clause 8.3
NOT_ON_TRIAL = frozenset({"OVERAGE", "OLD LABEL"})  # clause 5.4
HALF = Fraction(1, 2)  # clause 5.5
REPEATS, AMENDED_REPEATS = 3, 2  # clauses 6.2 and 8.4
REPEAT_DAYS, REPEAT_PERCENT = 90, 115  # clause 6.2
CARD_CEILINGS = {"standard": 1200_00, "partner": 750_00, "trial": 300_00}  # clause 6.3
SMALLEST, AMENDED_SMALLEST = 25_00, 40_00  # clauses 6.4 and 8.5
IN_THE_MONTH = frozenset({"posted", "held"})  # clause 6.5
CODES = {  # clause 7.1; of equal charges the first names the card, clause 5.6
    "WRONG ITEM": "WI",
    "MISROUTED": "MR",
    "SHORTAGE": "SH",
    "OVERAGE": "OV",
    "DAMAGE": "DM",
    "OLD LABEL": "OL",
}
AMENDED_FROM = "2026-03-16"  # clause 8.1
MORE_DAYS = 14  # clause 8.2

Call = Callable[..., Any]
Row: TypeAlias = Mapping[str, Any]
Finding: TypeAlias = tuple[str, str, Fraction]
"""A problem, the row of the table of clause 5.3, and the value or the fee."""


def decide(card: Row, call: Call) -> dict[str, Any]:
    """Return the answer to one receipt card; `call(tool, **arguments)` raises `ToolError`."""
    notice = notice_of(card, call)
    if notice is None:
        return answer("UNANNOUNCED", 0, "HELD")
    findings = findings_of(card, notice, call)
    if not findings:
        return answer("NO PROBLEM", 0, "ACCEPTED")

    vendor = notice["vendor_id"]
    agreement, ceiling = terms_of(card, vendor, call)
    charges = {one[0]: charge_of(card, one, agreement) for one in findings}
    problem = max(charges, key=lambda name: charges[name])
    cents = sum(charges.values())
    if cents:
        past = call("list_past_chargebacks", vendor_id=vendor)
        cents = raised(card, problem, cents, past)
        cents = lowered(card, min(cents, CARD_CEILINGS[agreement]), agreement)
        cents = left_of_month(card, cents, ceiling, past)
    if not cents:
        return answer(problem, 0, "WAIVED")
    entry = call(
        "post_chargeback",
        receipt_id=card["receipt_id"],
        vendor_id=vendor,
        code=CODES[problem],
        amount_cents=cents,
    )
    return answer(problem, cents, entry_status(entry["ledger_answer"]))


def answer(problem: str, cents: int, status: str) -> dict[str, Any]:
    """Clause 7.4."""
    return {
        "problem_type": problem,
        "chargeback_amount": cents / 100,
        "resolution_status": status,
    }


def entry_status(said: str) -> str:
    """Clause 7.2."""
    return "CHARGED" if said == "posted" else "AWAITING APPROVAL"


def amended(card: Row) -> bool:
    """Clause 8.1."""
    return bool(card["arrived_on"] >= AMENDED_FROM)


def notice_of(card: Row, call: Call) -> Row | None:
    """Clauses 2.1 and 2.2."""
    try:
        notice: Row = call("get_delivery_notice", delivery_number=card["delivery_number"])
    except ToolError:
        return None
    cancelled = notice["cancelled_on"]
    return None if cancelled and cancelled <= card["arrived_on"] else notice


def findings_of(card: Row, notice: Row, call: Call) -> list[Finding]:
    """Chapters 3 and 4, in the order of clause 5.6."""
    try:
        code = call("get_barcode", barcode=card["barcode"])
    except ToolError:
        return [("WRONG ITEM", "fee", Fraction(WRONG_ITEM_FEE))]
    in_cases = card["count_unit"] == "case"
    count = card["count"] * (code["eaches_per_case"] if in_cases else 1)
    announced = notice["item_announced"]
    if announced not in (code["item_number"], code["replaces_item"]):
        fee = WRONG_ITEM_FEE + WRONG_ITEM_FEE_PER_CASE * cases(count, code)
        return [("WRONG ITEM", "fee", Fraction(fee))]

    lines = call("find_order_lines", purchase_order=notice["purchase_order"], item=announced)
    lines = [line for line in lines if line["status"] == "open"]
    here = [line for line in lines if line["ship_to"] == card["dock"]]
    if lines and not here:
        found = misrouted(notice, cases(count, code))
    else:
        found = counted(here, count, code)
    if lines:
        found += damage(card, notice, here or lines, call)
    return found + old_label(card, code, count)


def cases(counted_eaches: int, code: Row) -> int:
    """Clause 1.4: cases to be charged, a part of one as a whole one."""
    size: int = code["eaches_per_case"]
    return -(-counted_eaches // size)


def misrouted(notice: Row, counted_cases: int) -> list[Finding]:
    """Clause 4.2."""
    fee = MISROUTED_FEE + MISROUTED_FEE_PER_CASE * counted_cases
    return [("MISROUTED", "fee", Fraction(0 if notice["freight"] == "ours" else fee))]


def counted(lines: Sequence[Row], count: int, code: Row) -> list[Finding]:
    """Clauses 4.3 to 4.6."""
    expected = sum(map(eaches, lines))
    passed = expected * PASSED_PERCENT // 100
    if expected - count > passed:
        return [("SHORTAGE", "shortage", missing_value(lines, count))]
    over = count - expected
    if over > passed:
        return [("OVERAGE", "fee", Fraction(OVERAGE_FEE_PER_CASE * cases(over, code)))]
    return []


def eaches(line: Row) -> int:
    """Clause 4.3: what a line still expects."""
    left: int = line["ordered"] - line["received_before"]
    return pack(line) * max(0, left)


def pack(line: Row) -> int:
    """Clause 1.4: the eaches in the unit in which a line is written."""
    size: int = line["eaches_per_case"]
    return size if line["unit"] == "case" else 1


def price(line: Row) -> Fraction:
    """The price of one each."""
    return Fraction(to_cents(line["unit_price"]), pack(line))


def missing_value(lines: Sequence[Row], count: int) -> Fraction:
    """Clause 4.5."""
    value = Fraction(0)
    for line in sorted(lines, key=lambda one: (one["due_on"], one["line"])):
        filled = min(count, eaches(line))
        count -= filled
        value += price(line) * (eaches(line) - filled)
    return value


def damage(card: Row, notice: Row, lines: Sequence[Row], call: Call) -> list[Finding]:
    """Clauses 4.7 to 4.9."""
    try:
        report = call("get_damage_report", receipt_id=card["receipt_id"])
    except ToolError:
        return []
    cause = report["cause"]
    if cause == "unknown":
        cause = "transit" if report["seen_before_unloading"] else "handling"
    ours = cause == "handling" or (cause == "transit" and notice["freight"] == "ours")
    if ours or report["damaged_eaches"] < FEWEST_DAMAGED:
        return []
    return [("DAMAGE", cause, report["damaged_eaches"] * min(map(price, lines)))]


def old_label(card: Row, code: Row, count: int) -> list[Finding]:
    """Clauses 3.4 and 8.6."""
    retired = code["retired_on"]
    if retired is None or retired > card["arrived_on"]:
        return []
    fee = LABEL_FEE * count
    return [("OLD LABEL", "fee", Fraction(fee if amended(card) else min(fee, LABEL_LIMIT)))]


def terms_of(card: Row, vendor: str, call: Call) -> tuple[str, float | None]:
    """Clauses 5.2 and 8.2: the agreement and the monthly ceiling that hold."""
    terms = call("get_vendor_terms", vendor_id=vendor)
    last = date.fromisoformat(terms["valid_through"])
    if amended(card):
        last += timedelta(days=MORE_DAYS)
    if date.fromisoformat(card["arrived_on"]) > last:
        return "standard", None
    return terms["agreement"], terms["monthly_ceiling"]


def charge_of(card: Row, finding: Finding, agreement: str) -> int:
    """Clauses 5.3 to 5.5."""
    problem, row, value = finding
    if agreement == "trial" and problem in NOT_ON_TRIAL:
        return 0
    rates = AMENDED_TRANSIT if row == "transit" and amended(card) else RATES[row]
    return half_up(value * rates[agreement] / 100)


def half_up(cents: Fraction) -> int:
    """Clause 5.5."""
    return floor(cents + HALF)


def raised(card: Row, problem: str, cents: int, past: Sequence[Row]) -> int:
    """Clauses 6.2 and 8.4."""
    arrived = date.fromisoformat(card["arrived_on"])
    alike = [
        one
        for one in past
        if one["code"] == CODES[problem]
        and one["status"] == "posted"
        and (arrived - date.fromisoformat(one["entered_on"])).days <= REPEAT_DAYS
    ]
    needed = AMENDED_REPEATS if amended(card) else REPEATS
    return half_up(Fraction(cents * REPEAT_PERCENT, 100)) if len(alike) >= needed else cents


def lowered(card: Row, cents: int, agreement: str) -> int:
    """Clauses 6.4 and 8.5."""
    smallest = AMENDED_SMALLEST if amended(card) and agreement != "trial" else SMALLEST
    return 0 if cents < smallest else cents


def left_of_month(card: Row, cents: int, ceiling: float | None, past: Sequence[Row]) -> int:
    """Clause 6.5."""
    if ceiling is None:
        return cents
    month = card["arrived_on"][:7]
    used = sum(
        to_cents(one["amount"])
        for one in past
        if one["status"] in IN_THE_MONTH and one["entered_on"][:7] == month
    )
    return max(0, min(cents, to_cents(ceiling) - used))


def to_cents(dollars: float) -> int:
    """Whole cents, so that sums are exact."""
    return int(Decimal(str(dollars)) * 100)
