"""A folder whose answers are JSON documents becomes a domain, or one error says why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.errors import LoadingError
from tests.builders.domains import load_domain
from tests.builders.judged import Role

SCHEMA = {
    "type": "object",
    "properties": {"step": {"enum": ["1", "2"]}, "why": {"type": "string"}},
    "required": ["step"],
}
METADATA = {
    "name": "desk",
    "output_schema": "answer.schema.json",
    "ignored_paths": ["why"],
    "ordered_paths": ["route"],
    "roles": {"step": "route"},
    "class": "deep",
}
ROWS = [
    {"id": "T_1", "inputs": {"said": "hello"}, "expected": {"step": "1"}, "tags": ["short"]},
    {"id": "T_2", "inputs": {"said": "bye", "late": True}, "expected": {"step": "2", "why": "x"}},
]

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a folder; a keyword replaces a part, and other files are given by name."""

    def make_it(
        *, schema: Any = SCHEMA, rows: Any = ROWS, files: Any = None, **changes: Any
    ) -> Path:
        kept = {key: value for key, value in {**METADATA, **changes}.items() if value is not None}
        written = {
            "metadata.json": json.dumps(kept),
            "answer.schema.json": schema if isinstance(schema, str) else json.dumps(schema),
            "sop.md": "# Desk\n\n1. Greet.\n2. Leave.\n",
            "tasks.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
            **(files or {}),
        }
        for name, text in written.items():
            if text is not None:
                (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return make_it


def test_the_folder_becomes_a_domain_without_tools(make: Make) -> None:
    domain = load_domain(make())

    assert (("T_1", "T_2"), (), ()) == (domain.task_ids, domain.tool_specs, domain.fields)
    assert ("said", "late") == domain.input_columns
    assert domain.document is not None
    assert ("deep", {"step": Role.ROUTE}) == (domain.document.domain_class, domain.document.roles)
    assert () == domain.warnings


def test_a_row_of_which_nothing_is_compared_is_refused(make: Make) -> None:
    rows = [ROWS[0], {"id": "T_2", "inputs": {"said": "bye"}, "expected": {"why": "x"}}]

    with pytest.raises(LoadingError, match="'ignored_paths' pass over every value") as caught:
        load_domain(make(schema={"type": "object"}, rows=rows, roles=None))

    assert (2, "expected") == (caught.value.row, caught.value.column)


def test_a_task_has_the_document_as_it_stands_in_its_row(make: Make) -> None:
    task = load_domain(make()).tasks[1]

    assert {"step": "2", "why": "x"} == task.expected
    assert ({"said": "bye", "late": True}, 2, ()) == (task.inputs, task.line, task.tags)


def test_the_hash_of_a_task_is_that_of_its_row(make: Make) -> None:
    before = [task.hash for task in load_domain(make()).tasks]
    turned = [{**row, "tags": ["other"]} for row in ROWS[::-1]]

    after = [task.hash for task in load_domain(make(rows=turned, ignored_paths=[])).tasks]

    assert before == after[::-1]


def test_an_expected_answer_that_breaks_the_schema_is_told_in_each_session(make: Make) -> None:
    rows = [*ROWS, {"id": "T_3", "inputs": {"said": ""}, "expected": {"step": "3"}}]

    domain = load_domain(make(rows=rows))

    (notice,) = domain.notices
    assert notice.startswith("1 of 3 expected answers break answer.schema.json")
    assert 'row 3, task T_3: step breaks enum ["1", "2"]: "3"' in notice


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "the schema is missing": ({"output_schema": "other.json"}, "there is no file 'other.json'"),
    "the schema lies elsewhere": ({"output_schema": "../x.json"}, "name of a file"),
    "the schema is no JSON": ({"schema": "{"}, "answer.schema.json.*not JSON"),
    "the schema is a list": ({"schema": []}, "not a JSON schema"),
    "the schema is none": ({"schema": {"type": "objekt"}}, "not a valid JSON schema"),
    "the schema refers to elsewhere": (
        {"schema": {"$ref": "https://example.org/x.json"}},
        "answer.schema.json.*not a",
    ),
    "columns and a schema": ({"output_columns": ["step"]}, "key 'output_columns' is about columns"),
    "tools and a schema": ({"tools": {}}, "key 'tools' is about columns and tools"),
    "an unknown role": ({"roles": {"step": "rout"}}, "key 'roles.step' is 'rout'"),
    "a path that stands twice": ({"ignored_paths": ["a", "a"]}, "'a' stands twice"),
    "a slip of a key": ({"ignored_path": ["why"]}, "key 'ignored_path' is unknown"),
    "tool specs": ({"files": {"toolspecs.json": "[]"}}, "toolspecs.json.*has no tools"),
    "tools": ({"files": {"tools.py": ""}}, "tools.py.*has no tools"),
    "rows in a table": ({"files": {"data.csv": "id\n1\n"}}, "both tasks.jsonl and data.csv"),
    "no rows": ({"rows": []}, "tasks.jsonl.*empty"),
    "a row that is a list": ({"rows": [[]]}, "row 1.*not a JSON object"),
    "a row without an id": ({"rows": [{"inputs": {"a": 1}, "expected": {}}]}, "row 1.*'id'"),
    "an id twice": ({"rows": [ROWS[0], ROWS[0]]}, "row 2.*stands in row 1 already"),
    "no expected answer": ({"rows": [{"id": "a", "inputs": {"a": 1}}]}, "'expected': missing"),
    "no inputs": ({"rows": [{"id": "a", "inputs": {}, "expected": {}}]}, "'inputs': not a JSON"),
    "an unknown key of a row": ({"rows": [{**ROWS[0], "tag": []}]}, "'tag': no row"),
}


