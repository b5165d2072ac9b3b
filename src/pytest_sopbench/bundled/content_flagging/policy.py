# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the flag sheet as a function of a case and the answers of four services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from pytest_sopbench.errors import ToolError

SHEET = {  # good, regular, poor, machine
    "none": ("keep", "keep", "keep", "limit"),
    "low": ("keep", "limit", "remove", "remove"),
    "serious": ("limit", "remove", "remove", "suspend"),
    "grave": ("escalate", "remove", "suspend", "suspend"),
}
COLUMNS = ("good", "regular", "poor", "machine")
HARSHNESS = ("keep", "limit", "remove", "suspend")
DAYS_TO_APPEAL = {"limit": 30, "remove": 30, "suspend": 90}  # clause 4
POINTS = {"spam": 1, "adult": 2, "harassment": 3, "hate": 4, "threat": 5}  # clause 8
ROWS, LEAST_POINTS = ("none", "low", "serious", "grave"), (1, 3, 5)  # clause 11
CAPTCHA_TRIES = (2, 4, 6)  # clause 13: a point for each of them that is reached
KM_OF_A_MILE, LEAST_KM, FASTEST_KM_H = 1.6, 100, 800  # clause 15
HIGHEST_INDEX, MACHINE, UNCLEAR = 10, 7, 4  # clauses 17 and 23
MILDER = {"suspend": "remove", "remove": "limit"}  # clause 25

Case = Mapping[str, Any]
Call = Callable[..., Any]


def decide(case: Case, call: Call) -> dict[str, str]:
    """Return the decision on one case; `call(tool, **arguments)` raises `ToolError`."""
    appealed = case["appealed_decision"]
    if appealed and days(case["decided_on"], case) > DAYS_TO_APPEAL[appealed]:
        return {"final_decision": appealed}  # clause 4
    rating = rating_of(case, call)
    if rating is None:
        return {"final_decision": "escalate"}  # clause 6

    found, ground, row, strikes = overruled(rating), "overruled", "grave", 0
    index = bot_index(case)
    if not found:
        ground, row = "square", row_of(rating, case["account_kind"])
        found = "keep"
        if row != "none" or index >= MACHINE:  # clause 18
            found, strikes = by_the_sheet(case, call, rating["primary"], row, index)
        if appealed:
            found, ground = in_appeal(appealed, found)
    if found == "escalate":
        return {"final_decision": found}  # clause 38
    entry = call(
        "enter_decision",
        case_id=case["case_id"],
        decision=found,
        row=row,
        bot_index=index,
        strikes=strikes,
        ground=ground,
    )
    held = entry["entry"] == "hold"  # clause 37
    return {"final_decision": "escalate" if held else found}


def days(earlier: str, case: Case) -> int:
    """Clause 3."""
    return (date.fromisoformat(case["case_day"]) - date.fromisoformat(earlier)).days


def rating_of(case: Case, call: Call) -> Mapping[str, Any] | None:
    """Clauses 5 and 6: the first rating that serves."""
    for attempt in (1, 2):
        try:
            rating = call("rate_post", post_id=case["post_id"], attempt=attempt)
        except ToolError:
            continue
        if rating["rated_on"] >= case["edited_on"]:
            return dict(rating)
    return None


def overruled(rating: Mapping[str, Any]) -> str:
    """Clauses 28 to 30; empty if the sheet holds."""
    for at in ("primary", "secondary"):
        if rating[at] != "child_safety":
            continue
        if rating[f"{at}_sure"] >= 40:  # noqa: PLR2004 - clause 28
            return "suspend"
        if rating[f"{at}_sure"] >= 15:  # noqa: PLR2004 - clause 29
            return "escalate"
    if rating["primary"] == "self_harm" and rating["primary_sure"] >= 55:  # noqa: PLR2004 - clause 30
        return "escalate"
    return ""


def row_of(rating: Mapping[str, Any], account_kind: str) -> str:
    """Clauses 8 to 12."""
    primary, secondary = rating["primary"], rating["secondary"]
    if primary not in POINTS or rating["primary_sure"] < 55:  # noqa: PLR2004 - clause 9
        return "none"
    points = POINTS[primary]
    if rating["primary_sure"] < 80:  # noqa: PLR2004 - clause 9
        points -= 1
    if points and secondary in POINTS and secondary != primary and rating["secondary_sure"] >= 70:  # noqa: PLR2004 - clause 10
        points += 2 if secondary in {"hate", "threat"} else 1  # clause 10
    row = ROWS[sum(points >= least for least in LEAST_POINTS)]
    if account_kind == "newsroom" and row == "grave" and points < 6:  # noqa: PLR2004 - clause 12
        return "serious"
    return row


