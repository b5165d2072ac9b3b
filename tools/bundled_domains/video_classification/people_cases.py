"""What decides who is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bundled_domains.generator import Dice

from .changes import (
    BY_EYE,
    IN_WORDS,
    Irregularity,
    Put,
    Take,
    everybody,
    lead_of,
    leading,
    lists,
    own,
)
from .uploads import EASY, POLICY, REGIONS, Row, asked_in, asked_of, day, outcome, worked

FULL: int = POLICY["FULL_TABLE"]


def people_cases() -> Iterator[Irregularity]:
    """The lists, who of a list may be asked, and in which order."""
    yield from _lists()
    yield from (
        Irregularity(tag=tag, rows=rows, put=_first_is_not(tag), take=_first_is(tag), decides=False)
        for tag, rows in (
            ("away", 5),
            ("full-table", 5),
            ("permit-ended", 5),
            ("region-unknown", 4),
        )
    )
    yield Irregularity(
        tag="region-unknown",
        put=lambda dice, row: everybody(
            leading(dice, row, *IN_WORDS),
            {"regions_known": [one for one in REGIONS if one != row["region"]], "seat": "desk"},
        ),
        take=lambda row: (
            _first_is("region-unknown")(row) if lists(row) and not asked_of(row) else None
        ),
        decides=False,
    )
    yield from _grades()
    yield from (_slips(*both) for both in ((FULL - 1, FULL), (FULL, FULL - 1)))
    yield from (_permit(*both) for both in ((0, -1), (-1, 0)))
    yield Irregularity(
        tag="region-first",
        rows=5,
        put=lambda dice, row: leading(dice, row, *BY_EYE),
        take=lambda row: (
            everybody(row, {"regions_known": list(REGIONS)}) if lead_of(row) in BY_EYE else None
        ),
        decides=False,
    )
    yield Irregularity(
        tag="equal-slips",
        rows=5,
        put=lambda dice, row: everybody(
            row, {"open_slips": dice.between(0, 8), "regions_known": list(REGIONS)}
        ),
        take=_numbers_turned,
        decides=False,
    )


def _lists() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="second-list",
        rows=5,
        put=lambda dice, row: everybody(
            leading(dice, row, *BY_EYE), {"seat": dice.pick(("away", "training"))}, reads=own(row)
        ),
        take=lambda row: everybody(row, {"seat": "away"}, reads="en") if lists(row) > 1 else None,
    )
    yield Irregularity(
        tag="no-second-list",
        put=lambda dice, row: everybody(
            leading(dice, row, *IN_WORDS),
            {"grade": 1, "open_slips": dice.between(0, 9)},
            reads=own(row),
        ),
        take=lambda row: everybody(row, EASY) if _nobody(row) and own(row) != "en" else None,
        decides=False,
    )
    yield Irregularity(
        tag="no-second-list",
        put=_english_and_away,
        take=lambda row: everybody(row, EASY) if _nobody(row) and own(row) == "en" else None,
        decides=False,
    )
    yield Irregularity(
        tag="nobody-left",
        rows=4,
        put=lambda dice, row: everybody(
            leading(dice, row, *BY_EYE), {"open_slips": dice.between(FULL, 17)}
        ),
        take=lambda row: everybody(row, EASY) if lists(row) and not asked_of(row) else None,
        decides=False,
    )


def _nobody(row: Row) -> bool:
    """One list was asked for, and nobody on it."""
    return lists(row) == 1 and not asked_of(row)


def _english_and_away(dice: Dice, row: Row) -> Row:
    people = [one | {"reads": "en"} for one in row["moderators"] if one["reads"] == own(row)]
    made = leading(dice, row | {"moderators": people}, *BY_EYE)
    return everybody(made, {"seat": "away"}) | {"language": dice.pick(("en", "en-GB"))}


def _easiest(row: Row, **cells: Any) -> Row:
    """One of those who read the language would come first, if it were not for these cells."""
    first, *rest = row["moderators"]
    return row | {"moderators": [*rest, first | EASY | cells]}


def _first_is_not(tag: str) -> Put:
    def put(dice: Dice, row: Row) -> Row:
        if tag == "away":
            return _easiest(row, seat=dice.pick(("away", "training")))
        if tag == "full-table":
            return _easiest(row, open_slips=dice.between(FULL, 15))
        if tag == "permit-ended":
            return _easiest(row, permit_until=day(row, -dice.between(2, 50)))
        others = [one for one in REGIONS if one != row["region"] and dice.below(2)]
        return _easiest(leading(dice, row, *IN_WORDS), regions_known=others)

    return put


def _first_is(tag: str) -> Take:
    """Everybody would do as far as this is concerned."""

    def take(row: Row) -> Row | None:
        if tag == "full-table":
            people = [
                one | {"open_slips": 0} if one["open_slips"] >= FULL else one
                for one in row["moderators"]
            ]
            return row | {"moderators": people}
        if tag == "region-unknown" and outcome(row).answer["tag"] not in IN_WORDS:
            return None
        name = {"away": "seat", "permit-ended": "permit_until"}.get(tag, "regions_known")
        return everybody(row, {name: EASY[name]})

    return take


def _grades() -> Iterator[Irregularity]:
    yield from (_grade(grade, "MINORS", other) for grade, other in ((2, 3), (3, 2)))
    for concern in IN_WORDS:
        yield from (_grade(grade, concern, other) for grade, other in ((1, 2), (2, 1)))


def _grade(grade: int, concern: str, other: int) -> Irregularity:
    def take(row: Row) -> Row | None:
        if outcome(row).answer["tag"] != concern:
            return None
        people = [
            one | {"grade": other} if one["grade"] == grade else one for one in row["moderators"]
        ]
        return row | {"moderators": people}

    return Irregularity(
        tag="grade",
        rows=2,
        put=lambda dice, row: _easiest(leading(dice, row, concern), grade=grade),
        take=take,
        decides=False,
    )


def _slips(slips: int, other: int) -> Irregularity:
    def take(row: Row) -> Row:
        people = [
            one | {"open_slips": other} if one["open_slips"] == slips else one
            for one in row["moderators"]
        ]
        return row | {"moderators": people}

    return Irregularity(
        tag="boundary-slips",
        put=lambda dice, row: _easiest(
            everybody(row, {"open_slips": dice.between(FULL, 16)}), open_slips=slips
        ),
        take=take,
        decides=False,
    )


def _permit(days: int, other: int) -> Irregularity:
    def take(row: Row) -> Row:
        people = [
            one | {"permit_until": day(row, other)}
            if one["permit_until"] == day(row, days)
            else one
            for one in row["moderators"]
        ]
        return row | {"moderators": people}

    return Irregularity(
        tag="boundary-permit",
        put=lambda _, row: _easiest(row, permit_until=day(row, days)),
        take=take,
        decides=False,
    )


def _numbers_turned(row: Row) -> Row | None:
    """The lowest number becomes the highest, and other people are asked."""

    def turned(number: str) -> str:
        return f"M-{999 - int(number[2:])}"

    made = row | {
        name: [one | {"moderator_id": turned(one["moderator_id"])} for one in row[name]]
        for name in ("moderators", "answers")
    }
    asked = [person for person, _ in asked_in(worked(made))]
    return None if asked == [turned(person) for person, _ in asked_of(row)] else made
