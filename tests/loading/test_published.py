"""Folders that look like the public ones: one for each oddity that is known of them.

The words and rows are of our own; only the shapes are those of the public release.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.errors import LoadingError, RowError
from tests.builders.domains import load_domain
from tests.builders.judged import FieldType, JsonValue

ROWS = "slip_id,weight,postage,lane\nS1,12,4.5,A\nS2,30,7.25,B\nS3,8,4.5,A\n"

SPEC = {
    "toolSpec": {
        "name": "find_postage",
        "description": "Look the postage up.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {
                    "slip_id": {"type": "string", "pattern": "^S[0-9]{4}$"},
                    "weight": {"type": "string", "minLength": 3, "enum": ["12.0"]},
                },
                "required": ["slip_id"],
                "additionalProperties": False,
            }
        },
    }
}

MANAGER = """
import random

from clerks import NightManager

print("importing")


class MailManager:
    def process_tool_call(self, name, arguments):
        raise ValueError(name)
"""

METADATA: dict[str, Any] = {
    "name": "mail_room",
    "output_columns": ["lane"],
    "input_columns": ["slip_id", "weight"],
}

MakePublished = Callable[..., Path]


@pytest.fixture
def published(tmp_path: Path) -> MakePublished:
    """Make a folder of the published layout; `files` replaces whole files, keywords metadata."""

    def make(files: dict[str, str] | None = None, **metadata: Any) -> Path:
        folder = tmp_path / "mail_room"
        folder.mkdir()
        contents = {
            "sop.txt": "1. Weigh the slip. 2. Choose the lane.",
            "test_set_with_outputs.csv": ROWS,
            "toolspecs.json": json.dumps([SPEC]),
            "tools.py": MANAGER,
            "metadata.json": json.dumps(METADATA | metadata),
        }
        for name, content in (contents | (files or {})).items():
            (folder / name).write_text(content)
        return folder

    return make


def outputs(cells: list[str], header: str = "lane") -> dict[str, str]:
    """A data file whose expected answers are these."""
    rows = [f"S{place},{place},1,{cell}" for place, cell in enumerate(cells)]
    return {"test_set_with_outputs.csv": "\n".join([f"slip_id,weight,postage,{header}", *rows])}


ODDITIES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "as it is": ({}, {}),
    "the number of its tools": ({}, {"num_tools": 1}),
    "a key like one that decides": ({}, {"input_column": ["weight"], "rule": [], "type": {}}),
    "rules of its own": ({}, {"rules": ["weigh first"]}),
    "keys of its own": ({}, {"complexity": {"steps": 9}, "num_tasks": 3, "sop_pages": 2.5}),
    "keys of its own in an output": ({}, {"outputs": {"lane": {"choices": ["A", "B"]}}}),
    "a description in parts": ({}, {"description": ["Mail", "room"]}),
    "null for what is not known": ({}, {"industry": None, "version": None, "tags_column": None}),
    "a version that is a number": ({}, {"version": 1.0}),
    "a name with a space": ({}, {"name": "Mail Room"}),
    "no input columns": (
        {"metadata.json": json.dumps({"name": "mail_room", "output_columns": ["lane"]})},
        {},
    ),
    "null for input columns": ({}, {"input_columns": None}),
    "no line end in the metadata": ({"metadata.json": json.dumps(METADATA, indent=2)}, {}),
    "white space behind the metadata": ({"metadata.json": f"{json.dumps(METADATA)}\n\n "}, {}),
    "a byte order mark": ({"metadata.json": f"\ufeff{json.dumps(METADATA)}"}, {}),
    "another data file": ({"data.csv": "slip_id,weight\nS1,12\n"}, {}),
    "a file without outputs": ({"test_set_without_outputs.csv": "slip_id\nS1\n"}, {}),
    "an index column without a name": (
        {
            "test_set_with_outputs.csv": "\n".join(
                ["," + ROWS.splitlines()[0]]
                + [f"{place},{row}" for place, row in enumerate(ROWS.splitlines()[1:])]
            )
        },
        {},
    ),
    "an output with a space": (
        outputs(["A", "B", "A"], "lane code"),
        {"output_columns": ["lane code"]},
    ),
    "booleans": (outputs(["True", "False", "True"]), {}),
    "floats": (outputs(["0.5", "-1.25", "3"]), {}),
    "dates": (outputs(["2026-01-31", "2026-02-28", ""]), {}),
    "lists": (outputs(["\"['a', 'b']\"", "[]", "\"['a']\""]), {}),
    "empty answers": (outputs(["A", "", "B"]), {}),
    "quotes and line ends in cells": (outputs(['"say ""A""\nnow"', "B", '"x, y"']), {}),
    "line ends of Windows": ({"test_set_with_outputs.csv": ROWS.replace("\n", "\r\n")}, {}),
    "a blank last line": ({"test_set_with_outputs.csv": f"{ROWS}\n"}, {}),
    "ids under another name": (
        {"test_set_with_outputs.csv": ROWS.replace("slip_id", "slip_number")},
        {"input_columns": ["weight"]},
    ),
    "inputs that repeat": (
        {
            "test_set_with_outputs.csv": "row,slip_number,weight,lane\n"
            "0,S1,12,A\n1,S2,12,B\n2,S3,12,A\n"
        },
        {"input_columns": ["weight"]},
    ),
    "a licence file": ({"LICENSE.md": "all ours", "disclaimer.txt": "none"}, {}),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_a_folder_like_the_public_ones_loads(published: MakePublished, oddity: str) -> None:
    files, metadata = ODDITIES[oddity]

    domain = load_domain(published(files, **metadata))

    assert "mail_room" == domain.name
    assert 3 == len(domain.tasks) == len(set(domain.task_ids))
    assert {"weight"} <= set(domain.input_columns) <= {"slip_id", "slip_number", "weight"}
    assert all(set(task.expected) == {domain.fields[0].name} for task in domain.tasks)


@pytest.mark.parametrize(
    ("oddity", "kind"),
    [
        ("booleans", FieldType.BOOLEAN),
        ("floats", FieldType.NUMBER),
        ("dates", FieldType.DATE),
        ("lists", FieldType.LIST),
        ("empty answers", FieldType.TEXT),
    ],
)
def test_its_answers_have_the_type_of_their_column(
    published: MakePublished, oddity: str, kind: FieldType
) -> None:
    files, metadata = ODDITIES[oddity]

    assert kind is load_domain(published(files, **metadata)).fields[0].type


def test_unknown_keys_are_noted_with_the_nearest_known_one(published: MakePublished) -> None:
    domain = load_domain(published(num_tools=4, qqqq="grey"))

    assert {
        "metadata.json: key 'num_tools' is unknown and has no effect; is 'tools' meant?",
        "metadata.json: key 'qqqq' is unknown and has no effect",
    } <= set(domain.warnings)


def test_what_is_left_out_is_noted(published: MakePublished) -> None:
    domain = load_domain(published(name="Mail Room", description={"text": "x"}))

    assert ("Mail Room", "") == (domain.title, domain.description)
    assert {
        "metadata.json: 'Mail Room' cannot be the name of a domain; its folder's name is",
        "metadata.json: key 'description' is no text, and is left out",
    } <= set(domain.warnings)


def test_tasks_are_named_by_a_unique_column_where_inputs_repeat(published: MakePublished) -> None:
    files, metadata = ODDITIES["inputs that repeat"]

    assert ("S1", "S2", "S3") == load_domain(published(files, **metadata)).task_ids


def test_the_same_key_elsewhere_is_refused_with_a_hint(published: MakePublished) -> None:
    folder = published(num_tools=4)
    (folder / "test_set_with_outputs.csv").rename(folder / "data.csv")

    with pytest.raises(LoadingError) as caught:
        load_domain(folder)

    assert "key 'num_tools' is unknown" in caught.value.problem
    assert "is 'tools' meant?" == caught.value.hint


BROKEN: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "a brace too many": (
        {"metadata.json": f"{json.dumps(METADATA)}\n}}"},
        {},
        "metadata.json, row 2: not JSON",
    ),
    "an output that is no column": ({}, {"output_columns": ["aisle"]}, "has no column 'aisle'"),
    "an input that is no column": ({}, {"input_columns": ["wait"]}, "has no column 'wait'"),
    "tools in a list": ({}, {"tools": ["find_postage"]}, "key 'tools' is ['find_postage']"),
    "no specs": ({"toolspecs.json": ""}, {}, "toolspecs.json: the file is empty"),
    "a tool without a name": ({"toolspecs.json": "[{}]"}, {}, "tool 1 has no name"),
    "a short row": (
        {"test_set_with_outputs.csv": f"{ROWS}S4,9\n"},
        {},
        "row 5: 2 cells, but the header names 4",
    ),
    "no procedure": ({"sop.txt": " "}, {}, "sop.txt: the file is empty"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_broken_is_said_in_one_line(published: MakePublished, fault: str) -> None:
    files, metadata, said = BROKEN[fault]

    with pytest.raises(LoadingError) as caught:
        load_domain(published(files, **metadata))

    assert said in caught.value.message
    assert 1 == len(caught.value.message.splitlines())


def test_rows_that_nothing_tells_apart_are_told(published: MakePublished) -> None:
    rows = {"test_set_with_outputs.csv": "weight,lane\n12,A\n12,B\n"}

    with pytest.raises(RowError, match="the same inputs as in row 2"):
        load_domain(published(rows, input_columns=["weight"]))


# The three public domains, as they are: nothing is lost, renamed or made up on the way.

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
