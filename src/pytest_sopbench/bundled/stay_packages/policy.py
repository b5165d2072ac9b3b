# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: sheet SP-12 as a function of a letter, the guest book and the calendar.

It understands the letter by the phrase book: a letter is a sequence of phrases of `phrases.json`,
and each phrase has one meaning and slots (a date, a number of nights ...). Nothing else of the
data tells how a letter was made. Sums are counted in pence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from pytest_sopbench.bundled._phrases import PhraseBook

BOOK = PhraseBook(Path(__file__).parent / "phrases.json")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SEASONS = ("low", "mid", "high")
# clause 4.1, in pounds
RATES = {"S": (48, 60, 78), "D": (80, 98, 124), "F": (110, 135, 170)}
BEDS = {"S": 1, "D": 2, "F": 4}  # clause 3.2
GROWN_UP, COT_UNDER = 16, 3  # clauses 2.4 and 3.1
SHORTEST_IN_HIGH = 3  # clause 2.8
SHORTEST = {"WALK": 3, "SPA": 2, "TABLE": 2, "FARM": 2}  # clause 5.1
WALKING_DAYS = (1, 3, 5)  # Tuesday, Thursday and Saturday
MONDAY = 0
FARM_AGES = range(3, 13)
LONG_STAY, LONG_FARM = 7, 4  # clauses 7.1 and 5.1
EARLY_DAYS, FRIEND_STAYS = 90, 3  # clause 7.1
TAX, TAXED_NIGHTS = 150, 7  # clause 7.3
DOGS, DOG_AT_MOST = 2, 50  # clause 6.1
SAYS: dict[str, dict[str, Any]] = {
    **{code: {"package": code} for code in SHORTEST},
    "no_package": {"package": "NONE"},
    "baby": {"age": 0},
    "couple": {"adults": 2},
    "alone": {"adults": 1},
    "dog": {"dogs": 1},
    "no_dogs": {"dogs": 0},
    "late": {"late": True},
    "no_late": {"late": False},
}
MORE_ADULTS = {"more": 2, "less": -1}
QUESTIONS = ("dates", "adults", "ages", "beds")
NEAR = 14  # clauses 8.2 and 8.3
AGREED, CHANGED, ASK, DECLINE = "offer", "changed_offer", "ask", "decline"


def decide(inputs: Mapping[str, Any], _call: object = None) -> dict[str, Any]:
    """Return the document for one letter."""
    letter = Letter(inputs)
    stay = Stay(letter, inputs)
    obstacles, questions = stay.obstacles(), letter.questions()
    if obstacles or questions:
        answer = DECLINE if obstacles else ASK
        return document(stay, answer, [*obstacles, *questions])
    changes = stay.settle()
    return document(stay, CHANGED if changes else AGREED, changes) | stay.reckoned()


