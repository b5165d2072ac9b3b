"""Gates on a comparison: what holds, what does not, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord, Summary
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession, SessionComparison
from pytest_sopbench._core.gates.budget import Budget, Spending, reaches_time, read_budget
from pytest_sopbench._core.gates.calibration import (
    OTHER_JUDGE,
    UNCALIBRATED,
    Calibration,
    JudgedField,
    JudgeReport,
    doubt_of,
    judge_report_to_json,
    judged_field,
    shown_kappa,
    together,
    uncalibrated,
    with_doubts,
)
from pytest_sopbench._core.gates.conditions import (
    COMPARISON_GATES,
    GateSpec,
    GateState,
    blockers_of,
    evaluate_comparison,
    gate_names,
    read_gate,
)
from pytest_sopbench._core.gates.decide import SessionFacts, decide
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.statistics import Agreement
from pytest_sopbench._reports.text import report_lines
from tests.builders.runs import run

RIGHT, WRONG, AWAY, NEVER = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE, Outcome.NOT_RUN
HOLDS, FAILS, UNKNOWN = GateState.HOLDS, GateState.FAILS, GateState.INCONCLUSIVE


def runs(outcomes: Iterable[Outcome], domain: str = "d") -> list[RunRecord]:
    return [run(f"t{number}", outcome, domain=domain) for number, outcome in enumerate(outcomes)]


def comparison(
    before: list[RunRecord], now: list[RunRecord], judging: str = ""
) -> SessionComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="current", records=now, judging=judging),
    )


def of(lost: int, gained: int, same: int) -> SessionComparison:
    return comparison(
        runs([RIGHT] * lost + [WRONG] * gained + [RIGHT] * same),
        runs([WRONG] * lost + [RIGHT] * gained + [RIGHT] * same),
    )


def state(name: str, value: float, compared: SessionComparison | None) -> GateState:
    (verdict,) = evaluate_comparison([GateSpec(name=name, value=value)], compared)
    return verdict.state


def test_a_gate_says_of_how_many_tasks_it_holds() -> None:
    before = [replace(run, task_hash="old") for run in runs([RIGHT] * 12)]
    now = [replace(before[0], task_hash="new", outcome=WRONG), *before[1:11]]

    (verdict,) = evaluate_comparison([GateSpec(name="lost", value=0)], comparison(before, now))

    assert "holds for 10 of 12 tasks; 1 changed, 1 gone (got 0)" == verdict.found


def test_a_gate_that_speaks_of_all_tasks_or_does_not_hold_counts_none() -> None:
    before = [replace(run, task_hash="old") for run in runs([RIGHT] * 12)]
    now = [replace(run, outcome=WRONG) for run in before[:11]]
    spec = [GateSpec(name="lost", value=0)]

    (all_of_them,) = evaluate_comparison(spec, comparison(before, before))
    (fails,) = evaluate_comparison(spec, comparison(before, now))

    assert "holds (got 0)" == all_of_them.found
    assert "does not hold (got 11)" == fails.found


@pytest.mark.parametrize(
    ("name", "value", "compared", "expected"),
    [
        pytest.param("lost", 2, of(2, 0, 98), HOLDS, id="as many lost as may be"),
        pytest.param("lost", 2, of(3, 9, 88), FAILS, id="gained tasks make up for none lost"),
        pytest.param("lost", 0, of(0, 0, 9), HOLDS, id="none lost"),
        pytest.param("drop", 0.1, of(1, 0, 9), HOLDS, id="a drop as large as may be"),
        pytest.param("drop", 0.09, of(1, 0, 9), FAILS, id="a larger drop"),
        pytest.param("drop", 0.3, of(3, 0, 7), HOLDS, id="a drop that no float can spell"),
        pytest.param("drop", 0.0, of(1, 2, 9), HOLDS, id="a rise"),
        pytest.param("p", 0.05, of(5, 0, 95), UNKNOWN, id="five lost"),
        pytest.param("p", 0.05, of(1, 0, 11), UNKNOWN, id="one of twelve lost"),
        pytest.param("p", 0.05, of(1, 4, 95), UNKNOWN, id="one lost, and too few changed"),
        pytest.param("p", 0.05, of(4, 3, 93), HOLDS, id="a loss that chance explains"),
        pytest.param("p", 0.05, of(6, 0, 94), FAILS, id="six lost"),
        pytest.param("p", 0.01, of(6, 0, 94), UNKNOWN, id="a stricter p takes more"),
        pytest.param("p", 0.01, of(6, 2, 92), HOLDS, id="a stricter p"),
        pytest.param("p", 0.05, of(0, 0, 5), HOLDS, id="an identical agent on five tasks"),
        pytest.param("p", 0.05, of(0, 2, 3), HOLDS, id="none lost on five tasks"),
        pytest.param("p", 0.05, of(0, 60, 40), HOLDS, id="a significant gain"),
        pytest.param("p", 0.05, of(5, 0, 0), UNKNOWN, id="five tasks can show nothing"),
        pytest.param("lost", 9, None, UNKNOWN, id="no baseline"),
        pytest.param("lost", 9, comparison([], runs([RIGHT])), UNKNOWN, id="no task in common"),
        pytest.param("drop", 1, comparison([], runs([RIGHT])), UNKNOWN, id="nor a rate"),
    ],
)
def test_a_gate_on_a_comparison(
    name: str, value: float, compared: SessionComparison | None, expected: GateState
) -> None:
    assert expected is state(name, value, compared)


@pytest.mark.parametrize("name", COMPARISON_GATES)
@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param([RIGHT] * 100, [RIGHT] * 80, HOLDS, id="80 % paired"),
        pytest.param([RIGHT] * 100, [RIGHT] * 79, UNKNOWN, id="79 % paired"),
        pytest.param([RIGHT] * 79, [RIGHT] * 100, UNKNOWN, id="too many tasks are added"),
        pytest.param([RIGHT] * 100, [RIGHT] * 95 + [AWAY] * 5, HOLDS, id="5 % unavailable"),
        pytest.param([RIGHT] * 100, [RIGHT] * 94 + [AWAY] * 6, UNKNOWN, id="6 % unavailable"),
        pytest.param([RIGHT] * 100, [RIGHT] * 99 + [NEVER], UNKNOWN, id="one never started"),
        pytest.param([AWAY] * 20 + [RIGHT] * 80, [RIGHT] * 100, HOLDS, id="20 % were unavailable"),
        pytest.param([AWAY] * 21 + [RIGHT] * 79, [RIGHT] * 100, UNKNOWN, id="more than these"),
    ],
)
def test_too_little_to_compare_is_inconclusive(
    name: str, before: list[Outcome], now: list[Outcome], expected: GateState
) -> None:
    assert expected is state(name, 0.05, comparison(runs(before), runs(now)))


@pytest.mark.parametrize("name", COMPARISON_GATES)
def test_sessions_judged_by_other_rules_are_inconclusive_with_a_hint(name: str) -> None:
    same = runs([RIGHT] * 20)

    (verdict,) = evaluate_comparison(
        [GateSpec(name=name, value=0.05)], comparison(same, same, judging="other")
    )

    assert verdict.state is UNKNOWN
    assert "rescore" in verdict.why


def test_more_unavailable_may_be_tolerated() -> None:
    compared = comparison(runs([RIGHT] * 100), runs([RIGHT] * 85 + [AWAY] * 15))
    spec = GateSpec(name="lost", value=0)
    of = {"lab": Summary(runs=100, outcomes={Outcome.CORRECT: 85, Outcome.UNAVAILABLE: 15})}
    tolerant = blockers_of([GateSpec(name="unavailable", value=0.2)], of)

    (verdict,) = evaluate_comparison([spec], compared, tolerant)

    assert verdict.state is HOLDS


def test_a_gate_is_asked_of_every_domain_and_of_all_tasks() -> None:
    compared = comparison(
        [*runs([RIGHT] * 9, "one"), *runs([RIGHT] * 9, "two")],
        [*runs([RIGHT] * 9, "one"), *runs([WRONG, *[RIGHT] * 8], "two")],
    )

    verdicts = evaluate_comparison(
        [GateSpec(name="lost", value=0), GateSpec(name="lost", value=0, domain="one")], compared
    )

    assert [("one", HOLDS), ("two", FAILS), ("all", FAILS), ("one", HOLDS)] == [
        (verdict.where, verdict.state) for verdict in verdicts
    ]


def test_a_domain_that_is_in_neither_session_is_inconclusive() -> None:
    spec = GateSpec(name="lost", value=5, domain="other")

    (verdict,) = evaluate_comparison([spec], of(0, 0, 9))

    assert ("other", UNKNOWN) == (verdict.where, verdict.state)


@pytest.mark.parametrize("name", COMPARISON_GATES)
def test_a_gate_that_does_not_hold_says_what_it_asked_got_and_why(name: str) -> None:
    (verdict,) = evaluate_comparison([GateSpec(name=name, value=0.05)], of(9, 0, 20))

    assert verdict.state is FAILS
    assert "5%" in verdict.asked or "0.05" in verdict.asked
    assert verdict.got
    assert verdict.why


def test_a_rise_is_not_called_a_negative_drop() -> None:
    (verdict,) = evaluate_comparison([GateSpec(name="drop", value=0.02)], of(0, 1, 9))

    assert "a rise of 10%" == verdict.got


def test_a_gate_on_a_summary_is_none_on_a_comparison() -> None:
    """It would go unasked."""
    assert not {*gate_names()} & {*COMPARISON_GATES}
    with pytest.raises(KeyError):
        evaluate_comparison([GateSpec(name="tsr", value=0.5)], of(0, 0, 9))


# A gate rests on a judge only where people's labels have shown that it may.

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


# A budget: what may be spent, as it is written, and when it is spent.

COSTS = st.lists(st.integers(0, 500).map(lambda cents: cents / 100), max_size=30)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], Budget(), id="none"),
        pytest.param(["5usd"], Budget(usd=5), id="dollars"),
        pytest.param(["0.50usd"], Budget(usd=0.5), id="cents"),
        pytest.param([".5usd"], Budget(usd=0.5), id="cents without a nought"),
        pytest.param(["90s"], Budget(seconds=90), id="seconds"),
        pytest.param(["14m"], Budget(seconds=840), id="minutes"),
        pytest.param(["1.5h"], Budget(seconds=5_400), id="hours"),
        pytest.param(["14m", "5usd"], Budget(usd=5, seconds=840), id="both"),
    ],
)
def test_a_budget_is_read(values: Sequence[str], expected: Budget) -> None:
    assert expected == read_budget(values)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        pytest.param(["5"], "5: money such as 5usd", id="no unit"),
        pytest.param(["5min"], "5min: money", id="an unknown unit"),
        pytest.param(["0usd"], "0usd: money", id="nothing"),
        pytest.param(["-5usd"], "-5usd: money", id="less than nothing"),
        pytest.param(["nanusd"], "nanusd: money", id="no number"),
        pytest.param([f"{'9' * 400}s"], "money such as", id="no end"),
        pytest.param([""], "money such as", id="empty"),
        pytest.param(["5usd", "6usd"], "6usd: the money is bounded already", id="money twice"),
        pytest.param(["90s", "14m"], "14m: the time is bounded already", id="time twice"),
    ],
)
def test_what_is_no_budget_is_refused(values: Sequence[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_budget(values)


def test_a_budget_of_nothing_bounds_nothing() -> None:
    spending = Spending(usd=1e6)

    assert not Budget()
    assert not spending.reaches(Budget(), seconds=1e6)


@given(COSTS, st.integers(1, 5_000).map(lambda cents: cents / 100))
def test_money_is_spent_once_the_costs_add_up_to_it(costs: Sequence[float], usd: float) -> None:
    spending = Spending()
    for cost in costs:
        spending.add(Outcome.CORRECT, cost)

    cents = sum(round(100 * cost) for cost in costs)

    assert (cents >= round(100 * usd)) == spending.reaches(Budget(usd=usd), seconds=0)


def test_time_is_spent_when_it_is_over() -> None:
    assert not reaches_time(Budget(seconds=90), 89.9)
    assert reaches_time(Budget(seconds=90), 90.0)
    assert not reaches_time(Budget(usd=1), 1e6)


def test_an_agent_that_returns_without_a_cost_tells_none() -> None:
    spending = Spending()

    spending.add(Outcome.WRONG, None)

    assert spending.unpriced_first
    assert 1 == spending.unpriced


def test_nothing_more_starts_where_nobody_can_say_what_is_spent() -> None:
    spending = Spending(unpriced_first=True)

    assert spending.reaches_money(Budget(usd=5))
    assert not spending.reaches_money(Budget(seconds=5))


def test_a_run_that_was_cut_short_need_not_tell_its_cost() -> None:
    spending = Spending()

    for outcome in (Outcome.ERROR, Outcome.TIMEOUT, Outcome.UNAVAILABLE, Outcome.CRASH):
        spending.add(outcome, None)

    assert not spending.unpriced_first
    assert 4 == spending.unpriced


def test_one_cost_shows_that_the_agent_tells_them() -> None:
    spending = Spending()

    spending.add(Outcome.CORRECT, 0.0)
    spending.add(Outcome.CORRECT, None)

    assert not spending.unpriced_first
    assert (1, 1) == (spending.runs, spending.unpriced)


# What a saved session says of its judge is read back as it was, and a doubt is never lost.

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


def test_a_report_is_told_whole() -> None:
    told = judge_report_to_json(REPORT)

    assert [3, 1, 4, 2] == [told[name] for name in ("asked", "failed", "kept", "repeated")]
    assert told["fields"] == [asdict(one) for one in REPORT.fields]
    assert REPORT == with_doubts(REPORT, {})


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
    assert with_doubts(None, {}) is None
    assert [] == list(report_lines(None))


@pytest.mark.parametrize(
    "told",
    [
        None,
        JudgeReport(),
        JudgeReport(fields=(JudgedField(domain="claims", field="reason", kappa=0.9),)),
    ],
)
def test_a_doubt_is_never_lost(told: JudgeReport | None) -> None:
    report = with_doubts(told, {"claims": {"reason": "no calibration"}})

    assert report is not None
    assert ["no calibration"] == [one.doubt for one in report.fields]
    assert (0, 0) == (report.asked, report.kept)


def test_the_judges_of_shards_are_one_judge() -> None:
    doubted = with_doubts(None, {"claims": {"reason": "no calibration"}})
    assert doubted is not None

    whole = together([REPORT, doubted, REPORT])

    assert (6, 2, 8, 4) == (whole.asked, whole.failed, whole.kept, whole.repeated)
    assert (2000, 1.0) == (whole.usage.input_tokens, whole.usage.cost_usd)
    assert ["no calibration", UNCALIBRATED] == [one.doubt for one in whole.fields]
