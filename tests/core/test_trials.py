"""Several trials of a task: pass any, pass all, and tasks whose trials disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Outcome, OutputField, RunKey, RunRecord
from pytest_sopbench._core.fields.values import value_key
from pytest_sopbench._core.metrics.summary import (
    ANSWER_LIMIT,
    EMPTY,
    NO_VALUE,
    FieldLabels,
    answer_label,
    field_labels,
    is_joint,
)
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import summary_to_json
from pytest_sopbench._core.metrics.trials import TrialCounts, disagreements
from pytest_sopbench._core.model.task import MASK, Compare, FieldType
from pytest_sopbench._core.statistics import wilson
from pytest_sopbench._core.values.json import JsonValue
from tests.builders.runs import run

RIGHT, WRONG, AWAY = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE


@st.composite
def task(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(1, 9))
    return trials, draw(st.integers(0, trials))


def runs(outcomes: Mapping[str, list[Outcome]], domain: str = "d") -> list[RunRecord]:
    return [
        run(name, outcome, domain=domain, trial=trial)
        for name, trials in outcomes.items()
        for trial, outcome in enumerate(trials, start=1)
    ]


def counts_of(outcomes: Mapping[str, list[Outcome]]) -> TrialCounts:
    return summary_of(runs(outcomes)).trials


def test_pass_any_and_pass_all_are_means_over_tasks() -> None:
    counts = counts_of({"a": [RIGHT] * 3, "b": [RIGHT, WRONG, WRONG], "c": [WRONG] * 3})

    assert counts.pass_any() == pytest.approx(2 / 3)
    assert counts.pass_all() == pytest.approx(1 / 3)


def test_the_fewest_and_the_most_trials_of_a_task_are_known() -> None:
    counts = counts_of({"a": [RIGHT] * 3, "b": [RIGHT]})

    assert (counts.least, counts.most) == (1, 3)


def test_runs_that_were_never_made_stay_in_the_denominators() -> None:
    """As they do for TSR: a session cut short must not look better for it."""
    counted = summary_of(runs({"a": [RIGHT, AWAY], "b": [RIGHT, Outcome.NOT_RUN]}))
    summary = replace(counted, tolerated=0.5)

    assert summary.tsr == 0.5
    assert summary.pass_any == 1.0
    assert summary.pass_all == 0.0


def test_one_trial_of_each_task_is_kept_nowhere_and_makes_both_the_tsr() -> None:
    summary = summary_of(runs({"a": [RIGHT], "b": [WRONG], "c": [WRONG], "d": [RIGHT]}))

    assert summary.trials_by == {}
    assert summary.pass_any == summary.pass_all == summary.tsr == 0.5


def test_tasks_of_one_trial_and_of_several_are_counted_together() -> None:
    one = summary_of(runs({"a": [RIGHT], "b": [WRONG]}, "one"))
    several = summary_of(runs({"a": [RIGHT, WRONG]}, "several"))

    assert {(1, 0): 1, (1, 1): 1, (2, 1): 1} == (one + several).trials_by
    assert (several + one).trials_by == (one + several).trials_by
    assert several == several + EMPTY


def test_a_task_of_which_only_later_trials_are_known_is_a_task() -> None:
    known = [run for run in runs({"a": [WRONG, RIGHT, RIGHT]}) if run.trial > 1]

    assert {(2, 2): 1} == summary_of(known).trials_by


def test_one_late_trial_is_one_trial() -> None:
    known = [run for run in runs({"a": [WRONG, RIGHT]}) if run.trial > 1]

    assert {} == summary_of(known).trials_by


def test_tasks_of_one_name_in_two_domains_are_two() -> None:
    both = [*runs({"a": [RIGHT] * 2}, "one"), *runs({"a": [WRONG] * 2}, "two")]

    assert {(2, 0): 1, (2, 2): 1} == summary_of(both).trials_by


def test_trials_stand_in_json() -> None:
    summary = summary_of(runs({"a": [RIGHT, WRONG], "b": [RIGHT, RIGHT]}))

    data = summary_to_json(summary)

    assert [[2, 1, 1], [2, 2, 1]] == data["trials"]
    assert (1.0, 0.5) == (data["pass_any"], data["pass_all"])


@pytest.mark.parametrize(
    ("rate", "passed"),
    [
        pytest.param(0.0, 4, id="every task passes none of its trials"),
        pytest.param(0.6, 3, id="at the very rate"),
        pytest.param(0.61, 2, id="above it"),
        pytest.param(1.0, 1, id="all trials"),
    ],
)
def test_tasks_that_pass_a_rate_of_their_trials(rate: float, passed: int) -> None:
    counts = TrialCounts(tasks_by={(5, 5): 1, (5, 4): 1, (5, 3): 1, (5, 0): 1})

    assert passed == counts.passed(rate)


def test_a_rate_over_trials_is_compared_as_counts() -> None:
    """0.1 + 0.2 is not 0.3, yet three of ten are."""
    assert TrialCounts(tasks_by={(10, 3): 1}).passed(0.1 + 0.2) == 1


@settings(max_examples=15, deadline=None)
@given(st.dictionaries(task(), st.integers(1, 60), min_size=1, max_size=6))
def test_intervals_hold_their_rates(tasks: dict[tuple[int, int], int]) -> None:
    counts = TrialCounts(tasks_by=tasks)
    right = sum(correct * number for (_, correct), number in tasks.items())
    made = sum(trials * number for (trials, _), number in tasks.items())

    bounds = counts.bounds()

    for rate, one in (
        (right / made, bounds.tsr),
        (counts.pass_any(), bounds.pass_any),
        (counts.pass_all(), bounds.pass_all),
    ):
        assert one is not None
        assert rate is not None
        assert 0 <= one[0] <= rate + 0.01
        assert rate - 0.01 <= one[1] <= 1


def test_the_same_counts_have_the_same_interval() -> None:
    tasks = {(5, 5): 30, (5, 3): 12, (5, 0): 4}

    forwards = TrialCounts(tasks_by=tasks).bounds()
    backwards = TrialCounts(tasks_by=dict(reversed(tasks.items()))).bounds()

    assert forwards == backwards


def test_tasks_that_are_all_alike_are_no_proof_of_certainty() -> None:
    bounds = TrialCounts(tasks_by={(5, 5): 40}).bounds()

    assert bounds.pass_all == bounds.tsr == wilson(40, 40)


def test_no_task_has_no_interval_and_no_rate() -> None:
    counts = TrialCounts()

    assert counts.bounds().tsr is None
    assert counts.pass_any() is None
    assert (counts.least, counts.most, counts.tasks) == (0, 0, 0)


def test_tasks_whose_trials_disagree_are_named_with_their_rate() -> None:
    made = runs(
        {"same": [RIGHT] * 3, "never": [WRONG, Outcome.ERROR], "odd": [RIGHT, WRONG, RIGHT]}
    )

    (odd,) = disagreements((run.key, run.outcome) for run in made)

    assert ("odd", 2, 3) == (odd.task, odd.correct, odd.trials)
    assert odd.rate == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("trials", "disagrees"),
    [
        pytest.param([RIGHT, AWAY], False, id="correct and unavailable"),
        pytest.param([RIGHT, Outcome.NOT_RUN], False, id="correct and never started"),
        pytest.param([RIGHT, AWAY, WRONG], True, id="correct, unavailable and wrong"),
        pytest.param([RIGHT, Outcome.CRASH], True, id="correct and crash"),
    ],
)
def test_a_trial_that_says_nothing_disagrees_with_nothing(
    trials: list[Outcome], disagrees: bool
) -> None:
    found = disagreements((run.key, run.outcome) for run in runs({"a": trials}))

    assert disagrees == bool(found)
    assert all(one.outcomes[AWAY] == trials.count(AWAY) for one in found)


def test_trials_of_two_agents_do_not_disagree() -> None:
    keys = {RunKey("d", "a", 1, "old"): RIGHT, RunKey("d", "a", 1, "new"): WRONG}

    assert disagreements(keys.items()) == ()


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.text(max_size=3), st.lists(st.sampled_from([RIGHT, WRONG, AWAY]), min_size=1, max_size=4)
    ),
    st.randoms(use_true_random=False),
)
def test_trials_are_counted_in_any_order(
    outcomes: dict[str, list[Outcome]], random: object
) -> None:
    arrived = runs(outcomes)
    getattr(random, "shuffle")(arrived)  # noqa: B009 - hypothesis does not type it

    expected = Counter((len(each), each.count(RIGHT)) for each in outcomes.values())
    assert dict(expected) == dict(summary_of(arrived).trials.tasks_by)


# Which spellings are counted as one label.

HAZARD = OutputField(
    name="hazard_class",
    type=FieldType.ENUM,
    values=("Hazard Class A", "Hazard Class D"),
    aliases={"D": "Hazard Class D", "dee": "hazard class d"},
)


def field(type_: FieldType, **more: object) -> OutputField:
    return OutputField(name="field", type=type_, **more)  # type: ignore[arg-type]  # test sugar


@pytest.mark.parametrize(
    ("output", "value", "label"),
    [
        pytest.param(HAZARD, "hazard_class  a", "Hazard Class A", id="another spelling"),
        pytest.param(HAZARD, "d", "Hazard Class D", id="alias"),
        pytest.param(HAZARD, "DEE", "Hazard Class D", id="alias of another spelling"),
        pytest.param(HAZARD, "Something Else", "something else", id="unknown label is folded"),
        pytest.param(field(FieldType.ENUM, values=("7", "8.0")), 7.0, "7", id="float for a label"),
        pytest.param(field(FieldType.ENUM, values=("7", "8.0")), 8.0, "8.0", id="label of a float"),
        pytest.param(field(FieldType.ENUM, values=("A", "A-")), "a-", "A-", id="label with a sign"),
        pytest.param(field(FieldType.LIST), ["1.10", 1.1], "[1.1, 1.10]", id="texts and numbers"),
        pytest.param(HAZARD, " N/A ", NO_VALUE, id="explicit empty"),
        pytest.param(HAZARD, None, NO_VALUE, id="null"),
        pytest.param(field(FieldType.BOOLEAN), "Yes", "true", id="written true"),
        pytest.param(field(FieldType.BOOLEAN), "0", "false", id="written false"),
        pytest.param(field(FieldType.BOOLEAN), False, "false", id="false"),
        pytest.param(field(FieldType.BOOLEAN), True, "true", id="true"),
        pytest.param(field(FieldType.BOOLEAN), "maybe", "maybe", id="no boolean"),
        pytest.param(field(FieldType.NUMBER), "12.50", "12.5", id="written number"),
        pytest.param(field(FieldType.NUMBER), 12.5, "12.5", id="number"),
        pytest.param(field(FieldType.INTEGER), 3.0, "3", id="whole number"),
        pytest.param(field(FieldType.NUMBER), "Twelve  Fifty", "twelve fifty", id="no number"),
        pytest.param(field(FieldType.TEXT), "Two_Words", "two words", id="text is folded"),
        pytest.param(field(FieldType.LIST), ["b", 1], "[1, b]", id="list in any order"),
        pytest.param(field(FieldType.LIST), "['B', 1]", "[1, b]", id="written list"),
        pytest.param(field(FieldType.LIST, ordered=True), ["b", 1], "[b, 1]", id="ordered list"),
        pytest.param(field(FieldType.LIST), "none", NO_VALUE, id="no list"),
        pytest.param(field(FieldType.LIST), 7, "7", id="not a list"),
        pytest.param(field(FieldType.DATE), "2026-01-31", "2026-01-31", id="day"),
        pytest.param(field(FieldType.DATE), "2026-01-31T00:00Z", "2026-01-31", id="midnight"),
        pytest.param(
            field(FieldType.DATE), "2026-01-31T01:30:00+01:00", "2026-01-31T00:30:00", id="moment"
        ),
        pytest.param(field(FieldType.DATE), "Some Day", "some day", id="no date"),
        pytest.param(None, ["b", 1], '["b", 1]', id="list of an unknown field"),
        pytest.param(None, "Two  Words", "Two Words", id="unknown field keeps the spelling"),
        pytest.param(None, 2, "2", id="number of an unknown field"),
    ],
)
def test_a_value_is_counted_under(output: OutputField | None, value: JsonValue, label: str) -> None:
    assert label == FieldLabels(output).of(value)


@pytest.mark.parametrize(
    ("output", "counted"),
    [
        pytest.param(HAZARD, True, id="enum"),
        pytest.param(field(FieldType.BOOLEAN), True, id="boolean"),
        pytest.param(field(FieldType.TEXT), False, id="text"),
        pytest.param(field(FieldType.NUMBER), False, id="number"),
        pytest.param(None, True, id="unknown field"),
    ],
)
def test_fields_of_few_values_are_counted_by_label(
    output: OutputField | None, counted: bool
) -> None:
    assert counted is FieldLabels(output).counted


def test_fields_that_ask_for_no_certain_value_have_no_labels() -> None:
    fields = (
        HAZARD,
        OutputField(name="note", type=FieldType.TEXT, compare=Compare.PRESENT),
        OutputField(name="id", type=FieldType.TEXT, compare=Compare.IGNORE),
    )

    assert ["hazard_class"] == list(field_labels(fields))


@pytest.mark.parametrize(
    ("expected", "label"),
    [
        pytest.param({"a": "x", "b": "y"}, "x / y", id="joint"),
        pytest.param({"a": "x / y", "b": "z"}, '"x / y" / z', id="separator inside"),
        pytest.param({"a": "x"}, None, id="missing field"),
        pytest.param({"a": MASK, "b": "y"}, None, id="masked field"),
    ],
)
def test_an_answer_has_one_label(expected: dict[str, JsonValue], label: str | None) -> None:
    fields = {"a": FieldLabels(), "b": FieldLabels()}

    assert label == answer_label(expected, fields)


def test_an_answer_without_fields_has_no_label() -> None:
    assert answer_label({}, {}) is None


def test_long_answers_that_begin_alike_have_different_labels() -> None:
    fields = {"a": FieldLabels()}
    start = "x" * ANSWER_LIMIT

    one, other = (answer_label({"a": start + end}, fields) for end in "12")

    assert one is not None
    assert other is not None
    assert one != other
    assert one.startswith(start)
    assert len(one) < ANSWER_LIMIT + 20


@pytest.mark.parametrize("type_", list(FieldType))
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("12.50", "12.5", id="numbers"),
        pytest.param("Yes", "true", id="booleans"),
        pytest.param("2026-01-31", "2026-01-31T00:00:00Z", id="dates"),
        pytest.param("Two_Words", "two  words", id="spellings"),
        pytest.param("", None, id="empties"),
        pytest.param("A", "B", id="different"),
        pytest.param("1", 1, id="number and text"),
    ],
)
def test_what_the_judge_holds_equal_has_one_label(
    type_: FieldType, one: JsonValue, other: JsonValue
) -> None:
    output = field(type_)
    labels = FieldLabels(output)

    same = value_key(output, one) == value_key(output, other)

    assert same is (labels.of(one) == labels.of(other))


def test_a_text_that_is_no_label_is_shown_as_it_was_given() -> None:
    labels = FieldLabels(OutputField(name="f", type=FieldType.ENUM, values=("Free", "Refuse")))

    assert ["Free", "89,50 EUR", "False"] == [
        labels.written(value) for value in ("FREE", "89,50  EUR", "False")
    ]


@pytest.mark.parametrize(
    ("label", "is_of_several"),
    [("a", False), ("a / b", True), ('"a / b"', False), ('"a / b" / "c / d"', True)],
)
def test_a_label_of_several_fields_can_be_told(label: str, is_of_several: bool) -> None:
    assert is_of_several is is_joint(label)
