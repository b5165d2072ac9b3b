"""Rules about labels, held against the reference policy and against each other."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.rules.leakage import about_persons


def test_every_row_where_the_policy_disagrees_is_named(run_lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in (rows[3], rows[40]):
            row["outcome"] = "SHIP" if row["outcome"] != "SHIP" else "REFUSE"

    run_lab.rows(change)

    found = run_lab.findings("policy-disagrees")

    assert [5, 42] == [one.place.line for one in found]
    assert "L004: the SOP gives '" in found[0].what


TOOLS_THAT_READ = """
import csv
from pathlib import Path


class ParcelManager:
    def process_tool_call(self, name, arguments):
        with Path(__file__).with_name("data.csv").open(encoding="utf-8") as file:
            rows = {row["parcel_id"]: row for row in csv.DictReader(file)}
        row = rows[arguments["parcel_id"]]
        if not row["outcome"]:
            raise ValueError("not decided yet")
        column = {"weigh": "weight_kg", "screen": "risk"}[name]
        return {column: int(row[column])}
"""
READS_ANSWERS = """
import csv
from pathlib import Path

with Path(__file__).with_name("data.csv").open(encoding="utf-8") as file:
    ANSWERS = {row["parcel_id"]: row["Final outcome"] for row in csv.DictReader(file)}


def decide(inputs, call):
    return {"outcome": ANSWERS[inputs["parcel_id"]]}
"""


def test_a_policy_that_reads_the_expected_answers_agrees_with_no_row(run_lab: Any) -> None:
    data = (run_lab.folder / "data.csv").read_text("utf-8")
    run_lab.metadata(columns={"outcome": "Final outcome"}).write(
        data_csv=data.replace(",outcome,", ",Final outcome,", 1), policy_py=READS_ANSWERS
    )

    assert 128 == len(run_lab.findings("policy-disagrees"))


def test_tools_of_own_code_may_read_what_they_serve_while_the_policy_runs(run_lab: Any) -> None:
    run_lab.metadata(tools=None).write(tools_py=TOOLS_THAT_READ)

    assert [] == run_lab.findings("policy-disagrees")


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
    assert (
        "no label is compared with the SOP, since there is no policy.py",
        "no agent can have a TSR above 99.2 %",
    ) == audit(lab.folder).facts


NO_CALLS = "no tool call is checked: there is neither a contract nor expected_calls.jsonl"


def test_that_no_tool_call_is_checked_is_said(lab: Any) -> None:
    """An agent that writes what it must not would be right, and nobody would see it."""
    with_contract = audit(lab.folder).facts

    without = audit(lab.metadata(contract=None).folder).facts

    assert NO_CALLS not in with_contract
    assert NO_CALLS in without


def test_a_column_that_only_names_the_row_makes_no_difference(lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["ticket_number"] = f"T{number}"
        rows[5].update({**rows[1], "parcel_id": "L006", "ticket_number": "T5"})
        rows[5]["outcome"] = "SHIP" if rows[1]["outcome"] != "SHIP" else "REFUSE"

    lab.rows(change)

    assert lab.findings("contradicting-rows")


# Which columns are about persons, by their names and cells: who is named never reaches a model.

FEW = ["Jana Vogt", "Ralf Berger", "Mia Krüger", "Can Aydin"]
LAST_FIRST = ["Vogt, Jana", "Berger, Ralf", "Krüger, Mia"]
HEADS = [
    *("Kunde", "Customer", "Bearbeiter/in", "Kund*in", "Mitarbeiter:in", "Sachbearbeiter_in"),
    *("Zuständig", "Zuständige", "Versicherungsnehmer", "Versicherungsnehmer/innen"),
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("names", [FEW * 5, LAST_FIRST * 7], ids=["first-last", "last-first"])
def test_few_persons_who_come_again_are_persons(head: str, names: list[str]) -> None:
    assert "names" == about_persons(head, names)


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("Kunde", ["privat", "gewerblich"]),
        ("Customer", ["Premium", "Basic"]),
        ("Zuständig", ["Ja", "Nein"]),
        ("Product name", ["Blue Lamp", "Red Chair"]),
        ("Status", ["In Arbeit", "Offen"]),
    ],
)
def test_a_kind_of_customer_is_no_person(head: str, cells: list[str]) -> None:
    assert "" == about_persons(head, cells * 9)
