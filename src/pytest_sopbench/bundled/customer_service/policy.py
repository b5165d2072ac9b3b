# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: WI-OFD-07 as a function of a fault case and the answers of the services."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from pytest_sopbench.errors import ToolError

Call = Callable[..., Any]

TOO_MANY_ATTEMPTS = 5  # clause 4.3
DEBT_PENCE, DEBT_DAYS = 2500, 14  # clause 5.3
GRACE = timedelta(minutes=120)  # clause 6.3
DARK_DBM = -28.0  # clause 7.2
MANY_DROPS = 5  # clauses 7.6, 7.7
LIMITS = {  # clause 7.4: speed up to which the first row holds; percent, loss in percent, ms
    "fibre": (500, (80, 0.5, 20), (90, 0.3, 15)),
    "cable": (200, (70, 1.0, 40), (75, 0.8, 35)),
    "copper": (24, (60, 2.0, 60), (70, 1.5, 50)),
}
OTHER = {"field": "network", "network": "field"}


def decide(inputs: Mapping[str, Any], call: Call) -> dict[str, str]:
    """Return the status of one case; `call(tool, **arguments)` raises `ToolError`."""
    return {"final_resolution_status": _status(inputs, call)}


def _status(inputs: Mapping[str, Any], call: Call) -> str:
    customer, code = inputs["customer_id"], inputs["security_code"]
    session = call("open_session", customer_id=customer, security_code=code)
    if not _recognised(inputs, session):
        return "authentication_failed"  # clause 4.6

    token = session["session_token"]
    account = call("get_account", session_token=token)
    closed = _not_eligible(inputs, account, _bill(token, call))
    if closed:
        return closed
    if _concerned(inputs, account, token, call):
        return "known_outage"  # clause 6.5

    team = _desk(account, token, call)
    return f"escalated_{_accepted(team, token, call)}" if team else "restored"


def _recognised(inputs: Mapping[str, Any], session: Mapping[str, Any]) -> bool:
    if session["auth_level"] == "none" or session["failed_attempts_24h"] >= TOO_MANY_ATTEMPTS:
        return False  # clauses 4.2, 4.3
    if session["auth_level"] == "full":
        return True  # clause 4.4
    given = _digits(inputs["contact_number"])
    return given != "" and given == _digits(session["registered_number"])  # clause 4.5


def _digits(number: str) -> str:
    return re.sub(r"^(\+44|0044)", "0", re.sub(r"[ ()-]", "", number))


def _bill(token: str, call: Call) -> Mapping[str, Any] | None:
    try:
        bill: Mapping[str, Any] = call("get_billing", session_token=token)
    except ToolError:
        return None  # clause 5.6
    return bill


def _not_eligible(
    inputs: Mapping[str, Any], account: Mapping[str, Any], bill: Mapping[str, Any] | None
) -> str:
    day = datetime.fromisoformat(inputs["reported_at"]).date()
    suspended = _suspended(account, day)
    if bill is None or not _in_debt(account, bill, day):
        return "account_suspended" if suspended else ""  # clauses 5.8, 5.9
    came_first = suspended and account["suspended_since"] <= bill["oldest_due"]
    return "account_suspended" if came_first else "payment_overdue"  # clauses 5.7, 5.8


def _suspended(account: Mapping[str, Any], day: date) -> bool:
    if account["account_status"] != "suspended":
        return False
    if account["suspension_reason"] != "customer_hold":
        return True
    return date.fromisoformat(account["hold_until"]) >= day  # clause 5.2


def _in_debt(account: Mapping[str, Any], bill: Mapping[str, Any], day: date) -> bool:
    if account["priority_care"] or bill["overdue_pence"] <= DEBT_PENCE:
        return False  # clauses 5.5, 5.3
    if (day - date.fromisoformat(bill["oldest_due"])).days <= DEBT_DAYS:
        return False  # clause 5.3
    until = bill["arrangement_until"]
    arranged = until is not None and date.fromisoformat(until) >= day
    return not arranged or bill["missed_instalments"] > 0  # clause 5.4


