from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._loading.domain.rows import TaskRows
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import RowError

MakeDomain = Callable[..., Path]


def rows_of(folder: Path) -> TaskRows:
    tasks = load_domain(folder).tasks
    assert isinstance(tasks, TaskRows)
    return tasks


def test_tasks_are_a_sequence_in_the_order_of_the_rows(make_domain: MakeDomain) -> None:
    tasks = rows_of(make_domain())

    assert 3 == len(tasks)
    assert ["P1", "P2", "P3"] == [task.id for task in tasks]
    assert ("P3", "P1") == tuple(task.id for task in tasks[::-2])
    assert "P3" == tasks[-1].id
    assert tasks[1] in tasks
    assert "P2" not in tasks
    assert "<3 tasks of parcels>" == repr(tasks)
    with pytest.raises(IndexError):
        tasks[3]


def test_a_task_of_another_domain_is_not_in_it(make_domain: MakeDomain) -> None:
    tasks = rows_of(make_domain())
    others = rows_of(
        make_domain({"data.csv": "parcel_id,label,weight,route\nP1,x,,n\n"}, folder="o")
    )

    assert others[0] not in tasks


def test_a_task_is_found_by_its_id(make_domain: MakeDomain) -> None:
    tasks = rows_of(make_domain())

    assert tasks[1] == tasks.by_id("P2")
    assert 1 == tasks.position_of("P2")
    with pytest.raises(KeyError):
        tasks.by_id("P9")
    with pytest.raises(KeyError):
        tasks.position_of("P9")


def test_a_task_holds_its_row_typed_and_its_answer_as_written(make_domain: MakeDomain) -> None:
    content = (
        "parcel_id,label,weight,count,parts,fragile,when,route\n"
        "P1,007,12.50,3,\"['a', 'b']\",True,2025-01-31,1.0\n"
        'P2,None,,0,"[]",FALSE,,02\n'
    )
    keys: dict[str, Any] = {"input_columns": ["parcel_id", "label", "when"]}

    tasks = rows_of(make_domain({"data.csv": content}, **keys))

    assert (
        Task(
            domain="parcels",
            id="P1",
            line=2,
            inputs={"parcel_id": "P1", "label": "007", "when": "2025-01-31"},
            expected={"route": "1.0"},
            results={"weight": 12.5, "count": 3, "parts": ["a", "b"], "fragile": True},
            hash=tasks[0].hash,
        )
        == tasks[0]
    )
    assert {"parcel_id": "P2", "label": "None", "when": None} == tasks[1].inputs
    assert {"weight": None, "count": 0, "parts": [], "fragile": False} == tasks[1].results


def test_an_expected_answer_is_typed_and_its_text_stands_beside_it(make_domain: MakeDomain) -> None:
    content = "parcel_id,label,weight,route\nP1,a,1,0\nP2,b,1,2\n"

    task = rows_of(make_domain({"data.csv": content}))[0]

    assert {"route": 0} == task.expected
    assert {"route": "0"} == task.expected_as_written


def test_what_a_reader_of_many_tasks_needs_comes_without_building_them(
    make_domain: MakeDomain,
) -> None:
    content = 'parcel_id,label,weight,route,tags\nP1,"a\nb",1,north,"x,y"\nP2,c,1,south,\n'

    tasks = rows_of(make_domain({"data.csv": content}, tags_column="tags"))

    assert [2, 4] == [tasks.line_at(position) for position in range(2)]
    assert {"route": "south"} == tasks.expected_at(1)
    assert ("x", "y") == tasks.tags_at(0)
    assert () == tasks.acceptable_at(0)


def test_a_task_cannot_be_changed_through_an_earlier_one(make_domain: MakeDomain) -> None:
    tasks = rows_of(make_domain())

    vars_of_inputs = tasks[0].inputs
    assert isinstance(vars_of_inputs, dict)
    vars_of_inputs["label"] = "changed"

    assert "red" == tasks[0].inputs["label"]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        pytest.param("P1,red,12.50,north", "P1,blue,12.50,north", False, id="an-input"),
        pytest.param("P1,red,12.50,north", "P1,red,12.51,north", False, id="a-tool-result"),
        pytest.param("P1,red,12.50,north", "P1,red,12.50,south", False, id="the-answer"),
        pytest.param("P2,blue,3,south", "P2,blue,4,south", True, id="another-row"),
        pytest.param("P1,red,12.50,north\n", "\nP1,red,12.50,north\n", True, id="its-line"),
    ],
)
def test_the_hash_of_a_task_is_that_of_what_it_says(
    make_domain: MakeDomain, before: str, after: str, same: bool
) -> None:
    content = (make_domain() / "data.csv").read_text()

    original = rows_of(make_domain(folder="one")).by_id("P1")
    changed = rows_of(
        make_domain({"data.csv": content.replace(before, after)}, folder="two")
    ).by_id("P1")

    assert same is (original.hash == changed.hash)
    assert 16 == len(original.hash)


def test_a_cell_against_its_declared_type_stops_the_load(make_domain: MakeDomain) -> None:
    with pytest.raises(RowError) as caught:
        load_domain(make_domain(types={"label": "number"}))

    assert caught.value.message.endswith("data.csv, row 2, column 'label': 'red' is not a number")


def test_a_declared_type_is_read_instead_of_the_inferred_one(make_domain: MakeDomain) -> None:
    tasks = rows_of(make_domain(types={"weight": "text"}))

    assert ["12.50", "3", None] == [task.results["weight"] for task in tasks]


def test_acceptable_answers_that_cannot_be_read_stop_the_load(make_domain: MakeDomain) -> None:
    content = 'parcel_id,label,weight,route,ok\nP1,a,1,n,"[""s""]"\nP2,b,1,n,s\n'

    with pytest.raises(RowError) as caught:
        load_domain(make_domain({"data.csv": content}, acceptable_column="ok"))

    assert caught.value.message.endswith(
        "data.csv, row 3, column 'ok': 's' is neither a list nor an object"
    )


def test_json_lines_are_taken_as_they_are_written(make_domain: MakeDomain) -> None:
    lines = (
        '{"parcel_id": "P1", "label": "7", "weight": 1, "route": "north"}\n'
        '{"parcel_id": "P2", "label": "", "weight": "8", "route": null}\n'
    )
    files = {"data.csv": None, "tasks.jsonl": lines}
    outputs = {"route": {"may_be_empty": True}}

    tasks = rows_of(make_domain(files, outputs=outputs))
    typed = rows_of(make_domain(files, folder="typed", types={"weight": "number"}, outputs=outputs))

    assert ["7", ""] == [task.inputs["label"] for task in tasks]
    assert [1, "8"] == [task.results["weight"] for task in tasks]
    assert [1, 8] == [task.results["weight"] for task in typed]
    assert {"route": None} == tasks[1].expected
