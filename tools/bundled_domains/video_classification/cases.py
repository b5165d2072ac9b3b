"""What may be irregular about an upload: how it comes about, and the same upload without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .uploads import (
    CONCERNS,
    EASY,
    LIMITS,
    POLICY,
    READINGS,
    REGIONS,
    Row,
    Wish,
    asked_in,
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
SERIOUS = tuple(sorted(POLICY["NO_MISTAKE"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Irregularity:
    """What may be put into an upload.

    Attributes:
        put: puts it there.
        takes: the same upload without it, in one way or in several; `None` where it has none.
        rows: how many uploads have it at least.
        decides: it matters for the answer, and not only for who is asked.
    """

    tag: str
    put: Put
    takes: tuple[Take, ...]
    rows: int = 3
    decides: bool = True

    def matters(self, row: Row) -> bool:
        here = outcome(row)
        for take in self.takes:
            other = take(row)
            if other is None or other == row:
                continue
            there = worked(other | file_cells(other) | record_cells(other))
            if here.answer != there.answer or (here != there and not self.decides):
                return True
        return False


# --- changes ---------------------------------------------------------------------------------


def file_with(row: Row, **cells: Any) -> Row:
    return row | {"_file": row["_file"] | cells}


def record_with(row: Row, **cells: Any) -> Row:
    return row if row["_record"] is None else row | {"_record": row["_record"] | cells}


def lines_of(row: Row) -> list[Row]:
    return [] if row["_record"] is None else row["_record"]["lines"]


def live(row: Row, concern: str) -> list[Row]:
    return [one for one in lines_of(row) if one["concern"] == concern and one["state"] == "live"]


def score_of(row: Row, concern: str) -> float:
    return max((one["score"] for one in live(row, concern)), default=0)


def lead_of(row: Row) -> str | None:
    """The concern that somebody is asked about."""
    asked = asked_of(row)
    return asked[0][1] if asked else None


def only(dice: Dice, row: Row, *lines: Row) -> Row:
    """These lines, and those of the draft that speak of other concerns and are low."""
    there = {one["concern"] for one in lines}
    rest = [one for one in lines_of(row)[1:] if one["concern"] not in there]
    return record_with(row, lines=dice.shuffled([*lines, *rest]))


def question_from(row: Row, concern: str) -> int:
    """The first limit of a concern for an upload."""
    case = POLICY["Case"](row, row["_file"], {}, {}, old=False)
    limit: int = case.question_from(concern)
    return limit


def everybody(row: Row, reads: str | None = None, **cells: Any) -> Row:
    """Everybody on the roll, or on one list of it, is so."""
    people = [one | cells if reads in (None, one["reads"]) else one for one in row["moderators"]]
    return row | {"moderators": people}


def own(row: Row) -> str:
    language: str = row["language"].partition("-")[0]
    return language


def said_otherwise(row: Row, **cells: Any) -> Row | None:
    """The last note that was read says something else; a cell that is `None` is left out."""
    notes = heard(row)
    return said_in(row, notes[-1], **cells) if notes else None


def first_said_otherwise(row: Row, **cells: Any) -> Row | None:
    notes = heard(row)
    return said_in(row, notes[0], **cells) if notes else None


def said_in(row: Row, note: str, **cells: Any) -> Row:
    facts = {k: v for k, v in {**READINGS[note], **cells}.items() if v is not None}
    text = f"{note} {sorted(facts.items())}"
    POLICY["READINGS"][text] = facts
    answers = [one | {"note": text} if one["note"] == note else one for one in row["answers"]]
    return row | {"answers": answers}


def all_pass(row: Row, *, but_first: bool) -> Row:
    first = {person for person, _ in asked_of(row)[:1]} if but_first else set()
    return row | {
        "answers": [
            one if one["moderator_id"] in first else one | {"answer": "passed"}
            for one in row["answers"]
        ]
    }


def wishing(row: Row, *wishes: Wish | None) -> Row:
    """What the people who are asked are to write; `None` passes the upload on."""
    return row | {"_wishes": wishes}


def serves(said: Said) -> bool:
    return said["watched"] != "nothing" and not said.get("no_words")


def says(*words: str, **cells: Any) -> Wish:
    """A note that serves anybody, with these facts and none beside."""
    named = {"watched": "all"} | cells

    def wish(said: Said) -> bool:
        others = set(said) - {"about", "says", *named}
        return (
            said["says"] in words
            and not others
            and all(said.get(name) == value for name, value in named.items())
        )

    return wish


def leading(dice: Dice, row: Row, *concerns: str, score: int | None = None) -> Row:
    """One of these concerns leads and is in question only."""
    concern = dice.pick(concerns)
    first, second = LIMITS[concern]
    drawn = dice.between(first + 110, second - 10)
    return only(dice, row, line(dice, concern, drawn if score is None else score))


# --- the file --------------------------------------------------------------------------------


def _file() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="busy-twice",
        rows=4,
        put=lambda dice, row: row | {"_busy": 2},
        takes=(lambda row: row | {"_busy": 1} if row["_busy"] > 1 else None,),
    )
    yield Irregularity(
        tag="asked-again",
        rows=5,
        put=lambda dice, row: row | {"_busy": 1},
        takes=(lambda row: row | {"_busy": 2} if row["_busy"] == 1 else None,),
    )
    yield Irregularity(
        tag="container",
        rows=3,
        put=lambda dice, row: (
            file_with(row, container="mov") | {"channel_kind": dice.pick(("ordinary", "school"))}
        ),
        takes=(
            lambda row: (
                file_with(row, container="mp4") if row["_file"]["container"] == "mov" else None
            ),
        ),
    )
    yield Irregularity(
        tag="container",
        rows=2,
        put=lambda dice, row: (
            file_with(row, container=dice.pick(("avi", "mkv"))) | {"channel_kind": "newsroom"}
        ),
        takes=(
            lambda row: (
                file_with(row, container="mp4")
                if row["channel_kind"] == "newsroom" and row["_file"]["container"] != "mov"
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="newsroom-file",
        rows=5,
        put=lambda dice, row: (
            dice.pick(
                (
                    file_with(row, container="mov"),
                    file_with(row, size=dice.between(4_001, 6_400), size_unit="MB"),
                )
            )
            | {"channel_kind": "newsroom"}
        ),
        takes=(
            lambda row: (
                row | {"channel_kind": "ordinary"}
                if row["_file"]["container"] == "mov" or _megabytes(row) > POLICY["MOST_MEGABYTES"]
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="gigabytes",
        rows=5,
        put=lambda dice, row: file_with(
            row, size=dice.between(4_001, 7_900) / 1000, size_unit="GB"
        ),
        takes=(
            lambda row: (
                file_with(row, size_unit="MB") if row["_file"]["size_unit"] == "GB" else None
            ),
        ),
    )
    for newsroom in (False, True):
        limit = POLICY["MOST_OF_NEWSROOMS" if newsroom else "MOST_MEGABYTES"]
        kind = {"channel_kind": "newsroom"} if newsroom else {"channel_kind": "ordinary"}
        for over in (0, 1):
            yield Irregularity(
                tag="boundary-size",
                rows=3,
                put=lambda dice, row, size=limit + over, kind=kind: (
                    row
                    | kind
                    | {
                        "_file": row["_file"]
                        | dice.pick(
                            (
                                {"size": size, "size_unit": "MB"},
                                {"size": size / 1000, "size_unit": "GB"},
                            )
                        )
                    }
                ),
                takes=(
                    lambda row, limit=limit, over=over: (
                        file_with(row, size=limit + 1 - over, size_unit="MB")
                        if _megabytes(row) == limit + over
                        else None
                    ),
                ),
                decides=False,
            )
    for seconds, kinds in (
        (POLICY["SHORTEST"], ("ordinary", "newsroom", "school")),
        (POLICY["LONGEST"], ("ordinary", "newsroom")),
        (POLICY["LONGEST_OF_SCHOOLS"], ("school",)),
    ):
        beyond = -1 if seconds == POLICY["SHORTEST"] else 1
        for frames in (0, beyond):
            yield Irregularity(
                tag="boundary-length",
                rows=2,
                put=lambda dice, row, seconds=seconds, frames=frames, kinds=kinds: (
                    file_with(row, frames=seconds * row["_file"]["frame_rate"] + frames)
                    | {"channel_kind": dice.pick(kinds)}
                ),
                takes=(
                    lambda row, seconds=seconds, frames=frames, beyond=beyond: (
                        file_with(row, frames=row["_file"]["frames"] + (-frames or beyond))
                        if row["_file"]["frames"] == seconds * row["_file"]["frame_rate"] + frames
                        else None
                    ),
                ),
                decides=False,
            )
    yield Irregularity(
        tag="lecture",
        rows=3,
        put=lambda dice, row: (
            file_with(row, frames=row["_file"]["frame_rate"] * dice.between(7_300, 14_300))
            | {"channel_kind": "school"}
        ),
        takes=(
            lambda row: (
                row | {"channel_kind": "ordinary"} if row["channel_kind"] == "school" else None
            ),
        ),
    )
    for more in (0, 1):
        yield Irregularity(
            tag="boundary-unreadable",
            rows=3,
            put=lambda dice, row, more=more: _unreadable(dice, row, more),
            takes=(
                lambda row, more=more: (
                    file_with(
                        row,
                        unreadable_frames=row["_file"]["unreadable_frames"] + (-1 if more else 1),
                    )
                    if (row["_file"]["unreadable_frames"] - more) * 25 == row["_file"]["frames"]
                    else None
                ),
            ),
            decides=False,
        )
    yield Irregularity(
        tag="flicker",
        rows=12,
        put=lambda dice, row: file_with(row, flashes_per_second=dice.between(32, 120) / 10),
        takes=(lambda row: file_with(row, flashes_per_second=0.0),),
    )
    for flashes, other in ((3.0, 3.1), (3.1, 3.0)):
        yield Irregularity(
            tag="boundary-flicker",
            rows=3,
            put=lambda dice, row, flashes=flashes: file_with(row, flashes_per_second=flashes),
            takes=(
                lambda row, flashes=flashes, other=other: (
                    file_with(row, flashes_per_second=other)
                    if row["_file"]["flashes_per_second"] == flashes
                    else None
                ),
            ),
        )


def _megabytes(row: Row) -> float:
    file = row["_file"]
    size: float = file["size"] * 1000 if file["size_unit"] == "GB" else file["size"]
    return round(size, 3)


def _unreadable(dice: Dice, row: Row, more: int) -> Row:
    """Just as many frames that cannot be read as are allowed, and perhaps one more."""
    most = dice.between(30, 900) * 4
    return file_with(row, frames=25 * most, unreadable_frames=most + more)


# --- the record ------------------------------------------------------------------------------


def _record() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="no-record",
        rows=4,
        put=lambda dice, row: row | {"_record": None},
        takes=(
            lambda row: (
                row | {"_record": {"scored_on": row["desk_day"], "scale": 100, "lines": []}}
                if row["_record"] is None
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="void-line",
        rows=6,
        put=lambda dice, row: record_with(
            row,
            lines=dice.shuffled(
                [
                    *lines_of(row),
                    line(
                        dice,
                        one := dice.pick(CONCERNS),
                        dice.between(LIMITS[one][1], 999),
                        state="void",
                    ),
                ]
            ),
        ),
        takes=(
            lambda row: record_with(row, lines=[one | {"state": "live"} for one in lines_of(row)]),
        ),
    )
    yield Irregularity(
        tag="several-scenes",
        rows=6,
        put=_more_scenes,
        takes=(
            lambda row: record_with(
                row, lines=list({one["concern"]: one for one in lines_of(row)}.values())
            ),
            lambda row: record_with(
                row, lines=list({one["concern"]: one for one in lines_of(row)[::-1]}.values())
            ),
        ),
    )
    yield Irregularity(
        tag="old-cut",
        rows=8,
        put=lambda dice, row: (
            _settled(dice, row)
            | {"edited_on": day(row, -_age(row) + dice.between(1, max(1, _age(row))))}
        ),
        takes=(lambda row: row | {"edited_on": None},),
        decides=False,
    )
    yield Irregularity(
        tag="cut-that-day",
        rows=3,
        put=lambda dice, row: row | {"edited_on": day(row, -_age(row))},
        takes=(
            lambda row: (
                row | {"edited_on": day(row, 1 - _age(row))}
                if row["edited_on"] == day(row, -_age(row))
                else None
            ),
        ),
        decides=False,
    )
    yield Irregularity(
        tag="old-by-age",
        rows=5,
        put=lambda dice, row: (
            record_with(_settled(dice, row), scored_on=day(row, -dice.between(47, 200)))
            | {"edited_on": None}
        ),
        takes=(lambda row: record_with(row, scored_on=day(row, -1)),),
        decides=False,
    )
    for age, other in ((45, 46), (46, 45)):
        yield Irregularity(
            tag="boundary-old",
            rows=3,
            put=lambda dice, row, age=age: (
                record_with(_settled(dice, row), scored_on=day(row, -age)) | {"edited_on": None}
            ),
            takes=(
                lambda row, age=age, other=other: (
                    record_with(row, scored_on=day(row, -other)) if _age(row) == age else None
                ),
            ),
            decides=False,
        )
    yield Irregularity(
        tag="old-and-low",
        rows=4,
        put=lambda dice, row: (
            record_with(
                row,
                scored_on=day(row, -dice.between(47, 200)),
                lines=[
                    _low_line(dice, one, alike)
                    for alike in (dice.between(40, 110),)
                    for one in CONCERNS
                    if dice.below(3)
                ],
            )
            | {"edited_on": None}
        ),
        takes=(lambda row: record_with(row, scored_on=day(row, -1)),),
        decides=False,
    )
    yield Irregularity(
        tag="old-and-low",
        rows=4,
        put=lambda dice, row: (
            record_with(
                row,
                scored_on=day(row, -dice.between(47, 200)),
                lines=dice.shuffled(line(dice, one, dice.between(20, 130)) for one in CONCERNS[2:]),
            )
            | {"edited_on": None}
        ),
        takes=(_highest_is_low,),
        decides=False,
    )
    yield Irregularity(
        tag="old-and-empty",
        rows=3,
        put=_without_live_line,
        takes=(
            lambda row: (
                record_with(row, lines=[_line("DANGER", 10)])
                if row["_record"] and all(one["state"] == "void" for one in lines_of(row))
                else None
            ),
        ),
        decides=False,
    )


def _highest_is_low(row: Row) -> Row | None:
    lead = lead_of(row)
    if lead is None or any(_in_question(row, one) for one in CONCERNS):
        return None
    others = [one for one in lines_of(row) if one["concern"] != lead]
    return record_with(row, lines=[*others, _line(lead, 1)])


def _without_live_line(dice: Dice, row: Row) -> Row:
    """Old, and all that was scored has been taken back."""
    made = record_with(row, scored_on=day(row, -dice.between(47, 200)))
    return record_with(made, lines=[one | {"state": "void"} for one in lines_of(row)])


def _low_line(dice: Dice, concern: str, alike: int) -> Row:
    return line(dice, concern, dice.pick((alike, alike, dice.between(10, 130))))


def _age(row: Row) -> int:
    if row["_record"] is None:
        return 0
    scored = date.fromisoformat(row["_record"]["scored_on"])
    return (date.fromisoformat(row["desk_day"]) - scored).days


def _settled(dice: Dice, row: Row) -> Row:
    """A concern that is settled if the record is not old, or one that is in question."""
    if row["_record"] is None:
        return row
    concern = dice.pick(CONCERNS)
    score = dice.between(LIMITS[concern][1], 999)
    return only(dice, row, line(dice, concern, score)) if dice.below(2) else row


def _more_scenes(dice: Dice, row: Row) -> Row:
    """A second and lower line of each concern that is there."""
    lines = lines_of(row)
    more = [one | {"score": one["score"] * dice.between(2, 9) // 10} for one in lines[:1]]
    more += [line(dice, one["concern"], one["score"] * 7 // 10) for one in lines[1:2]]
    return record_with(row, lines=dice.shuffled([*lines, *more]))


# --- limits ----------------------------------------------------------------------------------


def _limits() -> Iterator[Irregularity]:
    for concern in CONCERNS:
        for below in (0, STEP):
            yield Irregularity(
                tag="boundary-settled",
                rows=2,
                put=lambda dice, row, concern=concern, below=below: only(
                    dice, row, line(dice, concern, LIMITS[concern][1] - below)
                ),
                takes=(_score_taken(concern, lambda _, concern: LIMITS[concern][1], below),),
                decides=False,
            )
        yield Irregularity(
            tag="boundary-question",
            rows=2,
            put=lambda dice, row, concern=concern: only(
                dice, row, line(dice, concern, question_from(row, concern))
            ),
            takes=(_score_taken(concern, question_from, 0),),
            decides=False,
        )
        yield Irregularity(
            tag="boundary-question",
            rows=3,
            put=_all_low,
            takes=(_score_taken(concern, question_from, STEP),),
            decides=False,
        )
    for audience, tag in (("made for children", "for-children"), ("adults", "for-adults")):
        yield Irregularity(
            tag=tag,
            rows=12 if audience != "adults" else 6,
            put=lambda dice, row, audience=audience: row | {"audience": audience},
            takes=(
                lambda row, audience=audience: (
                    row | {"audience": "everyone"} if row["audience"] == audience else None
                ),
            ),
        )
    for audience, concerns, change in (
        *(
            ("made for children", (one,), -POLICY["EARLIER_FOR_CHILDREN"])
            for one in sorted(POLICY["WATCHED_BY_CHILDREN"])
        ),
        ("adults", ("NUDITY",), POLICY["NUDITY_AMONG_ADULTS"] - LIMITS["NUDITY"][0]),
    ):
        for below in (0, 1):
            yield Irregularity(
                tag="boundary-audience",
                rows=2,
                put=lambda dice, row, audience=audience, concerns=concerns, change=change, below=below: (
                    only(
                        dice,
                        row,
                        line(dice, one := dice.pick(concerns), LIMITS[one][0] + change - below),
                    )
                    | {
                        "audience": audience,
                        "_file": row["_file"] | {"unreadable_frames": 0},
                    }
                ),
                takes=tuple(_score_taken(one, question_from, below, audience) for one in concerns),
                decides=False,
            )
    yield Irregularity(
        tag="gap",
        rows=4,
        put=lambda dice, row: (
            only(
                dice,
                file_with(row, unreadable_frames=dice.pick((1, dice.between(2, 18)))),
                line(dice, one := dice.pick(CONCERNS), LIMITS[one][0] - dice.between(1, 40)),
            )
            | {"audience": "everyone"}
        ),
        takes=(lambda row: file_with(row, unreadable_frames=0),),
        decides=False,
    )
    for below in (0, 1):
        yield Irregularity(
            tag="boundary-gap",
            rows=3,
            put=lambda dice, row, below=below: (
                only(
                    dice,
                    file_with(row, unreadable_frames=dice.pick((1, dice.between(2, 18)))),
                    line(
                        dice,
                        one := dice.pick(CONCERNS),
                        LIMITS[one][0] - POLICY["EARLIER_WITH_A_GAP"] - below,
                    ),
                )
                | {"audience": "everyone"}
            ),
            takes=tuple(_score_taken(one, question_from, below, with_gap=True) for one in CONCERNS),
            decides=False,
        )
    yield Irregularity(
        tag="minors-first",
        rows=3,
        put=lambda dice, row: only(
            dice,
            row,
            line(dice, "MINORS", dice.between(160, 680)),
            line(dice, one := dice.pick(CONCERNS[1:]), dice.between(LIMITS[one][1], 999)),
        ),
        takes=(
            lambda row: (
                record_with(row, lines=[one for one in lines_of(row) if one["concern"] != "MINORS"])
                if _has_settled(row)
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="settled-first",
        rows=5,
        put=lambda dice, row: only(
            dice,
            row,
            line(
                dice,
                one := CONCERNS[dice.between(1, 4)],
                dice.between(LIMITS[one][0] + 20, LIMITS[one][1] - 10),
            ),
            line(
                dice,
                two := CONCERNS[dice.between(CONCERNS.index(one) + 1, 5)],
                dice.between(LIMITS[two][1], 999),
            ),
        ),
        takes=(_settled_are_not,),
        decides=False,
    )
    yield Irregularity(
        tag="several-in-question",
        rows=4,
        put=lambda dice, row: only(
            dice,
            row,
            *(
                line(dice, one, dice.between(LIMITS[one][0] + 20, LIMITS[one][1] - 10))
                for one in dice.shuffled(CONCERNS[1:])[:2]
            ),
        ),
        takes=(_highest_is_not,),
        decides=False,
    )
    yield Irregularity(
        tag="settled",
        rows=14,
        put=lambda dice, row: only(
            dice,
            row,
            line(dice, one := dice.pick(CONCERNS), dice.between(LIMITS[one][1] + 1, 999)),
        ),
        takes=(_settled_are_not,),
        decides=False,
    )
    yield Irregularity(
        tag="clear",
        rows=6,
        put=lambda dice, row: record_with(row, lines=lines_of(row)[1:]),
        takes=(
            lambda row: (
                record_with(row, lines=[*lines_of(row), _line("HATE", 990)])
                if lines_of(row) and not any(_in_question(row, one) for one in CONCERNS)
                else None
            ),
        ),
        decides=False,
    )
    yield Irregularity(
        tag="newsroom-asked",
        rows=5,
        put=lambda dice, row: _for_newsroom(dice, row),
        takes=(
            lambda row: (
                row | {"channel_kind": "ordinary"} if row["channel_kind"] == "newsroom" else None
            ),
        ),
        decides=False,
    )


def _all_low(dice: Dice, row: Row) -> Row:
    """Every concern just below where it would be in question."""
    lines = [line(dice, one, question_from(row, one) - STEP) for one in CONCERNS]
    return record_with(row, lines=dice.shuffled(lines)) | {"edited_on": None}


def _line(concern: str, score: int) -> Row:
    return {"concern": concern, "score": score, "seconds": 5, "state": "live"}


def _for_newsroom(dice: Dice, row: Row) -> Row:
    concern = dice.pick(("HATE", "VIOLENCE"))
    score = dice.between(LIMITS[concern][1], 999)
    file = row["_file"] | {"container": "mp4"}
    return only(dice, row, line(dice, concern, score)) | {
        "channel_kind": "newsroom",
        "_file": file,
    }


def _in_question(row: Row, concern: str) -> bool:
    return bool(live(row, concern)) and score_of(row, concern) >= question_from(row, concern)


def _has_settled(row: Row) -> bool:
    return any(score_of(row, one) >= LIMITS[one][1] for one in CONCERNS[1:])


def _score_taken(
    concern: str,
    limit: Callable[[Row, str], int],
    below: float,
    audience: str | None = None,
    *,
    with_gap: bool = False,
) -> Take:
    """The score at its limit goes below it, or one below goes up to it."""

    def take(row: Row) -> Row | None:
        if audience not in (None, row["audience"]) or row["_record"] is None:
            return None
        if with_gap and not row["_file"]["unreadable_frames"]:
            return None
        score = limit(row, concern) - below
        if score_of(row, concern) != score:
            return None
        moved = limit(row, concern) - (0 if below else STEP)
        return record_with(
            row,
            lines=[
                one | {"score": moved}
                if (one["concern"], one["score"], one["state"]) == (concern, score, "live")
                else one
                for one in lines_of(row)
            ],
        )

    return take


def _settled_are_not(row: Row) -> Row | None:
    if not _has_settled(row):
        return None
    return record_with(
        row,
        lines=[
            one | {"score": min(one["score"], LIMITS[one["concern"]][1] - 1)}
            for one in lines_of(row)
        ],
    )


def _highest_is_not(row: Row) -> Row | None:
    asked = [one for one in CONCERNS if _in_question(row, one)]
    if len(asked) < 2 or _has_settled(row) or asked[0] == "MINORS":  # noqa: PLR2004 - several
        return None
    return record_with(row, lines=[one for one in lines_of(row) if one["concern"] != asked[0]])


# --- the people ------------------------------------------------------------------------------


def _people() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="second-list",
        rows=5,
        put=lambda dice, row: (
            everybody(leading(dice, row, *BY_EYE), own(row), seat=dice.pick(("away", "training")))
            if own(row) != "en"
            else row
        ),
        takes=(lambda row: everybody(row, "en", seat="away") if _lists(row) > 1 else None,),
    )
    yield Irregularity(
        tag="no-second-list",
        rows=4,
        put=lambda dice, row: everybody(
            leading(dice, row, *IN_WORDS), own(row), grade=1, open_slips=dice.between(0, 9)
        ),
        takes=(
            lambda row: everybody(row, **EASY) if _lists(row) == 1 and not asked_of(row) else None,
        ),
        decides=False,
    )
    yield Irregularity(
        tag="no-second-list",
        rows=3,
        put=_english_and_away,
        takes=(
            lambda row: (
                everybody(row, **EASY)
                if own(row) == "en" and _lists(row) == 1 and not asked_of(row)
                else None
            ),
        ),
        decides=False,
    )
    yield Irregularity(
        tag="nobody-left",
        rows=4,
        put=lambda dice, row: everybody(
            leading(dice, row, *BY_EYE), open_slips=dice.between(12, 17)
        ),
        takes=(lambda row: everybody(row, **EASY) if _lists(row) and not asked_of(row) else None,),
        decides=False,
    )
    for tag in ("away", "full-table", "permit-ended", "region-unknown"):
        yield Irregularity(
            tag=tag,
            rows=5,
            put=lambda dice, row, tag=tag: _first_is_not(dice, row, tag),
            takes=(lambda row, tag=tag: _first_is(row, tag),),
            decides=False,
        )
    yield Irregularity(
        tag="region-unknown",
        rows=4,
        put=lambda dice, row: everybody(
            leading(dice, row, *IN_WORDS),
            regions_known=[one for one in REGIONS if one != row["region"]],
            seat="desk",
        ),
        takes=(
            lambda row: (
                _first_is(row, "region-unknown") if _lists(row) and not asked_of(row) else None
            ),
        ),
        decides=False,
    )
    for grade, concern in (
        (2, "MINORS"),
        *((grade, concern) for concern in IN_WORDS for grade in (1, 2)),
    ):
        yield Irregularity(
            tag="grade",
            rows=3,
            put=lambda dice, row, grade=grade, concern=concern: _easiest(
                leading(dice, row, concern), grade=grade
            ),
            takes=(
                lambda row, grade=grade, concern=concern: _graded(row, grade, 3)
                if outcome(row).answer["tag"] == concern
                else None,
                lambda row, grade=grade, concern=concern: _graded(row, grade, 1)
                if outcome(row).answer["tag"] == concern
                else None,
            ),
            decides=False,
        )
    for slips, other in ((11, 12), (12, 11)):
        yield Irregularity(
            tag="boundary-slips",
            rows=3,
            put=lambda dice, row, slips=slips: _easiest(
                everybody(row, open_slips=dice.between(12, 16)), open_slips=slips
            ),
            takes=(
                lambda row, slips=slips, other=other: (
                    row
                    | {
                        "moderators": [
                            one | {"open_slips": other} if one["open_slips"] == slips else one
                            for one in row["moderators"]
                        ]
                    }
                ),
            ),
            decides=False,
        )
    for days, other in ((0, -1), (-1, 0)):
        yield Irregularity(
            tag="boundary-permit",
            rows=3,
            put=lambda dice, row, days=days: _easiest(row, permit_until=day(row, days)),
            takes=(
                lambda row, days=days, other=other: (
                    row
                    | {
                        "moderators": [
                            one | {"permit_until": day(row, other)}
                            if one["permit_until"] == day(row, days)
                            else one
                            for one in row["moderators"]
                        ]
                    }
                ),
            ),
            decides=False,
        )
    yield Irregularity(
        tag="region-first",
        rows=5,
        put=lambda dice, row: leading(dice, row, *BY_EYE),
        takes=(lambda row: everybody(row, regions_known=list(REGIONS)) if _by_eye(row) else None,),
        decides=False,
    )
    yield Irregularity(
        tag="equal-slips",
        rows=5,
        put=lambda dice, row: everybody(
            row, open_slips=dice.between(0, 8), regions_known=list(REGIONS)
        ),
        takes=(_numbers_turned,),
        decides=False,
    )


def _english_and_away(dice: Dice, row: Row) -> Row:
    people = [one | {"reads": "en"} for one in row["moderators"] if one["reads"] == own(row)]
    made = leading(dice, row | {"moderators": people}, *BY_EYE)
    return everybody(made, seat="away") | {"language": dice.pick(("en", "en-GB"))}


def _lists(row: Row) -> int:
    return sum(one["name"] == "search_moderators" for one in outcome(row).calls)


def _by_eye(row: Row) -> bool:
    return lead_of(row) in BY_EYE


def _easiest(row: Row, **cells: Any) -> Row:
    """One of those who read the language would come first, if it were not for these cells."""
    first, *rest = row["moderators"]
    return row | {"moderators": [*rest, first | EASY | cells]}


def _first_is_not(dice: Dice, row: Row, tag: str) -> Row:
    cells: Mapping[str, Row] = {
        "away": {"seat": dice.pick(("away", "training"))},
        "full-table": {"open_slips": dice.between(12, 15)},
        "permit-ended": {"permit_until": day(row, -dice.between(2, 50))},
        "region-unknown": {
            "regions_known": [one for one in REGIONS if one != row["region"] and dice.below(2)]
        },
    }
    made = leading(dice, row, *IN_WORDS) if tag == "region-unknown" else row
    return _easiest(made, **cells[tag])


def _first_is(row: Row, tag: str) -> Row | None:
    if tag == "full-table":
        people = [
            one | {"open_slips": 0} if one["open_slips"] >= POLICY["FULL_TABLE"] else one
            for one in row["moderators"]
        ]
        return row | {"moderators": people}
    if tag == "region-unknown" and outcome(row).answer["tag"] not in IN_WORDS:
        return None
    name = {"away": "seat", "permit-ended": "permit_until", "region-unknown": "regions_known"}[tag]
    return everybody(row, **{name: EASY[name]})


def _graded(row: Row, grade: int, other: int) -> Row:
    return row | {
        "moderators": [
            one | {"grade": other} if one["grade"] == grade else one for one in row["moderators"]
        ]
    }


def _numbers_turned(row: Row) -> Row:
    """The lowest number becomes the highest; answers go with the people."""

    def turned(number: str) -> str:
        return f"M-{999 - int(number[2:])}"

    made = row | {
        name: [one | {"moderator_id": turned(one["moderator_id"])} for one in row[name]]
        for name in ("moderators", "answers")
    }
    asked = [person for person, _ in asked_in(worked(made))]
    return None if asked == [turned(person) for person, _ in asked_of(row)] else made


# --- the notes -------------------------------------------------------------------------------


def _notes() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="passed-on",
        rows=6,
        put=lambda dice, row: wishing(_more(row), None, serves),
        takes=(
            lambda row: (
                all_pass(row, but_first=True)
                if len(asked_of(row)) > 1 and len(heard(row)) == 1
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="nobody-looked",
        rows=5,
        put=lambda dice, row: wishing(
            _more(row), dice.pick((None, _unseen)), dice.pick((None, _unseen))
        ),
        takes=(
            lambda row: (
                row
                | {"answers": [one | {"answer": "note", "note": _PLAIN} for one in row["answers"]]}
                if asked_of(row) and outcome(row).answer["final_decision"] == "HOLD"
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="not-watched",
        rows=6,
        put=lambda dice, row: wishing(_more(row), _unseen, serves),
        takes=(
            lambda row: (
                first_said_otherwise(row, watched="all")
                if heard(row) and READINGS[heard(row)[0]]["watched"] == "nothing"
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="no-language",
        rows=5,
        put=lambda dice, row: wishing(
            _more(leading(dice, row, *IN_WORDS)), lambda said: bool(said.get("no_words")), serves
        ),
        takes=(lambda row: first_said_otherwise(row, no_words=None),),
    )
    yield Irregularity(
        tag="no-language-needed",
        rows=3,
        put=lambda dice, row: wishing(
            leading(dice, row, "MINORS", "NUDITY", "DANGER"),
            lambda said: bool(said.get("no_words")),
        ),
        takes=(
            lambda row: (
                first_said_otherwise(row, watched="nothing")
                if heard(row) and READINGS[heard(row)[0]].get("no_words")
                else None
            ),
        ),
        decides=False,
    )
    for low, high, other in ((-150, -20, "not there"), (-400, -151, "there")):
        yield Irregularity(
            tag="unsure",
            rows=6,
            put=lambda dice, row, low=low, high=high: wishing(
                _scored(dice, row, low, high),
                lambda said: said["says"] == "unsure" and serves(said),
            ),
            takes=(
                lambda row, other=other: (
                    said_otherwise(row, says=other)
                    if heard(row) and READINGS[heard(row)[-1]]["says"] == "unsure"
                    else None
                ),
            ),
        )
        yield Irregularity(
            tag="boundary-leaning",
            rows=4,
            put=lambda dice, row, exact=low if low == -150 else high: wishing(  # noqa: PLR2004
                _scored(dice, row, exact, exact),
                lambda said: (
                    serves(said)
                    and (said["says"] == "unsure" or says("not there", watched="part")(said))
                ),
            ),
            takes=(lambda row, step=-1 if low == -150 else 1: _lead_moved(row, step),),  # noqa: PLR2004
        )
    yield Irregularity(
        tag="unsure-and-old",
        rows=5,
        put=lambda dice, row: wishing(
            record_with(row, scored_on=day(row, -dice.between(46, 90))) | {"edited_on": None},
            lambda said: (
                serves(said)
                and (said["says"] == "unsure" or says("not there", watched="part")(said))
            ),
        ),
        takes=(lambda row: record_with(row, scored_on=day(row, -1)) | {"edited_on": None},),
    )
    yield Irregularity(
        tag="part",
        rows=6,
        put=lambda dice, row: wishing(
            _scored(dice, row, -150, -10), says("not there", watched="part")
        ),
        takes=(lambda row: said_otherwise(row, watched="all"),),
    )
    yield Irregularity(
        tag="not-there",
        rows=12,
        put=lambda dice, row: wishing(row, says("not there")),
        takes=(
            lambda row: (
                said_otherwise(row, says="there")
                if heard(row) and READINGS[heard(row)[-1]]["says"] == "not there"
                else None
            ),
        ),
    )
    for purpose in (True, False):
        yield Irregularity(
            tag="newsroom-number",
            rows=4,
            put=lambda dice, row, purpose=purpose: wishing(
                _for_newsroom(dice, row) | {"edited_on": None},
                lambda said: (
                    said["says"] == "not there"
                    and said["watched"] == "all"
                    and serves(said)
                    and "beside" not in said
                    and (("purpose" in said and not said.get("told")) is purpose)
                ),
            ),
            takes=(
                lambda row, purpose=purpose: _newsroom_note(
                    row, purpose=None if purpose else "reports", told=None
                ),
            ),
        )
    yield Irregularity(
        tag="newsroom-and-old",
        rows=3,
        put=lambda dice, row: wishing(
            record_with(_for_newsroom(dice, row), scored_on=day(row, -dice.between(46, 90)))
            | {"edited_on": None},
            says("not there"),
        ),
        takes=(
            lambda row: (
                record_with(row, scored_on=day(row, -1)) | {"edited_on": None}
                if _newsroom_note(row) and lead_of(row) in POLICY["ASKED_FOR_NEWSROOMS"]
                else None
            ),
        ),
    )
    for concern, purpose in POLICY["SOFTENED"]:
        yield Irregularity(
            tag="softened",
            rows=3,
            put=lambda dice, row, concern=concern, purpose=purpose: wishing(
                leading(dice, row, concern),
                lambda said: (
                    said["says"] != "not there"
                    and said.get("purpose") == purpose
                    and not said.get("told")
                    and "beside" not in said
                ),
            ),
            takes=(
                lambda row, concern=concern, purpose=purpose: (
                    said_otherwise(row, purpose=None)
                    if lead_of(row) == concern and purpose in _purposes(row)
                    else None
                ),
            ),
        )
    yield Irregularity(
        tag="told",
        rows=5,
        put=lambda dice, row: wishing(row, lambda said: bool(said.get("told"))),
        takes=(lambda row: said_otherwise(row, told=None),),
    )
    yield Irregularity(
        tag="another-purpose",
        rows=5,
        put=lambda dice, row: wishing(
            row,
            lambda said: (
                "purpose" in said
                and not said.get("told")
                and (said["about"], said["purpose"]) not in POLICY["SOFTENED"]
            ),
        ),
        takes=tuple(
            lambda row, purpose=purpose: (
                said_otherwise(row, purpose=purpose)
                if any((lead_of(row), one) not in POLICY["SOFTENED"] for one in _purposes(row))
                else None
            )
            for purpose in ("reports", "teaches", "acts")
        ),
    )
    yield Irregularity(
        tag="beside",
        rows=10,
        put=lambda dice, row: wishing(
            row, lambda said: bool("beside" in said and said.get("where"))
        ),
        takes=(lambda row: said_otherwise(row, beside=None),),
    )
    yield Irregularity(
        tag="beside-without-time",
        rows=4,
        put=lambda dice, row: wishing(
            row,
            lambda said: "beside" in said and not said.get("where") and said["beside"] != "MINORS",
        ),
        takes=(lambda row: said_otherwise(row, where=True),),
    )
    yield Irregularity(
        tag="minors-without-time",
        rows=4,
        put=lambda dice, row: wishing(
            row, lambda said: said.get("beside") == "MINORS" and not said.get("where")
        ),
        takes=(
            lambda row: (
                said_otherwise(row, beside="NUDITY")
                if any(READINGS[one].get("beside") == "MINORS" for one in heard(row)[-1:])
                and not any(READINGS[one].get("where") for one in heard(row)[-1:])
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="beside-is-not-softened",
        rows=3,
        put=lambda dice, row: wishing(
            leading(dice, row, "VIOLENCE"),
            lambda said: "beside" in said and "purpose" in said and bool(said.get("where")),
        ),
        takes=(lambda row: said_otherwise(row, beside=None) if _purposes(row) else None,),
    )
    for concern in ("DANGER", "VIOLENCE", "NUDITY", "DECEPTION"):
        yield Irregularity(
            tag="mistake",
            rows=2,
            put=lambda dice, row, concern=concern: wishing(
                _mistaken(dice, row, concern), lambda said: bool(said.get("mistake"))
            ),
            takes=(lambda row: said_otherwise(row, mistake=None),),
        )
    yield Irregularity(
        tag="mistake-without-strike",
        rows=3,
        put=lambda dice, row: wishing(
            leading(dice, row, "NUDITY", "VIOLENCE"), lambda said: bool(said.get("mistake"))
        ),
        takes=(
            lambda row: (
                row | {"audience": "made for children"}
                if outcome(row).answer["warning"] == "AGE_GATE"
                and any(READINGS[one].get("mistake") for one in heard(row)[-1:])
                else None
            ),
        ),
    )
    for concern in SERIOUS:
        yield Irregularity(
            tag="no-mercy",
            rows=3,
            put=lambda dice, row, concern=concern: wishing(
                leading(dice, row, concern), lambda said: bool(said.get("mistake"))
            ),
            takes=(
                lambda row, concern=concern: (
                    _about_another(row)
                    if lead_of(row) == concern
                    and any(READINGS[one].get("mistake") for one in heard(row)[-1:])
                    else None
                ),
            ),
        )


_PLAIN = next(text for text, said in READINGS.items() if says("there")(said))


def _unseen(said: Said) -> bool:
    return bool(said["watched"] == "nothing")


def _purposes(row: Row) -> list[str]:
    """What for, by the last note."""
    return [READINGS[one]["purpose"] for one in heard(row)[-1:] if "purpose" in READINGS[one]]


def _newsroom_note(row: Row, **cells: Any) -> Row | None:
    if row["channel_kind"] != "newsroom" or not _has_settled(row):
        return None
    if not heard(row) or READINGS[heard(row)[-1]]["says"] != "not there":
        return None
    return said_otherwise(row, **cells)


def _about_another(row: Row) -> Row | None:
    """The same note, were another concern the tag."""
    return said_otherwise(row, says="not there", beside="DANGER", where=True)


def _mistaken(dice: Dice, row: Row, concern: str) -> Row:
    made = leading(dice, row, concern)
    if concern == "VIOLENCE":
        lines = [
            one | {"seconds": one["seconds"] + 61} if one["concern"] == concern else one
            for one in lines_of(made)
        ]
        return record_with(made, lines=lines)
    return made if concern == "DANGER" else made | {"audience": "made for children"}


def _more(row: Row) -> Row:
    """Two of those who read the language may be asked about anything."""
    first, second, *rest = row["moderators"]
    return row | {
        "moderators": [*rest, first | EASY | {"open_slips": 3}, second | EASY | {"open_slips": 5}]
    }


def _scored(dice: Dice, row: Row, low: int, high: int) -> Row:
    """A concern whose score lies so far from where it would be settled."""
    fitting = [one for one in CONCERNS if LIMITS[one][1] + high >= LIMITS[one][0]]
    concern = dice.pick(fitting)
    first, second = LIMITS[concern]
    score = dice.between(max(first, second + low), second + high)
    return only(dice, row, line(dice, concern, score)) | {"edited_on": None}


def _lead_moved(row: Row, step: int) -> Row | None:
    lead = lead_of(row)
    if lead is None or score_of(row, lead) != LIMITS[lead][1] - 150 - (step > 0):
        return None
    return record_with(
        row,
        lines=[
            one | {"score": one["score"] + step} if one["concern"] == lead else one
            for one in lines_of(row)
        ],
    )


# --- what comes of it ------------------------------------------------------------------------


def _outcomes() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="long-violence",
        rows=4,
        put=lambda dice, row: _violent(dice, row, dice.between(62, 300)),
        takes=(lambda row: _seconds(row, 5) if _violence(row) > 60 else None,),  # noqa: PLR2004
    )
    for seconds, other in ((60, 61), (61, 60)):
        yield Irregularity(
            tag="boundary-violence",
            rows=3,
            put=lambda dice, row, seconds=seconds: _violent(dice, row, seconds),
            takes=(
                lambda row, seconds=seconds, other=other: (
                    _seconds(row, other) if _violence(row) == seconds else None
                ),
            ),
        )
    yield Irregularity(
        tag="nudity-among-adults",
        rows=5,
        put=lambda dice, row: (
            only(dice, row, line(dice, "NUDITY", dice.between(700, 999))) | {"audience": "adults"}
        ),
        takes=(
            lambda row: (
                row | {"audience": "everyone"}
                if row["audience"] == "adults" and outcome(row).answer["tag"] == "NUDITY"
                else None
            ),
        ),
    )
    yield Irregularity(
        tag="sealed",
        rows=14,
        put=lambda dice, row: row | {"register": "sealed"},
        takes=(lambda row: row | {"register": "entered"},),
    )


def _violent(dice: Dice, row: Row, seconds: int) -> Row:
    """Violence that is settled or in question, its seconds in one line or in two."""
    score = dice.between(700, 999)
    first = dice.pick((seconds, dice.between(1, seconds - 1)))
    lines = [line(dice, "VIOLENCE", score, seconds=first)]
    if first < seconds:
        lines.append(line(dice, "VIOLENCE", dice.between(5, score), seconds=seconds - first))
    return only(dice, row, *lines)


def _violence(row: Row) -> int:
    return sum(one["seconds"] for one in live(row, "VIOLENCE"))


def _seconds(row: Row, seconds: int) -> Row:
    others = [one for one in lines_of(row) if one["concern"] != "VIOLENCE"]
    return record_with(
        row,
        lines=[*others, line_of_all(row, seconds)],
    )


def line_of_all(row: Row, seconds: int) -> Row:
    return _line("VIOLENCE", score_of(row, "VIOLENCE")) | {"seconds": seconds}


def irregularities() -> Iterator[Irregularity]:
    yield from _file()
    yield from _record()
    yield from _limits()
    yield from _people()
    yield from _notes()
    yield from _outcomes()
