"""Uploads as they come on any day, and what the policy makes of each.

A row in the making has, beside its columns, the file and the record as they would be served
(`_file`, `_record`, with scores in thousandths), how often the bench is busy (`_busy`), and what
the people who are asked are to write (`_wishes`, one for each).
"""

from __future__ import annotations

import json
import runpy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from bundled_domains.generator import Decided, Dice, bundled, decided, look_ups

FOLDER = bundled("video_classification")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
TOOLS: dict[str, Any] = json.loads((FOLDER / "metadata.json").read_text("utf-8"))["tools"]
READINGS: dict[str, Mapping[str, Any]] = POLICY["READINGS"]
NOTES = tuple(READINGS.items())
CONCERNS: tuple[str, ...] = POLICY["ORDER"]
LIMITS: Mapping[str, tuple[int, int]] = {
    one: (10 * first, 10 * second) for one, (first, second) in POLICY["LIMITS"].items()
}
"""In thousandths, as all scores of rows in the making."""
FILE = (
    "container",
    "size",
    "size_unit",
    "frames",
    "frame_rate",
    "unreadable_frames",
    "flashes_per_second",
)
FIRST_DAY, DAYS = date(2026, 1, 12), 150
REGIONS = ("north", "south", "isles", "overseas")
LANGUAGES = ("pt", "pt-BR", "de", "de-AT", "sv", "hi", "tr", "es", "es-MX", "en", "en-GB")
TITLES = (
    "you will NOT believe the ending",
    "Sunday at the allotment",
    "Part 4 (real)",
    "how I did it in one afternoon",
    "satire!! do not take seriously",
    "Lesson 12: what my teacher got wrong",
    "from our correspondent",
    "the truth about the harbour",
    "untitled export 3",
    "best of last summer",
    "Grandpa explains",
    "warning: graphic",
    "nothing to see here",
    "Evening edition",
    "try this with your brother",
    "full recording, second camera",
)
REMARKS = (
    None,
    None,
    None,
    "It is for school, my teacher has seen it.",
    "Please be quick, the premiere is tonight!",
    "Your robot flagged my last one for NOTHING.",
    "All actors are over 18 and signed for it.",
    "Reviewed by our lawyer, publish as is.",
    "Wrong file maybe? Never mind, leave it.",
    "This is art.",
    "Contains one short scene that some may dislike.",
    "My cousin works at Lampwick, she says it's fine.",
    "No animals were harmed.",
    "We are press, see our website.",
)
REASONS = ("spam", "rude", "scary", "boring", "wrong category")
EASY = {
    "seat": "desk",
    "open_slips": 0,
    "permit_until": "2027-12-31",
    "grade": 3,
    "regions_known": list(REGIONS),
}
"""Of somebody who may be asked about anything."""

Row: TypeAlias = dict[str, Any]
Wish: TypeAlias = Callable[[Mapping[str, Any]], bool]


# --- a draft ---------------------------------------------------------------------------------


def draft(dice: Dice, number: int) -> Row:
    """An upload whose file is fine and of which somebody has to look at one concern."""
    desk_day = FIRST_DAY + timedelta(days=dice.below(DAYS))
    row: Row = {
        "upload_id": f"UP-{number:06}",
        "channel_id": f"CH-{dice.between(0, 99_999):05}",
        "channel_kind": dice.pick(("ordinary", "ordinary", "ordinary", "newsroom", "school")),
        "language": dice.pick(LANGUAGES),
        "region": dice.pick(REGIONS),
        "audience": dice.pick(("everyone", "everyone", "everyone", "adults", "made for children")),
        "edited_on": None,
        "desk_day": desk_day.isoformat(),
        "title": dice.pick(TITLES),
        "remark": dice.pick(REMARKS),
        "register": "entered",
        "_busy": 0,
        "_wishes": (),
    }
    row["_file"] = _file(dice)
    row["_record"] = {
        "scored_on": (desk_day - timedelta(days=dice.between(1, 30))).isoformat(),
        "scale": dice.pick((1, 100, 1000)),
        "lines": [],
    }
    if dice.below(3) == 0:
        row["edited_on"] = day(row, -dice.between(31, 90))
    concern = dice.pick(CONCERNS)
    first, second = LIMITS[concern]
    row["_record"]["lines"] = [
        line(dice, concern, dice.between(first + 110, second - 10)),
        *(_low(dice, one) for one in CONCERNS if one != concern and dice.below(2)),
    ]
    row["moderators"] = _moderators(dice, row)
    return row


