"""The policy of `aircraft_inspection` says what the manual says: worked out by hand, by clause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_sopbench.errors import ToolError

SOUND = {
    "HYD": (74, "bar"),
    "MTY": (92, "psi"),
    "NTY": (430, "kPa"),
    "BRK": (4, "mm"),
    "OXY": (110, "bar"),
    "BAT": (26, "V"),
    "STB": (25, "V"),
    "GEN": (28, "V"),
    "EML": (6100, "mV"),
    "INS": (4, "Mohm"),
}
PLACES = {item: f"P{number:02}" for number, item in enumerate(SOUND, 1)}
MISMATCH = {"plate_serial": "KX-9"}
SILENT = {"reading": None}


def sheet(**cells: Any) -> dict[str, Any]:
    """A Fulmar before a line flight, in June, with nothing against her."""
    return {
        "sheet_id": "IS-40001",
        "tail_number": "SK-ABC",
        "aircraft_type": "Fulmar",
        "scope": "full",
        "purpose": "line",
        "inspected_at": "2025-06-10T12:00",
        "departs_at": "2025-06-10T16:00",
        "outside_celsius": 9,
        "declared_weight": 11_000,
        "declared_unit": "kg",
        "meter_hours": 5_000.0,
        "flight_minutes": 60,
        "landed_at": "2025-06-10T02:00",
        "empty_weight_kg": 8_000,
        "payload": 1_155,
        "payload_unit": "kg",
        "fuel": 2_000,
        "fuel_unit": "l",
        "flown": "5000:00",
        "check_due": "5001:00",
        "stores": "accepted",
        "safety_office": "accepted",
        "register": "entered",
        "parts": {},
        **cells,
    }


class Stand:
    """What the offices and the aircraft answer; `calls` are the questions."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.parts = {
            PLACES[item]: {
                "position": PLACES[item],
                "item": item,
                "status": "fitted",
                "listed_serial": "KX-1",
                "placard_until": None,
                "plate_serial": "kx 1",
                "loan_until": None,
                "reading": reading,
                "unit": unit,
                "taken_at": f"{case['inspected_at'][:10]}T11:00",
                **case["parts"].get(item, {}),
            }
            for item, (reading, unit) in SOUND.items()
        }

    def call(self, name: str, /, **arguments: Any) -> Any:
        self.calls.append((name, arguments))
        if name == "find_components":
            return list(self.parts.values())
        if name in {"read_plate", "read_gauge"}:
            part = self.parts[arguments["position"]]
            if part["plate_serial" if name == "read_plate" else "reading"] is None:
                raise ToolError(name)
            return part
        return self.case

    def made(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.calls if called == name]


CLEAN = {
    "mechanical_verdict": "FIT",
    "electrical_verdict": "FIT",
    "mismatch_report": "NOT APPLICABLE",
    "incident_report": "NOT APPLICABLE",
    "weight_check": "AGREES",
    "time_check": "WITHIN",
    "clearance": "RELEASED",
}
OCTOBER = {"inspected_at": "2025-10-10T12:00", "departs_at": "2025-10-10T16:00"} | {
    "landed_at": "2025-10-10T02:00"
}
PETREL = {
    "aircraft_type": "Petrel",
    "empty_weight_kg": 4_230,
    "payload": 1_000,
    "declared_weight": 7_000,
    "parts": {"MTY": {"reading": 66}},
}


def shows(item: str, reading: float, unit: str | None = None) -> dict[str, Any]:
    return {"parts": {item: {"reading": reading, "unit": unit or SOUND[item][1]}}}


def part(item: str, **cells: Any) -> dict[str, Any]:
    return {"parts": {item: cells}}


