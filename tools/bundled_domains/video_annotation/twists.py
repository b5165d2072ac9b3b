"""What may be odd about a ticket: how it is put there, and what would stand there otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

from bundled_domains.generator import Dice

from .desk import NOTES, OFFSETS, RELEASED, Plan, Row, review, run, sensor

Put: TypeAlias = Callable[[Dice, Plan], object]

KITE, HERON, PLOVER = (("KITE",), ("HERON",), ("PLOVER",))
STRICT = ("KITE", "PLOVER")
NEW = "R9001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Twist:
    """At least so many rows on which it matters.

    Attributes:
        put: changes a plan.
        instead: puts there what it is told apart from; without it, nothing.
        kind: the projects and the lights for which there is such a thing.
        decides: it matters only if the status would be another.
        plain: whether the row without it says nothing; it matters wherever it is met.
        met: what a row and its status have to be, beside that.
    """

    tag: str
    put: Put
    instead: Put = lambda _, __: None
    rows: int = 2
    kind: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    decides: bool = False
    plain: bool = False
    met: Callable[[Row, str], bool] = lambda _, __: True


def twists() -> tuple[Twist, ...]:
    """In the order in which they are put."""
    return tuple(
        chain(
            _clips(),
            _sensors(),
            _runs(),
            _cuts(),
            _bench(),
            _classes(),
            _people(),
            _scores(),
            _tags(),
            _register(),
        )
    )


def cells(**given: Any) -> Put:
    """Write these cells."""
    return lambda _, plan: plan.update(given)


def both(*puts: Put) -> Put:
    """One after the other."""
    return lambda dice, plan: [put(dice, plan) for put in puts]


def sides(tag: str, first: Put, second: Put, **more: Any) -> Iterator[Twist]:
    """Both sides of a cut-off."""
    yield Twist(tag=tag, put=first, instead=second, **more)
    yield Twist(tag=tag, put=second, instead=first, **more)


# --- the clip ----------------------------------------------------------------------------------


def _clips() -> Iterator[Twist]:
    yield Twist(tag="container", put=cells(container="MOV"), kind={"project": ("KITE", "HERON")})
    yield Twist(tag="container", put=cells(container="AVI"), kind={"project": PLOVER}, rows=1)
    yield Twist(
        tag="mov",
        put=cells(container="MOV"),
        instead=cells(container="AVI"),
        kind={"project": PLOVER},
        rows=3,
    )
    yield from sides(
        "boundary-side",
        cells(sides=(1079, 1920)),
        cells(sides=(1080, 1920)),
        kind={"project": KITE},
    )
    low, lower = (cells(sides=(side, 1280), upright=True) for side in (720, 719))
    for project in ("HERON", "PLOVER"):
        kind = {"project": (project,)}
        yield Twist(tag="upright", put=lower, instead=low, kind=kind)
        yield Twist(tag="boundary-side", put=low, instead=lower, kind=kind)
    for projects, frames in ((("KITE", "HERON"), 200), (PLOVER, 300)):
        yield from sides(
            "boundary-length",
            cells(frames=frames - 1, frame_rate=25),
            cells(frames=frames, frame_rate=25),
            kind={"project": projects},
        )
    for lights, permille in ((("day", "dusk", "dusk"), 20), (("night",), 30)):
        yield from sides(
            "boundary-dropped",
            cells(dropped_permille=permille, dropped_more=1),
            cells(dropped_permille=permille),
            kind={"light": lights},
        )
    yield Twist(tag="no-clip", put=cells(container=None), rows=3)


# --- sensors -----------------------------------------------------------------------------------


def of_kind(plan: Plan, kind: str) -> list[Plan]:
    """The sensors of a kind, if there is a report."""
    return [one for one in plan["sensors"] or () if one["kind"] == kind]


def sensors(kind: str, **given: Any) -> Put:
    """Write these cells of every sensor of a kind."""
    return lambda _, plan: [one.update(given) for one in of_kind(plan, kind)]


def _twin(first: Plan, second: Plan) -> Put:
    def put(dice: Dice, plan: Plan) -> None:
        others = [one for one in plan["sensors"] if one["kind"] != "lidar"]
        twins = [sensor(dice, "lidar", **given) for given in (first, second)]
        plan["sensors"] = [*twins, *others]

    return put


def _sensors() -> Iterator[Twist]:
    radar = {"project": KITE, "light": ("dusk", "night")}
    kinds: Mapping[str, Mapping[str, Sequence[str]]] = {
        "lidar": {},
        "radar": radar,
        "gnss": {"project": PLOVER},
    }
    for kind, needed in kinds.items():
        yield Twist(tag="sensor-off", put=sensors(kind, state="off"), kind=needed, rows=1)
    yield Twist(
        tag="radar-by-day",
        put=sensors("radar", state="off"),
        instead=both(sensors("radar", state="off"), cells(light="dusk")),
        kind={"project": KITE, "light": ("day",)},
        rows=3,
    )
    yield Twist(
        tag="twin",
        put=_twin({"state": "off"}, {}),
        instead=_twin({"state": "off"}, {"state": "off"}),
        rows=3,
    )
    for kind, needed in kinds.items():
        limit = OFFSETS[kind]
        yield from sides(
            "boundary-offset",
            sensors(kind, offset=limit + 0.5, unit="ms"),
            sensors(kind, offset=limit, unit="ms"),
            kind=needed or {"project": PLOVER},
        )
    late, early = (sensors("lidar", offset=offset, unit="us") for offset in (20_000, -20_010))
    yield Twist(tag="microseconds", put=late, instead=early, rows=3)
    yield Twist(tag="early", put=early, instead=late, kind={"project": KITE}, rows=3)
    yield from _stale(radar)


def _stale(radar: Mapping[str, Sequence[str]]) -> Iterator[Twist]:
    def aged(kind: str, days: int) -> Put:
        return sensors(kind, calibrated_before=days)

    yield from sides("boundary-calibrated", aged("lidar", 91), aged("lidar", 90))
    yield from sides("boundary-calibrated", aged("lidar", -1), aged("lidar", 0))
    yield Twist(tag="stale", put=aged("radar", 140), kind=radar)
    yield Twist(tag="stale", put=aged("lidar", 160))
    yield Twist(
        tag="stale-for-nothing",
        put=aged("radar", 200),
        instead=both(aged("radar", 200), cells(light="dusk")),
        kind={"project": KITE, "light": ("day",)},
    )
    yield Twist(
        tag="stale-for-nothing",
        put=aged("gnss", 300),
        instead=both(aged("gnss", 300), aged("lidar", 300)),
        kind={"project": PLOVER},
    )
    yield Twist(
        tag="stale-twin",
        put=_twin({"calibrated_before": 150}, {"offset": 44, "unit": "ms"}),
        instead=_twin({}, {"offset": 44, "unit": "ms"}),
        rows=3,
    )
    yield Twist(tag="no-report", put=cells(sensors=None), rows=3)


# --- runs --------------------------------------------------------------------------------------


def tempting(**given: Any) -> Put:
    """A further run, of the highest version."""
    return lambda dice, plan: plan["runs"].append(run(dice, plan, version=(5, 2)) | given)


def _missing(more: int) -> Put:
    """Of the highest version, so many frames less than 98 % of them."""

    def put(dice: Dice, plan: Plan) -> None:
        tempting(frames_missing=plan["frames"] * 2 // 100 + more)(dice, plan)

    return put


def _all_runs(**given: Any) -> Put:
    return lambda _, plan: [one.update(given) for one in plan["runs"]]


def _pair(first: Plan, second: Plan) -> Put:
    def put(dice: Dice, plan: Plan) -> None:
        plan["runs"] += [run(dice, plan, **given) for given in (first, second)]

    return put


def _runs() -> Iterator[Twist]:
    yield Twist(
        tag="run-not-finished",
        put=tempting(state="running"),
        instead=tempting(),
        rows=3,
    )
    yield Twist(
        tag="other-labels",
        put=tempting(label_set="yard-3"),
        instead=tempting(),
        rows=3,
    )
    yield from sides("boundary-archived", tempting(started_after=-1), tempting(started_after=0))
    yield from sides("boundary-done", _missing(1), _missing(0))
    yield Twist(
        tag="better-labels-first",
        put=tempting(label_set="street-14"),
        instead=tempting(),
        kind={"project": HERON},
        rows=3,
    )
    yield Twist(
        tag="labels-that-will-do",
        put=_all_runs(label_set="street-14"),
        instead=_all_runs(label_set="street-9"),
        kind={"project": HERON},
        rows=3,
    )
    tenth, ninth, eighth = ({"version": (6, part)} for part in (10, 9, 8))
    yield Twist(tag="version", put=_pair(tenth, ninth), instead=_pair(eighth, ninth), rows=3)
    yield Twist(
        tag="older-version",
        put=_pair(tenth | {"started_after": 1}, ninth | {"started_after": 3}),
        instead=_pair(ninth | {"started_after": 1}, tenth | {"started_after": 3}),
        rows=3,
    )
    old, new = (tenth | {"started_after": days} for days in (1, 2))
    yield Twist(
        tag="same-version",
        put=_pair(old | {"number": 950}, new | {"number": 940}),
        instead=_pair(new | {"number": 950}, old | {"number": 940}),
        rows=3,
    )
    yield Twist(
        tag="same-day",
        put=_pair(new | {"number": 950}, new | {"number": 940}),
        instead=_pair(new | {"number": 940}, new | {"number": 950}),
        rows=3,
    )
    yield Twist(tag="no-run", put=_all_runs(state="running"), rows=2)
    yield Twist(tag="no-run", put=cells(runs=[]), rows=1)


# --- cutting -----------------------------------------------------------------------------------


def _cuts() -> Iterator[Twist]:
    def reached(row: Row, _: str) -> bool:
        return bool(row["runs"])

    yield Twist(
        tag="dusk-on-motorways",
        put=cells(light="dusk"),
        instead=cells(light="day"),
        kind={"project": PLOVER, "light": ("dusk",)},
        rows=3,
    )
    yield Twist(
        tag="dark-but-not-bought",
        put=cells(light="night"),
        kind={"project": HERON, "light": ("night",)},
        rows=4,
        plain=True,
        met=reached,
    )
    yield from sides(
        "boundary-dense",
        _all_runs(per_frame=12, objects_more=1),
        _all_runs(per_frame=12, objects_more=0),
        kind={"light": ("day",)},
    )
    rich = _all_runs(per_frame=15)
    poor = _all_runs(per_frame=5)
    yield Twist(tag="busy", put=cells(outcomes=("busy", "done")), rows=3)
    yield Twist(
        tag="busy-twice",
        put=cells(outcomes=("busy", "busy")),
        instead=cells(outcomes=("busy", "done")),
        rows=3,
    )
    yield Twist(
        tag="too-large",
        put=both(rich, cells(outcomes=("too_large", "done"))),
        instead=both(rich, cells(outcomes=("busy", "done"))),
        rows=4,
    )
    yield Twist(
        tag="too-large-twice",
        put=both(rich, cells(outcomes=("too_large", "too_large"))),
        instead=both(rich, cells(outcomes=("too_large", "done"))),
        rows=3,
    )
    yield Twist(
        tag="nothing-smaller",
        put=both(poor, cells(outcomes=("too_large", "done"))),
        instead=both(rich, cells(outcomes=("too_large", "done"))),
        kind={"light": ("day",)},
        rows=3,
    )
    yield Twist(tag="cutting-fails", put=cells(outcomes=("failed", "done")))
    yield Twist(
        tag="cutting-fails",
        put=cells(outcomes=("busy", "failed")),
        instead=cells(outcomes=("busy", "done")),
    )


# --- the bench ---------------------------------------------------------------------------------


def _bench() -> Iterator[Twist]:
    old = 7
    yield Twist(tag="old-measurement", put=cells(measured=(old, 0)), rows=4)
    yield Twist(tag="old-measurement", put=cells(measured=(1, 0)), rows=2)
    yield Twist(
        tag="old-twice",
        put=cells(measured=(old, 1)),
        instead=cells(measured=(old, 0)),
        rows=3,
    )
    yield Twist(tag="bench-fails", put=cells(measured=(None, 0)))
    yield Twist(
        tag="bench-fails",
        put=cells(measured=(old, None)),
        instead=cells(measured=(old, 0)),
    )


def _class(name: str, permille: float, instances: int) -> Put:
    return lambda _, plan: plan["classes"].__setitem__(name, [permille, instances])


def _without(name: str) -> Put:
    return lambda _, plan: plan["classes"].pop(name)


def _edge(pixels: float) -> Put:
    return cells(edge=pixels)


def _classes() -> Iterator[Twist]:
    for name, permille in (("person", 980), ("cyclist", 700), ("sign", 640)):
        yield from sides("boundary-instances", _class(name, permille, 4), _class(name, permille, 5))
    yield Twist(
        tag="few-vehicles",
        put=_class("vehicle", 710, 2),
        instead=_without("vehicle"),
        rows=3,
    )
    yield from sides("boundary-edge", _edge(2.4), _edge(2.5))
    yield Twist(tag="ragged", put=_edge(4.6), instead=_edge(4.4))
    yield Twist(tag="ragged", put=_edge(5.3), instead=_edge(4.4), rows=3)
    yield from sides("boundary-person", _class("person", 599, 9), _class("person", 600, 9))
    yield Twist(
        tag="persons-left-out",
        put=_class("person", 410, 4),
        instead=_class("person", 410, 6),
        rows=3,
    )


# --- the people --------------------------------------------------------------------------------


def further(grade: str, off: int | None, **given: Any) -> Put:
    """A further review by somebody new, whose mark lies so far from the first one."""

    def put(dice: Dice, plan: Plan) -> None:
        number, mark = 1 + len(plan["reviews"]), plan["reviews"][0]["mark"]
        new = review(dice, number, grade, None if off is None else mark + off)
        plan["reviews"].append(new | {"reviewer": NEW} | given)

    return put


def _again(off: int, *, same: bool) -> Put:
    """An earlier review that one of the reviewers, or somebody else, has written."""

    def put(dice: Dice, plan: Plan) -> None:
        first = plan["reviews"][0]
        earlier = review(dice, 0, first["grade"], first["mark"] + off)
        plan["reviews"].append(earlier | {"reviewer": first["reviewer"] if same else NEW})

    return put


def _only(*grades: str) -> Put:
    """Reviews of these grades alone, of much the same mark."""

    def put(dice: Dice, plan: Plan) -> None:
        mark = plan["reviews"][0]["mark"]
        plan["reviews"] = [
            review(dice, number, grade, mark - dice.below(4))
            for number, grade in enumerate(grades, start=1)
        ]

    return put


def _marks(*marks: tuple[str, int]) -> Put:
    def put(dice: Dice, plan: Plan) -> None:
        plan["reviews"] = [
            review(dice, number, grade, mark) for number, (grade, mark) in enumerate(marks, start=1)
        ]

    return put


def _people() -> Iterator[Twist]:
    yield Twist(tag="second-thoughts", put=_again(-9, same=True), instead=_again(-9, same=False))
    yield Twist(tag="second-thoughts", put=_again(-30, same=True), instead=_again(-30, same=False))
    seen = {"percent_seen": 10}
    yield from sides(
        "boundary-seen",
        further("senior", -10, **seen, seen_more=-1),
        further("senior", -10, **seen),
    )
    yield Twist(
        tag="trainee",
        put=further("trainee", -11),
        instead=further("senior", -11),
        kind={"project": STRICT},
        rows=3,
    )
    yield Twist(
        tag="trainee-counts",
        put=further("trainee", -8),
        kind={"project": HERON},
        rows=3,
    )
    yield Twist(
        tag="no-mark",
        put=both(_only("senior"), further("lead", None)),
        instead=both(_only("senior"), further("lead", 0)),
        rows=3,
    )
    yield Twist(
        tag="nobody-counts",
        put=_only("trainee", "trainee", "trainee"),
        kind={"project": STRICT},
        rows=2,
    )
    yield from sides(
        "boundary-voices",
        _only("senior", "senior"),
        _only("senior", "senior", "senior"),
        kind={"project": KITE},
    )
    yield from sides(
        "boundary-voices",
        _only("senior"),
        _only("senior", "senior"),
        kind={"project": ("HERON", "PLOVER")},
    )
    yield Twist(
        tag="lead-has-two",
        put=_only("lead", "senior"),
        instead=_only("senior", "senior"),
        kind={"project": KITE},
    )
    yield Twist(
        tag="lead-has-two",
        put=_only("lead"),
        instead=_only("senior"),
        kind={"project": ("HERON", "PLOVER")},
    )
    yield Twist(
        tag="lead-has-but-two",
        put=_only("lead"),
        instead=_only("lead", "senior"),
        kind={"project": KITE},
        rows=3,
    )
    apart, near = (("senior", 74), ("senior", 95), ("senior", 90)), (("senior", 75), ("senior", 95))
    yield from sides("boundary-gap", _marks(*apart), _marks(*near, ("senior", 90)))
    with_lead = (("senior", 70), ("lead", 93), ("senior", 94))
    yield Twist(
        tag="lead-settles",
        put=_marks(*with_lead),
        instead=_marks(*with_lead[::2], ("senior", 93)),
        rows=3,
    )
    yield Twist(
        tag="two-leads",
        put=_marks(("lead", 96), ("senior", 66), ("lead", 89)),
        instead=_marks(("lead", 96), ("senior", 66), ("senior", 89)),
        rows=3,
    )
    yield Twist(
        tag="lead-is-one-of-them",
        put=_marks(("lead", 99), ("senior", 84), ("senior", 85)),
        instead=_marks(("lead", 99)),
        kind={"project": ("HERON", "PLOVER")},
        rows=3,
    )


# --- scores ------------------------------------------------------------------------------------


def _exactly(tenths: int, *, more: int = 0) -> Put:
    """A machine and people who agree on a score; `more` are hundredths of the machine's."""

    def put(dice: Dice, plan: Plan) -> None:
        human = tenths // 10 + dice.between(-2, 2)
        machine = 3 * tenths - 20 * human
        for name in plan["classes"]:
            _class(name, machine + more / 10, dice.between(6, 60))(dice, plan)
        plan["edge"] = dice.between(11, 24) / 10
        for one in plan["reviews"]:
            one["mark"] = None if one["mark"] is None else human

    return put


