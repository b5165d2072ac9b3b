"""Public folders, each with a policy that was written here from the text of its procedure."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.builders.domains import Finding, audit

GOODS = """
import re

TEXTS = {
    "sds_label_score": "sds_label_text",
    "handling_score": "handling_and_storage_guidelines",
    "transportation_score": "transportation_requirements",
    "disposal_score": "disposal_guidelines",
}


def decide(inputs, call):
    if not re.fullmatch("P_[0-9]{5}", inputs["product_id"]):
        return {"hazard_class": "Unable to Decide"}
    found = []
    for score, text in TEXTS.items():
        asked = {"product_id": inputs["product_id"], text: inputs[text]}
        found.append(call(f"calculate_{score}", **asked)[score])
    scores = [float(score) for score in found if score]
    if len(found) - len(scores) > 2:
        return {"hazard_class": "Unable to Decide"}
    total = sum(scores) + (len(found) - len(scores)) * max(scores)
    letter = "D" if total >= 17 else "C" if total >= 13 else "B" if total >= 8 else "A"
    return {"hazard_class": f"Hazard Class {letter}"}
"""

INTAKE = """
SMOKING = {"Never": 0, "Former": 1, "Current": 2}
ALCOHOL = {None: 0, "Occasional": 1, "Moderate": 2, "Heavy": 3}
EXERCISE = {"5+ times": -1, "3-4 times": 0, "1-2 times": 1, None: 2}


def decide(inputs, call):
    def ask(tool, *names, **more):
        return call(tool, **{name: inputs[name] for name in names}, **more)

    cover = ("patient_id", "insurance_provider", "policy_number")
    shop = ("preferred_pharmacy_name", "preferred_pharmacy_address", "pharmacy_phone")
    history = ("patient_id", "previous_surgeries", "chronic_conditions")
    points = (
        SMOKING[inputs["smoking_status"]]
        + ALCOHOL[inputs["alcohol_consumption"]]
        + EXERCISE[inputs["exercise_frequency"]]
    )
    style = "high" if points >= 5 else "medium" if points >= 2 else "low"
    answer = {
        **ask("validateInsurance", *cover, "group_number", "coverage_start_date", "insurance_type"),
        **ask("validatePrescriptionBenefits", *cover),
        **ask("verifyPharmacy", *shop),
        **ask("calculateOverallRisk", *history, life_style_risk_level=style),
        "life_style_risk_level": style,
    }
    settled = ("valid", "valid", "yes") == (
        answer["insurance_validation"],
        answer["prescription_insurance_validation"],
        answer["pharmacy_check"],
    )
    return {**answer, "user_registration": "success" if settled else "failure"}
"""

DESK = """
import csv
import json
from pathlib import Path

TOOLS = {
    "calculateLifestyleRisk": "life_style_risk_level",
    "verifyPharmacy": "pharmacy_check",
    "validatePrescriptionBenefits": "prescription_insurance_validation",
    "registerPatient": "user_registration",
    "validateInsurance": "insurance_validation",
    "calculateOverallRisk": "overall_risk_level",
}


class DeskManager:
    def __init__(self):
        path = Path(__file__).parent / "test_set_with_outputs.csv"
        with path.open(encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))

    def process_tool_call(self, name, arguments):
        for row in self.rows:
            if all(row[key] == given for key, given in arguments.items() if key in ROW_KEYS):
                return {TOOLS[name]: row[TOOLS[name]]}
        raise ValueError("nobody of that kind is known")


ROW_KEYS = ("patient_id", "preferred_pharmacy_name", "preferred_pharmacy_address", "pharmacy_phone")
"""

SERVICE = """
import json
import re


def decide(inputs, call):
    account = inputs["account_id"]
    if not re.fullmatch("[A-Z]{3}-[0-9]{5}", account):
        return status("FAILED")
    known = call("getAuthenticationDetails", account_id=account, is_account_id_valid=True)
    history = known["authentication_history"]
    if "SUCCESS" not in (history["login_status"], history["account_recovery_status"]):
        return status("FAILED")
    ticket = call(
        "createSessionAndOpenTicket",
        account_id=account,
        is_account_id_valid=True,
        is_authenticated=True,
    )
    case = {"account_id": account, "session_token": ticket["session_token"]}
    state = call("checkAccountStatus", **case)
    if state["account_status"] == "TERMINATED":
        return status("FAILED")
    if state["account_status"] == "SUSPENDED":
        # What is suspended for another reason than money is not eligible for support.
        if "ayment" not in state["reason_for_account_status"]:
            return status("FAILED")
        if call("checkAccountSuspensionStatus", **case)["account_suspension_status"] != "ACTIVE":
            return status("FAILED")
    area = inputs["service_area_code"]
    outage = call("checkServiceAreaOutage", **case, service_area_code=area)
    if outage["outage_detected"] in (True, "True"):
        return status("PENDING_ACTION")
    after = call("executeTroubleshooting", **case, root_causes=[])
    improved = after["metrics_improved_post_troubleshooting"] in (True, "True")
    return status("RESOLVED" if improved else "ESCALATED")


