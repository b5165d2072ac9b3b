"""Rules about labels, held against the reference policy and against each other."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from pytest_sopbench._audit.audit import audit


def test_every_row_where_the_policy_disagrees_is_named(run_lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in (rows[3], rows[40]):
            row["outcome"] = "SHIP" if row["outcome"] != "SHIP" else "REFUSE"

    run_lab.rows(change)

    found = run_lab.findings("policy-disagrees")

    assert [5, 42] == [one.place.line for one in found]
    assert "L004: the SOP gives '" in found[0].what


def test_an_acceptable_answer_is_no_disagreement(run_lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["also"] = ""
        rows[3]["also"] = f'["{rows[3]["outcome"]}"]'
        rows[3]["outcome"] = "SHIP" if rows[3]["outcome"] != "SHIP" else "REFUSE"

    run_lab.metadata(acceptable_column="also").rows(change)

    assert [] == run_lab.findings()


def test_a_known_disagreement_is_not_told_again_and_a_settled_one_is(run_lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["why"] = ""
        rows[3]["outcome"] = "SHIP" if rows[3]["outcome"] != "SHIP" else "REFUSE"
        rows[3]["why"] = "the clerk decided so"
        rows[9]["why"] = "nobody remembers"

    run_lab.metadata(known_disagreement_column="why").rows(change)

    assert 11 == run_lab.only("settled-disagreement").place.line
    assert [] == run_lab.findings("policy-disagrees")


def test_a_policy_that_fails_is_told_once_with_its_rows(run_lab: Any) -> None:
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    run_lab.write(policy_py=policy.replace('["weight_kg"]', '["weight"]'))

    found = run_lab.only("policy-fails")

    assert "128 rows (2, 3, 4, 5, 6 and 123 more): KeyError: 'weight'" in found.what


def test_rows_that_are_equal_and_expect_different_are_told_without_a_policy(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        outcome = "SHIP" if rows[1]["outcome"] != "SHIP" else "REFUSE"
        rows[5].update({**rows[1], "parcel_id": "L006", "outcome": outcome})

    lab.write(policy_py=None).rows(change)

    assert "2 rows (3, 7) are equal for every agent" in lab.only("contradicting-rows").what
    assert ("no agent can have a TSR above 99.2 %",) == audit(lab.folder).facts


def test_a_column_that_only_names_the_row_makes_no_difference(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["ticket_number"] = f"T{number}"
        rows[5].update({**rows[1], "parcel_id": "L006", "ticket_number": "T5"})
        rows[5]["outcome"] = "SHIP" if rows[1]["outcome"] != "SHIP" else "REFUSE"

    lab.rows(change)

    assert lab.findings("contradicting-rows")


# --- a public folder, with a policy written from its procedure ---------------------------------

PUBLIC_POLICY = """
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


def test_the_public_folder_of_dangerous_goods(public_data: Path, tmp_path: Path) -> None:
    """Five labels contradict its text, and the cut-offs between its classes stand nowhere."""
    source = public_data / "sop_bench" / "dangerous_goods"
    folder = tmp_path / "dangerous_goods"
    folder.mkdir()
    for name in ("sop.txt", "toolspecs.json", "test_set_with_outputs.csv"):
        (folder / name).write_bytes((source / name).read_bytes())
    with (source / "test_set_with_outputs.csv").open(encoding="utf-8") as file:
        inputs = [name for name in next(csv.reader(file)) if not name.endswith(("score", "class"))]
    scores = ("sds_label", "handling", "transportation", "disposal")
    tools = {
        f"calculate_{one}_score": {
            "key": ["product_id"],
            "returns": [f"{one}_score"],
            "missing": "null",
        }
        for one in scores
    }
    metadata = {
        "name": "dangerous_goods",
        "output_columns": ["hazard_class"],
        "input_columns": inputs,
        "tools": tools,
    }
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    (folder / "policy.py").write_text(PUBLIC_POLICY, "utf-8")

    found = audit(folder).findings

    disagreeing = [one.place.line for one in found if one.rule == "policy-disagrees"]
    numbers = [one for one in found if one.rule in {"unwritten-number", "policy-number"}]
    assert [113, 242, 244, 258, 268] == disagreeing
    said = " ".join(one.what for one in numbers)
    assert [] == [cut for cut in (8, 13, 17) if f"decides by {cut}," not in said]
    assert 3 == sum(one.rule == "unwritten-number" for one in numbers)
