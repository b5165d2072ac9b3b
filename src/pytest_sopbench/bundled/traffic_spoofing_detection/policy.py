# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the answers of the Traffic Office as a function of a case and its services.

What a note says is free text. `readings.json`, which neither agents nor tools are shown, has the
words of every note that says of one source that its clicks were bought, or that a promotion of it
was announced, whoever wrote it. Which of these count is decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

FEWEST_CLICKS = 40  # clause 6
SPOOFED_MATCH, SPOOFED_SERVERS = 40, 25  # clause 36
DOUBTFUL_MATCH, DOUBTFUL_SERVERS = 70, 10  # clause 36
MOST_UNCHECKED = 25  # clause 12
DAYS = {
    "hour": Fraction(24),  # clause 14
    "day": Fraction(1),
    "week": Fraction(1, 7),
}
OLD_DAYS, OLD_FOLD = 60, Fraction("1.25")  # clause 15
SPIKE, SURGE = 3, 6  # clause 16
CLICKS_OF_AN_ORDER = 50  # clause 17
NOTICE_DAYS = 2  # clause 18
SPOOFED_SHARES, DOUBTFUL_SHARES = (15, 40), (20, 50)  # clause 37
MOST_SPIKES = 3  # clause 37
ORDERS = (100, 250)  # clause 37
NEWCOMER_DAYS = (30, 120)  # clause 37
WEIGHTS = {"spoofed": 4, "spikes": 3, "doubtful": 2, "orders": 2, "newcomer": 1}  # clause 37
RISKS, LEAST_SCORES = ("LOW", "GUARDED", "HIGH", "SEVERE"), (6, 12, 19)  # clause 21
MEASURES = {  # clause 38: by grace, as a rule, repeated
    "GUARDED": ("NO ACTION", "NOTICE", "PAYOUT HOLD"),
    "HIGH": ("PAYOUT HOLD", "SOURCE BLOCK", "TERMINATION"),
    "SEVERE": ("SOURCE BLOCK", "TERMINATION", "TERMINATION"),
}
BY_GRACE, AS_A_RULE, REPEATED = range(3)
COUNTED_DAYS, REPEATS = 365, 2  # clause 24
FARM = 60  # clause 25
IN_ADVANCE = {"HIGH": "SOURCE BLOCK", "GUARDED": "NOTICE"}  # clause 26
REPORTED = frozenset({"HIGH", "SEVERE"})  # clauses 22 and 28
HOLD_DAYS = {"HIGH": 30, "GUARDED": 14}  # clause 32
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)

Call: TypeAlias = Callable[..., Any]
Row: TypeAlias = Mapping[str, Any]


def _pattern(words: str) -> re.Pattern[str]:
    """The words of a note, in which the name of a source and a day differ from case to case."""
    text = re.escape(words).replace(r"\{source\}", "(?P<source>.+)")
    return re.compile(text.replace(r"\{day\}", "(?P<day>[0-9]+ [A-Z][a-z]+)"))


