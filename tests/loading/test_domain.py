""""""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.errors import LoadingError, RowError
from tests.builders.domains import load_domain

MakeDomain = Callable[..., Path]


def test_a_domain_holds_what_its_folder_says(make_domain: MakeDomain) -> None:
    folder = make_domain(
        title="Parcels",
        description="Where parcels go.",
        industry="logistics",
        licence="CC0-1.0",
        version="1.2",
        reject_bad_arguments=True,
    )

    domain = load_domain(folder)

    assert ("parcels", "Parcels", "Where parcels go.") == (
        domain.name,
        domain.title,
        domain.description,
    )
    assert ("logistics", "CC0-1.0", "1.2") == (domain.industry, domain.licence, domain.version)
    assert folder / "data.csv" == domain.data_file
    assert "1. Weigh the parcel.\n2. Choose the route.\n" == domain.sop
    assert ["weigh_parcel"] == [spec.name for spec in domain.tool_specs]
    assert ["route"] == [field.name for field in domain.fields]
    assert ("P1", "P2", "P3") == domain.task_ids
    assert ("parcel_id", "label") == domain.input_columns
    assert domain.reject_bad_arguments
    assert domain.tools_file is None
    assert domain.policy_file is None
    assert () == domain.warnings


def test_a_domain_can_be_called_otherwise(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain(), name="letters")

    assert "letters" == domain.name
    assert "letters" == domain.tasks[0].domain


def test_a_domain_cannot_be_called_anything(make_domain: MakeDomain) -> None:
    with pytest.raises(LoadingError, match=r"'\.\./x' cannot be the name of a domain"):
        load_domain(make_domain(), name="../x")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"sop.txt": None}, "no sop.txt and no sop.md and no SKILL.md", id="no-sop"),
        pytest.param({"sop.md": "x"}, "has both sop.txt and sop.md", id="two-sops"),
        pytest.param({"SKILL.md": "x"}, "has both sop.txt and SKILL.md", id="a-skill-beside"),
        pytest.param({"sop.txt": " \n"}, "the file is empty", id="an-empty-sop"),
        pytest.param(
            {"toolspecs.json": None},
            "there are tools and no toolspecs.json",
            id="tools-without-specs",
        ),
        pytest.param(
            {"data.csv": None},
            "no rows: it has neither data.csv nor test_set_with_outputs.csv nor tasks.jsonl",
            id="no-data",
        ),
        pytest.param({"tasks.jsonl": "{}"}, "has both data.csv and tasks.jsonl", id="two-data"),
    ],
)
def test_a_folder_that_lacks_or_doubles_a_file_says_which(
    make_domain: MakeDomain, files: dict[str, str | None], expected: str
) -> None:
    with pytest.raises(LoadingError) as caught:
        load_domain(make_domain(files))

    assert expected == caught.value.problem


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="gone: no such folder"):
        load_domain(tmp_path / "gone")


def test_of_a_published_folder_the_file_with_outputs_is_read(make_domain: MakeDomain) -> None:
    rows = "parcel_id,label,weight,route\nQ1,red,1,north\n"

    domain = load_domain(make_domain({"test_set_with_outputs.csv": rows}))

    assert ("Q1",) == domain.task_ids
    assert ("data.csv is not read, test_set_with_outputs.csv is",) == domain.notices
    assert domain.notices[0] in domain.warnings


def test_a_domain_without_tools_is_loaded_with_a_warning(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain({"toolspecs.json": None}, tools=None))

    assert () == domain.tool_specs
    assert ("no toolspecs.json: the agent has no tools",) == domain.warnings


def test_headers_are_renamed_before_anything_asks_for_them(make_domain: MakeDomain) -> None:
    rows = "parcel_id,label,weight,final status\nP1,red,1,north\n"

    domain = load_domain(make_domain({"data.csv": rows}, columns={"route": "final status"}))

    assert {"route": "north"} == domain.tasks[0].expected


