"""The file of `--sop-approver=scripted:PATH`: what it decides, and what is refused of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.steps.approving import ApprovalRequest
from pytest_sopbench._loading.approval_script import read_script
from pytest_sopbench.errors import LoadingError


def script(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "decisions.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("data", "approved", "reason"),
    [
        pytest.param({"7": True}, True, "", id="approved"),
        pytest.param({"7": False}, False, "", id="denied"),
        pytest.param({"7": "too dear"}, False, "too dear", id="denied-with-a-reason"),
        pytest.param({"6": True}, False, "the script does not decide about step 7", id="unsaid"),
        pytest.param({"*": True}, True, "", id="every-step"),
        pytest.param({"*": True, "7": False}, False, "", id="the-step-before-every-step"),
        pytest.param({"7": True, "lab/T_1": {"7": "no"}}, False, "no", id="the-task-before-all"),
        pytest.param({"7": False, "lab/T_1": {"*": True}}, True, "", id="every-step-of-the-task"),
        pytest.param({"7": True, "lab/T_2": {"7": False}}, True, "", id="another-task"),
    ],
)
def test_a_script_decides(tmp_path: Path, data: Any, approved: bool, reason: str) -> None:
    approver = read_script(script(tmp_path, data))

    decision = approver(ApprovalRequest(step="7", domain="lab", task_id="T_1"))

    assert (approved, "scripted", reason) == (decision.approved, decision.by, decision.reason)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param([True], "must be an object with a decision for each step", id="list"),
        pytest.param({"7": 1}, "column '7': 1 is no decision\nwrite true, false, or", id="number"),
        pytest.param({"7": ""}, "column '7': '' is no decision", id="empty-reason"),
        pytest.param({"T_1": {"7": True}}, "column 'T_1': no task is called so", id="no-domain"),
        pytest.param(
            {"lab/T_1": {"7": None}}, "column 'lab/T_1: 7': None is no decision", id="in-a-task"
        ),
    ],
)
def test_what_is_no_decision_is_refused_with_its_place(
    tmp_path: Path, data: Any, told: str
) -> None:
    path = script(tmp_path, data)

    with pytest.raises(LoadingError) as error:
        read_script(path)

    assert told in str(error.value)
