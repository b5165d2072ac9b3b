"""The policy of `traffic_spoofing_detection` gives the answers that the Traffic Office gives.

Worked out by hand, paragraph by paragraph, from one partner with two good sources. The writer of
the text also wrote a second policy, from its first wording, which reads the notes for itself: it
came to the same answers and calls on all rows but one, where it had misread a note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

import pytest

from pytest_sopbench.errors import ToolError

FIRST, LAST, CASE_DAY = "2026-05-11", "2026-05-17", "2026-05-20"
BOUGHT = (
    "You will see it anyway: Nine Hens. We bought that traffic. Everything else is clean, and I "
    "would like to keep it that way."
)
ANNOUNCED = (
    "Announcement of a promotion received on {day}. Source: Nine Hens. Nothing else to add. K."
)


def source(number: int, **cells: Any) -> dict[str, Any]:
    """A website with a thousand clicks and as many orders as nobody wonders at."""
    return {
        "source_id": f"S-{number:06}",
        "name": ("Nine Hens", "Twine", "Quince", "Clogs")[number],
        "channel": "website",
        "state": "live",
        "clicks": 1_000,
        "orders": 15,
        "match": 90,
        "servers": 2,
        "busy": 0,
        "usual": (1_000, "week", "2026-05-01"),
        **cells,
    }


def before(day: str, **cells: Any) -> dict[str, Any]:
    return {"measure": "NOTICE", "set_on": day, "state": "final", "by_grace": False} | cells


GENUINE, SPOOFED = source(1), source(0, match=10)
ONCE = [before("2026-01-01")]
TWICE = [*ONCE, before("2026-02-01")]
SURGE = (160, "week", "2026-05-01")


def case(**cells: Any) -> dict[str, Any]:
    return {
        "case_id": "TQ-000001",
        "case_day": CASE_DAY,
        "partner_id": "PN00001",
        "window_first": FIRST,
        "window_last": LAST,
        "note_by": "analyst",
        "note": "Opened by the nightly job. I have not looked any closer.",
        "joined_on": "2020-01-01",
        "paid": "in arrears",
        "sources": [source(0), GENUINE],
        "earlier_measures": [],
        "reader": "agrees",
        "entry": "in force",
    } | cells


class Desk:
    """The services of one case; `made` are the calls so far."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._sources = {one["source_id"]: one for one in given["sources"]}
        self.made: list[tuple[str, dict[str, Any]]] = []

    def call(self, name: str, /, **arguments: Any) -> Any:
        self.made.append((name, arguments))
        match name:
            case "open_partner_file":
                return self._given
            case "verify_source":
                return self._check(self._sources[arguments["source_id"]], arguments["attempt"])
            case "get_baseline":
                return self._baseline(self._sources["S-" + arguments["baseline_id"][2:]])
            case "file_evidence_report":
                return {"report_id": "ER-000007", "second_reader": self._given["reader"]}
            case _:
                return {"entry": self._given["entry"]}

    def named(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.made if called == name]

    @staticmethod
    def _check(one: Mapping[str, Any], attempt: int) -> Any:
        if attempt <= one["busy"]:
            raise ToolError(one["source_id"])
        number = None if one["usual"] is None else f"B0{one['source_id'][2:]}"
        return {
            "referrer_match": one["match"],
            "server_share": one["servers"],
            "baseline_id": number,
        }

    @staticmethod
    def _baseline(one: Mapping[str, Any]) -> Any:
        if one["usual"] == "unknown":
            raise ToolError(one["source_id"])
        return dict(zip(("clicks", "per", "computed_on"), one["usual"], strict=True))


@pytest.fixture
def work(traffic_spoofing_detection: Any) -> Any:
    def made(given: Mapping[str, Any]) -> tuple[Any, Desk]:
        desk = Desk(given)
        found = traffic_spoofing_detection.decide(given, desk.call)
        return (found["risk_level"], found["enforcement_action"]), desk

    return made


def test_the_policy_answers_as_the_desk_does_when_nothing_is_odd(work: Any) -> None:
    answer, desk = work(case())

    assert ("LOW", "NO ACTION") == answer
    assert ["open_partner_file", *["verify_source"] * 2, *["get_baseline"] * 2] == [
        name for name, _ in desk.made
    ]


