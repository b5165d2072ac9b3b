"""What a note may say, and what comes of a concern that stands."""

from __future__ import annotations

from collections.abc import Iterator

from bundled_domains.generator import Dice

from .changes import (
    IN_WORDS,
    Irregularity,
    Put,
    Said,
    aged,
    first_note,
    for_newsroom,
    fresh,
    has_settled,
    last_note,
    lead_of,
    leading,
    lines_of,
    live,
    only,
    plain_line,
    record_with,
    said_otherwise,
    says,
    score_of,
    serves,
    wishing,
)
from .uploads import (
    CONCERNS,
    EASY,
    LIMITS,
    POLICY,
    READINGS,
    Row,
    Wish,
    asked_of,
    heard,
    line,
    outcome,
)

LEANING: int = 10 * POLICY["LEANING"]
LONG: int = POLICY["LONG_VIOLENCE"]
PLAIN = next(text for text, said in READINGS.items() if says("there")(said))


def note_cases() -> Iterator[Irregularity]:
    """Notes that do not serve, doubts, purposes, other concerns, and mistakes."""
    yield from _without_note()
    yield from _doubts()
    yield Irregularity(
        tag="not-there",
        rows=10,
        put=lambda _, row: wishing(row, says("not there")),
        take=lambda row: (
            said_otherwise(row, says="there") if last_note(row).get("says") == "not there" else None
        ),
    )
    yield from _newsrooms()
    yield from _purposes()
    yield from _beside()
    yield from _mistakes()


def _unseen(said: Said) -> bool:
    return bool(said["watched"] == "nothing")


def _no_words(said: Said) -> bool:
    return bool(said.get("no_words"))


def _doubtful(said: Said) -> bool:
    """Articles 44 and 45."""
    return serves(said) and (said["says"] == "unsure" or says("not there", watched="part")(said))


def _mistaken(said: Said) -> bool:
    return bool(said.get("mistake"))


def _two_may_be_asked(row: Row) -> Row:
    """Two of those who read the language, about anything."""
    first, second, *rest = row["moderators"]
    easy = [one | EASY | {"open_slips": 3 + place} for place, one in enumerate((first, second))]
    return row | {"moderators": [*rest, *easy]}


def _without_note() -> Iterator[Irregularity]:
    def second_passes(row: Row) -> Row | None:
        asked = [person for person, _ in asked_of(row)]
        if len(asked) != 2 or len(heard(row)) != 1:  # noqa: PLR2004 - the second one answered
            return None
        answers = [
            one | {"answer": "passed"} if one["moderator_id"] == asked[1] else one
            for one in row["answers"]
        ]
        return row | {"answers": answers}

    def all_answer(row: Row) -> Row | None:
        if not asked_of(row) or outcome(row).answer["final_decision"] != "HOLD":
            return None
        answers = [one | {"answer": "note", "note": PLAIN} for one in row["answers"]]
        return row | {"answers": answers}

    yield Irregularity(
        tag="passed-on",
        rows=6,
        put=lambda _, row: wishing(_two_may_be_asked(row), None, serves),
        take=second_passes,
    )
    yield Irregularity(
        tag="nobody-looked",
        rows=5,
        put=lambda dice, row: wishing(
            _two_may_be_asked(row), dice.pick((None, _unseen)), dice.pick((None, _unseen))
        ),
        take=all_answer,
    )
    yield Irregularity(
        tag="not-watched",
        rows=6,
        put=lambda _, row: wishing(_two_may_be_asked(row), _unseen, serves),
        take=lambda row: (
            said_otherwise(row, last=False, watched="all")
            if first_note(row).get("watched") == "nothing"
            else None
        ),
    )
    yield Irregularity(
        tag="no-language",
        rows=5,
        put=lambda dice, row: wishing(
            _two_may_be_asked(leading(dice, row, *IN_WORDS)), _no_words, serves
        ),
        take=lambda row: said_otherwise(row, last=False, no_words=None),
    )
    yield Irregularity(
        tag="no-language-needed",
        put=lambda dice, row: wishing(leading(dice, row, "MINORS", "NUDITY", "DANGER"), _no_words),
        take=lambda row: (
            said_otherwise(row, last=False, watched="nothing")
            if _no_words(first_note(row))
            else None
        ),
        decides=False,
    )


def _doubts() -> Iterator[Irregularity]:
    def unsure(said: Said) -> bool:
        return said["says"] == "unsure" and serves(said)

    yield from (
        _doubt(unsure, low, high, other)
        for low, high, other in ((-LEANING, -20, "not there"), (-400, -LEANING - 1, "there"))
    )
    yield from (_leaning(below) for below in (0, 1))
    yield Irregularity(
        tag="unsure-and-old",
        rows=5,
        put=lambda dice, row: wishing(
            aged(row, dice.between(POLICY["OLD_DAYS"] + 1, 90)), _doubtful
        ),
        take=fresh,
    )
    yield Irregularity(
        tag="part",
        rows=6,
        put=lambda dice, row: wishing(
            _scored(dice, row, -LEANING, -10), says("not there", watched="part")
        ),
        take=lambda row: said_otherwise(row, watched="all"),
    )


