# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: the answers of the desk as a function of a ticket and what others tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

from pytest_sopbench.errors import ToolError

NO_FILE = "NO FILE"
WAITING, REFUSED = "WAITING", "REFUSED"
CONTAINERS = {"MP4", "MKV"}  # clause 8
PLOVER_CONTAINERS = {"MP4", "MKV", "MOV"}
SHORTER_SIDE = {"KITE": 1080, "HERON": 720, "PLOVER": 720}  # clauses 5 and 9
SECONDS, PLOVER_SECONDS = 8, 12  # clauses 5 and 10
DROPPED_PERCENT, DROPPED_PERCENT_AT_NIGHT = 2, 3  # clause 11
SENSORS = {"KITE": {"lidar", "radar"}, "HERON": {"lidar"}, "PLOVER": {"lidar", "gnss"}}
OFFSET_MS = {"lidar": 20, "radar": 40, "gnss": 100}  # clause 14
UNITS_OF_A_MS = {"ms": 1, "us": 1000}
CALIBRATED = {"lidar", "radar"}  # clause 15
FRESH_DAYS = 90
LABEL_SETS = {"KITE": ("street-21",), "HERON": ("street-14", "street-21")} | {
    "PLOVER": ("highway-8",)
}  # the later, the better: clause 18
DONE_PERCENT = 98  # clause 17
DENSE_OBJECTS = 12  # clause 20
WEIGHTS = {"vehicle": 2, "person": 3, "cyclist": 3, "sign": 1}  # clause 25
FEWEST_INSTANCES = 5
SHARP_EDGE, EDGE_STEP, MOST_FOR_EDGES = 2, Fraction("0.5"), 5  # clause 26
SEEN_PERCENT = 10  # clause 28
VOICES, KITE_VOICES, LEAD_VOICES = 2, 3, 2  # clauses 5 and 31
WIDEST_GAP = 20  # clause 32
HUMAN_WEIGHT = 2  # clause 33
REWORK_BELOW, PERSON_PERCENT, REDO_VOICES = 72.0, 60, 2
RELEASED_FROM = {"KITE": 88.0, "HERON": 80.0, "PLOVER": 84.0}  # clauses 5 and 34

Call: TypeAlias = Callable[..., Any]
Row: TypeAlias = Mapping[str, Any]


class EndedError(Exception):
    """A ticket is over before the reviews are in; it carries the answer."""

    def __init__(self, status: str, boxes: str = NO_FILE, mask: str = NO_FILE) -> None:
        self.answer = answer(status, boxes, mask)


def decide(ticket: Row, call: Call) -> dict[str, Any]:
    """Return the answer to one ticket; `call(tool, **arguments)` raises `ToolError`."""
    try:
        return worked(ticket, call)
    except EndedError as ended:
        return ended.answer


def worked(ticket: Row, call: Call) -> dict[str, Any]:
    """Everybody is asked in turn: clause 3."""
    manifest = told(call, "get_clip_manifest", clip_id=ticket["clip_id"])
    if manifest is None:
        raise EndedError(WAITING)
    if not is_a_clip(ticket, manifest):
        raise EndedError(REFUSED)
    stale = is_stale(ticket, manifest, call)
    run = chosen_run(ticket, manifest, call)
    boxes = run["boxes_file"]
    mask = cut(ticket, run, call)
    measured = measurement(ticket, boxes, mask, call)
    reviews = latest(call("list_reviews", mask_file=mask))

    status, tenths = judged(ticket, manifest, measured, reviews, stale=stale)
    if status == "UNSETTLED":
        return answer(status, boxes, mask, tenths)
    return entered(ticket, filed(status, boxes, mask, tenths), call)


def answer(
    status: str, boxes: str = NO_FILE, mask: str = NO_FILE, tenths: int = 0
) -> dict[str, Any]:
    """The four entries that are handed back."""
    return {
        "final_status": status,
        "object_file": boxes,
        "segmentation_file": mask,
        "review_score": tenths / 10,
    }


def filed(status: str, boxes: str, mask: str, tenths: int) -> dict[str, Any]:
    """Clause 37, for what is entered in the register."""
    if status == "WITHHELD":
        return answer(status, tenths=tenths)
    return answer(status, boxes, NO_FILE if status == "REWORK" else mask, tenths)


def entered(ticket: Row, found: dict[str, Any], call: Call) -> dict[str, Any]:
    """Clauses 36 and 38."""
    status = found["final_status"]
    register = call(
        "enter_result",
        ticket_id=ticket["ticket_id"],
        status=status,
        object_file=found["object_file"],
        segmentation_file=found["segmentation_file"],
        score_tenths=round(found["review_score"] * 10),
    )
    if register["entry"] == "frozen" and status != "WITHHELD":
        return found | {"final_status": WAITING}
    return found