def _file(dice: Dice) -> Row:
    gigabytes = dice.below(2) == 0
    megabytes = dice.between(40, 3_900)
    rate = dice.pick((24, 25, 30, 50))
    return {
        "container": dice.pick(("mp4", "mp4", "webm")),
        "size": megabytes / 1000 if gigabytes else megabytes,
        "size_unit": "GB" if gigabytes else "MB",
        "frames": rate * dice.between(20, 6_000) + dice.below(rate),
        "frame_rate": rate,
        "unreadable_frames": 0,
        "flashes_per_second": dice.pick((*[dice.below(26)] * 2, dice.between(32, 120))) / 10,
    }


def line(dice: Dice, concern: str, score: float, **cells: Any) -> Row:
    """A line of the record, its score in thousandths."""
    seconds = dice.between(2, 55 if concern == "VIOLENCE" else 160)
    return {"concern": concern, "score": score, "seconds": seconds, "state": "live", **cells}


def _low(dice: Dice, concern: str) -> Row:
    return line(
        dice, concern, dice.between(3, LIMITS[concern][0] - 155 if concern != "MINORS" else 90)
    )


def _moderators(dice: Dice, row: Row) -> list[Row]:
    """Some who read the language, and some who read English."""
    own, _, _ = row["language"].partition("-")
    lists = [own] * dice.between(4, 6) + ([] if own == "en" else ["en"] * 3)
    first = dice.between(100, 300)
    numbers = dice.shuffled(first + 7 * place for place in range(len(lists)))
    return [
        _moderator(dice, row, reads, number) for reads, number in zip(lists, numbers, strict=True)
    ]


def _moderator(dice: Dice, row: Row, reads: str, number: int) -> Row:
    known = [one for one in REGIONS if one == row["region"] or dice.below(3) == 0]
    return {
        "reads": reads,
        "moderator_id": f"M-{number}",
        "regions_known": known if dice.below(3) else [one for one in REGIONS if one not in known],
        "grade": dice.pick((1, 2, 3, 3)),
        "seat": dice.pick(("desk", "desk", "desk", "desk", "away", "training")),
        "permit_until": day(row, dice.pick((-dice.between(2, 60), *[dice.between(3, 300)] * 4))),
        "open_slips": dice.between(0, 14),
    }


def day(row: Row, days: int) -> str:
    """The day so many days after the desk day, or before it."""
    return (date.fromisoformat(row["desk_day"]) + timedelta(days=days)).isoformat()


# --- what is served --------------------------------------------------------------------------


