# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: chapter 11 of the manual and Bulletin 31, as a function of a sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

Call: TypeAlias = Callable[..., Any]
Component: TypeAlias = Mapping[str, Any]
Limits: TypeAlias = tuple[str, float, float | None, float | None, float | None]

BULLETIN_DAY = date.fromisoformat("2025-09-01")  # clause 31.1
BASE = {"kPa": 1, "bar": 100, "psi": 6.895, "V": 1000, "mV": 1, "kohm": 1, "Mohm": 1000} | {
    "mm": 1,
    "in": 25.4,
}  # Annex C
MECHANICAL: dict[str, Limits] = {  # Annex A: unit, low, deferred low, high, deferred high
    "HYD": ("bar", 70.0, 66.0, 78.0, None),
    "MTY": ("psi", 88.0, 84.0, 96.0, None),
    "NTY": ("kPa", 400.0, None, 455.0, None),
    "BRK": ("mm", 3.0, 2.2, None, None),
    "OXY": ("bar", 92.0, None, 128.0, None),
}
ELECTRICAL: dict[str, Limits] = {
    "BAT": ("V", 24.6, 24.1, 28.4, None),
    "STB": ("V", 23.8, None, None, None),
    "GEN": ("V", 27.6, None, 28.9, 29.3),
    "EML": ("mV", 5900, 5600, None, None),
    "INS": ("Mohm", 2.0, 1.5, None, None),
}
PETREL: dict[str, Limits] = {  # Annex B
    "MTY": ("psi", 62.0, 59.0, 70.0, None),
    "BRK": ("mm", 2.5, None, None, None),
}
FULMAR_SINCE_BULLETIN: dict[str, Limits] = {"BRK": ("mm", 3.4, 2.6, None, None)}  # clause 31.3
CRITICAL = {"OXY", "STB"}  # Annex A, the items with a dagger
OLD = timedelta(minutes=180)  # clause 11.11
HOT, HOT_PSI = 90, 4.0  # clause 11.12
HOT_SINCE_BULLETIN = 120  # clause 31.2
COLD_ITEMS, COLD_DEGREES, COLD_VOLTS = {"BAT", "STB"}, 0, 0.4  # clause 11.13
TOO_MANY_DEFERRED = 3  # clause 11.15
SOON = timedelta(minutes=180)  # clause 11.17
KILOGRAMS = {"kg": 1, "lb": 0.4536, "l": 0.8}  # Annex C
PILOTS_KG, ATTENDANT_KG = 170, 75
HEAVIEST, PERCENT_ON_WHEELS = {"Fulmar": 12_900, "Petrel": 7_200}, 95  # clause 11.20
NEAR_KG = {"Fulmar": 60, "Petrel": 40}  # clause 11.21
METER_MINUTES = 6  # clause 11.23
EXTENSION, PETREL_EXTENSION_SINCE_BULLETIN = 600, 480  # clauses 11.24, 31.5


def decide(sheet: Mapping[str, Any], call: Call) -> dict[str, str]:
    """Return the seven entries of one sheet; `call(tool, **arguments)` raises `ToolError`."""
    listed = call("find_components", tail_number=sheet["tail_number"])
    log = call("get_journey_log", tail_number=sheet["tail_number"])
    limits = limits_of(sheet)
    components = [one for one in listed if one["status"] == "fitted" and one["item"] in limits]
    examined = [one for one in components if not placarded(one, sheet)]

    differing, waived = plates(sheet, examined, call)
    readings = {
        one["position"]: reading(sheet, one, log, limits, call)
        for one in examined
        if one["position"] not in differing
    }
    findings = {
        one["position"]: finding(sheet, one, readings.get(one["position"]), limits)
        if one in examined
        else "DEFERRED"
        for one in components
    }

    mechanical = verdict(components, findings, MECHANICAL)
    electrical = verdict(components, findings, ELECTRICAL)
    deferred = [one for one in components if findings[one["position"]] == "DEFERRED"]
    entries = {
        "mechanical_verdict": mechanical,
        "electrical_verdict": electrical,
        "mismatch_report": mismatch_report(sheet, differing, waived, call),
        "incident_report": incident_report(sheet, components, readings, findings, call),
        "weight_check": weight_check(sheet, log, deferred),
        "time_check": time_check(sheet, log, deferred),
    }
    return entries | {"clearance": clearance(sheet, entries, log, deferred, call)}


