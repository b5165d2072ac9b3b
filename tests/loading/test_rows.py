""""""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.rows import TaskRows, acceptable_answers, disagreement_reason, tags_of
from pytest_sopbench._loading.tables import CellError
from pytest_sopbench.errors import LoadingError, RowError, ToolSpecError

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
    assert () == tasks[0].acceptable


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

    files = {"data.csv": content.replace(before, after)}
    original, changed = (
        next(task for task in rows_of(folder) if task.id == "P1")
        for folder in (make_domain(folder="one"), make_domain(files, folder="two"))
    )

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


ONE: dict[str, JsonValue] = {"route": "north"}
TWO: dict[str, JsonValue] = {"route": "north", "priority": "low"}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param(None, (), id="nothing"),
        pytest.param("", (), id="empty"),
        pytest.param("new, rare ,new,", ("new", "rare"), id="with-commas"),
        pytest.param('["new", "rare"]', ("new", "rare"), id="json-list"),
        pytest.param("['new', 3]", ("new", "3"), id="python-list"),
        pytest.param("[odd, rare]", ("[odd", "rare]"), id="brackets-that-are-no-list"),
        pytest.param(["new", " rare "], ("new", "rare"), id="a-list-already"),
        pytest.param(7, (), id="a-number"),
    ],
)
def test_tags_are_names_once_each_in_order(cell: JsonValue, expected: tuple[str, ...]) -> None:
    assert expected == tags_of(cell)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param(None, "", id="nothing"),
        pytest.param(False, "", id="false"),
        pytest.param("False", "", id="false-as-text"),
        pytest.param(" ", "", id="blank"),
        pytest.param("True", "no reason given", id="true-as-text"),
        pytest.param(True, "no reason given", id="true"),
        pytest.param(" clause 4 says B ", "clause 4 says B", id="a-reason"),
    ],
)
def test_a_known_disagreement_has_a_reason(cell: JsonValue, expected: str) -> None:
    assert expected == disagreement_reason(cell)


@pytest.mark.parametrize(
    ("cell", "answer", "expected"),
    [
        pytest.param("", ONE, (), id="empty"),
        pytest.param(None, ONE, (), id="nothing"),
        pytest.param('["south"]', ONE, ({"route": "south"},), id="a-value"),
        pytest.param(["south", None], ONE, ({"route": "south"}, {"route": None}), id="values"),
        pytest.param(
            '[{"route": "south"}]', TWO, ({"route": "south", "priority": "low"},), id="an-object"
        ),
        pytest.param("[]", ONE, (), id="an-empty-list"),
    ],
)
def test_acceptable_answers_have_every_field(
    cell: JsonValue, answer: dict[str, JsonValue], expected: tuple[dict[str, JsonValue], ...]
) -> None:
    assert expected == acceptable_answers(cell, answer)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param("south", "'south' is neither a list nor an object", id="bare-text"),
        pytest.param(
            '{"route": "south"}',
            "acceptable answers are a JSON list, of values or of objects",
            id="an-object-alone",
        ),
        pytest.param(
            '["south"]',
            "'south' names no field; with several output fields write objects",
            id="a-value-for-two-fields",
        ),
        pytest.param(
            '[{"rout": 1}]', "'rout' is no output field; they are route, priority", id="a-stranger"
        ),
    ],
)
def test_acceptable_answers_that_mean_nothing_say_why(cell: JsonValue, expected: str) -> None:
    with pytest.raises(CellError) as caught:
        acceptable_answers(cell, TWO)

    assert expected == str(caught.value)


# Tables beside the data file, and what is wrong with one.

LEGS = "parcel_id,leg,hub,days\nP1,1,Kiel,2\nP2,1,Bonn,1\nP1,2,Graz,\n"
TABLE: dict[str, dict[str, Any]] = {"legs": {"file": "legs.csv", "match": ["parcel_id"]}}
SPECS = [
    {
        "name": "get_leg",
        "description": "One leg of a route.",
        "parameters": {
            "type": "object",
            "properties": {
                "parcel_id": {"type": "string"},
                "leg": {"type": "integer"},
                "at": {"type": "string"},
            },
        },
    }
]
GET_LEG = {"table": "legs", "key": ["parcel_id", "leg"], "returns": ["hub"]}


