"""Each bundled domain is sound: these laws hold for every folder there, and for the next one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import pytest_sopbench


def test_the_generator_writes_the_same_bytes_again(every_domain: Any) -> None:
    """A label or a text that was changed by hand is found."""
    done = subprocess.run(
        [sys.executable, every_domain.folder / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)


def test_the_generator_says_when_the_file_would_differ(every_domain: Any, tmp_path: Path) -> None:
    """`--check` guards nothing unless it can fail."""
    package = tmp_path / "pytest_sopbench"
    folder = package / "bundled" / every_domain.folder.name
    shutil.copytree(every_domain.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    data = folder / "data.csv"
    data.write_bytes(data.read_bytes() + b"\n")

    done = subprocess.run(
        [sys.executable, folder / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "data.csv differs" in done.stderr


def test_the_generator_writes_the_file_where_there_is_none(
    every_domain: Any, tmp_path: Path
) -> None:
    package = tmp_path / "pytest_sopbench"
    folder = package / "bundled" / every_domain.folder.name
    shutil.copytree(every_domain.folder, folder, ignore=shutil.ignore_patterns("data.csv"))

    subprocess.run([sys.executable, folder / "generate.py"], check=True)

    written = (folder / "data.csv").read_bytes()
    assert (every_domain.folder / "data.csv").read_bytes() == written


def test_every_label_is_what_the_policy_decides(every_domain: Any, tools_of: Any) -> None:
    wrong = [
        row
        for row in every_domain.rows
        if every_domain.decide(every_domain.inputs(row), tools_of(every_domain, row).call)
        != every_domain.expected(row)
    ]

    assert [] == wrong


def test_every_call_of_the_policy_satisfies_its_spec(every_domain: Any, tools_of: Any) -> None:
    validators = {
        name: jsonschema_rs.validator_for(schema) for name, schema in every_domain.specs.items()
    }
    used: set[str] = set()

    for row in every_domain.rows:
        tools = tools_of(every_domain, row)
        every_domain.decide(every_domain.inputs(row), tools.call)
        for name, arguments in tools.calls:
            validators[name].validate(arguments)
            used.add(name)

    assert set(every_domain.specs) == used


def test_every_cell_that_is_a_parameter_satisfies_the_spec(every_domain: Any) -> None:
    """Also where the policy makes no call: no agent is blamed for what a row holds."""
    for name, schema in every_domain.specs.items():
        looked_up = every_domain.metadata["tools"][name]
        for parameter in (*looked_up.get("key", ()), *looked_up.get("check", ())):
            validator = jsonschema_rs.validator_for(schema["properties"][parameter])
            assert [] == [r for r in every_domain.rows if not validator.is_valid(r[parameter])]


def test_specs_are_tight(every_domain: Any) -> None:
    for schema in every_domain.specs.values():
        assert schema["additionalProperties"] is False
        assert sorted(schema["properties"]) == sorted(schema["required"])
        for shape in schema["properties"].values():
            assert shape["description"]
            assert {"pattern", "maxLength", "enum", "maximum", "format"} & set(shape)


def test_every_tool_has_a_spec_and_every_spec_a_tool(every_domain: Any) -> None:
    assert set(every_domain.specs) == set(every_domain.metadata["tools"])


def test_no_tool_serves_an_output_column_or_an_input(every_domain: Any) -> None:
    """An answer that a tool gives away, or a score that the inputs hold, tests nothing."""
    metadata = every_domain.metadata
    served = {column for tool in metadata["tools"].values() for column in tool.get("returns", ())}

    assert set() == served & {*metadata["output_columns"], *metadata["input_columns"]}


def test_no_label_is_on_more_than_45_percent_of_the_rows(every_domain: Any) -> None:
    for column in every_domain.metadata["output_columns"]:
        counts = Counter(row[column] for row in every_domain.rows)
        assert max(counts.values()) <= 0.45 * len(every_domain.rows)


def test_labels_are_exactly_the_declared_values(every_domain: Any) -> None:
    for column, shape in every_domain.metadata["outputs"].items():
        assert set(shape["values"]) == {row[column] for row in every_domain.rows}
        assert set(shape["values"]) >= set(shape.get("aliases", {}).values())


def test_the_procedure_names_every_label(every_domain: Any) -> None:
    sop = (every_domain.folder / "sop.md").read_text(encoding="utf-8")

    for shape in every_domain.metadata["outputs"].values():
        assert [] == [value for value in shape["values"] if value not in sop]


def test_ids_are_unique_and_say_nothing_of_the_label(every_domain: Any) -> None:
    """Neither by their order nor by their first digit: every label is met in each half."""
    rows = sorted(every_domain.rows, key=lambda row: row[every_domain.metadata["id_column"]])
    ids = [row[every_domain.metadata["id_column"]] for row in rows]
    labels = every_domain.metadata["output_columns"]
    half = len(rows) // 2

    assert len(ids) == len(set(ids))
    for column in labels:
        first = Counter(row[column] for row in rows[:half])
        second = Counter(row[column] for row in rows[half:])
        assert all(first[name] >= second[name] / 2 for name in second)
        assert all(second[name] >= first[name] / 2 for name in first)


def test_clauses_are_numbered_once_each(every_domain: Any) -> None:
    """A contract cites a clause by its number."""
    sop = (every_domain.folder / "sop.md").read_text(encoding="utf-8")
    clauses = re.findall(r"^([0-9]+\.[0-9]+) ", sop, flags=re.MULTILINE)

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
    every_domain: Any, arguments: list[str]
) -> None:
    """A misspelt `--check` must not write the file."""
    done = subprocess.run(
        [sys.executable, every_domain.folder / "generate.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "usage:" in done.stderr