def day_of(sheet: Mapping[str, Any]) -> date:
    """The day of the inspection."""
    return datetime.fromisoformat(sheet["inspected_at"]).date()


def since_bulletin(sheet: Mapping[str, Any]) -> bool:
    """Clause 31.1."""
    return day_of(sheet) >= BULLETIN_DAY


def limits_of(sheet: Mapping[str, Any]) -> dict[str, Limits]:
    """The rows of the annexes that are good for this aircraft, day and scope; clause 11.5."""
    limits = {
        "full": MECHANICAL | ELECTRICAL,
        "mechanical": MECHANICAL,
        "electrical": ELECTRICAL,
    }[sheet["scope"]]
    special: Mapping[str, Limits] = {}
    if sheet["aircraft_type"] == "Petrel":
        special = PETREL
    elif since_bulletin(sheet):
        special = FULMAR_SINCE_BULLETIN
    return {item: special.get(item, usual) for item, usual in limits.items()}


def placarded(component: Component, sheet: Mapping[str, Any]) -> bool:
    """Clause 11.6."""
    until = component["placard_until"]
    return until is not None and date.fromisoformat(until) >= day_of(sheet)


def plates(
    sheet: Mapping[str, Any], examined: Iterable[Component], call: Call
) -> tuple[dict[str, str], bool]:
    """The plates that differ, by position, and whether a loan tag covers another; clause 11.8."""
    differing: dict[str, str] = {}
    waived = False
    for one in examined:
        position, listed = one["position"], one["listed_serial"]
        if listed is None:
            continue
        try:
            plate = call("read_plate", tail_number=sheet["tail_number"], position=position)
        except ToolError:
            differing[position] = "ILLEGIBLE"  # clause 11.9
            continue
        if plain(plate["plate_serial"]) == plain(listed):
            continue
        if on_loan(sheet, one["item"], plate["loan_until"]):
            waived = True
        else:
            differing[position] = plate["plate_serial"]
    return differing, waived


def plain(serial: str) -> str:
    """Clause 11.8: a serial without hyphens and spaces, in capitals."""
    return serial.replace("-", "").replace(" ", "").upper()


def on_loan(sheet: Mapping[str, Any], item: str, until: str | None) -> bool:
    """Clauses 11.9 and 31.4."""
    if until is None or date.fromisoformat(until) < day_of(sheet):
        return False
    return not (since_bulletin(sheet) and item in CRITICAL)


def reading(
    sheet: Mapping[str, Any],
    component: Component,
    log: Mapping[str, Any],
    limits: Mapping[str, Limits],
    call: Call,
) -> Decimal | None:
    """What the gauge shows, in the unit of the annex; None is unread, clause 11.11."""
    position, item = component["position"], component["item"]
    try:
        shown = call("read_gauge", tail_number=sheet["tail_number"], position=position)
    except ToolError:
        return None
    taken = datetime.fromisoformat(shown["taken_at"])
    if datetime.fromisoformat(sheet["inspected_at"]) - taken > OLD:
        return None
    value = exact(shown["reading"]) * exact(BASE[shown["unit"]]) / exact(BASE[limits[item][0]])
    value = value.quantize(Decimal("0.1"), ROUND_HALF_UP)
    hot = timedelta(minutes=HOT_SINCE_BULLETIN if since_bulletin(sheet) else HOT)
    if item == "MTY" and taken - datetime.fromisoformat(log["landed_at"]) <= hot:
        value -= exact(HOT_PSI)
    return value