@pytest.fixture
def with_legs(make_domain: MakeDomain) -> MakeDomain:
    """A domain with a table of legs; keywords replace keys of the metadata."""

    def make(files: dict[str, str | None] | None = None, **metadata: Any) -> Path:
        contents = {"legs.csv": LEGS, "toolspecs.json": json.dumps(SPECS), **(files or {})}
        return make_domain(
            contents, **({"tables": TABLE, "tools": {"get_leg": GET_LEG}} | metadata)
        )

    return make


def test_each_task_has_its_own_records_in_the_order_of_the_file(with_legs: MakeDomain) -> None:
    tasks = load_domain(with_legs()).tasks

    assert [["Kiel", "Graz"], ["Bonn"], []] == [
        [record["hub"] for record in task.tables["legs"]] for task in tasks
    ]


def test_cells_of_a_table_are_read_as_those_of_the_data_file(with_legs: MakeDomain) -> None:
    (first, second) = load_domain(with_legs()).tasks[0].tables["legs"]

    assert {"parcel_id": "P1", "leg": 1, "hub": "Kiel", "days": 2} == first
    assert second["days"] is None


def test_types_override_what_is_inferred(with_legs: MakeDomain) -> None:
    tables = {"legs": {**TABLE["legs"], "types": {"leg": "text"}}}

    domain = load_domain(with_legs(tables=tables))

    assert ["1", "2"] == [record["leg"] for record in domain.tasks[0].tables["legs"]]


def test_an_empty_match_gives_every_task_all_records(with_legs: MakeDomain) -> None:
    tables: dict[str, Any] = {"legs": {"file": "legs.csv", "match": []}}

    domain = load_domain(with_legs(tables=tables))

    assert [3, 3, 3] == [len(task.tables["legs"]) for task in domain.tasks]


def test_a_column_may_have_another_name_in_the_table(with_legs: MakeDomain) -> None:
    files = {"legs.csv": LEGS.replace("parcel_id", "parcel")}
    tables = {"legs": {"file": "legs.csv", "match": {"parcel": "parcel_id"}}}

    domain = load_domain(with_legs(files, tables=tables))

    assert [2, 1, 0] == [len(task.tables["legs"]) for task in domain.tasks]
    assert ("parcel_id",) == domain.lookups["get_leg"].key
    assert ("leg",) == domain.lookups["get_leg"].record_key


def test_a_number_of_json_finds_the_same_digits_in_csv(with_legs: MakeDomain) -> None:
    rows = '{"parcel_id": 7, "label": "red", "route": "north"}\n'
    files = {"data.csv": None, "tasks.jsonl": rows, "legs.csv": "parcel_id,leg,hub\n7,1,Kiel\n"}

    domain = load_domain(with_legs(files))

    assert 1 == len(domain.tasks[0].tables["legs"])


def test_the_hash_of_a_task_covers_its_own_records_alone(
    with_legs: MakeDomain, tmp_path: Path
) -> None:
    folder = with_legs()
    before = [task.hash for task in load_domain(folder).tasks]

    (folder / "legs.csv").write_text(LEGS.replace("Bonn", "Brno"))

    after = [task.hash for task in load_domain(folder).tasks]
    assert [False, True, False] == [one != other for one, other in zip(before, after, strict=True)]


def test_the_hash_of_the_data_covers_tables(with_legs: MakeDomain) -> None:
    folder = with_legs()
    before = load_domain(folder).hashes

    (folder / "legs.csv").write_text(LEGS.replace("Bonn", "Brno"))

    after = load_domain(folder).hashes
    assert ["data"] == [name for name in before if before[name] != after[name]]


def test_records_of_no_task_are_warned_of(with_legs: MakeDomain) -> None:
    files = {"legs.csv": LEGS + "P8,1,Oslo,1\nP9,1,Oslo,1\n"}

    warnings = load_domain(with_legs(files)).warnings

    assert (
        "legs.csv: no task has the records of 2 rows; the first is row 5, parcel_id = 'P8'"
    ) in warnings