def _scores() -> Iterator[Twist]:
    for project, limit in RELEASED.items():
        yield from sides(
            "boundary-released",
            _exactly(limit - 1),
            _exactly(limit),
            kind={"project": (project,)},
            decides=True,
        )
    yield from sides("boundary-rework", _exactly(719), _exactly(720), decides=True)
    for project, limit in RELEASED.items():
        yield Twist(
            tag="half-a-tenth",
            put=_exactly(limit - 2, more=15),
            instead=_exactly(limit - 2),
            kind={"project": (project,)},
        )


# --- tags of notes -----------------------------------------------------------------------------


def noted(group: str, place: int = 0) -> Put:
    """One of the reviewers writes such a note."""

    def put(dice: Dice, plan: Plan) -> None:
        if plan["reviews"]:
            one = plan["reviews"][place % len(plan["reviews"])]
            one["note"] = dice.pick(NOTES[group])

    return put


def _crew(group: str) -> Put:
    return lambda dice, plan: plan.update(crew_note=dice.pick(NOTES[group]))


def _ineligible(group: str, **given: Any) -> Put:
    """A note in a further review of which only the note could matter."""

    def put(dice: Dice, plan: Plan) -> None:
        further("senior", 0, **given)(dice, plan)
        plan["reviews"][-1]["note"] = dice.pick(NOTES[group])

    return put