@pytest.mark.parametrize(
    ("files", "keys", "changed"),
    [
        pytest.param({"sop.txt": "Something else."}, {}, {"sop"}, id="the-sop"),
        pytest.param(
            {"sop.txt": "1. Weigh the parcel.  \r\n2. Choose the route."}, {}, set(), id="its-ends"
        ),
        pytest.param({"tools.py": "x = 1"}, {}, {"tools"}, id="the-code-of-tools"),
        pytest.param({}, {"reject_bad_arguments": True}, {"tools"}, id="what-tools-refuse"),
        pytest.param(
            {},
            {"tools": {"weigh_parcel": {"returns": ["weight"]}}},
            {"tools"},
            id="a-look-up-tool",
        ),
        pytest.param({}, {"title": "Other"}, set(), id="the-title"),
        pytest.param(
            {"data.csv": "parcel_id,label,weight,route\nP1,red,9,north\n"},
            {},
            {"data"},
            id="a-row",
        ),
        pytest.param(
            {
                "data.csv": "route,weight,label,parcel_id\r\n"
                'north,"",red,P3\r\nsouth,3,blue,P2\r\nnorth,12.50,red,P1'
            },
            {},
            set(),
            id="the-order-of-rows-and-columns",
        ),
    ],
)
def test_a_hash_changes_with_content_and_not_with_form(
    make_domain: MakeDomain,
    files: dict[str, str],
    keys: dict[str, Any],
    changed: set[str],
) -> None:
    before = load_domain(make_domain(folder="before")).hashes
    after = load_domain(make_domain(files, folder="after", **keys)).hashes

    assert {"sop", "specs", "tools", "data"} == set(before)
    assert changed == {name for name in before if before[name] != after[name]}


def test_the_hash_of_specs_is_the_same_in_each_shape(make_domain: MakeDomain) -> None:
    (spec,) = json.loads((make_domain() / "toolspecs.json").read_text())
    bedrock = {
        "toolSpec": {
            "name": spec["name"],
            "description": spec["description"],
            "inputSchema": {"json": spec["parameters"]},
        }
    }

    plain = load_domain(make_domain(folder="plain"))
    wrapped = load_domain(make_domain({"toolspecs.json": json.dumps([bedrock])}, folder="wrapped"))

    assert plain.hashes == wrapped.hashes


def test_loading_runs_no_code_of_the_domain_and_opens_no_connection(
    make_domain: MakeDomain,
) -> None:
    boom = "import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"
    folder = make_domain({"tools.py": boom, "policy.py": boom, "__init__.py": boom})
    code = (
        "import socket, sys, pathlib\n"
        "def refuse(*a, **k): raise SystemExit('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "from pytest_sopbench._loading.load import load_domain\n"
        "list(load_domain(pathlib.Path(sys.argv[1])).tasks)\n"
    )

    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)

    assert not (folder / "ran").exists()


def test_a_distractor_is_one_of_the_tools(make_domain: MakeDomain) -> None:
    load_domain(make_domain(distractors=["weigh_parcel"]))

    with pytest.raises(LoadingError, match="no tool spec has the name 'weigh_parcels'") as caught:
        load_domain(make_domain(folder="slip", distractors=["weigh_parcels"]))
    assert "did you mean 'weigh_parcel'?" == caught.value.hint


def test_a_skill_is_a_procedure_with_its_front_matter_and_its_steps(
    make_domain: MakeDomain,
) -> None:
    skill = """---
name: parcels
description: Sends parcels.
---

### Step 1: Weigh
Use the scale.

### Step 2: Send
Choose the route.
"""
    domain = load_domain(make_domain({"sop.txt": None, "SKILL.md": skill}))

    assert skill == domain.sop
    assert ["Weigh", "Send"] == [step.title for step in domain.procedure.steps]


# The part that each column has: the agent is never given an answer, nor a stray column.

WIDE = (
    "parcel_id,label,weight,route,tags,also,dispute,pin\n"
    'P1,red,12.50,north,"new, rare","[""south""]",,1111\n'
    "P2,blue,3,south,,,clause 2 says north,2222\n"
)
LABELS = {
    "tags_column": "tags",
    "acceptable_column": "also",
    "known_disagreement_column": "dispute",
    "private_columns": ["pin"],
}


def fault_of(folder: Path) -> LoadingError:
    with pytest.raises(LoadingError) as caught:
        load_domain(folder)
    return caught.value


