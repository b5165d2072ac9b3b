"""Cases of the flag desk: one that is plain, and what an irregularity in it is."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Decided, Dice, bundled, decided, look_ups

FOLDER = bundled("content_flagging")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
TOOLS = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))["tools"]
WORDS = json.loads((Path(__file__).parent / "phrases.json").read_text(encoding="utf-8"))
KINDS = tuple(POLICY["POINTS"])
HEAVY = ("hate", "threat")
FIRST_DAY, DAYS = date(2025, 6, 2), 364

Row: TypeAlias = dict[str, Any]
Put: TypeAlias = Callable[[Dice, Row], Row]
Take: TypeAlias = Callable[[Row], Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Irregularity:
    """What may be put into a case, and the same case without it.

    Attributes:
        decides: it matters for the answer, and not only for what is entered or asked.
        stays: whether it is still in a case into which others were put after it.
    """

    tag: str
    put: Put
    take: Take
    rows: int = 3
    decides: bool = False
    stays: Callable[[Row], bool] = lambda _: True

    def matters(self, row: Row) -> bool:
        if not self.stays(row):
            return False
        other = self.take(row)
        if not holds_together(other):
            return False
        here, there = outcome(row), outcome(other)
        return here.answer != there.answer or (here != there and not self.decides)


def outcome(row: Row) -> Decided:
    """The answer to a case and the calls that lead to it."""
    return decided(POLICY["decide"], row, look_ups(TOOLS, row))


def facts_of(row: Row) -> set[tuple[str, ...]]:
    """What a case says, fact by fact, to see what of it is still there later on."""
    listed = {"ratings": "attempt", "flags": "flag_id"}
    found: set[tuple[str, ...]] = {
        (name, json.dumps(value)) for name, value in row.items() if name not in listed
    }
    for name, key in listed.items():
        for one in row[name]:
            found |= {(name, str(one[key]), part, json.dumps(of)) for part, of in one.items()}
    return found


def holds_together(row: Row) -> bool:
    """Whether nothing happened before the account was opened, and a file is there whole or not."""
    days = [row["edited_on"], row["decided_on"], row["sign_ins"][0]["at"][:10]]
    days += [flag["settled_on"] for flag in row["flags"]]
    whole = (row["trust"] is None) is (row["worked_out_on"] is None)
    return whole and all(day >= row["opened_on"] for day in days if day)


def square_of(row: Row) -> tuple[str, str] | None:
    """The row and the column of a case whose author's file is opened."""
    calls = outcome(row).calls
    if "get_author_file" not in {call["name"] for call in calls}:
        return None
    last = [call["arguments"]["attempt"] for call in calls if call["name"] == "rate_post"][-1]
    found = POLICY["row_of"](row["ratings"][last - 1], row["account_kind"])
    index = POLICY["bot_index"](row)
    if index >= POLICY["MACHINE"]:
        return found, "machine"
    file = None if row["trust"] is None else row
    strikes = len(POLICY["strikes_of"](row, row["flags"]))
    return found, POLICY["standing"](row, file, strikes, index)


# --- a plain case ----------------------------------------------------------------------------


def draft(dice: Dice, number: int) -> Row:
    """A flag with a rating that serves, a known device and a file of these days."""
    day = FIRST_DAY + timedelta(days=dice.below(DAYS))
    row: Row = {
        "case_id": f"FD-{number:05}",
        "case_day": str(day),
        "appealed_decision": None,
        "decided_on": None,
        "post_id": post(dice),
        "edited_on": str(day - timedelta(days=dice.between(1, 9))),
        "account_id": f"HG{dice.below(1_000_000):06}",
        "account_kind": "private",
        "opened_on": str(day - timedelta(days=dice.between(910, 2_800))),
        "reporter": "member",
        "reporter_in_post": dice.pick(("no", "no", "yes")),
        "reporter_words": dice.pick(WORDS["flags"]),
        "other_flaggers": dice.pick((0, 1, 2, 2, 3, 4, 6, 9)),
        "captcha_tries": dice.below(2),
        "fingerprint_shared": 0,
        "sign_ins": _sign_ins(dice, day),
    }
    row["ratings"] = [rating(dice, row, attempt) for attempt in (1, 2)]
    row |= {"trust": dice.between(5, 98), "worked_out_on": before(row, dice.below(14))}
    row["flags"] = [idle_flag(dice, row) for _ in range(dice.below(3))]
    row["entry"] = "entered"
    return row


def post(dice: Dice) -> str:
    """A number of a post."""
    return f"p-{dice.below(10_000_000):07}"


def before(row: Row, days: int) -> str:
    """The day so many days before that of the case."""
    return str(date.fromisoformat(row["case_day"]) - timedelta(days=days))


def rating(dice: Dice, row: Row, attempt: int, **cells: Any) -> Row:
    """A rating of one clear violation, which serves."""
    age = (date.fromisoformat(row["case_day"]) - date.fromisoformat(row["edited_on"])).days
    return {
        "attempt": attempt,
        "primary": dice.pick(KINDS),
        "primary_sure": dice.between(82, 99),
        "secondary": None,
        "secondary_sure": None,
        "rated_on": before(row, dice.below(age + 1) if attempt == 1 else 0),
    } | cells


def _sign_ins(dice: Dice, day: date) -> list[Row]:
    """Three or four from much the same place, the latest on the day of the case."""
    at = datetime.fromisoformat(f"{day} 06:00") + timedelta(minutes=dice.below(900))
    found: list[Row] = []
    for _ in range(dice.between(3, 4)):
        unit = dice.pick(("km", "km", "mi"))
        found.append(sign_in(at, dice.below(40), unit))
        at -= timedelta(minutes=dice.between(95, 1_800))
    return found[::-1]


def sign_in(at: datetime, distance: int, unit: str, *, relay: bool = False) -> Row:
    """One line of the list of sign-ins."""
    shown = at.isoformat(sep=" ", timespec="minutes")
    return {"at": shown, "distance": distance, "unit": unit, "relay": relay}


def flag(dice: Dice, row: Row, **cells: Any) -> Row:
    """A strike, unless the cells make it none."""
    return {
        "flag_id": f"F{dice.below(1_000_000):06}",
        "flagged_post": post(dice),
        "violation": dice.pick(KINDS),
        "outcome": "upheld",
        "settled_on": before(row, dice.between(3, 170)),
        "appeal": dice.pick(("none", "none", "confirmed")),
    } | cells


def idle_flag(dice: Dice, row: Row) -> Row:
    """A flag that is no strike."""
    return dice.pick(
        (
            flag(dice, row, outcome="dismissed", appeal="none"),
            flag(dice, row, outcome="open", settled_on=None, appeal="none"),
            flag(dice, row, settled_on=before(row, dice.between(200, 900))),
        )
    )
