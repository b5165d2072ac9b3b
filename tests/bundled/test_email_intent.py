"""The policy of `email_intent` says what the Post Room Book says, and readings what mails say.

Whoever wrote the mails read 31 of them again, without their readings, and came to each label.
"""

from __future__ import annotations

import json
import re
import runpy
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bundled_domains.generator import decided, look_ups

import pytest_sopbench

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "email_intent"
TOOLS = json.loads((FOLDER / "metadata.json").read_text("utf-8"))["tools"]
POLICY = runpy.run_path(str(FOLDER / "policy.py"))
ROWS = [json.loads(line) for line in (FOLDER / "tasks.jsonl").read_text("utf-8").splitlines()]
READINGS = json.loads((FOLDER / "readings.json").read_text("utf-8"))
FACTS = {
    "intent": {
        "safety_stop",
        "end_listing",
        "price_change",
        "stock_change",
        "visibility_query",
        "elsewhere",
    },
    "how": {"stated", "pointed_at", "quoted", "taken_back", "wondered", "waiting", "history"},
    "room": {"PAYMENTS", "ACCOUNTS", "BUYERS", "INTEGRITY"},
    "currency": {"EUR", "GBP", "SEK", "PLN"},
    "change": {"came", "went"},
    "locked": {True},
    "pieces": {True},
    "goods": {True},
}
SHARED_WORDS = 5
"""Longest run of words that two mails may have in common; such as "can't be found in the"."""

# --- mails and readings ----------------------------------------------------------------------


def parts(text: str) -> tuple[str, str]:
    """What the writer says and what others said: quoted lines, and all that is forwarded."""
    own, _, forwarded = text.partition("\nForwarded message\n")
    lines = own.splitlines()
    quoted = [line for line in lines if line.startswith(">")]
    return "\n".join(line for line in lines if line not in quoted), "\n".join([*quoted, forwarded])


def test_every_mail_has_a_reading_and_every_reading_a_mail() -> None:
    assert {row["mail_id"] for row in ROWS} == set(READINGS)
    assert 120 <= len({row["text"] for row in ROWS})


def test_a_reading_has_known_words_alone() -> None:
    """A word that is misspelt would be no fact to the policy, and nobody would know."""
    free = {"code", "variant", "price", "percent", "figure", "day"}
    said = [fact for statements in READINGS.values() for one in statements for fact in one.items()]

    assert [] == [(name, value) for name, value in said if name not in {*FACTS, *free}]
    assert [] == [(n, v) for n, v in said if n in FACTS and v not in FACTS[n]]


@pytest.mark.parametrize("fact", ["code", "variant", "price"])
def test_what_a_reading_takes_from_a_mail_stands_in_its_part(fact: str) -> None:
    missing = [
        (row["subject"], said[fact])
        for row in ROWS
        for said in READINGS[row["mail_id"]]
        if fact in said and said[fact].lower() not in place(row, said["how"])
    ]

    assert [] == missing


def place(row: Mapping[str, Any], how: str) -> str:
    own, others = parts(row["text"])
    of_others = {"quoted": others, "pointed_at": others}
    return of_others.get(how, f"{row['subject']}\n{own}").lower()


def test_no_two_mails_are_worded_alike() -> None:
    """None is made of another's sentences, nor of a phrase book."""
    runs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in ROWS:
        words = re.findall(r"[a-z0-9']+", row["text"].lower())
        for first in range(len(words) - SHARED_WORDS):
            runs[tuple(words[first : first + SHARED_WORDS + 1])].add(row["subject"])

    assert {} == {" ".join(run): mails for run, mails in runs.items() if len(mails) > 1}


# --- the book, clause by clause --------------------------------------------------------------

LISTING = {
    "listing_id": "L1000001",
    "product_code": "KT-2041",
    "variant": "plain",
    "status": "live",
    "price_minor": 2000,
    "currency": "EUR",
    "opened_on": "2026-01-01",
}
BAND = {
    "lowest_minor": 1000,
    "highest_minor": 3000,
    "band_currency": "EUR",
    "worked_out_on": "2026-03-01",
    "promotion_until": None,
}
STOCK = {
    "on_hand": 10,
    "reserved": 0,
    "pieces_per_unit": 6,
    "kept_by": "seller",
    "counted_on": "2026-03-01",
}