ROUTINE = {"incident_report": "ROUTINE", "clearance": "RESTRICTED"}
MECHANICAL_DEFERRED = ROUTINE | {"mechanical_verdict": "DEFERRED"}
MECHANICAL_REJECTED = ROUTINE | {"mechanical_verdict": "REJECTED", "clearance": "GROUNDED"}
ELECTRICAL_DEFERRED = ROUTINE | {"electrical_verdict": "DEFERRED"}
UNREAD = {"mechanical_verdict": "DEFERRED", "clearance": "RESTRICTED"}
FILED = {"mismatch_report": "FILED", "mechanical_verdict": "DEFERRED", "clearance": "HELD"}
WAIVED = {"mismatch_report": "WAIVED", "clearance": "RESTRICTED"}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, {}, id="11.25-released"),
        pytest.param(
            {"scope": "mechanical"}, {"electrical_verdict": "NOT APPLICABLE"}, id="11.5-scope"
        ),
        pytest.param(part("NTY", status="removed", reading=1), {}, id="11.4-removed"),
        pytest.param(
            part("NTY", placard_until="2025-06-10", reading=1), UNREAD, id="11.6-placard-last-day"
        ),
        pytest.param(part("NTY", placard_until="2025-06-09"), {}, id="11.6-placard-of-yesterday"),
        pytest.param(part("HYD", plate_serial="KX1"), {}, id="11.8-hyphen"),
        pytest.param(part("HYD", **MISMATCH), FILED, id="11.9-mismatch-is-unread"),
        pytest.param(part("HYD", plate_serial=None), FILED, id="11.9-illegible"),
        pytest.param(
            part("HYD", **MISMATCH, loan_until="2025-06-10"), WAIVED, id="11.9-loan-last-day"
        ),
        pytest.param(
            part("HYD", **MISMATCH, loan_until="2025-06-09"), FILED, id="11.9-loan-is-over"
        ),
        pytest.param(
            part("OXY", **MISMATCH, loan_until="2025-07-01"), WAIVED, id="11.9-dagger-in-june"
        ),
        pytest.param(
            OCTOBER | part("OXY", **MISMATCH, loan_until="2025-12-01"),
            {"mismatch_report": "FILED", "mechanical_verdict": "REJECTED", "clearance": "GROUNDED"},
            id="31.4-dagger-in-october",
        ),
        pytest.param(shows("HYD", 69.95), {}, id="11.10-half-up"),
        pytest.param(shows("HYD", 69.94), MECHANICAL_DEFERRED, id="11.10-rounded-down"),
        pytest.param(shows("HYD", 1014.6, "psi"), {}, id="annex-c-psi"),
        pytest.param(shows("HYD", 1014.4, "psi"), MECHANICAL_DEFERRED, id="annex-c-psi-below"),
        pytest.param(shows("EML", 5.8999, "V"), ELECTRICAL_DEFERRED, id="annex-c-volts"),
        pytest.param(part("HYD", taken_at="2025-06-10T09:00"), {}, id="11.11-180-minutes"),
        pytest.param(part("HYD", taken_at="2025-06-10T08:59"), UNREAD, id="11.11-stale"),
        pytest.param(part("HYD", **SILENT), UNREAD, id="11.11-silent"),
        pytest.param(
            shows("MTY", 99) | {"landed_at": "2025-06-10T09:30"}, {}, id="11.12-hot-at-90"
        ),
        pytest.param(
            shows("MTY", 99) | {"landed_at": "2025-06-10T09:29"},
            MECHANICAL_REJECTED,
            id="11.12-cool-at-91",
        ),
        pytest.param(
            OCTOBER | shows("MTY", 99) | {"landed_at": "2025-10-10T09:00"}, {}, id="31.2-hot-at-120"
        ),
        pytest.param(shows("BAT", 24.2) | {"outside_celsius": -1}, {}, id="11.13-cold"),
        pytest.param(
            shows("BAT", 24.2) | {"outside_celsius": 0}, ELECTRICAL_DEFERRED, id="11.13-not-cold"
        ),
        pytest.param(shows("BRK", 3.0), {}, id="annex-a-brake"),
        pytest.param(OCTOBER | shows("BRK", 3.3), MECHANICAL_DEFERRED, id="31.3-brake"),
        pytest.param(
            {"parts": {"HYD": SILENT, "MTY": SILENT, "BRK": SILENT}},
            {"mechanical_verdict": "REJECTED", "clearance": "GROUNDED"},
            id="11.15-three-deferred",
        ),
        pytest.param(
            part("HYD", **MISMATCH) | {"stores": "quarantined"},
            FILED | {"mismatch_report": "QUARANTINE", "clearance": "GROUNDED"},
            id="11.16-quarantine",
        ),
        pytest.param(
            shows("OXY", 91.9),
            MECHANICAL_REJECTED | {"incident_report": "URGENT"},
            id="11.17-dagger",
        ),
        pytest.param(
            shows("NTY", 399) | {"departs_at": "2025-06-10T14:59"},
            MECHANICAL_REJECTED | {"incident_report": "URGENT"},
            id="11.17-leaves-soon",
        ),
        pytest.param(
            shows("HYD", 69) | {"departs_at": "2025-06-10T14:00"},
            MECHANICAL_DEFERRED,
            id="11.17-deferred-leaves-soon",
        ),
        pytest.param(
            shows("HYD", 69) | {"safety_office": "joined"},
            MECHANICAL_DEFERRED | {"incident_report": "JOINED"},
            id="11.18-joined",
        ),
        pytest.param({"payload": 3_055, "declared_weight": 12_900}, {}, id="11.20-heaviest"),
        pytest.param(
            {"payload": 3_056, "declared_weight": 12_900},
            {"weight_check": "EXCEEDS", "clearance": "GROUNDED"},
            id="11.20-a-kilogram-more",
        ),
        pytest.param(
            part("MTY", **SILENT) | {"payload": 2_411, "declared_weight": 12_256},
            UNREAD | {"weight_check": "EXCEEDS", "clearance": "GROUNDED"},
            id="11.20-tyre-deferred",
        ),
        pytest.param({"declared_weight": 11_060}, {}, id="11.21-near"),
        pytest.param(
            {"declared_weight": 11_061},
            {"weight_check": "DIFFERS", "clearance": "HELD"},
            id="11.21-apart",
        ),
        pytest.param(
            {"declared_weight": 12_000, "purpose": "ferry"},
            {"weight_check": "DIFFERS", "clearance": "RESTRICTED"},
            id="11.25-ferry-that-differs",
        ),
        pytest.param(
            {"declared_weight": 9, "purpose": "ground run"},
            {"weight_check": "NOT APPLICABLE"},
            id="11.21-ground-run",
        ),
        pytest.param({"meter_hours": 5_000.1}, {}, id="11.23-six-minutes"),
        pytest.param(
            {"meter_hours": 5_000.2},
            {"time_check": "DISPUTED", "clearance": "HELD"},
            id="11.23-disputed",
        ),
        pytest.param(
            {"flight_minutes": 660},
            {"time_check": "EXTENDED", "clearance": "RESTRICTED"},
            id="11.24-600",
        ),
        pytest.param(
            {"flight_minutes": 661},
            {"time_check": "OVERDUE", "clearance": "GROUNDED"},
            id="11.24-601",
        ),
        pytest.param(
            PETREL | OCTOBER | {"flight_minutes": 541},
            {"time_check": "OVERDUE", "clearance": "GROUNDED"},
            id="31.5-petrel-481",
        ),
        pytest.param(
            part("HYD", **SILENT) | {"flight_minutes": 61},
            UNREAD | {"time_check": "OVERDUE", "clearance": "GROUNDED"},
            id="11.24-deferred",
        ),
        pytest.param(
            {"check_due": "4000:00", "flight_minutes": 0, "purpose": "ground run"},
            {"weight_check": "NOT APPLICABLE", "time_check": "OVERDUE", "clearance": "RESTRICTED"},
            id="11.25-ground-run-overdue",
        ),
        pytest.param(
            {"parts": {"HYD": SILENT, "GEN": SILENT}},
            UNREAD | {"electrical_verdict": "DEFERRED", "clearance": "HELD"},
            id="11.25-both-deferred",
        ),
        pytest.param({"register": "refused"}, {"clearance": "HELD"}, id="11.26-refused"),
    ],
)
def test_policy_follows_the_clause(
    aircraft_inspection: Any, cells: dict[str, Any], expected: dict[str, str]
) -> None:
    case = sheet(**cells)

    actual = aircraft_inspection.decide(case, Stand(case).call)

    assert CLEAN | expected == actual


def test_plates_then_gauges_then_reports_then_register(aircraft_inspection: Any) -> None:
    case = sheet(parts={"HYD": MISMATCH, "GEN": {"reading": 29}}, stores="accepted")
    stand = Stand(case)

    aircraft_inspection.decide(case, stand.call)

    assert [
        "find_components",
        "get_journey_log",
        *["read_plate"] * 10,
        *["read_gauge"] * 9,
        "file_mismatch_report",
        "file_incident_report",
    ] == [name for name, _ in stand.calls]
    assert PLACES["HYD"] not in [asked["position"] for asked in stand.made("read_gauge")]


def test_the_register_is_told_what_was_worked_out(aircraft_inspection: Any) -> None:
    case = sheet(parts={"HYD": SILENT, "NTY": {"placard_until": "2025-06-30"}})
    stand = Stand(case)

    aircraft_inspection.decide(case, stand.call)

    assert [
        {
            "sheet_id": "IS-40001",
            "clearance": "RESTRICTED",
            "deferred_positions": ["P01", "P03"],
            "takeoff_weight_kg": 11_000,
            "minutes_left": 0,
        }
    ] == stand.made("enter_clearance")
