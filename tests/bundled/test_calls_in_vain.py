"""An agent that calls a distractor once has one such call in each run, in every report."""

from __future__ import annotations

import csv
import json

import pytest

AGENT = """
def agent(sop, inputs, tools):
    tools.call("print_return_label", receipt_id=inputs["receipt_id"])
    return {}
"""


def test_a_call_of_a_distractor_is_one_in_each_run_and_in_every_report(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(desk=AGENT)

    result = pytester.runpytest_subprocess(
        *("--sop-domain=warehouse_package_inspection", "--agent=desk:agent", "--sop-sample=12"),
        *("--sop-report=json=report.json", "--sop-report=csv=runs.csv"),
        *("--sop-report=html=report.html", "--sop-report=md=report.md", "--tb=no", "-rN"),
    )

    result.stdout.fnmatch_lines(["*12 unneeded calls in 12 of 12 runs: print_return_label 12"])
    with (pytester.path / "runs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [("1", "print_return_label")] * 12 == [
        (row["unneeded_calls"], row["unneeded_tools"]) for row in rows
    ]
    report = json.loads((pytester.path / "report.json").read_text("utf-8"))
    (domain,) = report["domains"].values()
    assert {"print_return_label": 12} == domain["unneeded"]["by_tool"]
    page = (pytester.path / "report.html").read_text("utf-8")
    assert "12 unneeded calls in 12 of 12 runs: print_return_label 12" in page
    lines = (pytester.path / "report.md").read_text("utf-8").replace("\\", "").splitlines()
    assert (
        "- warehouse_package_inspection: 12 unneeded calls in 12 of 12 runs: print_return_label 12"
        in lines
    )