def test_each_column_of_a_row_goes_to_its_place(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain({"data.csv": WIDE}, **LABELS))

    task = domain.tasks[0]

    assert {"parcel_id": "P1", "label": "red"} == task.inputs
    assert {"route": "north"} == task.expected
    assert {"weight": 12.5, "pin": 1111} == task.results
    assert ("new", "rare") == task.tags
    assert ({"route": "south"},) == task.acceptable
    assert "" == task.disagreement
    assert "clause 2 says north" == domain.tasks[1].disagreement
    assert frozenset({"pin"}) == domain.private_columns


def test_a_private_column_never_becomes_an_input(make_domain: MakeDomain) -> None:
    keys = {**LABELS, "input_columns": ["parcel_id", "label", "pin"]}

    domain = load_domain(make_domain({"data.csv": WIDE}, **keys))

    assert ("parcel_id", "label") == domain.input_columns
    assert "pin" not in domain.tasks[0].inputs


@pytest.mark.parametrize(
    ("keys", "problem", "hint"),
    [
        pytest.param(
            {"output_columns": ["rout"]},
            "key 'output_columns': data.csv has no column 'rout'",
            "did you mean 'route'?",
            id="an-output-that-is-not-there",
        ),
        pytest.param(
            {"input_columns": ["parcel_id", "zzz"]},
            "key 'input_columns': data.csv has no column 'zzz'",
            "it has parcel_id, label, weight, route, tags, also, dispute, pin",
            id="an-input-that-is-not-there",
        ),
        pytest.param(
            {"id_column": "id"},
            "key 'id_column': data.csv has no column 'id'",
            None,
            id="an-id-that-is-not-there",
        ),
        pytest.param(
            {"types": {"mass": "number"}},
            "key 'types': data.csv has no column 'mass'",
            None,
            id="a-type-of-nothing",
        ),
        pytest.param(
            {"input_columns": ["parcel_id", "route"]},
            "'route' stands in 'input_columns' and in 'output_columns'",
            "an input would hand the agent the expected answer; keep it in one of them",
            id="an-output-as-input",
        ),
        pytest.param(
            {"input_columns": ["parcel_id", "also"]},
            "'also' stands in 'input_columns' and is the 'acceptable_column'",
            "what is said about the answer is not for the agent; take it off the inputs",
            id="acceptable-answers-as-input",
        ),
        pytest.param(
            {"tags_column": "route"},
            "'route' stands in 'output_columns' and is the 'tags_column'",
            "",
            id="an-output-as-tags",
        ),
        pytest.param(
            {"id_column": "route"},
            "'route' is the 'id_column' and tells the answer",
            "ids are given to the agent; name another column, or remove the key",
            id="an-output-as-id",
        ),
        pytest.param(
            {"id_column": "pin"},
            "'pin' is the 'id_column' and a private column",
            "ids are printed everywhere; name another column, or remove the key",
            id="a-private-id",
        ),
        pytest.param(
            {"types": {"route": "text"}},
            "key 'types': 'route' is an output column",
            'say it under "outputs": {"route": {"type": ...}}',
            id="the-type-of-an-output",
        ),
        pytest.param(
            {"types": {"tags": "list"}},
            "key 'types': 'tags' is neither an input nor a tool result",
            "",
            id="the-type-of-tags",
        ),
    ],
)
def test_columns_that_contradict_each_other_are_told(
    make_domain: MakeDomain, keys: dict[str, Any], problem: str, hint: str | None
) -> None:
    fault = fault_of(make_domain({"data.csv": WIDE}, **(LABELS | keys)))

    assert problem == fault.problem
    assert hint is None or hint == fault.hint


@pytest.mark.parametrize(
    ("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")], ids=repr
)
def test_cells_with_another_mark_between_them_are_recognised(
    make_domain: MakeDomain, separator: str, word: str
) -> None:
    content = "parcel_id,label,weight,route\nP1,red,1,north\n".replace(",", separator)

    fault = fault_of(make_domain({"data.csv": content}))

    assert f"its cells seem to have {word} between them; save it with commas" == fault.hint