READINGS: list[Row] = json.loads(
    (Path(__file__).parent / "readings.json").read_text(encoding="utf-8")
)
PATTERNS = [(one["says"], _pattern(one["words"])) for one in READINGS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known of a partner's sources, each by its number, when all of them are checked."""

    sources: Sequence[Row]
    checks: Mapping[str, Row]
    spoofed: Sequence[str]
    owned_up: bool


def decide(case: Row, call: Call) -> dict[str, str]:
    """Return the answer to one case; `call(tool, **arguments)` raises `ToolError`."""
    file = call("open_partner_file", partner_id=case["partner_id"])
    sources = [one for one in file["sources"] if is_looked_at(one)]
    if not sources:
        return answer("LOW", "NO ACTION")  # clause 6
    found = findings_of(case, sources, call)
    unchecked = {one["source_id"] for one in sources} - {*found.checks, *found.spoofed}
    if share(unchecked, sources) > MOST_UNCHECKED:
        return answer("UNRATED", "REFERRAL")  # clause 12
    score = score_of(case, file, found, spikes_of(case, found, call))
    risk = risk_of(score, found)
    measure, grace = measure_of(case, file, found, risk)
    report = "none"
    if risk in REPORTED:
        filed = call(
            "file_evidence_report",
            case_id=case["case_id"],
            partner_id=case["partner_id"],
            score=score,
            spoofed_sources=list(found.spoofed),
        )
        if filed["second_reader"] == "objects":
            return answer(risk, "REFERRAL")  # clause 29
        report = filed["report_id"]
    if measure == "NO ACTION":
        return answer(risk, measure)
    entry = call(
        "set_measure",
        case_id=case["case_id"],
        partner_id=case["partner_id"],
        measure=measure,
        blocked_sources=list(found.spoofed) if measure == "SOURCE BLOCK" else [],
        hold_days=HOLD_DAYS[risk] if measure == "PAYOUT HOLD" else 0,
        by_grace=grace,
        report_id=report,
    )
    return answer(risk, "REFERRAL" if entry["entry"] == "stopped" else measure)  # clause 33


def answer(risk: str, action: str) -> dict[str, str]:
    """Clause 35."""
    return {"risk_level": risk, "enforcement_action": action}


def days(earlier: str, later: str) -> int:
    """Clause 4."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def is_looked_at(source: Row) -> bool:
    """Clause 6."""
    return bool(source["state"] == "live" and source["clicks"] >= FEWEST_CLICKS)


def share(numbers: Collection[str], sources: Sequence[Row]) -> Fraction:
    """What these sources have of the clicks, in per cent."""
    part = sum(one["clicks"] for one in sources if one["source_id"] in numbers)
    return Fraction(100 * part, sum(one["clicks"] for one in sources))


def findings_of(case: Row, sources: Sequence[Row], call: Call) -> Findings:
    """Clauses 7 to 11."""
    answers = {one["source_id"]: check_of(one["source_id"], call) for one in sources}
    checks = {number: check for number, check in answers.items() if check is not None}
    bought = source_of_note(case, "bought", by="partner")
    spoofed = [
        one["source_id"]
        for one in sources
        if one["name"] == bought
        or (one["source_id"] in checks and is_spoofed(one["channel"], checks[one["source_id"]]))
    ]
    owned_up = bought in {one["name"] for one in sources}
    return Findings(sources=sources, checks=checks, spoofed=spoofed, owned_up=owned_up)


def check_of(number: str, call: Call) -> Row | None:
    """Clauses 7 and 8."""
    for attempt in (1, 2):
        try:
            check: Row = call("verify_source", source_id=number, attempt=attempt)
        except ToolError:
            continue
        return check
    return None


def is_spoofed(channel: str, check: Row) -> bool:
    """Clauses 9, 10 and 36."""
    return falls_short(channel, check, SPOOFED_MATCH, SPOOFED_SERVERS)


def falls_short(channel: str, check: Row, match: int, servers: int) -> bool:
    """Clauses 9, 10 and 36: whether a figure that counts in the channel meets a limit."""
    if channel != "newsletter" and check["referrer_match"] < match:
        return True
    return bool(channel != "app" and check["server_share"] >= servers)


def source_of_note(case: Row, said: str, *, by: str) -> str | None:
    """Clauses 11 and 18: the name of the source of which the right person says so."""
    if case["note_by"] != by:
        return None
    for says, words in PATTERNS:
        found = words.fullmatch(case["note"])
        if found and says == said:
            in_time = said == "bought" or is_in_time(case, found["day"])
            return found["source"] if in_time else None
    return None


def is_in_time(case: Row, said: str) -> bool:
    """Clause 18."""
    day, month = said.split()
    announced = date.fromisoformat(case["window_first"])
    announced = announced.replace(month=MONTHS.index(month) + 1, day=int(day))
    return days(str(announced), case["window_first"]) >= NOTICE_DAYS


def spikes_of(case: Row, found: Findings, call: Call) -> int:
    """Clauses 13 to 18: 1 for each spike and 2 for each surge."""
    promoted = source_of_note(case, "announced", by="manager")
    steps = 0
    for source in found.sources:
        check = found.checks.get(source["source_id"])
        if check is None or check["baseline_id"] is None:
            continue
        try:
            baseline = call("get_baseline", baseline_id=check["baseline_id"])
        except ToolError:
            continue
        if source["name"] != promoted:
            steps += steps_of(case, source, baseline)
    return steps


def steps_of(case: Row, source: Row, baseline: Row) -> int:
    """Clauses 14 to 17."""
    first = case["window_first"]
    if baseline["computed_on"] >= first:
        return 0
    length = days(first, case["window_last"]) + 1
    expected: Fraction = baseline["clicks"] * length * DAYS[baseline["per"]]
    if days(baseline["computed_on"], first) > OLD_DAYS:
        expected *= OLD_FOLD
    times: Fraction = source["clicks"] / expected
    steps = sum(times >= least for least in (SPIKE, SURGE))
    if steps and source["clicks"] <= CLICKS_OF_AN_ORDER * source["orders"]:
        steps -= 1
    return steps


def score_of(case: Row, file: Row, found: Findings, steps: int) -> int:
    """Clauses 19, 20 and 37."""
    joined = days(file["joined_on"], case["window_first"])
    doubtful = share(doubtful_of(found), found.sources)
    levels = {
        "spoofed": spoofed_level(found),
        "spikes": min(steps, MOST_SPIKES),
        "doubtful": sum(doubtful >= least for least in DOUBTFUL_SHARES),
        "orders": orders_level(found.sources),
        "newcomer": sum(joined < limit for limit in NEWCOMER_DAYS),
    }
    return sum(level * WEIGHTS[name] for name, level in levels.items())


def spoofed_level(found: Findings) -> int:
    """Clauses 19 and 37."""
    if not found.spoofed:
        return 0
    spoofed = share(found.spoofed, found.sources)
    return 1 + sum(spoofed >= least for least in SPOOFED_SHARES)


def doubtful_of(found: Findings) -> list[str]:
    """Clauses 9, 10 and 36."""
    return [
        one["source_id"]
        for one in found.sources
        if one["source_id"] in found.checks
        and one["source_id"] not in found.spoofed
        and is_doubtful(one["channel"], found.checks[one["source_id"]])
    ]


def is_doubtful(channel: str, check: Row) -> bool:
    """Clauses 9, 10 and 36, of a source that is not spoofed."""
    return falls_short(channel, check, DOUBTFUL_MATCH, DOUBTFUL_SERVERS)


def orders_level(sources: Sequence[Row]) -> int:
    """Clauses 19 and 37."""
    clicks = sum(one["clicks"] for one in sources)
    orders = sum(one["orders"] for one in sources)
    return sum(clicks > most * orders for most in ORDERS)


def risk_of(score: int, found: Findings) -> str:
    """Clauses 21 and 22."""
    risk = RISKS[sum(score >= least for least in LEAST_SCORES)]
    if risk in REPORTED and not found.spoofed:
        return "GUARDED"
    return risk


def measure_of(case: Row, file: Row, found: Findings, risk: str) -> tuple[str, bool]:
    """Clauses 23 to 27 and 38: the measure, and whether it is by grace."""
    if risk == "LOW":
        return "NO ACTION", False
    column = column_of(case, file, found)
    measure, grace = MEASURES[risk][column], column == BY_GRACE
    if measure == "PAYOUT HOLD" and file["paid"] == "in advance":
        measure, grace = IN_ADVANCE[risk], False
    if measure == "TERMINATION" and found.owned_up:
        measure = "SOURCE BLOCK"
    return measure, grace


def column_of(case: Row, file: Row, found: Findings) -> int:
    """Clauses 24 and 25."""
    standing = [one for one in file["earlier_measures"] if one["state"] != "withdrawn"]
    counted = [one for one in standing if days(one["set_on"], case["case_day"]) <= COUNTED_DAYS]
    if len(counted) >= REPEATS:
        return REPEATED
    had_grace = any(one["by_grace"] for one in standing)
    return AS_A_RULE if counted or had_grace or is_farm(found) else BY_GRACE


def is_farm(found: Findings) -> bool:
    """Clause 25."""
    return any(
        one["channel"] != "app" and found.checks[one["source_id"]]["server_share"] >= FARM
        for one in found.sources
        if one["source_id"] in found.checks
    )