def _concerned(
    inputs: Mapping[str, Any], account: Mapping[str, Any], token: str, call: Call
) -> bool:
    areas = [area for area in (account["area_code"], account["border_area"]) if area]
    lists = [call("list_outages", session_token=token, area=area) for area in areas]
    reported = datetime.fromisoformat(inputs["reported_at"])
    return any(_fits(outage, account, reported) for found in lists for outage in found)


def _fits(outage: Mapping[str, Any], account: Mapping[str, Any], reported: datetime) -> bool:
    if outage["line_type"] not in {account["line_type"], "all"}:
        return False  # clause 6.3 a
    east = _metres(outage["centre_easting_km"]) - _metres(account["easting_km"])
    north = _metres(outage["centre_northing_km"]) - _metres(account["northing_km"])
    if east * east + north * north > outage["radius_m"] ** 2:
        return False  # clause 6.3 b
    if datetime.fromisoformat(outage["began_at"]) > reported:
        return False  # clause 6.3 c
    if outage["ended_at"] is None:
        return True
    ended = datetime.fromisoformat(outage["ended_at"])
    if outage["kind"] == "planned":
        return ended > reported  # clause 6.4
    return reported - ended <= GRACE  # clause 6.3 d


def _metres(km: float) -> int:
    return round(km * 1000)


def _desk(account: Mapping[str, Any], token: str, call: Call) -> str:
    """The team to ask for, or an empty text where the line is well."""
    line = _measured("measure_line", call, session_token=token)
    if line and line["optical_dbm"] is not None and line["optical_dbm"] < DARK_DBM:
        return "field"  # clause 7.2
    failing = _failing(account, line)
    if not failing and line["drops_24h"] < MANY_DROPS:
        return ""  # clause 7.6
    if "offline" in failing:
        action = "port_restart"
    elif "loss" in failing:
        action = "profile_rebuild"
    else:
        action = "session_clear"  # clause 8.1
    reset = call("run_reset", session_token=token, action=action)
    if reset["outcome"] != "completed":
        return "field" if reset["outcome"] == "device_unreachable" else "network"  # clause 8.3
    reference = reset["reset_reference"]
    again = _measured("remeasure_line", call, session_token=token, reset_reference=reference)
    return _team(account, _failing(account, again))


def _measured(tool: str, call: Call, **arguments: str) -> Mapping[str, Any]:
    try:
        line: Mapping[str, Any] = call(tool, **arguments)
    except ToolError:
        return {}  # clauses 7.1, 9.1
    return line


def _failing(account: Mapping[str, Any], line: Mapping[str, Any]) -> set[str]:
    if not line or not line["device_online"]:
        return {"offline"}  # clauses 7.1, 7.3, 9.1
    subscribed = account["subscribed_mbps"]
    up_to, slow, fast = LIMITS[account["line_type"]]
    percent, loss, latency = slow if subscribed <= up_to else fast
    fails = {
        "speed": line["downstream_kbps"] * 100 < percent * subscribed * 1000,
        "loss": line["packets_lost"] * 1000 > round(loss * 10) * line["packets_sent"],
        "latency": line["latency_ms"] > latency,
    }
    return {reading for reading, failed in fails.items() if failed}


def _team(account: Mapping[str, Any], failing: set[str]) -> str:
    if not failing:
        return ""  # clause 9.3
    if not failing & {"offline", "speed"}:
        return "network"  # clause 10.2
    fast_cable = account["line_type"] == "cable" and account["subscribed_mbps"] > LIMITS["cable"][0]
    crowded = fast_cable and len(failing) > 1  # an offline line fails in nothing else
    return "network" if crowded else "field"  # clauses 10.3, 10.2


def _accepted(team: str, token: str, call: Call) -> str:
    answer = call("raise_escalation", session_token=token, team=team)
    if answer["decision"] == "accepted":
        return team
    call("raise_escalation", session_token=token, team=OTHER[team])
    return OTHER[team]  # clause 10.4