@pytest.mark.parametrize(("changes", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_folder_that_cannot_be_used_says_what_and_where(
    make: Make, changes: dict[str, Any], problem: str
) -> None:
    folder = make(**changes)

    with pytest.raises(LoadingError, match=problem):
        load_domain(folder)


# The rubric of a field that a model judges, as `metadata.json` declares it.


def domain(tmp_path: Path, private: bool = False, **letter: Any) -> Path:
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "sop.md").write_text("Read the claim, and write a letter.\n")
    (folder / "rubric.md").write_text("\n It grants the refund. \n")
    (folder / "blank.md").write_text("\n")
    (tmp_path / "elsewhere.md").write_text("x")
    (folder / "data.csv").write_text("claim,letter\nC_1,We refund 10\n")
    metadata = {
        "name": "claims",
        "id_column": "claim",
        "input_columns": ["claim"],
        "output_columns": ["letter"],
        "private_columns": ["letter"] if private else [],
        "outputs": {"letter": letter},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


@pytest.mark.parametrize(
    "letter",
    [{"rubric": " It grants the refund. "}, {"rubric_file": "rubric.md"}],
    ids=["text", "file"],
)
def test_a_rubric_is_a_text_or_a_file_of_the_domain(tmp_path: Path, letter: dict[str, Any]) -> None:
    (field,) = load_domain(domain(tmp_path, compare="judge", **letter)).fields

    assert "It grants the refund." == field.rubric


@pytest.mark.parametrize(
    ("letter", "told"),
    [
        pytest.param({}, "'outputs.letter.rubric': nothing says what to judge by", id="none"),
        pytest.param({"rubric": " "}, "nothing says what to judge by", id="blank"),
        pytest.param(
            {"rubric": "x", "rubric_file": "rubric.md"}, "there is a 'rubric' as well", id="both"
        ),
        pytest.param({"rubric_file": "no.md"}, "there is no file no.md", id="no-file"),
        pytest.param({"rubric_file": "blank.md"}, "the file is empty", id="empty-file"),
        pytest.param(
            {"rubric_file": "../elsewhere.md"}, "lies outside of the domain", id="outside"
        ),
        pytest.param(
            {"rubric": "x", "compare": "exact"}, "nothing judges by it, since 'compare'", id="exact"
        ),
        pytest.param({"rubric": "x", "at_least": 0.5}, "a judge says yes or no", id="score"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(
    tmp_path: Path, letter: dict[str, Any], told: str
) -> None:
    with pytest.raises(LoadingError) as raised:
        load_domain(domain(tmp_path, **{"compare": "judge", **letter}))

    assert told in str(raised.value)


def test_a_private_column_goes_to_no_judge(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="the column is private, and a judge is a model of a"):
        load_domain(domain(tmp_path, private=True, compare="judge", rubric="x"))