def _doubt(wish: Wish, low: int, high: int, other: str) -> Irregularity:
    return Irregularity(
        tag="unsure",
        rows=6,
        put=lambda dice, row: wishing(_scored(dice, row, low, high), wish),
        take=lambda row: (
            said_otherwise(row, says=other) if last_note(row).get("says") == "unsure" else None
        ),
    )


def _scored(dice: Dice, row: Row, low: int, high: int) -> Row:
    """A concern whose score lies so far from where it would be settled."""
    concern = dice.pick([one for one in CONCERNS if LIMITS[one][1] + high >= LIMITS[one][0]])
    first, second = LIMITS[concern]
    score = dice.between(max(first, second + low), second + high)
    return only(dice, row, line(dice, concern, score)) | {"edited_on": None}


def _leaning(below: int) -> Irregularity:
    """Just as far from being settled as a doubtful concern may be, or a thousandth farther."""

    def take(row: Row) -> Row | None:
        lead = lead_of(row)
        if lead is None or score_of(row, lead) != LIMITS[lead][1] - LEANING - below:
            return None
        step = 1 if below else -1
        lines = [
            one | {"score": one["score"] + step} if one["concern"] == lead else one
            for one in lines_of(row)
        ]
        return record_with(row, lines=lines)

    far = -LEANING - below
    return Irregularity(
        tag="boundary-leaning",
        rows=4,
        put=lambda dice, row: wishing(_scored(dice, row, far, far), _doubtful),
        take=take,
    )


def _newsrooms() -> Iterator[Irregularity]:
    def number_stands(row: Row) -> bool:
        note = last_note(row)
        settled = row["channel_kind"] == "newsroom" and has_settled(row)
        return settled and note.get("says") == "not there"

    def with_purpose(said: Said) -> bool:
        return (said["says"], said["watched"]) == ("not there", "all") and "purpose" in said

    def without_purpose(said: Said) -> bool:
        return says("not there")(said) or (with_purpose(said) and bool(said.get("told")))

    yield Irregularity(
        tag="newsroom-number",
        rows=4,
        put=lambda dice, row: wishing(
            for_newsroom(dice, row) | {"edited_on": None},
            lambda said: with_purpose(said) and not said.get("told"),
        ),
        take=lambda row: said_otherwise(row, purpose=None) if number_stands(row) else None,
    )
    yield Irregularity(
        tag="newsroom-number",
        rows=4,
        put=lambda dice, row: wishing(
            for_newsroom(dice, row) | {"edited_on": None}, without_purpose
        ),
        take=lambda row: (
            said_otherwise(row, purpose="reports", told=None) if number_stands(row) else None
        ),
    )
    yield Irregularity(
        tag="newsroom-and-old",
        put=lambda dice, row: wishing(
            aged(for_newsroom(dice, row), dice.between(POLICY["OLD_DAYS"] + 1, 90)),
            says("not there"),
        ),
        take=lambda row: (
            fresh(row)
            if number_stands(row) and lead_of(row) in POLICY["ASKED_FOR_NEWSROOMS"]
            else None
        ),
    )


def _purpose(said: Said) -> str | None:
    """What the writer saw it for."""
    return None if said.get("told") else said.get("purpose")


def _purposes() -> Iterator[Irregularity]:
    yield from (_softened(concern, purpose) for concern, purpose in POLICY["SOFTENED"])
    yield Irregularity(
        tag="told",
        rows=5,
        put=lambda _, row: wishing(row, lambda said: bool(said.get("told"))),
        take=lambda row: said_otherwise(row, told=None),
    )
    yield from (_another_purpose(one) for one in ("reports", "teaches", "acts"))


def _softened(concern: str, purpose: str) -> Irregularity:
    def wish(said: Said) -> bool:
        return said["says"] != "not there" and _purpose(said) == purpose and "beside" not in said

    return Irregularity(
        tag="softened",
        put=lambda dice, row: wishing(leading(dice, row, concern), wish),
        take=lambda row: (
            said_otherwise(row, purpose=None)
            if lead_of(row) == concern and _purpose(last_note(row)) == purpose
            else None
        ),
    )


def _another_purpose(purpose: str) -> Irregularity:
    """One that does not soften this concern, where another one would."""

    def wish(said: Said) -> bool:
        seen = _purpose(said)
        return seen is not None and (said["about"], seen) not in POLICY["SOFTENED"]

    def take(row: Row) -> Row | None:
        note = last_note(row)
        return said_otherwise(row, purpose=purpose) if note and wish(note) else None

    return Irregularity(
        tag="another-purpose", rows=2, put=lambda _, row: wishing(row, wish), take=take
    )


