"""Tags, each with when it is put on a row, and the cases of which rows are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .receipts import BARCODE, DOCKS, NOTICE, POLICY, Receipt, Row, days_from, line, past

Change: TypeAlias = Callable[[Dice, Row], Row]
Wanted: TypeAlias = Callable[[Receipt], bool]

LIMIT: int = POLICY["LABEL_LIMIT"]


# --- tags ------------------------------------------------------------------------------------


def _lines_with(receipt: Receipt, **cells: Any) -> list[Row]:
    return [one | cells for one in receipt.row["order_lines"]]


def _open_all(receipt: Receipt) -> bool:
    return receipt.differs(order_lines=_lines_with(receipt, status="open"))


def _all_here(receipt: Receipt) -> bool:
    dock = receipt.row["dock"]
    mixed = bool(receipt.here) and receipt.here != receipt.lines
    return mixed and receipt.differs(order_lines=_lines_with(receipt, ship_to=dock))


def _other_pack(receipt: Receipt) -> bool:
    size = receipt.row["eaches_per_case"]
    in_cases = any(one["unit"] == "case" for one in receipt.here)
    lines = _lines_with(receipt, eaches_per_case=size)
    return in_cases and size is not None and receipt.differs(order_lines=lines)


def _by_due_day(receipt: Receipt) -> bool:
    return "SHORTAGE" in receipt.charges and receipt.differs(
        order_lines=_lines_with(receipt, due_on="2026-03-01")
    )


def _by_number(receipt: Receipt) -> bool:
    days = [one["due_on"] for one in receipt.here]
    turned = [one | {"line": -one["line"]} for one in receipt.row["order_lines"]]
    return len(set(days)) < len(days) and receipt.differs(order_lines=turned)


def _damage(receipt: Receipt) -> int:
    return receipt.row["damaged_eaches"] or 0


def _not_the_vendors(receipt: Receipt) -> bool:
    return (
        _damage(receipt) > 0
        and "DAMAGE" not in receipt.charges
        and receipt.differs(cause="packing")
    )


def _unknown_cause(receipt: Receipt) -> bool:
    seen = receipt.row["seen_before_unloading"]
    return receipt.row["cause"] == "unknown" and receipt.differs(seen_before_unloading=not seen)


def _label_limit(receipt: Receipt) -> bool:
    return (
        "OLD LABEL" in receipt.charges and receipt.count * POLICY["LABEL_FEE"] > LIMIT
    ) and receipt.agreement != "trial"


def _out_of_date(receipt: Receipt) -> bool:
    row = receipt.row
    return receipt.differs(valid_through=days_from(row, 30))


def _goes_on(receipt: Receipt) -> bool:
    over = receipt.row["valid_through"] < receipt.row["arrived_on"]
    return over and receipt.differs(valid_through=days_from(receipt.row, -60))


def _raised(receipt: Receipt) -> bool:
    return receipt.raised > receipt.total and receipt.cents > 0


def _repeats_boundary(receipt: Receipt) -> bool:
    """One earlier chargeback less, or one more, would decide."""
    row, code = receipt.row, POLICY["CODES"].get(receipt.problem, "")
    alike = [
        one for one in row["past_chargebacks"] if one["code"] == code and one["status"] == "posted"
    ]
    if not alike or receipt.terms[1] is not None:
        return False
    others = [one for one in row["past_chargebacks"] if one is not alike[0]]
    return receipt.differs(past_chargebacks=others) or receipt.differs(
        past_chargebacks=[*row["past_chargebacks"], alike[0]]
    )


def _repeat_days(receipt: Receipt) -> bool:
    """A chargeback 90 or 91 days ago decides."""
    row = receipt.row
    limit = POLICY["REPEAT_DAYS"]
    turned = {days_from(row, -limit): limit + 1, days_from(row, -limit - 1): limit}
    moved = [
        one | {"entered_on": days_from(row, -turned[one["entered_on"]])}
        if one["entered_on"] in turned
        else one
        for one in row["past_chargebacks"]
    ]
    return receipt.differs(past_chargebacks=moved)


def _status_counts(receipt: Receipt) -> bool:
    every = [one | {"status": "posted"} for one in receipt.row["past_chargebacks"]]
    return receipt.differs(past_chargebacks=every)


def _card_ceiling(receipt: Receipt) -> bool:
    return bool(receipt.total) and receipt.raised > POLICY["CARD_CEILINGS"][receipt.agreement]


def _smallest(receipt: Receipt) -> bool:
    return (
        receipt.total > 0 and POLICY["lowered"](receipt.row, receipt.raised, receipt.agreement) == 0
    )


def _near_smallest(receipt: Receipt) -> bool:
    near = {cents + more for cents in _smallests(receipt) for more in (0, -1)}
    return receipt.total > 0 and receipt.raised in near


def _smallests(receipt: Receipt) -> set[int]:
    amended = receipt.amended and receipt.agreement != "trial"
    return {POLICY["AMENDED_SMALLEST" if amended else "SMALLEST"]}


def _monthly(receipt: Receipt) -> bool:
    return receipt.differs(monthly_ceiling=None)


def _half_cent(receipt: Receipt) -> bool:
    """A charge at half a cent, whose even cent is the lower one."""
    for problem, part, value in receipt.findings:
        amended = receipt.amended and part == "transit"
        rates = POLICY["AMENDED_TRANSIT"] if amended else POLICY["RATES"][part]
        even = round(Fraction(value) * rates[receipt.agreement] / 100)
        if receipt.cents and even < receipt.charges[problem] == receipt.cents:
            return True
    return False


def _bulletin_day(receipt: Receipt) -> bool:
    """The day before the bulletin, or its first."""
    other = {"2026-03-15": "2026-03-16", "2026-03-16": "2026-03-15"}
    arrived = receipt.row["arrived_on"]
    return arrived in other and receipt.differs(arrived_on=other[arrived])


def _day_tag(column: str, *days: int) -> Wanted:
    """This day lies so many days from the arrival; one day earlier or later would decide."""

    def wanted(receipt: Receipt) -> bool:
        row = receipt.row
        return any(
            row[column] == days_from(row, day)
            and (
                receipt.differs(**{column: days_from(row, day - 1)})
                or receipt.differs(**{column: days_from(row, day + 1)})
            )
            for day in days
        )

    return wanted


def _passed(receipt: Receipt) -> bool:
    """One each more or less would make a problem of the count, or none."""
    if receipt.row["count_unit"] != "each" or not receipt.here:
        return False
    own = {"SHORTAGE", "OVERAGE"} & {one[0] for one in receipt.findings}
    for more in (1, -1):
        other = Receipt(receipt.row | {"count": receipt.row["count"] + more})
        if bool(own) != bool({"SHORTAGE", "OVERAGE"} & {one[0] for one in other.findings}):
            return True
    return False


def _with_terms_boundary(receipt: Receipt) -> bool:
    more = POLICY["MORE_DAYS"] if receipt.amended else 0
    return _day_tag("valid_through", -more, -more - 1)(receipt)


TAGS: dict[str, Wanted] = {
    "no-notice": lambda one: one.row["vendor_id"] is None,
    "cancelled-notice": lambda one: one.differs(cancelled_on=None),
    "boundary-cancelled": _day_tag("cancelled_on", 0, 1),
    "unknown-code": lambda one: one.problem == "WRONG ITEM" and one.row["item_number"] is None,
    "replaced-item": lambda one: (
        one.row["replaces_item"] == one.row["item_announced"] and one.differs(replaces_item=None)
    ),
    "replaces-another": lambda one: (
        one.row["replaces_item"] is not None and one.problem == "WRONG ITEM"
    ),
    "closed-line": _open_all,
    "other-dock": _all_here,
    "own-freight": lambda one: one.row["freight"] == "ours" and one.differs(freight="vendor"),
    "nothing-ordered": lambda one: one.problem == "OVERAGE" and not one.lines,
    "received-too-much": lambda one: any(
        line["received_before"] > line["ordered"] for line in one.here
    ),
    "pack-of-the-line": _other_pack,
    "due-day": _by_due_day,
    "line-number": _by_number,
    "boundary-passed": _passed,
    "damage-not-charged": _not_the_vendors,
    "unknown-cause": _unknown_cause,
    "boundary-damaged": lambda one: (
        _damage(one) in {3, 4} and one.differs(damaged_eaches=7 - _damage(one))
    ),
    "boundary-retired": _day_tag("retired_on", 0, 1),
    "label-limit": _label_limit,
    "out-of-date-terms": _out_of_date,
    "terms-go-on": _goes_on,
    "boundary-terms": _with_terms_boundary,
    "not-on-trial": lambda one: (
        one.agreement == "trial" and bool({"OVERAGE", "OLD LABEL"} & set(one.charges))
    ),
    "half-cent": _half_cent,
    "several-problems": lambda one: sum(map(bool, one.charges.values())) > 1,
    "equal-charges": lambda one: (
        len(one.charges) > 1 and len(set(one.charges.values())) < len(one.charges)
    ),
    "raised": _raised,
    "boundary-repeats": _repeats_boundary,
    "boundary-repeat-days": _repeat_days,
    "held-or-reversed": _status_counts,
    "card-ceiling": _card_ceiling,
    "too-small": _smallest,
    "boundary-smallest": _near_smallest,
    "monthly-ceiling": _monthly,
    "month-used-up": lambda one: _monthly(one) and one.cents == 0,
    "boundary-bulletin": _bulletin_day,
    "transit-rate": lambda one: any(part == "transit" for _, part, _ in one.findings),
}


def tags_of(receipt: Receipt) -> set[str]:
    """Every tag that is true of a receipt."""
    return {tag for tag, holds in TAGS.items() if holds(receipt)}


# --- cases -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """At least so many rows of one kind: what is changed in a drawn receipt, and which are kept."""

    name: str
    rows: int
    change: Change = lambda _, row: row
    wanted: Wanted = lambda _: True
    tags: tuple[str, ...] = ()

    def keeps(self, receipt: Receipt) -> bool:
        return self.wanted(receipt) and all(TAGS[tag](receipt) for tag in self.tags)


def fixed(**cells: Any) -> Change:
    """Change these cells, whatever stood in them."""
    return lambda _, row: row | cells


def reported(**cells: Any) -> Change:
    """Change these cells of a damage report; there is one then."""

    def change(dice: Dice, row: Row) -> Row:
        report = {"damaged_eaches": dice.between(5, 22), "cause": "packing"}
        report |= {"seen_before_unloading": dice.pick((True, False))}
        return row | (report if row["cause"] is None else {}) | cells

    return change


def each(*changes: Change) -> Change:
    """One change after the other."""

    def change(dice: Dice, row: Row) -> Row:
        for one in changes:
            row = one(dice, row)
        return row

    return change


def day(column: str, days: int) -> Change:
    """Put a day so many days from the arrival."""
    return lambda _, row: row | {column: days_from(row, days)}


def at(column: str, days: int) -> Wanted:
    """This day lies so many days from the arrival."""
    return lambda one: bool(one.row[column] == days_from(one.row, days))


def cell(column: str, value: Any) -> Wanted:
    """The row says this."""
    return lambda one: bool(one.row[column] == value)


def is_(problem: str, *statuses: str) -> Wanted:
    """Named so, and answered with one of these, if there are any."""
    return lambda one: one.problem == problem and (not statuses or one.status in statuses)


def in_money(receipt: Receipt) -> bool:
    """Something is charged, and neither ceiling hides how much."""
    open_ended = not _card_ceiling(receipt) and not _monthly(receipt)
    return receipt.cents > 0 and open_ended


def both(*every: Wanted) -> Wanted:
    """All of these."""
    return lambda one: all(wanted(one) for wanted in every)


def has(problem: str) -> Wanted:
    """Something is charged for this, whatever names the card."""
    return lambda one: bool(one.charges.get(problem))


def agreed(*agreements: str) -> Wanted:
    """One of these agreements holds."""
    return lambda one: one.agreement in agreements


def era(*, amended: bool) -> Wanted:
    """The bulletin holds, or does not yet."""
    return lambda one: one.amended is amended


def cases() -> Iterator[Case]:
    """Chapter by chapter."""
    yield from _notices()
    yield from _barcodes()
    yield from _orders()
    yield from _damages()
    yield from _labels()
    yield from _terms()
    yield from _repeats()
    yield from _ceilings()
    yield from _others()


def _notices() -> Iterator[Case]:
    unknown = dict.fromkeys((*NOTICE, "contact"))
    yield Case(
        name="no notice",
        rows=6,
        change=fixed(**unknown, order_lines=[], past_chargebacks=[]),
        tags=("no-notice",),
    )
    for days, tags in (
        (0, ("cancelled-notice", "boundary-cancelled")),
        (1, ("boundary-cancelled",)),
    ):
        yield Case(
            name=f"cancelled {days}",
            rows=3,
            change=day("cancelled_on", days),
            tags=tags,
            wanted=at("cancelled_on", days),
        )
    yield Case(
        name="cancelled earlier",
        rows=4,
        change=lambda dice, row: day("cancelled_on", -dice.between(1, 9))(dice, row),
        tags=("cancelled-notice",),
        wanted=lambda one: not _day_tag("cancelled_on", 0)(one),
    )


def _barcodes() -> Iterator[Case]:
    unknown = fixed(**dict.fromkeys(BARCODE))
    yield Case(name="unknown code", rows=6, change=unknown, tags=("unknown-code",), wanted=in_money)
    for agreement in ("standard", "partner", "trial"):
        yield Case(
            name=f"wrong item, {agreement}",
            rows=4,
            change=each(_other_item, fixed(agreement=agreement)),
            wanted=both(is_("WRONG ITEM"), in_money, agreed(agreement)),
        )
    yield Case(
        name="replaces another",
        rows=3,
        change=lambda dice, row: (
            _other_item(dice, row) | {"replaces_item": "ZR-" + row["barcode"][-4:]}
        ),
        tags=("replaces-another",),
    )
    yield Case(name="replaced", rows=3, change=_replacing, tags=("replaced-item",), wanted=in_money)


def _replacing(_: Dice, row: Row) -> Row:
    number = int(row["barcode"][-4:])
    return row | {"item_number": f"NX-{number:04}", "replaces_item": row["item_announced"]}


def _other_item(_: Dice, row: Row) -> Row:
    letters, digits = row["item_announced"].split("-")
    other = f"{letters}-{(int(digits) + 7) % 10_000:04}"
    shelves = [one | {"item": other} for one in row["shelves"][:1]]
    return row | {"item_number": other, "replaces_item": None, "shelves": shelves}


def _orders() -> Iterator[Case]:
    for agreement in ("standard", "partner", "trial"):
        yield Case(
            name=f"misrouted, {agreement}",
            rows=3,
            change=each(_elsewhere, fixed(agreement=agreement, freight="vendor")),
            wanted=both(is_("MISROUTED"), in_money, agreed(agreement)),
        )
    yield Case(
        name="misrouted by us",
        rows=4,
        change=each(_elsewhere, fixed(freight="ours")),
        wanted=both(is_("MISROUTED"), lambda one: one.row["freight"] == "ours"),
    )
    yield Case(
        name="misrouted by us and more",
        rows=3,
        change=each(_elsewhere, fixed(freight="ours")),
        wanted=lambda one: one.charges.get("MISROUTED") == 0 and one.cents > 0,
    )
    yield Case(
        name="nothing ordered",
        rows=4,
        change=lambda _, row: (
            row | {"order_lines": [one | {"status": "closed"} for one in row["order_lines"]]}
        ),
        tags=("nothing-ordered",),
    )
    yield Case(name="closed", rows=4, tags=("closed-line",), wanted=in_money)
    yield Case(name="other dock", rows=4, tags=("other-dock",), wanted=in_money)
    yield Case(
        name="received too much",
        rows=4,
        change=_received_too_much,
        tags=("received-too-much",),
        wanted=both(has("SHORTAGE"), in_money),
    )
    yield Case(name="pack", rows=4, tags=("pack-of-the-line",), wanted=in_money)
    yield Case(name="due day", rows=4, tags=("due-day",), wanted=in_money)
    yield Case(
        name="line number",
        rows=4,
        change=_same_day,
        tags=("line-number",),
        wanted=both(has("SHORTAGE"), in_money),
    )
    for expected, off in ((50, 1), (100, 2), (150, 3), (99, 2), (149, 3), (49, 1)):
        for sign in (-1, 1):
            yield Case(
                name=f"passed {expected} {sign * off}",
                rows=1,
                change=_one_line(expected, sign * off),
                tags=("boundary-passed",),
                wanted=_has_counted(expected, expected + sign * off),
            )


def _has_counted(expected: int, count: int) -> Wanted:
    return lambda one: (one.expected, one.count) == (expected, count)


def _elsewhere(dice: Dice, row: Row) -> Row:
    dock = dice.pick([one for one in DOCKS if one != row["dock"]])
    return row | {"order_lines": [one | {"ship_to": dock} for one in row["order_lines"]]}


def _received_too_much(dice: Dice, row: Row) -> Row:
    more = line(dice, row, 9, unit="each", ordered=20, received_before=20 + dice.between(5, 19))
    return row | {"order_lines": [*row["order_lines"], more]}


def _same_day(_: Dice, row: Row) -> Row:
    lines = [one | {"due_on": row["order_lines"][0]["due_on"]} for one in row["order_lines"]]
    return row | {"order_lines": lines}


def _one_line(expected: int, off: int) -> Change:
    def change(dice: Dice, row: Row) -> Row:
        first = line(dice, row, 1, unit="each", ordered=expected - 30, received_before=0)
        second = line(dice, row, 2, unit="each", ordered=60, received_before=30)
        cells = {"order_lines": [second, first], "count": expected + off, "count_unit": "each"}
        return row | cells

    return change


def _damages() -> Iterator[Case]:
    for amended in (False, True):
        for agreement in ("standard", "partner", "trial"):
            for cause in ("packing", "transit"):
                yield Case(
                    name=f"{cause}, {agreement}",
                    rows=2 if cause == "transit" else 1,
                    change=each(
                        reported(cause=cause), fixed(freight="vendor", agreement=agreement)
                    ),
                    wanted=both(
                        has("DAMAGE"),
                        in_money,
                        agreed(agreement),
                        era(amended=amended),
                        _of_cause(cause),
                    ),
                )
    for damaged in (3, 4):
        yield Case(
            name=f"damaged {damaged}",
            rows=3,
            change=reported(damaged_eaches=damaged, cause="packing"),
            tags=("boundary-damaged",),
            wanted=cell("damaged_eaches", damaged),
        )
    yield Case(name="damage of another", rows=4, tags=("damage-not-charged",))
    for seen in (True, False):
        yield Case(
            name=f"unknown, {seen}",
            rows=3,
            change=reported(cause="unknown", seen_before_unloading=seen),
            tags=("unknown-cause",),
            wanted=cell("seen_before_unloading", seen),
        )
    yield Case(
        name="damage alone",
        rows=6,
        wanted=both(is_("DAMAGE"), lambda one: len(one.charges) == 1, in_money),
    )


def _of_cause(cause: str) -> Wanted:
    return lambda one: any(part == cause for _, part, _ in one.findings)


def _labels() -> Iterator[Case]:
    for days in (0, 1):
        yield Case(
            name=f"retired {days}",
            rows=3,
            change=day("retired_on", days),
            tags=("boundary-retired",),
            wanted=at("retired_on", days),
        )
    for amended in (False, True):
        yield Case(
            name=f"label limit {amended}",
            rows=3,
            change=_many,
            tags=("label-limit",),
            wanted=both(in_money, era(amended=amended)),
        )
    yield Case(name="label", rows=6, wanted=both(is_("OLD LABEL"), in_money))
    yield Case(
        name="label on trial",
        rows=3,
        change=fixed(agreement="trial"),
        wanted=is_("OLD LABEL", "WAIVED"),
        tags=("not-on-trial",),
    )
    yield Case(name="overage on trial", rows=3, wanted=is_("OVERAGE"), tags=("not-on-trial",))


def _many(dice: Dice, row: Row) -> Row:
    """So many of a cheap thing that the fee for stickers is large."""
    more = dice.between(160, 240) * 5
    lines = [line(dice, row, 7, unit="each", ordered=more, received_before=0, unit_price=0.35)]
    cells = {"order_lines": lines, "count": more - dice.between(0, 160), "count_unit": "each"}
    terms = {"monthly_ceiling": None, "agreement": dice.pick(("standard", "partner"))}
    return row | cells | terms | {"retired_on": days_from(row, -20)}


def _terms() -> Iterator[Case]:
    yield Case(name="out of date", rows=4, tags=("out-of-date-terms",), wanted=in_money)
    yield Case(
        name="goes on", rows=4, change=_just_over, tags=("terms-go-on",), wanted=era(amended=True)
    )
    for amended, days in ((False, 0), (False, -1), (True, -14), (True, -15)):
        yield Case(
            name=f"terms {days}",
            rows=2,
            change=day("valid_through", days),
            tags=("boundary-terms",),
            wanted=both(era(amended=amended), at("valid_through", days)),
        )
    yield Case(name="half a cent", rows=4, tags=("half-cent",), wanted=in_money)


def _just_over(dice: Dice, row: Row) -> Row:
    agreement = dice.pick(("partner", "trial"))
    return row | {"valid_through": days_from(row, -dice.between(2, 12)), "agreement": agreement}


def _repeats() -> Iterator[Case]:
    for amended, needed, number in ((False, 3, 3), (False, 3, 2), (True, 2, 2), (True, 2, 1)):
        yield Case(
            name=f"{number} repeats, {amended}",
            rows=3,
            change=each(_alike(number), fixed(monthly_ceiling=None)),
            tags=("boundary-repeats",),
            wanted=both(
                in_money,
                era(amended=amended),
                _is_raised(raised=number == needed),
            ),
        )
    for days in (90, 91):
        for needed, amended in ((3, False), (2, True)):
            yield Case(
                name=f"{days} days, {amended}",
                rows=2,
                change=_alike(needed, oldest=days),
                tags=("boundary-repeat-days",),
                wanted=both(
                    in_money,
                    era(amended=amended),
                    _is_raised(raised=days == POLICY["REPEAT_DAYS"]),
                ),
            )
    yield Case(
        name="reversed in the month",
        rows=4,
        change=_little_left,
        tags=("held-or-reversed",),
        wanted=lambda one: one.differs(
            past_chargebacks=[
                earlier | {"status": "held"}
                for earlier in one.row["past_chargebacks"]
                if earlier["status"] == "reversed"
            ]
            + [
                earlier
                for earlier in one.row["past_chargebacks"]
                if earlier["status"] != "reversed"
            ]
        ),
    )
    yield Case(name="held or reversed", rows=6, tags=("held-or-reversed",))
    yield Case(name="raised", rows=6, tags=("raised", "several-problems"), wanted=_not_short)


def _is_raised(*, raised: bool) -> Wanted:
    return lambda one: (one.raised > one.total) is raised


def _alike(number: int, oldest: int = 60) -> Change:
    """So many posted chargebacks of the code that the card will have."""

    def change(dice: Dice, row: Row) -> Row:
        code = POLICY["CODES"].get(Receipt(row).problem, "SH")
        others = [one for one in row["past_chargebacks"] if one["code"] != code]
        days = [oldest, *(dice.between(3, 50) for _ in range(number - 1))]
        alike = [past(dice, row, one, code, "posted") for one in days]
        reversed_ = past(dice, row, dice.between(3, 40), code, dice.pick(("reversed", "held")))
        return row | {"past_chargebacks": dice.shuffled([*others, *alike, reversed_])}

    return change


def _ceilings() -> Iterator[Case]:
    for agreement, amended in (
        ("standard", False),
        ("standard", True),
        ("partner", False),
        ("partner", True),
        ("trial", False),
        ("trial", True),
    ):
        yield Case(
            name=f"card ceiling, {agreement}",
            rows=2,
            change=_large,
            tags=("card-ceiling",),
            wanted=both(agreed(agreement), era(amended=amended), lambda one: not _monthly(one)),
        )
    sides = [
        (agreement, amended) for agreement in ("standard", "trial") for amended in (False, True)
    ]
    for agreement, amended in sides:
        smallest = 4_000 if amended and agreement == "standard" else 2_500
        for less in (0, 1):
            yield Case(
                name=f"smallest {smallest - less}",
                rows=2,
                change=_charged(smallest - less, agreement),
                tags=("boundary-smallest",),
                wanted=both(
                    era(amended=amended),
                    agreed(agreement),
                    _comes_to(smallest - less),
                ),
            )
    yield Case(name="too small", rows=6, tags=("too-small",), wanted=_not_short)
    yield Case(
        name="monthly",
        rows=6,
        change=_little_left,
        tags=("monthly-ceiling",),
        wanted=lambda one: one.cents > 0 and _not_short(one),
    )
    yield Case(
        name="less than the smallest",
        rows=3,
        tags=("monthly-ceiling",),
        wanted=lambda one: 0 < one.cents < min(_smallests(one)),
    )
    yield Case(
        name="used up", rows=7, change=_little_left, tags=("month-used-up",), wanted=_not_short
    )


def _comes_to(cents: int) -> Wanted:
    """This is left before the smallest amount is looked at, and no later ceiling hides it."""
    return lambda one: one.raised == cents and not (_monthly(one) and cents > one.cents > 0)


def _not_short(receipt: Receipt) -> bool:
    """So that not most of the cards are named a shortage."""
    return receipt.problem != "SHORTAGE"


def _little_left(dice: Dice, row: Row) -> Row:
    """A ceiling that one earlier chargeback of the month has nearly reached, or more than that."""
    earlier = past(dice, row, 1, "OL", dice.pick(("posted", "held", "reversed")))
    ceiling = round(earlier["amount"]) + dice.between(-40, 90)
    runs = {"valid_through": days_from(row, dice.between(10, 300)), "monthly_ceiling": ceiling}
    return row | runs | {"past_chargebacks": [*row["past_chargebacks"][:2], earlier]}


def _large(dice: Dice, row: Row) -> Row:
    price = dice.between(1_500, 4_200) / 100
    more = line(dice, row, 8, unit="each", ordered=150, received_before=0, unit_price=price)
    return row | {"order_lines": [*row["order_lines"], more], "monthly_ceiling": None}


def _charged(cents: int, agreement: str) -> Change:
    """A shortage of so many cents in one line, full price; half of it is asked of trial."""

    def change(dice: Dice, row: Row) -> Row:
        value = cents * (2 if agreement == "trial" else 1)
        parts = [one for one in range(6, 40) if value % one == 0]
        missing = dice.pick(parts)
        price = value // missing / 100
        ordered = 30 + 5 * dice.between(1, 20)
        first = line(
            dice, row, 1, unit="each", ordered=ordered, received_before=0, unit_price=price
        )
        closed = line(dice, row, 2, status="closed")
        return row | {
            "order_lines": [closed, first],
            "count": max(1, ordered - missing),
            "count_unit": "each",
            "agreement": agreement,
        }

    return change


def _others() -> Iterator[Case]:
    """So that every answer is met often enough, and none too often."""
    yield Case(name="equal charges", rows=3, tags=("equal-charges",))
    for arrived in ("2026-03-15", "2026-03-16"):
        yield Case(
            name=f"bulletin {arrived}",
            rows=4,
            change=_arrives(arrived),
            tags=("boundary-bulletin",),
            wanted=cell("arrived_on", arrived),
        )
    yield Case(name="no problem", rows=12, wanted=is_("NO PROBLEM"))
    yield Case(name="misrouted", rows=14, change=_elsewhere, wanted=is_("MISROUTED"))
    yield Case(name="overage", rows=8, wanted=both(is_("OVERAGE"), in_money))


def _arrives(arrived: str) -> Change:
    """The same receipt on another day: its own days keep their distance where they can."""
    return lambda _, row: row | {"arrived_on": arrived}
