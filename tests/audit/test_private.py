"""Private columns: what stands in them is in no finding."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._audit.audit import audit


def test_a_private_value_is_in_no_finding(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["sender"] = f"{number + 1}00"
        rows[3]["sender"] = "Ada Lovelace"

    lab.metadata(private_columns=["sender"]).rows(change)

    found = lab.only("mixed-column")

    assert "most cells are numbers, and *** make it a column of text" == found.what


def test_a_private_value_in_the_words_of_an_error_is_masked(run_lab: Any) -> None:
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    raising = '    raise ValueError(call("weigh", parcel_id=inputs["parcel_id"])["sender"])\n'
    head = "def decide(inputs, call):\n"
    tools = {
        "weigh": {"key": ["parcel_id"], "returns": ["weight_kg", "sender"]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    }
    run_lab.write(policy_py=policy.replace(head, f"{head}{raising}"))
    run_lab.metadata(private_columns=["sender"], tools=tools)
    run_lab.rows(lambda rows: [row.update(sender="Ada Lovelace") for row in rows])

    said = " ".join(one.what for one in run_lab.findings())

    assert "Lovelace" not in said


def test_labels_of_a_private_output_are_masked(run_lab: Any) -> None:
    run_lab.metadata(private_columns=["outcome"])
    run_lab.rows(lambda rows: rows[3].update(outcome="SHIP"))

    said = " ".join(one.what for one in run_lab.findings())

    assert said
    assert [] == [label for label in ("SHIP", "REFUSE", "INSURE", "INSPECT") if label in said]


@pytest.mark.parametrize("run_code", [True, False])
def test_code_that_was_not_run_is_told(lab: Any, *, run_code: bool) -> None:
    facts = audit(lab.folder, run_code=run_code).facts

    assert run_code == (() == facts)
