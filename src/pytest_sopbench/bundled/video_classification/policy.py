# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the answers of the desk as a function of a slip and what services answer.

What a moderator writes is free text, which no function reads for sure. `readings.json`, which
neither agents nor tools are shown, has what a careful reader takes from each note, also what the
articles do not count. From there on nothing is given.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_sopbench.errors import ToolError

Call: TypeAlias = Callable[..., Any]
Said: TypeAlias = Mapping[str, Any]

READINGS: dict[str, Said] = json.loads(
    (Path(__file__).parent / "readings.json").read_text(encoding="utf-8")
)

CONTAINERS = {"mp4", "webm"}  # article 10
MOST_MEGABYTES, MOST_OF_NEWSROOMS, MEGABYTES_OF_A_GIGABYTE = 4000, 6500, 1000  # article 12
SHORTEST, LONGEST, LONGEST_OF_SCHOOLS = 3, 7200, 14400  # article 13
UNREADABLE_PERCENT = 4  # article 14

# Article 22: in per cent, from where a concern is in question and from where it is settled.
LIMITS = {
    "MINORS": (15, 70),
    "HATE": (40, 88),
    "NUDITY": (45, 90),
    "VIOLENCE": (50, 92),
    "DANGER": (55, 94),
    "DECEPTION": (60, 96),
}
ORDER = tuple(LIMITS)
PER_CENT = 100  # article 18
EARLIER_FOR_CHILDREN, WATCHED_BY_CHILDREN = 10, {"NUDITY", "VIOLENCE", "DANGER"}  # article 23
NUDITY_AMONG_ADULTS = 65  # article 24
EARLIER_WITH_A_GAP = 5  # article 25
OLD_DAYS = 45  # article 19
ASKED_FOR_NEWSROOMS = {"HATE", "VIOLENCE"}  # article 28

IN_WORDS = {"HATE", "DECEPTION"}  # articles 33, 34, 36, 42
GRADES = {"MINORS": 3, "HATE": 2, "DECEPTION": 2}  # article 34
FULL_TABLE = 12  # article 34
LEANING = 15  # article 44

# Article 51: the decision and the warning if the concern stands.
STANDS = {
    "MINORS": ("REMOVE", "STRIKE"),
    "HATE": ("REMOVE", "STRIKE"),
    "NUDITY": ("RESTRICT", "AGE_GATE"),
    "VIOLENCE": ("RESTRICT", "AGE_GATE"),
    "DANGER": ("REMOVE", "STRIKE"),
    "DECEPTION": ("RESTRICT", "NOTICE"),
}
# Article 51: the same if a purpose softens it.
SOFTENED: dict[tuple[str, str | None], tuple[str, str]] = {
    ("HATE", "reports"): ("RESTRICT", "NOTICE"),
    ("NUDITY", "teaches"): ("PUBLISH", "NOTICE"),
    ("VIOLENCE", "reports"): ("RESTRICT", "NOTICE"),
    ("VIOLENCE", "acts"): ("RESTRICT", "NOTICE"),
    ("DANGER", "teaches"): ("PUBLISH", "NOTICE"),
    ("DECEPTION", "acts"): ("PUBLISH", "NOTICE"),
}
LONG_VIOLENCE = 60  # article 52
NO_MISTAKE = {"MINORS", "HATE"}  # article 55
CALM_FLASHES = Decimal("3.0")  # article 56


class Outcome(NamedTuple):
    """The answer of one slip."""

    tag: str
    warning: str
    decision: str


class Case(NamedTuple):
    """A slip with its file and its record."""

    slip: Mapping[str, Any]
    file: Mapping[str, Any]
    scores: Mapping[str, Decimal]
    seconds: Counter[str]
    old: bool

    @property
    def for_children(self) -> bool:
        return bool(self.slip["audience"] == "made for children")

    def question_from(self, concern: str) -> int:
        """Articles 22 to 25."""
        limit, _ = LIMITS[concern]
        if concern == "NUDITY" and self.slip["audience"] == "adults":
            limit = NUDITY_AMONG_ADULTS
        if self.for_children and concern in WATCHED_BY_CHILDREN:
            limit -= EARLIER_FOR_CHILDREN
        return limit - EARLIER_WITH_A_GAP if self.file["unreadable_frames"] else limit

    def high(self, concern: str) -> bool:
        """Article 22: whether the number alone would settle it."""
        _, limit = LIMITS[concern]
        return self.scores[concern] >= limit

    def settled(self, concern: str) -> bool:
        """Articles 20, 22, and 28."""
        asked = self.slip["channel_kind"] == "newsroom" and concern in ASKED_FOR_NEWSROOMS
        return self.high(concern) and not self.old and not asked


