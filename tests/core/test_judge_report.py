"""What a saved session says of its judge is read back as it was, and a doubt is never lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_sopbench._core.gates.calibration import OTHER_JUDGE, UNCALIBRATED, Calibration
from pytest_sopbench._core.gates.decide import (
    JudgedField,
    JudgeReport,
    judge_report_to_json,
    judged_field,
    read_judge_report,
)
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._reports.text import report_lines

AGREED = Calibration(fingerprint="f", agreement=Agreement(both_yes=57, only_first=2, both_no=41))
FIELD = judged_field("claims", "reason", AGREED, "")
REPORT = JudgeReport(
    fields=(FIELD, judged_field("claims", "letter", None, UNCALIBRATED)),
    asked=3,
    failed=1,
    kept=4,
    repeated=2,
    usage=Usage(input_tokens=1000, output_tokens=20, cost_usd=0.5),
)


def test_a_report_is_read_as_it_was_kept() -> None:
    told = json.loads(json.dumps(judge_report_to_json(REPORT)))

    assert REPORT == read_judge_report(told, {})


def test_a_page_says_agreement_doubt_and_consumption() -> None:
    assert [
        "claims, reason: 98% of 100 labels, kappa 0.96",
        "claims, letter: no calibration",
        (
            "9 judgements: 3 asked, 4 kept from before, 2 of questions asked already, "
            "1 gave none, 1,020 tokens, cost $0.50"
        ),
    ] == list(report_lines(REPORT))


def test_the_agreement_of_another_judge_is_not_told() -> None:
    field = judged_field("claims", "reason", AGREED, OTHER_JUDGE)

    assert JudgedField(domain="claims", field="reason", doubt=OTHER_JUDGE) == field


def test_a_session_without_a_judge_has_no_report() -> None:
    assert read_judge_report(None, {}) is None
    assert [] == list(report_lines(None))


@pytest.mark.parametrize(
    "told",
    [
        None,
        "x",
        {},
        {"asked": "many", "fields": 3},
        {"fields": [1, {"domain": "claims"}, {"domain": "claims", "field": "reason"}]},
        {"fields": [{"domain": "claims", "field": "reason", "labels": -1, "kappa": "high"}]},
    ],
)
def test_a_doubt_is_never_lost(told: Any) -> None:
    report = read_judge_report(told, {"claims": {"reason": "no calibration"}})

    assert report is not None
    assert ["no calibration"] == [one.doubt for one in report.fields]
    assert (0, 0) == (report.asked, report.kept)
