"""The three public domains, as they are: nothing is lost, renamed or made up on the way."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.load import load_domain

FILE = "test_set_with_outputs.csv"


def raw_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / FILE).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def types_of(rows: list[dict[str, JsonValue]], column: str) -> set[type[Any]]:
    return {type(row[column]) for row in rows}


@pytest.mark.parametrize(
    ("name", "tasks", "id_column", "tools", "inputs"),
    [
        pytest.param("dangerous_goods", 274, "product_id", 4, 5, id="dangerous-goods"),
        pytest.param("customer_service", 156, "account_id", 10, 4, id="customer-service"),
        pytest.param("patient_intake", 66, "patient_id", 6, 14, id="patient-intake"),
    ],
)
def test_a_public_folder_loads_at_full_size(
    public_data: Path, name: str, tasks: int, id_column: str, tools: int, inputs: int
) -> None:
    folder = public_data / name
    rows = raw_rows(folder)

    domain = load_domain(folder)

    assert name == domain.name
    assert tasks == len(domain.tasks) == len(rows)
    assert [row[id_column] for row in rows] == list(domain.task_ids)
    assert tools == len(domain.tool_specs)
    assert inputs == len(domain.input_columns)
    assert {FieldType.ENUM, FieldType.BOOLEAN} >= {field.type for field in domain.fields}
    assert 1 == len(domain.warnings)


@pytest.mark.parametrize("name", ["dangerous_goods", "customer_service", "patient_intake"])
def test_each_cell_of_a_public_folder_is_kept(public_data: Path, name: str) -> None:
    folder = public_data / name

    for row, task in zip(raw_rows(folder), load_domain(folder).tasks, strict=True):
        given = {**task.inputs, **task.results}
        assert set(row) == set(given) | set(task.expected)
        assert {field: row[field] for field in task.expected} == dict(task.expected_as_written)
        for column, value in given.items():
            assert_kept(row[column], value)


def assert_kept(cell: str, value: JsonValue) -> None:
    if value is None:
        assert "" == cell
    elif isinstance(value, bool):
        assert cell.lower() == str(value).lower()
    elif isinstance(value, int | float):
        assert math.isfinite(value)
        assert float(cell) == value
    elif isinstance(value, str):
        assert cell == value
    else:
        assert (
            json.dumps(value).replace('"', "'").replace(" ", "").lower()
            == cell.replace('"', "'").replace(" ", "").lower()
        )


def test_empty_and_zero_scores_stay_apart(public_data: Path) -> None:
    rows = [dict(task.results) for task in load_domain(public_data / "dangerous_goods").tasks]

    assert {float, type(None)} == types_of(rows, "sds_label_score")
    assert {int, type(None)} >= types_of(rows, "disposal_score")
    assert any(row["disposal_score"] == 0 for row in rows)


def test_json_in_cells_becomes_values_and_codes_stay_text(public_data: Path) -> None:
    tasks = load_domain(public_data / "customer_service").tasks
    rows = [{**task.inputs, **task.results} for task in tasks]

    assert {dict} == types_of(rows, "authentication_history")
    assert {list} == types_of(rows, "root_causes")
    assert {bool} == types_of(rows, "is_account_id_valid")
    assert {float, type(None)} == types_of(rows, "radius_miles")
    assert {str} == types_of(rows, "account_id")
    assert {str, type(None)} == types_of(rows, "escalation_ticket_id")


def test_the_word_none_in_a_list_is_no_null(public_data: Path) -> None:
    tasks = load_domain(public_data / "patient_intake").tasks
    rows = [dict(task.inputs) for task in tasks]

    assert {list} == types_of(rows, "previous_surgeries")
    assert ["None"] in [row["previous_surgeries"] for row in rows]
    assert {str, type(None)} == types_of(rows, "alcohol_consumption")
    assert {str} == types_of(rows, "coverage_start_date")


def test_without_its_input_columns_a_public_folder_still_loads(
    public_data: Path, tmp_path: Path
) -> None:
    source = public_data / "dangerous_goods"
    for name in (FILE, "sop.txt", "toolspecs.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    metadata = json.loads((source / "metadata.json").read_text())
    declared = metadata.pop("input_columns")
    (tmp_path / "metadata.json").write_text(json.dumps(metadata))

    domain = load_domain(tmp_path)

    assert tuple(declared) == domain.input_columns
    assert "left out: sds_label_score, handling_score" in domain.warnings[0]
