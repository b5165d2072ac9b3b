"""Write `tasks.jsonl`, byte for byte the same; `--check` only compares.

`cases.json` has scripts of what guests say, turn by turn, and the line at which each script ends.
Between the turns the desk says what `policy.py` decides, so that a dialogue is one that the card
leads to; the wording is drawn from `phrases.json`. `new:day,guests + parking` is a turn of two
phrases; `day2` is the day that a correction gives, `dayx` one whose weekday is wrong.
"""

from __future__ import annotations

import json
import runpy
import sys
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from bundled_domains.documents import Documents
from bundled_domains.generator import Dice, bundled, first_kept
from bundled_domains.reservation_desk.world import NAMES_OF_DAYS, Case, inputs, world
from bundled_domains.speaker import Speaker, ordinal

from pytest_sopbench.bundled._phrases import OLD, PhraseBook, Template, filled

FOLDER = bundled("reservation_desk")
HERE = Path(__file__).parent
SEED = 6
BOOK = PhraseBook(FOLDER / "phrases.json")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
DECIDE, SITTINGS = POLICY["decide"], POLICY["SITTINGS"]
LAST_LINES = {"transfer", "enter", "end"}
NAMES = BOOK.values("name")


class Script:
    """Plays a case: what the guest says, and what the desk says to it."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._speaker = Speaker(BOOK, dice)

    def row(self, case: Case) -> dict[str, Any]:
        """One case, played to its end."""
        of = world(self._dice, case, NAMES)
        given = inputs(self._dice, case, of)
        turns: list[dict[str, str]] = given["dialogue"]
        turns.append({"who": "desk", "says": self._say("greeting", [], of)})
        for number, turn in enumerate(case["turns"], start=1):
            phrases = self._with_chat(turn.split(" + "), number)
            says = " ".join(self._phrase(phrase, of) for phrase in phrases)
            turns.append({"who": "guest", "says": says})
            answer = DECIDE(given)
            if number == len(case["turns"]):
                return {"inputs": given, "expected": answer, "tags": case["tags"]}
            if answer["action"] in LAST_LINES:
                return {"inputs": given, "expected": {**answer, "line": "too early"}}
            turns.append({"who": "desk", "says": self._desk(answer, given)})
        raise AssertionError(case)

    def _desk(self, answer: Case, given: Case) -> str:
        line = answer["line"]
        if line is None:
            return self._say("nothing", [], {})
        of = {name: str(value) for name, value in answer["facts"].items()}
        if line == "5.2.4":
            day = next(day for day in given["book"] if day["day"] == of["day"])
            room = (name for name in SITTINGS if day[name] >= answer["facts"]["guests"])
            of["offer"] = SITTINGS[next(room)][0]
        if of["day"] != "None":
            day = date.fromisoformat(of["day"])
            of["day"] = f"{NAMES_OF_DAYS[day.weekday()]} {day.day} {day:%B}"
        polite = line[0].isdigit() and self._dice.below(3) == 0
        thanks = self._say("ack", [], {}) + " " if polite else ""
        return thanks + filled(self._only(f"line {line}"), lambda slot, _: of[slot])

    def _with_chat(self, phrases: list[str], number: int) -> list[str]:
        """Now and then something that has nothing to do with it; not where silence is all."""
        if number == 1 or {"aside", "silence", "thanks"} & set(phrases) or self._dice.below(3):
            return phrases
        place = self._dice.below(2) * len(phrases)
        talk = self._dice.pick(("chat", "chat", "chat", "grumble", "mild"))
        return [*phrases[:place], talk, *phrases[place:]]

    def _only(self, meaning: str) -> Template:
        return next(one for one in BOOK.templates if one.meaning == meaning)

    def _phrase(self, phrase: str, of: Case) -> str:
        meaning, _, names = phrase.partition(":")
        return self._say(meaning, names.split(",") if names else [], of)

    def _say(self, meaning: str, names: list[str], of: Case) -> str:
        """A phrase that tells these facts and no others."""
        slots = {name.rstrip("2x"): name for name in names}
        template = self._speaker.template(
            meaning, set(slots), lambda one: _fits(one, of.get(slots.get("guests", ""), 0))
        )
        values = {slot: of[name] for slot, name in slots.items()}
        values |= {OLD + slot: of[slot] for slot in slots}
        if "guests" in values:
            children = self._dice.between(1, max(1, values["guests"] - 2))
            adults = values["guests"] - children
            values |= {"guests_adults": adults, "guests_children": children}
        if "dayx" in names:
            values["day"] = _wrong_day(values["day"])
        return filled(template, lambda slot, kind: self._words(values[slot], kind, template, of))

    def _words(self, value: Any, kind: str, template: Template, of: Case) -> str:
        if isinstance(value, date):
            return self._day(value, template, of)
        if kind == "phone":
            return str(self._dice.pick((value, value.replace(" ", ""))))
        if kind == "reference":
            return str(self._dice.pick((value, value.replace("-", ""))))
        return self._speaker.word(kind, value)

    def _day(self, day: date, template: Template, of: Case) -> str:
        weekday = NAMES_OF_DAYS[day.weekday()]
        texts = [f"the {ordinal(day)}", f"{day.day} {day:%B}", f"{weekday} the {ordinal(day)}"]
        ahead = (day - of["today"]).days
        if 1 <= ahead <= 7:  # noqa: PLR2004 - the next day of that name
            texts += [weekday, weekday]
        bare = "on {day" not in template.text and "page" not in template.text
        if bare and ahead == 1:
            texts = ["tomorrow"]
        return self._dice.pick(texts)


def _fits(template: Template, guests: int) -> bool:
    """Two adults and two children are the fewest that are told apart."""
    return "guests_adults" not in template.kinds or guests > 3  # noqa: PLR2004 - two and two


def _wrong_day(day: date) -> str:
    return f"{NAMES_OF_DAYS[(day.weekday() + 2) % 7]} the {ordinal(day)}"


def rows() -> list[dict[str, Any]]:
    """Every row, in the order of the file."""
    dice = Dice(SEED)
    cases: list[Case] = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    every = dice.shuffled(case for case in cases for _ in range(case["rows"]))
    script = Script(dice)
    numbers = dice.shuffled(range(1000, 10_000))
    found: list[dict[str, Any]] = []
    for case, number in zip(every, numbers, strict=False):
        what = f"{case['wanted']}: {case['turns']}"
        row = first_kept(partial(script.row, case), partial(_as_wanted, case), what)
        found.append({"id": f"RD-{number}", **row})
    return found


def _as_wanted(case: Case, row: Case) -> bool:
    wanted, expected = case["wanted"], row["expected"]
    if expected["step"] != case.get("step", expected["step"]):
        return False
    rule, _, line = wanted.rpartition(" ")
    if wanted == "G5":
        return expected["rule"] == "G5" and expected["line"] is None
    return expected["line"] == line and (not rule or expected["rule"] == rule)


if __name__ == "__main__":
    sys.exit(Documents(folder=FOLDER, rows=rows).main(sys.argv[1:]))
