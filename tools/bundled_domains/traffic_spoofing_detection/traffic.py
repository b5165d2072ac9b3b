"""Cases as they come on any day, and what the policy makes of each."""

from __future__ import annotations

import json
import runpy
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Answer, Decided, Dice, bundled, decided

from pytest_sopbench.errors import ToolError

FOLDER = bundled("traffic_spoofing_detection")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
CONSTANTS: dict[str, Any] = POLICY["decide"].__globals__
HERE = Path(__file__).parent
IDLE_NOTES: dict[str, list[str]] = json.loads((HERE / "notes.json").read_text(encoding="utf-8"))
NAMES: list[str] = json.loads((HERE / "names.json").read_text(encoding="utf-8"))
READINGS: list[dict[str, str]] = POLICY["READINGS"]
FIRST_DAY, DAYS = date(2026, 2, 20), 250
CHECK = ("referrer_match", "server_share", "baseline_id")

# Of each kind of partner: what its sources are, how their clicks grew, and clicks for an order.
PARTNERS: dict[str, tuple[str, str, tuple[int, int]]] = {
    "clean": ("ggggggd", "nnnnnns", (45, 100)),
    "busy": ("ggggdds", "nnnnnss", (60, 180)),
    "mixed": ("gggdds", "nnnnss", (80, 300)),
    "bad": ("ggdsss", "nnnssr", (150, 600)),
}
GROWTH = {"n": (40, 220), "s": (300, 599), "r": (600, 1_100)}
"""Clicks of a hundred that were expected: as usual, with a spike, and with a surge."""

Row: TypeAlias = dict[str, Any]


class Traffic:
    """A row with what the policy makes of it, step by step."""

    def __init__(self, row: Row) -> None:
        self.row = row

    @cached_property
    def outcome(self) -> Decided:
        return decided(POLICY["decide"], self.row, self._answer)

    @property
    def risk(self) -> str:
        return str(self.outcome.answer["risk_level"])

    @property
    def action(self) -> str:
        return str(self.outcome.answer["enforcement_action"])

    @cached_property
    def sources(self) -> list[Row]:
        """Those that are looked at."""
        return [one for one in self.row["sources"] if POLICY["is_looked_at"](one)]

    @cached_property
    def findings(self) -> Any:
        return POLICY["findings_of"](self.row, self.sources, self._call)

    @cached_property
    def score(self) -> int:
        """The score, if there are sources to look at."""
        steps = POLICY["spikes_of"](self.row, self.findings, self._call)
        score: int = POLICY["score_of"](self.row, self.row, self.findings, steps)
        return score

    def numbers_of(self, kind: str) -> set[str]:
        """The numbers of the sources that are spoofed, doubtful or unchecked."""
        spoofed = set(self.findings.spoofed)
        if kind == "doubtful":
            return set(POLICY["doubtful_of"](self.findings))
        if kind == "unchecked":
            every = {one["source_id"] for one in self.sources}
            return every - set(self.findings.checks) - spoofed
        return spoofed

    def clicks_of(self, numbers: set[str]) -> int:
        """The clicks of these sources."""
        return sum(one["clicks"] for one in self.sources if one["source_id"] in numbers)

    def share_of(self, kind: str) -> Fraction:
        """The share of the clicks of a kind of sources, in per cent."""
        share: Fraction = POLICY["share"](self.numbers_of(kind), self.sources)
        return share

    def age_of(self, known: Row) -> int:
        """The days from a baseline to the window."""
        age: int = POLICY["days"](known["computed_on"], self.row["window_first"])
        return age

    @property
    def days_of_joining(self) -> int:
        """The days from the partner's first day to the window."""
        days: int = POLICY["days"](self.row["joined_on"], self.row["window_first"])
        return days

    @property
    def calls(self) -> Any:
        return self.outcome.calls

    def called(self, name: str) -> Row | None:
        """The arguments of the last such call."""
        made = [call["arguments"] for call in self.calls if call["name"] == name]
        return dict(made[-1]) if made else None

    def differs(self, **cells: Any) -> bool:
        """Whether the outcome would be another, had these cells been others."""
        return Traffic(self.row | cells).outcome != self.outcome

    def answers_otherwise(self, **cells: Any) -> bool:
        return Traffic(self.row | cells).outcome.answer != self.outcome.answer

    def under(self, **constants: Any) -> bool:
        """Whether the outcome would be another, had the desk other numbers."""
        right = self.outcome
        with _changed(constants):
            return Traffic(self.row).outcome != right

    def with_each(self, table: str, **cells: Any) -> list[Row]:
        """A table of the row, each record with these cells."""
        return [one | cells for one in self.row[table]]

    @cached_property
    def _answer(self) -> Answer:
        return services(self.row)

    def _call(self, name: str, /, **arguments: Any) -> Any:
        return self._answer(name, arguments)

    def check(self, source: Row) -> Row | None:
        """The check of a source that was answered."""
        found: Row | None = self.findings.checks.get(source["source_id"])
        return found

    def baseline(self, source: Row) -> Row | None:
        """The baseline that the archive has of a source."""
        check = self.check(source)
        if check is None or check["baseline_id"] is None:
            return None
        try:
            found: Row = self._call("get_baseline", baseline_id=check["baseline_id"])
        except ToolError:
            return None
        return found


