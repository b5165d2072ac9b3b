"""What may be put into a case of the flag desk, and taken out again, in the order of the notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from bundled_domains.content_flagging.cases import (
    HEAVY,
    KINDS,
    POLICY,
    WORDS,
    Irregularity,
    Put,
    Row,
    Take,
    before,
    flag,
    sign_in,
    square_of,
)
from bundled_domains.generator import Dice

Change: TypeAlias = Callable[[Row, int], Row]


def irregularities() -> Iterator[Irregularity]:
    """Each of them, in the order of the notes."""
    yield from _appeals()
    yield from _ratings()
    yield from _violations()
    yield from _accounts()
    yield from _gates()
    yield from _archives()
    yield from _files()
    yield from _signals()
    yield Irregularity(
        tag="on-hold", put=cells(entry="hold"), take=without(entry="entered"), rows=13
    )


def cells(**changed: Any) -> Put:
    """Put these cells into a case."""
    return lambda _, row: row | changed


def without(**changed: Any) -> Take:
    """Have these cells in a case instead."""
    return lambda row: row | changed


def edge(tag: str, change: Change, *values: int, rows: int = 2) -> Iterator[Irregularity]:
    """Both sides of a cut-off; each taken out by the value on the other side."""
    for here, there in (values, values[::-1]):
        yield _side(f"boundary-{tag}", change, here, there, rows)


def _side(tag: str, change: Change, here: int, there: int, rows: int) -> Irregularity:
    return Irregularity(
        tag=tag,
        put=lambda _, row: change(row, here),
        take=lambda row: change(row, there),
        stays=lambda row: change(row, here) == row,
        rows=rows,
    )


def rated(row: Row, **changed: Any) -> Row:
    """The same case with another rating, whichever attempt serves."""
    ratings = [one | changed if one["primary"] else one for one in row["ratings"]]
    return row | {"ratings": ratings}


def _appeals() -> Iterator[Irregularity]:
    def appeal(*decisions: str) -> Put:
        def put(dice: Dice, row: Row) -> Row:
            return row | {
                "appealed_decision": dice.pick(decisions),
                "decided_on": before(row, dice.between(1, 29)),
                "reporter_words": dice.pick(WORDS["appeals"]),
            }

        return put

    none = without(appealed_decision=None, decided_on=None)
    yield Irregularity(tag="appeal", put=appeal("limit"), take=none, rows=6)
    yield Irregularity(tag="appeal", put=appeal("remove", "suspend"), take=none, rows=12)
    for decision, days in (("limit", 30), ("remove", 30), ("suspend", 90)):
        yield from edge("appeal", partial(_appealed, decision), days, days + 1)
    yield Irregularity(
        tag="late-for-others",
        put=lambda dice, row: _appealed("suspend", row, dice.between(31, 89)),
        take=lambda row: row | {"appealed_decision": "remove"},
    )

    def good_and_grave(dice: Dice, row: Row) -> Row:
        changed: Row = {"trust": dice.between(72, 97), "flags": []}
        appealed = appeal("limit", "remove", "suspend")(dice, row | changed)
        return rated(appealed, primary="threat")

    yield Irregularity(
        tag="appeal-escalated",
        put=good_and_grave,
        take=without(trust=55),
        decides=True,
    )

    def worded(row: Row, primary: str) -> Row:
        # An old decision that is far from what the sheet gives now.
        return rated(_appealed("suspend", row, 12), primary=primary, primary_sure=50)

    yield Irregularity(
        tag="too-far",
        put=lambda dice, row: worded(row, dice.pick(KINDS)),
        take=lambda row: row | {"appealed_decision": "remove"},
    )


def _appealed(decision: str, row: Row, age: int) -> Row:
    return row | {"appealed_decision": decision, "decided_on": before(row, age)}


def _ratings() -> Iterator[Irregularity]:
    def first(row: Row, **changed: Any) -> Row:
        one, two = row["ratings"]
        return row | {"ratings": [one | changed, two]}

    def dated(rating: Row, day: date) -> Row:
        return rating | {"rated_on": str(day) if rating["primary"] else None}

    def nothing(row: Row, attempt: int) -> Row:
        ratings = [
            dict.fromkeys(one, None) | {"attempt": attempt} if one["attempt"] == attempt else one
            for one in row["ratings"]
        ]
        return row | {"ratings": ratings}

    def edited(row: Row, ahead: int) -> Row:
        day = date.fromisoformat(row["edited_on"]) - timedelta(days=ahead)
        one, two = row["ratings"]
        return row | {"ratings": [dated(one, day), two]}

    def second(row: Row, ahead: int) -> Row:
        day = date.fromisoformat(row["edited_on"]) - timedelta(days=ahead)
        one, two = row["ratings"]
        return row | {"ratings": [one, dated(two, day)]}

    def serves(row: Row) -> Row:
        return first(row, **{k: v for k, v in row["ratings"][1].items() if k != "attempt"})

    yield from edge("edited", edited, 0, 1)
    yield Irregularity(
        tag="rating-of-other-words",
        put=lambda dice, row: edited(row, dice.between(1, 40)),
        take=lambda row: edited(row, 0),
        rows=4,
    )
    yield Irregularity(tag="rating-busy", put=lambda _, row: nothing(row, 1), take=serves, rows=4)
    yield Irregularity(
        tag="no-rating",
        put=lambda dice, row: second(nothing(row, 1), dice.between(1, 9)),
        take=lambda row: second(row, 0),
    )
    yield Irregularity(
        tag="no-rating",
        put=lambda dice, row: nothing(edited(row, dice.between(1, 9)), 2),
        take=lambda row: edited(row, 0),
    )


def _violations() -> Iterator[Irregularity]:
    for tag, lowest, highest, rows in (
        ("child-safety", 41, 97, 6),
        ("child-safety-unsure", 16, 38, 3),
        ("child-safety-slight", 2, 13, 4),
    ):
        yield Irregularity(
            tag=tag,
            put=_violation("child_safety", lowest, highest),
            take=lambda row: _instead(row, "child_safety", "harassment"),
            rows=rows,
        )
    for at in ("primary", "secondary"):
        for cut in (40, 15):
            yield from edge(f"child-safety-{cut}", partial(_child, at), cut, cut - 1)
    yield Irregularity(
        tag="self-harm",
        put=lambda dice, row: rated(row, primary="self_harm", primary_sure=dice.between(56, 96)),
        take=lambda row: rated(row, primary="adult"),
        rows=4,
    )
    yield from edge(
        "self-harm", lambda row, sure: rated(row, primary="self_harm", primary_sure=sure), 55, 54
    )
    yield Irregularity(
        tag="no-violation",
        put=lambda _, row: rated(row, primary="none"),
        take=lambda row: rated(row, primary="adult"),
        rows=4,
    )
    yield Irregularity(
        tag="half-sure",
        put=lambda dice, row: rated(row, primary_sure=dice.between(56, 78)),
        take=lambda row: rated(row, primary_sure=90),
        rows=4,
    )
    yield from edge("sure-80", lambda row, sure: rated(row, primary_sure=sure), 80, 79)
    for kind in ("adult", "threat"):
        yield from edge("sure-55", partial(_sure_of, kind), 55, 54)
    for kind in KINDS:
        yield Irregularity(
            tag="secondary",
            put=_beside(kind),
            take=partial(rated, secondary=None, secondary_sure=None),
            stays=_is_rated(secondary=kind),
            rows=2,
        )
        # Beside so few points it matters how many the secondary violation adds.
        few, other = ("harassment" if kind == "spam" else "spam"), KINDS[1 if kind in HEAVY else 3]
        yield Irregularity(
            tag="secondary",
            put=_beside(kind, primary=few),
            take=partial(rated, secondary=other),
            stays=_is_rated(primary=few, secondary=kind),
            rows=2,
        )
    yield from edge(
        "secondary",
        lambda row, sure: rated(row, secondary="hate", secondary_sure=sure),
        70,
        69,
    )
    yield Irregularity(
        tag="same-twice",
        put=lambda dice, row: _same_twice(row, dice.pick(KINDS), dice.between(71, 95)),
        take=lambda row: rated(row, secondary=KINDS[row["ratings"][1]["primary"] == KINDS[0]]),
    )
    yield Irregularity(
        tag="no-points-left",
        put=lambda dice, row: rated(
            row,
            primary="spam",
            primary_sure=dice.between(56, 78),
            secondary=dice.pick(KINDS[1:]),
            secondary_sure=dice.between(72, 97),
        ),
        take=lambda row: rated(row, primary_sure=85),
    )


def _is_rated(**cells: Any) -> Callable[[Row], bool]:
    return lambda row: rated(row, **cells) == row


def _beside(secondary: str, **changed: Any) -> Put:
    return lambda dice, row: rated(
        row, secondary=secondary, secondary_sure=dice.between(72, 97), **changed
    )


def _sure_of(kind: str, row: Row, sure: int) -> Row:
    return rated(row, primary=kind, primary_sure=sure)


def _child(at: str, row: Row, sure: int) -> Row:
    other = {"primary": "adult", "primary_sure": 91} if at == "secondary" else {}
    return rated(row, **other, **{at: "child_safety", f"{at}_sure": sure})


def _same_twice(row: Row, kind: str, sure: int) -> Row:
    return rated(row, primary=kind, secondary=kind, secondary_sure=sure)


def _violation(kind: str, lowest: int, highest: int) -> Put:
    def put(dice: Dice, row: Row) -> Row:
        at = dice.pick(("primary", "secondary"))
        return rated(row, **{at: kind, f"{at}_sure": dice.between(lowest, highest)})

    return put


def _instead(row: Row, kind: str, other: str) -> Row:
    ratings = [
        one
        | {at: other for at in ("primary", "secondary") if one[at] == kind}
        | {"primary_sure": 90}
        if one["primary"]
        else one
        for one in row["ratings"]
    ]
    return row | {"ratings": ratings}


def _accounts() -> Iterator[Irregularity]:
    private = without(account_kind="private")
    yield Irregularity(
        tag="newsroom",
        put=lambda _, row: rated(row | {"account_kind": "newsroom"}, primary="threat"),
        take=private,
        rows=5,
    )
    yield Irregularity(
        tag="newsroom-low",
        put=lambda _, row: rated(row | {"account_kind": "newsroom"}, primary="adult"),
        take=lambda row: rated(row, primary="threat"),
        stays=lambda row: "low" in (square_of(row) or ()),
    )
    yield Irregularity(
        tag="newsroom-grave",
        put=lambda dice, row: rated(
            row | {"account_kind": "newsroom"},
            primary="threat",
            secondary=dice.pick(("spam", "adult", "harassment")),
            secondary_sure=dice.between(72, 95),
        ),
        take=lambda row: rated(row, secondary=None, secondary_sure=None),
    )
    yield Irregularity(
        tag="newsroom-grave",
        put=lambda _, row: rated(
            row | {"account_kind": "newsroom"},
            primary="hate",
            secondary="threat",
            secondary_sure=83,
        ),
        take=lambda row: rated(row, secondary=None, secondary_sure=None),
    )
    yield Irregularity(
        tag="public-office", put=cells(account_kind="public office"), take=private, rows=6
    )
    yield Irregularity(
        tag="new-account",
        put=lambda dice, row: row | {"opened_on": before(row, dice.below(6))},
        take=lambda row: row | {"opened_on": before(row, 90)},
        rows=5,
    )
    yield from edge("new-account", lambda row, age: row | {"opened_on": before(row, age)}, 7, 6)


def _gates() -> Iterator[Irregularity]:
    for least in POLICY["CAPTCHA_TRIES"]:
        yield from edge(
            "captcha", lambda row, tries: row | {"captcha_tries": tries}, least, least - 1
        )
    yield Irregularity(
        tag="no-captcha", put=cells(captcha_tries=None), take=without(captcha_tries=0), rows=3
    )
    for least in (1, 3):
        yield from edge(
            "fingerprint",
            lambda row, shared: row | {"fingerprint_shared": shared},
            least,
            least - 1,
        )
    yield Irregularity(
        tag="fingerprint-shared",
        put=lambda dice, row: row | {"fingerprint_shared": dice.between(4, 19)},
        take=without(fingerprint_shared=0),
        rows=5,
    )
    yield Irregularity(
        tag="fingerprint-withheld",
        put=cells(fingerprint_shared=None),
        take=without(fingerprint_shared=0),
        rows=3,
    )
    yield Irregularity(
        tag="office-browser",
        put=cells(fingerprint_shared=None, account_kind="public office"),
        take=without(fingerprint_shared=1),
    )
    for jumps, rows in ((1, 5), (2, 3), (3, 3)):
        yield Irregularity(
            tag="jump" if jumps == 1 else "several-jumps",
            put=partial(_jumping, jumps=jumps),
            take=_grounded,
            rows=rows,
        )
    yield Irregularity(
        tag="relay",
        put=lambda dice, row: _moved(row, dice.between(1_500, 9_000), 90, relay=True),
        take=lambda row: _moved(row, 5_000, 90),
    )
    yield from edge("miles", lambda row, miles: _moved(row, miles, 5, unit="mi"), 63, 62)
    yield Irregularity(
        tag="miles",
        put=lambda dice, row: _moved(row, dice.between(520, 780), 60, unit="mi"),
        take=lambda row: _moved(row, 780, 60),
    )
    yield from edge("distance", lambda row, km: _moved(row, km, 5), 100, 99)
    yield from edge("speed", lambda row, km: _moved(row, km, 60), 800, 801)
    for primary in ("none", "spam", "harassment", "threat"):
        yield Irregularity(
            tag="machine",
            put=partial(_robot, primary),
            take=_grounded,
            rows=3,
            decides=True,
        )
    for tag, jumps, tries, trust in (("machine", 1, 4, None), ("unclear", 0, 2, 88)):
        yield from _index_edge(tag, jumps, tries, trust)
    yield Irregularity(
        tag="unclear-and-poor",
        put=lambda dice, row: (
            row
            | {
                "captcha_tries": 3,
                "fingerprint_shared": dice.between(3, 9),
                "trust": dice.between(4, 38),
            }
        ),
        take=without(trust=62),
        stays=lambda row: "poor" in (square_of(row) or ()),
        decides=True,
    )
    yield Irregularity(
        tag="above-ten",
        put=lambda dice, row: (
            _jumping(dice, row, 3)
            | {
                "captcha_tries": dice.between(6, 9),
                "fingerprint_shared": dice.between(3, 9),
                "opened_on": before(row, 3),
            }
        ),
        take=without(captcha_tries=0),
    )


def _index_edge(tag: str, jumps: int, tries: int, trust: int | None) -> Iterator[Irregularity]:
    """A bot index at which the column is another one, and the index below it."""

    def put(dice: Dice, row: Row) -> Row:
        row = _jumping(dice, row, jumps) | {"fingerprint_shared": dice.between(3, 9)}
        return row if trust is None else row | {"trust": trust}

    for here, there in ((tries, tries - 1), (tries - 1, tries)):
        yield Irregularity(
            tag=f"boundary-{tag}",
            put=_then(put, captcha_tries=here),
            take=without(captcha_tries=there),
            rows=3,
            decides=True,
        )


def _then(put: Put, **changed: Any) -> Put:
    return lambda dice, row: put(dice, row) | changed


def _moved(row: Row, distance: int, minutes: int, *, unit: str = "km", relay: bool = False) -> Row:
    """The latest sign-in so far, and so soon, after the one before."""
    *kept, _ = row["sign_ins"]
    at = datetime.fromisoformat(kept[-1]["at"]) + timedelta(minutes=minutes)
    return row | {"sign_ins": [*kept, sign_in(at, distance, unit, relay=relay)]}


def _jumping(dice: Dice, row: Row, jumps: int) -> Row:
    *kept, _ = row["sign_ins"]
    at = datetime.fromisoformat(kept[-1]["at"])
    found: list[Row] = []
    for _ in range(jumps):
        at += timedelta(minutes=dice.between(20, 90))
        found.append(sign_in(at, dice.between(1_300, 9_500), dice.pick(("km", "mi"))))
    return row | {"sign_ins": [*kept, *found]}


def _robot(primary: str, dice: Dice, row: Row) -> Row:
    row = _jumping(dice, row, 2) | {"fingerprint_shared": dice.between(3, 12)}
    return rated(row, primary=primary)


def _grounded(row: Row) -> Row:
    return row | {"sign_ins": [one | {"distance": 0} for one in row["sign_ins"]]}


def _archives() -> Iterator[Irregularity]:
    yield Irregularity(tag="strike", put=_struck_by(1), take=lambda row: _struck(row, 0), rows=4)
    for here, there in ((2, 1), (1, 2), (4, 3), (3, 4)):
        yield Irregularity(
            tag="boundary-strikes",
            put=_struck_by(here, trust=88),
            take=partial(_struck, strikes=there),
            stays=partial(_has_strikes, here),
            rows=3,
            decides=True,
        )
    for here, there in ((3, 2), (2, 3)):
        yield Irregularity(
            tag="three-strikes" if here > there else "two-strikes",
            put=_distrusted(here),
            take=partial(_struck, strikes=there),
            stays=partial(_has_strikes, here),
            rows=4,
            decides=True,
        )
    yield Irregularity(
        tag="three-strikes",
        put=lambda dice, row: rated(
            _struck_by(3, trust=dice.between(72, 95))(dice, row), primary="harassment"
        ),
        take=without(trust=50),
        rows=4,
        decides=True,
    )
    yield Irregularity(
        tag="three-strikes",
        put=lambda dice, row: rated(
            _struck_by(3, trust=dice.between(5, 65), other_flaggers=dice.between(2, 7))(dice, row),
            primary="adult",
        ),
        take=lambda row: rated(row, primary="harassment"),
        stays=lambda row: square_of(row) == ("low", "poor"),
        rows=3,
        decides=True,
    )
    yield Irregularity(
        tag="struck-and-out-of-date",
        put=lambda dice, row: _struck_by(1, worked_out_on=before(row, dice.between(17, 90)))(
            dice, row
        ),
        take=lambda row: _struck(row, 0),
        rows=4,
        decides=True,
    )

    for tag, changed, other in (
        ("strike-reversed", {"appeal": "reversed"}, {"appeal": "none"}),
        ("strike-pending", {"appeal": "pending"}, {"appeal": "reversed"}),
        ("flag-dismissed", {"outcome": "dismissed", "appeal": "none"}, {"outcome": "upheld"}),
    ):
        yield from _one_more(tag, changed, other)

    def aged(row: Row, days: int) -> Row:
        # All flags of the author are as old; one that is open has no day.
        older = [
            one | {"settled_on": before(row, days)} if one["settled_on"] else one
            for one in row["flags"]
        ]
        return row | {"flags": older}

    def struck_and_aged(days: int) -> Put:
        return lambda dice, row: aged(_struck_by(dice.between(1, 3))(dice, row), days)

    for here, there in ((180, 181), (181, 180)):
        yield Irregularity(
            tag="boundary-strike-days",
            put=struck_and_aged(here),
            take=partial(aged, days=there),
            rows=2,
        )

    def twice(dice: Dice, row: Row) -> Row:
        first = flag(dice, row)
        second = flag(dice, row, flagged_post=first["flagged_post"])
        return row | {"flags": dice.shuffled([*row["flags"], first, second])}

    def apart(row: Row) -> Row:
        numbered = enumerate(row["flags"])
        return row | {
            "flags": [one | {"flagged_post": f"p-{number:07}"} for number, one in numbered]
        }

    yield Irregularity(tag="one-post-flagged-twice", put=twice, take=apart, rows=3)
    yield Irregularity(
        tag="flag-on-this-post",
        put=lambda dice, row: (
            row
            | {
                "flags": dice.shuffled(
                    [*row["flags"], flag(dice, row, flagged_post=row["post_id"])]
                )
            }
        ),
        take=apart,
        rows=3,
    )


def _files() -> Iterator[Irregularity]:
    yield Irregularity(
        tag="no-file",
        put=cells(trust=None, worked_out_on=None),
        take=lambda row: row | {"trust": 85, "worked_out_on": row["case_day"]},
        rows=5,
    )
    yield Irregularity(
        tag="no-file",
        put=cells(trust=None, worked_out_on=None),
        take=lambda row: row | {"trust": 20, "worked_out_on": row["case_day"]},
    )
    yield Irregularity(
        tag="file-out-of-date",
        put=lambda dice, row: row | {"worked_out_on": before(row, dice.between(16, 200))},
        take=lambda row: row | {"worked_out_on": row["case_day"]},
        rows=5,
    )
    yield from edge("file-days", lambda row, age: row | {"worked_out_on": before(row, age)}, 14, 15)
    for least in (70, 40):
        yield from edge(
            f"trust-{least}", lambda row, trust: row | {"trust": trust}, least, least - 1
        )


def _struck_by(strikes: int, **changed: Any) -> Put:
    return lambda dice, row: (
        row | changed | {"flags": [*_idle(row), *(flag(dice, row) for _ in range(strikes))]}
    )


def _distrusted(strikes: int) -> Put:
    return lambda dice, row: rated(
        _struck_by(strikes, trust=dice.between(5, 65))(dice, row), primary="harassment"
    )


def _idle(row: Row) -> list[Row]:
    """The flags of the archive that are no strikes."""
    return [one for one in row["flags"] if not POLICY["strikes_of"](row, [one])]


def _has_strikes(strikes: int, row: Row) -> bool:
    return len(POLICY["strikes_of"](row, row["flags"])) == strikes


def _struck(row: Row, strikes: int) -> Row:
    """The same case with so many strikes, each on a post of its own and like the first."""
    strike = [one for one in row["flags"] if POLICY["strikes_of"](row, [one])][:1]
    found = [
        one | {"flagged_post": f"p-{number:07}"} for one in strike for number in range(strikes)
    ]
    return row | {"flags": [*_idle(row), *found]}


def _one_more(
    tag: str, changed: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[Irregularity]:
    """One more flag in the archive, which counts or not for what is changed in it."""

    def take(row: Row) -> Row:
        fits = [all(one[name] == value for name, value in changed.items()) for one in row["flags"]]
        place = fits.index(True) if True in fits else -1
        flags = [one | other if at == place else one for at, one in enumerate(row["flags"])]
        return row | {"flags": flags}

    yield Irregularity(
        tag=tag,
        put=lambda dice, row: (
            row | {"flags": dice.shuffled([*row["flags"], flag(dice, row, **changed)])}
        ),
        take=take,
        rows=5,
    )


def _signals() -> Iterator[Irregularity]:
    def alone(dice: Dice, row: Row) -> Row:
        return row | {"other_flaggers": dice.below(2)}

    yield Irregularity(tag="no-second-signal", put=alone, take=without(other_flaggers=4), rows=7)
    yield from edge("flaggers", lambda row, others: row | {"other_flaggers": others}, 2, 1)

    def again(dice: Dice, row: Row) -> Row:
        one = flag(dice, row, violation=row["ratings"][0]["primary"])
        return alone(dice, row) | {"flags": dice.shuffled([*row["flags"], one])}

    def differing(row: Row) -> Row:
        return row | {"flags": [one | {"violation": "self_harm"} for one in row["flags"]]}

    yield Irregularity(tag="strike-as-signal", put=again, take=differing, rows=5)
    yield Irregularity(
        tag="trusted-reporter",
        put=lambda dice, row: alone(dice, row) | {"reporter": "trusted", "reporter_in_post": "no"},
        take=without(reporter="member"),
        rows=5,
    )
    yield Irregularity(
        tag="trusted-in-post",
        put=lambda dice, row: alone(dice, row) | {"reporter": "trusted", "reporter_in_post": "yes"},
        take=without(reporter_in_post="no"),
        rows=4,
    )

    def appealed(dice: Dice, row: Row) -> Row:
        row = alone(dice, row)
        row = _appealed(dice.pick(("remove", "suspend")), row, dice.between(1, 29))
        words = dice.pick(WORDS["appeals"])
        return row | {"reporter": "trusted", "reporter_in_post": "no", "reporter_words": words}

    yield Irregularity(
        tag="trusted-in-appeal",
        put=appealed,
        take=without(other_flaggers=3),
        rows=4,
    )
