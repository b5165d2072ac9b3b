"""What may be irregular about a record, and scores at each of the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from bundled_domains.generator import Dice

from .changes import (
    STEP,
    Irregularity,
    Take,
    age_of,
    aged,
    between,
    file_with,
    for_newsroom,
    fresh,
    has_settled,
    high,
    in_question,
    lead_of,
    lines_of,
    only,
    plain_line,
    question_from,
    record_with,
    score_of,
)
from .uploads import CONCERNS, LIMITS, POLICY, Row, asked_in, day, line, record_cells, worked

Limit: TypeAlias = Callable[[Row, str], int]
OLD: int = POLICY["OLD_DAYS"]


def record_cases() -> Iterator[Irregularity]:
    """Records that are missing, old, or have lines that do not count alone."""
    yield Irregularity(
        tag="no-record",
        rows=4,
        put=lambda _, row: row | {"_record": None},
        take=lambda row: (
            row | {"_record": {"scored_on": row["desk_day"], "scale": 100, "lines": []}}
            if row["_record"] is None
            else None
        ),
    )
    yield Irregularity(
        tag="void-line",
        rows=6,
        put=_void_line,
        take=lambda row: record_with(row, lines=[one | {"state": "live"} for one in lines_of(row)]),
    )
    yield from (_several_scenes(turned=turned) for turned in (True, False))
    yield from _old_ones()
    yield from _old_and_low()


def _void_line(dice: Dice, row: Row) -> Row:
    concern = dice.pick(CONCERNS)
    void = line(dice, concern, high(dice, concern), state="void")
    return record_with(row, lines=dice.shuffled([*lines_of(row), void]))


def _several_scenes(*, turned: bool) -> Irregularity:
    """A second and lower line of what is there; one would rely on the first or on the last."""

    def put(dice: Dice, row: Row) -> Row:
        lines = lines_of(row)
        more = [one | {"score": one["score"] * dice.between(2, 9) // 10} for one in lines[:2]]
        return record_with(row, lines=dice.shuffled([*lines, *more]))

    def take(row: Row) -> Row:
        lines = lines_of(row)[:: -1 if turned else 1]
        return record_with(row, lines=list({one["concern"]: one for one in lines}.values()))

    return Irregularity(tag="several-scenes", put=put, take=take)


def _old_ones() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="old-cut",
        rows=8,
        put=lambda dice, row: (
            _perhaps_settled(dice, row)
            | {"edited_on": day(row, -age_of(row) + dice.between(1, max(1, age_of(row))))}
        ),
        take=lambda row: row | {"edited_on": None},
        decides=False,
    )
    yield Irregularity(
        tag="cut-that-day",
        put=lambda _, row: row | {"edited_on": day(row, -age_of(row))},
        take=lambda row: (
            row | {"edited_on": day(row, 1 - age_of(row))}
            if row["edited_on"] == day(row, -age_of(row))
            else None
        ),
        decides=False,
    )
    yield Irregularity(
        tag="old-by-age",
        rows=5,
        put=lambda dice, row: aged(_perhaps_settled(dice, row), dice.between(OLD + 2, 200)),
        take=lambda row: record_with(row, scored_on=day(row, -1)),
        decides=False,
    )
    yield from (_age(*both) for both in ((OLD, OLD + 1), (OLD + 1, OLD)))


def _perhaps_settled(dice: Dice, row: Row) -> Row:
    concern = dice.pick(CONCERNS)
    if dice.below(2):
        return row
    return only(dice, row, line(dice, concern, high(dice, concern)))


def _age(days: int, other: int) -> Irregularity:
    return Irregularity(
        tag="boundary-old",
        put=lambda dice, row: aged(_perhaps_settled(dice, row), days),
        take=lambda row: (
            record_with(row, scored_on=day(row, -other)) if age_of(row) == days else None
        ),
        decides=False,
    )


def _old_and_low() -> Iterator[Irregularity]:
    """Somebody has to look, though nothing is in question."""

    def equal(dice: Dice, row: Row) -> Row:
        score = dice.between(40, 110)
        lines = [line(dice, one, score) for one in CONCERNS if dice.below(3)]
        return record_with(aged(row, dice.between(OLD + 2, 200)), lines=dice.shuffled(lines))

    def different(dice: Dice, row: Row) -> Row:
        lines = [line(dice, one, dice.between(20, 130)) for one in CONCERNS[2:]]
        return record_with(aged(row, dice.between(OLD + 2, 200)), lines=dice.shuffled(lines))

    def highest_is_low(row: Row) -> Row | None:
        lead = lead_of(row)
        if lead is None or any(in_question(row, one) for one in CONCERNS):
            return None
        others = [one for one in lines_of(row) if one["concern"] != lead]
        return record_with(row, lines=[*others, plain_line(lead, 1)])

    def without_live_line(dice: Dice, row: Row) -> Row:
        lines = [one | {"state": "void"} for one in lines_of(row)]
        return record_with(aged(row, dice.between(OLD + 2, 200)), lines=lines)

    yield Irregularity(tag="old-and-low", put=equal, take=fresh, decides=False)
    yield Irregularity(tag="old-and-low", rows=5, put=different, take=highest_is_low, decides=False)
    yield Irregularity(
        tag="old-and-empty",
        put=without_live_line,
        take=lambda row: (
            record_with(row, lines=[plain_line("DANGER", 10)])
            if row["_record"] and all(one["state"] == "void" for one in lines_of(row))
            else None
        ),
        decides=False,
    )


# --- limits ----------------------------------------------------------------------------------


def limit_cases() -> Iterator[Irregularity]:
    """Scores at every limit and just below it, and which of several concerns leads."""
    for concern in CONCERNS:
        yield from (_at_second(concern, below) for below in (0, STEP))
        yield from (_at_first(concern, below) for below in (0, STEP))
    yield from (_for_audience(one) for one in ("made for children", "adults"))
    for concern in sorted(POLICY["WATCHED_BY_CHILDREN"]):
        limit = LIMITS[concern][0] - 10 * POLICY["EARLIER_FOR_CHILDREN"]
        yield from (_at("made for children", concern, limit, below) for below in (0, STEP))
    for below in (0, STEP):
        yield _at("adults", "NUDITY", 10 * POLICY["NUDITY_AMONG_ADULTS"], below)
        yield _with_gap(below)
    yield Irregularity(
        tag="gap",
        rows=4,
        put=lambda dice, row: _gap(dice, row, dice.between(1, 40)),
        take=lambda row: file_with(row, unreadable_frames=0),
        decides=False,
    )
    yield from _leads()
    yield Irregularity(
        tag="clear",
        rows=5,
        put=lambda _, row: record_with(row, lines=lines_of(row)[1:]),
        take=lambda row: (
            record_with(row, lines=[*lines_of(row), plain_line("HATE", 990)])
            if lines_of(row) and not any(in_question(row, one) for one in CONCERNS)
            else None
        ),
        decides=False,
    )
    yield Irregularity(
        tag="newsroom-asked",
        rows=5,
        put=for_newsroom,
        take=lambda row: (
            row | {"channel_kind": "ordinary"} if row["channel_kind"] == "newsroom" else None
        ),
        decides=False,
    )
    yield Irregularity(
        tag="newsroom-not-asked",
        put=_other_for_newsroom,
        take=lambda row: (
            record_with(row, lines=[plain_line("HATE", 990)])
            if row["channel_kind"] == "newsroom" and has_settled(row) and lead_of(row) is None
            else None
        ),
        decides=False,
    )


def _other_for_newsroom(dice: Dice, row: Row) -> Row:
    """A concern that is settled for a newsroom as well."""
    concern = dice.pick([one for one in CONCERNS if one not in POLICY["ASKED_FOR_NEWSROOMS"]])
    made = only(dice, row, line(dice, concern, high(dice, concern)))
    return file_with(made, container="mp4") | {"channel_kind": "newsroom"}


def _second(_: Row, concern: str) -> int:
    return LIMITS[concern][1]


def _at_second(concern: str, below: float) -> Irregularity:
    return Irregularity(
        tag="boundary-settled",
        rows=2,
        put=lambda dice, row: only(dice, row, line(dice, concern, LIMITS[concern][1] - below)),
        take=_turned(concern, _second, below),
        decides=False,
    )


def _at_first(concern: str, below: float) -> Irregularity:
    """Just below it, all concerns are at once, so that nothing is in question."""

    def put(dice: Dice, row: Row) -> Row:
        concerns = CONCERNS if below else (concern,)
        lines = [line(dice, one, question_from(row, one) - below) for one in concerns]
        return only(dice, row, *lines) | ({"edited_on": None} if below else {})

    return Irregularity(
        tag="boundary-question",
        rows=2,
        put=put,
        take=_turned(concern, question_from, below),
        decides=False,
    )


def _for_audience(audience: str) -> Irregularity:
    return Irregularity(
        tag="for-adults" if audience == "adults" else "for-children",
        rows=6,
        put=lambda _, row: row | {"audience": audience},
        take=lambda row: row | {"audience": "everyone"} if row["audience"] == audience else None,
    )


def _at(audience: str, concern: str, limit: int, below: float) -> Irregularity:
    def take(row: Row) -> Row | None:
        there = row["audience"] == audience and not row["_file"]["unreadable_frames"]
        return _turned(concern, question_from, below)(row) if there else None

    return Irregularity(
        tag="boundary-audience",
        rows=2,
        put=lambda dice, row: (
            file_with(only(dice, row, line(dice, concern, limit - below)), unreadable_frames=0)
            | {"audience": audience}
        ),
        take=take,
        decides=False,
    )


def _gap(dice: Dice, row: Row, below: float) -> Row:
    """A few frames cannot be read, and a score lies so far below the limit of the table."""
    concern = dice.pick(CONCERNS)
    made = file_with(row, unreadable_frames=dice.pick((1, dice.between(2, 18))))
    score = LIMITS[concern][0] - below
    return only(dice, made, line(dice, concern, score)) | {"audience": "everyone"}


def _with_gap(below: float) -> Irregularity:
    def take(row: Row) -> Row | None:
        if not row["_file"]["unreadable_frames"]:
            return None
        turned = (_turned(one, question_from, below)(row) for one in CONCERNS)
        return next((one for one in turned if one is not None), None)

    return Irregularity(
        tag="boundary-gap",
        put=lambda dice, row: _gap(dice, row, 10 * POLICY["EARLIER_WITH_A_GAP"] + below),
        take=take,
        decides=False,
    )


def _turned(concern: str, limit: Limit, below: float) -> Take:
    """A score at its limit goes below it, and one that is just below goes up to it."""

    def take(row: Row) -> Row | None:
        score = limit(row, concern) - below
        if score_of(row, concern) != score:
            return None
        moved = limit(row, concern) - (0 if below else STEP)
        there = (concern, score, "live")
        lines = [
            one | {"score": moved} if (one["concern"], one["score"], one["state"]) == there else one
            for one in lines_of(row)
        ]
        return record_with(row, lines=lines)

    return take


def _leads() -> Iterator[Irregularity]:
    """Several concerns at once, of which one leads."""

    def minors(dice: Dice, row: Row) -> Row:
        other = dice.pick(CONCERNS[1:])
        child = line(dice, "MINORS", dice.between(160, 680))
        return only(dice, row, child, line(dice, other, high(dice, other)))

    def settled(dice: Dice, row: Row) -> Row:
        place = dice.between(1, 4)
        upper, lower = CONCERNS[place], CONCERNS[dice.between(place + 1, 5)]
        lines = (line(dice, upper, between(dice, upper)), line(dice, lower, high(dice, lower)))
        return only(dice, row, *lines)

    def in_question_both(dice: Dice, row: Row) -> Row:
        concerns: Sequence[str] = dice.shuffled(CONCERNS[1:])[:2]
        return only(dice, row, *(line(dice, one, between(dice, one)) for one in concerns))

    def one_settled(dice: Dice, row: Row) -> Row:
        concern = dice.pick(CONCERNS)
        return only(dice, row, line(dice, concern, high(dice, concern)))

    yield Irregularity(tag="minors-first", put=minors, take=_without_minors)
    yield Irregularity(
        tag="settled-first", rows=5, put=settled, take=_settled_are_not, decides=False
    )
    yield Irregularity(
        tag="several-in-question",
        rows=4,
        put=in_question_both,
        take=_highest_is_not,
        decides=False,
    )
    yield Irregularity(
        tag="settled", rows=10, put=one_settled, take=_settled_are_not, decides=False
    )


def _without_minors(row: Row) -> Row | None:
    others = [one for one in lines_of(row) if one["concern"] != "MINORS"]
    made = record_with(row, lines=others)
    # The other one would be settled, and nobody asked.
    asked = asked_in(worked(made | record_cells(made)))
    return made if lead_of(row) == "MINORS" and has_settled(row) and not asked else None


def _settled_are_not(row: Row) -> Row | None:
    if not has_settled(row):
        return None
    lines = [
        one | {"score": min(one["score"], LIMITS[one["concern"]][1] - 1)} for one in lines_of(row)
    ]
    return record_with(row, lines=lines)


def _highest_is_not(row: Row) -> Row | None:
    asked = [one for one in CONCERNS if in_question(row, one)]
    if len(asked) < 2 or has_settled(row) or asked[0] == "MINORS":  # noqa: PLR2004 - several
        return None
    return record_with(row, lines=[one for one in lines_of(row) if one["concern"] != asked[0]])
