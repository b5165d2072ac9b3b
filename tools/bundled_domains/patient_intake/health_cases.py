"""Cases of parts 6 and 7: lifestyle points and risk points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bundled_domains.generator import Dice

from .case import Case, Change, fixed, has, moved, turns, years_moved
from .patients import Patient, Row, birthday, days_from

NO_SURVEY = dict.fromkeys(
    (
        "smoking",
        "cigarettes_a_day",
        "stopped_on",
        "drinks_a_week",
        "moderate_minutes",
        "vigorous_minutes",
    ),
    None,
)
NO_CHART = dict.fromkeys(("conditions", "systolic", "systolic_on", "discharges"), None)


def lifestyle_cases() -> Iterator[Case]:
    """Part 6, line by line."""
    yield Case(tags="no-survey", rows=7, change=fixed(**NO_SURVEY))
    for from_, more in ((10, 0), (10, -1), (20, 0), (20, -1)):
        yield _at_cut_off("cigarettes", "cigarettes_a_day", from_, more, smoking="current")
    for from_, age, more in ((8, 50, 0), (8, 50, -1), (15, 44, 0), (15, 44, -1), (4, 70, 0)):
        yield _at_cut_off("drinks", "drinks_a_week", from_, more, age=age)
    for from_, age, more in ((4, 71, -1), (8, 66, 0), (8, 80, -1)):
        yield _at_cut_off("drinks", "drinks_a_week", from_, more, age=age)
    for from_, more in ((75, 0), (75, -1), (150, 0), (150, -1)):
        yield _at_cut_off("exercise", "moderate_minutes", from_, more, vigorous_minutes=0)
    yield Case(
        tags="vigorous-minutes",
        rows=3,
        wanted=lambda patient: patient.differs(
            "lifestyle_points", vigorous_minutes=(patient.row["vigorous_minutes"] or 0) // 2
        ),
    )
    for days in (0, 1):
        yield Case(
            tags="boundary-stopped",
            rows=2,
            change=_stopped(days),
            wanted=years_moved("lifestyle_points", "stopped_on", 5, 1 - days),
        )
        yield Case(
            tags="boundary-old",
            rows=2,
            change=_born(65, days),
            wanted=years_moved("lifestyle_points", "date_of_birth", 65, 1 - days),
        )
    for kilograms, height, side in (
        (81.0, 180, "at"),  # 25.0
        (80.8, 180, "below"),  # 24.94, so 24.9
        (97.1, 180, "at"),  # 29.97, so 30.0
        (97.0, 180, "below"),  # 29.94
        (47.3, 160, "at"),  # 18.48, so 18.5
        (47.2, 160, "below"),  # 18.44
    ):
        body = {"weight": kilograms, "weight_unit": "kg", "height_cm": height}
        nearer = kilograms + (0.3 if side == "below" else -0.3)
        yield Case(
            tags="boundary-body-mass",
            rows=2,
            change=fixed(**body),
            wanted=turns("lifestyle_points", weight=round(nearer, 1)),
        )
    for cells in (
        {"smoking": "current", "cigarettes_a_day": None},
        {"smoking": "former", "stopped_on": None, "cigarettes_a_day": None},
        {"drinks_a_week": None},
    ):
        blank = fixed(**{"stopped_on": None} | cells)
        # A blank smoking detail must not stand beside a survey that would not ask for it.
        yield Case(tags="blank", rows=2, change=blank, wanted=_consistent)
    yield Case(tags="credit", rows=2, wanted=_credited)
    yield Case(tags="credit", rows=2, change=_without_points, wanted=has(lifestyle_points=0))


def _at_cut_off(what: str, column: str, from_: int, more: int, **cells: Any) -> Case:
    """At a cut-off, or right below it, where the other side gives other points."""
    age = cells.pop("age", None)
    other = from_ - 1 if more == 0 else from_
    here = {column: from_ + more} | cells

    def change(_: Dice, row: Row) -> Row:
        born = {} if age is None else {"date_of_birth": birthday(row, age, -100)}
        stopped = {"stopped_on": None} if cells.get("smoking") == "current" else {}
        return row | here | born | stopped

    return Case(
        tags=f"boundary-{what}",
        rows=2,
        change=change,
        wanted=turns("lifestyle_points", **{column: other}),
    )


def _stopped(days: int) -> Change:
    return lambda _, row: (
        row
        | {
            "smoking": "former",
            "cigarettes_a_day": None,
            "stopped_on": birthday(row, 5, days),
        }
    )


def _born(age: int, days: int) -> Change:
    return lambda _, row: row | {"date_of_birth": birthday(row, age, days)}


def _consistent(patient: Patient) -> bool:
    row = patient.row
    return not (row["smoking"] != "current" and row["cigarettes_a_day"] is not None) and (
        row["drinks_a_week"] is None or row["smoking"] != "never"
    )


def _without_points(_: Dice, row: Row) -> Row:
    """Nothing but the credit, which takes no points below 0."""
    quiet = {"smoking": "never", "cigarettes_a_day": None, "stopped_on": None, "drinks_a_week": 0}
    body = {"weight": 70.0, "weight_unit": "kg", "height_cm": 175}
    return row | quiet | body | {"moderate_minutes": 150}


def _credited(patient: Patient) -> bool:
    former = {"smoking": "former", "stopped_on": "1999-01-31", "cigarettes_a_day": None}
    return patient.row["smoking"] == "never" and patient.differs("lifestyle_points", **former)


def chart_cases() -> Iterator[Case]:
    """Part 7, clause by clause."""
    yield Case(tags="no-chart", rows=7, change=fixed(**NO_CHART))
    held = fixed(registry="already held")
    yield Case(tags="duplicate", rows=4, change=held, wanted=has(registration="DUPLICATE"))
    for age in (40, 80):
        for days in (0, 1):
            yield Case(
                tags="boundary-age",
                rows=2,
                change=_born(age, days),
                wanted=years_moved("risk_points", "date_of_birth", age, 1 - days),
            )
    for conditions in (
        ("asthma", "COPD"),
        ("COPD", "eczema", "asthma"),
        ("hypertension", "heart failure"),
        ("gout", "heart failure", "hypertension"),
    ):
        yield Case(tags="not-beside", rows=2, change=fixed(conditions=list(conditions)))
    many = fixed(conditions=["heart failure", "diabetes", "COPD"])
    yield Case(tags="many-conditions", rows=2, change=many)
    yield Case(
        tags="many-conditions",
        rows=2,
        change=fixed(conditions=["chronic kidney disease", "heart failure", "diabetes"]),
    )
    for from_ in (140, 180):
        for systolic in (from_, from_ - 1):
            yield Case(
                tags="boundary-pressure",
                rows=2,
                change=fixed(systolic=systolic),
                wanted=turns("risk_points", systolic=2 * from_ - 1 - systolic),
            )
    for days in (-90, -91):
        yield Case(
            tags="boundary-reading",
            rows=2,
            change=_read(days),
            wanted=moved("risk_points", "systolic_on", -181 - days),
        )
    yield Case(tags="no-reading", rows=3, change=fixed(systolic=None, systolic_on=None))
    for tags, discharged in (
        ("boundary-admission", (-365, -420)),
        ("boundary-admission", (-366, -20)),
        ("boundary-admission", (-365, -40)),
        ("many-admissions", (-10, -80, -130, -200)),
        ("many-admissions", (-15, -33, -61, -350, -364)),
        ("boundary-admission", (-366, -40)),
        ("boundary-discharge", (-50, 0)),
        ("boundary-discharge", (-60, 0)),
        ("boundary-discharge", (-1,)),
        ("boundary-discharge", (-1, -90)),
        ("many-admissions", (-20, -40, -60, -90)),
    ):
        yield Case(tags=tags, change=_discharged(*discharged))


def _read(days: int) -> Change:
    return lambda _, row: row | {"systolic_on": days_from(row, days)}


def _discharged(*days: int) -> Change:
    return lambda _, row: row | {"discharges": sorted(days_from(row, one) for one in days)}
