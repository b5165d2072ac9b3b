"""Cases of parts 4, 5, 8 and 9: insurance, benefit, pharmacy and registration."""

from __future__ import annotations

from collections.abc import Iterator

from bundled_domains.generator import Dice

from .case import Case, Change, Wanted, fixed, has, moved, turns
from .patients import Patient, Row, days_from, period, with_periods

NO_BENEFIT = dict.fromkeys(
    ("prescriptions", "waiting_days", "highest_tier", "yearly_cap", "spent"), None
)
NO_PHARMACY = dict.fromkeys(
    ("licence_until", "networks", "sends_by_mail", "cash_programme_days"), None
)
PLANNED = ("outpatient", "inpatient")


def insurance_cases() -> Iterator[Case]:
    """Part by part."""
    yield from _statuses()
    yield from _grace()
    yield from _benefits()
    yield from _pharmacies()
    yield from _registrations()


def _statuses() -> Iterator[Case]:
    blank = fixed(member_id=None, periods=None)
    yield Case(tags="member-number-blank", rows=3, change=blank)
    yield Case(tags="no-record", rows=3, change=fixed(periods=None))
    yield Case(tags="no-period", rows=1, change=fixed(periods=[]))
    for days in (0, -5):
        void = _periods((-40, 200, -40 + days))
        yield Case(tags="no-period", change=void, wanted=has(insurance_status="UNCONFIRMED"))
    for first in (1, 1):
        yield Case(
            tags="boundary-first-day",
            change=_periods((first, None, None), waiting_days=0),
            wanted=has(insurance_status="NOT STARTED"),
        )
    for side, last in (("at", 0), ("below", -1)):
        yield Case(
            tags="boundary-last-day",
            change=_periods((-300, last, None), service_kind="outpatient"),
            wanted=has(insurance_status="IN FORCE" if side == "at" else "ENDED"),
        )
    for side, cancelled in (("at", 0), ("above", 1)):
        yield Case(
            tags="boundary-last-day",
            rows=1 if side == "at" else 2,
            change=_periods((-210, 155, cancelled)),
            wanted=has(insurance_status="ENDED" if side == "at" else "IN FORCE"),
        )
    yield Case(
        tags="two-in-force",
        rows=3,
        change=_periods((-400, None, None), (-75, 290, None), waiting_days=60, days_supply=28),
        wanted=_plan_decides,
    )
    one_day = _periods((0, 0, None), waiting_days=0)
    yield Case(
        tags="boundary-first-day", rows=2, change=one_day, wanted=has(insurance_status="IN FORCE")
    )
    earlier = _periods((-300, -20, 5), service_kind="outpatient")
    yield Case(
        tags="boundary-last-day", rows=2, change=earlier, wanted=has(insurance_status="ENDED")
    )
    both = _periods((-500, -60, None), (30, None, None))
    yield Case(tags="renewed-later", rows=2, change=both)


def _periods(*periods: tuple[int, int | None, int | None], **cells: object) -> Change:
    return lambda dice, row: with_periods(
        dice, row | cells, *(period(row, *days) for days in periods)
    )


def _plan_decides(patient: Patient) -> bool:
    """The plan that began earlier would lead to another benefit or another pharmacy."""
    earlier = sorted(patient.row["periods"], key=lambda named: str(named["first_day"]))[:1]
    fields = ("prescription_benefit", "pharmacy")
    return any(patient.differs(field, periods=earlier) for field in fields)


def _grace() -> Iterator[Case]:
    for kind, days, status, tags in (
        ("inpatient", 14, "GRACE", "boundary-grace"),
        ("emergency", 14, "GRACE", "boundary-grace"),
        ("emergency", 15, "ENDED", "boundary-grace"),
        ("inpatient", 15, "ENDED", "boundary-grace"),
        ("outpatient", 13, "ENDED", "no-grace"),
        ("inpatient", 1, "GRACE", "boundary-grace"),
        ("emergency", 1, "GRACE", "boundary-grace"),
    ):
        change = _periods((-380, -days, None), service_kind=kind)
        yield Case(tags=tags, change=change, wanted=has(insurance_status=status))
    for kind in ("inpatient", "emergency"):
        yield Case(
            tags="no-grace",
            change=_periods((-200, 165, -4), service_kind=kind),
            wanted=has(insurance_status="ENDED"),
        )
        yield Case(
            tags="renewed-later",
            change=_periods((-370, -5, None), (11, None, None), service_kind=kind),
            wanted=has(insurance_status="GRACE"),
        )


def _benefits() -> Iterator[Case]:
    silent = has(insurance_status="IN FORCE", prescription_benefit="PENDING")
    yield Case(tags="office-silent", rows=2, change=fixed(**NO_BENEFIT), wanted=silent)
    excluded = has(prescription_benefit="EXCLUDED")
    carved_out = turns("prescription_benefit", prescriptions="included")
    yield Case(
        tags="carved-out", rows=3, change=fixed(prescriptions="carved out"), wanted=carved_out
    )
    for side, first in (("at", -60), ("below", -59)):
        yield Case(
            tags="boundary-waiting",
            rows=2 if side == "below" else 1,
            change=_periods((first, None, None), waiting_days=60, medicine_tier=2, highest_tier=3),
            wanted=has(prescription_benefit="GRANTED") if side == "at" else excluded,
        )
    for side, spent in (("at", 1500.0), ("below", 1499.99)):
        yield Case(
            tags="boundary-cap",
            rows=2 if side == "at" else 1,
            change=fixed(yearly_cap=1_500, spent=spent),
            wanted=turns("prescription_benefit", spent=1499.99 if side == "at" else 1500.0),
        )
    no_cap = turns("prescription_benefit", yearly_cap=1_000)
    yield Case(
        tags="boundary-cap", rows=2, change=fixed(yearly_cap=None, spent=2140.5), wanted=no_cap
    )
    questions = has(prescription_benefit="PRIOR AUTHORISATION")
    tier_four = fixed(medicine_tier=4, highest_tier=4)
    yield Case(tags="boundary-tier", rows=1, change=tier_four, wanted=questions)
    for tier in (2, 3, 3):
        yield Case(
            tags="boundary-tier",
            change=fixed(medicine_tier=tier, highest_tier=2),
            wanted=turns("prescription_benefit", medicine_tier=5 - tier),
        )