def bot_index(case: Case) -> int:
    """Clauses 13 to 17."""
    index = captcha_points(case["captcha_tries"]) + jump_points(case["sign_ins"])
    index += fingerprint_points(case["fingerprint_shared"], case["account_kind"])
    if days(case["opened_on"], case) < 7:  # noqa: PLR2004 - clause 16
        index += 2
    return min(index, HIGHEST_INDEX)


def captcha_points(tries: int | None) -> int:
    """Clause 13."""
    if tries is None:
        return 1
    return sum(tries >= least for least in CAPTCHA_TRIES)


def fingerprint_points(shared: int | None, account_kind: str) -> int:
    """Clause 14."""
    if shared is None:
        return 0 if account_kind == "public office" else 2
    if shared >= 3:  # noqa: PLR2004 - clause 14
        return 3
    return 1 if shared else 0


def jump_points(sign_ins: Sequence[Mapping[str, Any]]) -> int:
    """Clause 15."""
    jumps = 0
    for before, after in pairwise(sign_ins):
        km = after["distance"] * (KM_OF_A_MILE if after["unit"] == "mi" else 1)
        elapsed = datetime.fromisoformat(after["at"]) - datetime.fromisoformat(before["at"])
        too_fast = km > FASTEST_KM_H * (elapsed / timedelta(hours=1))
        if km >= LEAST_KM and too_fast and not after["relay"]:
            jumps += 1
    return min(2 * jumps, 4)


def by_the_sheet(case: Case, call: Call, primary: str, row: str, index: int) -> tuple[str, int]:
    """Clauses 18 to 27: what the square comes to, and the number of strikes."""
    try:
        file = call("get_author_file", account_id=case["account_id"])
    except ToolError:
        file = None
    flags = call("search_flags", account_id=case["account_id"])
    violations = strikes_of(case, flags)
    strikes = len(violations)
    column = "machine" if index >= MACHINE else standing(case, file, strikes, index)
    found = SHEET[row][COLUMNS.index(column)]
    if row == "serious" and column == "poor" and strikes >= 3:  # noqa: PLR2004 - clause 24
        found = "suspend"
    again = any(primary in kinds for kinds in violations.values())
    if found in MILDER and not again and needs_second_signal(case):
        found = MILDER[found]
    if found == "suspend" and case["account_kind"] == "public office":
        found = "escalate"  # clause 27
    return found, strikes


def strikes_of(case: Case, flags: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Clause 19: the posts that are strikes, each with its violations."""
    strikes: dict[str, list[str]] = {}
    for flag in flags:
        if flag["outcome"] != "upheld" or flag["appeal"] == "reversed":
            continue
        if flag["flagged_post"] != case["post_id"] and days(flag["settled_on"], case) <= 180:  # noqa: PLR2004 - clause 19
            strikes.setdefault(flag["flagged_post"], []).append(flag["violation"])
    return strikes


def standing(case: Case, file: Mapping[str, Any] | None, strikes: int, index: int) -> str:
    """Clauses 20 to 23."""
    if file is not None and days(file["worked_out_on"], case) > 14:  # noqa: PLR2004 - clause 21
        return "poor" if strikes else "regular"
    found = "regular" if file is None else of_trust(file["trust"])
    if strikes >= 2:  # noqa: PLR2004 - clause 22
        found = "regular" if found == "good" and strikes < 4 else "poor"  # noqa: PLR2004 - clause 22
    return "regular" if found == "good" and index >= UNCLEAR else found


def of_trust(score: int) -> str:
    """Clause 20."""
    if score >= 70:  # noqa: PLR2004 - clause 20
        return "good"
    return "regular" if score >= 40 else "poor"  # noqa: PLR2004 - clause 20


def needs_second_signal(case: Case) -> bool:
    """Clauses 25 and 26, but for strikes."""
    trusted = case["reporter"] == "trusted" and case["reporter_in_post"] == "no"
    if trusted and not case["appealed_decision"]:
        return False
    return bool(case["other_flaggers"] < 2)  # noqa: PLR2004 - clause 25


def in_appeal(appealed: str, found: str) -> tuple[str, str]:
    """Clauses 31 to 33: the answer and its ground."""
    if found == "escalate" or (appealed == "suspend" and found == "keep"):
        return "escalate", ""
    if HARSHNESS.index(found) < HARSHNESS.index(appealed):
        return found, "reversed"
    return appealed, "confirmed"
