"""The policy of `patient_intake` says what PA-03 says: worked out by hand, clause by clause.

A fresh reader decided thirty rows from the text alone, and agreed with the labels on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_sopbench.errors import ToolError

SURVEY = ("smoking", "cigarettes_a_day", "stopped_on", "drinks_a_week")
CHART = ("conditions", "systolic", "systolic_on", "discharges")


def patient(**cells: Any) -> dict[str, Any]:
    """A woman of 30 in good health, insured under one plan, expected on 1 June 2025."""
    return {
        "patient_id": "PT-20001",
        "date_of_birth": "1995-01-01",
        "service_date": "2025-06-01",
        "service_kind": "outpatient",
        "member_id": "HV0000001",
        "weight": 70.0,
        "weight_unit": "kg",
        "height_cm": 180,
        "pharmacy_id": "010001",
        "medicine_tier": 1,
        "days_supply": 14,
        "periods": [period("GUILD-7", "2024-01-01")],
        "benefit": {
            "prescriptions": "included",
            "waiting_days": 0,
            "highest_tier": 3,
            "yearly_cap": None,
            "spent": 0.0,
        },
        "survey": survey(),
        "chart": chart(),
        "licence_until": "2026-01-01",
        "networks": [network("GUILD-7", "2020-01-01")],
        "sends_by_mail": "no",
        "cash_programme_days": 0,
        "held": False,
        **cells,
    }


def period(plan: str, first: str, last: str | None = None, cancelled: str | None = None) -> Any:
    return {"plan": plan, "first_day": first, "last_day": last, "cancelled_on": cancelled}


def network(plan: str, joined: str, left: str | None = None) -> Any:
    return {"plan": plan, "joined": joined, "left": left}


def survey(**cells: Any) -> Any:
    """No points at all, and no credit."""
    quiet = {"smoking": "former", "cigarettes_a_day": None, "stopped_on": "2001-01-01"}
    moving = {"drinks_a_week": 0, "moderate_minutes": 150, "vigorous_minutes": 0}
    return quiet | moving | cells


def chart(**cells: Any) -> Any:
    """No points at all."""
    reading = {"systolic": 120, "systolic_on": "2025-05-20"}
    return {"conditions": [], "discharges": []} | reading | cells


def record_of(patient_intake: Any, case: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    names = ("licence_until", "networks", "sends_by_mail", "cash_programme_days")
    answers = {
        "get_coverage_periods": {"periods": case["periods"]},
        "get_prescription_benefit": case["benefit"],
        "get_lifestyle_survey": case["survey"],
        "get_chart_summary": case["chart"],
        "get_pharmacy": {name: case[name] for name in names} if case["licence_until"] else None,
        "register_patient": None if case["held"] else {"registration_number": "RG-1"},
    }
    calls: list[tuple[str, dict[str, Any]]] = []

    def call(name: str, /, **arguments: Any) -> Any:
        calls.append((name, arguments))
        if answers[name] in (None, {"periods": None}):
            raise ToolError(name)
        return answers[name]

    return patient_intake.decide(case, call), calls


YEAR = ("GUILD-7", "2024-01-01", "2025-05-18")  # its last day is 14 days before
SICK = {
    "date_of_birth": "1940-01-01",
    "chart": chart(conditions=["COPD", "heart failure"], systolic=200),
}  # 3, 6 and 3 points


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, "IN FORCE", id="4.4-in-force"),
        pytest.param({"member_id": None}, "UNCONFIRMED", id="4.1-blank"),
        pytest.param({"periods": None}, "UNCONFIRMED", id="4.2-no-record"),
        pytest.param({"periods": []}, "UNCONFIRMED", id="4.4-no-period"),
        pytest.param({"periods": [period("A", "2025-06-01")]}, "IN FORCE", id="4.3-first-day"),
        pytest.param({"periods": [period("A", "2025-06-02")]}, "NOT STARTED", id="4.4-tomorrow"),
        pytest.param(
            {"periods": [period("A", "2025-01-01", "2025-06-01")]}, "IN FORCE", id="4.3-last-day"
        ),
        pytest.param(
            {"periods": [period("A", "2025-01-01", "2025-05-31")]}, "ENDED", id="4.4-yesterday"
        ),
        pytest.param(
            {"periods": [period("A", "2025-01-01", None, "2025-06-02")]},
            "IN FORCE",
            id="4.3-cancelled-from-tomorrow",
        ),
        pytest.param(
            {"periods": [period("A", "2025-01-01", None, "2025-06-01")]},
            "ENDED",
            id="4.3-cancelled-from-today",
        ),
        pytest.param(
            {"periods": [period("A", "2025-01-01", None, "2025-01-01")]},
            "UNCONFIRMED",
            id="4.3-void",
        ),
        pytest.param(
            {"service_kind": "inpatient", "periods": [period(*YEAR)]}, "GRACE", id="4.4-14-days"
        ),
        pytest.param(
            {"service_kind": "inpatient", "periods": [period(*YEAR[:2], "2025-05-17")]},
            "ENDED",
            id="4.4-15-days",
        ),
        pytest.param({"periods": [period(*YEAR)]}, "ENDED", id="4.4-no-grace-for-outpatients"),
        pytest.param(
            {
                "service_kind": "emergency",
                "periods": [period("A", "2025-01-01", None, "2025-05-30")],
            },
            "ENDED",
            id="4.4-no-grace-once-cancelled",
        ),
        pytest.param(
            {"service_kind": "emergency", "periods": [period(*YEAR), period("B", "2025-07-01")]},
            "GRACE",
            id="4.4-grace-before-not-started",
        ),
        pytest.param(
            {"periods": [period(*YEAR), period("B", "2025-07-01")]},
            "NOT STARTED",
            id="4.4-not-started-before-ended",
        ),
    ],
)
def test_insurance_status(patient_intake: Any, cells: dict[str, Any], expected: str) -> None:
    record, _ = record_of(patient_intake, patient(**cells))

    assert expected == record["insurance_status"]


def benefit(**cells: Any) -> dict[str, Any]:
    return {"benefit": patient()["benefit"] | cells}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, "GRANTED", id="5.5"),
        pytest.param({"periods": []}, "PENDING", id="5.1-unconfirmed"),
        pytest.param({"periods": [period(*YEAR)]}, "NOT DUE", id="5.1-ended"),
        pytest.param(
            {"service_kind": "inpatient", "periods": [period(*YEAR)]}, "PENDING", id="5.1-grace"
        ),
        pytest.param({"benefit": None}, "PENDING", id="5.2-silent"),
        pytest.param(benefit(prescriptions="carved out"), "EXCLUDED", id="5.3a"),
        pytest.param(
            benefit(waiting_days=30) | {"periods": [period("A", "2025-05-02")]},
            "GRANTED",
            id="5.3b-over",
        ),
        pytest.param(
            benefit(waiting_days=30) | {"periods": [period("A", "2025-05-03")]},
            "EXCLUDED",
            id="5.3b-one-day-to-go",
        ),
        pytest.param(benefit(yearly_cap=800, spent=800.0), "EXCLUDED", id="5.3c-reached"),
        pytest.param(benefit(yearly_cap=800, spent=799.99), "GRANTED", id="5.3c-a-cent-left"),
        pytest.param({"medicine_tier": 3}, "GRANTED", id="5.4-tier-of-the-plan"),
        pytest.param(
            benefit(highest_tier=2) | {"medicine_tier": 3}, "PRIOR AUTHORISATION", id="5.4-above"
        ),
        pytest.param(
            benefit(highest_tier=4) | {"medicine_tier": 4}, "PRIOR AUTHORISATION", id="5.4-tier-4"
        ),
        pytest.param(
            benefit(prescriptions="carved out") | {"medicine_tier": 4}, "EXCLUDED", id="5.4-last"
        ),
    ],
)
def test_prescription_benefit(patient_intake: Any, cells: dict[str, Any], expected: str) -> None:
    record, _ = record_of(patient_intake, patient(**cells))

    assert expected == record["prescription_benefit"]


def test_the_plan_that_began_last_is_asked_for(patient_intake: Any) -> None:
    both = [period("NEW", "2025-03-01", "2025-09-30"), period("OLD", "2020-01-01")]

    _, calls = record_of(patient_intake, patient(periods=both))

    assert calls[1] == ("get_prescription_benefit", {"member_id": "HV0000001", "plan": "NEW"})


SMOKER = {"smoking": "current", "stopped_on": None}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, 0, id="6.2-nothing"),
        pytest.param({"survey": None}, 5, id="6.1-no-survey"),
        pytest.param({"survey": survey(**SMOKER, cigarettes_a_day=9)}, 2, id="6.2-9-a-day"),
        pytest.param({"survey": survey(**SMOKER, cigarettes_a_day=10)}, 3, id="6.2-10-a-day"),
        pytest.param({"survey": survey(**SMOKER, cigarettes_a_day=20)}, 4, id="6.2-20-a-day"),
        pytest.param({"survey": survey(**SMOKER)}, 4, id="6.3-blank-cigarettes"),
        pytest.param({"survey": survey(stopped_on="2020-06-01")}, 0, id="6.2-five-full-years"),
        pytest.param({"survey": survey(stopped_on="2020-06-02")}, 1, id="6.2-a-day-less"),
        pytest.param({"survey": survey(stopped_on=None)}, 1, id="6.3-blank-stopping"),
        pytest.param({"survey": survey(drinks_a_week=7)}, 0, id="6.2-7-drinks"),
        pytest.param({"survey": survey(drinks_a_week=8)}, 1, id="6.2-8-drinks"),
        pytest.param({"survey": survey(drinks_a_week=15)}, 2, id="6.2-15-drinks"),
        pytest.param({"survey": survey(drinks_a_week=None)}, 2, id="6.3-blank-drinks"),
        pytest.param(
            {"survey": survey(drinks_a_week=4), "date_of_birth": "1960-06-01"}, 1, id="6.2-65"
        ),
        pytest.param(
            {"survey": survey(drinks_a_week=4), "date_of_birth": "1960-06-02"}, 0, id="6.2-64"
        ),
        pytest.param(
            {"survey": survey(drinks_a_week=8), "date_of_birth": "1950-06-02"}, 2, id="6.2-old-8"
        ),
        pytest.param({"survey": survey(moderate_minutes=149)}, 1, id="6.2-149-minutes"),
        pytest.param(
            {"survey": survey(moderate_minutes=50, vigorous_minutes=50)}, 0, id="6.2-vigorous"
        ),
        pytest.param({"survey": survey(moderate_minutes=74)}, 2, id="6.2-74-minutes"),
        pytest.param({"weight": 59.7}, 1, id="6.2-18.43-is-18.4"),
        pytest.param({"weight": 59.8}, 0, id="6.2-18.46-is-18.5"),
        pytest.param({"weight": 80.8}, 0, id="6.2-24.94-is-24.9"),
        pytest.param({"weight": 80.9}, 1, id="6.2-24.97-is-25.0"),
        pytest.param({"weight": 97.1}, 2, id="6.2-29.97-is-30.0"),
        pytest.param({"weight": 200, "weight_unit": "lb"}, 1, id="6.2-pounds"),
        pytest.param({"survey": survey(smoking="never")}, 0, id="6.4-not-below-0"),
        pytest.param({"survey": survey(smoking="never", drinks_a_week=9)}, 0, id="6.4-credit"),
        pytest.param(
            {"survey": survey(smoking="never", drinks_a_week=9, moderate_minutes=149)},
            2,
            id="6.4-no-credit-with-a-point",
        ),
    ],
)
def test_lifestyle_points(patient_intake: Any, cells: dict[str, Any], expected: int) -> None:
    record, _ = record_of(patient_intake, patient(**cells))

    assert expected == record["lifestyle_points"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, 0, id="7.6-nothing"),
        pytest.param({"chart": None}, 2, id="7.1-no-chart"),
        pytest.param({"date_of_birth": "1985-06-01"}, 1, id="7.2-40"),
        pytest.param({"date_of_birth": "1985-06-02"}, 0, id="7.2-39"),
        pytest.param({"date_of_birth": "1960-06-01"}, 2, id="7.2-65"),
        pytest.param({"date_of_birth": "1945-06-01"}, 3, id="7.2-80"),
        pytest.param({"chart": chart(conditions=["asthma", "gout"])}, 1, id="7.3-asthma"),
        pytest.param({"chart": chart(conditions=["asthma", "COPD"])}, 3, id="7.3-beside-copd"),
        pytest.param(
            {"chart": chart(conditions=["hypertension", "heart failure"])}, 3, id="7.3-beside-heart"
        ),
        pytest.param(
            {"chart": chart(conditions=["diabetes", "COPD", "heart failure"])}, 6, id="7.3-most"
        ),
        pytest.param({"chart": chart(systolic=139)}, 0, id="7.4-139"),
        pytest.param({"chart": chart(systolic=140)}, 1, id="7.4-140"),
        pytest.param({"chart": chart(systolic=180)}, 3, id="7.4-180"),
        pytest.param(
            {"chart": chart(systolic=180, systolic_on="2025-03-03")}, 3, id="7.4-90-days-old"
        ),
        pytest.param(
            {"chart": chart(systolic=180, systolic_on="2025-03-02")}, 1, id="7.4-91-days-old"
        ),
        pytest.param(
            {"chart": chart(systolic=None, systolic_on=None)}, 1, id="7.4-no-reading-at-all"
        ),
        pytest.param({"chart": chart(discharges=["2024-06-01"])}, 1, id="7.5-365-days"),
        pytest.param({"chart": chart(discharges=["2024-05-31"])}, 0, id="7.5-366-days"),
        pytest.param({"chart": chart(discharges=["2025-06-01"])}, 0, id="7.5-that-day"),
        pytest.param(
            {"chart": chart(discharges=[f"2025-0{month}-01" for month in range(1, 6)])},
            3,
            id="7.5-at-most-3",
        ),
        pytest.param({"survey": survey(drinks_a_week=8)}, 1, id="7.6-half-a-point-is-rounded-up"),
        pytest.param({"survey": survey(drinks_a_week=15)}, 1, id="7.6-half-of-two"),
        pytest.param({"survey": None}, 3, id="7.6-half-of-five"),
    ],
)
def test_risk_points(patient_intake: Any, cells: dict[str, Any], expected: int) -> None:
    record, _ = record_of(patient_intake, patient(**cells))

    assert expected == record["risk_points"]


LONG = {"days_supply": 31, "sends_by_mail": "yes"}
ENDED = {"periods": [period(*YEAR)]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, "NETWORK", id="8.3-network"),
        pytest.param({"licence_until": None}, "CHANGE", id="8.2-not-in-the-directory"),
        pytest.param({"licence_until": "2025-06-01"}, "NETWORK", id="8.2-last-day"),
        pytest.param({"licence_until": "2025-05-31"}, "CHANGE", id="8.2-licence-over"),
        pytest.param({"networks": []}, "CHANGE", id="8.3-no-network"),
        pytest.param({"networks": [network("GUILD-7", "2025-06-01")]}, "NETWORK", id="8.3-joined"),
        pytest.param({"networks": [network("GUILD-7", "2025-06-02")]}, "CHANGE", id="8.3-not-yet"),
        pytest.param(
            {"networks": [network("GUILD-7", "2020-01-01", "2025-06-01")]}, "CHANGE", id="8.3-left"
        ),
        pytest.param(
            {"networks": [network("GUILD-7", "2020-01-01", "2025-06-02")]},
            "NETWORK",
            id="8.3-leaves-tomorrow",
        ),
        pytest.param(LONG, "MAIL", id="8.3-31-days"),
        pytest.param(LONG | {"days_supply": 30}, "NETWORK", id="8.3-30-days"),
        pytest.param(LONG | {"medicine_tier": 4}, "NETWORK", id="8.3-no-mail-unless-granted"),
        pytest.param(ENDED | {"cash_programme_days": 14}, "CASH", id="8.4-cash"),
        pytest.param(ENDED | {"cash_programme_days": 13}, "HOSPITAL", id="8.4-hospital"),
        pytest.param(
            benefit(prescriptions="carved out") | {"networks": []}, "HOSPITAL", id="8.4-excluded"
        ),
    ],
)
def test_pharmacy(patient_intake: Any, cells: dict[str, Any], expected: str) -> None:
    record, _ = record_of(patient_intake, patient(**cells))

    assert expected == record["pharmacy"]


LATER = {"periods": [period("A", "2025-07-01")]}
ELEVEN = SICK | {"date_of_birth": "1950-01-01"}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, "CONFIRMED", id="9.5-confirmed"),
        pytest.param(LATER, "POSTPONED", id="9.1-postponed"),
        pytest.param(LATER | SICK, "POSTPONED", id="9.2-postponed-first"),
        pytest.param(LATER | {"service_kind": "emergency"}, "PROVISIONAL", id="9.1-emergency"),
        pytest.param(SICK, "NURSE REVIEW", id="9.2-12-points"),
        pytest.param(ELEVEN, "CONFIRMED", id="9.2-11-points"),
        pytest.param(SICK | {"service_kind": "emergency"}, "CONFIRMED", id="9.2-emergency"),
        pytest.param({"held": True}, "DUPLICATE", id="9.4-duplicate"),
        pytest.param(ENDED, "PROVISIONAL", id="9.5-ended"),
        pytest.param({"networks": []}, "PROVISIONAL", id="9.5-pharmacy-to-change"),
        pytest.param(ENDED | {"service_kind": "inpatient"}, "CONFIRMED", id="9.5-grace"),
    ],
)
def test_registration(patient_intake: Any, cells: dict[str, Any], expected: str) -> None:
    record, calls = record_of(patient_intake, patient(**cells))

    assert expected == record["registration"]
    registered = "register_patient" == calls[-1][0]
    assert registered is (expected not in {"POSTPONED", "NURSE REVIEW"})


def test_a_registration_carries_what_was_found(patient_intake: Any) -> None:
    cells = ENDED | {"chart": chart(systolic=150)}

    _, calls = record_of(patient_intake, patient(**cells))

    assert calls[-1][1] == {
        "patient_id": "PT-20001",
        "service_date": "2025-06-01",
        "insurance_status": "ENDED",
        "risk_points": 1,
    }
