"""`sopbench show --explain`: a word of the summary, or what became of a task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Mismatch, Outcome
from pytest_sopbench._cli.show import find_term, glossary, names_of
from pytest_sopbench._core.comparison import ComparisonResult
from pytest_sopbench._core.fields.comparison import OTHER_LABEL, UNKNOWN_LABEL
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._reports.failure import failure_lines
from pytest_sopbench._reports.text import LABEL_WIDTH

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
SOURCE = Path(__file__).parents[2] / "src" / "pytest_sopbench" / "_cli" / "glossary.md"


def test_the_page_of_the_documentation_is_the_text_that_is_printed() -> None:
    """Change the one in the package, and copy it over the other."""
    assert SOURCE.read_text("utf-8") == PAGE.read_text("utf-8")


@pytest.mark.parametrize("heading", glossary())
def test_a_term_is_explained_in_three_lines(heading: str) -> None:
    assert 1 <= len(wrap(glossary()[heading], 80)) <= 3


def test_no_two_terms_have_a_name_in_common() -> None:
    names = [name for heading in glossary() for name in names_of(heading)]

    assert len(names) == len({*names})


@pytest.mark.parametrize(
    "word",
    [
        *Outcome,
        *ComparisonResult,
        *("TSR", "ECR", "C-TSR", "chance", "grounded", "inconclusive", "miss", "not exercised"),
        *("pass any", "pass_all", "pass^k", "GROUNDED", "tool failure", "z", "not_evaluated"),
        *("sound", "finding"),
    ],
)
def test_a_word_of_the_summary_is_a_term(word: str) -> None:
    assert find_term(word) is not None


@pytest.mark.parametrize(
    "word",
    [
        *("TSR", "ECR", "C-TSR", "wrong", "rules", "alarm", "a run", "calls", "trials", "tools"),
        *("mean", "vs", "gate", "select", "tasks", "note", "missed", "m"),
    ],
)
def test_what_a_line_of_the_summary_begins_with_is_a_term(word: str) -> None:
    assert find_term(word) is not None


def test_what_a_line_of_a_failure_begins_with_is_a_term(run_of: Make) -> None:
    """Also why a field differs, where the words are no plain ones."""
    long = Mismatch(field="f", expected="x" * 99, actual="y", why=OTHER_LABEL)
    problem = Problem(type="ValueError", message="no", traceback="")
    runs = (
        run_of("T1", Outcome.WRONG, mismatches=(long,), calls=(), disagreement="a typo", rules=()),
        run_of("T1", Outcome.ERROR, problem=problem, text="nothing", notes=("odd",)),
        run_of("T1", Outcome.CORRECT, answer={"f": "x"}),
    )
    blocks = [
        failure_lines(run, inputs={"id": 1}, rerun="pytest", location="data.csv:1") for run in runs
    ]
    lines = [line for block in blocks for line in block[1:]]
    labels = {line[:LABEL_WIDTH].strip() for line in lines} - {""}

    unknown = [word for word in (*labels, OTHER_LABEL, UNKNOWN_LABEL) if find_term(word) is None]

    assert {"task", "inputs", "field", "expected", "actual", "found", "calls", "raised"} <= labels
    assert {"said", "note", "disputed", "took", "again"} <= labels
    assert [] == unknown


def test_a_term_is_printed_with_its_meaning(sopbench: Sopbench) -> None:
    assert [
        "inconclusive",
        "Whether a gate holds is unknown: a run never started, too many were unavailable,",
        "or there is nothing to divide. It is not a pass.",
    ] == sopbench("show", "--explain", "inconclusive").stdout.splitlines()


def test_without_a_word_the_terms_are_listed(sopbench: Sopbench) -> None:
    printed = sopbench("show", "--explain").stdout

    assert all(len(line) <= 80 for line in printed.splitlines())
    assert all(names_of(heading)[0] in printed for heading in glossary())


def test_a_task_is_explained_in_a_few_lines(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("last", runs("T2"))

    printed = sopbench("show", "last", "refunds/T2", "--explain").stdout.splitlines()

    assert [
        "task     refunds/T2: wrong: refund is 'Refund B', not 'Refund A'",
        "field    refund: expected 'Refund A', given 'Refund B' (other known label)",
        "calls    no tool was called",
        "",
        "wrong",
        *wrap(glossary()["wrong"], 80),
        "",
        "everything that is known of it: sopbench show last refunds/T2",
    ] == printed


def test_a_right_answer_with_a_wrong_state_is_explained_by_the_state(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    differs = ("orders[1].status is 'open', expected 'closed'", "refunds: one too many (7)")
    save("last", [run_of("T1", Outcome.WRONG, mismatches=(), state_differs=differs)])

    printed = sopbench("show", "last", "T1", "--explain").stdout.splitlines()

    assert [f"state    {one}" for one in differs] == [
        line for line in printed if line.startswith("state ")
    ]
    assert "or the world that the run leaves is not the right one" in glossary()["wrong"]


def test_what_the_agent_raised_and_which_tool_failed_is_said(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    problem = Problem(type="builtins.KeyError", message="'limit'")
    calls = (
        CallRecord(name="look_up", arguments={}, result=1),
        CallRecord(name="look_up", arguments={}, error="no record"),
    )
    save("other", [run_of("T1", Outcome.ERROR, problem=problem, calls=calls)])

    printed = sopbench("show", "other", "T1", "--explain").stdout.splitlines()

    assert "raised   builtins.KeyError: 'limit'" in printed
    assert "calls    2 tool calls, 1 failed: look_up: no record" in printed
    assert "error" in printed


def test_of_several_trials_the_first_that_failed_is_explained(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("last", [run_of("T1"), run_of("T1", Outcome.WRONG, trial=2), run_of("T1", trial=3)])

    printed = sopbench("show", "last", "T1", "--explain").stdout.splitlines()

    assert "runs     2 of 3 runs of it are correct; this is trial 2" in printed


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(("gronded",), "'gronded' is no term of the glossary", id="no term"),
        pytest.param(("gronded",), "did you mean grounded", id="slip"),
        pytest.param(("last",), "SESSION TASK --explain is of a task", id="a session alone"),
        pytest.param(("last", "T9"), "T9", id="no such task"),
        pytest.param(("gone", "T1"), "gone.jsonl: cannot be read", id="no such session"),
        pytest.param(("last", "T1", "--full"), "--full: it does not go with --explain", id="full"),
    ],
)
def test_what_cannot_be_explained_is_wrong_usage(
    sopbench: Sopbench, save: Save, runs: Make, words: tuple[str, ...], told: str
) -> None:
    save("last", runs())

    result = sopbench("show", "--explain", *words)

    assert 2 == result.exit_code
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_without_a_session_there_is_nothing_to_show(sopbench: Sopbench) -> None:
    result = sopbench("show")

    assert 2 == result.exit_code
    assert "Missing argument 'SESSION'" in result.stderr
