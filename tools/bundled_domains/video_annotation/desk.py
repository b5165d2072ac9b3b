"""Tickets as they come on any day: first a plan that twists change, then the row that it makes."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Decided, Dice, bundled, decided, look_ups

FOLDER = bundled("video_annotation")
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
TOOLS: Mapping[str, Any] = json.loads((FOLDER / "metadata.json").read_text("utf-8"))["tools"]
NOTES: Mapping[str, Sequence[str]] = json.loads(
    (Path(__file__).parent / "notes.json").read_text("utf-8")
)
PROJECTS = ("KITE", "HERON", "PLOVER")
LIGHTS = ("day", "day", "dusk", "night", "night")
SETS = {"KITE": "street-21", "HERON": "street-21", "PLOVER": "highway-8"}
OTHER_SETS = ("street-9", "street-14", "highway-8", "street-21", "yard-3")
OFFSETS: Mapping[str, int] = POLICY["OFFSET_MS"] | {"camera": 1, "imu": 60}
RELEASED: Mapping[str, int] = {
    project: round(10 * limit) for project, limit in POLICY["RELEASED_FROM"].items()
}
FIRST_DAY, DAYS = date(2026, 1, 12), 240
MANIFEST = (
    "container",
    "frames",
    "frame_rate",
    "width",
    "height",
    "dropped_frames",
    "rig_id",
    "recorded_on",
    "archived_on",
)

Plan: TypeAlias = dict[str, Any]
"""A ticket in which numbers that lean on others are not worked out yet."""
Row: TypeAlias = dict[str, Any]


def draft(dice: Dice, kind: Mapping[str, Sequence[str]]) -> Plan:
    """A ticket at which nobody stops, of one of these projects and lights."""
    project = dice.pick(kind.get("project", PROJECTS))
    desk_day = FIRST_DAY + timedelta(days=dice.below(DAYS))
    aim = _aim(dice, project)
    side = dice.pick(((1080, 1920), (1080, 1920), (1440, 2560), (1200, 1920)))
    if project != "KITE":
        side = dice.pick((side, (720, 1280), (900, 1600)))
    plan: Plan = {
        "clip_id": f"CL-{dice.below(10**6):06}",
        "project": project,
        "desk_day": desk_day,
        "light": dice.pick(kind.get("light", LIGHTS)),
        "crew_note": dice.pick(NOTES["crew"]),
        "container": dice.pick(("MP4", "MKV")),
        "frames": 50 * dice.between(14, 46),
        "frame_rate": dice.pick((10, 12.5, 25, 29.97, 30)),
        "sides": side,
        "upright": dice.below(4) == 0,
        "dropped_permille": dice.below(16),
        "dropped_more": 0,
        "rig": dice.between(100, 999),
        "recorded_before": dice.between(4, 40),
        "archived_after": dice.between(0, 3),
        "runs": [],
        "outcomes": ("done", "done"),
        "measured": (0, 0),
        "in_fractions": dice.below(2) == 0,
        "edge": dice.between(8, 34) / 10,
        "entry": "entered",
        "masks": [f"mk_{hexadecimal(dice)}.msk" for _ in range(2)],
    }
    plan["sensors"] = [sensor(dice, kind) for kind in OFFSETS if kind != "imu" or dice.below(2)]
    plan["runs"] = [run(dice, plan, version=(4, dice.between(7, 12)))] + [
        run(dice, plan, version=(dice.between(1, 3), dice.between(0, 14)))
        for _ in range(dice.below(3))
    ]
    plan["classes"] = {
        name: [10 * aim + dice.between(-35, 35), dice.between(6, 90)] for name in POLICY["WEIGHTS"]
    }
    grades = dice.pick(
        {
            "KITE": (("lead", "senior"), ("senior",) * 3, ("senior",) * 4, ("lead", "senior") * 2),
            "HERON": (("senior",) * 2, ("trainee", "senior"), ("lead", "trainee")),
            "PLOVER": (("senior",) * 2, ("senior",) * 3, ("lead", "senior")),
        }[project]
    )
    plan["reviews"] = [
        review(dice, number, grade, aim + dice.between(-5, 5))
        for number, grade in enumerate(grades, start=1)
    ]
    return plan


def _aim(dice: Dice, project: str) -> int:
    """The mark around which a ticket is drawn; most are good enough."""
    limit = RELEASED[project] // 10
    return dice.pick((*[limit + dice.between(3, 8)] * 7, *[limit - dice.between(2, 5)] * 3))


def sensor(dice: Dice, kind: str, **cells: Any) -> Plan:
    """One that is in step and fresh."""
    offset = dice.between(1, 9 * OFFSETS[kind]) / 10 * dice.pick((1, 1, -1))
    unit = dice.pick(("ms", "us"))
    return {
        "kind": kind,
        "state": "on",
        "offset": offset if unit == "ms" else round(offset * 1000),
        "unit": unit,
        "calibrated_before": dice.between(3, 80),
        **cells,
    }


def run(dice: Dice, plan: Plan, **cells: Any) -> Plan:
    """One that is usable."""
    return {
        "number": dice.between(100, 899),
        "label_set": SETS[plan["project"]],
        "state": "finished",
        "started_after": dice.between(0, 3),
        "version": (4, 0),
        "frames_missing": dice.below(5),
        "per_frame": dice.pick((3, 5, 7, 9, 10, 11, 14, 17, 22)),
        "objects_more": dice.between(1, 40),
        "boxes_file": f"bx_{hexadecimal(dice)}.box",
        **cells,
    }


def review(dice: Dice, number: int, grade: str, mark: int | None, **cells: Any) -> Plan:
    """One that counts, if its writer is no trainee, and whose note begins with no tag."""
    return {
        "number": 10 * number + dice.below(10),
        "reviewer": f"R{number}{dice.between(100, 999)}",
        "grade": grade,
        "percent_seen": dice.between(15, 100),
        "seen_more": 0,
        "mark": None if mark is None else min(mark, 100),
        "note": dice.pick(NOTES["review"]),
        **cells,
    }


def hexadecimal(dice: Dice) -> str:
    """Eight characters, of which the first is a letter."""
    return dice.pick("abcdef") + f"{dice.below(16**7):07x}"


def row_of(plan: Plan, dice: Dice) -> Row:
    """What a ticket holds, and what is told about it by those who are asked."""
    frames, desk_day = plan["frames"], plan["desk_day"]
    recorded = desk_day - timedelta(days=plan["recorded_before"])
    archived = recorded + timedelta(days=plan["archived_after"])
    shorter, longer = plan["sides"]
    row: Row = {
        "clip_id": plan["clip_id"],
        "project": plan["project"],
        "desk_day": desk_day.isoformat(),
        "light": plan["light"],
        "crew_note": plan["crew_note"],
        "container": plan["container"],
        "frames": frames,
        "frame_rate": plan["frame_rate"],
        "width": shorter if plan["upright"] else longer,
        "height": longer if plan["upright"] else shorter,
        "dropped_frames": frames * plan["dropped_permille"] // 1000 + plan["dropped_more"],
        "rig_id": f"RIG-{plan['rig']}",
        "recorded_on": recorded.isoformat(),
        "archived_on": archived.isoformat(),
        "sensors": [_sensor(one, recorded) for one in plan["sensors"] or ()] or None,
        "runs": dice.shuffled(_run(one, archived, frames) for one in plan["runs"]),
    }
    row |= _cut(plan, dice) | {"entry": plan["entry"]}
    if plan["container"] is None:
        row |= dict.fromkeys((*MANIFEST, "sensors"))
    return row


def _sensor(plan: Plan, recorded: date) -> Row:
    calibrated = recorded - timedelta(days=plan["calibrated_before"])
    kept = {name: plan[name] for name in ("kind", "state", "offset", "unit")}
    return kept | {"calibrated_on": calibrated.isoformat()}


def _run(plan: Plan, archived: date, frames: int) -> Row:
    started = archived + timedelta(days=plan["started_after"])
    done = frames - plan["frames_missing"]
    return {
        "run_number": plan["number"],
        "label_set": plan["label_set"],
        "state": plan["state"],
        "started_on": started.isoformat(),
        "detector": "{}.{}".format(*plan["version"]),
        "frames_done": done,
        "objects_found": plan["per_frame"] * done + plan["objects_more"],
        "boxes_file": plan["boxes_file"],
    }


def _cut(plan: Plan, dice: Dice) -> Row:
    """Attempts, and what is measured and said of the file that is done."""
    outcomes = plan["outcomes"] if plan["outcomes"][0] != "done" else plan["outcomes"][:1]
    attempts = [
        {
            "attempt": number,
            "outcome": outcome,
            "mask_file": None if outcome == "busy" else mask,
        }
        for number, (outcome, mask) in enumerate(
            zip(outcomes, plan["masks"], strict=False), start=1
        )
        if outcome != "failed"
    ]
    done = [one["mask_file"] for one in attempts if one["outcome"] == "done"]
    mask = done[0] if done else plan["masks"][0]
    measurements = [
        _measured(plan, days) | {"mask_file": mask, "mode": mode}
        for mode, days in zip(("latest", "anew"), plan["measured"], strict=True)
        if days is not None
    ]
    reviews = [_review(one, plan["frames"]) | {"mask_file": mask} for one in plan["reviews"]]
    return {
        "attempts": attempts,
        "measurements": measurements,
        "reviews": dice.shuffled(reviews),
    }


def _measured(plan: Plan, days: int) -> Row:
    """As it was so many days before the desk day."""
    fractions = plan["in_fractions"]
    return {
        "measured_on": (plan["desk_day"] - timedelta(days=days)).isoformat(),
        "unit": "fraction" if fractions else "per cent",
        "classes": [
            {
                "class": name,
                "overlap": (permille - 3 * days) / (1000 if fractions else 10),
                "instances": instances,
            }
            for name, (permille, instances) in plan["classes"].items()
        ],
        "edge_error_px": plan["edge"],
    }


def _review(plan: Plan, frames: int) -> Row:
    return {
        "review_number": f"{plan['number']:03}",
        "reviewer": plan["reviewer"],
        "grade": plan["grade"],
        "frames_seen": -(-frames * plan["percent_seen"] // 100) + plan["seen_more"],
        "mark": plan["mark"],
        "note": plan["note"],
    }


def beside(dice: Dice) -> Row:
    """What other people's services know; none of it follows from the ticket."""
    return {
        "header_container": dice.pick(("MP4", "MKV", "MOV", "RAW")),
        "header_rate": dice.pick((10, 25, 30, 60)),
        "planned_frames": 100 * dice.between(3, 40),
        "lanes": [
            {"lane_run": dice.between(100, 999), "lane_file": f"ln_{hexadecimal(dice)}.lan"}
            for _ in range(dice.below(3))
        ],
        "estimated_overlap": dice.between(55, 98),
        "mounted": dice.shuffled(("Osprey 64", "Osprey 32", "Tarn S", "Fathom 2"))[:2],
        "next_slot": (FIRST_DAY + timedelta(days=DAYS + dice.below(60))).isoformat(),
        "preview_seconds": dice.between(2, 19),
        "jobs_waiting": dice.below(90),
        "usual_mark": dice.between(70, 92),
        "marks_given": dice.between(20, 400),
        "comments": [dice.pick(("quick, thank you", "boxes too tight", "late again", "fine"))],
        "sky": dice.pick(("clear", "overcast", "rain", "fog")),
        "visibility_km": dice.between(1, 40),
        "streets": dice.between(4, 70),
        "drive_km": dice.between(5, 240),
        "thumbnails": dice.between(5, 60),
    }


def outcome(row: Row) -> Decided:
    """What is decided on a row, and the calls that lead to it."""
    return decided(POLICY["decide"], {"ticket_id": "", **row}, look_ups(TOOLS, row | ID))


ID = {"ticket_id": ""}
