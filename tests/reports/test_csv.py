"""The runs of a session as CSV, read back as a spreadsheet, a program and a CI server would."""

from __future__ import annotations

import csv
import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, RunRecord, SessionPage
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._reports.formats import cell, csv_runs, rendered
from tests.builders.runs import timed_run

PAGE = (Path(__file__).parents[2] / "docs/how-to/read-reports.md").read_text("utf-8")
FORMULA = re.compile(r"[\s\"]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
COMMAND = re.compile(r"^\s*::|##(?:\[|vso\[|teamcity\[)", re.MULTILINE | re.IGNORECASE)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
HALF = "\ud800"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
HOSTILE = st.text(st.sampled_from("=+-@\t\r\n;,'\"#:[]vso \x1b\x00\u202e1a" + HALF), max_size=30)


run = partial(timed_run, duration_s=1.5)


def written(*records: RunRecord, **more: Any) -> str:
    return csv_runs(SessionPage(agent="a:b", records=records, summaries={}, **more))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_each_run_is_a_line_with_expected_beside_actual() -> None:
    text = written(
        run("T1", answer={"grade": "A"}),
        run(
            "T2", Outcome.WRONG, trial=2, agent="m", answer={"grade": "B, or C"},
            reason="grade: other", usage=Usage(input_tokens=12, cost_usd=0.25, model="m-1"),
            mismatches=(Mismatch(field="grade", expected="A", actual="B", why="other"),),
        ),
        forgiven=Forgiven(answers=frozenset({TaskName("lab", "T2")})),
    )  # fmt: skip

    assert 3 == text.count("\n")
    first, second = rows(text)
    assert ("A", "A", "true", "1.5", "", "") == tuple(
        first[name]
        for name in (
            "expected.grade", "actual.grade", "correct", "duration_s", "input_tokens", "model",
        )
    )  # fmt: skip
    assert {
        "domain": "lab", "task": "T2", "trial": "2", "agent": "m", "outcome": "wrong",
        "correct": "false", "may_fail": "true", "change": "", "reason": "grade: other",
        "wrong_fields": "grade", "expected.grade": "A", "actual.grade": "B, or C",
        "rules_broken": "", "rules_forgiven": "", "expected_calls": "", "calls": "0",
        "unneeded_calls": "", "unneeded_tools": "",
        "duration_s": "1.5", "input_tokens": "12",
        "cached_tokens": "", "cache_write_tokens": "", "output_tokens": "",
        "reasoning_tokens": "", "model_calls": "", "cost_usd": "0.25", "model": "m-1",
    } == second  # fmt: skip


def test_the_docs_name_every_column() -> None:
    (header,) = csv.reader(io.StringIO(written()))

    documented = re.findall(r"`([a-z_.]+)`", PAGE.split("| column |")[1].split("\n\n")[0])
    assert set(header) <= set(documented)


def test_each_run_says_what_became_of_its_task() -> None:
    before = [run("T1"), run("T2", Outcome.WRONG), run("T3")]
    now = [run("T1", Outcome.WRONG), run("T2"), run("T3")]
    comparison = compare(
        ComparedSession(name="main", records=before), ComparedSession(name="now", records=now)
    )

    found = rows(written(*now, comparison=comparison))

    assert ["lost", "gained", ""] == [one["change"] for one in found]


def test_pandas_reads_numbers_as_numbers_and_what_is_unknown_as_missing() -> None:
    text = written(
        run("T1", expected={"fee": "-12.50"}, answer={"fee": -12.5}, usage=Usage(cost_usd=1e-7)),
        run("T2", Outcome.CRASH, expected={"fee": "3"}, duration_s=None),
    )

    frame = pd.read_csv(io.StringIO(text))

    assert [-12.5, 3.0] == frame["expected.fee"].tolist()
    assert [-12.5] == frame["actual.fee"].dropna().tolist()
    assert [1e-7] == frame["cost_usd"].dropna().tolist()
    assert [True, False] == frame["correct"].tolist()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param('=HYPERLINK("http://e","x")', '\'=HYPERLINK("http://e","x")', id="formula"),
        pytest.param("+1+cmd|'/C calc'!A0", "'+1+cmd|'/C calc'!A0", id="plus"),
        pytest.param("-2+3", "'-2+3", id="minus"),
        pytest.param("@SUM(A1)", "'@SUM(A1)", id="at"),
        pytest.param("  =1", "'  =1", id="behind blanks"),
        pytest.param("\uff1d1+1", "'\uff1d1+1", id="a wide sign"),
        pytest.param("a;=1+1", "a;'=1+1", id="a new cell where a comma stands in numbers"),
        pytest.param('a;"=1+1', "a;'\"=1+1", id="and in quotes"),
        pytest.param("\t=1", "\\t=1", id="tab"),
        pytest.param("\r=1", "\\r=1", id="carriage return"),
        pytest.param("a\r\nb", "a\\nb", id="two lines"),
        pytest.param("-12.50", "-12.50", id="a number"),
        pytest.param("+3", "+3", id="a number with its sign"),
        pytest.param(-3, "-3", id="a JSON number"),
        pytest.param("x = 1; y", "x = 1; y", id="prose"),
        pytest.param("##vso[task.x]y", "# #vso[task.x]y", id="command of Azure"),
        pytest.param("a ##[error]b", "a # #[error]b", id="older command of GitHub"),
        pytest.param("a\x1b]8;;http://e\x1b\\b", "a\\x1b]8;;http://e\\x1b\\b", id="OSC 8"),
        pytest.param("a\x00b", "a\\x00b", id="NUL"),
        pytest.param("a\u202eb", "a\\u202eb", id="order of letters"),
        pytest.param("a\ud800b", "a\\ud800b", id="half a character"),
        pytest.param("1\u00a0200 é", "1\u00a0200 é", id="what is only unusual"),
        pytest.param(["=1", {"a": 1}], '["=1", {"a": 1}]', id="a list"),
        pytest.param(None, "", id="nothing"),
        pytest.param("", "", id="empty"),
        pytest.param(True, "true", id="yes"),
    ],
)
def test_a_cell_is_data_and_nothing_else(value: Any, shown: str) -> None:
    assert shown == cell(value)


