"""The policy of `know_your_business` says what KYB 3.4 says: worked out by hand, clause by clause.

A fresh reader decided thirty rows from the text alone, and agreed with the labels on all of them.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from bundled_domains.generator import decided, look_ups

import pytest_sopbench

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "know_your_business"
TOOLS = json.loads((FOLDER / "metadata.json").read_text("utf-8"))["tools"]
DECIDE = runpy.run_path(str(FOLDER / "policy.py"))["decide"]

Shares: TypeAlias = Mapping[str, Mapping[str, float]]

PEOPLE = ("N1", "N2", "N3", "N9")
KINDS = {"N": "person", "C": "company", "L": "listed_company", "B": "company"}
ROW: dict[str, Any] = {
    "business_id": "B1",
    "declared_name": "Kestrel Mill Works Ltd",
    "declared_activity": "retail",
    "serves_alcohol": False,
    "declared_owners": list(PEOPLE),
    "expected_monthly_volume_eur": 10_000,
    "iban": "DE00",
    "review_date": "2026-04-10",
    "registered_name": "Kestrel Mill Works Ltd",
    "trading_names": ["Mill Foods"],
    "legal_form": "private_limited",
    "registration_status": "active",
    "country": "DE",
    "director_id": "N9",
    "licences": [],
    "account_holder": "Kestrel Mill Works Ltd",
    "account_status": "open",
}
NO_REGISTER = dict.fromkeys(
    (
        "registered_name",
        "trading_names",
        "legal_form",
        "registration_status",
        "country",
        "director_id",
    )
)
SOLE: dict[str, Any] = {"legal_form": "sole_trader"}


def admit(
    shares: Shares | None = None,
    *,
    expired: str = "",
    undocumented: str = "",
    hit: tuple[str, int, str | None] = ("", 0, None),
    office: tuple[str, str, str | None] = ("", "none", None),
    **said: Any,
) -> tuple[str, list[str], list[str]]:
    """Status, reasons and calls with the entity or person that each asks for.

    `shares` are the holders of each entity; `N2>N3` is N2 who holds for N3.
    """
    documents = [
        {
            "person_id": person,
            "full_name": f"Person {person}",
            "birth_date": "1980-01-01",
            "valid_until": "2026-04-09" if person == expired else "2026-04-10",
        }
        for person in PEOPLE
        if person != undocumented
    ]
    row = {
        **ROW,
        **said,
        "holdings": [
            {
                "entity_id": entity,
                "holder_id": holder.split(">")[0],
                "holder_kind": KINDS[holder[0]],
                "share_percent": share,
                "held_for": holder.partition(">")[2] or None,
            }
            for entity, holders in ({"B1": {"N1": 100}} if shares is None else shares).items()
            for holder, share in holders.items()
        ],
        "documents": documents,
        "sanctions": [
            {
                "person_id": one["person_id"],
                "birth_date": one["birth_date"],
                "score": hit[1] if one["person_id"] == hit[0] else 0,
                "entry_birth_date": hit[2] if one["person_id"] == hit[0] else None,
            }
            for one in documents
        ],
        "offices": [
            {
                "person_id": person,
                "office_status": office[1] if person == office[0] else "none",
                "left_office_on": office[2] if person == office[0] else None,
            }
            for person in PEOPLE
        ],
    }
    found = decided(DECIDE, row, look_ups(TOOLS, row))
    asked = [
        call["arguments"].get("entity_id") or call["arguments"].get("person_id") or call["name"]
        for call in found.calls
    ]
    return found.answer["escalation_status"], found.answer["reasons"], asked


def reasons(*given: Any, **said: Any) -> list[str]:
    return admit(*given, **said)[1]


def licence(until: str, *, kind: str = "pharmacy_permit", **said: str | None) -> dict[str, Any]:
    usual = {"status": "granted", "renewal_applied_on": None, "licence_id": "LC-1"}
    return {"kind": kind, "valid_until": until, **usual, **said}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({"declared_activity": "gambling"}, ["prohibited_activity"], id="3.1"),
        pytest.param(NO_REGISTER, ["registration_not_found"], id="4.1"),
        pytest.param({"registration_status": "in_liquidation"}, ["not_active"], id="4.2"),
        pytest.param({"registration_status": "dormant"}, ["registration_dormant"], id="4.3"),
        pytest.param({"declared_name": "Kestrel Works Ltd"}, ["name_mismatch"], id="4.4 other"),
        pytest.param({"declared_name": "mill foods GmbH"}, [], id="4.4 trading name"),
        pytest.param({"declared_name": "KESTREL-MILL WORKS, LTD."}, [], id="2.4 spelling"),
        pytest.param(
            {"declared_name": "Kestrel Ltd Mill Works"}, ["name_mismatch"], id="2.4 not last"
        ),
        pytest.param(
            {"account_holder": "Mill Foods"}, ["bank_name_mismatch"], id="8.3 trading name"
        ),
        pytest.param({"account_holder": "Person N1"}, ["bank_name_mismatch"], id="8.3 owner"),
        pytest.param(SOLE | {"account_holder": "person n9"}, [], id="8.3 sole trader"),
        pytest.param(
            {"account_holder": None, "account_status": None}, ["bank_unverified"], id="8.2"
        ),
        pytest.param(
            {"account_holder": "Another", "account_status": "closed"},
            ["bank_unverified"],
            id="8.2 alone",
        ),
        pytest.param({"iban": "FR00"}, ["bank_abroad"], id="8.4 at the volume"),
        pytest.param({"iban": "FR00", "expected_monthly_volume_eur": 9_999}, [], id="8.4 below it"),
    ],
)
def test_what_the_registers_and_the_bank_say(said: dict[str, Any], expected: list[str]) -> None:
    assert expected == reasons(**said)


@pytest.mark.parametrize(
    ("activity", "licences", "expected"),
    [
        pytest.param("pharmacy", [licence("2026-04-10")], [], id="5.3 last day"),
        pytest.param("pharmacy", [licence("2026-04-09")], ["licence_not_valid"], id="5.3 over"),
        pytest.param("pharmacy", [], ["licence_missing"], id="5.2 none"),
        pytest.param(
            "pharmacy",
            [licence("2026-03-11", renewal_applied_on="2026-03-11")],
            [],
            id="5.4 thirty days, applied for on the last day",
        ),
        pytest.param(
            "pharmacy",
            [licence("2026-03-10", renewal_applied_on="2026-03-01")],
            ["licence_not_valid"],
            id="5.4 thirty-one days",
        ),
        pytest.param(
            "pharmacy",
            [licence("2026-03-11", renewal_applied_on="2026-03-12")],
            ["licence_not_valid"],
            id="5.4 applied for too late",
        ),
        pytest.param(
            "money_transfer",
            [licence("2026-04-01", kind="payment_licence", renewal_applied_on="2026-03-01")],
            ["licence_not_valid"],
            id="5.4 not for payments",
        ),
        pytest.param(
            "pharmacy",
            [licence("2027-01-01", status="suspended"), licence("2027-01-01")],
            [],
            id="5.2 one of two",
        ),
        pytest.param(
            "restaurant",
            [licence("2026-01-01", kind="food_registration")],
            ["licence_missing", "licence_not_valid"],
            id="5.1 both kinds",
        ),
    ],
)
def test_which_licences_are_needed(
    activity: str, licences: list[dict[str, Any]], expected: list[str]
) -> None:
    found = reasons(declared_activity=activity, serves_alcohol=True, licences=licences)

    assert expected == found


@pytest.mark.parametrize(
    ("shares", "screened"),
    [
        pytest.param({"B1": {"N1": 75, "N2": 25}}, ["N1", "N2"], id="2.3 at 25"),
        pytest.param({"B1": {"N1": 75.1, "N2": 24.9}}, ["N1"], id="2.3 below 25"),
        pytest.param(
            {"B1": {"N1": 50, "C1": 50}, "C1": {"N2": 50, "N3": 50}},
            ["N1", "N2", "N3"],
            id="6.4 product",
        ),
        pytest.param(
            {"B1": {"N1": 75, "N2": 20, "C1": 5}, "C1": {"N2": 100}},
            ["N1", "N2"],
            id="6.4 followed at 5",
        ),
        pytest.param(
            {"B1": {"N1": 75, "N2": 20.1, "C1": 4.9}, "C1": {"N2": 100}},
            ["N1"],
            id="6.4 cut below 5",
        ),
        pytest.param({"B1": {"N1": 70, "N2>N3": 30}}, ["N1", "N3"], id="6.6 nominee"),
        pytest.param({"B1": {"L1": 80, "N1": 20}}, ["N9"], id="6.3 and 6.10"),
        pytest.param({}, ["N9"], id="6.7 and 6.10"),
    ],
)
def test_who_is_screened(shares: Shares, screened: list[str]) -> None:
    _, _, asked = admit(shares)

    assert screened == sorted({one for one in asked if one[0] == "N"})


def test_a_company_is_asked_once_and_each_chain_through_it_counts() -> None:
    shares = {
        "B1": {"C1": 40, "C2": 60},
        "C1": {"C3": 100},
        "C2": {"C3": 50, "N1": 50},
        "C3": {"N2": 40, "N3": 60},
    }

    _, _, asked = admit(shares)

    assert ["B1", "C1", "C3", "C2"] == [one for one in asked if one[0] in "BC"]
    assert {"N1", "N2", "N3"} == {one for one in asked if one[0] == "N"}


@pytest.mark.parametrize(
    ("shares", "said", "expected"),
    [
        pytest.param({"B1": {"N1": 95}}, {}, [], id="6.7 at 95"),
        pytest.param({"B1": {"N1": 94.9}}, {}, ["ownership_incomplete"], id="6.7 below 95"),
        pytest.param({"B1": {"N1": 60, "C1": 40}}, {}, ["ownership_incomplete"], id="6.7 unknown"),
        pytest.param(
            {"B1": {"N1": 80, "C1": 20}, "C1": {"B1": 100}}, {}, ["circular_ownership"], id="6.8"
        ),
        pytest.param(
            {"B1": {"N1": 90, "C1": 10}, "C1": {"C2": 40, "N2": 60}, "C2": {"C1": 100}},
            {},
            [],
            id="6.8 ended before",
        ),
        pytest.param(None, {"declared_owners": ["N2"]}, ["owner_not_declared"], id="6.9"),
        pytest.param({"B1": {"L1": 100}}, {"declared_owners": []}, [], id="6.10 no 6.9"),
        pytest.param(None, SOLE | {"declared_owners": ["N2"]}, ["owner_not_declared"], id="6.1"),
    ],
)
def test_what_is_found_of_the_owners(
    shares: Shares | None, said: dict[str, Any], expected: list[str]
) -> None:
    assert expected == reasons(shares, **said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({"undocumented": "N1"}, ["identity_missing"], id="7.2 missing"),
        pytest.param({"expired": "N1"}, ["identity_expired"], id="7.2 expired"),
        pytest.param({"hit": ("N1", 79, None)}, [], id="7.3 a"),
        pytest.param({"hit": ("N1", 80, None)}, ["possible_sanctions_match"], id="7.3 d unknown"),
        pytest.param(
            {"hit": ("N1", 94, "1980-01-01")}, ["possible_sanctions_match"], id="7.3 d same"
        ),
        pytest.param({"hit": ("N1", 94, "1980-01-02")}, [], id="7.3 c"),
        pytest.param(
            {"hit": ("N1", 95, "1980-01-02")}, ["possible_sanctions_match"], id="7.3 d other"
        ),
        pytest.param({"hit": ("N1", 95, "1980-01-01")}, ["sanctioned_owner"], id="7.3 b"),
        pytest.param({"office": ("N1", "current", None)}, ["exposed_owner"], id="7.5 current"),
        pytest.param(
            {"office": ("N1", "former", "2025-04-10")}, ["exposed_owner"], id="7.5 365 days"
        ),
        pytest.param({"office": ("N1", "former", "2025-04-09")}, [], id="7.5 366 days"),
        pytest.param({"office": ("N1", "family", None)}, ["exposed_owner"], id="7.5 family"),
    ],
)
def test_what_the_screening_finds(said: dict[str, Any], expected: list[str]) -> None:
    assert expected == reasons(**said)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(50, ["exposed_owner"], id="at 50"),
        pytest.param(49.9, [], id="below 50"),
    ],
)
def test_a_relative_counts_from_half_of_the_shares_on(share: float, expected: list[str]) -> None:
    shares = {"B1": {"N1": share, "N2": 100 - share}}

    assert expected == reasons(shares, office=("N1", "family", None))


def test_the_bank_is_not_asked_about_who_is_sanctioned() -> None:
    shares = {"B1": {"N1": 50, "N2": 50}}

    status, found, asked = admit(shares, hit=("N1", 100, "1980-01-01"), account_holder="Another")

    assert ("rejected", ["sanctioned_owner"]) == (status, found)
    assert "verify_bank_account" not in asked
    assert "N2" == asked[-1]


@pytest.mark.parametrize(
    ("said", "status", "expected"),
    [
        pytest.param({}, "approved", [], id="9.2 nothing"),
        pytest.param(
            {"expired": "N1", "iban": "FR00", "hit": ("N1", 85, None)},
            "escalated",
            ["bank_abroad", "possible_sanctions_match"],
            id="9.4 of the level alone",
        ),
        pytest.param(
            {"expired": "N1", "office": ("N1", "current", None)},
            "awaiting_information",
            ["identity_expired"],
            id="9.3 exposed and incomplete",
        ),
        pytest.param(
            {"expired": "N1", "office": ("N1", "current", None), "iban": "FR00"},
            "escalated",
            ["bank_abroad", "exposed_owner"],
            id="9.3 not where something else escalates",
        ),
    ],
)
def test_the_status_and_its_reasons(said: dict[str, Any], status: str, expected: list[str]) -> None:
    assert (status, expected) == admit(**said)[:2]
