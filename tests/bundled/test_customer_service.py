"""The policy of `customer_service` says what WI-OFD-07 says: worked out by hand, clause by clause.

A fresh reader decided thirty rows from the text alone, and agreed with the labels on all of them.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bundled_domains.generator import decided, look_ups

import pytest_sopbench

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "customer_service"
TOOLS = json.loads((FOLDER / "metadata.json").read_text("utf-8"))["tools"]
DECIDE = runpy.run_path(str(FOLDER / "policy.py"))["decide"]

WELL = {
    "device_online": True,
    "downstream_kbps": 80_000,
    "packets_sent": 1000,
    "packets_lost": 0,
    "latency_ms": 20,
}
SLOW = WELL | {"downstream_kbps": 60_000}
LOSSY = WELL | {"packets_lost": 11}
LAGGING = WELL | {"latency_ms": 41}
SILENT = dict.fromkeys(WELL)
OUTAGE = {
    "outage_id": "OB-1",
    "area": "NW-104",
    "kind": "unplanned",
    "line_type": "all",
    "centre_easting_km": 50.3,
    "centre_northing_km": 40.4,
    "radius_m": 500,
    "began_at": "2026-04-10T11:00",
    "ended_at": None,
}
ROW: dict[str, Any] = {
    "customer_id": "LK00000001",
    "security_code": "012345",
    "contact_number": "",
    "reported_at": "2026-04-10T12:00",
    "session_token": "ST-000000000000",
    "auth_level": "full",
    "failed_attempts_24h": 0,
    "registered_number": "07700 900123",
    "account_status": "active",
    "suspension_reason": None,
    "suspended_since": None,
    "hold_until": None,
    "line_type": "cable",
    "subscribed_mbps": 100,
    "priority_care": False,
    "area_code": "NW-104",
    "border_area": None,
    "easting_km": 50.0,
    "northing_km": 40.0,
    "overdue_pence": 0,
    "oldest_due": None,
    "arrangement_until": None,
    "missed_instalments": 0,
    "outages": [],
    **WELL,
    "optical_dbm": None,
    "drops_24h": 0,
}
HELD = {"account_status": "suspended", "suspension_reason": "customer_hold"}
BARRED = {"account_status": "suspended", "suspension_reason": "fraud"}
OWES = {"overdue_pence": 2501, "oldest_due": "2026-03-26"}
FIBRE = {"line_type": "fibre", "subscribed_mbps": 100, "optical_dbm": -20.0}


def work(
    *, after: Mapping[str, Any] = WELL, declines: str = "", outcome: str = "completed", **said: Any
) -> tuple[str, list[Any]]:
    """The status of a case, and the names of its calls with the action or team of each."""
    actions = ("port_restart", "profile_rebuild", "session_clear")
    row = {
        **ROW,
        **said,
        "resets": [
            {"action": action, "outcome": outcome, "reset_reference": f"RS-{number}"}
            for number, action in enumerate(actions)
        ],
        "second_measurements": [{"reset_reference": f"RS-{n}", **after} for n in range(3)],
        "board": [
            {"team": team, "decision": "declined" if team == declines else "accepted"}
            for team in ("field", "network")
        ],
    }
    found = decided(DECIDE, row, look_ups(TOOLS, row))
    calls = [
        call["arguments"].get("action") or call["arguments"].get("team") or call["name"]
        for call in found.calls
    ]
    return found.answer["final_resolution_status"], calls


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({"auth_level": "none"}, "authentication_failed", id="4.2"),
        pytest.param({"failed_attempts_24h": 5}, "authentication_failed", id="4.3 at five"),
        pytest.param({"failed_attempts_24h": 4}, "restored", id="4.3 below five"),
        pytest.param({"auth_level": "basic"}, "authentication_failed", id="4.5 no number"),
        pytest.param(
            {"auth_level": "basic", "contact_number": "+44 (7700) 900-123"},
            "restored",
            id="4.5 same number",
        ),
        pytest.param(
            {"auth_level": "basic", "contact_number": "07700 900124"},
            "authentication_failed",
            id="4.5 another number",
        ),
        pytest.param(
            HELD | {"hold_until": "2026-04-09"}, "restored", id="5.2 hold over the day before"
        ),
        pytest.param(
            HELD | {"hold_until": "2026-04-10"}, "account_suspended", id="5.2 hold ends on the day"
        ),
        pytest.param(OWES, "payment_overdue", id="5.3 both exceeded"),
        pytest.param(OWES | {"overdue_pence": 2500}, "restored", id="5.3 at the amount"),
        pytest.param(OWES | {"oldest_due": "2026-03-27"}, "restored", id="5.3 at the days"),
        pytest.param(OWES | {"arrangement_until": "2026-04-10"}, "restored", id="5.4 in force"),
        pytest.param(
            OWES | {"arrangement_until": "2026-04-09"}, "payment_overdue", id="5.4 ran out"
        ),
        pytest.param(
            OWES | {"arrangement_until": "2026-09-01", "missed_instalments": 1},
            "payment_overdue",
            id="5.4 missed",
        ),
        pytest.param(OWES | {"priority_care": True}, "restored", id="5.5"),
        pytest.param(
            BARRED | {"suspended_since": "2026-03-26"} | OWES,
            "account_suspended",
            id="5.7 suspended on the due date",
        ),
        pytest.param(
            BARRED | {"suspended_since": "2026-03-27"} | OWES,
            "payment_overdue",
            id="5.7 suspended after it",
        ),
        pytest.param(
            BARRED | {"overdue_pence": None, "missed_instalments": None},
            "account_suspended",
            id="5.6 billing down",
        ),
    ],
)
def test_who_may_be_helped(said: dict[str, Any], expected: str) -> None:
    assert expected == work(**said)[0]


@pytest.mark.parametrize(
    ("outage", "expected"),
    [
        pytest.param({}, "known_outage", id="6.3 at the radius"),
        pytest.param({"radius_m": 499}, "restored", id="6.3 beyond it"),
        pytest.param({"line_type": "fibre"}, "restored", id="6.3 another line type"),
        pytest.param({"began_at": "2026-04-10T12:00"}, "known_outage", id="6.3 began right then"),
        pytest.param({"began_at": "2026-04-10T12:01"}, "restored", id="6.3 began later"),
        pytest.param({"ended_at": "2026-04-10T10:00"}, "known_outage", id="6.3 120 minutes ago"),
        pytest.param({"ended_at": "2026-04-10T09:59"}, "restored", id="6.3 121 minutes ago"),
        pytest.param(
            {"kind": "planned", "ended_at": "2026-04-10T12:00"}, "restored", id="6.4 at the minute"
        ),
        pytest.param(
            {"kind": "planned", "ended_at": "2026-04-10T12:01"}, "known_outage", id="6.4 after it"
        ),
        pytest.param({"kind": "planned"}, "known_outage", id="6.4 without an end"),
        pytest.param({"area": "NW-117"}, "restored", id="6.1 area of others"),
    ],
)
def test_which_outage_concerns_the_customer(outage: dict[str, Any], expected: str) -> None:
    assert expected == work(outages=[OUTAGE | outage])[0]


def test_the_border_area_is_asked_after_an_outage_was_found() -> None:
    _, calls = work(outages=[OUTAGE], border_area="NW-117")

    assert ["list_outages"] * 2 == calls[-2:]


@pytest.mark.parametrize(
    ("said", "expected", "way"),
    [
        pytest.param({"downstream_kbps": 70_000}, "restored", [], id="7.4 speed at its limit"),
        pytest.param({"packets_lost": 10}, "restored", [], id="7.5 loss at its limit"),
        pytest.param({"latency_ms": 40}, "restored", [], id="7.4 latency at its limit"),
        pytest.param({"drops_24h": 4}, "restored", [], id="7.6 few drops"),
        pytest.param({"drops_24h": 5}, "restored", ["session_clear"], id="7.7 many drops"),
        pytest.param(LOSSY, "restored", ["profile_rebuild"], id="8.1 loss"),
        pytest.param(
            LOSSY | {"downstream_kbps": 1}, "restored", ["profile_rebuild"], id="8.1 loss and speed"
        ),
        pytest.param(SLOW, "restored", ["session_clear"], id="8.1 speed"),
        pytest.param({"device_online": False}, "restored", ["port_restart"], id="8.1 offline"),
        pytest.param(
            SILENT | {"drops_24h": None}, "restored", ["port_restart"], id="7.1 probe silent"
        ),
        pytest.param(FIBRE | {"optical_dbm": -28.1}, "escalated_field", ["field"], id="7.2 dark"),
        pytest.param(FIBRE | {"optical_dbm": -28.0}, "restored", [], id="7.2 at the limit"),
        pytest.param(
            SLOW | {"outcome": "device_unreachable"},
            "escalated_field",
            ["session_clear", "field"],
            id="8.3 unreachable",
        ),
        pytest.param(
            SLOW | {"outcome": "change_freeze"},
            "escalated_network",
            ["session_clear", "network"],
            id="8.3 freeze",
        ),
    ],
)
def test_what_the_line_says(said: dict[str, Any], expected: str, way: list[str]) -> None:
    status, calls = work(**said)

    asked = [one for one in calls if "_line" not in one]
    assert (expected, way) == (status, asked[4:])


@pytest.mark.parametrize(
    ("after", "mbps", "expected"),
    [
        pytest.param(SILENT, 100, "escalated_field", id="9.1 silent"),
        pytest.param(WELL | {"device_online": False}, 100, "escalated_field", id="9.1 offline"),
        pytest.param(LAGGING | {"packets_lost": 11}, 100, "escalated_network", id="10.2 no speed"),
        pytest.param(SLOW, 100, "escalated_field", id="10.2 speed"),
        pytest.param(SLOW | {"latency_ms": 41}, 100, "escalated_field", id="10.2 slow cable"),
        pytest.param(
            LOSSY | {"downstream_kbps": 100_000}, 201, "escalated_network", id="10.3 crowded"
        ),
        pytest.param(
            WELL | {"downstream_kbps": 100_000}, 201, "escalated_field", id="10.3 speed alone"
        ),
    ],
)
def test_who_goes_out(after: dict[str, Any], mbps: int, expected: str) -> None:
    assert expected == work(device_online=False, subscribed_mbps=mbps, after=after)[0]


def test_the_other_team_is_asked_once_where_one_declines() -> None:
    status, calls = work(device_online=False, after=SILENT, declines="field")

    assert "escalated_network" == status
    assert ["field", "network"] == calls[-2:]