def decide(inputs: Mapping[str, Any], call: Call) -> dict[str, str]:
    """Return the answer of one slip; `call(tool, **arguments)` raises `ToolError`."""
    file = _checked(inputs, call)
    if file["state"] == "busy":
        outcome = Outcome("NONE", "NONE", "HOLD")  # article 9
    elif not _accepted(inputs, file):
        return _answer(Outcome("NONE", "NONE", "RETURN"))  # article 15
    else:
        outcome = _classified(inputs, file, call)
    return _answer(_entered(inputs, outcome, call))


def _answer(outcome: Outcome) -> dict[str, str]:
    return {
        "tag": outcome.tag,
        "warning": outcome.warning,
        "final_decision": outcome.decision,
    }


def _checked(slip: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
    """Articles 8 and 9: once more if the bench is busy."""
    file: Mapping[str, Any] = call("check_upload_file", upload_id=slip["upload_id"], attempt=1)
    if file["state"] == "busy":
        file = call("check_upload_file", upload_id=slip["upload_id"], attempt=2)
    return file


def _accepted(slip: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    return (
        _right_container(slip, file)
        and _right_size(slip, file)
        and _right_length(slip, file)
        and _readable(file)
    )


def _right_container(slip: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    """Article 10."""
    newsroom = slip["channel_kind"] == "newsroom"
    return file["container"] in CONTAINERS or (newsroom and file["container"] == "mov")


def _right_size(slip: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    """Article 12."""
    megabytes = Decimal(str(file["size"]))
    if file["size_unit"] == "GB":
        megabytes *= MEGABYTES_OF_A_GIGABYTE
    most = MOST_OF_NEWSROOMS if slip["channel_kind"] == "newsroom" else MOST_MEGABYTES
    return megabytes <= most


def _right_length(slip: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    """Article 13: in frames, so that nothing is rounded."""
    longest = LONGEST_OF_SCHOOLS if slip["channel_kind"] == "school" else LONGEST
    return bool(SHORTEST * file["frame_rate"] <= file["frames"] <= longest * file["frame_rate"])


def _readable(file: Mapping[str, Any]) -> bool:
    """Article 14."""
    return bool(file["unreadable_frames"] * 100 <= UNREADABLE_PERCENT * file["frames"])


def _classified(slip: Mapping[str, Any], file: Mapping[str, Any], call: Call) -> Outcome:
    try:
        record = call("get_review_record", upload_id=slip["upload_id"])
    except ToolError:
        return Outcome("NONE", "NONE", "HOLD")  # article 17
    case = _case(slip, file, record)
    lead = _lead(case)
    if lead is None:
        return _shown(case, Outcome("NONE", "NONE", "PUBLISH"))  # article 29
    if case.settled(lead):
        return _standing(case, lead)  # article 31
    said = _note(slip, lead, call)
    if said is None:
        return Outcome(lead, "NONE", "HOLD")  # article 39
    return _by_note(case, lead, said)


def _case(slip: Mapping[str, Any], file: Mapping[str, Any], record: Mapping[str, Any]) -> Case:
    scores: dict[str, Decimal] = {}
    seconds: Counter[str] = Counter()
    for line in record["lines"]:
        if line["state"] == "void":
            continue  # article 18
        concern = line["concern"]
        score = Decimal(str(line["score"])) * PER_CENT / record["scale"]
        scores[concern] = max(score, scores.get(concern, score))
        seconds[concern] += line["seconds"]
    return Case(slip, file, scores, seconds, _old(slip, record))


def _old(slip: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Article 19."""
    scored = date.fromisoformat(record["scored_on"])
    edited = slip["edited_on"]
    if edited is not None and scored < date.fromisoformat(edited):
        return True
    return (date.fromisoformat(slip["desk_day"]) - scored).days > OLD_DAYS


def _lead(case: Case) -> str | None:
    """Articles 20 and 27."""
    scored = [one for one in ORDER if one in case.scores]
    asked = [one for one in scored if case.scores[one] >= case.question_from(one)]
    if "MINORS" in asked:
        return "MINORS"
    if asked:
        settled = [one for one in asked if case.settled(one)]
        return (settled or asked)[0]
    if case.old and scored:
        return max(scored, key=case.scores.__getitem__)
    return None


def _note(slip: Mapping[str, Any], concern: str, call: Call) -> Said | None:
    """Articles 38 to 42: the first note that serves, of two people at most."""
    for one in _able(slip, concern, call)[:2]:
        asked = {"moderator_id": one["moderator_id"], "concern": concern}
        answer = call("ask_moderator", upload_id=slip["upload_id"], **asked)
        if answer["answer"] == "note":
            said = READINGS[answer["note"]]
            if _serves(said, concern):
                return said
    return None


def _able(slip: Mapping[str, Any], concern: str, call: Call) -> Sequence[Mapping[str, Any]]:
    """Articles 32 to 36: whom to ask, in this order."""
    for language in _languages(slip, concern):
        found = call("search_moderators", reads=language)
        able = [one for one in found if _may(slip, concern, one)]
        if able:
            return sorted(able, key=lambda one: _turn(slip, one))
    return ()


def _languages(slip: Mapping[str, Any], concern: str) -> Sequence[str]:
    """Articles 32 and 33."""
    own, _, _ = slip["language"].partition("-")
    return (own,) if own == "en" or concern in IN_WORDS else (own, "en")


def _may(slip: Mapping[str, Any], concern: str, one: Mapping[str, Any]) -> bool:
    """Article 34."""
    if one["seat"] != "desk" or one["open_slips"] >= FULL_TABLE:
        return False
    if concern in GRADES and one["grade"] < GRADES[concern]:
        return False
    if concern in IN_WORDS and slip["region"] not in one["regions_known"]:
        return False
    return date.fromisoformat(one["permit_until"]) >= date.fromisoformat(slip["desk_day"])


def _turn(slip: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Article 35."""
    return slip["region"] not in one["regions_known"], one["open_slips"], one["moderator_id"]


def _serves(said: Said, concern: str) -> bool:
    """Articles 41 and 42."""
    return said["watched"] != "nothing" and not (said.get("no_words") and concern in IN_WORDS)


def _by_note(case: Case, lead: str, said: Said) -> Outcome:
    """Articles 43 to 50."""
    stands = _stands(case, lead, said)
    found = [lead] if stands else []
    if _counts_beside(said):
        found.append(said["beside"])
    if found:
        concern = min(found, key=ORDER.index)
        purpose = _purpose(said) if concern == lead else None
        return _standing(case, concern, purpose, mistake=bool(said.get("mistake")))
    if stands is None:
        return Outcome(lead, "NONE", "HOLD")  # article 44
    return _shown(case, Outcome("NONE", "NONE", "PUBLISH"))


def _stands(case: Case, lead: str, said: Said) -> bool | None:
    """Articles 43 to 46; None if nobody knows."""
    if said["says"] == "there":
        return True
    if said["says"] == "unsure" or said["watched"] == "part":
        if case.old:
            return None
        _, limit = LIMITS[lead]
        return case.scores[lead] >= limit - LEANING
    return case.high(lead) and not case.old and _purpose(said) is None


def _purpose(said: Said) -> str | None:
    """Article 48: what for, if the writer saw it."""
    purpose: str | None = said.get("purpose")
    return None if said.get("told") else purpose


def _counts_beside(said: Said) -> bool:
    """Article 50."""
    return "beside" in said and (said["beside"] == "MINORS" or bool(said.get("where")))


def _standing(
    case: Case, concern: str, purpose: str | None = None, *, mistake: bool = False
) -> Outcome:
    """Articles 51 to 55."""
    decision, warning = _of_table(case, concern, purpose)
    if case.for_children and decision == "RESTRICT":
        decision, warning = "REMOVE", "STRIKE"  # article 54
    if warning == "STRIKE" and mistake and concern not in NO_MISTAKE:
        warning = "NOTICE"  # article 55
    return _shown(case, Outcome(concern, warning, decision))


def _of_table(case: Case, concern: str, purpose: str | None) -> tuple[str, str]:
    if (concern, purpose) in SOFTENED:
        return SOFTENED[concern, purpose]  # article 51
    if concern == "VIOLENCE" and case.seconds[concern] > LONG_VIOLENCE:
        return "REMOVE", "STRIKE"  # article 52
    if concern == "NUDITY" and case.slip["audience"] == "adults":
        return "PUBLISH", "AGE_GATE"  # article 53
    return STANDS[concern]


def _shown(case: Case, outcome: Outcome) -> Outcome:
    """Article 56."""
    flashing = Decimal(str(case.file["flashes_per_second"])) > CALM_FLASHES
    if flashing and outcome.decision != "REMOVE" and outcome.warning != "AGE_GATE":
        return outcome._replace(warning="FLASH")
    return outcome


def _entered(slip: Mapping[str, Any], outcome: Outcome, call: Call) -> Outcome:
    """Articles 58 to 60."""
    entry = {"tag": outcome.tag, "warning": outcome.warning, "decision": outcome.decision}
    answer = call("enter_decision", upload_id=slip["upload_id"], **entry)
    if answer["register"] == "sealed":
        return Outcome(outcome.tag, "NONE", "HOLD")
    return outcome
