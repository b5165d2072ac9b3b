"""Rates per field, as a user sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench import load_session
from pytest_sopbench.cli import main

from .conftest import ReadSaved

CLAIMS = ("--sop-domain=claims", "--agent=clerks:clerk")
pytestmark = pytest.mark.usefixtures("sixty_claims")


def test_the_summary_the_page_and_the_gates_say_how_often_a_field_is_right(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    result = pytester.runpytest(
        *CLAIMS,
        "--sop-gate=field:refund=0.8",
        "--sop-gate=field:reason=0.7",
        "--sop-report=md=p.md",
    )

    result.stdout.fnmatch_lines(
        [
            "TSR    40.0% correct, 24 of 60 *",
            "fields 84.3% right: reason 66.7%, letter 75.0%, refund 80.0%,*",
            "gate   field refund >= 80% holds (got 80%)",
            "gate   field reason >= 70% does not hold (got 66.67%): 40 of 60",
        ]
    )
    assert "| reason | 40 of 60 | 66.7% | [54.1, 77.3] |" in Path("p.md").read_text()
    assert {"runs": 60, "right": 45} == saved().summary["domains"]["claims"]["by_field"]["letter"]


def test_closer_up_each_field_has_a_line(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*CLAIMS, "-v")

    result.stdout.fnmatch_lines(
        [
            "fields 84.3% right, on average",
            "       refund    80.0%, 48 of 60     *",
            "       decision 100.0%, 60 of 60     *",
        ]
    )


def test_a_saved_session_is_gated_and_tabled_by_its_fields(pytester: pytest.Pytester) -> None:
    pandas = pytest.importorskip("pandas")
    pytester.runpytest(*CLAIMS)

    held = CliRunner().invoke(main, ["gate", "last", "--gate=field:letter=0.75"])
    failed = CliRunner().invoke(main, ["gate", "last", "--gate=field:*=0.75"])
    frame = load_session("last").to_dataframe()

    assert (0, 1) == (held.exit_code, failed.exit_code)
    assert "field reason >= 75% does not hold (got 66.67%): 40 of 60" in failed.output
    assert pytest.approx(40 / 60) == frame["right.reason"].mean()
    assert pytest.approx(0.8433, abs=1e-4) == frame["fields"].mean()
    assert pandas.api.types.is_bool_dtype(frame["right.refund"])
