"""Write `tasks.jsonl`, byte for byte the same; `--check` only compares.

`cases.json` has what each letter says, phrase by phrase, what is unusual about the stay, and what
the answer has to be for a draw to be kept. The wording is drawn from `phrases.json`, and so is
the talk between the phrases. `nights2` is what a correction gives; `shift` moves the arrival;
a calendar entry is counted in days from the arrival that was named first.
"""

from __future__ import annotations

import json
import runpy
import sys
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.documents import Documents
from bundled_domains.generator import Dice, bundled, first_kept
from bundled_domains.speaker import Speaker, ordinal

from pytest_sopbench.bundled._phrases import PhraseBook, filled

FOLDER = bundled("stay_packages")
HERE = Path(__file__).parent
SEED = 10
BOOK = PhraseBook(FOLDER / "phrases.json")
DECIDE = runpy.run_path(str(FOLDER / "policy.py"))["decide"]
NAMES = BOOK.values("name")
SEASONS = {
    "low": ((2, 8), (3, 14), (11, 20)),
    "mid": ((4, 20), (6, 8), (9, 24)),
    "high": ((7, 24),),
}
NOISE = ("barn painted", "choir weekend", "wool market", "lane resurfaced")
ELSEWHERE = ("house closed", "sauna closed", "fair")
EXTRAS = ("bikes", "dog", "late", "baskets")

Case: TypeAlias = dict[str, Any]


class Writer:
    """Writes letters."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._speaker = Speaker(BOOK, dice)

    def row(self, case: Case) -> Case:
        of = self._facts(case)
        given = {
            "received": of["received"].isoformat(),
            "earlier_stays": case.get("stays", self._dice.below(7)),
            "calendar": self._calendar(case, of["arrival"]),
            "letter": self._letter(case, of),
        }
        return {"inputs": given, "expected": DECIDE(given), "tags": case["tags"]}

    def _letter(self, case: Case, of: Case) -> str:
        says = [self._say(phrase, of) for phrase in self._phrases(case)]
        return "\n".join((self._say("hello", of), " ".join(says), self._say("signed:name", of)))

    def _facts(self, case: Case) -> Case:
        """Everything that a letter may speak of."""
        dice = self._dice
        arrival = self._arrival(case)
        nights = case.get("nights", dice.between(2, 5))
        ages = case.get("ages", [])
        numbers = {"adults": dice.between(2, 4), "bikes": dice.between(2, 5), "dogs": 2}
        return {
            **numbers,
            "baskets": dice.between(2, 6),
            **case,
            "nights": nights,
            "arrival": arrival,
            "arrival2": arrival + timedelta(days=case.get("shift", 0)),
            "departure": arrival + timedelta(days=nights),
            "received": arrival - timedelta(days=case.get("ahead", dice.between(24, 110))),
            "name": dice.pick(NAMES),
            **{f"age{number}": age for number, age in enumerate(ages, start=1)},
        }

    def _arrival(self, case: Case) -> date:
        if "arrival" in case:
            return date.fromisoformat(f"2027-{case['arrival']}")
        month, day = self._dice.pick(SEASONS[case.get("season", "mid")])
        return date(2027, month, day) - timedelta(days=self._dice.below(7))

    def _calendar(self, case: Case, arrival: date) -> list[Case]:
        dice = self._dice
        entries = [(what, a, b) for what, a, b in case.get("calendar", [])]
        entries += [
            (dice.pick(NOISE), -dice.below(3), dice.between(1, 4)) for _ in range(dice.below(3))
        ]
        for what in dice.shuffled(ELSEWHERE)[: dice.between(1, 2)]:
            away = dice.pick((-70, -55, 60, 75))
            entries.append((what, away, away + dice.between(1, 6)))
        found = [
            {
                "what": what,
                "from": (arrival + timedelta(days=first)).isoformat(),
                "to": (arrival + timedelta(days=last)).isoformat(),
            }
            for what, first, last in entries
        ]
        return dice.shuffled(found)

    def _phrases(self, case: Case) -> list[str]:
        """The phrases of the case, with extras and talk among them."""
        dice = self._dice
        said = list(case["letter"])
        spoken = {phrase.partition(":")[0].removesuffix("s") for phrase in said}
        free = [one for one in EXTRAS if one.removesuffix("s") not in spoken]
        first_fix = next((n for n, one in enumerate(said) if _takes_back(one)), len(said))
        said[first_fix:first_fix] = dice.shuffled(one for one in free if dice.below(4) == 0)
        talk = [[one, "chat"] if dice.below(3) == 0 else [one] for one in said]
        return [phrase for pair in talk for phrase in pair]

    def _say(self, phrase: str, of: Case) -> str:
        """A phrase that tells these facts and no others."""
        meaning, _, names = phrase.partition(":")
        slots = {_slot(name): name for name in names.split(",") if name}
        if meaning in of and not names and meaning != "late":
            slots = {meaning: meaning}
        if phrase == "party":
            slots = {"adults": "adults"}
        if meaning.startswith("fix_bikes"):
            slots = {"bikes": "bikes2"}
        template = self._speaker.template(meaning, set(slots))
        return filled(template, lambda slot, kind: self._words(of[slots[slot]], kind))

    def _words(self, value: Any, kind: str) -> str:
        if not isinstance(value, date):
            return self._speaker.word(kind, value)
        month = f"{value:%B}"
        forms = (f"{value.day} {month}", f"{month} {value.day}", f"the {ordinal(value)} of {month}")
        return self._dice.pick(forms)


def _slot(name: str) -> str:
    """`age2` is a slot of its own; `nights2` is told as `nights`."""
    return name if name.startswith("age") else name.rstrip("2")


def _takes_back(phrase: str) -> bool:
    return phrase.startswith(("fix_", "no_", "less"))


def rows() -> list[Case]:
    """Every row, in the order of the file."""
    dice = Dice(SEED)
    cases: list[Case] = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    every = dice.shuffled(case for case in cases for _ in range(case["rows"]))
    writer = Writer(dice)
    numbers = dice.shuffled(range(1000, 10_000))
    found: list[Case] = []
    for case, number in zip(every, numbers, strict=False):
        what = f"{case['wanted']}: {case['letter']}"
        row = first_kept(partial(writer.row, case), partial(_as_wanted, case["wanted"]), what)
        found.append({"id": f"SP-{number}", **row})
    return found


def _as_wanted(wanted: Case, row: Case) -> bool:
    expected = row["expected"]
    got = {**expected, "flags": sorted(expected["flags"])}
    return all(got[name] == value for name, value in wanted.items())


if __name__ == "__main__":
    sys.exit(Documents(folder=FOLDER, rows=rows).main(sys.argv[1:]))
