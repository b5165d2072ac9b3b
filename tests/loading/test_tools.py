""""""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import LookupTool, ToolSpec
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.tools import parameter_names, read_tool_specs
from pytest_sopbench.errors import ToolSpecError

SCHEMA = {"type": "object", "properties": {"parcel_id": {"type": "string"}}}
INNER = {"name": "weigh", "description": "Weigh it."}


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "toolspecs.json"
    path.write_text(json.dumps(content))
    return path


def problem_of(path: Path) -> str:
    with pytest.raises(ToolSpecError) as caught:
        read_tool_specs(path)
    return caught.value.problem


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"toolSpec": {**INNER, "inputSchema": {"json": SCHEMA}}}, id="bedrock"),
        pytest.param(
            {"type": "function", "function": {**INNER, "parameters": SCHEMA}}, id="openai"
        ),
        pytest.param({"type": "function", **INNER, "parameters": SCHEMA}, id="openai-flat"),
        pytest.param({**INNER, "inputSchema": SCHEMA}, id="mcp"),
        pytest.param({**INNER, "parameters": SCHEMA}, id="plain"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["list", "object-with-tools"])
def test_each_shape_of_a_tool_spec_means_the_same(
    tmp_path: Path, entry: dict[str, Any], wrapped: bool
) -> None:
    path = written(tmp_path, {"tools": [entry]} if wrapped else [entry])

    specs = read_tool_specs(path)

    assert (ToolSpec(name="weigh", description="Weigh it.", parameters=SCHEMA),) == specs
    assert ("parcel_id",) == parameter_names(specs[0])


def test_a_tool_without_parameters_or_description_is_a_tool(tmp_path: Path) -> None:
    (spec,) = read_tool_specs(written(tmp_path, [{"name": "ping", "parameters": None}]))

    assert {"type": "object", "properties": {}} == spec.parameters
    assert "" == spec.description


def test_a_schema_without_type_or_properties_is_one_of_an_object(tmp_path: Path) -> None:
    (spec,) = read_tool_specs(written(tmp_path, [{**INNER, "parameters": {}}]))

    assert {"type": "object"} == spec.parameters
    assert () == parameter_names(spec)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param({}, "not a list of tool specs", id="an-object"),
        pytest.param(["weigh"], "tool 1 is not a tool spec", id="a-text"),
        pytest.param([{"toolSpec": "weigh"}], "tool 1 is not a tool spec", id="wrapped-text"),
        pytest.param([{"description": "x"}], "tool 1 has no name", id="no-name"),
        pytest.param([{"name": " "}], "tool 1 has no name", id="an-empty-name"),
        pytest.param(
            [INNER, INNER],
            "tool 2 is called 'weigh', and so is one before it",
            id="a-name-twice",
        ),
        pytest.param(
            [{"name": "weigh", "description": 3}],
            "tool 1 ('weigh'): the description is not a text",
            id="a-description-that-is-a-number",
        ),
    ],
)
def test_a_list_at_fault_says_which_entry(tmp_path: Path, content: Any, expected: str) -> None:
    assert expected == problem_of(written(tmp_path, content))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param([], "the schema of its arguments is not an object", id="a-list"),
        pytest.param(
            {"type": "array"}, "the schema of its arguments has the type 'array'", id="an-array"
        ),
        pytest.param(
            {"properties": {"a": {"type": "strin"}}},
            "not a valid JSON schema at 'properties/a/type': \"strin\" is not valid under any of"
            " the schemas listed in the 'anyOf' keyword",
            id="an-unknown-type",
        ),
        pytest.param(
            {"properties": {"a": {"pattern": "("}}},
            'not a valid JSON schema at \'properties/a/pattern\': "(" is not a "regex"',
            id="a-broken-pattern",
        ),
        pytest.param(
            {"properties": {"a": {"$ref": "#/$defs/gone"}}},
            "not a valid JSON schema: Pointer '/$defs/gone' does not exist",
            id="a-reference-to-nothing",
        ),
    ],
)
def test_a_schema_at_fault_says_where(tmp_path: Path, schema: Any, expected: str) -> None:
    path = written(tmp_path, [{**INNER, "parameters": schema}])

    assert f"tool 1 ('weigh'): {expected}" == problem_of(path)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$ref": "https://example.com/a.json"}, id="on-top"),
        pytest.param({"properties": {"a": {"$ref": "http://localhost:1/a"}}}, id="a-parameter"),
        pytest.param({"properties": {"a": {"anyOf": [{"$ref": "a.json"}]}}}, id="another-file"),
        pytest.param({"$defs": {"b": {"$dynamicRef": "file:///etc/passwd"}}}, id="dynamic"),
        pytest.param({"properties": {"default": {"$ref": "a.json"}}}, id="called-default"),
    ],
)
def test_a_reference_out_of_the_schema_is_refused(tmp_path: Path, schema: Any) -> None:
    problem = problem_of(written(tmp_path, [{**INNER, "parameters": schema}]))

    assert problem.startswith("tool 1 ('weigh'): '$ref' to '")
    assert problem.endswith("', which lies outside of the schema")


