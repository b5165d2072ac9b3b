"""What may be irregular about an upload, and the changes by which it comes about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .uploads import (
    CONCERNS,
    LIMITS,
    POLICY,
    READINGS,
    Row,
    Wish,
    asked_of,
    day,
    file_cells,
    heard,
    line,
    outcome,
    record_cells,
    worked,
)

Put: TypeAlias = Callable[[Dice, Row], Row]
Take: TypeAlias = Callable[[Row], Row | None]
Said: TypeAlias = Mapping[str, Any]

STEP = 0.1
"""In thousandths: a score that is so little below a limit has not reached it."""

IN_WORDS = tuple(sorted(POLICY["IN_WORDS"]))
BY_EYE = tuple(one for one in CONCERNS if one not in IN_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Irregularity:
    """What may be put into an upload.

    Attributes:
        put: puts it there.
        take: the same upload without it; `None` where it is not there.
        rows: how many uploads have it at least.
        decides: it matters for the answer, and not only for who is asked.
    """

    tag: str
    put: Put
    take: Take
    rows: int = 3
    decides: bool = True

    def matters(self, row: Row) -> bool:
        other = self.take(row)
        if other is None or other == row:
            return False
        here, there = outcome(row), worked(other | file_cells(other) | record_cells(other))
        return here.answer != there.answer or (here != there and not self.decides)


# --- the file and the record -----------------------------------------------------------------


def file_with(row: Row, **cells: Any) -> Row:
    """The upload with another file."""
    return row | {"_file": row["_file"] | cells}


def record_with(row: Row, **cells: Any) -> Row:
    """The upload with another record, if it has one."""
    return row if row["_record"] is None else row | {"_record": row["_record"] | cells}


def lines_of(row: Row) -> list[Row]:
    """The lines of the record, live and void."""
    return [] if row["_record"] is None else row["_record"]["lines"]


def age_of(row: Row) -> int:
    """The days since the video was scored; 0 without a record."""
    if row["_record"] is None:
        return 0
    scored = date.fromisoformat(row["_record"]["scored_on"])
    return (date.fromisoformat(row["desk_day"]) - scored).days


def fresh(row: Row) -> Row:
    """Scored on the day before, and not cut again."""
    return record_with(row, scored_on=day(row, -1)) | {"edited_on": None}


def aged(row: Row, days: int) -> Row:
    """Scored so many days ago, and not cut again."""
    return record_with(row, scored_on=day(row, -days)) | {"edited_on": None}


def plain_line(concern: str, score: float, seconds: int = 5) -> Row:
    """A live line of the record."""
    return {"concern": concern, "score": score, "seconds": seconds, "state": "live"}


def live(row: Row, concern: str) -> list[Row]:
    """The live lines of one concern."""
    return [one for one in lines_of(row) if one["concern"] == concern and one["state"] == "live"]


def score_of(row: Row, concern: str) -> float:
    """The score of a concern, 0 where it has none."""
    return max((one["score"] for one in live(row, concern)), default=0)


def question_from(row: Row, concern: str) -> int:
    """The first limit of a concern for an upload, in thousandths."""
    case = POLICY["Case"](row, row["_file"], {}, {}, old=False)
    per_cent: int = case.question_from(concern)
    return 10 * per_cent


def in_question(row: Row, concern: str) -> bool:
    """Whether the score of a concern reaches its first limit."""
    return bool(live(row, concern)) and score_of(row, concern) >= question_from(row, concern)


def has_settled(row: Row) -> bool:
    """Whether a concern has a score that would settle it."""
    return any(score_of(row, one) >= LIMITS[one][1] for one in CONCERNS[1:])


def only(dice: Dice, row: Row, *lines: Row) -> Row:
    """These lines, and those of the draft that speak of other concerns and are low."""
    there = {one["concern"] for one in lines}
    rest = [one for one in lines_of(row)[1:] if one["concern"] not in there]
    return record_with(row, lines=dice.shuffled([*lines, *rest]))


def between(dice: Dice, concern: str) -> int:
    """A score with which a concern is in question and not settled, whoever watches it."""
    first, second = LIMITS[concern]
    return dice.between(first + 110, second - 10)


def high(dice: Dice, concern: str) -> int:
    """A score that settles a concern."""
    return dice.between(LIMITS[concern][1], 999)


def leading(dice: Dice, row: Row, *concerns: str) -> Row:
    """One of these concerns leads and is in question only."""
    concern = dice.pick(concerns)
    return only(dice, row, line(dice, concern, between(dice, concern)))


def for_newsroom(dice: Dice, row: Row) -> Row:
    """A concern that only the kind of channel keeps from being settled."""
    concern = dice.pick(sorted(POLICY["ASKED_FOR_NEWSROOMS"]))
    made = only(dice, row, line(dice, concern, high(dice, concern)))
    return file_with(made, container="mp4") | {"channel_kind": "newsroom"}


# --- people and notes ------------------------------------------------------------------------


def lead_of(row: Row) -> str | None:
    """The concern that somebody is asked about."""
    asked = asked_of(row)
    return asked[0][1] if asked else None


def lists(row: Row) -> int:
    """How many lists of the roll are asked for."""
    return sum(one["name"] == "search_moderators" for one in outcome(row).calls)


def own(row: Row) -> str:
    """The language of the slip without its variety."""
    language: str = row["language"].partition("-")[0]
    return language


def everybody(row: Row, cells: Row, *, reads: str | None = None) -> Row:
    """Everybody on the roll, or on one list of it, is so."""
    people = [one | cells if reads in {None, one["reads"]} else one for one in row["moderators"]]
    return row | {"moderators": people}


def wishing(row: Row, *wishes: Wish | None) -> Row:
    """What the people who are asked are to write; `None` passes the upload on."""
    return row | {"_wishes": wishes}


def serves(said: Said) -> bool:
    """Whether a note serves for every concern."""
    return said["watched"] != "nothing" and not said.get("no_words")


def says(word: str, *, watched: str = "all") -> Wish:
    """A note that serves, and says this and nothing beside."""

    def wish(said: Said) -> bool:
        there = {"about": said["about"], "says": word, "watched": watched}
        return dict(said) == there

    return wish


def last_note(row: Row) -> Said:
    """What the note says that was read last; empty if none was."""
    notes = heard(row)
    return READINGS[notes[-1]] if notes else {}


def first_note(row: Row) -> Said:
    """What the note says that was read first; empty if none was."""
    notes = heard(row)
    return READINGS[notes[0]] if notes else {}


def said_otherwise(row: Row, *, last: bool = True, **cells: Any) -> Row | None:
    """A note that was read says something else; a cell that is `None` is left out."""
    notes = heard(row)
    if not notes:
        return None
    note = notes[-1 if last else 0]
    facts = {name: cell for name, cell in {**READINGS[note], **cells}.items() if cell is not None}
    text = f"{note} {sorted(facts.items())}"
    POLICY["READINGS"][text] = facts
    return row | {
        "answers": [one | {"note": text} if one["note"] == note else one for one in row["answers"]]
    }
