"""The public domains: their labels in every form, and their own examples said back."""

from __future__ import annotations

import csv
import html
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_sopbench import Task, Trace, Verdict
from tests.builders.judged import Ending, JudgingRules, infer_field, judge, read_returned

DATA = os.environ.get("SOPBENCH_DATA")
FOLDERS = sorted(Path(DATA, "sop_bench").iterdir()) if DATA else []

pytestmark = pytest.mark.skipif(not DATA, reason="SOPBENCH_DATA names no folder of public domains")

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Folder:
    """A public domain, as far as answers are concerned: one row for each."""

    rules: JudgingRules
    rows: tuple[Row, ...]


def read_folder(path: Path) -> Folder:
    names = json.loads((path / "metadata.json").read_text("utf-8"))["output_columns"]
    with (path / "test_set_with_outputs.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [{name: row[name] for name in names} for row in csv.DictReader(file)]
    fields = tuple(infer_field(name, [row[name] for row in rows]) for name in names)
    # The same answer reads alike, whatever task it is of.
    different = {tuple(row.values()): row for row in rows}
    rules = JudgingRules(fields=fields, sop=(path / "sop.txt").read_text("utf-8"))
    return Folder(rules, tuple(different.values()))


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest) -> Folder:
    return read_folder(request.param)


def verdict_on(folder: Folder, expected: Row, said: str) -> Verdict:
    task = Task(domain="d", id="1", line=2, inputs={}, expected=expected, results={}, hash="h")
    trace = Trace(ending=Ending.RETURNED, returned=read_returned(said))
    return judge(folder.rules, task, trace)


def _tags(row: Row) -> str:
    return "\n".join(f"<{name}>{html.escape(value)}</{name}>" for name, value in row.items())


def _lines(row: Row) -> str:
    return "\n".join(f"- **{name}:** {value}" for name, value in row.items())


def _table(row: Row) -> str:
    return "\n".join(f"| {name} | {value} |" for name, value in row.items())


def _bare(row: Row) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in row.items()) + "}"


Form = Callable[[Row], str]

ANY_NUMBER: dict[str, Form] = {
    "tags": _tags,
    "tags-in-a-wrapper": lambda row: f"<final_response>{_tags(row)}</final_response>",
    "escaped-tags": lambda row: html.escape(_tags(row), quote=False).replace("&amp;", "&"),
    "final-output": lambda row: f"<final_output>{json.dumps(row)}</final_output>",
    "final-output-dict": lambda row: f"<final_output>{dict(row)}</final_output>",
    "final-output-tags": lambda row: f"<final_output>{_tags(row)}</final_output>",
    "final-decision-json": lambda row: f"<final_decision>{json.dumps(row)}</final_decision>",
    "json": json.dumps,
    "json-fenced": lambda row: f"Done.\n```json\n{json.dumps(row, indent=2)}\n```\nThat is all.",
    "json-in-a-string": lambda row: json.dumps(json.dumps(row)),
    "python": lambda row: f"It is {dict(row)}.",
    "bare-words": _bare,
    "lines": _lines,
    "lines-after-reasoning": lambda row: f"<reasoning>hm</reasoning>\n{_lines(row)}",
    "table": _table,
}
ONE: dict[str, Callable[[str], str]] = {
    "final-decision": "<final_decision>{}</final_decision>".format,
    "final-decision-full-stop": "<final_decision>{}.</final_decision>".format,
    "final-output-label": "<final_output>{}</final_output>".format,
    "answer-tag": "<answer>{}</answer>".format,
    "final-answer": "Final answer: {}".format,
    "answer-bold": "I see.\n\n**Answer:** {}.".format,
    "decision": "Decision: {}".format,
    "boxed": lambda label: f"$\\boxed{{{label}}}$",
    "boxed-text": lambda label: f"\\boxed{{\\text{{{label}}}}}",
    "whole": str,
    "whole-full-stop": "{}.".format,
}


def forms_of(row: Row) -> Iterator[tuple[str, str]]:
    for name, render in ANY_NUMBER.items():
        yield name, render(row)
    if len(row) == 1:
        for name, write in ONE.items():
            yield name, write(*row.values())


def test_every_label_is_found_in_every_form(folder: Folder) -> None:
    lost = {
        (form, said)
        for row in folder.rows
        if all(row.values())
        for form, said in forms_of(row)
        if not verdict_on(folder, row, said).correct
    }

    assert not lost


def test_another_answer_after_the_right_one_is_wrong(folder: Folder) -> None:
    different = [row for row in folder.rows if row != folder.rows[0] and all(row.values())]

    for form, said in forms_of(folder.rows[0]):
        verdict = verdict_on(folder, folder.rows[0], f"{said}\n\nNo:\n{json.dumps(different[0])}")
        assert not verdict.correct, (form, said)


def _echoes(sop: str) -> Iterator[str]:
    """The SOP said back: whole, reflowed, in parts, in other case, with other marks."""
    lines = [line for line in sop.splitlines() if line.strip()]
    for first in range(0, len(lines), 3):
        for length in (4, 8, 16, 32, len(lines)):
            part = lines[first : first + length]
            yield "\n".join(part)
            yield " ".join(" ".join(part).split())
            yield "\n".join(f"> * {line.strip()}" for line in part)
    if "{" in sop:
        inside = sop[sop.rindex("{") + 1 : sop.rindex("}")]
        pairs = [line.strip().rstrip(",") for line in inside.splitlines() if line.strip()]
        for first in range(len(pairs) - 1):
            yield "{" + ", ".join(pairs[first:]) + "}"
            yield "<final_output>\n{" + ",\n  ".join(pairs[first:]) + "}\n</final_output>"


def test_no_echo_of_the_sop_is_an_answer(folder: Folder) -> None:
    said = list(_echoes(folder.rules.sop))

    found = {one for one in said if verdict_on(folder, folder.rows[0], one).completed}

    assert 50 < len(said)
    assert not found


def test_an_answer_after_an_echo_counts_and_so_does_one_before_it(folder: Folder) -> None:
    reflowed = " ".join(folder.rules.sop.split())
    row = next(row for row in folder.rows if all(row.values()))

    for form, said in forms_of(row):
        if form.startswith(("whole", "json-in-a-string")):
            continue
        assert verdict_on(folder, row, f"{reflowed}\n\n{said}").correct, form
        assert verdict_on(folder, row, f"{said}\n\n{reflowed}").correct, form