def told(call: Call, name: str, **arguments: Any) -> Any:
    """What a party answers; nothing if it fails to."""
    try:
        return call(name, **arguments)
    except ToolError:
        return None


def is_a_clip(ticket: Row, manifest: Row) -> bool:
    """Clauses 8 to 11."""
    motorway = ticket["project"] == "PLOVER"
    if manifest["container"] not in (PLOVER_CONTAINERS if motorway else CONTAINERS):
        return False
    if min(manifest["width"], manifest["height"]) < SHORTER_SIDE[ticket["project"]]:
        return False
    seconds = Fraction(manifest["frames"]) / exact(manifest["frame_rate"])
    if seconds < (PLOVER_SECONDS if motorway else SECONDS):
        return False
    allowed = DROPPED_PERCENT_AT_NIGHT if ticket["light"] == "night" else DROPPED_PERCENT
    return percent(manifest["dropped_frames"], manifest["frames"]) <= allowed


def exact(number: float) -> Fraction:
    """The decimal number as it is written."""
    return Fraction(str(number))


def percent(part: int, whole: int) -> Fraction:
    """How many of a hundred."""
    return Fraction(part, whole) * 100


def is_stale(ticket: Row, manifest: Row, call: Call) -> bool:
    """Clauses 12 to 15, unless they end the ticket."""
    rig, day = manifest["rig_id"], manifest["recorded_on"]
    report = told(call, "get_sync_report", rig_id=rig, recorded_on=day)
    if report is None:
        raise EndedError(WAITING)
    needed = needed_sensors(ticket)
    in_step = [sensor for sensor in report["sensors"] if is_in_step(sensor)]
    if needed - kinds(in_step):
        raise EndedError(REFUSED)
    fresh = kinds([sensor for sensor in in_step if is_fresh(sensor, day)])
    return bool((needed & CALIBRATED) - fresh)


def needed_sensors(ticket: Row) -> set[str]:
    """Clause 13."""
    needed = set(SENSORS[ticket["project"]])
    return needed - {"radar"} if ticket["light"] == "day" else needed


def kinds(sensors: Sequence[Row]) -> set[str]:
    """The kinds of which there is a sensor."""
    return {sensor["kind"] for sensor in sensors}


def is_in_step(sensor: Row) -> bool:
    """Clause 14; sensors of other kinds are never looked at."""
    if sensor["state"] == "off" or sensor["kind"] not in OFFSET_MS:
        return False
    offset = abs(exact(sensor["offset"])) / UNITS_OF_A_MS[sensor["unit"]]
    return offset <= OFFSET_MS[sensor["kind"]]


def is_fresh(sensor: Row, recorded_on: str) -> bool:
    """Clause 15."""
    age = date.fromisoformat(recorded_on) - date.fromisoformat(sensor["calibrated_on"])
    return 0 <= age.days <= FRESH_DAYS


def chosen_run(ticket: Row, manifest: Row, call: Call) -> Row:
    """Clauses 16 to 19."""
    sets = LABEL_SETS[ticket["project"]]
    usable = [
        run
        for run in call("find_detection_runs", clip_id=ticket["clip_id"])
        if run["state"] == "finished"
        and run["label_set"] in sets
        and run["started_on"] >= manifest["archived_on"]
        and percent(run["frames_done"], manifest["frames"]) >= DONE_PERCENT
    ]
    if not usable:
        raise EndedError(WAITING)
    best: Row = max(usable, key=lambda run: (sets.index(run["label_set"]), *by_version(run)))
    return best


def by_version(run: Row) -> tuple[list[int], str, int]:
    """Clause 18: what is later or higher goes first."""
    version = [int(part) for part in run["detector"].split(".")]
    return version, run["started_on"], run["run_number"]


def profile_of(ticket: Row, run: Row) -> str:
    """Clause 20."""
    project, light = ticket["project"], ticket["light"]
    dark = light == "night" or (light == "dusk" and project == "PLOVER")
    if dark and project != "HERON":
        return "night"
    return "dense" if run["objects_found"] > DENSE_OBJECTS * run["frames_done"] else "plain"