def _earlier(group: str, *, same: bool) -> Put:
    def put(dice: Dice, plan: Plan) -> None:
        _again(0, same=same)(dice, plan)
        plan["reviews"][-1]["note"] = dice.pick(NOTES[group])

    return put


def _by_leads(group: str) -> Put:
    def put(dice: Dice, plan: Plan) -> None:
        plan["reviews"][0]["grade"] = "lead"
        noted(group)(dice, plan)

    return put


def _tags() -> Iterator[Twist]:
    yield Twist(tag="privacy", put=noted("privacy"), rows=3)
    short = {"percent_seen": 1}
    yield Twist(
        tag="privacy-by-anyone",
        put=_ineligible("privacy", **short),
        instead=_ineligible("review", **short),
        rows=3,
    )
    yield Twist(
        tag="privacy-taken-back",
        put=_earlier("privacy", same=True),
        instead=_earlier("privacy", same=False),
        rows=3,
    )
    yield Twist(tag="late-tag", put=noted("late"), instead=noted("privacy"), rows=4)
    yield Twist(tag="no-tag", put=noted("unlike"), instead=noted("privacy"), rows=4)
    yield Twist(
        tag="closed-track",
        put=both(noted("privacy"), _crew("track")),
        instead=noted("privacy"),
        rows=4,
    )
    yield Twist(
        tag="no-track",
        put=both(noted("privacy"), _crew("not_track")),
        instead=both(noted("privacy"), _crew("track")),
        rows=3,
    )
    seniors = {"project": STRICT}
    twice = both(noted("redo", 0), noted("redo", 1))
    yield Twist(tag="redo", put=twice, instead=noted("redo", 0), kind=seniors, rows=3)
    one_voice = _marks(("senior", 93), ("senior", 92), ("senior", 94))
    yield Twist(
        tag="one-voice-for-redo",
        put=both(one_voice, noted("redo")),
        instead=both(one_voice, twice),
        rows=3,
    )
    yield Twist(tag="redo-by-lead", put=_by_leads("redo"), instead=_by_leads("review"), rows=3)
    yield Twist(
        tag="redo-not-counted",
        put=both(_ineligible("redo", **short), noted("redo")),
        instead=both(_ineligible("redo"), noted("redo")),
        rows=3,
    )
    yield Twist(tag="no-tag", put=_by_leads("half"), instead=_by_leads("redo"), rows=4)


def _register() -> Iterator[Twist]:
    yield Twist(tag="nobody-counts", put=_only(), rows=1)
    yield Twist(tag="frozen", put=cells(entry="frozen"), rows=10)
    yield Twist(
        tag="frozen-and-withheld",
        put=both(noted("privacy"), cells(entry="frozen")),
        plain=True,
        rows=3,
        met=lambda _, status: status == "WITHHELD",
    )