def work(
    *says: Mapping[str, Any],
    listings: list[dict[str, Any]] | None = None,
    band: Mapping[str, Any] = BAND,
    stock: Mapping[str, Any] = STOCK,
    sender: str = "matched",
    apply: str = "posted",
) -> tuple[str, list[str]]:
    """The intent of a mail of 10 March, and what is written: action, listing and detail."""
    found = [LISTING | one for one in ([{}] if listings is None else listings)]
    row = {
        "mail_id": "SP-00001",
        "seller_id": "WM-0001",
        "received_on": "2026-03-10",
        "sender_check": sender,
        "listings": found,
        "bands": [{"listing_id": one["listing_id"], **BAND, **band} for one in found],
        "stocks": [{"listing_id": one["listing_id"], **STOCK, **stock} for one in found],
        "ledger": [
            {"entry": entry, "outcome": apply if entry == "apply" else "posted"}
            for entry in POLICY_ACTIONS
        ],
    }
    POLICY["READINGS"]["SP-00001"] = [{"how": "stated", **said} for said in says]
    made = decided(POLICY["decide"], row, look_ups(TOOLS, row))
    lines = [
        f"{call['arguments']['entry']} {call['arguments']['listing_id']} "
        f"{call['arguments']['detail']}"
        for call in made.calls
        if call["name"] == "post_entry"
    ]
    assert made.answer["action"] == lines[-1].split()[0]
    return made.answer["seller_intent"], lines


POLICY_ACTIONS = (
    "suspend",
    "apply",
    "decline",
    "ask_seller",
    "open_case",
    "explain",
    "hand_over",
    "close",
)
CODE = {"code": "kt2041"}
END = {"intent": "end_listing", **CODE}
LATER = END | {"day": "2026-03-11"}
PRICE = {"intent": "price_change", **CODE, "price": "25.00"}
NUMBER = {"intent": "stock_change", **CODE, "figure": 20}
NONE = NUMBER | {"figure": 0}
UNSEEN = {"intent": "visibility_query", **CODE}
DANGER = {"intent": "safety_stop", **CODE}
ROOM = {"intent": "elsewhere", "room": "BUYERS"}
LOCKED = {"intent": "elsewhere", "room": "ACCOUNTS", "locked": True}
SECOND = {"listing_id": "L1000002", "variant": "Blue"}


@pytest.mark.parametrize(
    ("says", "intent"),
    [
        pytest.param([END, DANGER], "safety_stop", id="3.1 danger first"),
        pytest.param([NONE, END], "end_listing", id="3.4 none is not before an end"),
        pytest.param([LATER, NUMBER], "stock_change", id="3.3 a later end after stock"),
        pytest.param([END | {"day": "2026-03-10"}, PRICE], "end_listing", id="3.3 today"),
        pytest.param([LOCKED, LATER], "end_listing", id="3.5 a later end before a locked account"),
        pytest.param([NUMBER, PRICE], "price_change", id="3.1 price before stock"),
        pytest.param([NONE, PRICE], "stock_change", id="3.4 none before price"),
        pytest.param([ROOM, UNSEEN], "visibility_query", id="3.1 another room last"),
        pytest.param([UNSEEN, LOCKED], "elsewhere", id="3.5 a locked account"),
        pytest.param([END | {"how": "quoted"}, ROOM], "elsewhere", id="2.2 quoted"),
        pytest.param([END | {"how": "pointed_at"}, ROOM], "end_listing", id="2.2 pointed at"),
        pytest.param([PRICE | {"how": "taken_back"}], "no_request", id="2.3"),
        pytest.param([PRICE | {"how": "wondered"}], "no_request", id="2.4"),
        pytest.param([PRICE | {"how": "waiting"}], "no_request", id="2.5"),
        pytest.param([PRICE | {"how": "history"}], "no_request", id="2.6"),
        pytest.param([], "no_request", id="3.6"),
    ],
)
def test_which_intent_leads(says: list[dict[str, Any]], intent: str) -> None:
    assert intent == work(*says)[0]


