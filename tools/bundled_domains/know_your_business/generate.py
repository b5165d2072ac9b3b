"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

`cases.json` has the cases by the section of the standard that they are about, and says what is
unusual about each. In `shares`, `B` is the business, `c1` a company, `p1` a person, `l1` a listed
company, `s1` a state, `d` the director, and `p2>p3` is p2 holding for p3. Days count from the
review date. All else is drawn, and is in order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, Generator, bundled

FOLDER = bundled("know_your_business")
HERE = Path(__file__).parent
SEED = 34
ROWS = 122
FIRST_DAY = date(2026, 2, 2)
COUNTRIES = ("DE", "FR", "NL", "IE", "GB", "PT")
PLAIN_ACTIVITIES = ("retail", "consulting", "transport", "construction")
KINDS = {  # the licences that an activity needs, and with alcohol
    "money_transfer": ["payment_licence"],
    "pharmacy": ["pharmacy_permit"],
    "alcohol_sales": ["alcohol_licence"],
    "restaurant": ["food_registration", "alcohol_licence"],
}
SHAPES: tuple[dict[str, dict[str, float]], ...] = (
    {"B": {"p1": 100}},
    {"B": {"p1": 60, "p2": 40}},
    {"B": {"p1": 34, "p2": 33, "p3": 33}},
    {"B": {"p1": 70, "p2": 18, "p3": 12}},
    {"B": {"p1": 45, "c1": 55}, "c1": {"p2": 80, "p3": 20}},
    {"B": {"p2": 20, "c1": 80}, "c1": {"p1": 62.5, "p3": 37.5}},
)
HOLDERS = {"p": "person", "c": "company", "l": "listed_company", "s": "state", "B": "company"}
REGISTER = (
    "registered_name",
    "trading_names",
    "legal_form",
    "registration_status",
    "country",
    "director_id",
)

Case: TypeAlias = dict[str, Any]
"""What is unusual about a row."""


def cases() -> Iterator[Case]:
    """Every case, section by section."""
    sections: dict[str, list[Case]] = json.loads((HERE / "cases.json").read_text("utf-8"))
    for groups in sections.values():
        for group in groups:
            yield from [group] * group["rows"]


