# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: PA-03 as a function of an intake sheet and the answers of six offices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from pytest_sopbench.errors import ToolError

GRACE_DAYS = 14  # clause 4.4
TIER_WITH_QUESTIONS = 4  # clause 5.4
POINTS_WITHOUT_SURVEY = 5  # clause 6.1
CIGARETTES = ((20, 4), (10, 3), (0, 2))  # clause 6.2: from so many, points
FULL_YEARS_STOPPED = 5
DRINKS, DRINKS_FROM_65 = ((15, 2), (8, 1), (0, 0)), ((8, 2), (4, 1), (0, 0))
EXERCISE = ((150, 0), (75, 1), (0, 2))
BODY_MASS = ((Decimal("30.0"), 2), (Decimal("25.0"), 1), (Decimal("18.5"), 0), (Decimal(0), 1))
KILOGRAMS = {"kg": Decimal(1), "lb": Decimal("0.4536")}
OLD = 65
POINTS_WITHOUT_CHART = 2  # clause 7.1
AGES = ((80, 3), (65, 2), (40, 1), (0, 0))  # clause 7.2
CONDITIONS = {  # clause 7.3
    "heart failure": 3,
    "COPD": 3,
    "diabetes": 2,
    "chronic kidney disease": 2,
    "hypertension": 1,
    "asthma": 1,
}
NOT_BESIDE = {"asthma": "COPD", "hypertension": "heart failure"}
MOST_FOR_CONDITIONS = 6
PRESSURES, POINTS_WITHOUT_PRESSURE, PRESSURE_DAYS = ((180, 3), (140, 1), (0, 0)), 1, 90
ADMISSION_DAYS, MOST_FOR_ADMISSIONS = 365, 3  # clause 7.5
MAIL_ABOVE_DAYS = 30  # clause 8.3
REVIEW_FROM_POINTS = 12  # clause 9.2

Call = Callable[..., Any]
Period = tuple[date, date, str, bool]  # first day, last day, plan, cancelled