@pytest.mark.parametrize(
    ("sources", "cells", "score"),
    [
        pytest.param([SPOOFED, GENUINE], {}, 12, id="19 half of the clicks"),
        pytest.param([SPOOFED | {"clicks": 100}, GENUINE], {}, 4, id="19 below 15 %"),
        pytest.param([SPOOFED | {"clicks": 150}, source(1, clicks=850)], {}, 8, id="19 15 %"),
        pytest.param([SPOOFED | {"match": 39}, GENUINE], {}, 12, id="9 a match of 39"),
        pytest.param([SPOOFED | {"match": 40}, GENUINE], {}, 4, id="9 a match of 40, doubtful"),
        pytest.param([SPOOFED | {"match": 90, "servers": 25}, GENUINE], {}, 12, id="9 servers"),
        pytest.param(
            [SPOOFED, source(1, match=3, channel="newsletter")], {}, 12, id="10 a newsletter"
        ),
        pytest.param([SPOOFED, source(1, servers=88, channel="app")], {}, 12, id="10 an app"),
        pytest.param([SPOOFED | {"busy": 1}, GENUINE], {}, 12, id="8 busy once"),
        pytest.param(
            [SPOOFED, source(1, clicks=9_000, state="paused", match=60)], {}, 12, id="6 paused"
        ),
        pytest.param([SPOOFED, source(1, match=60, clicks=39)], {}, 12, id="6 39 clicks"),
        pytest.param(
            [SPOOFED, source(1, usual=(100, "day", "2026-05-01"))], {}, 12, id="14 below 3 times"
        ),
        pytest.param(
            [SPOOFED, source(1, clicks=1_050, usual=(50, "day", "2026-05-01"))],
            {},
            15,
            id="16 a spike",
        ),
        pytest.param(
            [SPOOFED, source(1, clicks=1_008, usual=(1, "hour", "2026-05-01"))],
            {},
            18,
            id="16 a surge",
        ),
        pytest.param(
            [SPOOFED, source(1, clicks=1_049, usual=(50, "day", "2026-03-11"))],
            {},
            12,
            id="15 an old baseline",
        ),
        pytest.param(
            [SPOOFED, source(1, clicks=1_050, usual=(50, "day", "2026-03-12"))],
            {},
            15,
            id="15 sixty days are not old",
        ),
        pytest.param(
            [SPOOFED, source(1, usual=(10, "week", FIRST))], {}, 12, id="15 of the window itself"
        ),
        pytest.param([SPOOFED, source(1, usual="unknown")], {}, 12, id="13 an unknown baseline"),
        pytest.param(
            [SPOOFED, source(1, usual=(300, "week", "2026-05-01"), orders=20)],
            {},
            12,
            id="17 a spike with orders",
        ),
        pytest.param(
            [SPOOFED, source(1, usual=SURGE, orders=20)], {}, 15, id="17 a surge with orders"
        ),
        pytest.param(
            [SPOOFED | {"usual": SURGE}, source(1, usual=SURGE)], {}, 21, id="19 3 at most"
        ),
        pytest.param([SPOOFED | {"orders": 5}, GENUINE], {}, 12, id="19 an order for 100"),
        pytest.param([SPOOFED | {"orders": 4}, GENUINE], {}, 14, id="19 an order for more"),
        pytest.param(
            [SPOOFED | {"orders": 0}, source(1, orders=7)], {}, 16, id="19 hardly an order"
        ),
        pytest.param([SPOOFED, GENUINE], {"joined_on": "2026-04-12"}, 14, id="19 29 days"),
        pytest.param([SPOOFED, GENUINE], {"joined_on": "2026-04-11"}, 13, id="19 30 days"),
        pytest.param([SPOOFED, GENUINE], {"joined_on": "2026-01-11"}, 12, id="19 120 days"),
        pytest.param(
            [SPOOFED | {"usual": SURGE}, GENUINE],
            {"note_by": "manager", "note": ANNOUNCED.format(day="9 May")},
            12,
            id="18 a promotion",
        ),
        pytest.param(
            [SPOOFED | {"usual": SURGE}, GENUINE],
            {"note_by": "manager", "note": ANNOUNCED.format(day="10 May")},
            18,
            id="18 a day too late",
        ),
        pytest.param(
            [SPOOFED | {"usual": SURGE}, GENUINE],
            {"note_by": "partner", "note": ANNOUNCED.format(day="9 May")},
            18,
            id="18 told by somebody else",
        ),
        pytest.param(
            [source(0, busy=2, clicks=300), GENUINE],
            {"note_by": "partner", "note": BOUGHT, "joined_on": "2026-05-01"},
            10,
            id="11 owned up, not checked",
        ),
    ],
)
def test_the_score_is_added_up(
    work: Any, sources: list[Any], cells: Mapping[str, Any], score: int
) -> None:
    """It is filed from 12 on; below that the risk shows it."""
    (risk, _), desk = work(case(sources=sources, earlier_measures=ONCE, **cells))

    most = {"LOW": 5, "GUARDED": 11, "HIGH": 18, "SEVERE": 99}
    assert next(name for name, highest in most.items() if score <= highest) == risk
    assert [score for _ in range(score >= 12)] == [
        filed["score"] for filed in desk.named("file_evidence_report")
    ]


