"""Cases of chapter 11: what is changed in a drawn aircraft, and which aircraft are then kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .aircraft import (
    BULLETIN_DAY,
    POLICY,
    SHOWN,
    Change,
    Row,
    Sheet,
    another_serial,
    at,
    component,
    days_from,
    hours,
    settled,
    shown_near,
    with_component,
    with_weight,
)

Wanted: TypeAlias = Callable[[Sheet], bool]
NOTHING: frozenset[str] = frozenset()
HALF = Decimal("0.05")
BAT_LOW = 24.6
COLD = POLICY["COLD_ITEMS"]
CALM_HOURS = frozenset({"calm", "hours"})
SINCE = BULLETIN_DAY.isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """So many rows of one kind; a row is of one case of each part that does not meddle."""

    tags: str = ""
    rows: int = 1
    kind: Row
    """What the drawn aircraft has to be like, before anything of it is changed."""

    change: Change = lambda _, row: row
    wanted: Wanted = lambda _: True
    touches: frozenset[str] = frozenset()
    """What no other case of the same row may touch, but for `deferred`, which bars `calm` alone."""

    standing: str = ""
    """`spoils` if the aircraft can hardly go, `shows` if the case is seen by its standing."""


def suits(row: Row, kind: Row) -> bool:
    """Whether a drawn row is of this kind.

    `since` is whether the bulletin holds, `first_day` whether it does for the first day.
    """
    cells = row | {"since": row["inspected_at"] >= SINCE}
    cells["first_day"] = row["inspected_at"].startswith(SINCE)
    return all(
        cells[name] in value if isinstance(value, tuple) else cells[name] == value
        for name, value in kind.items()
    )


# --- readings --------------------------------------------------------------------------------

DAY = {"inspected_at": f"{SINCE}T12:00", "scope": "full"}
FIRST_DAY: Row = {"first_day": True, "since": True}
FULMAR: Row = {"aircraft_type": "Fulmar"}
PETREL: Row = {"aircraft_type": "Petrel"}


def reading_cases() -> Iterator[Case]:
    """Both sides of each limit of the annexes and of clauses 11.12 and 11.13."""
    for item, limits in (POLICY["MECHANICAL"] | POLICY["ELECTRICAL"]).items():
        kind: Row = {"MTY": FULMAR, "BRK": FULMAR | {"since": False}}.get(item, {})
        yield from _edges(item, limits, kind)
    for item, limits in POLICY["PETREL"].items():
        yield from _edges(item, limits, PETREL)
    for item, limits in POLICY["FULMAR_SINCE_BULLETIN"].items():
        yield from _edges(item, limits, FULMAR | {"since": True})


def _edges(item: str, limits: tuple[Any, ...], kind: Row) -> Iterator[Case]:
    _, low, deferred_low, high, deferred_high = limits
    for limit, below in ((low, True), (deferred_low, True), (high, False), (deferred_high, False)):
        if limit is None:
            continue
        boundary = Decimal(str(limit)) + (-HALF if below else HALF)
        for upper in (True, False):
            beyond = upper is not below
            of_deferred = limit in {deferred_low, deferred_high}
            rejected = beyond and (
                of_deferred or (deferred_low if below else deferred_high) is None
            )
            fit = not beyond and limit in {low, high}
            left = "" if fit else "REJECTED" if rejected else "DEFERRED"
            rows = 3 if item == "BRK" else 2
            yield _edge(
                item,
                boundary,
                kind,
                upper=upper,
                left=left,
                rows=rows,
                decides_verdict=rejected or of_deferred,
            )


def _edge(  # noqa: PLR0913 - what tells one edge from another
    item: str,
    boundary: Decimal,
    kind: Row,
    *,
    upper: bool,
    tags: str = "",
    rows: int = 2,
    left: str = "",
    hot: bool = False,
    decides_verdict: bool = False,
    **cells: Any,
) -> Case:
    """A reading as near to a boundary as the gauge can show, on one side of it."""

    def shown(row: Row, unit: str, *, above: bool) -> Row:
        return {"reading": shown_near(row, item, unit, boundary, upper=above), "unit": unit}

    def change(dice: Dice, row: Row) -> Row:
        units = tuple(SHOWN[item])
        if hot:
            row = row | {"landed_at": at(row, -60)}
            row = with_component(row, item, taken_at=at(row, -20))
        return with_component(row | cells, item, **shown(row, dice.pick(units), above=upper))

    def wanted(sheet: Sheet) -> bool:
        unit = component(sheet.row, item).get("unit")
        if unit is None:
            return False
        other = with_component(sheet.row, item, **shown(sheet.row, unit, above=not upper))
        return sheet.decided_by(components=other["components"])

    return Case(
        tags=tags or f"boundary-{item.lower()}",
        rows=rows,
        kind=kind,
        change=change,
        wanted=wanted,
        touches=frozenset({item})
        | ({"weather"} if item in COLD else NOTHING)
        | ({"deferred"} if left else NOTHING)
        | ({_verdict_of(item)} if decides_verdict else NOTHING),
        standing="spoils" if left == "REJECTED" else "",
    )


def _verdict_of(item: str) -> str:
    """What is touched by rejecting an item, and by whatever shows in the verdict alone."""
    return "mechanical verdict" if item in POLICY["MECHANICAL"] else "electrical verdict"


def condition_cases() -> Iterator[Case]:
    """Hot tyres, cold cells, stale and silent gauges, placards, and three that are deferred."""
    for since, minutes in ((False, 90), (False, 91), (True, 120), (True, 121)):
        yield _hot(minutes, {"since": since})
    yield _hot(120, FIRST_DAY, tags="hot-tyre,bulletin-day")
    for kind in (FULMAR, PETREL):
        low = POLICY["limits_of"](kind | DAY)["MTY"][1]
        boundary = Decimal(str(low + POLICY["HOT_PSI"])) - HALF
        for upper in (True, False):
            left = "" if upper else "DEFERRED"
            yield _edge(
                "MTY", boundary, kind, upper=upper, tags="hot-tyre", rows=1, left=left, hot=True
            )
    for item, limit in (("BAT", BAT_LOW), ("BAT", 24.1), ("STB", 23.8)):
        boundary = Decimal(str(limit)) - Decimal(str(POLICY["COLD_VOLTS"])) - HALF
        for upper in (True, False):
            rejected = not upper and limit != BAT_LOW
            left = "REJECTED" if rejected else "DEFERRED"
            yield _edge(
                item,
                boundary,
                {},
                upper=upper,
                tags="cold",
                left=left,
                decides_verdict=limit != BAT_LOW,
                outside_celsius=-3,
            )
        yield _cold_or_not(item, limit)
    for minutes, item in itertools.product((180, 181), ("NTY", "GEN", "STB", "HYD")):
        yield _stale(item, minutes)
    for item in ("NTY", "INS", "GEN", "MTY", "BRK"):
        yield _silent(item)
    for days, item in itertools.product((0, -1), ("BRK", "EML", "OXY", "GEN")):
        yield _placarded(item, days)
    yield Case(
        tags="three-deferred",
        rows=3,
        kind={"scope": ("full", "mechanical")},
        change=lambda dice, row: _deferred(dice, row, ("HYD", "MTY", "BRK")),
        wanted=lambda sheet: (
            sheet.entries["mechanical_verdict"] == "REJECTED"
            and sheet.differs("mechanical_verdict", components=_mended(sheet.row, "HYD"))
        ),
        touches=frozenset({*POLICY["MECHANICAL"], "deferred"}),
        standing="spoils",
    )
    yield Case(
        tags="three-deferred",
        rows=2,
        kind={"scope": ("full", "electrical")},
        change=lambda dice, row: _deferred(dice, row, ("BAT", "GEN", "EML")),
        wanted=lambda sheet: (
            sheet.entries["electrical_verdict"] == "REJECTED"
            and sheet.differs("electrical_verdict", components=_mended(sheet.row, "BAT"))
        ),
        touches=frozenset({*POLICY["ELECTRICAL"], "deferred"}),
        standing="spoils",
    )
    yield _two_deferred(("HYD", "MTY"), "mechanical")
    yield _two_deferred(("GEN", "INS"), "electrical")
    yield Case(
        tags="nothing-fitted",
        rows=3,
        kind={"scope": ("full", "electrical")},
        change=lambda _, row: row | {"components": _removed(row, POLICY["ELECTRICAL"])},
        touches=frozenset(POLICY["ELECTRICAL"]),
    )


def _two_deferred(items: tuple[str, ...], part: str) -> Case:
    return Case(
        tags="two-deferred",
        rows=3,
        kind={"scope": ("full", part)},
        change=lambda dice, row: _deferred(dice, row, items),
        wanted=lambda sheet: _third_rejects(sheet, part),
        touches=frozenset({*POLICY[part.upper()], "deferred"}),
    )


def _hot(minutes: int, kind: Row, tags: str = "hot-tyre") -> Case:
    """A main tyre that is fit only if it is hot, or only if it is not."""

    def change(dice: Dice, row: Row) -> Row:
        _, low, _, high, _ = POLICY["limits_of"](row | {"scope": "full"})["MTY"]
        wanted = dice.pick((low + 2, high + 2))
        unit = dice.pick(("psi", "bar", "kPa"))
        shown = shown_near(row, "MTY", unit, Decimal(str(wanted)), upper=True)
        taken = at(row, -20)
        row = with_component(row, "MTY", reading=shown, unit=unit, taken_at=taken)
        return row | {"landed_at": at(row, -20 - minutes)}

    def wanted(sheet: Sheet) -> bool:
        other = 1 if minutes % 2 == 0 else -1
        landed = at(sheet.row, -20 - minutes - other)
        return sheet.decided_by(landed_at=landed)

    return Case(
        tags=tags,
        rows=3,
        kind=kind,
        change=change,
        wanted=wanted,
        touches=frozenset({"MTY", "deferred"}),
    )


def _cold_or_not(item: str, limit: float) -> Case:
    """Zero degrees, which are not colder than zero."""

    def change(dice: Dice, row: Row) -> Row:
        unit = dice.pick(tuple(SHOWN[item]))
        value = Decimal(str(limit)) - Decimal("0.2")
        shown = shown_near(row, item, unit, value, upper=True)
        return with_component(row, item, reading=shown, unit=unit) | {
            "outside_celsius": dice.pick((0, -1))
        }

    def wanted(sheet: Sheet) -> bool:
        other = -1 - sheet.row["outside_celsius"]
        return sheet.differs("electrical_verdict", "incident_report", outside_celsius=other)

    return Case(
        tags="cold",
        rows=3,
        kind={},
        change=change,
        wanted=wanted,
        touches=frozenset({item, "weather", "deferred", _verdict_of(item)}),
        standing="" if limit == BAT_LOW else "spoils",
    )


def _stale(item: str, minutes: int) -> Case:
    """A reading that is just old enough to be none, or just not."""
    return Case(
        tags="stale",
        kind={},
        change=lambda _, row: with_component(row, item, taken_at=at(row, -minutes)),
        wanted=lambda sheet: _decided_by_component(
            sheet, item, taken_at=at(sheet.row, minutes - 361)
        ),
        touches=frozenset({item, "deferred", _verdict_of(item)}),
        standing="spoils" if item in {"NTY", "STB"} else "",
    )


def _decided_by_component(sheet: Sheet, item: str, **cells: Any) -> bool:
    other = with_component(sheet.row, item, **cells)
    return sheet.decided_by(components=other["components"])


def _silent(item: str) -> Case:
    """A gauge that gives nothing."""
    return Case(
        tags="gauge-silent",
        kind=FULMAR if item == "BRK" else {},
        change=lambda _, row: with_component(row, item, reading=None, unit=None, taken_at=None),
        wanted=lambda sheet: sheet.decided_by(components=_mended(sheet.row, item)),
        touches=frozenset({item, "deferred", _verdict_of(item)}),
        standing="spoils" if item == "NTY" else "",
    )


def _placarded(item: str, days: int) -> Case:
    """A placard on its last day, or on the day after it."""

    def change(_: Dice, row: Row) -> Row:
        return with_component(row, item, placard_until=days_from(row, days))

    def wanted(sheet: Sheet) -> bool:
        other = with_component(sheet.row, item, placard_until=days_from(sheet.row, -1 - days))
        return sheet.differs(
            "mechanical_verdict", "electrical_verdict", components=other["components"]
        )

    return Case(
        tags="placard",
        kind={},
        change=change,
        wanted=wanted,
        touches=frozenset({item, "deferred", _verdict_of(item)}),
    )


def _deferred(dice: Dice, row: Row, items: tuple[str, ...]) -> Row:
    """These items deferred, in one of three ways each."""
    limits = POLICY["limits_of"](row | {"scope": "full"})
    for item in items:
        _, low, deferred_low, high, deferred_high = limits[item]
        ways: list[Row] = [{"placard_until": days_from(row, dice.between(1, 30))}]
        if deferred_low is not None or deferred_high is not None:
            first, last = (deferred_low, low) if deferred_low is not None else (high, deferred_high)
            middle = (Decimal(str(first)) + Decimal(str(last))) / 2
            unit = dice.pick(tuple(SHOWN[item]))
            shown = shown_near(row, item, unit, middle, upper=True)
            ways += [{"reading": shown, "unit": unit}] * 2
        row = with_component(row, item, **dice.pick(ways))
    return row


def _mended(row: Row, item: str) -> list[Row]:
    """The components, the first of this item being in order."""
    limits = POLICY["limits_of"](row | {"scope": "full"})
    unit, low, _, high, _ = limits[item]
    value = low + 1 if high is None else (low + high) / 2
    mended = {
        "placard_until": None,
        "reading": value,
        "unit": unit,
        "taken_at": at(row, -10),
        "plate_serial": component(row, item).get("listed_serial"),
    }
    components: list[Row] = with_component(row, item, **mended)["components"]
    return components


def _third_rejects(sheet: Sheet, part: str) -> bool:
    """Whether a part is deferred, and one more deferred item would reject it."""
    if sheet.entries[f"{part}_verdict"] != "DEFERRED":
        return False
    group = POLICY[part.upper()]
    listed = [one for one in sheet.row["components"] if one["item"] in group]
    until = days_from(sheet.row, 9)
    more = (
        [one | {"placard_until": until} if one is extra else one for one in sheet.row["components"]]
        for extra in listed
    )
    return any(sheet.differs(f"{part}_verdict", components=one) for one in more)


def _removed(row: Row, group: dict[str, Any]) -> list[Row]:
    return [
        one | {"status": "removed"} if one["item"] in group else one for one in row["components"]
    ]


# --- plates and reports ----------------------------------------------------------------------


LENT = frozenset({"HYD", "BAT", "GEN", "plates", "deferred"})


def part_cases() -> Iterator[Case]:
    """Serials, loans, and who is told what."""
    for item, days in itertools.product(("HYD", "BAT", "GEN"), (0, -1)):
        yield _lent(item, days, {}, "loan", -1 - days)
    for item in ("OXY", "STB"):
        for since in (False, True):
            yield _lent(item, 12, {"since": since}, "loan-of-a-dagger-item", None, rows=2)
    for item in ("HYD", "STB", "BAT", "OXY"):
        yield _illegible(item)
    yield Case(
        tags="letter-for-nought",
        rows=4,
        kind={},
        change=_letter,
        wanted=_told_apart,
        touches=LENT,
        standing="spoils",
    )
    for answer in ("quarantined", "accepted"):
        yield _answered_by_stores(answer)
    for answer in ("joined", "accepted"):
        yield _answered_by_safety_office(answer)
    for minutes in (179, 180):
        yield _departing(minutes)
    yield Case(
        tags="dagger-rejected",
        rows=4,
        kind={},
        change=lambda dice, row: (
            _rejected(dice, row, dice.pick(("OXY", "STB")))
            | {"departs_at": at(row, 300), "safety_office": "accepted"}
        ),
        wanted=lambda sheet: (
            sheet.entries["incident_report"] == "URGENT"
            and any(
                sheet.differs("incident_report", components=_mended(sheet.row, item))
                for item in ("OXY", "STB")
            )
            and len(_reported(sheet)) == 1
        ),
        touches=frozenset({"office", "calm", "weather", *POLICY["CRITICAL"]}),
        standing="spoils",
    )
    yield Case(
        tags="refused",
        rows=10,
        kind={},
        change=lambda _, row: row | {"register": "refused"},
        wanted=lambda sheet: sheet.differs("clearance", register="entered"),
        standing="shows",
    )


def _illegible(item: str) -> Case:
    rejects = item in POLICY["CRITICAL"]
    return Case(
        tags="illegible",
        kind={},
        change=lambda _, row: with_component(row, item, plate_serial=None, loan_until=None),
        wanted=lambda sheet: sheet.differs("mismatch_report", components=_mended(sheet.row, item)),
        touches=frozenset({item, "plates", "deferred"})
        | ({_verdict_of(item)} if rejects else NOTHING),
        standing="spoils",
    )


def _answered_by_stores(answer: str) -> Case:
    def change(dice: Dice, row: Row) -> Row:
        return _differing(dice, row, dice.pick(("HYD", "BAT", "GEN"))) | {"stores": answer}

    def wanted(sheet: Sheet) -> bool:
        other = _other(sheet.row["stores"], "accepted", "quarantined")
        return sheet.differs("clearance", stores=other)

    return Case(
        tags="quarantine",
        rows=4,
        kind={},
        change=change,
        wanted=wanted,
        touches=LENT,
        standing="shows",
    )


def _answered_by_safety_office(answer: str) -> Case:
    def change(dice: Dice, row: Row) -> Row:
        return _deferred(dice, row, ("HYD", "GEN")) | {"safety_office": answer}

    def wanted(sheet: Sheet) -> bool:
        other = _other(sheet.row["safety_office"], "accepted", "joined")
        return sheet.differs("incident_report", safety_office=other)

    return Case(
        tags="open-report",
        rows=4,
        kind={},
        change=change,
        wanted=wanted,
        touches=frozenset({"office", "HYD", "GEN", "deferred"}),
    )


def _departing(minutes: int) -> Case:
    """One rejected item, and a departure that just makes its report urgent or just does not."""

    def change(dice: Dice, row: Row) -> Row:
        leaving = {"departs_at": at(row, minutes), "safety_office": "accepted"}
        return _one_rejected(dice, row) | leaving

    def wanted(sheet: Sheet) -> bool:
        return sheet.differs("incident_report", departs_at=at(sheet.row, 359 - minutes))

    return Case(
        tags="boundary-departure",
        rows=3,
        kind={},
        change=change,
        wanted=wanted,
        touches=frozenset({"office", "calm", "weather"}),
        standing="spoils",
    )


def _lent(item: str, days: int, kind: Row, tags: str, other: int | None, rows: int = 1) -> Case:
    def change(dice: Dice, row: Row) -> Row:
        return with_component(
            _differing(dice, row, item), item, loan_until=days_from(row, days), placard_until=None
        )

    def wanted(sheet: Sheet) -> bool:
        until = None if other is None else days_from(sheet.row, other)
        changed = with_component(sheet.row, item, loan_until=until)
        if other is None and kind["since"]:
            # The tag waives nothing any more: with it or without, the part is a mismatch.
            changed = with_component(
                sheet.row, item, plate_serial=component(sheet.row, item).get("listed_serial")
            )
        return sheet.differs("mismatch_report", components=changed["components"])

    rejects = bool(kind.get("since")) and item in POLICY["CRITICAL"]
    return Case(
        tags=tags,
        rows=rows,
        kind=kind,
        change=change,
        wanted=wanted,
        touches=frozenset({item, "plates", "deferred"})
        | ({_verdict_of(item)} if rejects else NOTHING),
        standing="" if days >= 0 and not kind.get("since") else "spoils",
    )


def _differing(dice: Dice, row: Row, item: str) -> Row:
    listed = component(row, item).get("listed_serial")
    if listed is None:
        return row
    return with_component(
        row, item, plate_serial=another_serial(dice, listed), loan_until=None, placard_until=None
    )


def _letter(dice: Dice, row: Row) -> Row:
    item = dice.pick(("HYD", "BAT", "GEN"))
    listed = component(row, item).get("listed_serial")
    if listed is None:
        return row
    stamped = listed.replace("0", "O", 1)
    return with_component(row, item, plate_serial=stamped, loan_until=None, placard_until=None)


def _told_apart(sheet: Sheet) -> bool:
    return any(
        "O" in (component(sheet.row, item).get("plate_serial") or "")
        and sheet.differs("mismatch_report", components=_mended(sheet.row, item))
        for item in ("HYD", "BAT", "GEN")
    )


def _other(value: str, one: str, two: str) -> str:
    return two if value == one else one


def _one_rejected(dice: Dice, row: Row) -> Row:
    return _rejected(dice, row, dice.pick(("NTY", "HYD", "BAT", "EML", "INS", "GEN")))


def _rejected(dice: Dice, row: Row, item: str) -> Row:
    _, low, deferred_low, _, _ = POLICY["limits_of"](row | {"scope": "full"})[item]
    lowest = Decimal(str(low if deferred_low is None else deferred_low)) * Decimal("0.96")
    unit = dice.pick(tuple(SHOWN[item]))
    return with_component(
        row, item, reading=shown_near(row, item, unit, lowest, upper=True), unit=unit
    )


def _reported(sheet: Sheet) -> list[str]:
    """The positions of the incident report."""
    reports = [call for call in sheet.calls if call["name"] == "file_incident_report"]
    return [position for call in reports for position in call["arguments"]["positions"]]


# --- weight and hours ------------------------------------------------------------------------


def paper_cases() -> Iterator[Case]:
    """Both sides of each number of clauses 11.19 to 11.24, and who is exempt from what."""
    flying = ("line", "ferry")
    for kind in (FULMAR, PETREL):
        heaviest = POLICY["HEAVIEST"][kind["aircraft_type"]]
        near = POLICY["NEAR_KG"][kind["aircraft_type"]]
        for over in (0, 1):
            yield _weighed(
                kind | {"purpose": flying}, heaviest + over, 0, over=over, tags="boundary-heaviest"
            )
            yield _weighed(
                kind | {"purpose": flying, "scope": ("full", "mechanical")},
                heaviest * 95 // 100 + over,
                0,
                tags="boundary-heaviest,wheels-deferred",
                over=over,
                wheels="BRK" if kind is FULMAR else "MTY",
            )
            for sign in (-1, 1):
                yield _weighed(
                    kind | {"purpose": flying},
                    heaviest * 9 // 10 + 7,
                    sign * (near + over),
                    tags="boundary-declared",
                    over=over,
                    rows=1,
                )
    yield from _timed()
    yield from _alone()
    yield Case(
        tags="ground-run",
        rows=2,
        kind={"purpose": "ground run"},
        change=lambda dice, row: _left(dice, row, -dice.between(500, 900)),
        wanted=lambda sheet: sheet.differs("clearance", purpose="ferry"),
        touches=CALM_HOURS,
        standing="shows",
    )
    yield Case(
        tags="ferry",
        rows=2,
        kind={"purpose": "ferry"},
        change=lambda _, row: with_weight(
            row, POLICY["HEAVIEST"][row["aircraft_type"]] * 88 // 100, 150
        ),
        wanted=lambda sheet: (
            sheet.entries["clearance"] in {"RESTRICTED", "HELD"}
            and sheet.differs("clearance", purpose="line")
        ),
        touches=frozenset({"weight"}),
        standing="shows",
    )
    yield Case(
        tags="both-deferred",
        rows=4,
        kind={"purpose": "line", "scope": "full"},
        change=lambda dice, row: _deferred(
            dice, row, (dice.pick(("HYD", "MTY")), dice.pick(("GEN", "EML", "INS")))
        ),
        wanted=lambda sheet: (
            sheet.entries["weight_check"] != "DIFFERS"
            and sheet.differs("clearance", purpose="ferry")
        ),
        touches=frozenset({*POLICY["MECHANICAL"], *POLICY["ELECTRICAL"], "deferred", "weight"}),
        standing="shows",
    )
    yield Case(
        tags="clean",
        rows=7,
        kind={},
        change=_clean,
        wanted=lambda sheet: sheet.entries["clearance"] == "RELEASED",
        touches=frozenset({"calm", "weight", "hours", "plates"}),
        standing="shows",
    )


def _alone() -> Iterator[Case]:
    """One irregularity on an aircraft that is clean beside it."""

    def heavy(dice: Dice, row: Row) -> Row:
        heaviest = POLICY["HEAVIEST"][row["aircraft_type"]]
        return with_weight(_clean(dice, row), heaviest + dice.between(5, 90), 0)

    def lent(dice: Dice, row: Row) -> Row:
        return _lent("HYD", dice.between(5, 40), {}, "", -1).change(dice, _clean(dice, row))

    def differing(dice: Dice, row: Row) -> Row:
        heaviest = POLICY["HEAVIEST"][row["aircraft_type"]]
        return with_weight(_clean(dice, row), heaviest * 88 // 100, dice.pick((-130, 140)))

    def overdue(dice: Dice, row: Row) -> Row:
        return _left(dice, _clean(dice, row), -dice.between(700, 900))

    def extended(dice: Dice, row: Row) -> Row:
        return _left(dice, _clean(dice, row), -dice.between(20, 400))

    def mismatched(dice: Dice, row: Row) -> Row:
        return _differing(dice, _clean(dice, row), "HYD") | {"stores": "accepted"}

    for tags, kind, change, entries in (
        ("too-heavy", {"purpose": ("line", "ferry")}, heavy, {"weight_check": "EXCEEDS"}),
        ("loan", {"scope": ("full", "mechanical")}, lent, {"mismatch_report": "WAIVED"}),
        ("ferry", {"purpose": "ferry"}, differing, {"weight_check": "DIFFERS"}),
        ("ground-run", {"purpose": "ground run"}, overdue, {"time_check": "OVERDUE"}),
        ("extended", {}, extended, {"time_check": "EXTENDED"}),
        ("held", {"purpose": "line"}, differing, {"weight_check": "DIFFERS"}),
        ("held", {"scope": ("full", "mechanical")}, mismatched, {"mismatch_report": "FILED"}),
    ):
        yield Case(
            tags=tags,
            rows=3,
            kind=kind,
            change=change,
            wanted=partial(_only_wrong, entries),
            touches=frozenset({"calm", "weight", "hours", "plates", "HYD"}),
            standing="shows",
        )


def _only_wrong(entries: dict[str, str], sheet: Sheet) -> bool:
    """Whether the sheet has these entries, and others are right but for what follows of them."""
    # A part that is no mismatch is read; one that is has to be deferred.
    allowed = {"clearance", "mechanical_verdict"}
    return entries.items() <= sheet.entries.items() and (_wrong(sheet) - entries.keys() <= allowed)


def _wrong(sheet: Sheet) -> set[str]:
    right = {"FIT", "AGREES", "WITHIN", "RELEASED", "NOT APPLICABLE"}
    return {name for name, entry in sheet.entries.items() if entry not in right}


def _weighed(  # noqa: PLR0913 - what tells one weight from another
    kind: Row, target: int, apart: int, *, tags: str, over: int, rows: int = 2, wheels: str = ""
) -> Case:
    def change(dice: Dice, row: Row) -> Row:
        if wheels:
            row = _deferred(dice, row, (wheels,))
        return with_weight(row, target, apart)

    def wanted(sheet: Sheet) -> bool:
        flip = -1 if over else 1
        if apart:
            weight = POLICY["takeoff_weight"](sheet.row, sheet.row)
            declared = Decimal(str(sheet.row["declared_weight"])) * Decimal(
                str(POLICY["KILOGRAMS"][sheet.row["declared_unit"]])
            )
            exact: bool = abs(POLICY["whole"](declared) - weight) == abs(apart)
            return exact and sheet.entries["weight_check"] == ("DIFFERS" if over else "AGREES")
        other = with_weight(sheet.row, target + flip, 0)
        return sheet.differs(
            "weight_check", payload=other["payload"], declared_weight=other["declared_weight"]
        )

    return Case(
        tags=tags,
        rows=rows,
        kind=kind,
        change=change,
        wanted=wanted,
        touches=frozenset({"weight"} | ({"MTY", "BRK", "deferred"} if wheels else NOTHING)),
        standing="spoils" if over else "",
    )


def _timed() -> Iterator[Case]:
    for left in (0, -1):
        yield _lacking({}, left, -1 - left, "boundary-check", rows=3)
    yield _lacking(PETREL | FIRST_DAY, -540, -480, "bulletin-day")
    for kind, most in (
        (PETREL | {"since": False}, 600),
        (FULMAR | {"since": True}, 600),
        (PETREL | {"since": True}, 480),
    ):
        for over in (0, 1):
            yield _lacking(kind, -most - over, -most - 1 + over, "boundary-extension")
    for apart, minute, sign in ((6, 6, 1), (6, 6, -1), (7, 5, 1), (7, 1, -1)):
        yield _metered(apart, minute, sign)
    yield Case(
        tags="no-extension",
        rows=4,
        kind={},
        change=lambda dice, row: _left(
            dice, _deferred(dice, row, (dice.pick(("HYD", "EML", "GEN")),)), -dice.between(30, 400)
        ),
        wanted=lambda sheet: (
            sheet.entries["time_check"] == "OVERDUE"
            and any(
                sheet.differs("time_check", components=_mended(sheet.row, item))
                for item in ("HYD", "EML", "GEN")
                if component(sheet.row, item)
            )
        ),
        touches=frozenset({"hours", "calm", "HYD", "EML", "GEN"}),
        standing="spoils",
    )


def _left(dice: Dice, row: Row, left: int) -> Row:
    """The row with so many minutes left, of which meter and log say the same."""
    flown = dice.between(3_000, 9_000) * 60 + dice.below(60)
    return row | hours(flown, row["flight_minutes"], left, flown // 6)


def _lacking(kind: Row, left: int, other: int, tags: str, rows: int = 2) -> Case:
    def change(dice: Dice, row: Row) -> Row:
        return _left(dice, row, left)

    def wanted(sheet: Sheet) -> bool:
        flown = POLICY["minutes"](sheet.row["flown"])
        planned = sheet.row["flight_minutes"]
        return sheet.differs("time_check", **hours(flown, planned, other, flown // 6))

    return Case(
        tags=tags,
        rows=rows,
        kind=kind,
        change=change,
        wanted=wanted,
        touches=CALM_HOURS,
        standing="spoils" if other > left and left < -1 else "",
    )


def _metered(apart: int, minute: int, sign: int) -> Case:
    """A meter that is six or seven minutes before or behind the log."""

    def change(dice: Dice, row: Row) -> Row:
        # Meters show tenths of an hour, which are six minutes.
        flown = dice.between(3_000, 9_000) * 60 + 6 * dice.below(9) + minute
        tenths = (flown + sign * apart) // 6
        left = dice.pick((dice.between(30, 900), -dice.between(30, 400)))
        return row | hours(flown, row["flight_minutes"], left, tenths)

    def wanted(sheet: Sheet) -> bool:
        flown = POLICY["minutes"](sheet.row["flown"])
        off: Decimal = abs(Decimal(str(sheet.row["meter_hours"])) * 60 - flown)
        return off == apart and (sheet.entries["time_check"] == "DISPUTED") == (apart > 6)  # noqa: PLR2004 - clause 11.23

    return Case(
        tags="boundary-meter",
        kind={},
        rows=2,
        change=change,
        wanted=wanted,
        touches=frozenset({"hours"}),
        standing="spoils" if apart > 6 else "",  # noqa: PLR2004 - clause 11.23
    )


def _clean(dice: Dice, row: Row) -> Row:
    """Nothing wrong anywhere, so that what is drawn beside it decides."""
    row = settled(dice, row)
    for one in row["components"]:
        if one["status"] == "fitted":
            one.update(placard_until=None)
    components = [
        one | {"plate_serial": one["listed_serial"], "loan_until": None, "placard_until": None}
        for one in row["components"]
    ]
    row = with_weight(
        row, POLICY["HEAVIEST"][row["aircraft_type"]] * dice.between(84, 93) // 100, 0
    )
    return _left(dice, row | {"components": components}, dice.between(1, 3_000)) | {
        "register": "entered"
    }