def test_without_input_columns_the_line_to_paste_is_printed(make_domain: MakeDomain) -> None:
    fault = fault_of(make_domain({"data.csv": WIDE}, input_columns=None, **LABELS))

    assert "key 'input_columns' is missing: it names what the agent is given" == fault.problem
    assert (
        "paste into metadata.json, and change what is not right:\n"
        '  "input_columns": ["parcel_id", "label"],\n'
        "left out: weight, pin"
    ) == fault.hint


def test_in_toml_the_line_to_paste_is_toml(make_domain: MakeDomain) -> None:
    files = {"metadata.json": None, "domain.toml": 'name = "a"\noutput_columns = ["route"]\n'}

    fault = fault_of(make_domain(files))

    assert '\n  input_columns = ["parcel_id", "label"]\n' in fault.hint


def test_where_no_tool_asks_for_a_column_all_are_printed(make_domain: MakeDomain) -> None:
    files = {"toolspecs.json": "[]", "data.csv": None, "test_set_with_outputs.csv": WIDE}

    fault = fault_of(make_domain(files, input_columns=None, tools=None, **LABELS))

    assert '"input_columns": ["parcel_id", "label", "weight"],' in fault.hint


def test_in_a_published_folder_inputs_are_what_tools_ask_for(make_domain: MakeDomain) -> None:
    files = {"data.csv": None, "test_set_with_outputs.csv": WIDE}

    domain = load_domain(make_domain(files, input_columns=None, **LABELS))

    assert ("parcel_id", "label") == domain.input_columns
    assert (
        "metadata.json: no 'input_columns'; the agent is given what tools ask for.\n"
        "paste into metadata.json, and change what is not right:\n"
        '  "input_columns": ["parcel_id", "label"],\n'
        "left out: weight, pin"
    ) in domain.warnings


def test_inferred_inputs_hold_neither_answers_nor_private_columns(
    make_domain: MakeDomain,
) -> None:
    specs = (
        '[{"name": "t", "parameters": {"type": "object", "properties":'
        ' {"label": {}, "route": {}, "also": {}, "tags": {}, "pin": {}}}}]'
    )
    files = {"data.csv": None, "test_set_with_outputs.csv": WIDE, "toolspecs.json": specs}

    domain = load_domain(make_domain(files, input_columns=None, tools=None, **LABELS))

    assert ("parcel_id", "label") == domain.input_columns


NO_TOOLS: dict[str, Any] = {"tools": None}


def ids_of(make_domain: MakeDomain, content: str, folder: str = "a", **keys: Any) -> list[str]:
    header = content.split("\n", 1)[0].split(",")
    inputs = [name for name in header if name not in {"", "route"}]
    folder_path = make_domain(
        {"data.csv": content}, folder=folder, **({"input_columns": inputs} | NO_TOOLS | keys)
    )
    return list(load_domain(folder_path).task_ids)


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        pytest.param("a,b_id,route\n1,x,n\n2,y,n\n", {}, ["x", "y"], id="first-unique-id"),
        pytest.param("a_id,b_id,route\nz,x,n\nz,y,n\n", {}, ["x", "y"], id="not-one-that-repeats"),
        pytest.param("a_id,ID,route\n,x,n\nz,y,n\n", {}, ["x", "y"], id="not-one-with-gaps"),
        pytest.param(",id,route\n0,x,n\n1,y,n\n", {}, ["x", "y"], id="not-the-index"),
        pytest.param("id,a,route\nx,p,n\ny,q,n\n", {"id_column": "a"}, ["p", "q"], id="declared"),
        pytest.param("id,route\n007, n\n7,n\n", {}, ["007", "7"], id="as-written"),
        pytest.param("id,route\na/b::c,n\n../d,n\n", {}, ["a/b::c", "../d"], id="odd-characters"),
    ],
)
def test_an_id_is_the_cell_of_the_id_column(
    make_domain: MakeDomain, content: str, keys: dict[str, Any], expected: list[str]
) -> None:
    assert expected == ids_of(make_domain, content, **keys)


def test_an_output_that_is_called_an_id_is_no_task_id(make_domain: MakeDomain) -> None:
    content = "name,order_id\nx,1\ny,2\n"

    ids = ids_of(
        make_domain, content, input_columns=["name"], output_columns=["order_id"], outputs=None
    )

    assert not {"1", "2"} & set(ids)