def _pharmacies() -> Iterator[Case]:
    unknown = Case(
        tags="office-silent", change=fixed(**NO_PHARMACY), wanted=_uninsured(lambda _: True)
    )
    yield from (unknown, unknown)
    for days in (0, -1):
        yield Case(
            tags="boundary-licence",
            rows=2,
            change=_licence(days),
            wanted=_uninsured(moved("pharmacy", "licence_until", -1 - days)),
        )
    for supply in (30, 31):
        yield Case(
            tags="boundary-mail",
            rows=2,
            change=fixed(days_supply=supply, sends_by_mail="yes"),
            wanted=_network(turns("pharmacy", days_supply=61 - supply)),
        )
    for tier, mail, entry in ((4, "yes", "NETWORK"), (4, "yes", "NETWORK"), (2, "no", "NETWORK")):
        yield Case(
            tags="long-supply",
            change=fixed(days_supply=84, sends_by_mail=mail, medicine_tier=tier, highest_tier=4),
            wanted=has(pharmacy=entry),
        )
    for supply in (60, 61):
        yield Case(
            tags="boundary-cash",
            rows=2,
            change=fixed(days_supply=supply, cash_programme_days=60),
            wanted=_uninsured(turns("pharmacy", days_supply=121 - supply)),
        )
    for tags, since, entry in (
        ("boundary-joined", (0, None), "NETWORK"),
        ("boundary-joined", (0, 60), "NETWORK"),
        ("boundary-joined", (1, None), "CHANGE"),
        ("boundary-left,not-in-network", (-300, 0), "CHANGE"),
        ("boundary-left,not-in-network", (-90, 0), "CHANGE"),
        ("boundary-left", (-300, 1), "NETWORK"),
    ):
        yield Case(tags=tags, change=_member_since(*since), wanted=has(pharmacy=entry))
    yield Case(
        tags="not-in-network",
        rows=1,
        change=lambda _, row: row | {"networks": row["networks"][:1], "service_kind": "outpatient"},
        wanted=_without_network,
    )


def _licence(days: int) -> Change:
    return lambda _, row: row | {"licence_until": days_from(row, days)}


def _uninsured(wanted: Wanted) -> Wanted:
    return lambda patient: patient.row["plan"] is None and wanted(patient)


def _network(wanted: Wanted) -> Wanted:
    return lambda patient: patient.record["pharmacy"] in {"NETWORK", "MAIL"} and wanted(patient)


def _member_since(joined: int, left: int | None) -> Change:
    def change(dice: Dice, row: Row) -> Row:
        plan = dice.pick([named["plan"] for named in row["periods"]] or ["TOWN-9"])
        network = {
            "plan": plan,
            "joined": days_from(row, joined),
            "left": None if left is None else days_from(row, left),
        }
        others = [other for other in row["networks"] if other["plan"] != plan]
        covered = {"prescriptions": "included", "waiting_days": 0}
        unsent = {"days_supply": 84, "sends_by_mail": "no"}
        return row | covered | unsent | {"networks": [*others, network]}

    return change


def _without_network(patient: Patient) -> bool:
    benefit = patient.record["prescription_benefit"]
    granted = benefit in {"GRANTED", "PRIOR AUTHORISATION"}
    return granted and patient.record["pharmacy"] == "CHANGE"


def _registrations() -> Iterator[Case]:
    duplicate = fixed(registry="already held")
    yield Case(
        tags="duplicate", rows=3, change=duplicate, wanted=_uninsured(has(registration="DUPLICATE"))
    )
    yield Case(
        tags="emergency",
        rows=1,
        change=fixed(service_kind="emergency"),
        wanted=has(insurance_status="NOT STARTED"),
    )
    yield Case(tags="postponed", rows=2, wanted=has(registration="POSTPONED"))


def risk_cases() -> Iterator[Case]:
    """Clause 9.2, of patients whose points are as they come."""
    for points in (12, 11):
        yield Case(
            tags="boundary-review",
            rows=2,
            wanted=_planned_with(points),
        )
    yield Case(
        tags="emergency,high-risk",
        rows=2,
        change=fixed(service_kind="emergency"),
        wanted=_uninsured(lambda patient: patient.record["risk_points"] >= 12),  # noqa: PLR2004 - clause 9.2
    )
    yield Case(
        tags="postponed,high-risk",
        wanted=lambda patient: (
            patient.record["risk_points"] >= 12  # noqa: PLR2004 - clause 9.2
            and patient.record["registration"] == "POSTPONED"
        ),
    )


def _planned_with(points: int) -> Wanted:
    return lambda patient: (
        patient.row["plan"] is None
        and patient.record["risk_points"] == points
        and patient.row["service_kind"] in PLANNED
        and patient.record["registration"] != "POSTPONED"
    )
