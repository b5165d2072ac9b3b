"""The examples of steps and approvals on the reference pages are taken as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import ApprovalRequest
from pytest_sopbench._core.steps import Moment
from pytest_sopbench._loading.steps_file import read_script, read_steps

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
DOMAINS = (REFERENCE / "domains.md").read_text(encoding="utf-8")
AGENTS = (REFERENCE / "agents.md").read_text(encoding="utf-8")


def test_the_steps_of_the_reference_are_those_of_its_domain() -> None:
    (sop,) = re.findall(r"```markdown\n(# Late returns\n.*?)```", DOMAINS, re.DOTALL)
    (steps,) = re.findall(r'```json\n(\{\n  "steps": .*?)```', DOMAINS, re.DOTALL)

    procedure = read_steps(json.loads(steps), Path("steps.json"), sop)

    first, second, third = procedure.steps
    assert "1. Look up the days since delivery with `get_order`." == first.text
    assert ("A late return", (Moment.AFTER,)) == (second.title, second.approvals)
    assert third.text in sop
    assert "4. If the order is not found" in procedure.general
    assert () == procedure.warnings


@pytest.mark.parametrize(
    ("step", "task", "approved"),
    [("4", "R-101", True), ("4", "R-102", False), ("5", "R-101", False)],
)
def test_the_script_of_the_reference_decides(
    tmp_path: Path, step: str, task: str, approved: bool
) -> None:
    (script,) = re.findall(r'```json\n(\{"4": .*?)```', AGENTS, re.DOTALL)
    (tmp_path / "script.json").write_text(script)

    decision = read_script(tmp_path / "script.json")(
        ApprovalRequest(step=step, domain="late_returns", task_id=task)
    )

    assert approved is decision.approved


def test_the_fixture_of_the_reference_denies_one_task() -> None:
    (fixture,) = re.findall(r"def sop_approver\(\):\n(.*?)```", AGENTS, re.DOTALL)
    names: dict[str, Any] = {}
    code = f"from pytest_sopbench import ApprovalDecision\ndef made():\n{fixture}"
    exec(code, names)  # noqa: S102 - the page's own example is what is tested
    approver = names["made"]()

    assert True is approver(ApprovalRequest(step="4", task_id="R-101"))
    assert not approver(ApprovalRequest(step="4", task_id="R-102"))
