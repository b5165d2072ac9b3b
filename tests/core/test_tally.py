"""What is counted of each run; laws for what must hold of every group, tables for the rest."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, OutputField, RunRecord
from pytest_sopbench._core.metrics.counts import Amount, Collapse, Confusion, RunCounts, ToolCounts
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.tally import Tally, summary_of
from pytest_sopbench._core.metrics.total import (
    total_of,
    total_to_json,
)
from pytest_sopbench._core.model.task import MASK, Compare, FieldType
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import COMPLETED
from tests.builders import runs

CLASS = OutputField(name="class", type=FieldType.ENUM, values=("A", "B", "C"))
REFUND = OutputField(name="refund", type=FieldType.NUMBER)
NOTE = OutputField(name="note", type=FieldType.TEXT, compare=Compare.IGNORE)
CALL = CallRecord(name="look_up", arguments={})


def run(
    expected: str = "A",
    actual: str | None = None,
    *,
    outcome: Outcome | None = None,
    field: str = "class",
    **more: object,
) -> RunRecord:
    """A run that gave `actual`, or the expected answer, or none where the outcome says so."""
    given_answer = expected if actual is None else actual
    wrong = given_answer != expected
    ending = outcome or (Outcome.WRONG if wrong else Outcome.CORRECT)
    mismatch = Mismatch(field=field, expected=expected, actual=given_answer, why="different")
    keywords: dict[str, object] = {
        "domain": "d",
        "task": "t",
        "outcome": ending,
        "expected": {field: expected},
        "answer": {field: given_answer} if ending in COMPLETED else None,
        "mismatches": (mismatch,) if ending is Outcome.WRONG else (),
        "duration_s": 1.0,
        **more,
    }
    return RunRecord(**keywords)  # type: ignore[arg-type]  # test sugar


LABELS = st.sampled_from(["A", "B", "C", "N/A", "a long label " * 9])
RUNS = st.builds(
    run,
    LABELS,
    LABELS,
    outcome=st.none() | st.sampled_from(sorted(set(Outcome) - COMPLETED)),
    task=st.sampled_from(["t", "u", "v", "w"]),
    trial=st.integers(1, 3),
    duration_s=st.none() | st.floats(0, 1_000),
    calls=st.lists(
        st.builds(
            CallRecord,
            name=st.sampled_from(["look_up", "send"]),
            arguments=st.just({}),
            error=st.none() | st.just("no record"),
            bad=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    usage=st.builds(
        Usage,
        input_tokens=st.none() | st.integers(0, 10_000),
        model_calls=st.none() | st.integers(0, 10),
        cost_usd=st.none() | st.integers(0, 10_000).map(lambda cents: cents / 10_000),
    ),
    disagreement=st.sampled_from(["", "row 7 is wrong"]),
    only_published=st.booleans(),
)
GROUPS = st.lists(RUNS, max_size=12, unique_by=lambda one: one.key)


@settings(max_examples=60)
@given(GROUPS, GROUPS, st.sampled_from([(), (CLASS,), (replace(CLASS, type=FieldType.TEXT),)]))
def test_summaries_add(
    one: list[RunRecord], more: list[RunRecord], fields: tuple[OutputField, ...]
) -> None:
    """Where they have no task in common, as the summaries of domains and of shards have none."""
    other = [replace(each, task=f"another {each.task}") for each in more]

    together = summary_of([*one, *other], fields)

    added = summary_of(one, fields) + summary_of(other, fields)
    # What a sum tolerates is no count: below.
    assert together == replace(added, tolerated=together.tolerated)


def test_many_runs_do_not_make_up_for_a_domain_that_was_away() -> None:
    lab = summary_of([run(task=f"T{number}") for number in range(100)])
    ward = summary_of([run(task="W1"), run(task="W2", outcome=Outcome.UNAVAILABLE)])

    total = total_of({"lab": lab, "ward": ward})

    assert (1.0, None) == (lab.tsr, ward.tsr)
    assert (None, None, None) == (total.pooled.tsr, total.means["tsr"], total.means["c_tsr"])
    assert (102, 101) == (total.pooled.runs, total.pooled.correct)


@given(GROUPS, GROUPS)
def test_a_sum_is_unmeasured_exactly_where_a_part_of_it_is(
    one: list[RunRecord], more: list[RunRecord]
) -> None:
    """Many runs elsewhere do not make up for a domain of which nobody knows anything."""
    left = summary_of(one)
    right = summary_of([replace(each, task=f"another {each.task}") for each in more])

    assert (left + right).unmeasured == (left.unmeasured or right.unmeasured)
    assert (left + right + left).unmeasured == (left + (right + left)).unmeasured


@settings(max_examples=60)
@given(GROUPS)
def test_the_order_of_arrival_leaves_no_trace(runs: list[RunRecord]) -> None:
    forwards, backwards = summary_of(runs), summary_of(runs[::-1])

    assert repr(forwards) == repr(backwards)


@given(GROUPS)
def test_nothing_added_changes_nothing(runs: list[RunRecord]) -> None:
    assert summary_of(runs) == summary_of(runs) + EMPTY


@settings(max_examples=60)
@given(GROUPS)
def test_tsr_is_ecr_times_c_tsr(runs: list[RunRecord]) -> None:
    summary = summary_of(runs)

    if summary.ecr is None:
        assert summary.tsr is None
    elif summary.c_tsr is None:
        assert summary.tsr == 0
    else:
        assert summary.tsr == pytest.approx(summary.ecr * summary.c_tsr)


@settings(max_examples=60)
@given(GROUPS)
def test_no_run_leaves_the_denominator(runs: list[RunRecord]) -> None:
    summary = summary_of(runs)

    assert len(runs) == summary.runs == sum(summary.outcomes.values())
    assert len(runs) == summary.undisputed.runs + summary.disputed.counts.runs


def test_no_runs_have_no_rates() -> None:
    summary = summary_of([])

    assert replace(summary, measured={}) == EMPTY
    for name in ("tsr", "ecr", "c_tsr", "tool_accuracy", "chance", "latency_median"):
        assert getattr(summary, name) is None
    assert summary.latency_p95 is None
    assert summary.calls_per_run is None
    assert summary.collapses == ()


def test_runs_are_counted_by_outcome() -> None:
    summary = summary_of([run(), run("A", "B"), *(run(outcome=one) for one in Outcome)])

    assert summary.outcomes[Outcome.CORRECT] == 2
    assert summary.outcomes[Outcome.WRONG] == 2
    assert (summary.correct, summary.completed, summary.runs) == (2, 4, 11)
    assert replace(summary, tolerated=0.1).c_tsr == 0.5


def test_tasks_are_not_trials() -> None:
    summary = summary_of([run(trial=trial) for trial in (1, 2, 3)])

    assert (summary.tasks, summary.runs) == (1, 3)


def test_a_bad_call_counts_against_the_agent_and_a_failing_tool_beside() -> None:
    calls = (
        CALL,
        replace(CALL, error="no record"),
        replace(CALL, bad=True, error="unknown parameter"),
        replace(CALL, name="send"),
    )

    summary = summary_of([run(calls=calls)])

    assert summary.tools == {
        "look_up": ToolCounts(calls=3, bad=1, failed=1),
        "send": ToolCounts(calls=1),
    }
    assert summary.tool_accuracy == 0.75
    assert summary.tools["look_up"].accuracy == pytest.approx(2 / 3)


def test_names_of_tools_that_agents_invent_are_cut() -> None:
    summary = summary_of([run(calls=(replace(CALL, name="x" * 10_000, bad=True),))])

    assert max(map(len, summary.tools)) < 100


def test_calls_are_per_run_that_left_a_trace() -> None:
    runs = [
        run(calls=(CALL, CALL)),
        run(),
        run(outcome=Outcome.CRASH, duration_s=None),
    ]

    summary = summary_of(runs)

    assert summary.calls_per_run == 1.0
    assert summary.without_calls == 1


def test_latency_is_of_the_runs_that_have_one() -> None:
    runs = [run(duration_s=second / 10) for second in range(1, 101)]

    summary = summary_of([*runs, run(outcome=Outcome.NOT_RUN, duration_s=None)])

    assert summary.latency_median == pytest.approx(5.05)
    assert summary.latency_p95 == 9.5


def test_unknown_usage_is_not_zero() -> None:
    usage = Usage(input_tokens=100, cost_usd=0.1)

    summary = summary_of([run(usage=usage), run(usage=replace(usage, cost_usd=None)), run()])

    assert summary.usage == {
        "cost_usd": Amount(total=0.1, known=1),
        "input_tokens": Amount(total=200, known=2),
    }
    assert summary.usage["input_tokens"].mean == 100


def test_chance_is_the_share_of_the_most_frequent_answer() -> None:
    summary = summary_of([run("A"), run("A", "B"), run("a", outcome=Outcome.ERROR), run("B")])

    assert summary.chance == 0.5


def test_chance_counts_spellings_of_one_label_together() -> None:
    summary = summary_of([run("A"), run("a"), run("B")], (CLASS,))

    assert summary.chance == pytest.approx(2 / 3)
    assert summary.by_expected["A"] == RunCounts(runs=2, completed=2, correct=2)


def test_chance_is_over_all_fields_jointly() -> None:
    answers: list[Mapping[str, JsonValue]] = [
        {"class": "A", "refund": 1},
        {"class": "A", "refund": 2},
        {"class": "A", "refund": "2.0"},
        {"class": "B", "refund": 3},
    ]

    summary = summary_of([replace(run(), expected=one) for one in answers], (CLASS, REFUND))

    assert summary.chance == 0.5
    assert summary.by_expected["A / 2"].runs == 2


def test_classes_are_of_the_fields_of_few_values_alone() -> None:
    """A number is another one in each task, and no class of them."""
    answers = [{"class": letter, "refund": number} for number, letter in enumerate("AAB")]
    runs = [replace(run(), expected=one) for one in answers]
    numbers = [replace(run(), expected={"refund": number}) for number in range(3)]

    mixed = summary_of(runs, (CLASS, REFUND))

    assert {"A": 2, "B": 1} == {label: one.runs for label, one in mixed.by_class.items()}
    assert {"": 3} == {
        label: one.runs for label, one in summary_of(numbers, (REFUND,)).by_class.items()
    }
    assert {} == summary_of([run("A")], (CLASS,)).by_class


def test_chance_leaves_out_fields_that_ask_for_no_certain_value() -> None:
    runs = [replace(run(), expected={"class": "A", "note": str(number)}) for number in range(4)]

    assert summary_of(runs, (CLASS, NOTE)).chance == 1.0


@pytest.mark.parametrize(
    "expected",
    [pytest.param({"class": MASK}, id="masked"), pytest.param({}, id="missing")],
)
def test_chance_is_unknown_where_an_expected_answer_is(expected: Mapping[str, JsonValue]) -> None:
    summary = summary_of([run(), replace(run(), expected=expected)], (CLASS,))

    assert summary.chance is None
    assert summary.by_expected["A"].runs == 1


def test_wrong_answers_are_counted_by_what_was_given_instead() -> None:
    summary = summary_of([run("A", "b"), run("A", "B"), run("A"), run("C", "so")], (CLASS,))

    assert summary.mismatched == {"class": 3}
    assert summary.wrong_pairs == {"class": {("A", "B"): 2, ("C", "so"): 1}}
    assert summary.answers == {"class": {("A", "A"): 1, ("A", "B"): 2, ("C", "so"): 1}}


def test_what_the_judge_accepts_counts_as_the_expected_label() -> None:
    accepted = replace(run("A"), answer={"class": "an acceptable answer"})

    summary = summary_of([accepted], (CLASS,))

    assert summary.answers == {"class": {("A", "A"): 1}}


def test_long_values_are_counted_by_field_only() -> None:
    long = "x" * 41

    summary = summary_of([run("A", long), run(long, "A"), run(long)], (CLASS,))

    assert summary.mismatched == {"class": 2}
    assert summary.wrong_pairs == {}
    assert [("A", long)] == list(summary.answers["class"])


def test_fields_of_many_values_have_no_confusion_table() -> None:
    summary = summary_of([run("1", "2", field="refund")], (REFUND,))

    assert summary.answers == {}
    assert summary.wrong_pairs == {"refund": {("1", "2"): 1}}


@pytest.mark.parametrize("kinds", [pytest.param(400, id="just"), pytest.param(401, id="too many")])
def test_pairs_of_too_many_kinds_are_dropped(kinds: int) -> None:
    """Within bounds in any order, so that summaries still add."""
    runs = [run(str(number), "x") for number in range(kinds)]

    whole = summary_of(runs)

    assert whole == summary_of(runs[:100]) + summary_of(runs[100:])
    assert whole == summary_of(runs[::-1])
    assert whole.mismatched == {"class": kinds}
    assert len(whole.wrong_pairs["class"]) == (kinds if kinds == 400 else 0)
    assert whole + whole == summary_of([*runs, *runs])


def test_masked_values_are_counted_by_field_only() -> None:
    masked = Mismatch(field="class", expected=MASK, actual=MASK, why="different")
    wrong = replace(run("A", "B"), expected={"class": MASK}, mismatches=(masked,))
    right = replace(run(), expected={"class": MASK})

    summary = summary_of([wrong, right], (CLASS,))

    assert summary.mismatched == {"class": 1}
    assert summary.answers == summary.wrong_pairs == {}


def test_a_mismatch_in_a_field_that_asks_for_any_value_is_counted() -> None:
    summary = summary_of([run("x", "", field="note")], (CLASS, NOTE))

    assert summary.mismatched == {"note": 1}


def test_a_field_whose_labels_are_too_many_raises_no_alarm() -> None:
    runs = [run(str(number), "7") for number in range(21)]

    summary = summary_of(runs)

    assert summary.confusions == ()
    assert summary.collapses == ()


def test_a_constant_agent_raises_the_alarm() -> None:
    runs = [run(label, "A") for label in "ABC" * 10]

    (collapse,) = summary_of(runs, (CLASS,)).collapses

    assert (collapse.field, list(collapse.favoured)) == ("class", ["A"])
    assert collapse.never == {"B": 10, "C": 10}


def test_disputed_rows_are_counted_apart_with_their_reasons() -> None:
    disputed = "the row was made before the SOP"
    runs = [run(), run("A", "B"), run("A", "B", disagreement=disputed)]

    summary = summary_of(runs)

    assert summary.tsr == pytest.approx(1 / 3)
    assert summary.undisputed == RunCounts(runs=2, completed=2, correct=1)
    assert summary.undisputed.tsr == 0.5
    assert summary.disputed.reasons == {disputed: 1}


def test_reruns_and_published_scoring_are_counted() -> None:
    tally = Tally()
    tally.add(run(only_published=True))
    tally.add_rerun()

    summary = tally.summary()

    assert (summary.only_published, summary.reruns, summary.runs) == (1, 1, 1)


def test_a_summary_is_a_photograph() -> None:
    tally = Tally()
    before = tally.summary()

    tally.add(run(calls=(CALL,)))

    assert replace(before, measured={}) == EMPTY
    assert tally.summary().runs == 1


def test_a_run_takes_few_bytes() -> None:
    """Every text differs here: an answer of its own for each task is the worst that can be."""
    runs = [
        replace(run(f"answer {number}", "B", field="refund"), task=f"T{number}", calls=(CALL,))
        for number in range(8_000)
    ]
    tally = Tally((replace(REFUND, type=FieldType.TEXT),))
    tracemalloc.start()

    for one in runs:
        tally.add(one)

    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(runs) < 300


def test_a_run_with_labels_takes_hardly_any_bytes() -> None:
    runs = [run("ABC"[number % 3], "ABC"[number % 2]) for number in range(2_000)]
    tally = Tally((CLASS,))
    tally.add(runs[0])
    tracemalloc.start()

    for one in runs:
        tally.add(one)

    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(runs) < 50


# Several domains: the mean over domains, and all runs pooled.


def sized(domain: str, outcome: Outcome, expected: str = "yes") -> RunRecord:
    return runs.run("t", outcome, domain=domain, expected={"answer": expected})


SMALL = summary_of([sized("small", Outcome.CORRECT), sized("small", Outcome.ERROR, "no")])
LARGE = summary_of([sized("large", Outcome.WRONG)] * 6)


def test_the_mean_weighs_domains_and_the_pool_weighs_runs() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.domains == 2
    assert total.means["tsr"] == 0.25
    assert total.pooled.tsr == 1 / 8
    assert total.pooled.ecr == 7 / 8


def test_a_domain_counts_once_however_many_agents_ran_on_it() -> None:
    total = total_of({"small (a:one)": SMALL, "small (a:two)": LARGE, "large": SMALL})

    assert total.domains == 2
    assert total.means["tsr"] == (0.25 + 0.5) / 2
    assert total.pooled.runs == 10


def test_chance_answers_each_domain_with_its_own_label() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.means["chance"] == 0.75
    assert total.chance == 7 / 8


def test_chance_is_unknown_where_one_domain_cannot_tell() -> None:
    masked = summary_of([RunRecord(domain="masked", task="t", outcome=Outcome.CORRECT)])

    total = total_of({"small": SMALL, "masked": masked})

    assert total.chance is None
    assert total.means["chance"] == 0.5


def test_a_rate_that_no_domain_has_has_no_mean() -> None:
    total = total_of({"small": SMALL})

    assert total.means["tool_accuracy"] is None


def test_labels_of_different_domains_are_not_mixed() -> None:
    total = total_of({"small": SMALL, "large": LARGE})

    assert total.pooled.by_expected == {}
    assert total.pooled.answers == {}


@pytest.mark.parametrize(
    "summaries",
    [pytest.param({}, id="no domain"), pytest.param({"none": summary_of([])}, id="no run")],
)
def test_a_total_of_nothing_has_no_rates(summaries: dict[str, object]) -> None:
    total = total_of(summaries)  # type: ignore[arg-type]  # summaries, or nothing

    assert total.pooled.tsr is None
    assert total.chance is None
    assert total.means["tsr"] is None


def test_the_json_of_a_total_holds_means_and_pool() -> None:
    data = total_to_json(total_of({"small": SMALL, "large": LARGE}))

    assert data["domains"] == 2
    assert data["mean"]["tsr"] == 0.25
    assert data["pooled"]["runs"] == 8
    assert data["pooled"]["tsr"] == 1 / 8
    assert data["pooled"]["chance"] == 7 / 8
    assert data["pooled"]["tool_accuracy"] is None


# The confusion table, and the alarm that it raises.


def table(**rows: str) -> Confusion:
    """Make a table from `expected="answers"`, one letter for each run."""
    pairs = {
        (expected, actual): answers.count(actual)
        for expected, answers in rows.items()
        for actual in sorted(set(answers))
    }
    return Confusion(field="class", pairs=pairs)


def test_a_table_knows_its_labels() -> None:
    confusion = table(A="AAB", B="xxyB")

    assert confusion.expected == ("A", "B")
    assert confusion.unexpected == ("x", "y")
    assert confusion.completed == 7


def test_a_right_agent_raises_no_alarm() -> None:
    assert not table(A="A" * 50, B="B" * 5).collapse()


def test_a_constant_agent_is_named_with_its_shares() -> None:
    collapse = table(A="A" * 20, B="A" * 20, C="A" * 20).collapse()

    given, expected, z = collapse.favoured["A"]
    assert given == 1.0
    assert expected == pytest.approx(1 / 3)
    assert z == pytest.approx(40**0.5)
    assert collapse.never == {"B": 20, "C": 20}


def test_an_answer_that_nothing_expects_is_named() -> None:
    collapse = table(A="A" * 10 + "?" * 10, B="B" * 10 + "?" * 10).collapse()

    assert list(collapse.favoured) == ["?"]
    assert not collapse.never


@pytest.mark.parametrize(
    ("wrong", "alarm"),
    [
        pytest.param(15, False, id="exactly 15 points"),
        pytest.param(16, True, id="16 points"),
    ],
)
def test_an_excess_must_pass_15_points(wrong: int, alarm: bool) -> None:
    collapse = table(A="A" * 50, B="A" * wrong + "B" * (50 - wrong)).collapse()

    assert alarm is bool(collapse.favoured)


@pytest.mark.parametrize(
    ("wrong", "alarm"),
    [pytest.param(9, False, id="z of 3"), pytest.param(10, True, id="z of 3.2")],
)
def test_an_excess_must_be_significant(wrong: int, alarm: bool) -> None:
    """McNemar's z is the root of the number of errors when all go one way."""
    collapse = table(A="A" * 5, B="A" * wrong + "B").collapse()

    assert alarm is bool(collapse.favoured)


@pytest.mark.parametrize(
    ("count", "trials", "named"),
    [
        pytest.param(4, 1, False, id="four tasks"),
        pytest.param(5, 1, True, id="five tasks"),
        pytest.param(8, 2, False, id="four tasks of two trials"),
        pytest.param(10, 2, True, id="five tasks of two trials"),
    ],
)
def test_a_label_that_five_tasks_expect_is_missed(count: int, trials: float, named: bool) -> None:
    collapse = table(A="A" * 100, B="A" * count).collapse(trials=trials)

    assert named is ("B" in collapse.never)


def test_a_collapse_without_labels_is_none() -> None:
    assert not Collapse(field="class")