MOST = {"sources": [SPOOFED | {"usual": SURGE, "orders": 0}, source(1, orders=2)]}  # 4 more points
HIGH = {"sources": [SPOOFED, GENUINE]}
GUARDED = {"sources": [SPOOFED | {"clicks": 150}, source(1, clicks=850)]}
OLD_GRACE = [before("2020-05-05", by_grace=True)]


@pytest.mark.parametrize(
    ("cells", "answer"),
    [
        pytest.param({"sources": []}, ("LOW", "NO ACTION"), id="6 nothing to look at"),
        pytest.param(
            {"sources": [source(0, busy=2), GENUINE]},
            ("UNRATED", "REFERRAL"),
            id="12 half unchecked",
        ),
        pytest.param(
            {"sources": [source(0, busy=2, clicks=300), source(1, clicks=900)]},
            ("LOW", "NO ACTION"),
            id="12 just a quarter",
        ),
        pytest.param(
            {
                "sources": [
                    source(0, usual=SURGE, match=60, orders=0),
                    source(1, usual=SURGE, match=60, orders=0),
                ]
            }
            | {"earlier_measures": ONCE},
            ("GUARDED", "NOTICE"),
            id="22 nothing spoofed",
        ),
        pytest.param(GUARDED, ("GUARDED", "NO ACTION"), id="23 by grace"),
        pytest.param(GUARDED | {"earlier_measures": ONCE}, ("GUARDED", "NOTICE"), id="23 a rule"),
        pytest.param(
            GUARDED | {"earlier_measures": TWICE}, ("GUARDED", "PAYOUT HOLD"), id="23 repeated"
        ),
        pytest.param(HIGH, ("HIGH", "PAYOUT HOLD"), id="23 high by grace"),
        pytest.param(HIGH | {"earlier_measures": ONCE}, ("HIGH", "SOURCE BLOCK"), id="23 high"),
        pytest.param(
            HIGH | {"earlier_measures": TWICE}, ("HIGH", "TERMINATION"), id="23 high repeated"
        ),
        pytest.param(MOST, ("SEVERE", "SOURCE BLOCK"), id="23 severe by grace"),
        pytest.param(MOST | {"earlier_measures": ONCE}, ("SEVERE", "TERMINATION"), id="23 severe"),
        pytest.param(
            HIGH | {"earlier_measures": [before("2025-05-20")]},
            ("HIGH", "SOURCE BLOCK"),
            id="24 365 days ago",
        ),
        pytest.param(
            HIGH | {"earlier_measures": [before("2025-05-19")]},
            ("HIGH", "PAYOUT HOLD"),
            id="24 366 days ago",
        ),
        pytest.param(
            HIGH | {"earlier_measures": [before("2026-05-01", state="withdrawn", by_grace=True)]},
            ("HIGH", "PAYOUT HOLD"),
            id="24 withdrawn",
        ),
        pytest.param(
            HIGH | {"earlier_measures": [before("2026-05-01", state="under appeal")]},
            ("HIGH", "SOURCE BLOCK"),
            id="24 under appeal",
        ),
        pytest.param(
            HIGH | {"earlier_measures": OLD_GRACE}, ("HIGH", "SOURCE BLOCK"), id="25 had grace"
        ),
        pytest.param(
            {"sources": [SPOOFED | {"servers": 60}, GENUINE]},
            ("HIGH", "SOURCE BLOCK"),
            id="25 a farm",
        ),
        pytest.param(
            {"sources": [SPOOFED | {"servers": 60, "channel": "app"}, GENUINE]},
            ("HIGH", "PAYOUT HOLD"),
            id="25 an app is no farm",
        ),
        pytest.param(
            HIGH | {"paid": "in advance"}, ("HIGH", "SOURCE BLOCK"), id="26 nothing to hold"
        ),
        pytest.param(
            GUARDED | {"paid": "in advance", "earlier_measures": TWICE},
            ("GUARDED", "NOTICE"),
            id="26 nothing to hold, guarded",
        ),
        pytest.param(
            HIGH | {"note_by": "partner", "note": BOUGHT, "earlier_measures": TWICE},
            ("HIGH", "SOURCE BLOCK"),
            id="27 owned up",
        ),
        pytest.param(
            HIGH
            | {"note_by": "partner", "earlier_measures": TWICE}
            | {"note": BOUGHT.replace("Nine Hens", "Quince")},
            ("HIGH", "TERMINATION"),
            id="11 a source that is not there",
        ),
        pytest.param(HIGH | {"reader": "objects"}, ("HIGH", "REFERRAL"), id="29 objects"),
        pytest.param(HIGH | {"entry": "stopped"}, ("HIGH", "REFERRAL"), id="33 stopped"),
    ],
)
def test_the_policy_answers_as_the_desk_does(
    work: Any, cells: Mapping[str, Any], answer: tuple[str, str]
) -> None:
    assert answer == work(case(**cells))[0]


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        pytest.param(
            HIGH,
            {"measure": "PAYOUT HOLD", "blocked_sources": [], "hold_days": 30, "by_grace": True},
            id="a hold by grace",
        ),
        pytest.param(
            HIGH | {"paid": "in advance"},
            {
                "measure": "SOURCE BLOCK",
                "blocked_sources": ["S-000000"],
                "hold_days": 0,
                "by_grace": False,
            },
            id="26 no grace any more",
        ),
        pytest.param(
            GUARDED | {"earlier_measures": TWICE},
            {
                "measure": "PAYOUT HOLD",
                "blocked_sources": [],
                "hold_days": 14,
                "by_grace": False,
                "report_id": "none",
            },
            id="30 without a report",
        ),
    ],
)
def test_what_is_set_says_what_paragraph_32_asks_for(
    work: Any, cells: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    _, desk = work(case(**cells))

    given = {"case_id": "TQ-000001", "partner_id": "PN00001", "report_id": "ER-000007"}
    assert [{**given, **wanted}] == desk.named("set_measure")
    assert bool(desk.named("file_evidence_report")) is (desk.made[-1][1]["report_id"] != "none")


def test_a_case_takes_many_calls(traffic_spoofing_detection: Any) -> None:
    text = (traffic_spoofing_detection.folder / "expected_calls.jsonl").read_text()
    calls = [len(json.loads(line)["calls"]) for line in text.splitlines()]

    assert median(calls) >= 15


def test_notes_are_of_many_people(traffic_spoofing_detection: Any) -> None:
    """Names and days aside, which are those of the case."""
    texts: set[str] = set()
    for row in traffic_spoofing_detection.rows:
        note = row["note"]
        for one in row["sources"]:
            note = note.replace(one["name"], "{source}")
        texts.add("".join(letter for letter in note if not letter.isdigit()))

    assert len(texts) >= 60
    assert {"partner", "manager", "merchant", "analyst"} == {
        row["note_by"] for row in traffic_spoofing_detection.rows
    }


def lost(domain: Any, tools_of: Any) -> int:
    """How many answers are wrong by a policy that was changed."""
    return sum(
        domain.decide(domain.inputs(row), tools_of(domain, row).call) != domain.expected(row)
        for row in domain.rows
    )


def test_who_believes_every_note_or_none_loses_tasks(
    traffic_spoofing_detection: Any, tools_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paragraphs 11 and 18 ask who wrote a note, and not only what it says."""
    domain = traffic_spoofing_detection
    names = domain.decide.__globals__
    right = names["source_of_note"]

    def of_anybody(given: Mapping[str, Any], said: str, *, by: str) -> Any:
        return right({**given, "note_by": by}, said, by=by)

    def of_nobody(given: Mapping[str, Any], said: str, *, by: str) -> Any:
        return right({**given, "note_by": ""}, said, by=by)

    monkeypatch.setitem(names, "source_of_note", of_anybody)
    believed = lost(domain, tools_of)
    monkeypatch.setitem(names, "source_of_note", of_nobody)
    ignored = lost(domain, tools_of)

    assert believed >= 8
    assert ignored >= 16


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        pytest.param("DAYS", {"hour": 1, "day": 1, "week": 1}, 20, id="every baseline per day"),
        pytest.param("OLD_FOLD", 1, 4, id="an old baseline as it is"),
        pytest.param("FARM", 101, 4, id="grace for farms"),
        pytest.param("IN_ADVANCE", {"HIGH": "PAYOUT HOLD", "GUARDED": "PAYOUT HOLD"}, 6, id="26"),
        pytest.param("REPORTED", (), 12, id="no report, and no rule without spoofed"),
    ],
)
def test_who_misreads_a_paragraph_loses_tasks(
    traffic_spoofing_detection: Any,
    tools_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: Any,
    least: int,
) -> None:
    monkeypatch.setitem(traffic_spoofing_detection.decide.__globals__, name, value)

    assert lost(traffic_spoofing_detection, tools_of) >= least