@given(ANY_TEXT | HOSTILE, ANY_TEXT | HOSTILE)
def test_no_text_breaks_a_line_or_gives_a_command(text: str, name: str) -> None:
    text = written(
        run(text, expected={name: text}, answer={name: [text], "b": text}, reason=text), run("T2")
    )

    parsed = list(csv.reader(io.StringIO(text)))

    assert 3 == text.count("\n") == len(parsed)
    assert 1 == len({len(row) for row in parsed})
    assert not CONTROL.search(text)
    assert not COMMAND.search(text)
    assert text.encode("utf-8")
    cells = [one for row in parsed for one in row]
    assert [] == [one for one in cells if FORMULA.match(one) and not NUMBER.fullmatch(one)]


@given(HOSTILE)
def test_no_text_is_a_formula_where_a_semicolon_parts_cells(text: str) -> None:
    """A spreadsheet of a country that writes 1,5 opens the file so."""
    line = written(run("T1", reason=text)).splitlines()[1]

    (parsed,) = csv.reader([line], delimiter=";")

    assert [] == [one for one in parsed if FORMULA.match(one) and not NUMBER.fullmatch(one)]


def test_a_mask_takes_out_texts_and_breaks_no_number() -> None:
    page = SessionPage(
        agent="a:b",
        records=[run("T1", reason="account 111222", duration_s=111222.5)],
        summaries={},
    )

    (found,) = rows(rendered("csv", page, lambda text: re.sub("[0-9]{6}", "***", text)))

    assert ("account ***", "111222.5") == (found["reason"], found["duration_s"])
