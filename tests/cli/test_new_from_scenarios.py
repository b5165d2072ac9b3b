"""`sopbench new NAME --from FILE.json`: no record loses a part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._making.maze import CASE, HEADERS, REQUIREMENT, split_prompt
from pytest_sopbench.cli import main

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"step": {"enum": ["1", "2"]}, "why": {"type": "string", "maxLength": 5}},
    "required": ["step"],
}
SOP = f"{HEADERS[0]}\nYou greet guests.\n{HEADERS[1]}\n1. Greet.\n2. Leave. "
SENTENCE = " \nThe output must satisfy "


def record(case: str, target: Any, **more: Any) -> dict[str, Any]:
    schema = more.pop("json_schema", SCHEMA)
    sop = more.pop("sop", SOP)
    return {
        "input": f"{sop}{HEADERS[2]}{case}{HEADERS[3]}{SENTENCE}{schema!r}",
        "target": target,
        "json_schema": schema,
        "no_required_eval_acc_keys": ["why"],
        **more,
    }


RECORDS = [
    record("\n hello\u2028there \n\n", {"step": "1", "why": "x"}, model_response='{"step": "1"}'),
    record("bye", {"step": "2", "why": "too long"}, model_response="hm"),
    record("huh", {"step": "3"}, model_response=""),
]

Import = Callable[..., Result]


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    monkeypatch.chdir(tmp_path)

    def run(*options: str, name: str = "desk DFS3.json", records: Any = RECORDS) -> Result:
        Path(name).write_text(json.dumps(records), encoding="utf-8")
        return CliRunner().invoke(main, ["new", "maze_01", "--from", name, "--to", "out", *options])

    return run


def test_a_file_becomes_a_domain_whose_prompts_can_be_put_together_again(imported: Import) -> None:
    result = imported()

    domain = load_domain(Path("out/maze_01"))
    origin = json.loads(Path("out/maze_01/published.json").read_text("utf-8"))
    prompts = [
        f"{domain.sop}{HEADERS[2]}{task.inputs[CASE]}{HEADERS[3]}{origin[REQUIREMENT]}"
        f"{domain.document.schema!r}"  # type: ignore[union-attr]
        for task in domain.tasks
    ]
    assert 0 == result.exit_code
    assert ("1", "2", "3") == domain.task_ids
    assert [one["input"] for one in RECORDS] == prompts
    assert [one["target"] for one in RECORDS] == [task.expected for task in domain.tasks]
    assert domain.document is not None
    assert ("deep", ("why",)) == (domain.document.domain_class, domain.document.ignored)


def test_targets_that_break_their_schema_are_listed(imported: Import) -> None:
    lines = imported().output.splitlines()

    assert "  2 targets break their own schema; no answer can match 1 of them:" in lines
    assert '    record 3: step breaks enum ["1", "2"]: "3"' in lines
    assert (
        '    record 2: why breaks maxLength 5: "too long" (ignored, so an answer can match)'
        in lines
    )


def test_recorded_responses_are_written_for_the_agent_that_replays_them(imported: Import) -> None:
    result = imported()

    lines = Path("out/maze_01/responses.jsonl").read_text("utf-8").splitlines()
    assert {"id": "2", "model_response": "hm"} == json.loads(lines[1])
    assert "--agent=replayed:out/maze_01/responses.jsonl" in result.output


def test_the_class_can_be_said(imported: Import) -> None:
    imported("--class", "short")

    domain = load_domain(Path("out/maze_01"))

    assert domain.document is not None
    assert ("maze_01", "short", "desk DFS3") == (
        domain.name,
        domain.document.domain_class,
        domain.title,
    )


def test_records_of_another_sop_become_a_domain_of_their_own(imported: Import) -> None:
    other = record("hello", {"step": "1"}, sop=SOP.replace("Greet", "Wave"))

    imported(records=[*RECORDS, other])

    assert ("1", "2", "3") == load_domain(Path("out/maze_01")).task_ids
    assert ("4",) == load_domain(Path("out/maze_01_2")).task_ids


def test_another_word_on_the_output_stays_with_its_record(imported: Import) -> None:
    odd = record("hello", {"step": "1"})
    odd["input"] = odd["input"].replace("must satisfy", "should satisfy")

    imported(records=[*RECORDS, odd])

    domain = load_domain(Path("out/maze_01"))
    assert REQUIREMENT not in domain.tasks[0].inputs
    assert f" \nThe output should satisfy {SCHEMA!r}" == domain.tasks[3].inputs[REQUIREMENT]


BROKEN: dict[str, tuple[Any, str]] = {
    "no list": ({}, "not a JSON list of records"),
    "an unknown key": ([{**RECORDS[0], "id": 1}], "record 1 has the unknown key 'id'"),
    "no target": ([{"input": "x", "json_schema": {}}], "record 1 lacks 'target'"),
    "a header twice": (
        [record(f"a {HEADERS[2]}", {"step": "1"})],
        "record 1: the header 【Input】 stands 2 times",
    ),
    "no header": ([{**RECORDS[0], "input": "hello"}], "stands 0 times"),
    "headers in another order": (
        [{**RECORDS[0], "input": f"{HEADERS[1]}{HEADERS[0]}{HEADERS[2]}{HEADERS[3]}"}],
        "in another order",
    ),
    "names that are no list": (
        [{**RECORDS[0], "no_required_eval_acc_keys": "why"}],
        "'no_required_eval_acc_keys' is neither null nor",
    ),
    "a schema that is none": (
        [record("x", {"step": "1"}, json_schema={"type": "objekt"})],
        "not a valid JSON schema",
    ),
}


@pytest.mark.parametrize(("records", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_as_published_is_refused_and_nothing_is_written(
    imported: Import, records: Any, problem: str
) -> None:
    result = imported(records=records)

    assert 0 != result.exit_code
    assert problem in result.output
    assert not Path("out").exists()


def test_nothing_is_overwritten(imported: Import) -> None:
    imported()

    result = imported()

    assert 0 != result.exit_code
    assert "is there already" in result.output


def test_nothing_of_a_prompt_is_lost() -> None:
    text = RECORDS[0]["input"]

    parts = split_prompt(text, SCHEMA)

    assert text == (f"{parts.sop}{HEADERS[2]}{parts.case}{HEADERS[3]}{parts.requirement}{SCHEMA!r}")
