from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._loading.domain.tools import parameter_names, read_tool_specs
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
