# ruff: noqa: INP001 - a domain is a folder of files, not a package
"""The reference policy: KYB 3.4 as a function of an application and what the registers answer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from pytest_sopbench.errors import ToolError

Call = Callable[..., Any]

PROHIBITED = frozenset({"gambling", "crypto_exchange", "arms_trade"})  # clause 3.1
ENDED = frozenset({"dissolved", "struck_off", "in_liquidation"})  # clause 4.2
REQUIRED: Mapping[str, tuple[str, ...]] = {  # clause 5.1
    "money_transfer": ("payment_licence",),
    "pharmacy": ("pharmacy_permit",),
    "alcohol_sales": ("alcohol_licence",),
    "restaurant": ("food_registration",),
}
RENEWAL_DAYS = 30  # clause 5.4
OWNER, TRACED, RECORDED = Fraction(25), Fraction(5), Fraction(95)  # clauses 2.3, 6.4, 6.7
POSSIBLE, CONFIRMED = 80, 95  # clause 7.3
OFFICE_DAYS, FAMILY_SHARE = 365, Fraction(50)  # clause 7.5
SMALL_VOLUME = 10_000  # clause 8.4
LEGAL_FORMS = frozenset({"ltd", "limited", "llc", "plc", "gmbh", "sarl", "bv"})  # clause 2.4
REJECT = frozenset({"prohibited_activity", "not_active", "sanctioned_owner"})  # clause 9.1
ESCALATE = frozenset(
    {
        "possible_sanctions_match",
        "exposed_owner",
        "circular_ownership",
        "bank_name_mismatch",
        "bank_abroad",
    }
)


def decide(inputs: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Return status and reasons of one application; `call` raises `ToolError`."""
    return _decision(_findings(inputs, call))


def _decision(findings: set[str]) -> dict[str, Any]:
    escalating = findings & ESCALATE
    awaiting = findings - REJECT - ESCALATE
    if findings & REJECT:
        status, reasons = "rejected", findings & REJECT
    elif escalating and not (escalating == {"exposed_owner"} and awaiting):  # clause 9.3
        status, reasons = "escalated", escalating
    elif awaiting:
        status, reasons = "awaiting_information", awaiting
    else:
        status, reasons = "approved", set[str]()
    return {"escalation_status": status, "reasons": sorted(reasons)}


def _findings(inputs: Mapping[str, Any], call: Call) -> set[str]:
    if inputs["declared_activity"] in PROHIBITED:
        return {"prohibited_activity"}  # clause 3.1
    try:
        register = call("get_registration", business_id=inputs["business_id"])
    except ToolError:
        return {"registration_not_found"}  # clause 4.1
    if register["registration_status"] in ENDED:
        return {"not_active"}  # clause 4.2

    findings = _of_registration(inputs, register) | _of_licences(inputs, call)
    owners, of_owners = _owners(inputs, register, call)
    screening = _Screening(date.fromisoformat(inputs["review_date"]), call)
    for person in sorted(owners):
        screening.screen(person, owners[person])
    findings |= of_owners | screening.findings
    if "sanctioned_owner" not in findings:
        findings |= _of_account(inputs, register, screening.names, call)  # clause 8.1
    return findings


def _of_registration(inputs: Mapping[str, Any], register: Mapping[str, Any]) -> set[str]:
    findings: set[str] = set()
    if register["registration_status"] == "dormant":
        findings.add("registration_dormant")  # clause 4.3
    known = [register["registered_name"], *register["trading_names"]]
    if _words(inputs["declared_name"]) not in [_words(name) for name in known]:
        findings.add("name_mismatch")  # clause 4.4
    return findings


def _words(name: str) -> list[str]:
    """The words of a name as clause 2.4 compares them."""
    words = re.sub("[.,]", "", name.lower()).replace("-", " ").replace("&", " and ").split()
    return words[:-1] if words[-1] in LEGAL_FORMS else words


def _of_licences(inputs: Mapping[str, Any], call: Call) -> set[str]:
    required = REQUIRED.get(inputs["declared_activity"], ())
    if not required:
        return set()
    if inputs["declared_activity"] == "restaurant" and inputs["serves_alcohol"]:
        required = (*required, "alcohol_licence")
    licences = call("list_licences", business_id=inputs["business_id"])
    review = date.fromisoformat(inputs["review_date"])
    findings: set[str] = set()
    for kind in required:
        valid = [_valid(one, review) for one in licences if one["kind"] == kind]
        if not valid:
            findings.add("licence_missing")
        elif not any(valid):
            findings.add("licence_not_valid")
    return findings


def _valid(licence: Mapping[str, Any], review: date) -> bool:
    if licence["status"] != "granted":
        return False
    until = date.fromisoformat(licence["valid_until"])
    if review <= until:
        return True  # clause 5.3
    applied = licence["renewal_applied_on"]
    if licence["kind"] == "payment_licence" or applied is None:
        return False  # clause 5.4
    return (review - until).days <= RENEWAL_DAYS and date.fromisoformat(applied) <= until