@pytest.mark.parametrize(
    ("table", "problem", "hint"),
    [
        pytest.param(
            {"file": "leg.csv", "match": []},
            "key 'tables.legs.file': the folder has no file 'leg.csv'",
            "did you mean 'legs.csv'?",
            id="no-file",
        ),
        pytest.param(
            {"file": "../legs.csv", "match": []},
            "key 'tables.legs.file': '../legs.csv' is not inside of the folder",
            "",
            id="outside",
        ),
        pytest.param(
            {"file": "sop.txt", "match": []},
            "key 'tables.legs.file': 'sop.txt' is no table",
            "a table ends in .csv or .jsonl",
            id="no-table",
        ),
        pytest.param(
            {"file": "./data.csv", "match": []},
            "key 'tables.legs.file': ./data.csv holds what is expected",
            "what tools serve has a file of its own",
            id="the-data-file",
        ),
        pytest.param(
            {"file": "legs.csv", "match": ["parcel"]},
            "key 'tables.legs.match': legs.csv has no column 'parcel'",
            "did you mean 'parcel_id'?",
            id="match-not-in-the-table",
        ),
        pytest.param(
            {"file": "legs.csv", "match": ["hub"]},
            "key 'tables.legs.match': data.csv has no column 'hub'",
            "",
            id="match-not-in-the-data",
        ),
        pytest.param(
            {"file": "legs.csv", "match": {"hub": "route"}},
            "key 'tables.legs.match': 'route' speaks about the answer",
            "",
            id="match-by-the-answer",
        ),
        pytest.param(
            {"file": "legs.csv", "match": [], "types": {"lag": "text"}},
            "key 'tables.legs.types': legs.csv has no column 'lag'",
            "did you mean 'leg'?",
            id="type-of-no-column",
        ),
        pytest.param({"file": "legs.csv"}, "key 'tables.legs.match' is missing", "", id="no-match"),
        pytest.param(
            {"file": "legs.csv", "match": [], "mach": []},
            "key 'tables.legs.mach' is unknown",
            "is 'match' meant?",
            id="unknown-key",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    with_legs: MakeDomain, table: dict[str, Any], problem: str, hint: str
) -> None:
    folder = with_legs(tables={"legs": table})

    with pytest.raises(LoadingError) as caught:
        load_domain(folder)

    assert problem == caught.value.problem
    assert hint == caught.value.hint


def test_a_table_may_not_have_the_name_of_a_column(with_legs: MakeDomain) -> None:
    folder = with_legs(tables={"weight": TABLE["legs"]})

    with pytest.raises(LoadingError, match=r"data\.csv has a column of this name"):
        load_domain(folder)


@pytest.mark.parametrize(
    ("rows", "problem", "row", "column"),
    [
        pytest.param(
            "parcel_id,leg,hub\nP1,1,Kiel\n,2,Graz\n",
            "empty, so nothing says to which task the record belongs",
            3,
            "parcel_id",
            id="record-of-nobody",
        ),
        pytest.param(
            "parcel_id,leg,hub\nP1,one,Kiel\n",
            "'one' is not a number",
            2,
            "leg",
            id="not-of-the-type",
        ),
        pytest.param(
            "parcel_id,leg,hub\nP1,1,Kiel\nP2,1,Bonn\nP1,1,Graz\n",
            "a second record of the same task with parcel_id = 'P1' and leg = 1",
            4,
            "leg",
            id="two-records-for-one-key",
        ),
        pytest.param(
            "parcel_id,leg,hub\nP1,1\n",
            "2 cells, but the header names 3",
            2,
            None,
            id="uneven",
        ),
    ],
)
def test_a_row_that_cannot_be_served_is_named(
    with_legs: MakeDomain, rows: str, problem: str, row: int, column: str | None
) -> None:
    tables = {"legs": {**TABLE["legs"], "types": {"leg": "number"}}}
    folder = with_legs({"legs.csv": rows}, tables=tables)

    with pytest.raises(RowError) as caught:
        load_domain(folder)

    assert folder / "legs.csv" == caught.value.path
    assert (problem, row, column) == (caught.value.problem, caught.value.row, caught.value.column)


def test_two_records_for_one_key_are_fine_where_many_are_served(with_legs: MakeDomain) -> None:
    files = {"legs.csv": LEGS + "P1,1,Kiel,3\n"}

    domain = load_domain(with_legs(files, tools={"get_leg": {**GET_LEG, "many": True}}))

    assert domain.lookups["get_leg"].many


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        pytest.param(
            {**GET_LEG, "table": "lags"},
            ".table': the data file has no table or column 'lags'",
            id="no-such-table",
        ),
        pytest.param(
            {**GET_LEG, "returns": ["hubs"]},
            ".returns': table 'legs' has no column 'hubs'",
            id="no-such-column",
        ),
        pytest.param(
            {**GET_LEG, "returns": ["route"]},
            ".returns': 'route' speaks about the answer, and would hand the agent the expected"
            " answer",
            id="named-as-the-answer",
        ),
        pytest.param(
            {**GET_LEG, "key": {"at": "hubs"}},
            ".key': the data file has no column 'hubs'",
            id="key-of-no-column",
        ),
        pytest.param(
            {**GET_LEG, "key": {"hub": "hub"}},
            ".key': the tool has no parameter 'hub'",
            id="key-of-no-parameter",
        ),
        pytest.param(
            {"table": "legs", "result": 1}, "': has both 'table' and 'result'", id="constant"
        ),
        pytest.param(
            {"table": "legs", "key": ["leg"], "returns": ["hub"], "value": "hub"},
            "': has both 'returns' and 'value'",
            id="returns-and-value",
        ),
        pytest.param(
            {**GET_LEG, "many": True, "missing": "null"},
            ".missing': a list of many records has their empty columns as nulls",
            id="missing-of-many",
        ),
        pytest.param(
            {**GET_LEG, "not_found": "empty"},
            ".not_found': only a list can be empty, and there is no 'many'",
            id="empty-of-one",
        ),
        pytest.param(
            {"key": ["parcel_id"], "returns": ["weight"], "many": True},
            ".many': there is no 'table' to look in",
            id="many-of-no-table",
        ),
        pytest.param(
            {**GET_LEG, "check": ["parcel_id"]},
            ".check': 'parcel_id' stands in 'key' as well",
            id="key-and-check",
        ),
    ],
)
def test_a_tool_that_cannot_look_in_a_table_is_refused(
    with_legs: MakeDomain, entry: dict[str, Any], problem: str
) -> None:
    folder = with_legs(tools={"get_leg": entry})

    with pytest.raises(ToolSpecError) as caught:
        load_domain(folder)

    assert f"key 'tools.get_leg{problem}" == caught.value.problem