def exact(number: float) -> Decimal:
    """The number as it is written."""
    return Decimal(str(number))


def finding(
    sheet: Mapping[str, Any],
    component: Component,
    value: Decimal | None,
    limits: Mapping[str, Limits],
) -> str:
    """Clauses 11.10, 11.13 and 11.14."""
    item = component["item"]
    _, low, deferred_low, high, deferred_high = limits[item]
    if value is None:
        return beyond(deferred_low is not None or deferred_high is not None)
    cold = item in COLD_ITEMS and sheet["outside_celsius"] < COLD_DEGREES
    allowed = exact(COLD_VOLTS if cold else 0)
    if value < exact(low) - allowed:
        return beyond(deferred_low is not None and value >= exact(deferred_low) - allowed)
    if high is not None and value > exact(high):
        return beyond(deferred_high is not None and value <= exact(deferred_high))
    return "FIT"


def beyond(deferrable: bool) -> str:
    """Clause 11.14."""
    return "DEFERRED" if deferrable else "REJECTED"


def verdict(
    components: Iterable[Component], findings: Mapping[str, str], group: Mapping[str, Limits]
) -> str:
    """Clauses 11.5 and 11.15."""
    found = [findings[one["position"]] for one in components if one["item"] in group]
    if not found:
        return "NOT APPLICABLE"
    if "REJECTED" in found or found.count("DEFERRED") >= TOO_MANY_DEFERRED:
        return "REJECTED"
    return "DEFERRED" if "DEFERRED" in found else "FIT"


def mismatch_report(
    sheet: Mapping[str, Any],
    differing: Mapping[str, str],
    waived: bool,
    call: Call,
) -> str:
    """Clause 11.16."""
    if not differing:
        return "WAIVED" if waived else "NOT APPLICABLE"
    parts = [{"position": place, "plate_serial": plate} for place, plate in differing.items()]
    answer = call("file_mismatch_report", sheet_id=sheet["sheet_id"], parts=parts)
    return "QUARANTINE" if answer["stores"] == "quarantined" else "FILED"


def incident_report(
    sheet: Mapping[str, Any],
    components: Sequence[Component],
    readings: Mapping[str, Decimal | None],
    findings: Mapping[str, str],
    call: Call,
) -> str:
    """Clauses 11.17 and 11.18."""
    outside = [
        one
        for one in components
        if readings.get(one["position"]) is not None and findings[one["position"]] != "FIT"
    ]
    if not outside:
        return "NOT APPLICABLE"
    rejected = [one for one in outside if findings[one["position"]] == "REJECTED"]
    wait = datetime.fromisoformat(sheet["departs_at"]) - datetime.fromisoformat(
        sheet["inspected_at"]
    )
    urgent = (
        len(outside) > 1
        or any(one["item"] in CRITICAL for one in rejected)
        or (rejected and wait < SOON)
    )
    answer = call(
        "file_incident_report",
        sheet_id=sheet["sheet_id"],
        positions=[one["position"] for one in outside],
        urgency="URGENT" if urgent else "ROUTINE",
    )
    if answer["safety_office"] == "joined":
        return "JOINED"
    return "URGENT" if urgent else "ROUTINE"


def weight_check(
    sheet: Mapping[str, Any], log: Mapping[str, Any], deferred: Iterable[Component]
) -> str:
    """Clauses 11.19 to 11.21."""
    if sheet["purpose"] == "ground run":
        return "NOT APPLICABLE"
    weight = takeoff_weight(sheet, log)
    heaviest = HEAVIEST[sheet["aircraft_type"]]
    if any(one["item"] in {"MTY", "BRK"} for one in deferred):
        heaviest = heaviest * PERCENT_ON_WHEELS // 100
    if weight > heaviest:
        return "EXCEEDS"
    declared = whole(exact(sheet["declared_weight"]) * exact(KILOGRAMS[sheet["declared_unit"]]))
    return "DIFFERS" if abs(declared - weight) > NEAR_KG[sheet["aircraft_type"]] else "AGREES"


