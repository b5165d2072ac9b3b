"""Write `tasks.jsonl` and `expected_calls.jsonl`, byte for byte the same; `--check` only compares.

`cases.json` has the cases by the section of the work instruction that they are about, and says
what is unusual about each. Days and minutes are counted back from the report, those of `hold` and
`until` forward, and `beyond` is metres out from the radius. All else is drawn, also behind a gate
that has closed, so that no column gives a gate away.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Dice, Generator, bundled

FOLDER = bundled("customer_service")
HERE = Path(__file__).parent
BILL = ("overdue_pence", "oldest_due", "arrangement_until", "missed_instalments")
SEED = 22
FIRST_DAY = datetime.fromisoformat("2026-03-02")
ROWS = 208
SPEEDS = {
    "fibre": (150, 500, 501, 1000),
    "cable": (100, 200, 201, 250, 500),
    "copper": (16, 24, 25, 50),
}
LIMITS = {  # clause 7.4
    "fibre": (500, (80, 5, 20), (90, 3, 15)),
    "cable": (200, (70, 10, 40), (75, 8, 35)),
    "copper": (24, (60, 20, 60), (70, 15, 50)),
}
FAILURES: tuple[tuple[str, ...], ...] = ((), ("speed",), ("loss",), ("offline",))
ACTIONS = ("port_restart", "profile_rebuild", "session_clear")
AREAS = ("NW-104", "NW-117", "HB-020", "HB-031", "SR-208", "SR-215", "TL-066", "TL-073")
OFFLINE = "offline"
NAMES = ("device_online", "downstream_kbps", "packets_sent", "packets_lost", "latency_ms")

Case: TypeAlias = dict[str, Any]
"""What is unusual about a row; the keys are those that `Writer.row` asks for."""


def cases() -> Iterator[Case]:
    """Every case, section by section."""
    sections: dict[str, list[Case]] = json.loads((HERE / "cases.json").read_text("utf-8"))
    for groups in sections.values():
        for group in groups:
            yield from [group] * group["rows"]


class Writer:
    """Makes rows of cases."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        phrases: dict[str, list[str]] = json.loads((HERE / "phrases.json").read_text("utf-8"))
        self._symptoms = dice.shuffled(itertools.product(*phrases.values()))
        self._used: set[int] = set()

    def row(self, said: Case) -> dict[str, Any]:
        """One row; a line of which nothing is said is like others."""
        first, second = self._dice.pick(FAILURES), self._dice.pick(FAILURES[:3])
        case = {"first": first, "second": second, **said}
        reported = FIRST_DAY + timedelta(minutes=self._dice.between(360, 86_000))
        account = self._account(case, reported.date())
        resets, seconds = self._reset(case, account)
        return {
            "case_id": f"OF-{self._number(6)}",
            "customer_id": f"LK{self._number(8)}",
            "security_code": self._number(6),
            "reported_at": reported.isoformat(timespec="minutes"),
            "symptom": " ".join(self._symptoms.pop()),
            **self._session(case),
            **account,
            **self._bill(case, reported.date()),
            "outages": self._outages(case, account, reported),
            **self._first(case, account),
            "resets": resets,
            "second_measurements": seconds,
            "board": self._board(),
            "gb_per_month": [self._dice.between(20, 900) for _ in range(12)],
            "tags": ",".join(case["tags"]),
        }

    def _number(self, digits: int) -> str:
        while True:
            number = self._dice.below(10**digits)
            if number not in self._used:
                self._used.add(number)
                return f"{number:0{digits}}"

    def _session(self, case: Case) -> dict[str, Any]:
        level = case.get("level", "full")
        registered = "07700 9" + self._number(5)
        number = case.get("number") or self._dice.pick(("same", "other", "plus", "spaced", "empty"))
        token = "".join(self._dice.pick("0123456789ABCDEF") for _ in range(12))
        return {
            "contact_number": self._contact(number, registered),
            "session_token": f"ST-{token}",
            "auth_level": level,
            "failed_attempts_24h": case.get("attempts", self._dice.below(4)),
            "registered_number": registered,
        }

    def _contact(self, number: str, registered: str) -> str:
        plain = registered.replace(" ", "")
        return {
            "same": registered,
            "spaced": f"{plain[:3]} {plain[3:7]} {plain[7:]}",
            "hyphens": f"{plain[:5]}-{plain[5:8]}-{plain[8:]}",
            "brackets": f"({plain[:5]}) {plain[5:]}",
            "plus": f"+44 {plain[1:]}",
            "zeros": f"0044{plain[1:5]} {plain[5:]}",
            "digit": f"{plain[:9]}{plain[10]}{(int(plain[9]) + 1) % 10}",
            "other": "07700 9" + self._number(5),
            "empty": "",
        }[number]

    def _account(self, case: Case, day: date) -> dict[str, Any]:
        dice = self._dice
        reason = case.get("suspended")
        line = case.get("line") or dice.pick(tuple(SPEEDS))
        area = dice.pick(AREAS)
        outage: Case = case.get("outage", {})
        border = outage.get("border") or dice.below(3) == 0
        others = [one for one in AREAS if one[:2] == area[:2] and one != area]
        held = reason == "customer_hold"
        since = case.get("since", dice.between(3, 90))
        return {
            "account_status": "suspended" if reason else "active",
            "suspension_reason": reason,
            "suspended_since": _ago(day, since) if reason else None,
            "hold_until": _ago(day, -case["hold"]) if held else None,
            "line_type": line,
            "subscribed_mbps": case.get("speed") or dice.pick(SPEEDS[line]),
            "priority_care": case.get("care", dice.below(8) == 0 and "owes" not in case),
            "area_code": area,
            "border_area": dice.pick(others) if border else None,
            "easting_km": dice.between(200, 900) / 10,
            "northing_km": dice.between(200, 900) / 10,
        }

    def _bill(self, case: Case, day: date) -> dict[str, Any]:
        dice = self._dice
        late = (dice.between(500, 9000), dice.between(1, 13))
        small = (dice.between(100, 2400), dice.between(15, 70))
        owes = case.get("owes", dice.pick(((0, 0), (0, 0), late, small)))
        if owes is None:
            return dict.fromkeys(BILL)
        (pence, days), until = owes, case.get("until")
        return {
            "overdue_pence": pence,
            "oldest_due": _ago(day, days) if pence else None,
            "arrangement_until": None if until is None else _ago(day, -until),
            "missed_instalments": case.get("missed", 0),
        }

    def _outages(self, case: Case, account: Case, reported: datetime) -> list[dict[str, Any]]:
        found = [self._elsewhere(account, reported) for _ in range(self._dice.below(3))]
        if "outage" in case:
            place = self._dice.below(len(found) + 1)
            found.insert(place, self._outage(case["outage"], account, reported))
        return found

    def _elsewhere(self, account: Case, reported: datetime) -> dict[str, Any]:
        """An outage that misses the customer by one of the four, and by no hair."""
        dice = self._dice
        missed: tuple[Case, ...] = ({"beyond": 300}, {"ended": 700}, {"line_type": "other"})
        border = account["border_area"] is not None and dice.below(2) == 1
        return self._outage({**dice.pick(missed), "border": border}, account, reported)

    def _outage(self, said: Mapping[str, Any], account: Case, reported: datetime) -> dict[str, Any]:
        dice = self._dice
        east, north, distance = dice.pick(
            ((3, 4, 5), (6, 8, 10), (5, 12, 13), (-8, 6, 10), (4, -3, 5))
        )
        scale = dice.pick((1, 2, 3))
        line_type = said.get("line_type", dice.pick(("all", account["line_type"])))
        if line_type == "other":
            line_type = dice.pick([one for one in SPEEDS if one != account["line_type"]])
        ended = said.get("ended")
        began = said.get("began", dice.between(130, 900) + max(ended or 0, 0))
        return {
            "outage_id": f"OB-{self._number(5)}",
            "area": account["border_area"] if said.get("border") else account["area_code"],
            "kind": said.get("kind", "unplanned"),
            "line_type": line_type,
            "centre_easting_km": round(account["easting_km"] + east * scale / 10, 1),
            "centre_northing_km": round(account["northing_km"] + north * scale / 10, 1),
            "radius_m": distance * scale * 100 - said.get("beyond", -dice.between(50, 400)),
            "began_at": _before(reported, began),
            "ended_at": None if ended is None else _before(reported, ended),
        }

    def _first(self, case: Case, account: Case) -> dict[str, Any]:
        dice = self._dice
        failing = case["first"]
        fibre = account["line_type"] == "fibre"
        dbm = case.get("dbm", -dice.between(160, 270) / 10) if fibre else None
        readings = self._readings(account, failing, case)
        drops = case.get("drops", dice.below(4) if not failing else dice.below(12))
        if case.get("silent"):
            return dict.fromkeys((*readings, "optical_dbm", "drops_24h"))
        return {**readings, "optical_dbm": dbm, "drops_24h": drops}

    def _readings(self, account: Case, failing: Sequence[str], case: Case) -> dict[str, Any]:
        """Readings of which exactly these fail: at the limit, by a hair, or plainly."""
        dice, speed = self._dice, account["subscribed_mbps"]
        up_to, slow, fast = LIMITS[account["line_type"]]
        percent, per_mille, latency = slow if speed <= up_to else fast
        if OFFLINE in failing:
            values = (False, 0, 1000, 1000, None)
            return dict(zip(NAMES, values, strict=True))
        exact, hair = case.get("exact"), case.get("hair")
        sent = dice.pick((1000, 2000, 4000))
        kbps, lost = percent * speed * 10, per_mille * sent // 1000
        better = 0 if exact else dice.between(1, 8)
        worse = 1 if hair else dice.between(5, 30)
        slower = 1 if hair else worse * speed * 8
        return {
            "device_online": True,
            "downstream_kbps": kbps - slower if "speed" in failing else kbps + better * speed,
            "packets_sent": sent,
            "packets_lost": lost + worse if "loss" in failing else max(0, lost - better),
            "latency_ms": latency + worse if "latency" in failing else latency - better,
        }

    def _reset(self, case: Case, account: Case) -> tuple[list[Case], list[Case]]:
        """What each action comes to; who takes the wrong one is shown another line."""
        resets, seconds = list[Case](), list[Case]()
        for action in ACTIONS:
            outcome, seen = "completed", [] if case["second"] else ["speed", "latency"]
            if action == _right_action(case):
                outcome, seen = case.get("outcome", outcome), case["second"]
            reference = f"RS-{self._number(7)}" if outcome == "completed" else None
            resets.append({"action": action, "outcome": outcome, "reset_reference": reference})
            if reference:
                line = dict[str, Any].fromkeys(NAMES)
                if seen is not None:
                    line = self._readings(
                        account, seen, case if case.get("hair") or not seen else {}
                    )
                seconds.append({"reset_reference": reference} | line)
        return resets, seconds

    def _board(self) -> list[Case]:
        """At most one team declines, whether it is asked or not."""
        declines = self._dice.pick((None, None, "field", "network"))
        return [
            {"team": team, "decision": "declined" if team == declines else "accepted"}
            for team in ("field", "network")
        ]


def _right_action(case: Case) -> str:
    if OFFLINE in case["first"] or case.get("silent"):
        return "port_restart"
    return "profile_rebuild" if "loss" in case["first"] else "session_clear"


def _ago(day: date, days: int) -> str:
    return (day - timedelta(days=days)).isoformat()


def _before(moment: datetime, minutes: int) -> str:
    return (moment - timedelta(minutes=minutes)).isoformat(timespec="minutes")


def rows() -> list[dict[str, Any]]:
    """Every row without its label, in the order of the file."""
    dice = Dice(SEED)
    every = dice.shuffled(cases())
    if len(every) != ROWS:
        msg = f"{len(every)} cases, {ROWS} wanted"
        raise SystemExit(msg)
    writer = Writer(dice)
    return [writer.row(case) for case in every]


if __name__ == "__main__":
    generator = Generator(folder=FOLDER, rows=rows, data="tasks.jsonl")
    sys.exit(generator.main(sys.argv[1:]))
