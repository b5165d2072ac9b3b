"""A metric is one row of a table: its gate, its column, its rates and its change follow from it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from pytest_sopbench._core.metrics.metric import METRICS, MetricSpec, PerRun
from pytest_sopbench._sessions.load import load_session

LAB = "--sop-domain=lab"
TABLES = pd.DataFrame
"""Imported here, since a session inside of a test forgets its imports, and this bears but one."""
ASKED = MetricSpec(
    name="asked_rate",
    label="asked rate",
    counts=lambda summary: (summary.runs - summary.without_calls, summary.runs),
    per_run=PerRun(of=lambda run: bool(run.calls)),
    heading="asked",
    gate="asked",
    column="asked",
)
"""How many runs asked a tool at all."""


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, ASKED.name, ASKED)


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
    assert ["outcome", "correct", "asked", "reason"] == list(frame.columns[4:8])


def test_every_gate_of_a_metric_has_a_name_of_its_own() -> None:
    gates = [metric.gate for metric in METRICS.values() if metric.gate]

    assert len({*gates}) == len(gates)