def test_ids_without_a_column_do_not_depend_on_order_nor_on_other_rows(
    make_domain: MakeDomain,
) -> None:
    rows = [f"text {n},{n},north" for n in range(10)]
    shuffled = [*rows[5:], *rows[4::-1]]

    ids = ids_of(make_domain, "text,size,route\n" + "\n".join(rows))
    mixed = ids_of(make_domain, "text,size,route\n" + "\n".join(shuffled), "b")
    longer = ids_of(make_domain, "text,size,route\n" + "\n".join([*rows, "x,large,south"]), "c")

    assert dict(zip(rows, ids, strict=True)) == dict(zip(shuffled, mixed, strict=True))
    assert ids == longer[:10]
    assert all(len(task_id) == 16 for task_id in ids)


def test_ids_without_a_column_come_with_a_warning(make_domain: MakeDomain) -> None:
    folder = make_domain({"data.csv": "text,route\na,n\nb,n\n"}, input_columns=["text"], **NO_TOOLS)

    warnings = load_domain(folder).warnings

    assert any("tasks are called by a hash of their inputs" in text for text in warnings)


@pytest.mark.parametrize(
    ("content", "keys", "expected"),
    [
        pytest.param(
            "id,route\nx,n\ny,n\nx,n\n",
            {"id_column": "id"},
            "row 4, column 'id': the id 'x' stands in row 2 already",
            id="an-id-twice",
        ),
        pytest.param(
            "id,route\nx,n\n,n\n",
            {"id_column": "id"},
            "row 3, column 'id': empty; every task needs an id",
            id="no-id",
        ),
        pytest.param(
            "claim_id,route\nx,n\ny,n\nz,n\nx,s\n",
            {},
            "row 5, column 'claim_id': the id 'x' stands in row 2 already",
            id="an-id-twice-in-a-column-that-is-not-declared",
        ),
        pytest.param(
            "claim_id,route\nx,n\ny,n\n,n\n",
            {},
            "row 4, column 'claim_id': empty; every task needs an id",
            id="no-id-in-a-column-that-is-not-declared",
        ),
        pytest.param(
            "id,text,route\nx,a,n\nx,b,n\n",
            {},
            "row 3, column 'id': the id 'x' stands in row 2 already",
            id="a-column-called-id-whatever-it-holds",
        ),
        pytest.param(
            "id,route\nx,n\n  ,n\n",
            {"id_column": "id"},
            "row 3, column 'id': no usable id",
            id="a-blank-id",
        ),
        pytest.param(
            'text,route\n"a\nb",n\n"a\nb",s\n',
            {},
            "row 4: the same inputs as in row 2, so nothing tells the two tasks apart",
            id="equal-inputs-without-ids",
        ),
    ],
)
def test_rows_that_cannot_be_told_apart_are_refused(
    make_domain: MakeDomain, content: str, keys: dict[str, Any], expected: str
) -> None:
    with pytest.raises(RowError) as caught:
        ids_of(make_domain, content, **keys)

    assert caught.value.message.endswith(f"data.csv, {expected}")


def test_a_column_that_names_customers_and_not_tasks_is_no_id(make_domain: MakeDomain) -> None:
    """Most of its values stand in several rows, so that it was never meant to tell them apart."""
    rows = [f"C-{number % 3},text {number},n" for number in range(9)]

    ids = ids_of(make_domain, "customer_id,text,route\n" + "\n".join(rows))

    assert all(len(task_id) == 16 for task_id in ids)


def test_numbers_are_ids_in_json_lines_and_truth_values_are_not(make_domain: MakeDomain) -> None:
    lines = '{"id": 7, "text": "a", "route": "n"}\n{"id": "8", "text": "b", "route": "n"}\n'
    files = {"data.csv": None, "tasks.jsonl": lines}
    bad = {"data.csv": None, "tasks.jsonl": lines.replace("7", "true")}
    keys: dict[str, Any] = {"input_columns": ["text"], "id_column": "id", **NO_TOOLS}

    domain = load_domain(make_domain(files, **keys))

    assert ("7", "8") == domain.task_ids
    with pytest.raises(RowError, match="row 1, column 'id': no usable id"):
        load_domain(make_domain(bad, folder="bad", **keys))
