"""The public folders of SOP-Bench at full size, with look-up tools, from row to rate.

The three agents know the table, or nothing at all: what they score is known before they run.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILE = "test_set_with_outputs.csv"
SIZES = {"dangerous_goods": 274, "customer_service": 156, "patient_intake": 66}


def lookup(key: str, *columns: str) -> dict[str, object]:
    return {"key": [key], "returns": list(columns), "missing": "null"}


CONSTANT = {"result": {"status": "recorded"}}
"""Serves tools whose result is an output: looked up, it would give the answer away."""

TOOLS: dict[str, dict[str, object]] = {
    "dangerous_goods": {
        "calculate_sds_label_score": lookup("product_id", "sds_label_score"),
        "calculate_handling_score": lookup("product_id", "handling_score"),
        "calculate_transportation_score": lookup("product_id", "transportation_score"),
        "calculate_disposal_score": lookup("product_id", "disposal_score"),
    },
    "customer_service": {
        "validateAccount": lookup("account_id", "is_account_id_valid"),
        "getAuthenticationDetails": lookup("account_id", "authentication_history"),
        "createSessionAndOpenTicket": lookup("account_id", "session_token", "ticket_id"),
        "checkAccountStatus": lookup("account_id", "account_status"),
        "checkAccountSuspensionStatus": lookup("account_id", "account_suspension_status"),
        "checkPaymentStatus": lookup("account_id", "overdue_payment_status"),
        "checkServiceAreaOutage": lookup("account_id", "outage_detected", "radius_miles"),
        "performTechnicalDiagnostics": lookup("account_id", "service_metrics"),
        "executeTroubleshooting": lookup("account_id", "troubleshooting_steps"),
        "createEscalation": lookup("ticket_id", "escalation_ticket_id"),
    },
    "patient_intake": dict.fromkeys(
        (
            "validateInsurance",
            "validatePrescriptionBenefits",
            "calculateLifestyleRisk",
            "calculateOverallRisk",
            "verifyPharmacy",
            "registerPatient",
        ),
        CONSTANT,
    ),
}

AGENTS = """
import csv
import pathlib
from collections import Counter


def rows(domain):
    text = (pathlib.Path("domains") / domain / "test_set_with_outputs.csv").read_text("utf-8-sig")
    return list(csv.DictReader(text.splitlines()))


TABLES = {}


def table(domain):
    if domain not in TABLES:
        found = rows(domain)
        TABLES[domain] = {row[next(iter(row))]: row for row in found}
    return TABLES[domain]


def knowing(task_id, domain, output_fields, inputs, tools):
    for name in tools.names:
        tools.execute_tool(name, inputs)
    return {field: table(domain)[task_id][field] for field in output_fields}


def constant(domain, output_fields):
    answers = Counter(
        tuple(row[field] for field in output_fields) for row in table(domain).values()
    )
    return dict(zip(output_fields, answers.most_common(1)[0][0]))


def empty():
    return ""
"""


@pytest.fixture(autouse=True)
def folders(pytester: pytest.Pytester, public_data: Path) -> None:
    """Copy the folders into the project, with look-up tools in their metadata."""
    for name, tools in TOOLS.items():
        folder = pytester.path / "domains" / name
        shutil.copytree(public_data / "sop_bench" / name, folder)
        metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
        (folder / "metadata.json").write_text(json.dumps(metadata | {"tools": tools}))
    pytester.makepyfile(public=AGENTS)


def labels(folder: Path) -> Counter[tuple[str, ...]]:
    """Count the expected answers as they are written."""
    outputs = json.loads((folder / "metadata.json").read_text("utf-8"))["output_columns"]
    lines = (folder / FILE).read_text("utf-8-sig").splitlines()
    return Counter(tuple(row[one] for one in outputs) for row in csv.DictReader(lines))


@pytest.mark.parametrize("name", ["customer_service", "patient_intake"])
def test_the_most_frequent_answer_scores_exactly_chance(
    pytester: pytest.Pytester, saved: Callable[[], Any], name: str
) -> None:
    pytester.runpytest(f"--sop-domain=./domains/{name}", "--agent=public:constant", "-q")

    [(_, most)] = labels(pytester.path / "domains" / name).most_common(1)
    summary = saved().summary["domains"][name]
    assert most == summary["correct"]
    assert most / SIZES[name] == summary["tsr"] == summary["chance"]
    assert 1.0 == summary["ecr"]


def test_an_empty_answer_completes_nothing(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    name = "patient_intake"

    pytester.runpytest(f"--sop-domain=./domains/{name}", "--agent=public:empty", "-q")

    summary = saved().summary["domains"][name]
    assert (0.0, 0.0, None) == tuple(summary[key] for key in ("tsr", "ecr", "c_tsr"))
    assert {"no_answer": SIZES[name]} == summary["outcomes"]


def test_a_table_of_right_answers_scores_everything_in_two_workers(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    sizes = {name: SIZES[name] for name in ("dangerous_goods", "patient_intake")}
    values = ",".join(f"./domains/{name}" for name in sizes)

    result = pytester.runpytest(f"--sop-domain={values}", "--agent=public:knowing", "-n2", "-q")

    result.assert_outcomes(passed=sum(sizes.values()))
    assert {name: (size, size, 1.0) for name, size in sizes.items()} == {
        name: (one["runs"], one["correct"], one["tsr"])
        for name, one in saved().summary["domains"].items()
    }


def test_a_tool_that_would_give_the_answer_away_is_refused(pytester: pytest.Pytester) -> None:
    path = pytester.path / "domains" / "dangerous_goods" / "metadata.json"
    metadata = json.loads(path.read_text("utf-8"))
    metadata["tools"]["calculate_disposal_score"] = lookup("product_id", "hazard_class")
    path.write_text(json.dumps(metadata))

    result = pytester.runpytest("--sop-domain=./domains/dangerous_goods", "--agent=public:empty")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*hazard_class*"])


def test_a_tool_that_nothing_serves_is_a_usage_error(pytester: pytest.Pytester) -> None:
    path = pytester.path / "domains" / "dangerous_goods" / "metadata.json"
    metadata = json.loads(path.read_text("utf-8"))
    del metadata["tools"]["calculate_disposal_score"]
    path.write_text(json.dumps(metadata))

    result = pytester.runpytest("--sop-domain=./domains/dangerous_goods", "--agent=public:empty")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*nothing serves the tools calculate_disposal_score*"])