def _owners(
    inputs: Mapping[str, Any], register: Mapping[str, Any], call: Call
) -> tuple[dict[str, Fraction], set[str]]:
    """Who is screened, with the total share, and what was found on the way."""
    director = register["director_id"]
    if register["legal_form"] == "sole_trader":
        owners, findings = {director: Fraction(100)}, set[str]()  # clause 6.1
    else:
        tracing = _Tracing(call)
        tracing.trace(inputs["business_id"], Fraction(100), ())
        findings = tracing.findings
        owners = {one: share for one, share in tracing.shares.items() if share >= OWNER}
    if not owners:
        return {director: Fraction(0)}, findings  # clause 6.10
    if not set(owners) <= set(inputs["declared_owners"]):
        findings.add("owner_not_declared")  # clause 6.9
    return owners, findings


class _Tracing:
    """Clauses 6.2 to 6.8: follows every chain, and asks about each company once."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._asked: dict[str, Sequence[Mapping[str, Any]]] = {}
        self.shares: dict[str, Fraction] = defaultdict(Fraction)
        self.findings: set[str] = set()

    def trace(self, entity: str, share: Fraction, passed: tuple[str, ...]) -> None:
        if entity in passed:
            self.findings.add("circular_ownership")  # clause 6.8
            return
        for holding in self._holdings(entity):
            part = share * Fraction(str(holding["share_percent"])) / 100
            if holding["held_for"] is not None:
                self.shares[holding["held_for"]] += part  # clause 6.6
            elif holding["holder_kind"] == "person":
                self.shares[holding["holder_id"]] += part
            elif holding["holder_kind"] == "company" and part >= TRACED:  # clauses 6.3, 6.4
                self.trace(holding["holder_id"], part, (*passed, entity))

    def _holdings(self, entity: str) -> Sequence[Mapping[str, Any]]:
        if entity not in self._asked:
            self._asked[entity] = self._ask(entity)
        return self._asked[entity]

    def _ask(self, entity: str) -> Sequence[Mapping[str, Any]]:
        try:
            holdings: Sequence[Mapping[str, Any]] = self._call("get_holdings", entity_id=entity)
        except ToolError:
            self.findings.add("ownership_incomplete")  # clause 6.7
            return ()
        if sum(Fraction(str(one["share_percent"])) for one in holdings) < RECORDED:
            self.findings.add("ownership_incomplete")  # clause 6.7
        return holdings


class _Screening:
    """Section 7: `names` are those of the identity documents."""

    def __init__(self, review: date, call: Call) -> None:
        self._review = review
        self._call = call
        self.names: list[str] = []
        self.findings: set[str] = set()

    def screen(self, person: str, share: Fraction) -> None:
        try:
            document = self._call("get_identity_document", person_id=person)
        except ToolError:
            self.findings.add("identity_missing")  # clause 7.2
            return
        self.names.append(document["full_name"])
        if date.fromisoformat(document["valid_until"]) < self._review:
            self.findings.add("identity_expired")  # clause 7.2
        self._sanctions(person, document["birth_date"])
        office = self._call("check_public_office", person_id=person)
        if self._exposed(office, share):
            self.findings.add("exposed_owner")

    def _sanctions(self, person: str, born: str) -> None:
        nearest = self._call("screen_sanctions", person_id=person, birth_date=born)
        score, entry = nearest["score"], nearest["entry_birth_date"]
        if score < POSSIBLE:
            return
        if score >= CONFIRMED and entry == born:
            self.findings.add("sanctioned_owner")
        elif score >= CONFIRMED or entry in {None, born}:
            self.findings.add("possible_sanctions_match")

    def _exposed(self, office: Mapping[str, Any], share: Fraction) -> bool:
        """Clause 7.5."""
        if office["office_status"] == "former":
            left = date.fromisoformat(office["left_office_on"])
            return (self._review - left).days <= OFFICE_DAYS
        if office["office_status"] == "family":
            return share >= FAMILY_SHARE
        return bool(office["office_status"] == "current")


def _of_account(
    inputs: Mapping[str, Any], register: Mapping[str, Any], people: Sequence[str], call: Call
) -> set[str]:
    iban = inputs["iban"]
    try:
        account = call("verify_bank_account", business_id=inputs["business_id"], iban=iban)
    except ToolError:
        return {"bank_unverified"}  # clause 8.2
    if account["account_status"] != "open":
        return {"bank_unverified"}  # clause 8.2
    findings: set[str] = set()
    allowed = [register["registered_name"]]
    if register["legal_form"] == "sole_trader":
        allowed += people
    if _words(account["account_holder"]) not in [_words(name) for name in allowed]:
        findings.add("bank_name_mismatch")  # clause 8.3
    abroad = iban[:2] != register["country"]
    if abroad and inputs["expected_monthly_volume_eur"] >= SMALL_VOLUME:
        findings.add("bank_abroad")  # clause 8.4
    return findings
