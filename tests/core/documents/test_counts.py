"""Tiers, paths and classes, counted over runs and added over domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_sopbench import Outcome, RunRecord, Summary
from pytest_sopbench._core.gates.conditions import GateSpec, GateState, evaluate
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import summary_to_json, total_of
from pytest_sopbench._core.records.record import DocumentRecord, from_line, to_line
from pytest_sopbench._reports.markdown import documents_block
from pytest_sopbench._reports.terminal.summary import domain_lines, total_lines
from tests.builders import runs
from tests.builders.runs import differing

PATHS = ("step", "charge", "stay.room")


def run(task: str, outcome: Outcome, wrong: Sequence[str] = (), kind: str = "") -> RunRecord:
    return runs.run(
        task,
        outcome,
        domain="desk",
        expected={"step": "1", "charge": 2, "stay": {"room": "a"}},
        mismatches=differing(wrong, expected="1", actual="2"),
        document=DocumentRecord(
            paths=PATHS, labelled=("step",), label=f"document {task}", domain_class=kind
        ),
    )


def desk(kind: str = "") -> Summary:
    return summary_of(
        [
            run("a", Outcome.CORRECT, kind=kind),
            run("b", Outcome.WRONG, ["step"], kind),
            run("c", Outcome.WRONG, ["step", "stay"], kind),
            run("d", Outcome.NO_ANSWER, kind=kind),
            run("e", Outcome.CRASH, kind=kind),
        ]
    )


def test_a_match_counts_one_and_a_mismatch_a_fifth() -> None:
    counts = desk().documents

    assert (5, 1, 2, 2) == (counts.runs, counts.matches, counts.mismatches, counts.invalid)
    assert pytest.approx((1 + 0.2 * 2) / 5) == counts.tier_score


def test_a_run_without_an_answer_has_every_path_wrong() -> None:
    counts = desk().documents

    right = {"step": 1, "charge": 3, "stay.room": 2}
    assert {path: (right.get(path, 0), 5) for path in PATHS} == {
        path: (one.right, one.runs) for path, one in counts.paths.items()
    }
    assert ("step", "stay.room", "charge") == tuple(name for name, _, _ in counts.worst(5))


def test_a_path_that_no_task_expects_is_counted_where_it_is_given() -> None:
    counts = summary_of([run("a", Outcome.WRONG, ["note"])]).documents

    assert (("note", 0, 1),) == counts.worst(5)


def test_counts_of_a_document_stand_in_json_and_add() -> None:
    summary = desk("deep")

    told = summary_to_json(summary)["documents"]

    assert ("deep", 5) == (told["class"], told["paths"]["step"]["of"])
    assert 10 == (summary + summary).documents.paths["step"].runs
    assert "deep" == (summary + summary).documents.domain_class


def test_chance_is_that_of_the_most_frequent_document() -> None:
    same = replace(run("b", Outcome.WRONG), document=run("a", Outcome.WRONG).document)

    summary = summary_of([run("a", Outcome.CORRECT), same, run("c", Outcome.WRONG)])

    assert 2 / 3 == summary.chance


def test_the_line_of_a_run_keeps_what_is_counted() -> None:
    record = run("a", Outcome.WRONG, ["step"], "deep")

    assert record == from_line(to_line(record))


def test_a_line_of_another_domain_says_nothing_of_documents() -> None:
    record = RunRecord(domain="d", task="t", outcome=Outcome.CORRECT)

    assert '"document"' not in to_line(record)
    assert record == from_line(to_line(record))


@pytest.mark.parametrize(
    ("bound", "state"), [(0.28, GateState.HOLDS), (0.29, GateState.FAILS)], ids=["holds", "fails"]
)
def test_a_gate_asks_for_the_tier_score(bound: float, state: GateState) -> None:
    (verdict,) = evaluate(
        [GateSpec(name="tier_score", value=bound, domain="desk")], {"desk": desk()}
    )

    assert state is verdict.state
    assert "28%" == verdict.got
    assert ("" if state is GateState.HOLDS else "1.4 of 5") == verdict.why


def test_a_gate_on_tiers_of_a_domain_with_tools_is_inconclusive() -> None:
    tools = summary_of([RunRecord(domain="t", task="t", outcome=Outcome.CORRECT)])

    (verdict,) = evaluate([GateSpec(name="tier_score", value=0.1, domain="t")], {"t": tools})

    assert GateState.INCONCLUSIVE is verdict.state


def test_classes_have_their_means_and_their_pooled_runs() -> None:
    large = summary_of([run(f"{n}", Outcome.CORRECT, kind="deep") for n in range(15)])

    total = total_of({"one": desk("deep"), "two": large, "three": desk("wide")})

    deep = total.classes["deep"]
    assert ["deep", "wide"] == [*total.classes]
    assert (2, 20, pytest.approx(0.64)) == (
        deep.domains,
        deep.pooled.runs,
        deep.means["tier_score"],
    )
    assert pytest.approx(16.4 / 20) == deep.pooled.documents.tier_score


def test_the_summary_shows_the_tiers_and_the_worst_paths() -> None:
    lines = list(domain_lines("desk", "a", desk()))

    assert "tier   28.0% score, 1 match, 2 mismatch, 2 invalid" in lines
    assert "paths  step 1 of 5 right, stay.room 2 of 5, charge 3 of 5" in lines


def test_the_total_shows_each_class() -> None:
    text = " ".join(
        " ".join(total_lines("a", total_of({"one": desk("deep"), "x": desk()}))).split()
    )

    assert "class deep: mean TSR 20.0%, tier 28.0% (1 domain);" in text
    assert "pooled TSR 20.0%, tier 28.0% (1 of 5 runs)" in text


def test_the_page_has_a_table_of_tiers_and_one_of_classes() -> None:
    page = "\n".join(documents_block({"desk": desk("deep")}))

    assert (
        "| desk | 28.0% | 1 | 2 | 2 | step 1 of 5 right, stay.room 2 of 5, charge 3 of 5 |" in page
    )
    assert "| deep | 1 | 20.0% | 28.0% | 5 | 20.0% | 28.0% |" in page


def test_only_paths_of_few_values_have_a_table_and_stand_in_the_breakdown() -> None:
    summary = desk()

    assert {"step": {("1", "1"): 1, ("1", "2"): 2}} == summary.answers
    assert {"1"} == {*summary.by_class}
    assert {"step", "stay"} == {*summary.mismatched}
