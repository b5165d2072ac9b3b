# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: card RD-3 as a function of what the desk has before it.

It understands the dialogue by the phrase book: each turn is a sequence of phrases of
`phrases.json`, and each phrase has one meaning and slots (a day, a number of guests ...). What is
said to the desk is all that is read; no other part of the data tells how a dialogue was made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from pytest_sopbench.bundled._phrases import PhraseBook, Said

BOOK = PhraseBook(Path(__file__).parent / "phrases.json")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SITTINGS = {  # clause 2.5, in the order of step 5.2.4: first and last time
    "early": ("17:30", "19:15"),
    "late": ("19:30", "21:00"),
    "lunch": ("12:00", "14:00"),
}
PURPOSES = {"new": "new", "switch": "new", "cancel": "cancel", "other": "other"}
WISHES = ("day", "time", "guests")
DETAILS = ("name", "phone")
MOST_GUESTS = 10  # step 5.2.1
DEPOSIT_FROM, DEPOSIT_FROM_AT_WEEKEND = 7, 5  # step 5.4.3
NO_SHOWS = 2  # step 5.4.3
HOUSE_CARD = {"parking": "H1", "dogs": "H2", "dress": "H3", "chairs": "H4", "else": "H5"}
ACTIONS = {
    "transfer": ("4.2", "5.2.1", "6.1.3", "G1", "G4.2"),
    "offer": ("5.2.2", "5.2.3", "5.2.4", "5.2.5"),
    "confirm": ("5.4.1", "6.2.1", "6.2.2"),
    "enter": ("5.4.5", "6.3.1"),
    "end": ("5.4.4", "6.3.2", "G3.2", "G6.2"),
    "tell": ("G2", "G3.1", "G4.1", "G6.1", "G7", *HOUSE_CARD.values()),
}
ACTION = {line: action for action, lines in ACTIONS.items() for line in lines}


def decide(inputs: Mapping[str, Any], _call: object = None) -> dict[str, Any]:
    """Return what the desk does after the last turn of the dialogue."""
    desk = Desk(inputs)
    for turn in inputs["dialogue"]:
        if turn["who"] == "desk":
            desk.spoke(turn["says"])
        else:
            desk.hears(BOOK.read(turn["says"]))
    step = desk.step()
    rule, line = desk.rule(step)
    return {
        "step": step,
        "action": ACTION.get(line, "ask") if line else "silent",
        "line": line,
        "rule": rule,
        "facts": dict(desk.facts),
        "open": desk.open(),
        "remark": "",
    }


