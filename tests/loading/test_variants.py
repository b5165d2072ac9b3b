"""Variants of a domain: the automatic ones, and files in its folder, which are read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.errors import LoadingError
from tests.builders.domains import Variant, load_domain, variants_of

SOP = "# Desk\n\n1. Greet.\n2. Leave.\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    rows = [{"id": f"T_{n}", "inputs": {"said": n}, "expected": {"step": "1"}} for n in (1, 2)]
    (tmp_path / "metadata.json").write_text('{"name": "desk", "output_schema": "answer.json"}')
    (tmp_path / "answer.json").write_text('{"type": "object"}')
    (tmp_path / "sop.md").write_text(SOP)
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "variants").mkdir()
    return tmp_path


def read(desk: Path, *lines: object, name: str = "mine") -> tuple[Variant, ...]:
    texts = (one if isinstance(one, str) else json.dumps(one) for one in lines)
    (desk / "variants" / f"{name}.jsonl").write_text("\n".join(texts))
    return variants_of(load_domain(desk), (name,), tuple)


def test_a_file_replaces_inputs_and_sop(desk: Path) -> None:
    (found,) = read(
        desk, {"id": "T_1", "inputs": {"said": 9}}, "", {"id": "T_2", "sop": "3. Stay."}
    )

    one, two = found.of("T_1"), found.of("T_2")
    assert one is not None
    assert two is not None
    assert (None, {"said": 9}) == (one.sop, one.inputs)
    assert ("3. Stay.", None) == (two.sop, two.inputs)


def test_a_task_that_the_file_does_not_name_has_no_variant(desk: Path) -> None:
    (found,) = read(desk, {"id": "T_1", "sop": "3. Stay."})

    assert found.of("T_2") is None


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        pytest.param((), "the file is empty", id="empty"),
        pytest.param(("[]",), "row 1: not a JSON object with keys", id="no object"),
        pytest.param(('{"id": "T_1",',), "row 1", id="no JSON"),
        pytest.param(({"sop": "x"},), "row 1, column 'id': no usable id", id="no id"),
        pytest.param(
            ({"id": "T_9", "sop": "x"},), "row 1, column 'id': there is no task 'T_9'", id="unknown"
        ),
        pytest.param(
            ({"id": "T_1", "sop": "x"}, {"id": "T_1", "sop": "y"}),
            "row 2, column 'id': the id 'T_1' stands in row 1 already",
            id="twice",
        ),
        pytest.param(({"id": "T_1"},), "row 1: it replaces nothing", id="nothing"),
        pytest.param(
            ({"id": "T_1", "sop": SOP},), "column 'sop': it replaces nothing", id="same sop"
        ),
        pytest.param(
            ({"id": "T_1", "inputs": {"said": 1}},),
            "column 'inputs': it replaces",
            id="same inputs",
        ),
        pytest.param(({"id": "T_1", "sop": " "},), "column 'sop': not a text, or", id="blank sop"),
        pytest.param(({"id": "T_1", "sop": 4},), "column 'sop': not a text, or", id="no text"),
        pytest.param(
            ({"id": "T_1", "inputs": []},), "column 'inputs': not a JSON object", id="no inputs"
        ),
        pytest.param(
            ({"id": "T_1", "input": {}},), "column 'input': no row of a variant", id="unknown key"
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named(desk: Path, lines: Any, told: str) -> None:
    with pytest.raises(LoadingError) as caught:
        read(desk, *lines)

    assert "mine.jsonl" in str(caught.value)
    assert told in str(caught.value)


def test_no_file_gives_a_variant_that_is_made(desk: Path) -> None:
    with pytest.raises(LoadingError, match="nosop is made for every domain"):
        read(desk, {"id": "T_1", "sop": "x"}, name="nosop")


def test_a_task_that_is_called_as_a_variant_is_refused(desk: Path) -> None:
    row = {"id": "T_1/v-nosop", "inputs": {"said": 3}, "expected": {"step": "1"}}
    with (desk / "tasks.jsonl").open("a") as file:
        file.write(f"\n{json.dumps(row)}\n")

    with pytest.raises(LoadingError, match="called as a variant of 'T_1'"):
        variants_of(load_domain(desk), ("nosop",), tuple)


def test_inputs_of_a_domain_with_tools_are_not_replaced(desk: Path) -> None:
    (desk / "metadata.json").write_text(
        json.dumps(
            {
                "name": "desk",
                "id_column": "id",
                "input_columns": ["said"],
                "output_columns": ["step"],
            }
        )
    )
    (desk / "tasks.jsonl").unlink()
    (desk / "data.csv").write_text("id,said,step\nT_1,a,x\nT_2,b,y\n")

    with pytest.raises(LoadingError, match="only the sop can be replaced"):
        read(desk, {"id": "T_1", "inputs": {"said": "c"}})
