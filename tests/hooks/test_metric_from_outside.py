"""A metric is one row of a table: its gate, its column, its rates and its change follow from it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from pytest_sopbench import Metric, load_session
from tests.builders.tables import METRICS

LAB = "--sop-domain=lab"
TABLES = pd.DataFrame
"""Imported here, since a session inside of a test forgets its imports, and this bears but one."""
ASKED = Metric(
    name="asked_rate",
    label="asked rate",
    counts=lambda summary: (summary.runs - summary.without_calls, summary.runs),
    of=lambda run: bool(run.calls),
    heading="asked",
    gate="asked",
    column="asked",
)
"""How many runs asked a tool at all."""


MEAN_CALLS = Metric(
    name="mean_calls",
    label="mean calls",
    of=lambda run: len(run.calls),
    unit="calls",
    better="lower",
    gate="mean_calls",
    judged=False,
)
"""How many calls a run makes, which is bounded from above: a row, and nothing beside it."""


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, ASKED.name, ASKED)
    monkeypatch.setitem(METRICS, MEAN_CALLS.name, MEAN_CALLS)


@pytest.fixture
def session(lab: Path, pytester: pytest.Pytester) -> pytest.RunResult:
    """One run of six asks no tool; a baseline in which all do lies beside it."""
    assert lab.exists()
    pytester.runpytest_inprocess(LAB, "--agent=habits:right", "--sop-save=baseline")
    return pytester.runpytest_inprocess(
        LAB,
        "--agent=habits:loses_second",
        "--sop-gate=asked=0.9",
        "--sop-compare=baseline",
        "--sop-report=md=page.md",
    )


def test_its_gate_decides(session: pytest.RunResult) -> None:
    assert pytest.ExitCode.TESTS_FAILED == session.ret
    session.stdout.fnmatch_lines(["gate   asked rate >= 90% does not hold (got 83.33%): 5 of 6"])


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("1", "gate   mean calls <= 1 calls holds (got 0.8333 calls)"),
        (
            "0.5",
            "gate   mean calls <= 0.5 calls does not hold (got 0.8333 calls): 5 calls*",
        ),
    ],
)
def test_a_mean_with_an_upper_bound_needs_its_row_alone(
    pytester: pytest.Pytester, lab: Path, bound: str, said: str
) -> None:
    result = pytester.runpytest_inprocess(
        LAB, "--agent=habits:loses_second", f"--sop-gate=mean_calls={bound}"
    )
    saved = load_session("last").summaries["lab"].measured["mean_calls"]

    assert lab.exists()
    result.stdout.fnmatch_lines(["metric mean calls 0.8333 calls (5 calls in 6 runs)", said])
    assert (5, 6, 6, "") == (saved.total, saved.known, saved.runs, saved.fault)


def test_a_name_that_no_gate_has_is_refused_with_it_among_the_others(
    pytester: pytest.Pytester, lab: Path
) -> None:
    result = pytester.runpytest_inprocess(LAB, "--agent=habits:right", "--sop-gate=oops=1")

    assert lab.exists()
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*NAME being one of tsr, *, asked, *"])


def test_the_saved_session_has_its_rate(
    session: pytest.RunResult, pytester: pytest.Pytester
) -> None:
    path = pytester.path / ".sop" / "sessions"
    last = json.loads(
        max(path.glob("*.jsonl"), key=lambda one: one.name).read_text().splitlines()[-1]
    )

    assert session.ret
    assert "summary" == last["type"]
    assert 5 / 6 == last["domains"]["lab"]["asked_rate"]


def test_the_page_has_its_column_and_its_change(
    session: pytest.RunResult, pytester: pytest.Pytester
) -> None:
    page = (pytester.path / "page.md").read_text("utf-8")

    assert session.ret
    assert "| ECR | C-TSR | grounded | tool accuracy | asked | chance |" in page
    assert "| asked rate | 100.0% | 83.3% | -16.7 " in page


def test_the_comparison_on_the_terminal_has_its_change(session: pytest.RunResult) -> None:
    assert "asked -16.7 [" in str(session.stdout)


def test_the_table_of_runs_has_its_column(session: pytest.RunResult) -> None:
    pytest.importorskip("pandas")

    frame = load_session("last").to_dataframe()

    assert session.ret
    assert [True, False, True, True, True, True] == list(frame["asked"])
    assert ["outcome", "correct", "expected_calls", "asked", "reason"] == list(frame.columns[4:9])


def test_every_gate_of_a_metric_has_a_name_of_its_own() -> None:
    gates = [metric.gate for metric in METRICS.values() if metric.gate]

    assert len({*gates}) == len(gates)