def decide(sheet: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Return the intake record of one patient; `call(tool, **arguments)` raises `ToolError`."""
    day = date.fromisoformat(sheet["service_date"])
    status, period = insurance(sheet, day, call)
    benefit = prescription_benefit(sheet, day, status, period, call)
    lifestyle = lifestyle_points(sheet, day, call)
    risk = risk_points(sheet, day, lifestyle, call)
    entry = pharmacy(sheet, day, benefit, period, call)
    record = {
        "insurance_status": status,
        "prescription_benefit": benefit,
        "lifestyle_points": lifestyle,
        "risk_points": risk,
        "pharmacy": entry,
    }
    return record | {"registration": registration(sheet, record, call)}


def insurance(sheet: Mapping[str, Any], day: date, call: Call) -> tuple[str, Period | None]:
    """Part 4: the status, and the period that gives the plan in force."""
    if not sheet["member_id"]:
        return "UNCONFIRMED", None
    try:
        named = call("get_coverage_periods", member_id=sheet["member_id"])["periods"]
    except ToolError:
        return "UNCONFIRMED", None
    periods = [period for period in map(period_of, named) if period[0] <= period[1]]
    now = [period for period in periods if period[0] <= day <= period[1]]
    if now:
        return "IN FORCE", max(now)
    ended = [(day - last).days for _, last, _, cancelled in periods if not cancelled]
    if sheet["service_kind"] != "outpatient" and any(1 <= days <= GRACE_DAYS for days in ended):
        return "GRACE", None
    if any(first > day for first, *_ in periods):
        return "NOT STARTED", None
    return ("ENDED" if periods else "UNCONFIRMED"), None


def period_of(named: Mapping[str, Any]) -> Period:
    """Clause 4.3; a void period ends before it begins."""
    last = date.fromisoformat(named["last_day"]) if named["last_day"] else date.max
    cancelled = named["cancelled_on"]
    if cancelled:
        last = min(last, date.fromisoformat(cancelled) - timedelta(days=1))
    return date.fromisoformat(named["first_day"]), last, named["plan"], bool(cancelled)


def prescription_benefit(
    sheet: Mapping[str, Any], day: date, status: str, period: Period | None, call: Call
) -> str:
    """Part 5."""
    if period is None:
        return "PENDING" if status in {"GRACE", "UNCONFIRMED"} else "NOT DUE"
    first, _, plan, _ = period
    try:
        benefit = call("get_prescription_benefit", member_id=sheet["member_id"], plan=plan)
    except ToolError:
        return "PENDING"
    waiting = day < first + timedelta(days=benefit["waiting_days"])
    cap = benefit["yearly_cap"]
    spent = cap is not None and benefit["spent"] >= cap
    if benefit["prescriptions"] == "carved out" or waiting or spent:
        return "EXCLUDED"
    tier = sheet["medicine_tier"]
    asked = tier > benefit["highest_tier"] or tier == TIER_WITH_QUESTIONS
    return "PRIOR AUTHORISATION" if asked else "GRANTED"


def lifestyle_points(sheet: Mapping[str, Any], day: date, call: Call) -> int:
    """Part 6."""
    try:
        survey = call("get_lifestyle_survey", patient_id=sheet["patient_id"])
    except ToolError:
        return POINTS_WITHOUT_SURVEY
    drinks = DRINKS_FROM_65 if age(sheet, day) >= OLD else DRINKS
    exercise = points(EXERCISE, survey["moderate_minutes"] + 2 * survey["vigorous_minutes"])
    total = (
        smoking_points(survey, day)
        + (points(drinks, survey["drinks_a_week"]) if survey["drinks_a_week"] is not None else 2)
        + exercise
        + points(BODY_MASS, body_mass(sheet))
    )
    credit = survey["smoking"] == "never" and exercise == 0
    return max(0, total - credit)


def smoking_points(survey: Mapping[str, Any], day: date) -> int:
    """Clauses 6.2 and 6.3, the first line."""
    if survey["smoking"] == "current":
        number = survey["cigarettes_a_day"]
        return CIGARETTES[0][1] if number is None else points(CIGARETTES, number)
    if survey["smoking"] == "never":
        return 0
    stopped = survey["stopped_on"]
    return int(not stopped or full_years(date.fromisoformat(stopped), day) < FULL_YEARS_STOPPED)


def body_mass(sheet: Mapping[str, Any]) -> Decimal:
    """The body mass index to one decimal."""
    kilograms = Decimal(str(sheet["weight"])) * KILOGRAMS[sheet["weight_unit"]]
    metres = Decimal(str(sheet["height_cm"])) / 100
    return (kilograms / metres**2).quantize(Decimal("0.1"), ROUND_HALF_UP)


def risk_points(sheet: Mapping[str, Any], day: date, lifestyle: int, call: Call) -> int:
    """Part 7."""
    total = points(AGES, age(sheet, day)) + (lifestyle + 1) // 2
    try:
        chart = call("get_chart_summary", patient_id=sheet["patient_id"])
    except ToolError:
        return total + POINTS_WITHOUT_CHART
    return (
        total
        + condition_points(chart["conditions"])
        + pressure_points(chart["systolic"], chart["systolic_on"], day)
        + admission_points(chart["discharges"], day)
    )


def condition_points(conditions: Sequence[str]) -> int:
    """Clause 7.3."""
    counted = (
        CONDITIONS.get(name, 0) for name in conditions if NOT_BESIDE.get(name) not in conditions
    )
    return min(MOST_FOR_CONDITIONS, sum(counted))


def pressure_points(systolic: Any, taken: str | None, day: date) -> int:
    """Clause 7.4."""
    if taken is None or (day - date.fromisoformat(taken)).days > PRESSURE_DAYS:
        return POINTS_WITHOUT_PRESSURE
    return points(PRESSURES, systolic)


def admission_points(discharges: Iterable[str], day: date) -> int:
    """Clause 7.5."""
    before = ((day - date.fromisoformat(discharge)).days for discharge in discharges)
    return min(MOST_FOR_ADMISSIONS, sum(1 <= days <= ADMISSION_DAYS for days in before))


def pharmacy(
    sheet: Mapping[str, Any], day: date, benefit: str, period: Period | None, call: Call
) -> str:
    """Part 8."""
    try:
        entry = call("get_pharmacy", pharmacy_id=sheet["pharmacy_id"])
    except ToolError:
        return "CHANGE"
    if date.fromisoformat(entry["licence_until"]) < day:
        return "CHANGE"
    supply: int = sheet["days_supply"]
    if period is None or benefit not in {"GRANTED", "PRIOR AUTHORISATION"}:
        return "CASH" if supply <= entry["cash_programme_days"] else "HOSPITAL"
    if not any(belongs(network, period[2], day) for network in entry["networks"]):
        return "CHANGE"
    mailed = benefit == "GRANTED" and supply > MAIL_ABOVE_DAYS and entry["sends_by_mail"] == "yes"
    return "MAIL" if mailed else "NETWORK"


def belongs(network: Mapping[str, Any], plan: str, day: date) -> bool:
    """Clause 8.3: whether a pharmacy is in the network of this plan on this day."""
    left = date.fromisoformat(network["left"]) if network["left"] else date.max
    return network["plan"] == plan and date.fromisoformat(network["joined"]) <= day < left


def registration(sheet: Mapping[str, Any], record: Mapping[str, Any], call: Call) -> str:
    """Part 9."""
    status, risk = record["insurance_status"], record["risk_points"]
    planned = sheet["service_kind"] != "emergency"
    if planned and status == "NOT STARTED":
        return "POSTPONED"
    if planned and risk >= REVIEW_FROM_POINTS:
        return "NURSE REVIEW"
    try:
        call(
            "register_patient",
            patient_id=sheet["patient_id"],
            service_date=sheet["service_date"],
            insurance_status=status,
            risk_points=risk,
        )
    except ToolError:
        return "DUPLICATE"  # clause 9.4
    settled = status in {"IN FORCE", "GRACE"} and record["pharmacy"] != "CHANGE"
    return "CONFIRMED" if settled else "PROVISIONAL"


def age(sheet: Mapping[str, Any], day: date) -> int:
    """Clause 2.3."""
    return full_years(date.fromisoformat(sheet["date_of_birth"]), day)


def full_years(start: date, day: date) -> int:
    """The years completed on a day."""
    return day.year - start.year - ((day.month, day.day) < (start.month, start.day))


def points(lines: Iterable[tuple[Any, int]], number: Any) -> int:
    """The points of the highest line that the number reaches."""
    return next(given for lowest, given in lines if number >= lowest)