def services(row: Row) -> Answer:
    """What the tools answer, found more quickly than by the look-ups that write the labels."""
    checks: dict[tuple[str, int], Row]
    checks = {(one["source_id"], one["attempt"]): one for one in row["checks"]}
    baselines: dict[str, Row] = {one["baseline_id"]: one for one in row["baselines"]}

    def answer(name: str, arguments: Mapping[str, Any]) -> Row:
        if name == "verify_source":
            found = checks[arguments["source_id"], arguments["attempt"]]
            if found["referrer_match"] is None:
                raise ToolError(name)
            return found
        if name == "get_baseline":
            if arguments["baseline_id"] not in baselines:
                raise ToolError(name)
            return baselines[arguments["baseline_id"]]
        return row

    return answer


@contextmanager
def _changed(constants: Mapping[str, Any]) -> Generator[None]:
    before = {name: CONSTANTS[name] for name in constants}
    CONSTANTS.update(constants)
    try:
        yield
    finally:
        CONSTANTS.update(before)


def days_from(day: str, days: int) -> str:
    """The day so many days after another, or before it."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def draft(dice: Dice, number: int, kind: str = "") -> Row:
    """A case with whatever may happen to one, of a kind of partner."""
    kinds, growths, conversion = PARTNERS[kind or dice.pick(sorted(PARTNERS))]
    first = (FIRST_DAY + timedelta(days=dice.below(DAYS))).isoformat()
    last = days_from(first, dice.pick((2, 4, 6, 6, 6, 9, 13)))
    row: Row = {
        "case_id": f"TQ-{number:06}",
        "case_day": days_from(last, dice.between(1, 6)),
        "partner_id": f"PN{dice.between(0, 99_999):05}",
        "window_first": first,
        "window_last": last,
        "note_by": "",
        "note": "",
        "joined_on": days_from(first, -dice.pick((*_long_ago(dice), dice.between(3, 118)))),
        "paid": dice.pick(("in arrears", "in arrears", "in advance")),
        "sources": [],
        "earlier_measures": [],
        "checks": [],
        "baselines": [],
    }
    # Of a prime number of ids no two are alike, and names lie a few apart.
    start, step, name = dice.below(1_000_003), dice.between(1, 900_000), dice.below(len(NAMES))
    known = (
        {
            "source_id": f"S-{(start + place * step) % 1_000_003 % 1_000_000:06}",
            "name": NAMES[(name + 5 * place) % len(NAMES)],
        }
        for place in count()
    )
    for place in range(dice.between(6, 8)):
        add_source(
            dice,
            row,
            next(known),
            kind=dice.pick(kinds) if place else "g",
            growth=dice.pick(growths) if place else "",
            conversion=conversion,
        )
    for _ in range(dice.below(3)):
        _add_idle(dice, row, next(known))
    row["sources"] = dice.shuffled(row["sources"])
    row |= note(dice, row)
    row["earlier_measures"] = _measures(dice, row)
    return row | {
        "report_id": f"ER-{dice.between(0, 999_999):06}",
        "second_reader": dice.pick(("agrees", "agrees", "agrees", "agrees", "agrees", "objects")),
        "entry": dice.pick(("in force",) * 8 + ("stopped",)),
        "last_payout": dice.between(4_000, 900_000) / 100,
        "paid_out_on": days_from(first, -dice.between(1, 28)),
    }


def _long_ago(dice: Dice) -> tuple[int, int]:
    return dice.between(130, 900), dice.between(500, 2_900)


def add_source(
    dice: Dice, row: Row, source: Row, *, kind: str, growth: str, conversion: tuple[int, int]
) -> None:
    """A source that is looked at: genuine, doubtful or spoofed; without a growth no baseline."""
    channel = dice.pick(("website", "website", "website", "newsletter", "app"))
    match, servers = _shares(dice, kind, channel)
    number = f"B{dice.between(0, 9_999_999):07}" if growth else None
    clicks = dice.between(90, dice.pick((400, 1_600)))
    if growth:
        known = baseline(dice, row, number, clicks, growth)
        clicks = clicks_of(row, known, Fraction(dice.between(*GROWTH[growth]), 100))
        if dice.below(14):
            row["baselines"].append(known)
    clicks = max(clicks, 41)
    row["sources"].append(
        source
        | {
            "channel": channel,
            "state": "live",
            "clicks": clicks,
            "orders": clicks // dice.between(*conversion),
        }
    )
    answered = {"referrer_match": match, "server_share": servers, "baseline_id": number}
    add_check(row, source["source_id"], answered, busy=dice.pick((0,) * 12 + (1, 1, 2)))


def add_check(row: Row, number: str, answered: Row, *, busy: int) -> None:
    """Check a source whose service is busy so many times."""
    silent: Row = dict.fromkeys(CHECK)
    for attempt in range(1, min(busy, 1) + 2):
        found = silent if attempt <= busy else answered
        row["checks"].append({"source_id": number, "attempt": attempt, **found})


def _shares(dice: Dice, kind: str, channel: str) -> tuple[int, int]:
    good = dice.pick((70, dice.between(71, 97))), dice.pick((9, dice.between(0, 8)))
    bad = {
        "d": (dice.pick((40, 69, dice.between(42, 68))), dice.pick((10, 24, dice.between(11, 23)))),
        "s": (dice.pick((39, dice.between(4, 38))), dice.pick((25, dice.between(26, 57)))),
    }.get(kind, good)
    match, servers = dice.pick(((bad[0], good[1]), (good[0], bad[1]), bad))
    if channel == "newsletter":
        return dice.between(0, 66), bad[1]
    return (bad[0], dice.between(11, 98)) if channel == "app" else (match, servers)


def baseline(dice: Dice, row: Row, number: str | None, clicks: int, growth: str) -> Row:
    """A baseline by which a source with about so many clicks has grown so."""
    per = dice.pick(("hour", "day", "day", "week"))
    length = POLICY["days"](row["window_first"], row["window_last"]) + 1
    usual = Fraction(100 * clicks, sum(GROWTH[growth]) // 2) / (POLICY["DAYS"][per] * length)
    age = dice.pick((dice.between(3, 58), dice.between(3, 58), dice.between(62, 300)))
    return {
        "baseline_id": number,
        "clicks": max(1, round(usual)),
        "per": per,
        "computed_on": days_from(row["window_first"], -age),
    }


def expected(row: Row, known: Row) -> Fraction:
    """Clause 14 and the old baselines of clause 15."""
    first = row["window_first"]
    length = POLICY["days"](first, row["window_last"]) + 1
    usual: Fraction = known["clicks"] * length * POLICY["DAYS"][known["per"]]
    old = POLICY["days"](known["computed_on"], first) > POLICY["OLD_DAYS"]
    return usual * POLICY["OLD_FOLD"] if old else usual


def clicks_of(row: Row, known: Row, fold: Fraction) -> int:
    """The most clicks that are not above so many times what was expected."""
    return int(fold * expected(row, known))


def _add_idle(dice: Dice, row: Row, source: Row) -> None:
    """A source that is not looked at, though the service would check it."""
    state = dice.pick(("live", "paused", "closed"))
    clicks = dice.between(0, 39) if state == "live" else dice.between(30, 900)
    row["sources"].append(
        source
        | {
            "channel": dice.pick(("website", "newsletter", "app")),
            "state": state,
            "clicks": clicks,
            "orders": clicks // dice.between(40, 400),
        }
    )
    match, servers = _shares(dice, dice.pick("gds"), "website")
    answered = {"referrer_match": match, "server_share": servers, "baseline_id": None}
    add_check(row, source["source_id"], answered, busy=0)


def note(dice: Dice, row: Row) -> Row:
    """What somebody wrote: of one source in two notes of five, and of nothing in the others."""
    if dice.below(5) < 2:  # noqa: PLR2004 - two in five
        return told(dice, row, dice.pick(READINGS))
    by = dice.pick(sorted(IDLE_NOTES))
    return _filled(dice, row, by, dice.pick(IDLE_NOTES[by]))


def told(dice: Dice, row: Row, reading: Mapping[str, str], **slots: str) -> Row:
    """A note that says of a source that its clicks were bought, or its promotion announced."""
    return _filled(dice, row, reading["by"], reading["words"], **slots)


def _filled(dice: Dice, row: Row, by: str, words: str, **slots: str) -> Row:
    source = dice.pick(row["sources"])["name"]
    day = days_from(row["window_first"], -dice.pick((dice.between(2, 12), dice.between(-2, 1))))
    slots = {"source": source, "day": spoken(day), **slots}
    for name, value in slots.items():
        words = words.replace(f"{{{name}}}", value)
    return {"note_by": by, "note": words}


def spoken(day: str) -> str:
    """A day as people write it."""
    _, month, number = day.split("-")
    return f"{int(number)} {POLICY['MONTHS'][int(month) - 1]}"


def measure(dice: Dice, row: Row, days: int, **cells: Any) -> Row:
    """An earlier measure, so many days before the case."""
    return {
        "measure": dice.pick(("NOTICE", "NOTICE", "PAYOUT HOLD", "SOURCE BLOCK")),
        "set_on": days_from(row["case_day"], -days),
        "state": "final",
        "by_grace": False,
    } | cells


def _measures(dice: Dice, row: Row) -> list[Row]:
    found = [
        measure(dice, row, dice.between(20, 360), state=dice.pick(("final", "under appeal")))
        for _ in range(dice.pick((0, 0, 1, 1, 2, 3)))
    ]
    for _ in range(dice.below(3)):
        old = dice.pick((True, False))
        found.append(
            measure(
                dice,
                row,
                dice.between(370, 1_500) if old else dice.between(20, 360),
                state=dice.pick(("final", "withdrawn")) if old else "withdrawn",
                by_grace=dice.below(4) == 0,
            )
        )
    # What was set before the partner joined was never set.
    found = [one for one in found if one["set_on"] > row["joined_on"]]
    return dice.shuffled(found)
