"""Rates per field, the mean share of right fields, and gates on them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord, Summary
from pytest_sopbench._core.gates.conditions import (
    GateSpec,
    GateState,
    evaluate,
    gate_text,
    read_gate,
)
from pytest_sopbench._core.metrics.counts import FieldCounts
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import summary_to_json, total_of
from pytest_sopbench._core.records.record import from_line, to_line
from tests.builders import runs
from tests.builders.runs import differing

FIELDS = ("refund", "reason", "letter")


def run(task: str, outcome: Outcome, *wrong: str, fields: tuple[str, ...] = FIELDS) -> RunRecord:
    expected = dict.fromkeys(fields, "x")
    return runs.run(task, outcome, domain="claims", expected=expected, mismatches=differing(wrong))


RUNS = (
    run("1", Outcome.CORRECT),
    run("2", Outcome.WRONG, "reason"),
    run("3", Outcome.WRONG, "reason", "letter"),
    run("4", Outcome.NO_ANSWER),
    run("5", Outcome.TIMEOUT),
)
SUMMARY = summary_of(RUNS)


def test_each_field_is_counted_over_all_planned_runs() -> None:
    assert {
        "refund": FieldCounts(runs=5, right=3),
        "reason": FieldCounts(runs=5, right=1),
        "letter": FieldCounts(runs=5, right=2),
    } == SUMMARY.by_field
    assert [*FIELDS] == [*SUMMARY.by_field]


def test_the_share_of_right_fields_stands_beside_tsr() -> None:
    assert pytest.approx(6 / 15) == METRICS["fields"].rate(SUMMARY)
    assert 0.2 == SUMMARY.tsr
    assert METRICS["fields"].rate(Summary()) is None


def test_a_field_that_is_ignored_counts_for_nothing() -> None:
    record = RunRecord(
        domain="d",
        task="1",
        outcome=Outcome.CORRECT,
        expected={"a": 1, "note": 2},
        ignored=("note",),
    )

    summary = summary_of([from_line(to_line(record))])

    assert {"a": FieldCounts(runs=1, right=1)} == summary.by_field


@given(
    st.lists(
        st.tuples(
            st.sampled_from([Outcome.CORRECT, Outcome.WRONG, Outcome.ERROR]), st.integers(1, 4)
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_the_mean_share_is_that_of_single_runs_however_they_are_added(
    kinds: list[tuple[Outcome, int]], cut: int
) -> None:
    records = [
        run(str(place), outcome, *(["f0"] if outcome is Outcome.WRONG else []), fields=names)
        for place, (outcome, number) in enumerate(kinds)
        for names in [tuple(f"f{n}" for n in range(number))]
    ]
    shares = [
        Fraction(0)
        if outcome is Outcome.ERROR
        else Fraction(number - (outcome is Outcome.WRONG), number)
        for outcome, number in kinds
    ]

    summary = summary_of(records[:cut]) + summary_of(records[cut:])

    part, whole = METRICS["fields"].counts(summary)
    assert sum(shares, Fraction(0)) / len(shares) == Fraction(part, whole)
    assert summary_of(records).by_field == summary.by_field


def test_counts_are_kept_in_a_saved_session() -> None:
    line = json.loads(json.dumps(summary_to_json(SUMMARY)))

    assert {"runs": 5, "right": 1} == line["by_field"]["reason"]
    assert pytest.approx(0.4) == line["fields"]


def test_fields_of_two_domains_are_not_added_up() -> None:
    total = total_of({"claims": SUMMARY, "lab": summary_of(RUNS[:1])})

    assert {} == total.pooled.by_field
    assert pytest.approx((0.4 + 1) / 2) == total.means["fields"]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("field:refund=0.9", GateSpec(name="field:refund", value=0.9)),
        ("field:*=90%", GateSpec(name="field:*", value=0.9)),
        ("claims:field:a b=1", GateSpec(name="field:a b", value=1.0, domain="claims")),
        ("claims:field:a:b=1@x", GateSpec(name="field:a:b", value=1.0, domain="claims", agent="x")),
        ("field:tsr=0.9", GateSpec(name="tsr", value=0.9, domain="field")),
        ("fields=0.9", GateSpec(name="fields", value=0.9)),
    ],
)
def test_a_gate_on_a_field_is_read_and_read_back(text: str, spec: GateSpec) -> None:
    assert spec == read_gate(text)
    assert spec == read_gate(gate_text(spec))


@pytest.mark.parametrize("text", ["field:=0.9", "field:a", "field:a=2", "claims:field:=1"])
def test_a_gate_without_a_field_or_a_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"NAME being one of .*field:FIELD|a rate from 0 to 1"):
        read_gate(text)


def verdicts(*gates: str, **summaries: Summary) -> list[tuple[str, str, GateState]]:
    found = evaluate([read_gate(one) for one in gates], summaries)
    return [(one.where, one.asked, one.state) for one in found]


ANSWERED = summary_of(RUNS[:3])


def test_a_gate_asks_a_field() -> None:
    assert [
        ("", "field refund >= 90%", GateState.HOLDS),
        ("", "field reason >= 50%", GateState.FAILS),
        ("", "right fields >= 66%", GateState.HOLDS),
    ] == verdicts("field:refund=0.9", "field:reason=0.5", "fields=0.66", claims=ANSWERED)


def test_a_gate_on_every_field_asks_each() -> None:
    assert [
        ("", "field refund >= 60%", GateState.HOLDS),
        ("", "field reason >= 60%", GateState.FAILS),
        ("", "field letter >= 60%", GateState.HOLDS),
    ] == verdicts("field:*=0.6", claims=ANSWERED)


def test_a_field_is_asked_of_the_domains_that_have_it() -> None:
    other = summary_of([run("1", Outcome.CORRECT, fields=("grade",))])

    assert [("lab", "field grade >= 100%", GateState.HOLDS)] == verdicts(
        "field:grade=1", claims=ANSWERED, lab=other
    )
    assert [("claims", "field grade >= 100%", GateState.INCONCLUSIVE)] == verdicts(
        "claims:field:grade=1", claims=ANSWERED, lab=other
    )


def test_a_field_that_nobody_has_is_no_pass() -> None:
    (verdict,) = evaluate([read_gate("field:refnd=0")], {"claims": ANSWERED})

    assert GateState.INCONCLUSIVE is verdict.state
    assert "no output field has this name (fields: refund, reason, letter)" == verdict.why


def test_too_many_unjudged_runs_leave_the_gate_open() -> None:
    away = replace(SUMMARY, outcomes={**SUMMARY.outcomes, Outcome.UNAVAILABLE: 1})

    assert [("", "field refund >= 10%", GateState.INCONCLUSIVE)] == verdicts(
        "field:refund=0.1", claims=away
    )