class Letter:
    """What the guest has written, as it stands at the end of the letter."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self._received = date.fromisoformat(inputs["received"])
        self.name = ""
        self.arrival: date | None = None
        self.nights = 0
        self.adults = 0
        self.children: list[int] = []
        self._spoken_of = 0
        self.wished: list[str] = []
        self.package = "NONE"
        self.bikes = self.dogs = self.baskets = 0
        self.late = False
        for said in BOOK.read(inputs["letter"]):
            other = vars(self).update
            getattr(self, f"_{said.meaning}", other)(SAYS.get(said.meaning, said.slots))
            self.adults += MORE_ADULTS.get(said.meaning, 0)
        self._ages_missing = self._spoken_of > len(self.children)
        self.adults += sum(age >= GROWN_UP for age in self.children)
        self.children = [age for age in self.children if age < GROWN_UP]

    def _dates(self, slots: Mapping[str, Any]) -> None:
        if "arrival" in slots:
            arrival = self._date(slots["arrival"], self._received)
            if "departure" in slots:
                self.nights = (self._date(slots["departure"], arrival) - arrival).days
            else:
                self.nights = slots["nights"]
        else:
            self.nights = slots["nights"]
            departure = self._date(slots["departure"], self._received)
            arrival = departure - timedelta(days=self.nights)
        self.arrival = arrival

    def _fix_arrival(self, slots: Mapping[str, Any]) -> None:
        self.arrival = self._date(slots["arrival"], self._received)

    def _kids(self, slots: Mapping[str, Any]) -> None:
        self.children.extend(slots.values())

    _baby = _kids

    def _kids_count(self, slots: Mapping[str, Any]) -> None:
        self._spoken_of = slots["children"]

    def _rooms(self, slots: Mapping[str, Any]) -> None:
        self.wished = [code for code, number in slots.items() for _ in range(number)]

    @staticmethod
    def _date(text: str, after: date) -> date:
        """Clause 2.1: the next such day after the letter came, or after the arrival."""
        month = next(number for number, name in enumerate(MONTHS, start=1) if name in text)
        day = int(re.findall("[0-9]+", text)[0])
        this_year = date(after.year, month, day)
        if this_year > after:
            return this_year
        return this_year.replace(year=this_year.year + 1)

    @property
    def sleepers(self) -> list[int]:
        """The children that need a bed."""
        return [age for age in self.children if age >= COT_UNDER]

    @property
    def rooms(self) -> list[str]:
        """The rooms that were asked for, or those that clause 3.4 gives."""
        if self.wished or not self.adults or self._ages_missing:
            return self.wished
        if self.sleepers:
            return ["F"] * -(-max(self.adults, len(self.sleepers)) // 2)
        return ["D"] * (self.adults // 2) + ["S"] * (self.adults % 2)

    def questions(self) -> list[str]:
        """Clause 9.3."""
        beds = sum(BEDS[code] for code in self.wished)
        few = 0 < beds < self.adults + len(self.sleepers)
        asked = (not self.arrival, not self.adults, self._ages_missing, few)
        return [flag for flag, so in zip(QUESTIONS, asked, strict=True) if so]


class Stay:
    """The nights of a letter, and what they come to."""

    def __init__(self, letter: Letter, inputs: Mapping[str, Any]) -> None:
        self.letter = letter
        self._calendar = inputs["calendar"]
        self._stays = inputs["earlier_stays"]
        self._received = date.fromisoformat(inputs["received"])
        self.nights: list[date] = []
        if letter.arrival:
            self.nights = [letter.arrival + timedelta(days=n) for n in range(letter.nights)]
        self.seasons = [self._season(night) for night in self.nights]
        self.package, self.dogs = letter.package, letter.dogs

    @property
    def departure(self) -> date:
        return self.nights[-1] + timedelta(days=1)

    def _in_calendar(self, what: str, days: Sequence[date]) -> bool:
        entries = [one for one in self._calendar if one["what"] == what]
        return any(one["from"] <= day.isoformat() <= one["to"] for one in entries for day in days)

    def _season(self, night: date) -> str:
        """Clauses 2.6 and 2.7."""
        if self._in_calendar("fair", [night]):
            return "high"
        summer = night.month in {7, 8}
        christmas = (night.month, night.day) >= (12, 20) or (night.month, night.day) <= (1, 2)
        if summer or christmas:
            return "high"
        return "mid" if night.month in {4, 5, 6, 9, 10} else "low"

    def obstacles(self) -> list[str]:
        """Clause 9.2."""
        short = "high" in self.seasons and len(self.nights) < SHORTEST_IN_HIGH
        closed = self._in_calendar("house closed", self.nights)
        return ["closed"] * closed + ["minimum-stay"] * short

    def settle(self) -> list[str]:
        """Take out what cannot be had, and say why."""
        changes = [flag for flag, so in self._against_package().items() if so]
        if changes:
            self.package = "NONE"
        if self.dogs > DOGS:
            self.dogs = DOGS
            changes.append("two-dogs")
        return changes

    def _against_package(self) -> dict[str, bool]:
        """Clause 5.4."""
        days = [*self.nights, self.departure]
        spa, farm = self.package == "SPA", self.package == "FARM"
        return {
            "too-short": len(self.nights) < SHORTEST.get(self.package, 0),
            "adults-only": spa and bool(self.letter.children),
            "sauna-closed": spa and self._in_calendar("sauna closed", days),
            "no-farm-child": farm and not self._farm_children(),
        }

    def _farm_children(self) -> int:
        return sum(age in FARM_AGES for age in self.letter.children)

    def _package_price(self) -> int:
        of = self.letter
        halves = sum(age >= 6 for age in of.children)  # noqa: PLR2004 - clause 5.1
        prices = {
            "NONE": 0,
            "WALK": 35 * of.adults + 12 * halves,
            "SPA": 60 * of.adults,
            "TABLE": (28 * of.adults + 14 * halves) * len(list(self.programme())),
            "FARM": (30 if len(self.nights) >= LONG_FARM else 40) * self._farm_children(),
        }
        return 100 * prices[self.package]

    def programme(self) -> Iterator[date]:
        """The days of the package, in their order."""
        if self.package == "WALK":
            yield from (day for day in self.nights[1:] if day.weekday() in WALKING_DAYS)
        elif self.package == "SPA":
            yield from self.nights[::2]
        elif self.package == "TABLE":
            yield from (day for day in self.nights if day.weekday() != MONDAY)
        elif self.package == "FARM":
            yield from sorted({self.nights[1], self.nights[-1]})

    def extras(self) -> dict[str, tuple[int, int]]:
        """How many of each there are, and what they cost in pounds."""
        of, nights = self.letter, len(self.nights)
        cots = len(of.children) - len(of.sleepers)
        rooms = len(of.rooms) * of.late
        found = {
            "BIKE": (of.bikes, 9 * of.bikes * nights),
            "DOG": (self.dogs, min(10 * nights, DOG_AT_MOST) * self.dogs),
            "LATE": (rooms, 20 * rooms),
            "BASKET": (of.baskets, 15 * of.baskets),
            "COT": (cots, 0),
        }
        return {code: of_code for code, of_code in found.items() if of_code[0]}

    def _discount(self, rooms: int) -> tuple[str, int]:
        """Clauses 7.1 and 7.2: the highest of them."""
        early = (self.nights[0] - self._received).days >= EARLY_DAYS
        friend = self._stays >= FRIEND_STAYS and "high" not in self.seasons
        long = len(self.nights) >= LONG_STAY
        reasons = (("long", 10, long), ("early", 8, early), ("friend", 5, friend))
        fitting = ((reason, rooms * percent // 100) for reason, percent, so in reasons if so)
        return next(fitting, ("none", 0))

    def reckoned(self) -> dict[str, Any]:
        """The fields that only an offer has."""
        rooms = 100 * sum(
            RATES[code][SEASONS.index(season)]
            for code in self.letter.rooms
            for season in self.seasons
        )
        reason, off = self._discount(rooms)
        package = self._package_price()
        extras = 100 * sum(cost for _, cost in self.extras().values())
        tax = TAX * self.letter.adults * min(len(self.nights), TAXED_NIGHTS)
        sums = {"rooms": rooms, "package": package, "extras": extras, "discount": off, "tax": tax}
        total = sums["total"] = rooms + package + extras - off + tax
        return {
            "programme": [day.isoformat() for day in self.programme()],
            "sums": {name: pence / 100 for name, pence in sums.items()},
            "discount_reason": reason,
            "deposit": self._deposit(total),
        }

    def _deposit(self, total: int) -> dict[str, Any]:
        """Part 8."""
        ahead = (self.nights[0] - self._received).days
        if ahead <= NEAR:
            return {"amount": total / 100, "due": self._received.isoformat()}
        percent = 50 if "high" in self.seasons else 30
        due = self._received + timedelta(days=min(7, ahead - NEAR))
        return {"amount": -(-total * percent // 10_000), "due": due.isoformat()}


def document(stay: Stay, answer: str, flags: Sequence[str]) -> dict[str, Any]:
    """The fields that every letter has; what only an offer has is empty."""
    letter = stay.letter
    return {
        "guest": letter.name,
        "arrival": letter.arrival.isoformat() if letter.arrival else None,
        "departure": stay.departure.isoformat() if letter.arrival else None,
        "nights": letter.nights if letter.arrival else None,
        "season_nights": {name: stay.seasons.count(name) for name in SEASONS},
        "adults": letter.adults,
        "children": letter.children,
        "rooms": letter.rooms,
        "package": stay.package,
        "programme": [],
        "extras": [{"code": code, "quantity": many} for code, (many, _) in stay.extras().items()],
        "sums": None,
        "discount_reason": None,
        "deposit": None,
        "flags": list(flags),
        "answer": answer,
        "note": "",
    }