STOPS = 'parcel_id,label,stops,route\nP1,red,"{}",north\nP2,blue,,south\n'


def stops(*objects: object) -> dict[str, str | None]:
    return {"data.csv": STOPS.format(json.dumps(objects).replace('"', '""')), "legs.csv": None}


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        pytest.param(
            ({"leg": 1, "hub": "Kiel"}, {"leg": 2}), "object 2 has no key 'hub'", id="lacks-a-key"
        ),
        pytest.param(
            ({"leg": 1, "hub": "Kiel"}, {"leg": 1, "hub": "Bonn"}),
            "a second record of the same task with leg = 1",
            id="two-for-one-key",
        ),
        pytest.param(
            ({"leg": "1", "hub": "Kiel"}, {"leg": "1", "hub": "Bonn"}),
            "a second record of the same task with leg = '1'",
            id="two-for-one-text",
        ),
        pytest.param(
            ({"leg": 1, "hub": "Kiel"}, "Bonn"),
            "[{'leg': 1, 'hub': 'Kiel'}, 'Bonn'] is not a list of objects, and a tool looks in it",
            id="no-object",
        ),
    ],
)
def test_objects_in_a_cell_that_cannot_be_served_are_named(
    with_legs: MakeDomain, cell: tuple[object, ...], problem: str
) -> None:
    entry = {"table": "stops", "key": ["leg"], "returns": ["hub"]}
    folder = with_legs(stops(*cell), tables=None, tools={"get_leg": entry})

    with pytest.raises(RowError) as caught:
        load_domain(folder)

    assert (problem, 2, "stops") == (caught.value.problem, caught.value.row, caught.value.column)


def test_a_number_and_its_text_are_two_keys(with_legs: MakeDomain) -> None:
    entry = {"table": "stops", "key": ["leg"], "returns": ["hub"]}
    files = stops({"leg": "1", "hub": "Kiel"}, {"leg": 1, "hub": "Bonn"})

    domain = load_domain(with_legs(files, tables=None, tools={"get_leg": entry}))

    assert "stops" == domain.lookups["get_leg"].table


def test_a_column_of_lists_of_objects_can_be_looked_in(with_legs: MakeDomain) -> None:
    entry = {"table": "stops", "key": ["leg"], "returns": ["hub"]}
    files = stops({"leg": 1, "hub": "Kiel"})

    tool = load_domain(with_legs(files, tables=None, tools={"get_leg": entry})).lookups["get_leg"]

    assert ("stops", ("leg",)) == (tool.table, tool.record_key)


def test_a_private_column_is_not_looked_in(with_legs: MakeDomain) -> None:
    entry = {"table": "stops", "key": ["leg"], "returns": ["hub"]}
    files = stops({"leg": 1, "hub": "Kiel"})
    folder = with_legs(files, tables=None, tools={"get_leg": entry}, private_columns=["stops"])

    with pytest.raises(ToolSpecError, match="'stops' is a private column"):
        load_domain(folder)
