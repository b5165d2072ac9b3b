"""An oracle is right in every form: the expected answer of each row, written as agents write it.

What a form cannot express is listed in `inexpressible`, and nothing else is left out.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import pytest_sopbench
from pytest_sopbench import Domain, Task, Trace
from tests.builders.domains import load_domain
from tests.builders.judged import Ending, JsonValue, JudgingRules, is_empty, judge, read_returned

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"
DATA = os.environ.get("SOPBENCH_DATA")
DOMAINS = {
    f"bundled-{path.name}": path
    for path in sorted(BUNDLED.iterdir())
    if (path / "metadata.json").exists()
}
SHARED = {
    f"shared-{path.name}": path
    for path in (sorted(Path(DATA, "sop_bench").iterdir()) if DATA else ())
}

Row = Mapping[str, JsonValue]


def text_of(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def in_lines(row: Row, line: str) -> str:
    return "\n".join(line.format(name, text_of(value)) for name, value in row.items())


def as_tags(row: Row) -> str:
    return "\n".join(f"<{name}>{html.escape(text_of(it))}</{name}>" for name, it in row.items())


def as_columns(row: Row) -> str:
    cells = (row, ["---"] * len(row), map(text_of, row.values()))
    return "\n".join(f"| {' | '.join(one)} |" for one in cells)


def alone_or_json(row: Row) -> str:
    return text_of(*row.values()) if len(row) == 1 else json.dumps(row)


FORMS: dict[str, Callable[[Row], object]] = {
    "mapping": dict,
    "json": json.dumps,
    "fenced-json": lambda row: f"Done.\n\n```json\n{json.dumps(row, indent=2)}\n```\n",
    "final-output": lambda row: f"<final_output>{json.dumps(row)}</final_output>",
    "final-decision": lambda row: f"<final_decision>{alone_or_json(row)}</final_decision>",
    "tags": as_tags,
    "answer-tag": lambda row: f"<answer>{alone_or_json(row)}</answer>",
    "boxed": lambda row: f"So it is $\\boxed{{{text_of(*row.values())}}}$.",
    "lines": lambda row: in_lines(row, "{}: {}"),
    "bold-lines": lambda row: f"All checks are done.\n\n{in_lines(row, '**{}:** {}  ')}",
    "bullets": lambda row: f"### Result\n\n{in_lines(row, '- {}: {}')}",
    "rows": lambda row: f"| Field | Value |\n|---|---|\n{in_lines(row, '| {} | {} |')}",
    "columns": as_columns,
    "headings": lambda row: in_lines(row, "## {}\n\n{}\n"),
}
MARKED = {"mapping", "json", "fenced-json", "final-output", "tags"}


def inexpressible(form: str, row: Row) -> str:
    """Why a form cannot hold an answer, or nothing."""
    if form in MARKED:
        return ""
    if form == "boxed" and len(row) > 1:
        return "a box holds one value"
    if form in ("final-decision", "answer-tag"):
        return ""
    if any(is_empty(value) for value in row.values()):
        return "nothing after a name is no value"
    return ""


ENOUGH = 60
"""Different answers of one domain."""


def different_answers(domain: Domain) -> list[tuple[Task, Row]]:
    """Return a task for each answer that a domain expects, or for some where there are many."""
    found: dict[str, tuple[Task, Row]] = {}
    for task in domain.tasks:
        row = {field.name: task.expected_as_written[field.name] for field in domain.fields}
        found.setdefault(json.dumps(row), (task, row))
    return [*found.values()][:: -(-len(found) // ENOUGH)]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=name) for name, path in {**DOMAINS, **SHARED}.items()]
    or [pytest.param(None, marks=pytest.mark.skip(reason="no domain"))],
)
def test_an_oracle_is_right_in_every_form(path: Path) -> None:
    domain = load_domain(path)
    if domain.document is not None:
        pytest.skip("the answer is a document, which has one form")
    rules = JudgingRules(fields=domain.fields, sop=domain.sop)
    judged: set[str] = set()
    lost: list[tuple[str, str, str, object]] = []
    answers = different_answers(domain)
    for form, write in FORMS.items():
        for task, row in answers:
            if inexpressible(form, row):
                continue
            said = write(row)
            returned = read_returned(said)
            verdict = judge(rules, task, Trace(ending=Ending.RETURNED, returned=returned))
            judged.add(form)
            if not verdict.correct:
                lost.append((form, task.id, verdict.reason, said))

    assert not lost
    assert len(domain.fields) > 1 or judged == {*FORMS}


def test_the_shared_folders_are_judged_where_there_are_any() -> None:
    if not DATA:
        pytest.skip("SOPBENCH_DATA names no folder of public domains")

    assert 3 <= len(SHARED)
    assert isinstance(load_domain(next(iter(SHARED.values()))).tasks[0], Task)
