"""Rules about the contract and the expected calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.builders.domains import audit_domain
from tests.builders.pages import write_returns


def contract(lab: Any, *rules: dict[str, Any]) -> Any:
    return lab.metadata(contract={"rules": list(rules)})


def test_sound_calls_have_no_finding(run_lab: Any) -> None:
    run_lab.expected_calls()

    assert [] == run_lab.findings()


def test_a_policy_that_breaks_a_rule_is_told_with_its_rows(run_lab: Any) -> None:
    contract(run_lab, {"id": "risk-first", "before": ["screen", "weigh"]})

    found = run_lab.only("policy-breaks-contract")

    assert "'risk-first' on 128 rows" in found.what
    assert "contract.risk-first" == found.place.column


def test_expected_calls_that_break_a_rule_are_told_without_a_policy(lab: Any) -> None:
    lab.write(policy_py=None).expected_calls()
    contract(lab, {"id": "risk-first", "before": ["screen", "weigh"]})

    assert "'risk-first'" in lab.only("calls-break-contract").what


def test_a_rule_whose_condition_holds_on_no_row_is_told(run_lab: Any) -> None:
    heavy = {"result": "weight_kg", "at_least": 33}
    contract(run_lab, {"id": "heavy", "when": heavy, "requires": {"all_of": ["weigh"]}})

    assert "its condition holds on none" in run_lab.only("rule-not-exercised").what


def test_a_call_that_is_rightly_not_made_exercises_what_forbids_it(run_lab: Any) -> None:
    spec = json.loads((run_lab.folder / "toolspecs.json").read_text("utf-8"))
    run_lab.specs(*spec, {**spec[0], "name": "survey"})
    metadata = json.loads((run_lab.folder / "metadata.json").read_text("utf-8"))
    tools = {**metadata["tools"], "survey": {"result": {"status": "sent"}}}
    run_lab.metadata(tools=tools, distractors=["survey"])
    contract(run_lab, {"id": "no-survey", "forbids": ["survey"]})

    assert [] == run_lab.findings()


def test_expected_calls_that_the_policy_does_not_make_are_told(run_lab: Any) -> None:
    run_lab.expected_calls([], [])

    assert "2 rows (2, 3)" in run_lab.only("calls-differ").what


def test_an_expected_call_that_breaks_its_spec_is_told(lab: Any) -> None:
    lab.expected_calls([{"name": "weigh", "arguments": {"parcel_id": "X1"}}])

    assert "weigh" == lab.only("calls-break-spec").place.tool


def test_a_policy_that_breaks_a_spec_is_told(run_lab: Any) -> None:
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    call = 'call("screen", parcel_id=inputs["parcel_id"]'
    run_lab.write(policy_py=policy.replace(call, f"{call}, why='habit'"))

    assert "'why'" in run_lab.only("policy-breaks-spec").what


def test_a_tool_that_no_row_needs_is_told(run_lab: Any) -> None:
    spec = json.loads((run_lab.folder / "toolspecs.json").read_text("utf-8"))
    run_lab.specs(*spec, {**spec[0], "name": "survey"})
    metadata = json.loads((run_lab.folder / "metadata.json").read_text("utf-8"))
    run_lab.metadata(tools={**metadata["tools"], "survey": {"result": {"status": "sent"}}})

    assert "survey" == run_lab.only("needless-tool").place.tool


def test_a_distractor_that_the_policy_calls_is_told(run_lab: Any) -> None:
    run_lab.metadata(distractors=["weigh"])

    assert "it is a distractor" in run_lab.only("needless-tool").what


POLICY = """
def decide(inputs, call):
    if inputs["order_id"] != "O-12":
        return {"decision": "refuse"}
    order = call("get_order", order_id="O-12")
    call("refund_order", order_id="O-12", amount=order["paid"])
    return {"decision": "refund"}
"""


def test_a_state_that_the_policy_leaves_otherwise_is_told_with_its_row_and_task(
    tmp_path: Path,
) -> None:
    write_returns(tmp_path)
    folder = tmp_path / "domains" / "returns"
    (folder / "policy.py").write_text(POLICY, encoding="utf-8")

    (found,) = [one for one in audit_domain(folder) if one.rule == "state-differs"]

    assert "expected_state.jsonl" == str(found.place)
    assert "of data.csv, task T-2: orders[O-12].status" in found.what


def test_a_limit_on_rows_that_no_run_ever_leaves_is_told(tmp_path: Path) -> None:
    write_returns(tmp_path)
    folder = tmp_path / "domains" / "returns"
    (folder / "policy.py").write_text(POLICY, encoding="utf-8")
    path = folder / "metadata.json"
    metadata = json.loads(path.read_text("utf-8"))
    never = {"table": "refunds", "at_most": 1, "where": {"amount": "never"}}
    metadata["contract"]["rules"].append({"id": "no-such-amount", "state": never})
    path.write_text(json.dumps(metadata), encoding="utf-8")

    (found,) = [one for one in audit_domain(folder) if one.rule == "rule-not-exercised"]

    assert "'no-such-amount'" in found.what