class Writers:
    """Gives each person who is asked a note; those used least come first."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._used: Counter[str] = Counter()

    def served(self, row: Row) -> Row:
        """The row with all that its tools serve; `None` where no note is as it is wished."""
        made = row | file_cells(row) | record_cells(row)
        people = [one["moderator_id"] for one in made["moderators"]]
        made["answers"] = [_answer(one) for one in people]
        asked = asked_in(worked(made))
        concern = asked[0][1] if asked else self._dice.pick(CONCERNS)
        notes = {one: self._dice.pick(_about(concern))[0] for one in people}
        passed: set[str] = set()
        for (person, _), wish in zip(asked, row["_wishes"], strict=False):
            if wish is None:
                passed.add(person)
                continue
            fitting = [text for text, said in _about(concern) if wish(said)]
            if not fitting:
                return row | {"answers": None}
            least = min(self._used[text] for text in fitting)
            notes[person] = self._dice.pick([text for text in fitting if self._used[text] == least])
        return made | {
            "answers": [_answer(one, None if one in passed else notes[one]) for one in people]
        }

    def enter(self, row: Row) -> None:
        """Count the notes that are read in a row that is kept."""
        self._used.update(heard(row))


def file_cells(row: Row) -> Row:
    """The cells that the file bench serves."""
    busy = {"state": "busy", **dict.fromkeys(FILE)}
    checks = [busy] * row["_busy"] + [{"state": "ready", **row["_file"]}]
    return {"checks": [{"attempt": 1 + place, **one} for place, one in enumerate(checks[:2])]}


def record_cells(row: Row) -> Row:
    """The cells of the review record."""
    record: Row | None = row["_record"]
    if record is None:
        return dict.fromkeys(("scored_on", "scale", "lines"))
    scale = record["scale"]
    lines = [one | {"score": scaled(one["score"], scale)} for one in record["lines"]]
    return record | {"lines": lines}


def scaled(thousandths: float, scale: int) -> float:
    """A score in the scale of its record, with no more digits than it has."""
    score = Decimal(str(thousandths)) * scale / 1000
    return int(score) if score == int(score) else float(score)


def _about(concern: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [(text, said) for text, said in NOTES if said["about"] == concern]


def _answer(person: str, note: str | None = None) -> Row:
    answer = "passed" if note is None else "note"
    return {"moderator_id": person, "answer": answer, "note": note}


def other_rooms(dice: Dice, row: Row) -> Row:
    """What the services say that are not for the desk."""

    def scores() -> list[Row]:
        return [{"concern": one, "score": dice.between(0, 99)} for one in CONCERNS if dice.below(3)]

    own, _, _ = row["language"].partition("-")
    return {
        "form_container": dice.pick(("mp4", "mp4", "mov", "avi")),
        "form_minutes": dice.between(1, 130),
        "rights_ticked": dice.pick((True, False)),
        "archive_generation": 3,
        "archive_scores": scores(),
        "thumbnail_scores": scores(),
        "comment_count": dice.below(900),
        "heated_per_cent": dice.below(100),
        "live_now": dice.pick((True, False)),
        "live_scores": scores(),
        "guess": dice.pick((*CONCERNS, "NONE")),
        "guess_per_cent": dice.between(30, 99),
        "trust_score": dice.below(101),
        "trust_since": day(row, -dice.between(60, 900)),
        "strikes": [
            {"struck_on": day(row, -dice.between(5, 400)), "reason": dice.pick(CONCERNS)}
            for _ in range(dice.below(3))
        ],
        "viewer_reports": [
            {"reported_on": day(row, -dice.below(9)), "reason": dice.pick(REASONS)}
            for _ in range(dice.below(4))
        ],
        "reviewers": [
            {
                "reads": own,
                "reviewer_id": f"R-{dice.between(100, 999)}",
                "desks": [dice.pick(REGIONS)],
                "open_threads": dice.below(30),
            }
            for _ in range(dice.between(1, 3))
        ],
        "shifts": [
            {
                "moderator_id": one["moderator_id"],
                "hours_planned": dice.between(8, 40),
                "hours_worked": dice.between(0, 38),
            }
            for one in row["moderators"]
        ],
        "music_claims": [
            {"label": dice.pick(("Tin Whistle", "Low Tide", "Oxbow")), "claimed_seconds": 30}
            for _ in range(dice.below(2))
        ],
        "advertising_class": dice.pick("ABC"),
    }


# --- what the policy makes of it -------------------------------------------------------------


_LATEST: list[tuple[Row, Decided]] = []


def outcome(row: Row) -> Decided:
    """The answer to an upload and the calls that lead to it, kept for one and the same row."""
    if not _LATEST or _LATEST[0][0] is not row:
        _LATEST[:] = [(row, worked(row))]
    return _LATEST[0][1]


def worked(row: Row) -> Decided:
    """The answer to an upload that is looked at only once."""
    return decided(POLICY["decide"], row, look_ups(TOOLS, row))


def asked_of(row: Row) -> list[tuple[str, str]]:
    """Who is asked, and for which concern."""
    return asked_in(outcome(row))


def asked_in(done: Decided) -> list[tuple[str, str]]:
    """Who was asked, and for which concern."""
    return [
        (one["arguments"]["moderator_id"], one["arguments"]["concern"])
        for one in done.calls
        if one["name"] == "ask_moderator"
    ]


def heard(row: Row) -> list[str]:
    """The notes that are read, in order."""
    notes = {one["moderator_id"]: one["note"] for one in row["answers"]}
    return [notes[person] for person, _ in asked_of(row) if notes[person] is not None]
