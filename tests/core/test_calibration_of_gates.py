"""A gate rests on a judge only where people's labels have shown that it may."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.gates.calibration import Calibration, doubt_of, shown_kappa, uncalibrated
from pytest_sopbench._core.gates.conditions import GateState, read_gate
from pytest_sopbench._core.gates.decide import SessionFacts, decide
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._core.verdict import Outcome

GOOD = Agreement(both_yes=56, only_first=4, only_second=4, both_no=56)
DOUBTFUL = {"claims": {"letter": "no calibration"}}


def calibration(agreement: Agreement = GOOD, fingerprint: str = "f") -> Calibration:
    return Calibration(fingerprint=fingerprint, agreement=agreement)


def test_a_calibration_with_enough_labels_and_agreement_holds() -> None:
    assert "" == doubt_of(calibration(), "f")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param(None, "no calibration", id="none"),
        pytest.param(calibration(fingerprint="g"), "calibrated with another", id="other-judge"),
        pytest.param(
            calibration(Agreement(both_yes=24, both_no=25)),
            "only 49 labels, of at least 50",
            id="49",
        ),
        pytest.param(calibration(Agreement(both_yes=100)), "kappa unknown", id="all-labels-alike"),
        pytest.param(
            calibration(Agreement(both_yes=48, only_first=12, only_second=12, both_no=48)),
            "",
            id="kappa-of-exactly-0.6",
        ),
        pytest.param(
            calibration(Agreement(both_yes=47, only_first=13, only_second=12, both_no=48)),
            "kappa 0.58, below 0.6",
            id="kappa-below",
        ),
    ],
)
def test_what_is_wrong_with_a_calibration_is_said(found: Calibration | None, why: str) -> None:
    told = doubt_of(found, "f")

    assert told.startswith(why)
    assert bool(told) is bool(why)


def test_a_kappa_below_the_bound_is_never_shown_as_the_bound() -> None:
    assert "0.5996" == shown_kappa(0.5996)
    assert "0.86" == shown_kappa(0.8567)


@pytest.mark.parametrize(
    ("gate", "where", "is_open"),
    [
        pytest.param("tsr", "", True, id="all-runs"),
        pytest.param("tsr", "all", True, id="pooled"),
        pytest.param("tsr", "all (mypkg:agent)", True, id="pooled-of-an-agent"),
        pytest.param("tsr", "claims", True, id="its-domain"),
        pytest.param("tsr", "claims (mypkg:agent)", True, id="its-domain-of-an-agent"),
        pytest.param("tsr", "claims_2", False, id="a-domain-of-a-like-name"),
        pytest.param("tsr", "goods", False, id="another-domain"),
        pytest.param("lost", "claims", True, id="comparison"),
        pytest.param("field:letter", "claims", True, id="its-field"),
        pytest.param("field:*", "claims", True, id="every-field"),
        pytest.param("field:amount", "claims", False, id="another-field"),
        pytest.param("ecr", "claims", False, id="how-runs-ended"),
        pytest.param("tool_accuracy", "claims", False, id="tools"),
        pytest.param("a_metric_to_come", "claims", True, id="unknown-metric"),
    ],
)
def test_a_gate_is_open_where_it_depends_on_the_judge(gate: str, where: str, is_open: bool) -> None:
    assert is_open is bool(uncalibrated(gate, where, DOUBTFUL))


@pytest.mark.parametrize("correct", [10, 0], ids=["it-would-hold", "it-would-fail"])
def test_it_is_inconclusive_whatever_it_got(correct: int) -> None:
    outcomes = {Outcome.CORRECT: correct, Outcome.WRONG: 10 - correct}
    summary = Summary(runs=10, outcomes=outcomes)
    facts = SessionFacts(
        gates=[read_gate("tsr=0.9"), read_gate("ecr=0.9")],
        summaries={"claims": summary},
        doubtful=DOUBTFUL,
    )

    decision = decide(facts)

    tsr, ecr = decision.gates
    assert (GateState.INCONCLUSIVE, GateState.HOLDS) == (tsr.state, ecr.state)
    assert "the judge of claims, letter must not decide: no calibration" == tsr.why
    assert GateState.INCONCLUSIVE is decision.state