def status(word):
    return {"final_resolution_status": word}
"""

Look = Callable[..., tuple[Finding, ...]]


def serving(key: str, *columns: str) -> dict[str, Any]:
    return {"key": [key], "returns": [*columns], "missing": "null"}


@pytest.fixture
def found(public_data: Path, tmp_path: Path) -> Look:
    """Audits a copy of a folder whose tools look up columns, with a policy."""

    def look(
        name: str, policy: str, tools: Mapping[str, Any], code: str = ""
    ) -> tuple[Finding, ...]:
        source = public_data / "sop_bench" / name
        folder = tmp_path / name
        folder.mkdir()
        for file in ("sop.txt", "toolspecs.json", "test_set_with_outputs.csv"):
            (folder / file).write_bytes((source / file).read_bytes())
        published = json.loads((source / "metadata.json").read_text("utf-8"))
        metadata = {
            "name": name,
            "output_columns": published["output_columns"],
            "input_columns": published.get("input_columns") or inputs_of(source),
            "tools": tools,
        }
        (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
        (folder / "policy.py").write_text(policy, "utf-8")
        if code:
            (folder / "tools.py").write_text(code, "utf-8")
        return audit(folder).findings

    return look


def inputs_of(folder: Path) -> list[str]:
    with (folder / "test_set_with_outputs.csv").open(encoding="utf-8") as file:
        columns = next(csv.reader(file))
    return [name for name in columns if not name.endswith(("score", "class"))]


def lines(findings: tuple[Finding, ...], rule: str) -> list[int | None]:
    return [one.place.line for one in findings if one.rule == rule]


def said_of_numbers(findings: tuple[Finding, ...]) -> str:
    rules = {"unwritten-number", "policy-number"}
    return " ".join(one.what for one in findings if one.rule in rules)


def test_five_labels_of_dangerous_goods_contradict_its_text_and_its_cut_offs_stand_nowhere(
    found: Look,
) -> None:
    scores = ("sds_label", "handling", "transportation", "disposal")
    tools = {f"calculate_{one}_score": serving("product_id", f"{one}_score") for one in scores}

    findings = found("dangerous_goods", GOODS, tools)

    assert [113, 242, 244, 258, 268] == lines(findings, "policy-disagrees")
    said = said_of_numbers(findings)
    assert [] == [cut for cut in (8, 13, 17) if f"decides by {cut}," not in said]
    assert 3 == len(lines(findings, "unwritten-number"))


def test_a_label_of_patient_intake_contradicts_its_points(
    found: Look,
) -> None:
    """Of eight patients with two points, seven are called medium and one low."""
    findings = found("patient_intake", INTAKE, {}, DESK)

    assert [6] == lines(findings, "policy-disagrees")


def test_the_labels_of_customer_service_follow_its_text(found: Look) -> None:
    case = serving("account_id", "session_token", "ticket_id")
    tools = {
        "validateAccount": serving("account_id", "is_account_id_valid"),
        "getAuthenticationDetails": serving("account_id", "authentication_history"),
        "createSessionAndOpenTicket": case,
        "checkAccountStatus": serving("account_id", "account_status", "reason_for_account_status"),
        "checkPaymentStatus": serving("account_id", "overdue_payment_status"),
        "checkAccountSuspensionStatus": serving("account_id", "account_suspension_status"),
        "checkServiceAreaOutage": serving("account_id", "outage_detected", "outage_id"),
        "performTechnicalDiagnostics": serving("account_id", "service_metrics"),
        "executeTroubleshooting": serving("account_id", "metrics_improved_post_troubleshooting"),
        "createEscalation": serving("ticket_id", "escalation_ticket_id", "escalation_team"),
    }

    findings = found("customer_service", SERVICE, tools)

    assert [] == lines(findings, "policy-disagrees") + lines(findings, "policy-fails")