def cut(ticket: Row, run: Row, call: Call) -> str:
    """Clauses 21 to 23: the segmentation file, if it is done."""
    profile = profile_of(ticket, run)
    clip, boxes = ticket["clip_id"], run["boxes_file"]

    def attempt(number: int, profile: str) -> Any:
        asked = {"clip_id": clip, "boxes_file": boxes, "profile": profile, "attempt": number}
        return told(call, "run_segmentation", **asked) or {"outcome": "failed"}

    found = attempt(1, profile)
    if found["outcome"] == "busy":
        found = attempt(2, profile)
    elif found["outcome"] == "too_large" and profile != "plain":
        found = attempt(2, "plain")
    if found["outcome"] != "done":
        raise EndedError(WAITING, boxes)
    return str(found["mask_file"])


def measurement(ticket: Row, boxes: str, mask: str, call: Call) -> Row:
    """Clause 24: what the bench measured on the desk day."""
    for mode in ("latest", "anew"):
        measured = told(call, "measure_quality", mask_file=mask, mode=mode)
        if measured is None:
            break
        if measured["measured_on"] == ticket["desk_day"]:
            return dict(measured)
    raise EndedError(WAITING, boxes, mask)


def latest(reviews: Sequence[Row]) -> list[Row]:
    """Clause 27."""
    last: dict[str, Row] = {}
    for review in sorted(reviews, key=lambda review: int(review["review_number"])):
        last[review["reviewer"]] = review
    return list(last.values())


def judged(
    ticket: Row, manifest: Row, measured: Row, reviews: Sequence[Row], *, stale: bool
) -> tuple[str, int]:
    """Clauses 28 to 35: the status, and the score in tenths."""
    if tagged(reviews, "[privacy]") and not ticket["crew_note"].startswith("[closed track]"):
        return "WITHHELD", 0
    overlaps = overlaps_of(measured)
    machine = machine_score(overlaps, measured)
    counting = [review for review in reviews if counts(ticket, manifest, review)]
    human = human_score(counting)
    needed = KITE_VOICES if ticket["project"] == "KITE" else VOICES
    if voices(counting) < needed or human is None:
        return "UNSETTLED", in_tenths(machine)

    tenths = in_tenths((machine + HUMAN_WEIGHT * human) / (1 + HUMAN_WEIGHT))
    score = points(tenths)
    redo = voices(tagged(counting, "[redo]")) >= REDO_VOICES
    poor_persons = overlaps.get("person", PERSON_PERCENT) < PERSON_PERCENT
    if score < exact(REWORK_BELOW) or poor_persons or redo:
        return "REWORK", tenths
    limited = stale or score < exact(RELEASED_FROM[ticket["project"]])
    return ("LIMITED" if limited else "RELEASED"), tenths


def tagged(reviews: Sequence[Row], tag: str) -> list[Row]:
    """Those whose note begins with a tag."""
    return [review for review in reviews if review["note"].startswith(tag)]


def overlaps_of(measured: Row) -> dict[str, Fraction]:
    """Clause 25: the classes that are not left out, in per cent."""
    factor = 100 if measured["unit"] == "fraction" else 1
    return {
        one["class"]: exact(one["overlap"]) * factor
        for one in measured["classes"]
        if one["class"] == "vehicle" or one["instances"] >= FEWEST_INSTANCES
    }


def machine_score(overlaps: Mapping[str, Fraction], measured: Row) -> Fraction:
    """Clauses 25 and 26."""
    weight = sum(WEIGHTS[name] for name in overlaps)
    mean = sum(WEIGHTS[name] * overlap for name, overlap in overlaps.items()) / Fraction(weight)
    steps = floor((exact(measured["edge_error_px"]) - SHARP_EDGE) / EDGE_STEP)
    return mean - min(max(steps, 0), MOST_FOR_EDGES)


def counts(ticket: Row, manifest: Row, review: Row) -> bool:
    """Clause 28."""
    if review["grade"] == "trainee" and ticket["project"] != "HERON":
        return False
    enough = percent(review["frames_seen"], manifest["frames"]) >= SEEN_PERCENT
    return enough and review["mark"] is not None


def voices(reviews: Sequence[Row]) -> int:
    """Clause 31."""
    return sum(LEAD_VOICES if review["grade"] == "lead" else 1 for review in reviews)


def human_score(reviews: Sequence[Row]) -> Fraction | None:
    """Clause 32; nothing if the reviews disagree, or there is none."""
    marks = [review["mark"] for review in reviews]
    leads = [review["mark"] for review in reviews if review["grade"] == "lead"]
    if not marks:
        return None
    if max(marks) - min(marks) <= WIDEST_GAP:
        return Fraction(sum(marks), len(marks))
    return Fraction(min(leads)) if leads else None


def in_tenths(score: Fraction) -> int:
    """Clause 33: half of a tenth goes up."""
    return floor(score * 10 + Fraction(1, 2))


def points(tenths: int) -> Fraction:
    """A score as it is handed back."""
    return Fraction(tenths, 10)
