"""A session on one page of Markdown: the verdict first, and nothing that breaks the page."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord, SessionPage
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._reports.markdown import escaped, markdown, table
from tests.builders.runs import timed_run as run


def gate(state: GateState, **more: Any) -> GateVerdict:
    return GateVerdict(**{"asked": "TSR >= 90%", "got": "50%", "state": state, **more})


def page_of(*records: RunRecord, **more: Any) -> str:
    summaries = {
        name: summary_of(one for one in records if one.domain == name)
        for name in dict.fromkeys(one.domain for one in records)
    }
    return markdown(SessionPage(agent="a:b", records=records, summaries=summaries, **more))


def lines_under(title: str, page: str) -> list[str]:
    return page.split(f"## {title}")[1].split("\n## ", maxsplit=1)[0].strip().splitlines()


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        pytest.param([GateState.HOLDS], "The gate holds", id="holds"),
        pytest.param([GateState.HOLDS] * 2, "All gates hold", id="all hold"),
        pytest.param([GateState.FAILS], "The gate does not hold", id="does not"),
        pytest.param(
            [GateState.HOLDS, GateState.INCONCLUSIVE, GateState.FAILS],
            "A gate does not hold",
            id="one does not",
        ),
        pytest.param([GateState.HOLDS, GateState.INCONCLUSIVE], "Inconclusive", id="unknown"),
        pytest.param([], "1 of 2 runs is not correct, and no gate was checked", id="none"),
    ],
)
def test_the_verdict_stands_first(states: list[GateState], verdict: str) -> None:
    page = page_of(run("T1"), run("T2", Outcome.WRONG), gates=[gate(one) for one in states])

    assert [
        "# SOP: lab, agent a:b",
        "",
        f"**{verdict}**: TSR 50.0%, 1 of 2 runs correct",
    ] == page.splitlines()[:3]


def test_without_a_gate_runs_that_never_started_stand_first() -> None:
    page = page_of(run("T1"), run("T2", Outcome.NOT_RUN), run("T3", Outcome.NOT_RUN))

    assert (
        "**2 of 3 runs are not correct, 2 of them never started, and no gate was checked**: "
        "TSR 33.3%, 1 of 3 runs correct"
    ) == page.splitlines()[2]


def test_each_gate_has_its_line() -> None:
    page = page_of(run("T1"), gates=[gate(GateState.FAILS, where="lab", why="1 of 2")])

    assert "- lab: TSR >= 90% does not hold (got 50%): 1 of 2" in page.splitlines()


def test_a_gate_that_was_not_evaluated_is_told() -> None:
    page = page_of(run("T1"), not_evaluated="-k took 3 tasks away")

    assert "**No gate was evaluated**" in page
    assert "- not evaluated: -k took 3 tasks away" in page


def test_misses_are_cut_at_twenty() -> None:
    page = page_of(*(run(f"T{number}", Outcome.ERROR, reason="why") for number in range(23)))

    rows = lines_under("Not correct: 23", page)
    assert 20 == sum(row.startswith("| lab/T") for row in rows)
    assert "| lab/T0 | error: why |" in rows
    assert "and 3 more; the saved session holds all of them" == rows[-1]


def test_runs_that_never_started_are_counted_and_not_listed() -> None:
    page = page_of(run("T1"), run("T2", Outcome.NOT_RUN))

    assert "| not_run | 1 |" in page
    assert "Not correct" not in page


def test_several_domains_have_a_row_each_and_a_pooled_one() -> None:
    page = page_of(run("T1"), run("C1", Outcome.WRONG, domain="claims"))

    rates = page.split("\n\n")[2].splitlines()[2:]
    assert [
        ["| lab", "1 of 1", "100.0%"],
        ["| claims", "0 of 1", "0.0%"],
        ["| pooled", "1 of 2", "50.0%"],
    ] == [line.split(" | ")[:3] for line in rates]


def test_broken_rules_are_counted() -> None:
    broken = RuleResult(
        id="no|wire",
        clause="4.2",
        severity=Severity.MUST,
        kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN,
        why="",
        applies=True,
    )

    page = page_of(run("T1", rules=(broken,)))

    assert "| no&#124;wire | 4.2 | must | 1 of 1 |" in lines_under("Broken rules", page)


def test_the_slowest_runs_come_first() -> None:
    calls = (CallRecord(name="look", arguments={}),)
    page = page_of(*(run(f"T{n}", duration_s=float(n), calls=calls) for n in range(1, 8)))

    rows = [row for row in lines_under("Slowest", page) if row.startswith("| lab")]
    assert [f"| lab/T{n} | {n}.0 s | 1 |" for n in (7, 6, 5, 4, 3)] == rows


def test_a_cost_that_is_unknown_is_not_zero() -> None:
    assert "- cost: n/a" in page_of(run("T1")).splitlines()
    known = page_of(run("T1", usage=Usage(cost_usd=0.5)), run("T2"))
    assert "- cost: $0.50, $0.50 in 1 run, n/a per correct run" in known.splitlines()


def test_facts_that_are_unknown_are_left_out() -> None:
    page = page_of(run("T1"), facts={"commit": "", "started": "today"})

    assert "started today" == page.splitlines()[-1]


def test_tasks_that_may_fail_are_apart() -> None:
    records = [run("T1"), run("T2", Outcome.WRONG), run("T3", Outcome.WRONG)]

    page = page_of(*records, forgiven=Forgiven(answers=frozenset({TaskName("lab", "T2")})))

    assert (
        "**1 of 2 runs is not correct, and no gate was checked**: TSR 33.3%, 1 of 3 runs correct; "
        "without answers that may be wrong 50.0%, 1 of 2"
    ) in page
    assert "| lab/T3 " in lines_under("Not correct: 1", page)[-1]
    assert "| lab/T2 " in lines_under("Not correct, and may fail: 1", page)[-1]


def test_tasks_that_may_fail_and_were_not_run_say_nothing() -> None:
    page = page_of(run("T1"), forgiven=Forgiven(answers=frozenset({TaskName("lab", "T2")})))

    assert "may fail" not in page


@given(st.text())
@example("<=")
def test_no_text_breaks_a_table(text: str) -> None:
    page = page_of(run(text, Outcome.ERROR, reason=text))

    (row,) = [line for line in lines_under("Not correct: 1", page) if line.startswith("| lab/")]
    assert 3 == row.count("|")
    assert "`" not in row
    # No tag begins with one of these, and they are left as they are.
    assert "<" not in row.replace("<=", "").replace("< ", "")


def tried(*right: int) -> list[RunRecord]:
    """Four tasks a number of `right`, of whose two trials so many are right."""
    return [
        run(f"T{task}", Outcome.CORRECT if trial <= correct else Outcome.WRONG, trial=trial)
        for task, correct in enumerate(right * 4)
        for trial in (1, 2)
    ]


def test_with_one_trial_the_page_says_nothing_of_trials() -> None:
    assert "## Trials" not in page_of(run("T1"), run("T2"))


def test_pass_any_and_pass_all_stand_on_the_page_with_the_tasks_that_disagree() -> None:
    found = lines_under("Trials", page_of(*tried(2, 1, 0)))

    row = next(line for line in found if line.startswith("| lab |"))
    assert ["lab", "2", "66.7%", "33.3%"] == [
        cell.strip() for cell in row.strip("|").split("|") if "[" not in cell
    ]
    assert 4 == sum(line.endswith("| 1 of 2 |") for line in found)


def test_the_interval_of_trials_is_one_over_tasks() -> None:
    page = page_of(*tried(2, 0))

    # Sixteen runs as if independent would give [28.0, 72.0].
    row = next(line for line in page.splitlines() if line.startswith("| lab | 8 of 16 |"))
    low, high = row.split("[")[1].split("]")[0].split(", ")
    assert float(high) - float(low) > 50


# Text as Markdown shows it, and tables of it.

SIGNS = set("\\`*[]|~@")
TAG = re.compile(r"<(?![= ])")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("lab/T_01", "lab/T_01", id="nothing to escape"),
        pytest.param("a|b", "a&#124;b", id="the wall of a cell"),
        pytest.param("**bold**", "&#42;&#42;bold&#42;&#42;", id="bold"),
        pytest.param("<img>", "&#60;img>", id="a tag"),
        pytest.param("p <= 0.05, p < 1", "p <= 0.05, p < 1", id="a bound"),
        pytest.param("<", "&#60;", id="what may become a tag by what follows"),
        pytest.param("_a_", "&#95;a&#95;", id="underlines around a word"),
        pytest.param("snake_case", "snake_case", id="an underline inside a word"),
        pytest.param("a\nb", "a b", id="two lines"),
        pytest.param("@team #7", "&#64;team &#35;7", id="whom a site would call, and an issue"),
        pytest.param("http://a.example", "http&#8288;://a.example", id="an address"),
        pytest.param("www.a.example", "www&#8288;.a.example", id="an address without a scheme"),
        pytest.param("&lt;", "&#38;lt;", id="an entity"),
    ],
)
def test_what_markdown_would_take_for_more_than_text(text: str, shown: str) -> None:
    assert shown == escaped(text)


@given(st.text(max_size=60))
def test_no_sign_is_left_and_no_line_ends(text: str) -> None:
    assert SIGNS.isdisjoint(escaped(text))
    assert TAG.search(escaped(text)) is None
    assert "\n" not in escaped(text)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_a_reader_sees_what_was_there(text: str) -> None:
    """But for a joiner that has no width."""
    assert text == html.unescape(escaped(text)).replace("\u2060", "")


def test_a_table_has_text_on_the_left_and_numbers_on_the_right() -> None:
    assert [
        "| domain | lost | p |",
        "| --- | ---: | ---: |",
        "| lab | 2 | 0.5 |",
    ] == list(table(("domain", "lost", "p"), [("lab", "2", "0.5")]))


def test_a_table_without_rows_keeps_its_head() -> None:
    assert 2 == len(list(table(("a", "b"), [])))