def test_a_schema_of_schemas_from_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    schema = {"$schema": "http://localhost:1/meta", "type": "object"}

    problem = problem_of(written(tmp_path, [{**INNER, "parameters": schema}]))

    assert "Unknown meta-schema" in problem


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"$defs": {"b": {}}, "properties": {"a": {"$ref": "#/$defs/b"}}}, id="inside"),
        pytest.param({"properties": {"$ref": {"type": "string"}}}, id="a-parameter-called-ref"),
        pytest.param({"properties": {"a": {"const": {"$ref": "a.json"}}}}, id="in-a-constant"),
        pytest.param({"examples": [{"$ref": "a.json"}]}, id="in-an-example"),
    ],
)
def test_what_only_looks_like_a_reference_out_is_taken(tmp_path: Path, schema: Any) -> None:
    assert 1 == len(read_tool_specs(written(tmp_path, [{**INNER, "parameters": schema}])))


MakeDomain = Callable[..., Path]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(
            {"key": ["parcel_id"], "check": ["label"], "returns": ["weight"], "missing": "null"},
            LookupTool(
                name="weigh_parcel",
                key=("parcel_id",),
                check=("label",),
                returns=("weight",),
                missing="null",
            ),
            id="serves-a-column",
        ),
        pytest.param(
            {"result": {"status": "sent"}},
            LookupTool(name="weigh_parcel", result={"status": "sent"}),
            id="serves-a-constant",
        ),
        pytest.param({"result": None}, LookupTool(name="weigh_parcel"), id="serves-null"),
    ],
)
def test_an_entry_of_tools_becomes_a_lookup_tool(
    make_domain: MakeDomain, entry: dict[str, Any], expected: LookupTool
) -> None:
    domain = load_domain(make_domain(tools={"weigh_parcel": entry}))

    assert {"weigh_parcel": expected} == domain.lookups


@pytest.mark.parametrize(
    ("tools", "problem", "hint"),
    [
        pytest.param(
            {"weigh_parcels": {"returns": ["weight"]}},
            "key 'tools.weigh_parcels': no tool spec has this name",
            "did you mean 'weigh_parcel'?",
            id="no-spec",
        ),
        pytest.param(
            {"weigh_parcel": {}},
            "key 'tools.weigh_parcel': says nothing to serve",
            "add 'returns' (columns) or 'result' (a constant)",
            id="nothing-to-serve",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["weight"], "result": 1}},
            "key 'tools.weigh_parcel': has both 'returns' and 'result'",
            "keep one of them",
            id="two-things-to-serve",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["route"]}},
            "key 'tools.weigh_parcel.returns': 'route' speaks about the answer, and would hand"
            " the agent the expected answer",
            "take it off",
            id="serves-an-output",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["also"]}},
            "key 'tools.weigh_parcel.returns': 'also' speaks about the answer, and would hand"
            " the agent the expected answer",
            "take it off",
            id="serves-acceptable-answers",
        ),
        pytest.param(
            {"weigh_parcel": {"check": ["route"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.check': 'route' speaks about the answer, and would tell the"
            " agent when its answer is right",
            "take it off",
            id="checks-an-output",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["pin"]}},
            "key 'tools.weigh_parcel.returns': 'pin' is a private column",
            "private columns never reach the agent; take it off",
            id="serves-a-private-column",
        ),
        pytest.param(
            {"weigh_parcel": {"returns": ["wieght"]}},
            "key 'tools.weigh_parcel.returns': the data file has no column 'wieght'",
            "did you mean 'weight'?",
            id="serves-nothing-there-is",
        ),
        pytest.param(
            {"weigh_parcel": {"key": ["zzz"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.key': the data file has no column 'zzz'",
            "it has parcel_id, label, weight, pin",
            id="a-key-that-is-no-column",
        ),
        pytest.param(
            {"weigh_parcel": {"key": ["weight"], "returns": ["weight"]}},
            "key 'tools.weigh_parcel.key': the tool has no parameter 'weight'",
            "its parameters: parcel_id, label",
            id="a-key-that-is-no-parameter",
        ),
    ],
)
def test_an_entry_that_cannot_serve_or_may_not_is_refused(
    make_domain: MakeDomain, tools: dict[str, Any], problem: str, hint: str
) -> None:
    content = "parcel_id,label,weight,route,also,pin\nP1,red,1,north,,9\n"
    keys = {"acceptable_column": "also", "private_columns": ["pin"], "tools": tools}

    with pytest.raises(ToolSpecError) as caught:
        load_domain(make_domain({"data.csv": content}, **keys))

    assert problem == caught.value.problem
    assert hint == caught.value.hint


def test_tools_that_nothing_answers_for_are_warned_of(make_domain: MakeDomain) -> None:
    warnings = load_domain(make_domain(tools=None)).warnings

    assert [
        "nothing answers for weigh_parcel",
        " there is no tools.py, and 'tools' has no entry; calls of them fail",
    ] == warnings[0].split(":")


def test_a_tools_file_answers_for_the_rest_and_is_not_run(make_domain: MakeDomain) -> None:
    folder = make_domain({"tools.py": "raise SystemExit", "policy.py": "raise SystemExit"})

    domain = load_domain(folder)

    assert folder / "tools.py" == domain.tools_file
    assert folder / "policy.py" == domain.policy_file
    assert () == domain.warnings
