"""The audit of tool-less domains: documents, schemas and paths that cannot be meant so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.domains import Finding, audit

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "step": {"enum": ["1", "2"]},
        "why": {"type": "string", "maxLength": 5},
        "stay": {"properties": {"rooms": {"type": "array"}}},
    },
    "required": ["step"],
}
POLICY = 'def decide(inputs, call):\n    return {"step": inputs["n"], "why": "x"}\n'

Look = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Write a domain and return the rule and the words of each finding."""

    def look_at(
        *, schema: Any = SCHEMA, expected: Any = None, policy: str = "", **more: Any
    ) -> list[tuple[str, str]]:
        metadata = {"name": "desk", "output_schema": "answer.json", **more}
        rows = expected or [{"step": "1"}, {"step": "2"}]
        files = {
            "metadata.json": json.dumps(metadata),
            "answer.json": json.dumps(schema),
            "sop.txt": "1. Greet.\n2. Leave.\n",
            "tasks.jsonl": "".join(
                json.dumps({"id": f"T{n}", "inputs": {"n": f"{n}", f"k{n}": 1}, "expected": one})
                + "\n"
                for n, one in enumerate(rows, 1)
            ),
            **({"policy.py": policy} if policy else {}),
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return [_words(one) for one in audit(tmp_path, run_code=bool(policy)).findings]

    return look_at


def _words(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.what


def test_a_sound_domain_has_no_finding(look: Look) -> None:
    assert [] == look(ignored_paths=["why"], ordered_paths=["stay.rooms"], roles={"step": "route"})


def test_an_expected_document_that_breaks_the_schema_is_an_error(look: Look) -> None:
    assert [("expected-breaks-schema", 'T1: step breaks enum ["1", "2"]: "3"')] == look(
        expected=[{"step": "3"}]
    )


def test_one_that_breaks_it_at_ignored_paths_is_a_warning(look: Look) -> None:
    found = look(expected=[{"step": "1", "why": "too long"}], ignored_paths=["why"])

    assert [("ignored-breaks-schema", 'T1: why breaks maxLength 5: "too long"')] == found


@pytest.mark.parametrize(
    ("members", "word"),
    [
        pytest.param(["\u2160", "II"], "'\\u2160' of the schema looks like 'I'", id="Roman"),
        pytest.param(["\uff11"], "'\\uff11' of the schema looks like '1'", id="full width"),
        pytest.param(["\u0410"], "'\\u0410' of the schema looks like 'A'", id="Cyrillic"),
        pytest.param(["A1", "\u03911"], "'\\u03911' of the schema looks like 'A1'", id="twins"),
    ],
)
def test_a_value_in_look_alike_letters_is_an_error(
    look: Look, members: list[str], word: str
) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "kind": {"enum": members}}}

    (found,) = look(schema=schema)

    assert ("look-alike-value", f"the value {word}") == found


def test_words_of_another_script_are_no_look_alikes(look: Look) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "kind": {"enum": ["\u662f", "да"]}}}

    assert [] == look(schema=schema)


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        pytest.param({"ignored_paths": ["whi"]}, "'whi': neither the schema", id="ignored"),
        pytest.param({"roles": {"stay.step": "route"}}, "'stay.step': neither", id="role"),
        pytest.param({"ordered_paths": ["rooms.x"]}, "'rooms.x': neither", id="ordered"),
        pytest.param({"ordered_paths": ["step"]}, "'step': no list stands there", id="no list"),
    ],
)
def test_a_path_that_is_nowhere_is_an_error(look: Look, keys: dict[str, Any], word: str) -> None:
    ((rule, what),) = look(**keys)

    assert "no-such-path" == rule
    assert word in what


def test_a_schema_that_is_none_is_told_where_it_stands(look: Look) -> None:
    ((rule, what),) = look(schema={"type": "objekt"})

    assert "does-not-load" == rule
    assert "not a valid JSON schema" in what


def test_a_policy_is_held_against_documents(look: Look) -> None:
    found = look(policy=POLICY, ignored_paths=["why"], expected=[{"step": "1"}, {"step": "1"}])

    assert [("policy-disagrees", "T2: the SOP gives '2' for step, expected is '1'")] == found


def test_equal_inputs_that_expect_different_documents_are_told(look: Look, tmp_path: Path) -> None:
    look()
    row = {"inputs": {"n": "1"}}
    rows = [
        {"id": "a", **row, "expected": {"step": "1"}},
        {"id": "b", **row, "expected": {"step": "2"}},
    ]
    text = "".join(f"{json.dumps(one)}\n" for one in rows)
    (tmp_path / "tasks.jsonl").write_text(text, encoding="utf-8")

    rules = [one.rule for one in audit(tmp_path, run_code=False).findings]

    assert ["contradicting-rows"] == rules


READS_ANSWERS = """
import json
from pathlib import Path

LINES = Path(__file__).with_name("tasks.jsonl").read_text("utf-8").splitlines()
ANSWERS = {row["inputs"]["n"]: row["expected"] for row in map(json.loads, LINES)}


def decide(inputs, call):
    return {"step": "1", **(ANSWERS[inputs["n"]] or {})}
"""


def test_a_policy_that_reads_the_expected_documents_finds_none(look: Look) -> None:
    rows = [{"step": "2"}, {"step": "2"}]

    found = look(expected=rows, policy=READS_ANSWERS)

    assert 2 == sum(rule == "policy-disagrees" for rule, _ in found)