def takeoff_weight(sheet: Mapping[str, Any], log: Mapping[str, Any]) -> int:
    """Clause 11.19, in kilograms; 0 for a ground run, clause 11.27."""
    if sheet["purpose"] == "ground run":
        return 0
    attendant = sheet["purpose"] == "line" and sheet["aircraft_type"] == "Fulmar"
    return whole(
        log["empty_weight_kg"]
        + PILOTS_KG
        + (ATTENDANT_KG if attendant else 0)
        + exact(log["payload"]) * exact(KILOGRAMS[log["payload_unit"]])
        + exact(log["fuel"]) * exact(KILOGRAMS[log["fuel_unit"]])
    )


def whole(number: Decimal) -> int:
    """Clause 11.19: whole kilograms, half up."""
    return int(number.to_integral_value(ROUND_HALF_UP))


def minutes_left(sheet: Mapping[str, Any], log: Mapping[str, Any]) -> int:
    """Clause 11.22."""
    planned: int = sheet["flight_minutes"]
    return minutes(log["check_due"]) - minutes(log["flown"]) - planned


def minutes(hours: str) -> int:
    """Clause 11.22: hours and minutes of the log, in minutes."""
    whole_hours, rest = hours.split(":")
    return 60 * int(whole_hours) + int(rest)


def time_check(
    sheet: Mapping[str, Any], log: Mapping[str, Any], deferred: Sequence[Component]
) -> str:
    """Clauses 11.22 to 11.24."""
    if abs(exact(sheet["meter_hours"]) * 60 - minutes(log["flown"])) > METER_MINUTES:
        return "DISPUTED"
    left = minutes_left(sheet, log)
    if left >= 0:
        return "WITHIN"
    shorter = since_bulletin(sheet) and sheet["aircraft_type"] == "Petrel"
    extension = PETREL_EXTENSION_SINCE_BULLETIN if shorter else EXTENSION
    return "EXTENDED" if not deferred and -left <= extension else "OVERDUE"


def clearance(
    sheet: Mapping[str, Any],
    entries: Mapping[str, str],
    log: Mapping[str, Any],
    deferred: Iterable[Component],
    call: Call,
) -> str:
    """Clauses 11.25 to 11.27."""
    status = standing(sheet, entries)
    if status in {"GROUNDED", "HELD"}:
        return status
    answer = call(
        "enter_clearance",
        sheet_id=sheet["sheet_id"],
        clearance=status,
        deferred_positions=[one["position"] for one in deferred],
        takeoff_weight_kg=takeoff_weight(sheet, log),
        minutes_left=minutes_left(sheet, log),
    )
    return "HELD" if answer["register"] == "refused" else status


def standing(sheet: Mapping[str, Any], entries: Mapping[str, str]) -> str:
    """Clause 11.25."""
    verdicts = [entries["mechanical_verdict"], entries["electrical_verdict"]]
    overdue = entries["time_check"] == "OVERDUE"
    differs = entries["weight_check"] == "DIFFERS"
    if (
        "REJECTED" in verdicts
        or entries["mismatch_report"] == "QUARANTINE"
        or entries["weight_check"] == "EXCEEDS"
        or (overdue and sheet["purpose"] != "ground run")
    ):
        return "GROUNDED"
    if (
        entries["mismatch_report"] == "FILED"
        or entries["time_check"] == "DISPUTED"
        or (differs and sheet["purpose"] != "ferry")
        or (verdicts == ["DEFERRED", "DEFERRED"] and sheet["purpose"] == "line")
    ):
        return "HELD"
    if (
        "DEFERRED" in verdicts
        or entries["mismatch_report"] == "WAIVED"
        or entries["time_check"] == "EXTENDED"
        or differs
        or overdue
    ):
        return "RESTRICTED"
    return "RELEASED"
