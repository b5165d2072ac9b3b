"""The summary block: the one of the interface, and what may happen to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, Summary
from pytest_sopbench._core.contract import Severity
from pytest_sopbench._core.metrics.counts import (
    Amount,
    Confusion,
    DisputedCounts,
    RuleTally,
    RunCounts,
    ToolCounts,
)
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._reports.notices import Progress, progress_line
from pytest_sopbench._reports.terminal.summary import (
    confusion_lines,
    disagreement_lines,
    domain_lines,
    expected_lines,
    table_lines,
    tool_lines,
    total_lines,
    trial_lines,
)
from tests.builders.pages import DOCS, blocks

SUMMARY = Summary(
    runs=274,
    tasks=274,
    outcomes={
        Outcome.CORRECT: 258,
        Outcome.WRONG: 12,
        Outcome.ERROR: 3,
        Outcome.TIMEOUT: 1,
    },
    tools={"look_up": ToolCounts(calls=1096, bad=10)},
    by_expected={"A": RunCounts(runs=91), "B": RunCounts(runs=183 - 91), "C": RunCounts(runs=91)},
    mismatched={"hazard_class": 12},
    wrong_pairs={
        "hazard_class": {
            ("Hazard Class C", "Hazard Class B"): 7,
            ("Hazard Class D", "Hazard Class C"): 5,
        }
    },
    durations=(1.0,) * 274,
)


def block(summary: Summary, verbosity: int = 0, **more: Scoring) -> list[str]:
    lines = list(
        domain_lines("dangerous_goods", "mypkg:agent", summary, verbosity=verbosity, **more)
    )
    assert all(len(line) <= 80 for line in lines)
    assert all(line == line.rstrip() for line in lines)
    return lines


def starting(lines: list[str], start: str) -> Iterator[str]:
    return (line for line in lines if line.startswith(start))


def test_the_block_of_the_interface() -> None:
    assert block(SUMMARY) == [
        "==================== SOP: dangerous_goods, agent mypkg:agent ===================",
        "TSR    94.2% correct, 258 of 274   [90.7, 96.4]",
        "ECR    98.5% answered, 270 of 274  [96.3, 99.4]    1 timeout, 3 error",
        "wrong  12: Hazard Class C -> B (7x), D -> C (5x)",
        "a run  median 1.0 s",
    ]


def test_a_closer_look_has_what_most_readers_can_do_without() -> None:
    assert block(SUMMARY, 1)[1:5] == [
        "TSR    94.2% correct, 258 of 274   [90.7, 96.4]    chance 33.6%",
        "ECR    98.5% answered, 270 of 274  [96.3, 99.4]    1 timeout, 3 error",
        "C-TSR  95.6% correct of those that answered, 258 of 270",
        "calls  1096 calls, 1086 of them well-formed   tool accuracy 99.1%",
    ]


def test_a_quiet_block_is_one_line() -> None:
    assert block(SUMMARY, -1) == [
        "dangerous_goods: TSR 94.2% [90.7, 96.4] 258 of 274, 12 wrong, 4 not answered"
    ]


def test_a_long_name_does_not_push_numbers_out_of_a_quiet_line() -> None:
    (line,) = domain_lines("domain" * 20, "a", SUMMARY, verbosity=-2)

    assert len(line) == 80
    assert line.endswith("...: TSR 94.2% 258 of 274, 12 wrong, 4 not answered")


def test_nothing_to_divide_is_not_available() -> None:
    assert block(EMPTY)[1:] == [
        "TSR      n/a correct, 0 of 0",
        "ECR      n/a answered, 0 of 0",
    ]
    assert block(EMPTY, 1)[1:] == [
        "TSR      n/a correct, 0 of 0                       chance n/a",
        "ECR      n/a answered, 0 of 0",
        "C-TSR    n/a correct of those that answered, 0 of 0",
        "a run  median n/a, p95 n/a   tool calls n/a   model calls n/a",
        "       tokens in n/a, out n/a   cost n/a",
    ]
    assert block(EMPTY, -1) == ["dangerous_goods: TSR n/a 0 of 0, 0 wrong, 0 not answered"]


def test_many_kinds_of_ending_stand_below() -> None:
    everything = replace(SUMMARY, runs=9_999, outcomes=dict.fromkeys(Outcome, 1_111))

    lines = block(everything)

    assert lines[2] == "ECR      n/a (1111 of 9999 unavailable); answered, 2222 of 9999"
    assert [line.strip() for line in lines[3:5]] == [
        "1111 not_run, 1111 crash, 1111 call_limit, 1111 timeout,",
        "1111 unavailable, 1111 error, 1111 no_answer",
    ]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        pytest.param(274, ["calls  no tool was called"], id="by any run"),
        pytest.param(200, ["calls  no tool was called in 200 of 274 runs"], id="that was seen"),
        pytest.param(0, [], id="nobody knows"),
    ],
)
def test_zero_calls_are_said_aloud(seen: int, said: list[str]) -> None:
    silent = replace(SUMMARY, tools={}, without_calls=seen, durations=(1.0,) * seen)

    assert said == list(starting(block(silent), "calls"))


@pytest.mark.parametrize(
    ("bad", "failed", "said"),
    [
        pytest.param(0, 0, "80 calls, all well-formed", id="all well"),
        pytest.param(
            0, 14, "80 calls, all well-formed; 14 answered with an error", id="failures of tools"
        ),
        pytest.param(
            2,
            1,
            "80 calls, 78 of them well-formed; 1 of these answered with an error",
            id="bad calls beside them",
        ),
    ],
)
def test_failures_of_tools_do_not_read_as_bad_calls(bad: int, failed: int, said: str) -> None:
    tools = {"look_up": ToolCounts(calls=80, bad=bad, failed=failed)}

    (line,) = starting(block(replace(SUMMARY, tools=tools), 1), "calls")

    assert line.startswith(f"calls  {said}")


def test_runs_without_calls_are_said_beside_the_others() -> None:
    lines = block(replace(SUMMARY, without_calls=2), 1)

    assert lines[4:6] == [
        "calls  1096 calls, 1086 of them well-formed   tool accuracy 99.1%",
        "       no call in 2 runs",
    ]


def test_undisputed_rows_stand_below_all_rows() -> None:
    disputed = DisputedCounts(
        counts=RunCounts(runs=39, completed=39, correct=26),
        reasons={"the row breaks step 4 of the SOP": 38, "another": 1},
    )

    lines = block(replace(SUMMARY, disputed=disputed))

    assert lines[1:5] == [
        "TSR    94.2% correct, 258 of 274     [90.7, 96.4]",
        "       98.7% undisputed, 232 of 235  [96.3, 99.6]",
        "       39 left out: the row breaks step 4 of the SOP (and 1 other reason)",
        "ECR    98.5% answered, 270 of 274    [96.3, 99.4]    1 timeout, 3 error",
    ]


def test_a_long_reason_is_wrapped() -> None:
    disputed = DisputedCounts(counts=RunCounts(runs=1), reasons={"because " * 40: 1})

    lines = block(replace(SUMMARY, disputed=disputed))

    assert lines[3].startswith("       1 left out: because because")
    assert lines[4].startswith("       because")


def test_the_alarm_names_what_collapsed() -> None:
    pairs = {("A", "A"): 20, ("B", "A"): 20, ("C", "A"): 20}

    collapsed = Summary(runs=60, tasks=60, answers={"class": pairs})

    never = "alarm  never given: B (20 expect it), C (20 expect it)"
    favoured = "alarm  A: 100.0% of the answers, 33.3% of the tasks"
    assert [favoured, never] == list(starting(block(collapsed), "alarm"))
    assert [f"{favoured} (z = 6.3)", never] == list(starting(block(collapsed, 1), "alarm"))


def test_the_alarm_names_an_answer_that_nothing_expects() -> None:
    pairs = {("A", "A"): 10, ("A", "?"): 10, ("B", "B"): 10, ("B", "?"): 10}

    lines = block(Summary(runs=40, tasks=40, answers={"class": pairs}))

    assert list(starting(lines, "alarm")) == ["alarm  ?: 50.0% of the answers, 0.0% of the tasks"]


def test_the_alarm_names_the_field_where_there_are_several() -> None:
    one = {("A", "A"): 20, ("B", "B"): 20}
    other = {("A", "A"): 35, ("B", "A"): 5}

    lines = block(Summary(runs=40, tasks=40, answers={"class": one, "size": other}))

    assert list(starting(lines, "alarm")) == ["alarm  size: never given: B (5 expect it)"]


def test_published_scoring_is_said_on_the_first_line() -> None:
    lines = block(replace(SUMMARY, only_published=3), scoring=Scoring.PUBLISHED)

    assert "published scoring" in lines[0]
    assert "note   3 runs are correct by the published scorer's rules only" in lines
    assert block(SUMMARY, -1, scoring=Scoring.PUBLISHED) == [
        "dangerous_goods (published): TSR 94.2% 258 of 274, 12 wrong, 4 not returned"
    ]


def test_reruns_are_said() -> None:
    lines = block(replace(SUMMARY, reruns=1))

    assert "note   1 run was repeated; the first verdict counts" in lines


def test_wrong_runs_without_a_mismatch_are_only_counted() -> None:
    (line,) = starting(block(replace(SUMMARY, mismatched={}, wrong_pairs={})), "wrong")

    assert line == "wrong  12"


def test_verbose_blocks_say_what_a_run_took() -> None:
    usage = {
        "input_tokens": Amount(total=5_321 * 274, known=274),
        "cost_usd": Amount(total=3.0, known=200),
    }

    lines = block(replace(SUMMARY, usage=usage), 1)

    place = next(number for number, line in enumerate(lines) if line.startswith("a run"))
    assert lines[place : place + 3] == [
        "a run  median 1.0 s, p95 1.0 s   tool calls 4   model calls n/a",
        "       tokens in 5.3k, out n/a",
        "       cost $0.015 ($3.00 in 200 runs), n/a per correct run (74 unknown)",
    ]
    assert "by expected answer    runs  completed  correct     TSR" in lines


def test_verbose_blocks_say_what_of_the_tokens_was_cached_or_reasoning() -> None:
    tokens = {"input_tokens": 100, "cached_tokens": 40, "output_tokens": 20, "reasoning_tokens": 5}
    usage = {name: Amount(total=one * 274, known=274) for name, one in tokens.items()}

    lines = block(replace(SUMMARY, usage=usage), 1)

    assert any("tokens in 100 (cached 40), out 20 (reasoning 5)" in line for line in lines)


def test_a_cost_has_that_of_a_correct_run_beside_it() -> None:
    runs = SUMMARY.runs
    usage = {"cost_usd": Amount(total=SUMMARY.correct * 0.5, known=runs)}

    lines = block(replace(SUMMARY, usage=usage))

    assert any(line.endswith("$0.50 per correct run") for line in lines)


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        pytest.param({}, "a run  median 1.0 s", id="nothing was told"),
        pytest.param(
            {"input_tokens": Amount(total=5_321 * 274, known=274), "output_tokens": Amount()},
            "a run  median 1.0 s   tokens in 5.3k",
            id="by all runs",
        ),
        pytest.param(
            {"output_tokens": Amount(total=34 * 9, known=9), "cost_usd": Amount(total=3, known=9)},
            "a run  median 1.0 s   tokens out 34 (of 9 runs)",
            id="by some runs",
        ),
    ],
)
def test_a_block_says_what_is_known_of_a_run(usage: dict[str, Amount], said: str) -> None:
    (line,) = starting(block(replace(SUMMARY, usage=usage)), "a run")

    assert said == line


def test_a_quiet_block_names_the_rules_that_must_hold_and_do_not() -> None:
    tallies = (
        RuleTally(id="first", clause="4.2", severity=Severity.MUST, exercised=274, held=271),
        RuleTally(id="once", severity=Severity.MUST, exercised=9, held=9),
        RuleTally(id="letter", exercised=9, held=1),
    )

    lines = block(replace(SUMMARY, rules=tallies), -1)

    assert ["       first (4.2, must) broken in 3 of 274"] == lines[1:]


def test_an_agent_cannot_write_into_the_terminal_by_its_name() -> None:
    lines = list(domain_lines("d\x1b[2J", "a\nb", SUMMARY))

    assert all(line.isprintable() for line in lines)


def test_the_total_gives_the_mean_and_the_pool() -> None:
    other = Summary(
        runs=26, tasks=26, outcomes={Outcome.CRASH: 26}, by_expected={"X": RunCounts(runs=26)}
    )

    lines = list(total_lines("mypkg:agent", total_of({"one": SUMMARY, "other": other})))

    assert lines == [
        "============== SOP: 2 domains, agent mypkg:agent: mean, and pooled =============",
        "mean   TSR 47.1%   ECR 49.3%",
        "TSR    86.0% correct, 258 of 300   [81.6, 89.5]",
        "ECR    90.0% answered, 270 of 300  [86.1, 92.9]    26 crash, 1 timeout, 3 error",
        "a run  median 1.0 s",
    ]


def test_a_closer_look_at_the_total_has_the_other_means() -> None:
    lines = list(total_lines("a", total_of({"one": SUMMARY, "other": SUMMARY}), verbosity=1))

    assert lines[1:3] == [
        "mean   TSR 94.2%   ECR 98.5%   C-TSR 95.6%   tool accuracy 99.1%   chance 33.6%",
        "TSR    94.2% correct, 516 of 548   [91.9, 95.8]    chance 33.6%",
    ]


def test_a_quiet_total_is_one_line() -> None:
    total = total_of({"one": SUMMARY, "other": SUMMARY})

    assert list(total_lines("a", total, verbosity=-1)) == [
        "2 domains: TSR mean 94.2%, pooled 94.2% [91.9, 95.8] 516 of 548"
    ]


def test_a_verbose_total_says_what_a_run_took() -> None:
    lines = list(total_lines("a", total_of({"one": SUMMARY, "other": SUMMARY}), verbosity=1))

    assert any(line.startswith("a run  median 1.0 s") for line in lines)


# The tables under `-v`, 80 columns wide whatever stands in them.


def confusion(*labels: str, other: str = "") -> Confusion:
    pairs = {(label, label): number for number, label in enumerate(labels, start=1)}
    if other:
        pairs[labels[0], other] = 9
    return Confusion(field="class", pairs=pairs)


def test_short_labels_stand_above_their_columns() -> None:
    lines = list(confusion_lines(confusion("Class A", "Class B", "Other", other="?")))

    assert lines == [
        "confusion of class (15 completed runs)",
        r"  expected \ given     A     B Other other",
        "  Class A              1     .     .     9",
        "  Class B              .     2     .     .",
        "  Other                .     .     3     .",
    ]


def test_long_labels_are_numbered() -> None:
    one = "Escalate to the regional supervisor"
    other = "Approve the refund in full"

    lines = list(confusion_lines(confusion(one, other)))

    assert lines[1:] == [
        r"  expected \ given                       1  2",
        "  1 Approve the refund in full           2  .",
        "  2 Escalate to the regional supervisor  .  1",
    ]


@pytest.mark.parametrize("count", [2, 5, 12, 20])
@pytest.mark.parametrize("length", [1, 12, 40])
def test_a_table_is_80_columns_wide(count: int, length: int) -> None:
    labels = [f"{number:0{length}}" for number in range(count)]

    lines = list(confusion_lines(confusion(*labels, other="?")))

    assert max(map(len, lines)) <= 80


def test_a_table_that_does_not_fit_says_so() -> None:
    labels = [str(number) for number in range(40)]

    lines = list(confusion_lines(confusion(*labels)))

    assert lines[1:] == ["  40 labels do not fit side by side"]


def test_the_most_frequent_answer_comes_first() -> None:
    groups = {"A": RunCounts(runs=1), "Hazard Class B": RunCounts(runs=9, completed=8, correct=3)}

    assert list(expected_lines(groups)) == [
        "by expected answer    runs  completed  correct     TSR",
        "  Hazard Class B         9          8        3   33.3%",
        "  A                      1          0        0    0.0%",
    ]


def test_many_answers_are_counted() -> None:
    groups = {f"answer {number} {'x' * 80}": RunCounts(runs=1) for number in range(21)}

    lines = list(expected_lines(groups))

    assert len(lines) == 7
    assert lines[-1] == "  and 16 more answers"
    assert max(map(len, lines)) <= 80


def test_tools_are_listed_with_what_failed_beside() -> None:
    tools = {"look_up": ToolCounts(calls=4, bad=1, failed=2), "send": ToolCounts(calls=9)}

    assert list(tool_lines(tools)) == [
        "tools       calls     bad  failed   accuracy",
        "  send          9       0       0     100.0%",
        "  look_up       4       1       2      75.0%",
    ]


def test_many_tools_are_counted() -> None:
    tools = {f"tool_{number}_{'x' * 60}": ToolCounts(calls=1) for number in range(22)}

    lines = list(tool_lines(tools))

    assert lines[-1] == "  and 2 more tools"
    assert max(map(len, lines)) <= 80


def test_nothing_has_no_tables() -> None:
    assert list(table_lines(Summary())) == []


def test_all_tables_follow_one_another() -> None:
    summary = Summary(
        answers={"class": confusion("A", "B").pairs},
        by_expected={"A": RunCounts(runs=1), "B": RunCounts(runs=1)},
        tools={"look_up": ToolCounts(calls=1)},
    )

    titles = [line.split()[0] for line in table_lines(summary) if not line.startswith(" ")]

    assert titles == ["confusion", "by", "tools"]


def test_one_answer_needs_no_breakdown() -> None:
    assert list(table_lines(Summary(by_expected={"A": RunCounts(runs=5)}))) == []


def test_an_empty_breakdown_has_no_title() -> None:
    assert list(expected_lines({})) == []


def test_the_breakdown_is_by_classes_where_there_are_numbers_beside_them() -> None:
    by_class = {"free": RunCounts(runs=2), "refuse": RunCounts(runs=1)}
    by_expected = {f"free / {number}": RunCounts(runs=1) for number in range(3)}

    lines = list(table_lines(Summary(by_expected=by_expected, by_class=by_class)))

    assert ["by", "free", "refuse"] == [line.split()[0] for line in lines]
    assert [] == list(table_lines(Summary(by_expected=by_expected, by_class={"": RunCounts()})))


# What the summary says of several trials, and that it says nothing of one.

SUMMARY_OF_TRIALS = Summary(
    runs=500,
    tasks=100,
    outcomes={Outcome.CORRECT: 430, Outcome.WRONG: 70},
    trials_by={(5, 5): 71, (5, 3): 25, (5, 0): 4},
)


def flaky(number: int, correct: int = 4, silent: Sequence[Outcome] = (), **more: str) -> TaskTrials:
    """Return a task of five trials."""
    ends = {Outcome.CORRECT: correct, Outcome.WRONG: 5 - correct - len(silent)}
    keywords = {"domain": "dangerous_goods", "task": f"P_{13_000 + number}", **more}
    return TaskTrials(**keywords, outcomes={**ends, **dict.fromkeys(silent, 1)})


def test_pass_any_and_pass_all_stand_on_one_line() -> None:
    (line,) = trial_lines(SUMMARY_OF_TRIALS)

    assert "trials 5 per task   pass any 96.0% [92.0, 99.0]   pass all 71.0% [62.0, 80.0]" == line
    assert len(line) <= 80


def test_of_one_trial_nothing_is_said() -> None:
    assert [] == list(trial_lines(EMPTY))
    assert [] == list(trial_lines(Summary(runs=9, tasks=9, outcomes={Outcome.CORRECT: 9})))
    assert [] == list(disagreement_lines([]))


def test_trials_of_unequal_number_are_told() -> None:
    (line, *_) = trial_lines(Summary(runs=8, tasks=2, trials_by={(3, 3): 1, (5, 5): 1}))

    assert line.startswith("trials 3 to 5 per task   pass any 100.0%")


def test_tasks_that_disagree_are_listed_the_least_reliable_first() -> None:
    found = [flaky(1), flaky(2, 1), flaky(3, 3, [Outcome.UNAVAILABLE, Outcome.NOT_RUN])]

    assert [
        "       trials disagree in 3 tasks: P_13002 1 of 5,",
        "       P_13003 3 of 5 (1 unavailable, 1 not run), P_13001 4 of 5",
    ] == list(disagreement_lines(found))


def test_a_long_list_is_cut_and_says_so() -> None:
    lines = list(disagreement_lines([flaky(number) for number in range(23)]))

    assert lines[-1].endswith("P_13019 4 of 5, and 3 more")
    assert "trials disagree in 23 tasks" in lines[0]
    assert all(len(line) <= 80 for line in lines)


def test_domains_and_agents_are_named_where_there_are_several() -> None:
    found = [flaky(1, agent="a"), flaky(2, agent="b", domain="lab")]

    text = " ".join(" ".join(disagreement_lines(found)).split())

    assert "dangerous_goods/P_13001 by a 4 of 5, lab/P_13002 by b 4 of 5" in text


def test_a_task_cannot_write_lines_of_its_own() -> None:
    lines = list(disagreement_lines([flaky(1, task="x\nTSR 100%")]))

    assert ["       trials disagree in 1 task: x TSR 100% 4 of 5"] == lines


# How far a session has come, in one line.

HALF = Progress(
    planned=200,
    done=100,
    recorded=Summary(runs=90, outcomes={Outcome.CORRECT: 81, Outcome.WRONG: 9}),
    in_flight=64,
    slowest=2.35,
    elapsed=50.0,
)
AWAY = Summary(runs=90, outcomes={Outcome.CORRECT: 81, Outcome.UNAVAILABLE: 9})


def test_a_line_says_where_the_session_stands_as_the_page_shows_it() -> None:
    page = (DOCS / "how-to" / "run-many-at-once.md").read_text(encoding="utf-8")

    line = progress_line(HALF)

    assert "sop: 100 of 200 done, 64 in flight, TSR 90.0%, slowest 2.3 s, 50 s left" == line
    assert f"\n{line}\n" in page


@pytest.mark.parametrize(
    ("change", "part"),
    [
        pytest.param({"in_flight": 0}, ", 0 in flight,", id="none in flight"),
        pytest.param({"recorded": EMPTY}, "TSR n/a,", id="nothing entered"),
        pytest.param({"recorded": AWAY}, "TSR n/a (9 of 90 unavailable)", id="provider away"),
        pytest.param({"elapsed": 119.0}, "119 s left", id="below two minutes"),
        pytest.param({"elapsed": 120.0}, "2 min left", id="from two minutes on"),
        pytest.param({"elapsed": 3600.0}, "60 min left", id="an hour"),
        pytest.param({"done": 200}, "0 s left", id="all done"),
    ],
)
def test_each_part_says_what_is_known(change: dict[str, object], part: str) -> None:
    assert part in progress_line(replace(HALF, **change))  # type: ignore[arg-type]


def test_what_is_not_known_is_left_out() -> None:
    line = progress_line(replace(HALF, in_flight=None, done=0))

    assert "sop: 0 of 200 done, TSR 90.0%, slowest 2.3 s" == line


def test_nothing_done_has_no_estimate() -> None:
    assert replace(HALF, done=0).left is None


@pytest.mark.parametrize(
    ("done", "said"), [pytest.param(7, "", id="fewer"), pytest.param(8, ", 3 min left", id="all")]
)
def test_an_estimate_rests_on_as_many_runs_as_are_in_flight(done: int, said: str) -> None:
    standing = replace(HALF, planned=40, done=done, at_once=8)

    assert progress_line(standing).endswith(f"slowest 2.3 s{said}")


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0, 1e6))
def test_the_estimate_is_what_the_rest_takes_at_the_same_pace(
    done: int, rest: int, elapsed: float
) -> None:
    left = replace(HALF, planned=done + rest, done=done, elapsed=elapsed).left

    assert left == pytest.approx(elapsed * rest / done)


@given(st.integers(10, 80), st.integers(0, 10**9))
def test_no_line_is_wider_than_the_terminal(width: int, count: int) -> None:
    line = progress_line(replace(HALF, planned=count, slowest=float(count)), width)

    assert len(line) <= width


def test_disagreeing_trials_look_as_the_page_on_trials_shows_them() -> None:
    page = (DOCS / "how-to" / "repeat-and-resume.md").read_text(encoding="utf-8")
    summary = Summary(
        runs=600,
        tasks=120,
        outcomes={Outcome.CORRECT: 534, Outcome.WRONG: 66},
        trials_by={(5, 5): 106, (5, 3): 1, (5, 1): 1, (5, 0): 12},
        durations=(1.0,) * 600,
    )
    disagreeing = [
        flaky(0, correct, domain="refunds", task=task)
        for task, correct in (("R-112", 3), ("R-104", 1))
    ]

    lines = [*domain_lines("refunds", "mypkg:agent", summary, disagreeing=disagreeing)]

    assert blocks(page, "text")[1].splitlines() == lines[1:6]
