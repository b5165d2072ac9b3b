"""Tags, each with when it is put on a row, and the cases of which rows are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from bundled_domains.generator import Dice

from .traffic import (
    CHECK,
    CONSTANTS,
    POLICY,
    READINGS,
    Row,
    Traffic,
    add_check,
    days_from,
    expected,
    measure,
    spoken,
    told,
)

Change: TypeAlias = Callable[[Dice, Row], Row]
Wanted: TypeAlias = Callable[[Traffic], bool]


# --- tags ------------------------------------------------------------------------------------


def _near(name: str, measured: Callable[[Traffic], Iterable[Any]]) -> Wanted:
    """Of the numbers of this name, one that is one off would lead elsewhere."""

    def wanted(traffic: Traffic) -> bool:
        if not traffic.sources:
            return False
        known = CONSTANTS[name] if isinstance(CONSTANTS[name], tuple) else (CONSTANTS[name],)
        # What lies further away is not decided by it, and need not be tried.
        if all(abs(one - limit) > 1 for one in measured(traffic) for limit in known):
            return False
        return any(traffic.under(**{name: other}) for other in near(CONSTANTS[name]))

    return wanted


def near(value: Any) -> Iterator[Any]:
    """A number that is one off, or a list of numbers in which one is."""
    if isinstance(value, tuple):
        numbers = cast("tuple[int, ...]", value)
        for place, one in enumerate(numbers):
            for other in (one + 1, one - 1):
                yield (*numbers[:place], other, *numbers[place + 1 :])
    else:
        yield from (value + 1, value - 1)


def _looked_at(traffic: Traffic) -> bool:
    return bool(traffic.sources)


def _rated(traffic: Traffic) -> bool:
    """Baselines are asked for and the score is added up."""
    return bool(traffic.sources) and traffic.risk != "UNRATED"


def _idle_sources(traffic: Traffic) -> bool:
    few = POLICY["FEWEST_CLICKS"]
    held = any(one["state"] != "live" and one["clicks"] >= few for one in traffic.row["sources"])
    return held and traffic.answers_otherwise(sources=traffic.with_each("sources", state="live"))


def _attempts(traffic: Traffic, number: str) -> int:
    """How often a source that is looked at was checked."""
    calls = (one["arguments"] for one in traffic.calls if one["name"] == "verify_source")
    return sum(one["source_id"] == number for one in calls)


def _unchecked(traffic: Traffic) -> list[Row]:
    return [one for one in traffic.sources if not traffic.check(one)]


def _second_answer(traffic: Traffic) -> bool:
    """A source was busy once, and what the second attempt says matters."""
    twice = [one["source_id"] for one in traffic.sources if traffic.check(one)]
    twice = [number for number in twice if _attempts(traffic, number) > 1]
    silent = [
        one | dict.fromkeys(CHECK) if one["source_id"] in twice else one
        for one in traffic.row["checks"]
    ]
    return bool(twice) and traffic.answers_otherwise(checks=silent)


def _other_channel(channel: str) -> Wanted:
    """As websites, sources of this channel would lead elsewhere."""

    def wanted(traffic: Traffic) -> bool:
        if all(one["channel"] != channel for one in traffic.sources):
            return False
        sources = [
            one | {"channel": "website"} if one["channel"] == channel else one
            for one in traffic.row["sources"]
        ]
        return traffic.answers_otherwise(sources=sources)

    return wanted


def _says(traffic: Traffic) -> str:
    """Of what a note tells about a source, whoever wrote it."""
    found = (
        one["says"]
        for one, (_, words) in zip(READINGS, POLICY["PATTERNS"], strict=True)
        if words.fullmatch(traffic.row["note"])
    )
    return next(found, "")


def _owned_up(traffic: Traffic) -> bool:
    return bool(traffic.sources) and bool(traffic.findings.owned_up)


def _owned_up_alone(traffic: Traffic) -> bool:
    """It matters that the partner owned up."""
    return _owned_up(traffic) and traffic.answers_otherwise(note_by="analyst")


def _owned_up_unchecked(traffic: Traffic) -> bool:
    if not _owned_up(traffic):
        return False
    silent = {one["source_id"] for one in _unchecked(traffic)}
    return not silent.isdisjoint(traffic.findings.spoofed)


def _accused(traffic: Traffic) -> bool:
    by = traffic.row["note_by"]
    told_of = by != "partner" and _looked_at(traffic) and _says(traffic) == "bought"
    return told_of and traffic.answers_otherwise(note_by="partner")


def _other_source_confessed(traffic: Traffic) -> bool:
    """The partner confesses of a source that is not looked at."""
    told_of = traffic.row["note_by"] == "partner" and _says(traffic) == "bought"
    return told_of and _looked_at(traffic) and not _owned_up(traffic)


def _told_of(traffic: Traffic, by: str, says: str) -> bool:
    """Such a note was written by this person, and the case is rated."""
    return traffic.row["note_by"] == by and _rated(traffic) and _says(traffic) == says


def _promotion(traffic: Traffic) -> bool:
    told_of = _told_of(traffic, "manager", "announced")
    return told_of and traffic.answers_otherwise(note_by="analyst")


def _promotion_by_others(traffic: Traffic) -> bool:
    by = traffic.row["note_by"]
    told_of = by != "manager" and _rated(traffic) and _says(traffic) == "announced"
    return told_of and traffic.answers_otherwise(note_by="manager")


def _too_late(traffic: Traffic) -> bool:
    return _told_of(traffic, "manager", "announced") and traffic.under(NOTICE_DAYS=-30)


def _baseline_day(traffic: Traffic) -> bool:
    """A baseline of the window itself, which would make a spike."""
    first = traffic.row["window_first"]
    late = any(one["computed_on"] >= first for one in traffic.row["baselines"])
    earlier = [
        one | {"computed_on": min(one["computed_on"], days_from(first, -1))}
        for one in traffic.row["baselines"]
    ]
    return late and _rated(traffic) and traffic.differs(baselines=earlier)


def _old_baseline(traffic: Traffic) -> bool:
    return _rated(traffic) and traffic.under(OLD_DAYS=9_999)


def _unit(unit: str) -> Wanted:
    """Were it per day, a baseline that is not would lead elsewhere."""

    def wanted(traffic: Traffic) -> bool:
        if not _rated(traffic) or all(one["per"] != unit for one in traffic.row["baselines"]):
            return False
        daily = [
            one | {"per": "day"} if one["per"] == unit else one for one in traffic.row["baselines"]
        ]
        return traffic.answers_otherwise(baselines=daily)

    return wanted


def _unknown_baseline(traffic: Traffic) -> bool:
    if not _rated(traffic):
        return False
    named = [traffic.check(one) for one in traffic.sources]
    known = {one["baseline_id"] for one in traffic.row["baselines"]} | {None}
    return any(one and one["baseline_id"] not in known for one in named)


def _good_business(traffic: Traffic) -> bool:
    return _rated(traffic) and traffic.under(CLICKS_OF_AN_ORDER=0)


def _many_spikes(traffic: Traffic) -> bool:
    return _rated(traffic) and traffic.under(MOST_SPIKES=99)


def _nothing_spoofed(traffic: Traffic) -> bool:
    least = POLICY["LEAST_SCORES"][1]
    return _rated(traffic) and not traffic.findings.spoofed and traffic.score >= least


def _column(traffic: Traffic) -> int:
    """The column of the table, or -1 if it is not looked at."""
    if not _rated(traffic) or traffic.risk == "LOW":
        return -1
    row = traffic.row
    column: int = POLICY["column_of"](row, row, traffic.findings)
    return column


def _history(**cells: Any) -> Wanted:
    """Were each earlier measure so, the answer would be another."""

    def wanted(traffic: Traffic) -> bool:
        return _column(traffic) >= 0 and traffic.answers_otherwise(
            earlier_measures=traffic.with_each("earlier_measures", **cells)
        )

    return wanted


def _appealed(traffic: Traffic) -> bool:
    fewer = [one for one in traffic.row["earlier_measures"] if one["state"] != "under appeal"]
    return _column(traffic) >= 0 and traffic.answers_otherwise(earlier_measures=fewer)


def _had_grace(traffic: Traffic) -> bool:
    none = all(
        POLICY["days"](one["set_on"], traffic.row["case_day"]) > POLICY["COUNTED_DAYS"]
        for one in traffic.row["earlier_measures"]
        if one["state"] != "withdrawn"
    )
    return none and _history(by_grace=False)(traffic)


def _farm(traffic: Traffic) -> bool:
    return _column(traffic) == POLICY["AS_A_RULE"] and traffic.under(FARM=101)


def _in_advance(traffic: Traffic) -> bool:
    return traffic.row["paid"] == "in advance" and traffic.answers_otherwise(paid="in arrears")


def _contract_kept(traffic: Traffic) -> bool:
    if not _owned_up(traffic) or _column(traffic) < 0 or traffic.action != "SOURCE BLOCK":
        return False
    return bool(POLICY["MEASURES"][traffic.risk][_column(traffic)] == "TERMINATION")


def _by_grace(traffic: Traffic) -> bool:
    entered = traffic.called("set_measure")
    return bool(entered and entered["by_grace"])


def _objected(traffic: Traffic) -> bool:
    filed = traffic.called("file_evidence_report") is not None
    return filed and traffic.row["second_reader"] == "objects"


def _stopped(traffic: Traffic) -> bool:
    return traffic.called("set_measure") is not None and traffic.row["entry"] == "stopped"


TAGS: dict[str, Wanted] = {
    "nothing-to-look-at": lambda one: not one.sources,
    "not-live": _idle_sources,
    "busy-once": lambda one: _looked_at(one) and _second_answer(one),
    "unchecked": lambda one: _rated(one) and bool(_unchecked(one)),
    "unrated": lambda one: one.risk == "UNRATED",
    "newsletter": _other_channel("newsletter"),
    "app": _other_channel("app"),
    "owned-up": _owned_up_alone,
    "owned-up-unchecked": _owned_up_unchecked,
    "accused": _accused,
    "another-source-confessed": _other_source_confessed,
    "contract-kept": _contract_kept,
    "promotion": _promotion,
    "promotion-told-by-others": _promotion_by_others,
    "announced-too-late": _too_late,
    "baseline-of-the-window": _baseline_day,
    "old-baseline": _old_baseline,
    "unknown-baseline": _unknown_baseline,
    "per-hour": _unit("hour"),
    "per-week": _unit("week"),
    "good-business": _good_business,
    "many-spikes": _many_spikes,
    "nothing-spoofed": _nothing_spoofed,
    "withdrawn": _history(state="final"),
    "under-appeal": _appealed,
    "by-grace": _by_grace,
    "had-grace": _had_grace,
    "farm": _farm,
    "repeated": lambda one: _column(one) == POLICY["REPEATED"],
    "paid-in-advance": _in_advance,
    "reader-objects": _objected,
    "stopped": _stopped,
    "boundary-clicks": _near(
        "FEWEST_CLICKS", lambda one: (source["clicks"] for source in one.row["sources"])
    ),
    "boundary-unchecked": _near("MOST_UNCHECKED", lambda one: [one.share_of("unchecked")]),
    "boundary-old": _near("OLD_DAYS", lambda one: map(one.age_of, one.row["baselines"])),
    "boundary-announced": lambda one: (
        _told_of(one, "manager", "announced")
        and (any(one.under(NOTICE_DAYS=other) for other in near(CONSTANTS["NOTICE_DAYS"])))
    ),
    "boundary-spoofed-share": _near("SPOOFED_SHARES", lambda one: [one.share_of("spoofed")]),
    "boundary-doubtful-share": _near("DOUBTFUL_SHARES", lambda one: [one.share_of("doubtful")]),
    "boundary-newcomer": _near("NEWCOMER_DAYS", lambda one: [one.days_of_joining]),
    "boundary-score": lambda one: (
        _rated(one) and _near("LEAST_SCORES", lambda one: [one.score])(one)
    ),
    "boundary-history": _near(
        "COUNTED_DAYS",
        lambda one: (
            POLICY["days"](before["set_on"], one.row["case_day"])
            for before in one.row["earlier_measures"]
        ),
    ),
    "boundary-farm": _near(
        "FARM",
        lambda one: (check["server_share"] for check in one.findings.checks.values()),
    ),
}


def tags_of(traffic: Traffic) -> set[str]:
    """Every tag that is true of a case."""
    return {tag for tag, holds in TAGS.items() if holds(traffic)}


# --- changes ---------------------------------------------------------------------------------


def each(*changes: Change) -> Change:
    """One change after the other."""

    def change(dice: Dice, row: Row) -> Row:
        for one in changes:
            row = one(dice, row)
        return row

    return change


def fixed(**cells: Any) -> Change:
    """Change these cells, whatever stood in them."""
    return lambda _, row: row | cells


SETTLED = fixed(second_reader="agrees", entry="in force")
"""Nobody stands in the way of the measure."""

NO_HISTORY = fixed(earlier_measures=[])


def _some(dice: Dice, row: Row, wanted: Callable[[Row], bool] = lambda _: True) -> Row:
    """A source of the row that is looked at; any, if none is as wanted."""
    sources = Traffic(row).sources
    return dice.pick([one for one in sources if wanted(one)] or sources)


def _with(row: Row, table: str, key: str, value: Any, **cells: Any) -> Row:
    """The row with these cells in the records of a table that have the value."""
    changed = [one | cells if one[key] == value else one for one in row[table]]
    return row | {table: changed}


def source(**cells: Any) -> Change:
    """Change a source that is looked at."""

    def change(dice: Dice, row: Row) -> Row:
        return _with(row, "sources", "source_id", _some(dice, row)["source_id"], **cells)

    return change


def checked(cells: Row, channel: str = "website") -> Change:
    """Change the check of a source of this channel; what is not said is good."""

    def change(dice: Dice, row: Row) -> Row:
        number = _some(dice, row, lambda one: one["channel"] == channel)["source_id"]
        checks = [
            one | {"referrer_match": 88, "server_share": 3} | cells
            if one["source_id"] == number and one["referrer_match"] is not None
            else one
            for one in row["checks"]
        ]
        return _with(row | {"checks": checks}, "sources", "source_id", number, channel=channel)

    return change


def busy(times: int) -> Change:
    """A source that is looked at is busy so many times."""

    def change(dice: Dice, row: Row) -> Row:
        number = _some(dice, row)["source_id"]
        answered = next(one for one in reversed(row["checks"]) if one["source_id"] == number)
        row = row | {"checks": [one for one in row["checks"] if one["source_id"] != number]}
        add_check(row, number, {name: answered[name] for name in CHECK}, busy=times)
        return row

    return change


def _with_baseline(dice: Dice, row: Row) -> tuple[Row, Row] | None:
    """A source that is looked at, and its baseline."""
    traffic = Traffic(row)
    pairs = [(one, traffic.baseline(one)) for one in traffic.sources]
    known = [(one, found) for one, found in pairs if found is not None]
    return dice.pick(known) if known else None


def baselined(**cells: Any) -> Change:
    """Change a baseline."""

    def change(dice: Dice, row: Row) -> Row:
        found = _with_baseline(dice, row)
        if found is None:
            return row
        return _with(row, "baselines", "baseline_id", found[1]["baseline_id"], **cells)

    return change


def computed(days: int) -> Change:
    """A baseline was computed so many days before the window."""
    return lambda dice, row: baselined(computed_on=days_from(row["window_first"], -days))(dice, row)


def grown(fold: int, more: int = 0, *, orders: int | None = None) -> Change:
    """A source has so many times the clicks that were expected, and some more."""

    def change(dice: Dice, row: Row) -> Row:
        found = _with_baseline(dice, row)
        if found is None:
            return row
        one, known = found
        # A multiple of 28 is a whole number of days in weeks, and of old clicks.
        usual = known | {"clicks": -(-known["clicks"] // 28) * 28}
        row = _with(row, "baselines", "baseline_id", known["baseline_id"], clicks=usual["clicks"])
        clicks = int(fold * expected(row, usual)) + more
        if orders is not None:
            clicks += -clicks % 50
        sold = clicks // 400 if orders is None else clicks // 50 + orders
        return _with(
            row, "sources", "source_id", one["source_id"], clicks=clicks, orders=max(0, sold)
        )

    return change


def noted(says: str, by: str, days: int | None = None, *, looked_at: bool = True) -> Change:
    """Somebody says so of a source, announced so many days before the window."""
    readings = [one for one in READINGS if (one["says"], one["by"]) == (says, by)]

    def change(dice: Dice, row: Row) -> Row:
        others = [one for one in row["sources"] if not POLICY["is_looked_at"](one)]
        named = _some(dice, row) if looked_at or not others else dice.pick(others)
        before = dice.between(2, 12) if days is None else days
        day = spoken(days_from(row["window_first"], -before))
        return row | told(dice, row, dice.pick(readings), source=named["name"], day=day)

    return change


def _filler(traffic: Traffic) -> Row | None:
    """A genuine source without a baseline, whose clicks decide nothing but the shares."""
    found = traffic.findings
    aside = {*found.spoofed, *POLICY["doubtful_of"](found)}
    for one in traffic.sources:
        check = traffic.check(one)
        if check and check["baseline_id"] is None and one["source_id"] not in aside:
            return one
    return None


def shared(kind: str, percent: int, more: int) -> Change:
    """Sources of a kind have just this share of the clicks, or with some more clicks less."""

    def change(_: Dice, row: Row) -> Row:
        traffic = Traffic(row)
        part = traffic.clicks_of(traffic.numbers_of(kind))
        filler = _filler(traffic)
        if filler is None or 100 * part % percent:
            return row
        clicks = filler["clicks"] + 100 * part // percent + more
        clicks -= sum(one["clicks"] for one in traffic.sources)
        return _with(row, "sources", "source_id", filler["source_id"], clicks=clicks)

    return change


def sold(per: int, more: int) -> Change:
    """One order for just so many of the clicks, and some more clicks."""

    def change(_: Dice, row: Row) -> Row:
        traffic = Traffic(row)
        filler = _filler(traffic)
        if filler is None:
            return row
        clicks = sum(one["clicks"] for one in traffic.sources)
        orders = sum(one["orders"] for one in traffic.sources)
        wanted = -(-clicks // per)
        return _with(
            row,
            "sources",
            "source_id",
            filler["source_id"],
            orders=filler["orders"] + wanted - orders,
            clicks=filler["clicks"] + per * wanted + more - clicks,
        )

    return change


def history(*measures: Row) -> Change:
    """These earlier measures, each with its days before the case."""

    def change(dice: Dice, row: Row) -> Row:
        found = [measure(dice, row, **one) for one in measures]
        joined = min([row["joined_on"], *(days_from(one["set_on"], -9) for one in found)])
        return row | {"earlier_measures": dice.shuffled(found), "joined_on": joined}

    return change


def joined(days: int) -> Change:
    """The partner joined so many days before the window."""

    def change(_: Dice, row: Row) -> Row:
        day = days_from(row["window_first"], -days)
        kept = [one for one in row["earlier_measures"] if one["set_on"] > day]
        return row | {"joined_on": day, "earlier_measures": kept}

    return change


def holds_together(row: Row) -> bool:
    """Whether no source has fewer clicks than nothing, nor orders, nor a day after the case."""
    counts = [one[name] for one in row["sources"] for name in ("clicks", "orders")]
    days = [one["computed_on"] for one in row["baselines"]]
    days += [one["set_on"] for one in row["earlier_measures"]]
    return min(counts) >= 0 and all(day <= row["case_day"] for day in days)


# --- cases -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """At least so many rows of one kind: what is changed in a drawn case, and which are kept."""

    name: str
    rows: int
    change: Change = lambda _, row: row
    wanted: Wanted = lambda _: True
    tags: tuple[str, ...] = ()
    partners: tuple[str, ...] = ("",)

    def keeps(self, traffic: Traffic) -> bool:
        return self.wanted(traffic) and all(TAGS[tag](traffic) for tag in self.tags)


def both(*every: Wanted) -> Wanted:
    """All of these."""
    return lambda one: all(wanted(one) for wanted in every)


def under(**constants: Any) -> Wanted:
    """The outcome would be another, had the desk other numbers."""
    return lambda one: one.under(**constants)


def written_by(by: str) -> Wanted:
    """The note is of this person."""
    return lambda one: bool(one.row["note_by"] == by)


def risk(*risks: str) -> Wanted:
    """The risk is one of these."""
    return lambda one: one.risk in risks


def action(*actions: str) -> Wanted:
    """The action is one of these."""
    return lambda one: one.action in actions


def at(column: str) -> Wanted:
    """The measure is of this column of the table."""
    return lambda one: bool(_column(one) == POLICY[column])


def cases() -> Iterator[Case]:
    """In the order of the text."""
    yield from _sources()
    yield from _checks()
    yield from _confessions()
    yield from _baselines()
    yield from _promotions()
    yield from _scores()
    yield from _measures()
    yield from _registers()


def _sources() -> Iterator[Case]:
    def nothing(dice: Dice, row: Row) -> Row:
        sources = [
            one
            | ({"state": dice.pick(("paused", "closed"))} if POLICY["is_looked_at"](one) else {})
            for one in row["sources"][: dice.between(1, 4)]
        ]
        return row | {"sources": sources}

    yield Case(name="nothing to look at", rows=4, change=nothing, tags=("nothing-to-look-at",))
    yield Case(name="not live", rows=4, tags=("not-live",))
    for clicks, other in ((39, 39), (40, 41)):
        yield Case(
            name=f"{clicks} clicks",
            rows=3,
            change=source(clicks=clicks),
            wanted=under(FEWEST_CLICKS=other),
        )


def _checks() -> Iterator[Case]:
    limits = (
        ("referrer_match", "SPOOFED_MATCH", (39, 39), (40, 41)),
        ("referrer_match", "DOUBTFUL_MATCH", (69, 69), (70, 71)),
        ("server_share", "SPOOFED_SERVERS", (25, 26), (24, 24)),
        ("server_share", "DOUBTFUL_SERVERS", (10, 11), (9, 9)),
    )
    for column, name, *sides in limits:
        for value, other in sides:
            yield Case(
                name=f"{column} {value}",
                rows=3,
                change=checked({column: value}),
                wanted=under(**{name: other}),
            )
    yield Case(name="newsletter", rows=5, tags=("newsletter",))
    yield Case(name="app", rows=5, tags=("app",))
    yield Case(name="busy once", rows=5, change=busy(1), tags=("busy-once",))
    yield Case(name="unchecked", rows=6, change=busy(2), tags=("unchecked",), wanted=_risky)
    yield Case(name="unrated", rows=9, change=each(busy(2), busy(2)), tags=("unrated",))
    for more, other in ((0, 24), (-1, 26)):
        yield Case(
            name=f"a quarter unchecked, {more}",
            rows=3,
            change=each(busy(2), shared("unchecked", 25, more)),
            wanted=under(MOST_UNCHECKED=other),
        )


def _risky(traffic: Traffic) -> bool:
    return traffic.risk in {"GUARDED", "HIGH", "SEVERE"}


def _confessions() -> Iterator[Case]:
    owned_up = noted("bought", "partner")
    yield Case(name="owned up", rows=6, change=owned_up, tags=("owned-up",))
    yield Case(
        name="owned up, unchecked",
        rows=4,
        change=each(busy(2), owned_up),
        tags=("owned-up-unchecked",),
        wanted=lambda one: one.answers_otherwise(note_by="analyst"),
    )
    for by in ("merchant", "analyst", "manager"):
        yield Case(
            name=f"accused by a {by}",
            rows=2,
            change=noted("bought", by),
            tags=("accused",),
            wanted=written_by(by),
        )
    yield Case(
        name="another source",
        rows=4,
        change=noted("bought", "partner", looked_at=False),
        tags=("another-source-confessed",),
        partners=("mixed", "bad"),
    )
    yield Case(
        name="contract kept",
        rows=4,
        change=each(owned_up, SETTLED),
        tags=("contract-kept",),
        partners=("bad",),
    )


def _baselines() -> Iterator[Case]:
    for days, other in ((60, 59), (61, 61)):
        yield Case(
            name=f"baseline of {days} days",
            rows=3,
            change=computed(days),
            wanted=under(OLD_DAYS=other),
        )
    for days in (0, -1):
        yield Case(
            name=f"baseline {days}",
            rows=3,
            change=computed(days),
            tags=("baseline-of-the-window",),
        )
    yield Case(
        name="baseline of the day before",
        rows=3,
        change=computed(1),
        wanted=lambda one: one.differs(
            baselines=[
                known | {"computed_on": days_from(known["computed_on"], 1)}
                for known in one.row["baselines"]
            ]
        ),
    )
    yield Case(name="unknown baseline", rows=4, tags=("unknown-baseline",), wanted=_risky)
    yield Case(name="per hour", rows=5, tags=("per-hour",))
    yield Case(name="per week", rows=5, tags=("per-week",))
    yield Case(name="old baseline", rows=5, tags=("old-baseline",))
    for fold, name in ((3, "SPIKE"), (6, "SURGE")):
        yield Case(
            name=f"{fold} times",
            rows=3,
            change=grown(fold),
            wanted=just(fold),
        )
        yield Case(
            name=f"{fold} times but for one",
            rows=3,
            change=grown(fold, -1),
            wanted=under(**{name: fold - 1}),
        )
    for fold in (3, 6):
        for orders in (0, -1):
            yield Case(
                name=f"good business {fold} {orders}",
                rows=2,
                change=grown(fold, 40, orders=orders),
                wanted=under(CLICKS_OF_AN_ORDER=51 if orders else 49),
            )
    yield Case(
        name="good business",
        rows=4,
        change=lambda dice, row: grown(dice.pick((3, 6)), 40, orders=2)(dice, row),
        tags=("good-business",),
    )
    yield Case(name="many spikes", rows=4, tags=("many-spikes",), partners=("bad",))


def just(fold: int) -> Wanted:
    """A source with just so many times the clicks has its spike for that."""

    def wanted(traffic: Traffic) -> bool:
        if not _rated(traffic):
            return False
        known = ((one, traffic.baseline(one)) for one in traffic.sources)
        exact = {
            one["source_id"]
            for one, found in known
            if found and one["clicks"] == fold * expected(traffic.row, found)
        }
        fewer = [
            one | {"clicks": one["clicks"] - (one["source_id"] in exact)}
            for one in traffic.row["sources"]
        ]
        return bool(exact) and traffic.differs(sources=fewer)

    return wanted


def _promotions() -> Iterator[Case]:
    announced = noted("announced", "manager")
    yield Case(name="promotion", rows=6, change=announced, tags=("promotion",))
    for by in ("partner", "merchant", "analyst"):
        yield Case(
            name=f"promotion told by a {by}",
            rows=2,
            change=noted("announced", by),
            tags=("promotion-told-by-others",),
            wanted=written_by(by),
        )
    for days, other in ((2, 3), (1, 1)):
        yield Case(
            name=f"announced {days} days before",
            rows=3,
            change=noted("announced", "manager", days),
            wanted=under(NOTICE_DAYS=other),
        )
    yield Case(
        name="announced in the window",
        rows=3,
        change=noted("announced", "manager", -1),
        tags=("announced-too-late",),
    )


def _scores() -> Iterator[Case]:
    for kind, name in (("spoofed", "SPOOFED_SHARES"), ("doubtful", "DOUBTFUL_SHARES")):
        limits = CONSTANTS[name]
        for place, percent in enumerate(limits):
            for more in (0, 1):
                other = percent + 1 - 2 * more
                changed = (*limits[:place], other, *limits[place + 1 :])
                yield Case(
                    name=f"{percent} % {kind}, {more}",
                    rows=3,
                    change=shared(kind, percent, more),
                    wanted=under(**{name: changed}),
                )
    for place, per in enumerate(CONSTANTS["ORDERS"]):
        for more, step in ((0, -1), (1, 1)):
            limits = CONSTANTS["ORDERS"]
            changed = (*limits[:place], per + step, *limits[place + 1 :])
            yield Case(
                name=f"an order for {per}, {more}",
                rows=3,
                change=sold(per, more),
                wanted=under(ORDERS=changed),
            )
    for place, days in enumerate(CONSTANTS["NEWCOMER_DAYS"]):
        for more, step in ((0, 1), (-1, -1)):
            limits = CONSTANTS["NEWCOMER_DAYS"]
            changed = (*limits[:place], days + step, *limits[place + 1 :])
            yield Case(
                name=f"newcomer of {days + more} days",
                rows=2,
                change=joined(days + more),
                wanted=under(NEWCOMER_DAYS=changed),
            )
    for place, least in enumerate(CONSTANTS["LEAST_SCORES"]):
        for score in (least, least - 1):
            yield Case(
                name=f"score {score}",
                rows=4,
                wanted=scored(score, place),
            )
    yield Case(
        name="nothing spoofed",
        rows=5,
        tags=("nothing-spoofed",),
        change=each(noted("announced", "partner"), grown(6), grown(6)),
        partners=("clean", "busy"),
    )


def scored(score: int, place: int) -> Wanted:
    """The score lies beside a limit, and the other side would be answered otherwise."""
    limits = list(CONSTANTS["LEAST_SCORES"])
    limits[place] = score + 1 if score == limits[place] else score

    def wanted(traffic: Traffic) -> bool:
        beside = _rated(traffic) and traffic.score == score
        return beside and traffic.under(LEAST_SCORES=tuple(limits))

    return wanted


def _measures() -> Iterator[Case]:
    for days, other in ((365, 364), (366, 366)):
        yield Case(
            name=f"set {days} days ago",
            rows=3,
            change=history({"days": days}),
            wanted=under(COUNTED_DAYS=other),
        )
    grace = {"by_grace": True}
    yield Case(
        name="withdrawn",
        rows=4,
        change=history({"days": 90, "state": "withdrawn"}),
        tags=("withdrawn",),
    )
    yield Case(
        name="grace withdrawn",
        rows=4,
        change=history({"days": 700, "state": "withdrawn", **grace}),
        wanted=both(
            lambda one: _column(one) == POLICY["BY_GRACE"],
            lambda one: any(measure["by_grace"] for measure in one.row["earlier_measures"]),
        ),
    )
    yield Case(
        name="had grace", rows=5, change=history({"days": 800, **grace}), tags=("had-grace",)
    )
    yield Case(
        name="under appeal",
        rows=4,
        change=history({"days": 60, "state": "under appeal"}),
        tags=("under-appeal",),
    )
    columns = (
        ("by grace", "BY_GRACE", NO_HISTORY),
        ("as a rule", "AS_A_RULE", history({"days": 200})),
        ("repeated", "REPEATED", history({"days": 300}, {"days": 40})),
    )
    for name in ("GUARDED", "HIGH", "SEVERE"):
        for said, column, before in columns:
            yield Case(
                name=f"{said}, {name}",
                rows=5,
                change=each(SETTLED, before),
                wanted=both(risk(name), at(column)),
            )
    for servers, other in ((60, 61), (59, 59)):
        yield Case(
            name=f"farm of {servers}",
            rows=3,
            change=each(checked({"server_share": servers}), NO_HISTORY),
            wanted=under(FARM=other),
        )
    yield Case(
        name="farm",
        rows=6,
        change=each(checked({"server_share": 77}), NO_HISTORY, SETTLED),
        tags=("farm",),
    )
    yield Case(
        name="farm that is an app",
        rows=3,
        change=each(checked({"server_share": 90}, "app"), NO_HISTORY, SETTLED),
        wanted=both(at("BY_GRACE"), _has_busy_gateway),
    )
    for name, changes in (
        ("HIGH", NO_HISTORY),
        ("GUARDED", history({"days": 300}, {"days": 40})),
    ):
        yield Case(
            name=f"in advance, {name}",
            rows=4,
            change=each(SETTLED, changes, fixed(paid="in advance")),
            wanted=risk(name),
            tags=("paid-in-advance",),
        )


def _has_busy_gateway(traffic: Traffic) -> bool:
    """An app whose server share would be that of a farm."""
    checks = [traffic.check(one) for one in traffic.sources if one["channel"] == "app"]
    return any(one is not None and one["server_share"] >= POLICY["FARM"] for one in checks)


def _registers() -> Iterator[Case]:
    yield Case(
        name="objects",
        rows=14,
        change=fixed(second_reader="objects"),
        tags=("reader-objects",),
        partners=("mixed", "bad"),
    )
    yield Case(
        name="stopped",
        rows=12,
        change=fixed(second_reader="agrees", entry="stopped"),
        tags=("stopped",),
    )
