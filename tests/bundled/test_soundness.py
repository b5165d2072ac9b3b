"""Each bundled domain is sound: these laws hold for every folder there, and for the next one."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import pytest_sopbench

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src", "pytest_sopbench", "bundled")


def generate(
    domain: Any, *arguments: str, checkout: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run the generator of a domain in a checkout of the project."""
    return subprocess.run(
        [sys.executable, "-m", f"bundled_domains.{domain.folder.name}.generate", *arguments],
        cwd=checkout / "tools",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(params=["dangerous_goods", "reservation_desk"])
def one_of_each(request: pytest.FixtureRequest) -> Any:
    """A domain with tools and one of documents: one program generates all of both kinds."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def copied(one_of_each: Any, tmp_path: Path) -> Path:
    """The folder of a domain in a checkout of its own, with all generators."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=left_out)
    folder = tmp_path / PACKAGE / one_of_each.folder.name
    shutil.copytree(one_of_each.folder, folder, ignore=left_out)
    return folder


def test_the_generator_writes_the_same_bytes_again(
    every_domain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A label or a text that was changed by hand is found."""
    program = f"bundled_domains.{every_domain.folder.name}.generate"
    monkeypatch.delitem(sys.modules, program, raising=False)
    monkeypatch.setattr(sys, "argv", [program, "--check"])

    with pytest.raises(SystemExit) as ended:
        runpy.run_module(program, run_name="__main__")

    assert 0 == ended.value.code


def test_the_generator_says_when_the_file_would_differ(
    one_of_each: Any, copied: Path, tmp_path: Path
) -> None:
    """`--check` guards nothing unless it can fail."""
    data = copied / one_of_each.data_file.name
    data.write_bytes(data.read_bytes() + b"\n")

    done = generate(one_of_each, "--check", checkout=tmp_path)

    assert 1 == done.returncode
    assert f"{data.name} differs" in done.stderr


def test_the_generator_writes_the_file_where_there_is_none(
    one_of_each: Any, copied: Path, tmp_path: Path
) -> None:
    data = copied / one_of_each.data_file.name
    data.unlink()

    generate(one_of_each, checkout=tmp_path).check_returncode()

    assert one_of_each.data_file.read_bytes() == data.read_bytes()


def test_every_label_is_what_the_policy_decides(every_domain: Any, tools_of: Any) -> None:
    wrong = [
        row
        for row in every_domain.rows
        if every_domain.decide(every_domain.inputs(row), tools_of(every_domain, row).call)
        != every_domain.expected(row)
    ]

    assert [] == wrong


def test_every_call_of_the_policy_satisfies_its_spec(domain_with_tools: Any, tools_of: Any) -> None:
    validators = {
        name: jsonschema_rs.validator_for(schema)
        for name, schema in domain_with_tools.specs.items()
    }

    for row in domain_with_tools.rows:
        tools = tools_of(domain_with_tools, row)
        domain_with_tools.decide(domain_with_tools.inputs(row), tools.call)
        for name, arguments in tools.calls:
            validators[name].validate(arguments)


def test_every_result_is_json(domain_with_tools: Any, tools_of: Any) -> None:
    """What a tool serves reads back as it is: no NaN, no tuple, no key that is a number."""
    for row in domain_with_tools.rows:
        tools = tools_of(domain_with_tools, row)

        def call(name: str, /, tools: Any = tools, **arguments: Any) -> Any:
            answer = tools.call(name, **arguments)
            assert json.loads(json.dumps(answer, allow_nan=False)) == answer
            return answer

        domain_with_tools.decide(domain_with_tools.inputs(row), call)


def test_every_spec_is_a_json_schema(domain_with_tools: Any) -> None:
    for schema in domain_with_tools.specs.values():
        jsonschema_rs.meta.validate(schema)


def test_the_expected_calls_are_those_of_the_policy(domain_with_tools: Any, tools_of: Any) -> None:
    text = (domain_with_tools.folder / "expected_calls.jsonl").read_text(encoding="utf-8")
    written = {line["task"]: line["calls"] for line in map(json.loads, text.splitlines())}

    made: dict[str, Any] = {}
    for row in domain_with_tools.rows:
        tools = tools_of(domain_with_tools, row)
        domain_with_tools.decide(domain_with_tools.inputs(row), tools.call)
        calls = [{"name": name, "arguments": arguments} for name, arguments in tools.calls]
        made[row[domain_with_tools.metadata["id_column"]]] = calls

    assert made == written


def test_every_cell_that_is_a_parameter_satisfies_the_spec(domain_with_tools: Any) -> None:
    """Also where the policy makes no call: no agent is blamed for what a row holds."""
    inputs = set(domain_with_tools.metadata["input_columns"])
    for name, schema in domain_with_tools.specs.items():
        looked_up = domain_with_tools.metadata["tools"].get(name, {})
        columns = inputs | {*looked_up.get("key", ()), *looked_up.get("check", ())}
        for parameter in columns & set(domain_with_tools.rows[0]) & set(schema["properties"]):
            valid = jsonschema_rs.validator_for(schema["properties"][parameter]).is_valid
            cells = [row[parameter] for row in domain_with_tools.rows]
            # A blank is nothing that a call could be made with.
            assert [] == [cell for cell in cells if cell is not None and not valid(cell)], name


def test_specs_are_tight(domain_with_tools: Any) -> None:
    for schema in domain_with_tools.specs.values():
        assert schema["additionalProperties"] is False
        assert sorted(schema["properties"]) == sorted(schema["required"])
        for shape in schema["properties"].values():
            assert shape["description"]
            assert {"pattern", "maxLength", "enum", "maximum", "format", "maxItems"} & set(shape)


def test_every_tool_has_a_spec_and_every_spec_a_tool(domain_with_tools: Any) -> None:
    """Those that `metadata.json` does not serve are served by code."""
    declared = set(domain_with_tools.metadata["tools"])

    assert set() == declared - set(domain_with_tools.specs)
    assert (
        bool(set(domain_with_tools.specs) - declared)
        is (domain_with_tools.folder / "tools.py").is_file()
    )


def test_no_tool_serves_an_output_column_or_an_input(domain_with_tools: Any) -> None:
    """An answer that a tool gives away, or a score that the inputs hold, tests nothing."""
    metadata = domain_with_tools.metadata
    served = {column for tool in metadata["tools"].values() for column in tool.get("returns", ())}

    assert set() == served & {*metadata["output_columns"], *metadata["input_columns"]}


def test_no_label_is_on_more_than_45_percent_of_the_rows(every_domain: Any) -> None:
    frequent = {
        name
        for name, labels in every_domain.labels.items()
        if max(Counter(labels).values()) > 0.45 * len(every_domain.rows)
    }

    assert every_domain.excused("no label is frequent") == frequent


def test_labels_are_exactly_the_declared_values(domain_with_tools: Any) -> None:
    assert set(domain_with_tools.metadata["output_columns"]) == set(
        domain_with_tools.metadata["outputs"]
    )
    for column, shape in domain_with_tools.metadata["outputs"].items():
        cells = [row[column] for row in domain_with_tools.rows]
        if shape["type"] == "enum":
            assert set(shape["values"]) == set(cells)
            assert set(shape["values"]) >= set(shape.get("aliases", {}).values())
        else:
            kinds = {"integer": int, "number": (int, float), "boolean": bool, "list": list}
            kind = kinds.get(shape["type"], str)
            assert all(isinstance(cell, kind) for cell in cells)


def test_the_procedure_names_every_label(domain_with_tools: Any) -> None:
    sop = (domain_with_tools.folder / "sop.md").read_text(encoding="utf-8")

    for name, shape in domain_with_tools.metadata["outputs"].items():
        assert f"`{name}`" in sop
        assert [] == [value for value in shape.get("values", ()) if value not in sop]


def test_the_procedure_has_between_500_and_3500_words(every_domain: Any) -> None:
    sop = (every_domain.folder / "sop.md").read_text(encoding="utf-8")

    assert 500 <= len(sop.split()) <= 3500


def test_the_procedure_names_no_tool(domain_with_tools: Any) -> None:
    """It speaks of services and registers; the tool specs make the link."""
    sop = (domain_with_tools.folder / "sop.md").read_text(encoding="utf-8")

    assert [] == [name for name in domain_with_tools.specs if name in sop]


def test_ids_are_unique_and_say_nothing_of_the_label(every_domain: Any) -> None:
    """Neither by their order nor by their first digit: frequent labels are met in each half."""
    rows = sorted(every_domain.rows, key=lambda row: row[every_domain.metadata["id_column"]])
    ids = [row[every_domain.metadata["id_column"]] for row in rows]
    half = len(rows) // 2

    assert len(ids) == len(set(ids))
    for column in every_domain.metadata["output_columns"]:
        first = Counter(json.dumps(row[column]) for row in rows[:half])
        second = Counter(json.dumps(row[column]) for row in rows[half:])
        frequent = {name for name, count in (first + second).items() if count >= 0.15 * len(rows)}
        assert all(first[name] >= second[name] / 2 for name in frequent)
        assert all(second[name] >= first[name] / 2 for name in frequent)


def test_clauses_are_numbered_once_each(every_domain: Any) -> None:
    """A contract cites a clause by its number, or a note or an article where it has these."""
    sop = (every_domain.folder / "sop.md").read_text(encoding="utf-8")
    articles = re.findall(r"^\*\*Art\. ([0-9]+)\.", sop, flags=re.MULTILINE)
    clauses = articles or re.findall(r"^([0-9]+(?:\.[0-9]+)?) ", sop, flags=re.MULTILINE)

    assert len(clauses) > 10
    assert clauses == sorted(
        set(clauses), key=lambda clause: [int(part) for part in clause.split(".")]
    )


def test_metadata_is_complete(every_domain: Any) -> None:
    metadata = every_domain.metadata

    assert every_domain.folder.name == metadata["name"]
    assert "Apache-2.0" == metadata["licence"]
    assert all(metadata[key] for key in ("title", "description", "industry", "version"))


def test_domain_files_are_ascii_with_unix_line_ends(every_domain: Any) -> None:
    """So that the same bytes come out of every checkout and editor."""
    for path in every_domain.folder.glob("*.*"):
        content = path.read_bytes()
        assert content.isascii(), path
        assert b"\r" not in content, path


def test_there_is_a_bundled_domain() -> None:
    """Else every law above would hold for nothing."""
    folder = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods"

    assert "dangerous_goods" == json.loads((folder / "metadata.json").read_text())["name"]


@pytest.mark.parametrize(
    "arguments", [pytest.param(["--chek"], id="misspelt"), pytest.param(["x", "y"], id="two")]
)
def test_the_generator_refuses_what_it_does_not_know(
    dangerous_goods: Any, arguments: list[str]
) -> None:
    """A misspelt `--check` must not write the file."""
    done = generate(dangerous_goods, *arguments)

    assert 1 == done.returncode
    assert "usage:" in done.stderr