@pytest.mark.parametrize(
    ("says", "known", "line"),
    [
        pytest.param(END, {"sender": "unmatched"}, "ask_seller none SENDER", id="4.1"),
        pytest.param(ROOM, {"sender": "unmatched"}, "hand_over none BUYERS", id="4.1 waits not"),
        pytest.param(END | {"code": "KT-20411"}, {}, "ask_seller none CODE", id="4.2 five digits"),
        pytest.param(END, {"listings": [{"status": "ended"}]}, "ask_seller none CODE", id="4.5"),
        pytest.param(UNSEEN, {"listings": [{"status": "ended"}]}, "explain none ENDED", id="4.5 b"),
        pytest.param(UNSEEN, {"listings": []}, "ask_seller none CODE", id="4.5 nothing at all"),
        pytest.param(END | {"variant": "red"}, {}, "apply L1000001 END", id="4.6"),
        pytest.param(
            END | {"variant": "blue"}, {"listings": [{}, SECOND]}, "apply L1000002 END", id="4.7"
        ),
        pytest.param(
            END | {"variant": "red"},
            {"listings": [{}, SECOND]},
            "ask_seller none VARIANT",
            id="4.7 no such",
        ),
        pytest.param(END, {"listings": [{}, SECOND]}, "ask_seller none VARIANT", id="4.7 unnamed"),
        pytest.param(
            END,
            {"listings": [{"status": "paused"}, SECOND]},
            "apply L1000002 END",
            id="4.7 one is live",
        ),
        pytest.param(
            PRICE, {"listings": [{"status": "blocked"}]}, "decline L1000001 BLOCKED", id="4.8"
        ),
        pytest.param(LATER, {}, "decline L1000001 LATER", id="6.1"),
        pytest.param(END, {"stock": {"reserved": 1}}, "open_case L1000001 ORDERS", id="6.2"),
        pytest.param(
            END, {"stock": {"kept_by": "warehouse"}}, "ask_seller L1000001 GOODS", id="6.3"
        ),
        pytest.param(
            END | {"goods": True},
            {"stock": {"kept_by": "warehouse"}},
            "apply L1000001 END",
            id="6.3 told",
        ),
        pytest.param({"intent": "price_change", **CODE}, {}, "ask_seller L1000001 PRICE", id="7.1"),
        pytest.param(
            {"intent": "price_change", **CODE, "percent": -15},
            {"listings": [{"price_minor": 1950}]},
            "apply L1000001 EUR 1658",
            id="7.1 a half goes up",
        ),
        pytest.param(
            PRICE | {"currency": "GBP"}, {}, "ask_seller L1000001 CURRENCY", id="7.2 another"
        ),
        pytest.param(PRICE | {"price": "20.00"}, {}, "close L1000001 SAME", id="7.3"),
        pytest.param(
            PRICE,
            {"band": {"promotion_until": "2026-03-10"}},
            "decline L1000001 PROMOTION",
            id="7.5",
        ),
        pytest.param(
            PRICE,
            {"band": {"promotion_until": "2026-03-09"}},
            "apply L1000001 EUR 2500",
            id="7.5 over",
        ),
        pytest.param(
            PRICE | {"price": "23.00"},
            {"band": {"worked_out_on": "2026-02-07", "highest_minor": 2200}},
            "apply L1000001 EUR 2300",
            id="7.6 by 15 %",
        ),
        pytest.param(
            PRICE | {"price": "16.99"},
            {"band": {"worked_out_on": "2026-02-07"}},
            "open_case L1000001 PRICING",
            id="7.6 by more",
        ),
        pytest.param(
            PRICE | {"price": "12.00"},
            {"band": {"worked_out_on": "2026-02-08"}},
            "apply L1000001 EUR 1200",
            id="7.7 a band of 30 days",
        ),
        pytest.param(
            PRICE | {"price": "12.49"},
            {"band": {"band_currency": "GBP"}},
            "decline L1000001 FLOOR",
            id="7.7 in pounds",
        ),
        pytest.param(PRICE | {"price": "30.01"}, {}, "open_case L1000001 PRICING", id="7.7 above"),
        pytest.param(
            {"intent": "stock_change", **CODE}, {}, "ask_seller L1000001 NUMBER", id="8.1"
        ),
        pytest.param(
            NUMBER | {"figure": 83, "pieces": True}, {}, "apply L1000001 13", id="8.3 left over"
        ),
        pytest.param(NUMBER | {"change": "came"}, {}, "apply L1000001 30", id="8.4 came"),
        pytest.param(
            NUMBER | {"figure": 4, "change": "went"}, {}, "apply L1000001 6", id="8.4 went"
        ),
        pytest.param(NUMBER | {"figure": 10}, {}, "close L1000001 SAME", id="8.5"),
        pytest.param(
            NUMBER,
            {"stock": {"kept_by": "warehouse", "counted_on": "2026-02-24"}},
            "decline L1000001 COUNT",
            id="8.6 14 days",
        ),
        pytest.param(
            NUMBER,
            {"stock": {"kept_by": "warehouse", "counted_on": "2026-02-23"}},
            "open_case L1000001 RECOUNT",
            id="8.6 15 days",
        ),
        pytest.param(
            NUMBER, {"stock": {"reserved": 21}}, "open_case L1000001 ORDERS", id="8.7 reserved"
        ),
        pytest.param(NUMBER | {"figure": 100}, {}, "apply L1000001 100", id="8.7 ten times"),
        pytest.param(NUMBER | {"figure": 101}, {}, "ask_seller L1000001 NUMBER", id="8.7 a slip"),
        pytest.param(NUMBER, {"stock": {"on_hand": 0}}, "apply L1000001 20", id="8.7 from none"),
        pytest.param(
            UNSEEN, {"listings": [{"status": "paused"}]}, "explain L1000001 PAUSED", id="9.1"
        ),
        pytest.param(
            UNSEEN, {"listings": [{"opened_on": "2026-03-08"}]}, "explain L1000001 NEW", id="9.2"
        ),
        pytest.param(
            UNSEEN,
            {"listings": [{"opened_on": "2026-03-07"}]},
            "open_case L1000001 CATALOGUE",
            id="9.3",
        ),
        pytest.param(
            UNSEEN, {"stock": {"reserved": 10}}, "explain L1000001 SOLD_OUT", id="9.3 sold out"
        ),
        pytest.param(
            UNSEEN,
            {"stock": {"reserved": 10, "kept_by": "warehouse", "counted_on": "2026-02-23"}},
            "open_case L1000001 RECOUNT",
            id="9.3 an old count",
        ),
    ],
)
def test_what_is_done(says: dict[str, Any], known: dict[str, Any], line: str) -> None:
    assert [line] == work(says, **known)[1]


def test_two_articles_are_asked_about_and_two_dangers_are_suspended() -> None:
    other = {"code": "KT-2042"}
    listings = [{}, SECOND | {"product_code": "KT-2042", "status": "blocked"}]

    asked = work(END, END | other, listings=listings)[1]
    suspended = work(DANGER, DANGER | other, listings=listings, sender="unmatched")[1]

    assert ["ask_seller none ONE"] == asked
    assert ["suspend L1000001 SAFETY", "suspend L1000002 SAFETY"] == suspended


def test_a_locked_listing_becomes_a_case() -> None:
    assert ["apply L1000001 END", "open_case L1000001 LOCKED"] == work(END, apply="locked")[1]


def test_the_room_that_is_named_first_gets_the_mail() -> None:
    rooms = [{"intent": "elsewhere", "room": room} for room in ("INTEGRITY", "BUYERS", "ACCOUNTS")]

    assert ["hand_over none ACCOUNTS"] == work(*rooms)[1]
