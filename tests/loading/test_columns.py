"""The part that each column has: the agent is never given an answer, nor a stray column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError

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

MakeDomain = Callable[..., Path]


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
