"""What a call is about before a word is said: the day, the book, the bookings, the guest."""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

Case: TypeAlias = dict[str, Any]
SITTINGS = {"lunch": ("12:00", "14:00"), "early": ("17:30", "19:15"), "late": ("19:30", "21:00")}
MONTHS = (3, 5, 6, 10)
DAYS_IN_BOOK = 10
ROOMY = 14
NAMES_OF_DAYS = tuple(calendar.day_name)
FACTS = ("guests", "time", "name", "phone", "reference")


def world(dice: Dice, case: Case, names: list[str]) -> Case:
    """Everything that a script may speak of, by its name there; `2` is what replaces it."""
    today = date(2026, dice.pick(MONTHS), dice.between(2, 17))
    guests = case.get("guests") or dice.between(2, 5)
    day, day2 = _days(dice, case, today)
    time, time2 = (_time(dice) for _ in range(2))
    name, name2 = dice.shuffled(names)[:2]
    phone, phone2 = (f"07700 900{dice.below(1000):03}" for _ in range(2))
    reference, reference2 = (f"QH-{dice.between(1000, 9999)}" for _ in range(2))
    return {
        "today": today,
        "day": day,
        "day2": day2,
        "dayx": day,
        "guests": guests,
        "guests2": case.get("guests2") or guests + dice.between(1, 2),
        "time": case.get("time", time),
        "time2": time2,
        "name": name,
        "name2": name2,
        "phone": phone,
        "phone2": phone2,
        "reference": reference,
        "reference2": reference2,
    }


def inputs(dice: Dice, case: Case, of: Case) -> dict[str, Any]:
    """The inputs of a row, but for the dialogue."""
    shown = case.get("display", "shown") == "shown"
    return {
        "called_on": of["today"].isoformat(),
        "weekday": NAMES_OF_DAYS[of["today"].weekday()],
        "display": f"07700 900{dice.below(1000):03}" if shown else "withheld",
        "record": _record(dice, case),
        "book": _book(dice, case, of),
        "bookings": _bookings(dice, case, of),
        "dialogue": [],
    }


def _days(dice: Dice, case: Case, today: date) -> tuple[date, date]:
    """Two days of the book, which is open on them unless the case wants a Monday."""
    ahead = [today + timedelta(days=days) for days in range(1, DAYS_IN_BOOK)]
    mondays = [day for day in ahead if day.weekday() == 0]
    others = dice.shuffled(day for day in ahead if day.weekday() != 0)
    if "weekday" in case:
        others.sort(key=lambda day: NAMES_OF_DAYS[day.weekday()] != case["weekday"])
    if "ahead" in case:
        others.sort(key=lambda day: (day - today).days != case["ahead"])
    if case.get("room", {}).get("day") == "monday":
        return mondays[0], others[0]
    return others[0], others[1]


def _time(dice: Dice) -> str:
    first, last = (
        60 * int(time[:2]) + int(time[3:]) for time in dice.pick(tuple(SITTINGS.values()))
    )
    minutes = first + 15 * dice.below((last - first) // 15 + 1)
    return f"{minutes // 60}:{minutes % 60:02}"


def _record(dice: Dice, case: Case) -> dict[str, Any] | None:
    if "record" not in case and dice.below(2):
        return None
    usual = {"no_shows": dice.below(2), "house_account": False, "regular": False}
    return {"visits": dice.between(2, 9), **usual, **case.get("record", {})}


def _book(dice: Dice, case: Case, of: Case) -> list[dict[str, Any]]:
    rooms = {of[name]: kind for name, kind in case.get("room", {}).items()}
    days = (of["today"] + timedelta(days=days) for days in range(DAYS_IN_BOOK))
    return [_page(dice, day, rooms.get(day, ""), of) for day in days]


def _page(dice: Dice, day: date, room: str, of: Case) -> dict[str, Any]:
    spoken_of = day in {of["day"], of["day2"]}
    largest = {name: dice.pick((0, 2, 4, 6, 8, 10)) for name in SITTINGS}
    if spoken_of:
        largest = {name: dice.pick((10, 12, ROOMY)) for name in SITTINGS}
    largest |= _room(dice, room, of)
    closed = room == "closed" or (not spoken_of and dice.below(8) == 0)
    weekday = NAMES_OF_DAYS[day.weekday()]
    return {"day": day.isoformat(), "weekday": weekday, "closed": closed, **largest}


def _room(dice: Dice, room: str, of: Case) -> dict[str, int]:
    guests: int = of["guests2"] if room.endswith("2") else of["guests"]
    sitting = next((name for name, (a, b) in SITTINGS.items() if a <= of["time"] <= b), "late")
    others = [name for name in SITTINGS if name != sitting]
    if room in {"at", "above"}:
        return dict.fromkeys(others, 0) | {sitting: guests - (room == "above")}
    if room == "full":
        return dict.fromkeys(SITTINGS, 0)
    if room == "late-full":
        return {"late": guests - 1}
    if room == "sitting-at":
        return dict.fromkeys(SITTINGS, guests - 1) | {dice.pick(others): guests}
    if room.startswith("sitting"):
        return {sitting: guests - 1, dice.pick(others): guests - dice.below(2)}
    return {}


def _bookings(dice: Dice, case: Case, of: Case) -> list[dict[str, Any]]:
    """Bookings that the desk sees; the guest's own is among them unless the case wants none."""
    kind = case.get("booking", "far")
    found = [_booking(dice, of["today"] + timedelta(days=dice.below(9))) for _ in range(3)]
    if kind != "none":
        ahead = {"today": 0, "today-free": 0, "tomorrow": 1, "after": 2}
        day = of["today"] + timedelta(days=ahead.get(kind, dice.between(3, 9)))
        deposit = 0 if kind == "today-free" else 10 * dice.between(5, 9)
        found.append({**_booking(dice, day), "reference": of["reference"], "deposit": deposit})
    return dice.shuffled(found)


def _booking(dice: Dice, day: date) -> dict[str, Any]:
    guests = dice.between(2, 9)
    return {
        "reference": f"QH-{dice.between(1000, 9999)}",
        "day": day.isoformat(),
        "guests": guests,
        "deposit": 10 * guests if guests > 4 else 0,  # noqa: PLR2004 - any size would do
    }