def _beside() -> Iterator[Irregularity]:
    def timed(said: Said) -> bool:
        return "beside" in said and bool(said.get("where"))

    def untimed(said: Said) -> bool:
        return "beside" in said and not said.get("where") and said["beside"] != "MINORS"

    def child(said: Said) -> bool:
        return said.get("beside") == "MINORS" and not said.get("where")

    yield Irregularity(
        tag="beside",
        rows=10,
        put=lambda _, row: wishing(row, timed),
        take=lambda row: said_otherwise(row, beside=None),
    )
    yield Irregularity(
        tag="beside-without-time",
        rows=4,
        put=lambda _, row: wishing(row, untimed),
        take=lambda row: said_otherwise(row, where=True),
    )
    yield Irregularity(
        tag="minors-without-time",
        rows=4,
        put=lambda _, row: wishing(row, child),
        take=lambda row: said_otherwise(row, beside="NUDITY") if child(last_note(row)) else None,
    )
    yield Irregularity(
        tag="beside-is-not-softened",
        put=lambda dice, row: wishing(
            leading(dice, row, "VIOLENCE"), lambda said: timed(said) and "purpose" in said
        ),
        take=lambda row: said_otherwise(row, beside=None) if "purpose" in last_note(row) else None,
    )


def _mistakes() -> Iterator[Irregularity]:
    def without_strike(row: Row) -> Row | None:
        spared = outcome(row).answer["warning"] == "AGE_GATE" and _mistaken(last_note(row))
        return row | {"audience": "made for children"} if spared else None

    yield from (
        Irregularity(
            tag="mistake",
            rows=2,
            put=_would_strike(concern),
            take=lambda row: said_otherwise(row, mistake=None),
        )
        for concern in ("DANGER", "VIOLENCE", "NUDITY", "DECEPTION")
    )
    yield Irregularity(
        tag="mistake-without-strike",
        put=lambda dice, row: wishing(leading(dice, row, "NUDITY", "VIOLENCE"), _mistaken),
        take=without_strike,
    )
    yield from (_no_mercy(concern) for concern in sorted(POLICY["NO_MISTAKE"]))


def _would_strike(concern: str) -> Put:
    def put(dice: Dice, row: Row) -> Row:
        made = wishing(leading(dice, row, concern), _mistaken)
        if concern == "VIOLENCE":
            lines = [one | {"seconds": one["seconds"] + LONG} for one in lines_of(made)]
            return record_with(made, lines=lines)
        return made if concern == "DANGER" else made | {"audience": "made for children"}

    return put


def _no_mercy(concern: str) -> Irregularity:
    """It would be spared, were another concern the tag."""
    return Irregularity(
        tag="no-mercy",
        put=lambda dice, row: wishing(leading(dice, row, concern), _mistaken),
        take=lambda row: (
            said_otherwise(row, says="not there", beside="DANGER", where=True)
            if lead_of(row) == concern and _mistaken(last_note(row))
            else None
        ),
    )


# --- what comes of it ------------------------------------------------------------------------


def outcome_cases() -> Iterator[Irregularity]:
    """Long violence, nudity among adults, and a sealed channel."""
    yield Irregularity(
        tag="long-violence",
        rows=4,
        put=lambda dice, row: _violent(dice, row, dice.between(LONG + 2, 300)),
        take=lambda row: _lasting(row, 5) if _violence(row) > LONG else None,
    )
    yield from (_long(*both) for both in ((LONG, LONG + 1), (LONG + 1, LONG)))
    yield Irregularity(
        tag="nudity-among-adults",
        rows=5,
        put=lambda dice, row: (
            only(dice, row, line(dice, "NUDITY", dice.between(700, 999))) | {"audience": "adults"}
        ),
        take=lambda row: (
            row | {"audience": "everyone"}
            if row["audience"] == "adults" and outcome(row).answer["tag"] == "NUDITY"
            else None
        ),
    )
    yield Irregularity(
        tag="sealed",
        rows=12,
        put=lambda _, row: row | {"register": "sealed"},
        take=lambda row: row | {"register": "entered"},
    )


def _long(seconds: int, other: int) -> Irregularity:
    return Irregularity(
        tag="boundary-violence",
        put=lambda dice, row: _violent(dice, row, seconds),
        take=lambda row: _lasting(row, other) if _violence(row) == seconds else None,
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


def _lasting(row: Row, seconds: int) -> Row:
    others = [one for one in lines_of(row) if one["concern"] != "VIOLENCE"]
    violence = plain_line("VIOLENCE", score_of(row, "VIOLENCE"), seconds)
    return record_with(row, lines=[*others, violence])
