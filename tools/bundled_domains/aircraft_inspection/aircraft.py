"""Aircraft as they stand before a flight, and what the policy makes of the sheet of each."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Container
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, bundled, decided, look_ups

FOLDER = bundled("aircraft_inspection")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
METADATA: dict[str, Any] = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))

FIRST_DAY, BULLETIN_DAY, LAST_DAY = date(2025, 3, 3), date(2025, 9, 1), date(2026, 3, 20)
MECHANICAL, ELECTRICAL = tuple(POLICY["MECHANICAL"]), tuple(POLICY["ELECTRICAL"])
ON_WHEELS = ("MTY", "BRK")
SERIALISED = ("HYD", "OXY", "BAT", "STB", "GEN")
SHOWN = {  # what gauges of an item show, and in which steps
    "HYD": {"bar": "0.01", "psi": "0.1", "kPa": "0.1"},
    "MTY": {"psi": "0.1", "bar": "0.001", "kPa": "0.1"},
    "NTY": {"kPa": "0.1", "bar": "0.001", "psi": "0.01"},
    "BRK": {"mm": "0.01", "in": "0.0001"},
    "OXY": {"bar": "0.01", "psi": "0.1", "kPa": "0.1"},
    "BAT": {"V": "0.01", "mV": "1"},
    "STB": {"V": "0.01", "mV": "1"},
    "GEN": {"V": "0.01", "mV": "1"},
    "EML": {"V": "0.0001"},
    "INS": {"kohm": "1"},
}
WIDTH = {"BRK": 4, "STB": 2, "EML": 900, "INS": 6}  # how far above the only limit is usual

Row: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Dice, Row], Row]


class Sheet:
    """A row with what the policy answers and calls."""

    def __init__(self, row: Row) -> None:
        self.row = row
        found = decided(POLICY["decide"], row, look_ups(METADATA["tools"], row))
        self.entries = dict(found.answer)
        self.calls = list(found.calls)

    def differs(self, *fields: str, **cells: Any) -> bool:
        """Whether one of these entries would be another, had these cells been others."""
        other = Sheet(self.row | cells).entries
        return any(other[name] != self.entries[name] for name in fields)

    def decided_by(self, **cells: Any) -> bool:
        """Whether an entry or a report would be another, had these cells been others."""
        other = Sheet(self.row | cells)
        return (other.entries, other.calls) != (self.entries, self.calls)


def at(row: Row, minutes: int) -> str:
    """The time so many minutes after the inspection, or before it."""
    inspected = datetime.fromisoformat(row["inspected_at"])
    return (inspected + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def days_from(row: Row, days: int) -> str:
    """The day so many days after the inspection, or before it."""
    inspected = datetime.fromisoformat(row["inspected_at"]).date()
    return (inspected + timedelta(days=days)).isoformat()


def with_component(row: Row, item: str, **cells: Any) -> Row:
    """The row with the first component of this item changed; as it is if there is none."""
    components = list(row["components"])
    for number, one in enumerate(components):
        if one["item"] == item and one["status"] == "fitted":
            changed = one | cells
            if changed["reading"] is None:
                changed["taken_at"] = None
            elif changed["taken_at"] is None:
                changed["taken_at"] = at(row, -30)
            components[number] = changed
            break
    return row | {"components": components}


def component(row: Row, item: str) -> Row:
    """The first component of this item, or nothing."""
    components: list[Row] = row["components"]
    fitted = (one for one in components if one["status"] == "fitted")
    nothing: Row = {}
    return next((one for one in fitted if one["item"] == item), nothing)


def shown_near(row: Row, item: str, unit: str, boundary: Decimal, *, upper: bool) -> float:
    """What a gauge shows as near to a value of the annex as it can, on one side of it."""
    factor = Decimal(str(POLICY["BASE"][POLICY["limits_of"](full(row))[item][0]]))
    step = Decimal(SHOWN[item][unit])
    steps = boundary * factor / Decimal(str(POLICY["BASE"][unit])) / step
    above = steps.to_integral_value(ROUND_CEILING)
    shown = float((above if upper else above - 1) * step)
    return int(shown) if shown.is_integer() else shown


def full(row: Row) -> Row:
    """The row as one of full scope, for which there are limits of every item."""
    return row | {"scope": "full"}


def sound_reading(dice: Dice, row: Row, item: str) -> Row:
    """A reading well inside of the serviceable limits, whether a tyre is hot or not."""
    _, low, _, high, _ = POLICY["limits_of"](full(row))[item]
    first = Decimal(str(low))
    width = Decimal(str(high)) - first if high is not None else Decimal(WIDTH[item])
    share = dice.between(58, 92) if item == "MTY" else dice.between(15, 90)
    unit = dice.pick(tuple(SHOWN[item]))
    value = first + width * share / 100
    return {"reading": shown_near(row, item, unit, value, upper=True), "unit": unit}


def heading(dice: Dice, number: int, tail: str) -> Row:
    """What a sheet says first: which aircraft, what to look at, why and when."""
    day = FIRST_DAY + timedelta(days=dice.below((BULLETIN_DAY - FIRST_DAY).days))
    if dice.below(100) < 10:  # noqa: PLR2004 - per cent
        day = BULLETIN_DAY
    elif dice.below(100) < 60:  # noqa: PLR2004
        day = BULLETIN_DAY + timedelta(days=dice.below((LAST_DAY - BULLETIN_DAY).days))
    return {
        "sheet_id": f"IS-{number:05}",
        "tail_number": tail,
        "aircraft_type": dice.pick(("Fulmar", "Petrel")),
        "scope": dice.pick(("full",) * 15 + ("mechanical",) * 2 + ("electrical",) * 3),
        "purpose": dice.pick(("line",) * 5 + ("ferry",) * 3 + ("ground run",) * 2),
        "inspected_at": f"{day.isoformat()}T{dice.between(4, 21):02}:{dice.below(60):02}",
    }


def settled(dice: Dice, row: Row, needed: Container[str] = ()) -> Row:
    """The row with all that depends on its type, day and purpose, and a fault here and there.

    The aircraft has every item that is needed.
    """
    row = row | {
        "departs_at": at(row, dice.pick((dice.between(45, 175), dice.between(185, 400)))),
        "outside_celsius": dice.between(2, 24),
        "landed_at": at(row, -dice.between(340, 900)),
        "stores": dice.pick(("accepted",) * 4 + ("quarantined",)),
        "safety_office": dice.pick(("accepted", "accepted", "joined")),
        "register": dice.pick(("entered",) * 14 + ("refused",)),
    }
    row = row | {"components": _components(dice, row, needed)}
    return _load(dice, row) | _hours(dice, row)


def _components(dice: Dice, row: Row, needed: Container[str]) -> list[Row]:
    left_out = {dice.pick(MECHANICAL), dice.pick(ELECTRICAL)}
    items = [item for item in (*MECHANICAL, *ELECTRICAL) if item in needed or item not in left_out]
    items += ["MTY"] * ("MTY" in items) + ["BRK"] * ("BRK" in items and not dice.below(3))
    fitted = [_component(dice, row, item) for item in items]
    removed = [
        _component(dice, row, dice.pick(MECHANICAL + ELECTRICAL)) | {"status": "removed"}
        for _ in range(dice.below(3))
    ]
    listed = dice.shuffled([*fitted, *removed])
    places = sorted(dice.shuffled(range(1, 40))[: len(listed)])
    return [{"position": f"P{place:02}"} | one for place, one in zip(places, listed, strict=True)]


def _component(dice: Dice, row: Row, item: str) -> Row:
    serial = _serial(dice, item) if item in SERIALISED else None
    one: Row = {
        "item": item,
        "status": "fitted",
        "listed_serial": serial,
        "placard_until": None,
        "plate_serial": serial and _stamped(dice, serial),
        "loan_until": None,
        **sound_reading(dice, row, item),
        "taken_at": at(row, -dice.between(1, 170)),
    }
    fault = dice.below(100)
    if fault < 3:  # noqa: PLR2004 - per cent, here and below
        one["placard_until"] = days_from(row, dice.between(2, 40))
    elif fault < 5:  # noqa: PLR2004
        one["taken_at"] = at(row, -dice.between(190, 330))
    elif fault < 7:  # noqa: PLR2004
        one |= {"reading": None, "unit": None, "taken_at": None}
    elif serial and fault < 12:  # noqa: PLR2004
        one["plate_serial"] = another_serial(dice, serial)
    elif serial and fault < 25:  # noqa: PLR2004
        one |= {
            "plate_serial": another_serial(dice, serial),
            "loan_until": days_from(row, dice.between(3, 60)),
        }
    return one


def _serial(dice: Dice, item: str) -> str:
    letters = "ABCDEFGHKLMNPRSTUVWXYZ"
    return f"{item[0]}{dice.pick(letters)}-{dice.between(10, 99)}0{dice.between(100, 999)}-" + (
        dice.pick(letters)
    )


def _stamped(dice: Dice, serial: str) -> str:
    return dice.pick(
        (serial, serial, serial.replace("-", " "), serial.replace("-", ""), serial.lower())
    )


def another_serial(dice: Dice, serial: str) -> str:
    """A serial that is another one, now and then by very little."""
    if not dice.below(3):
        return serial.replace("0", "O", 1)
    parts = serial.split("-")
    return "-".join([parts[0], str(int(parts[1]) + dice.between(1, 900)), parts[2]])


def _load(dice: Dice, row: Row) -> Row:
    petrel = row["aircraft_type"] == "Petrel"
    fuel = dice.between(600, 1_100) if petrel else dice.between(1_300, 2_300)
    unit = dice.pick(("kg", "lb", "l"))
    row = row | {
        "empty_weight_kg": dice.between(4_280, 4_460) if petrel else dice.between(7_750, 8_090),
        "payload": 0,
        "payload_unit": dice.pick(("kg", "lb")),
        "fuel": int(fuel / POLICY["KILOGRAMS"][unit]),
        "fuel_unit": unit,
        "declared_unit": dice.pick(("kg", "lb")),
    }
    heaviest = POLICY["HEAVIEST"][row["aircraft_type"]]
    far = dice.below(100)
    near = heaviest + dice.between(10, 190) if far < 5 else heaviest * 98 // 100  # noqa: PLR2004
    target = near if far < 9 else heaviest * dice.between(85, 94) // 100  # noqa: PLR2004
    apart = dice.between(70, 260) if dice.below(10) < 5 else dice.between(0, 32)  # noqa: PLR2004
    return with_weight(row, target, apart * dice.pick((-1, 1)))


def with_weight(row: Row, target: int, apart: int) -> Row:
    """The row with this take-off weight, and one declared that is so much more."""
    flying = row | {"purpose": "ferry" if row["purpose"] == "ground run" else row["purpose"]}
    lacking = target - POLICY["takeoff_weight"](flying | {"payload": 0}, flying | {"payload": 0})
    start = round(lacking / POLICY["KILOGRAMS"][row["payload_unit"]])
    for payload in (start, start - 1, start + 1, start - 2, start + 2):
        if POLICY["takeoff_weight"](flying, flying | {"payload": payload}) == target:
            break
    declared = _declared(row, target + apart)
    return row | {"payload": payload, "declared_weight": declared}


def _declared(row: Row, kilograms: int) -> int:
    declared: int = round(kilograms / POLICY["KILOGRAMS"][row["declared_unit"]])
    return declared


def _hours(dice: Dice, row: Row) -> Row:
    planned = 0 if row["purpose"] == "ground run" else dice.between(35, 190)
    left = -dice.between(20, 470) if dice.below(20) < 7 else dice.between(30, 4_000)  # noqa: PLR2004
    apart = 0 if dice.below(100) < 66 else dice.pick((-1, 1)) * dice.between(2, 9)  # noqa: PLR2004
    flown = dice.between(3_000, 9_000) * 60 + dice.below(60)
    return {"flight_minutes": planned} | hours(flown, planned, left, flown // 6 + apart)


def hours(flown: int, planned: int, left: int, tenths: int) -> Row:
    """What log and meter show of so many minutes flown and left."""
    return {
        "flown": _clock(flown),
        "check_due": _clock(flown + planned + left),
        "meter_hours": tenths / 10,
    }


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"