class Desk:
    """What is known and agreed in a call so far."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self._inputs = inputs
        self._today = date.fromisoformat(inputs["called_on"])
        self._days = {day["day"]: day for day in inputs["book"]}
        self._record: Mapping[str, Any] = inputs["record"] or {}
        self._purpose = ""
        shown = re.sub("[^0-9]", "", inputs["display"]) or None
        self.facts: dict[str, Any] = dict.fromkeys((*WISHES, *DETAILS, "reference"))
        self.facts["phone"] = shown
        self._asked = ""
        self._lines: set[str] = set()
        self._agreed: dict[str, bool] = {}
        self._misses = 0
        self._meanings: list[str] = []
        self._silences = 0
        self._waiting = False

    # --- the dialogue ------------------------------------------------------------------------

    def spoke(self, text: str) -> None:
        """Clause 3.4: an answer belongs to the last line of a step, whatever line came since."""
        for said in BOOK.read(text):
            line = said.meaning.removeprefix("line ")
            if line != said.meaning:
                self._lines.add(line)
                self._asked = line if line[0].isdigit() else self._asked

    def hears(self, turn: Sequence[Said]) -> None:
        meanings = [said.meaning for said in turn]
        self._count_silence(meanings)
        told = [said for said in turn if self._learns(said)]
        if told:
            kept = self._agreed.items() & {("5.4.3", True), ("5.4.3", False)}
            self._agreed = dict(kept)  # clause 3.6
        answers = [meaning for meaning in meanings if meaning in {"yes", "no"}]
        if answers and not told:  # clause 3.5
            self._answers(agreed=answers[-1] == "yes")
        self._meanings = meanings

    def _count_silence(self, meanings: Sequence[str]) -> None:
        if meanings != ["silence"]:
            self._silences, self._waiting = 0, "wait" in meanings
            return
        if "wait" not in self._meanings:
            self._waiting = False
        self._silences += 0 if self._waiting else 1

    def _learns(self, said: Said) -> bool:
        """Take up what a phrase tells; whether it told a fact of the booking."""
        if said.meaning in PURPOSES:
            self._purpose = PURPOSES[said.meaning]
        slots = {name: value for name, value in said.slots.items() if name in self.facts}
        if "guests_adults" in said.slots:
            slots["guests"] = said.slots["guests_adults"] + said.slots["guests_children"]
        if "day" in slots:
            slots["day"] = self._day(slots["day"])
        if "phone" in slots:
            slots["phone"] = slots["phone"].replace(" ", "")
        if "reference" in slots:
            slots["reference"] = f"QH-{slots['reference'][-4:]}"
        self.facts.update(slots)
        missed = "reference" in slots and self._booking() is None
        self._misses += said.meaning == "none" or missed
        return bool(slots)

    def _answers(self, *, agreed: bool) -> None:
        self._agreed[self._asked] = agreed
        if self._asked == "5.2.4" and agreed:
            self.facts["time"] = SITTINGS[str(self._other_sitting())][0]
        elif self._asked == "5.2.4":
            self.facts.update(day=None, time=None)  # step 5.2.4

    def _day(self, text: str) -> str | None:
        """Clauses 2.2 and 2.3: no day where weekday and date disagree."""
        if text.lower() == "tomorrow":
            return (self._today + timedelta(days=1)).isoformat()
        weekday = next((name for name in WEEKDAYS if name in text), None)
        number = re.search("[0-9]+", text)
        if number is None:
            return self._next(lambda day: WEEKDAYS[day.weekday()] == weekday, first=1)
        wanted = int(number[0])
        found = self._next(lambda day: day.day == wanted, first=0)
        agree = weekday in {None, WEEKDAYS[date.fromisoformat(found).weekday()]}
        return found if agree else None

    def _next(self, fits: Callable[[date], bool], *, first: int) -> str:
        days = (self._today + timedelta(days=ahead) for ahead in range(first, 62))
        return next(day for day in days if fits(day)).isoformat()

    # --- the steps ---------------------------------------------------------------------------

    def open(self) -> list[str]:
        wanted = {"new": (*WISHES, *DETAILS), "cancel": ("reference",)}.get(self._purpose, ())
        return [name for name in wanted if self.facts[name] is None]

    def step(self) -> str:
        """Clause 3.2: the first step of the guest's part that has something to do."""
        if self._purpose == "new":
            return self._new_table()
        if self._purpose == "cancel":
            return self._cancellation()
        return "4.2" if self._purpose else "4.1"

    def _new_table(self) -> str:
        if (self.facts["guests"] or 0) > MOST_GUESTS:
            return "5.2.1"
        missing = self.open()
        for number, wish in enumerate(WISHES, start=1):
            if wish in missing:
                return f"5.1.{number}"
        return self._room() or self._details(missing) or self._close()

    def _room(self) -> str:
        day = self._days[self.facts["day"]]
        sitting = self._sitting()
        if day["closed"] or day["weekday"] == "Monday":
            return "5.2.2"
        if sitting is None:
            return "5.2.3"
        if day[sitting] >= self.facts["guests"]:
            return ""
        return "5.2.4" if self._other_sitting() else "5.2.5"

    def _sitting(self) -> str | None:
        time = self.facts["time"]
        fits = (name for name, (first, last) in SITTINGS.items() if first <= time <= last)
        return next(fits, None)

    def _other_sitting(self) -> str | None:
        day = self._days[self.facts["day"]]
        return next((name for name in SITTINGS if day[name] >= self.facts["guests"]), None)

    def _details(self, missing: Sequence[str]) -> str:
        if "name" in missing:
            return "5.3.1"
        return "5.3.2" if "phone" in missing else ""

    def _close(self) -> str:
        confirmed = self._agreed.get("5.4.1")
        if confirmed is None:
            return "5.4.1"
        if not confirmed:
            return "5.4.2"
        if not self._deposit_needed() or self._agreed.get("5.4.3"):
            return "5.4.5"
        return "5.4.3" if "5.4.3" not in self._agreed else "5.4.4"

    def _deposit_needed(self) -> bool:
        if self._record.get("house_account"):
            return False
        weekend = self._days[self.facts["day"]]["weekday"] in {"Friday", "Saturday"}
        from_guests = DEPOSIT_FROM_AT_WEEKEND if weekend else DEPOSIT_FROM
        guests: int = self.facts["guests"]
        no_shows: int = self._record.get("no_shows", 0)
        return guests >= from_guests or no_shows >= NO_SHOWS

    def _booking(self) -> Mapping[str, Any] | None:
        bookings = self._inputs["bookings"]
        wanted = self.facts["reference"]
        return next((one for one in bookings if one["reference"] == wanted), None)

    def _cancellation(self) -> str:
        booking = self._booking()
        if booking is None:
            return ("6.1.1", "6.1.2", "6.1.3")[min(self._misses, 2)]
        near = date.fromisoformat(booking["day"]) - self._today <= timedelta(days=1)
        asks = "6.2.1" if near and booking["deposit"] else "6.2.2"
        if asks not in self._agreed:
            return asks
        return "6.3.1" if self._agreed[asks] else "6.3.2"

    # --- the rules that override -------------------------------------------------------------

    def rule(self, step: str) -> tuple[str | None, str | None]:
        """Part 7: the first rule that fits the last turn, and the line that is said."""
        has = self._meanings.__contains__
        if has("danger"):
            return "G1", "G1"
        if has("card"):
            return "G2", "G2"
        if has("abuse"):
            return "G3", "G3.2" if "G3.1" in self._lines else "G3.1"
        if has("person") and ACTION.get(step) != "transfer":
            straight = self._record.get("regular") or "G4.1" in self._lines
            return "G4", "G4.2" if straight else "G4.1"
        return self._quiet() or self._asides(step)

    def _quiet(self) -> tuple[str, str | None] | None:
        if self._waiting or set(self._meanings) == {"aside"}:
            return "G5", None
        if self._silences:
            return "G6", "G6.1" if self._silences == 1 else "G6.2"
        return None

    def _asides(self, step: str) -> tuple[str | None, str | None]:
        severe = "allergy" in self._meanings and self._purpose != "cancel"
        if severe and "G7" not in self._lines:
            return "G7", "G7"
        questions = [meaning for meaning in self._meanings if meaning in HOUSE_CARD]
        if questions:
            return "G8", HOUSE_CARD[questions[-1]]
        return None, step
