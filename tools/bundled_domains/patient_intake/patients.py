"""Patients as they are announced on any day, and what the policy makes of each."""

from __future__ import annotations

import json
import runpy
from datetime import date, timedelta
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, bundled, decided, look_ups
from bundled_domains.worlds import answers_in

FOLDER = bundled("patient_intake")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
ANSWERS = answers_in(FOLDER)
METADATA: dict[str, Any] = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))
PLANS = ("BASIC-1", "CREST-4", "GUILD-7", "MERIT-2", "TOWN-9")
FIRST_DAY = date(2024, 7, 1)
STATES = ("in force",) * 3 + ("grace",) * 2 + ("not started",) * 2 + ("ended",) * 3
STATUSES = ("IN FORCE", "GRACE", "ENDED", "UNCONFIRMED")
HARMLESS = ("migraine", "hay fever", "eczema", "gout", "glaucoma", "reflux")
COUNTED = (
    "diabetes",
    "hypertension",
    "asthma",
    "COPD",
    "heart failure",
    "chronic kidney disease",
)

Row: TypeAlias = dict[str, Any]


class Patient:
    """A row with the record that the policy writes for it."""

    def __init__(self, row: Row) -> None:
        self.row = row
        found = decided(POLICY["decide"], row, ANSWERS(METADATA["tools"], in_registry(row)))
        self.record = found.answer
        self.calls = [call["name"] for call in found.calls]

    def differs(self, field: str, **cells: Any) -> bool:
        """Whether this field would be another, had these cells been others."""
        other = Patient(with_plan(self.row | cells))
        return bool(other.record[field] != self.record[field])


def in_registry(row: Row, dice: Dice | None = None) -> Row:
    """The row with a registry of its own, in place of the cell that tells of it.

    With dice, some patients are held for another day, and some days hold another patient.
    """
    told = {name: value for name, value in row.items() if name != "registry"}
    same = {"patient_id": row["patient_id"], "service_date": row["service_date"]}
    held = [same] if row["registry"] == "already held" else []
    if dice and not held:
        other = {"patient_id": f"PT-{dice.between(10_000, 18_999)}"}
        another_day = {"service_date": days_from(row, dice.pick((-30, -1, 1, 7)))}
        held = dice.pick(([], [same | other], [same | another_day]))
    entries = [
        {
            "registration_number": f"RG-{dice.between(60_000, 69_999) if dice else 0}",
            **one,
            "insurance_status": dice.pick(STATUSES) if dice else STATUSES[0],
            "risk_points": dice.below(12) if dice else 0,
        }
        for one in held
    ]
    return told | {"world": {"registry": entries} if entries else None}


def day_of(row: Row) -> date:
    """The date of service."""
    return date.fromisoformat(row["service_date"])


def days_from(row: Row, days: int) -> str:
    """The day so many days after the date of service, or before it."""
    return (day_of(row) + timedelta(days=days)).isoformat()


def birthday(row: Row, years: int, days: int = 0) -> str:
    """The day of birth of one who turns so old so many days after the date of service."""
    turning = day_of(row) + timedelta(days=days)
    # Not every year has the 29th of February.
    leap_day = (turning.month, turning.day) == (2, 29)
    return turning.replace(year=turning.year - years, day=turning.day - leap_day).isoformat()


def period(row: Row, first: int, last: int | None, cancelled: int | None = None) -> Row:
    """A period of coverage, counted in days from the date of service; the plan comes later."""
    return {
        "plan": "",
        "first_day": days_from(row, first),
        "last_day": None if last is None else days_from(row, last),
        "cancelled_on": None if cancelled is None else days_from(row, cancelled),
    }


def with_periods(dice: Dice, row: Row, *periods: Row) -> Row:
    """The row with these periods, each of a plan of its own, in any order."""
    plans = dice.shuffled(PLANS)
    named = [one | {"plan": plan} for one, plan in zip(periods, plans, strict=False)]
    return row | {"periods": dice.shuffled(named)}


def with_plan(row: Row) -> Row:
    """The row with its plan in force, which only the benefit office knows a member by."""

    def call(name: str, /, **_: Any) -> Any:
        return look_ups(METADATA["tools"], row)(name, {"member_id": row["member_id"]})

    _, now = POLICY["insurance"](row, day_of(row), call)
    return row | {"plan": None if now is None else now[2]}