class Writer:
    """Makes rows of cases."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._words: dict[str, list[str]] = json.loads((HERE / "names.json").read_text("utf-8"))
        self._used: set[str] = set()
        self._named: set[str] = set()

    def row(self, said: Case) -> dict[str, Any]:
        """One row; what is not said of it is in order."""
        dice = self._dice
        self._named.clear()
        activity = dice.pick((*PLAIN_ACTIVITIES, *KINDS))
        case: Case = {"activity": activity, "shares": dice.pick(SHAPES), **said}
        review = FIRST_DAY + timedelta(days=dice.below(150))
        case.setdefault("alcohol", case["activity"] == "restaurant" and dice.below(2) == 1)
        ids = self._ids(case)
        register = self._register(case, ids)
        people = {name: one for name, one in ids.items() if name[0] in "pd"}
        documents = self._documents(case, people, review)
        return {
            "application_id": self._number("KB-", 5),
            "business_id": ids["B"],
            "declared_name": self._declared(
                case.get("name", "registered"), register, case.get("forms", [""])[-1]
            ),
            "declared_activity": case["activity"],
            "serves_alcohol": case["alcohol"],
            "declared_owners": self._owners(case, people),
            "expected_monthly_volume_eur": case.get("volume", dice.between(20, 900) * 100),
            "iban": self._iban(case, register["country"]),
            "review_date": review.isoformat(),
            **(register if "status" not in case or case["status"] else dict.fromkeys(REGISTER)),
            "licences": self._licences(case, review),
            "holdings": _holdings(case, ids),
            "ownership_recorded": "B" in case["shares"],
            "documents": documents,
            "documents_complete": len(documents) == len(people),
            "sanctions": self._sanctions(case, people, documents),
            "offices": self._offices(case, people, review),
            **self._account(case, register, people, documents),
            "press_reports": [{"year": 2025, "reports": dice.below(9)}],
            "tags": ",".join(case["tags"]),
        }

    def _number(self, prefix: str, digits: int) -> str:
        while True:
            number = f"{prefix}{self._dice.below(10**digits):0{digits}}"
            if number not in self._used:
                self._used.add(number)
                return number

    def _name(self, *kinds: str) -> str:
        while True:
            name = " ".join(self._dice.pick(self._words[kind]) for kind in kinds)
            if name not in self._named:
                self._named.add(name)
                return name

    def _ids(self, case: Case) -> dict[str, str]:
        names = {"B", "d"}
        for entity, holders in case["shares"].items():
            names |= {entity, *(part for name in holders for part in name.split(">"))}
        prefixes = {"B": "B", "c": "C", "p": "N", "d": "N", "l": "L", "s": "S"}
        return {name: self._number(prefixes[name[0]], 7) for name in sorted(names)}

    def _register(self, case: Case, ids: Mapping[str, str]) -> dict[str, Any]:
        sole = case.get("form") == "sole_trader"
        form = "" if sole else " " + case.get("forms", [self._dice.pick(self._words["forms"])])[0]
        trading = [self._name("first", "trade") for _ in range(1 + self._dice.below(2))]
        return {
            "registered_name": self._name("first", "second", "trade") + form,
            "trading_names": trading,
            "legal_form": "sole_trader" if sole else "private_limited",
            "registration_status": case.get("status", "active"),
            "country": self._dice.pick(COUNTRIES),
            "director_id": ids["d"],
        }

    def _declared(self, kind: str, register: Mapping[str, Any], form: str = "") -> str:
        registered: str = register["registered_name"]
        words = [word for word in registered.split() if word not in self._words["forms"]]
        trades = [one for one in self._words["trade"] if one != words[-1]]
        more = self._dice.pick(("Group", "Services", "Partners"))
        made: dict[str, Callable[[], str]] = {
            "registered": lambda: registered,
            "trading": lambda: str(register["trading_names"][0]),
            "other": lambda: self._name("first", "second", "trade"),
            "other_form": lambda: " ".join([*words, form]),
            "other_trade": lambda: registered.replace(words[-1], self._dice.pick(trades)),
            "extra_word": lambda: " ".join([*words, more]),
            "form_inside": lambda: registered.replace(" ", " Limited ", 1),
            "spelling": lambda: self._spelled(registered),
        }
        return made.get(kind, made["registered"])()

    def _spelled(self, name: str) -> str:
        """The same name, as clause 2.4 compares names."""
        words = [word for word in name.split() if word not in self._words["forms"]]
        upper, hyphened = " ".join(words).upper(), "-".join([*words[:2], words[-1].lower()])
        return self._dice.pick((f"{upper}, LTD.", f"{hyphened} Limited", hyphened))

    def _owners(self, case: Case, people: Mapping[str, str]) -> list[str]:
        """Whoever holds anything is declared, but for whom the case leaves out."""
        own = {"d"} if case.get("form") == "sole_trader" else set(people) - {"d"}
        return sorted(people[name] for name in own - set(case.get("undeclared", ())))

    def _iban(self, case: Case, country: str) -> str:
        if case.get("abroad"):
            country = self._dice.pick([one for one in COUNTRIES if one != country])
        return self._number(country, 20)

    def _licences(self, case: Case, review: date) -> list[Case]:
        dice = self._dice
        kinds = KINDS.get(case["activity"], [])[: 2 if case["alcohol"] else 1]
        usual = [{"kind": kind, "until": dice.between(40, 900)} for kind in kinds]
        old = {
            "kind": dice.pick(["food_registration", "trade_permit"]),
            "until": -dice.between(99, 900),
        }
        if dice.below(2) and "licences" not in case and case["activity"] != "restaurant":
            usual.append(old)
        found: list[Case] = case.get("licences", usual)
        return [
            {
                "licence_id": self._number("LC-", 6),
                "kind": one["kind"],
                "status": one.get("status", "granted"),
                "valid_until": _day(review, one["until"]),
                "renewal_applied_on": _day(review, one.get("applied")),
            }
            for one in found
        ]

    def _documents(self, case: Case, people: Mapping[str, str], review: date) -> list[Case]:
        dice, found = self._dice, list[Case]()
        for name, person in people.items():
            valid = case.get("documents", {}).get(name, dice.between(60, 3000))
            born = date(1950, 1, 1) + timedelta(days=dice.below(18_000))
            if valid is not None:
                found.append(
                    {
                        "person_id": person,
                        "full_name": self._name("given", "family"),
                        "birth_date": born.isoformat(),
                        "valid_until": _day(review, valid),
                    }
                )
        return found

    def _sanctions(
        self, case: Case, people: Mapping[str, str], documents: list[Case]
    ) -> list[Case]:
        """One answer for each person with a document, to a question with the right birth date."""
        names, found = {person: name for name, person in people.items()}, list[Case]()
        for document in documents:
            score, entry = case.get("sanctions", {}).get(names[document["person_id"]], (0, None))
            born = date.fromisoformat(document["birth_date"])
            found.append(
                {
                    "person_id": document["person_id"],
                    "birth_date": document["birth_date"],
                    "score": score,
                    "entry_birth_date": {
                        "same": document["birth_date"],
                        "other": (born + timedelta(days=366)).isoformat(),
                    }.get(entry),
                }
            )
        return found

    def _offices(self, case: Case, people: Mapping[str, str], review: date) -> list[Case]:
        found: list[Case] = []
        for name, person in people.items():
            status, days = case.get("offices", {}).get(name, ("none", None))
            left = None if days is None else _day(review, -days)
            found.append({"person_id": person, "office_status": status, "left_office_on": left})
        return found

    def _account(
        self,
        case: Case,
        register: Mapping[str, Any],
        people: Mapping[str, str],
        documents: list[Case],
    ) -> dict[str, Any]:
        kind = case.get("bank", "registered")
        if kind == "error":
            return {"account_holder": None, "account_status": None}
        holder = self._declared(kind, register)
        if kind == "owner":
            owner = people["d" if register["legal_form"] == "sole_trader" else "p1"]
            (holder,) = (one["full_name"] for one in documents if one["person_id"] == owner)
        status = self._dice.pick(("closed", "blocked")) if kind == "closed" else "open"
        return {"account_holder": holder, "account_status": status}


def _holdings(case: Case, ids: Mapping[str, str]) -> list[Case]:
    return [
        {
            "entity_id": ids[entity],
            "holder_id": ids[name.split(">")[0]],
            "holder_kind": HOLDERS[name[0]],
            "share_percent": share,
            "held_for": ids[name.split(">")[1]] if ">" in name else None,
        }
        for entity, holders in case["shares"].items()
        for name, share in holders.items()
    ]


def _day(review: date, days: int | None) -> str | None:
    return None if days is None else (review + timedelta(days=days)).isoformat()


def rows() -> list[dict[str, Any]]:
    """Every row without its label, in the order of the file."""
    dice = Dice(SEED)
    every = dice.shuffled(cases())
    if len(every) != ROWS:
        msg = f"{len(every)} cases, {ROWS} wanted"
        raise SystemExit(msg)
    writer = Writer(dice)
    return [writer.row(case) for case in every]


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