def draft(dice: Dice, number: int, member: int) -> Row:
    """A patient of whom every office knows something."""
    row: Row = {
        "patient_id": f"PT-{number:05}",
        "date_of_birth": "",
        "service_date": (FIRST_DAY + timedelta(days=dice.below(530))).isoformat(),
        "service_kind": dice.pick(("outpatient", "outpatient", "inpatient", "emergency")),
        "member_id": f"{dice.pick(('HV', 'KL', 'QT'))}{member:07}",
        **_body(dice),
        "pharmacy_id": f"0{dice.between(10_000, 99_999)}",
        "medicine_tier": dice.pick((1, 1, 2, 2, 3, 3, 4)),
        "days_supply": dice.pick((7, 10, 14, 21, 28, 30, 42, 60, 84, 90)),
    }
    age = dice.pick((dice.between(19, 39), dice.between(40, 64), dice.between(65, 92)))
    row["date_of_birth"] = birthday(row, age, -dice.between(1, 360))
    row = _coverage(dice, row) | _benefit(dice) | _survey(dice, row) | _chart(dice, row)
    return row | _pharmacy(dice, row) | {"registry": "accepted"}


def _body(dice: Dice) -> Row:
    height = dice.between(152, 194)
    index = dice.between(180, 355) / 10
    kilograms = index * height * height / 10_000
    if dice.below(3):
        return {"weight": round(kilograms, 1), "weight_unit": "kg", "height_cm": height}
    return {"weight": round(kilograms / 0.4536), "weight_unit": "lb", "height_cm": height}


def _coverage(dice: Dice, row: Row) -> Row:
    state = dice.pick(STATES)
    periods: list[Row] = []
    if state == "in force":
        last = None if dice.below(2) else dice.between(5, 300)
        periods.append(period(row, -dice.between(3, 500), last))
    if state in {"not started", "ended"} and dice.below(3):
        periods.append(period(row, dice.between(5, 90), None))
    if state == "grace":
        periods.append(period(row, -dice.between(200, 500), -dice.between(2, 13)))
    if state == "ended" or not dice.below(3):
        ended = dice.between(20, 200)
        last, cancelled = (120 - ended, 1 - ended) if dice.below(2) else (-ended, None)
        periods.append(period(row, -ended - dice.between(100, 400), last, cancelled))
    return with_periods(dice, row, *periods)


def _benefit(dice: Dice) -> Row:
    cap = dice.pick((800, 1_200, 1_500, 2_000))
    return {
        "plan": None,
        "prescriptions": "included",
        "waiting_days": dice.pick((0, 30, 60, 90, 180)),
        "highest_tier": dice.pick((2, 3, 3, 4)),
        "yearly_cap": cap,
        "spent": dice.between(0, 99 * cap) / 100,
    }


def _survey(dice: Dice, row: Row) -> Row:
    smoking = dice.pick(("never", "former", "current"))
    return {
        "smoking": smoking,
        "cigarettes_a_day": dice.between(2, 30) if smoking == "current" else None,
        "stopped_on": days_from(row, -dice.between(60, 4_500)) if smoking == "former" else None,
        "drinks_a_week": dice.between(0, dice.pick((6, 18))),
        "moderate_minutes": 5 * dice.below(25),
        "vigorous_minutes": 5 * dice.below(10),
    }


def _chart(dice: Dice, row: Row) -> Row:
    conditions = [dice.pick(COUNTED) for _ in range(dice.below(4))]
    conditions += [dice.pick(HARMLESS) for _ in range(dice.below(3))]
    return {
        "conditions": dice.shuffled(dict.fromkeys(conditions)),
        "systolic": dice.between(104, 199),
        "systolic_on": days_from(row, -dice.between(1, 120)),
        "discharges": sorted(days_from(row, -dice.between(3, 600)) for _ in range(dice.below(4))),
    }


def _pharmacy(dice: Dice, row: Row) -> Row:
    plans = [plan for plan in PLANS if dice.below(5)]
    return {
        "licence_until": days_from(row, dice.between(20, 900)),
        "networks": [
            {
                "plan": plan,
                "joined": days_from(row, -dice.between(40, 1_500)),
                "left": days_from(row, dice.between(-30, 200)) if not dice.below(4) else None,
            }
            for plan in dice.shuffled(plans)
        ],
        "sends_by_mail": dice.pick(("yes", "no")),
        "cash_programme_days": dice.pick((0, 14, 28, 30, 60, 90)),
    }
