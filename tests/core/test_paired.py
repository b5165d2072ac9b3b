"""Which tasks of two sessions are compared, and which are set aside by name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.comparing.comparison import NotCompared, pair_runs
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome

RIGHT, WRONG, AWAY, NEVER = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE, Outcome.NOT_RUN


def task(name: str, *outcomes: Outcome, agent: str = "a", made: str = "hash") -> list[RunRecord]:
    return [
        RunRecord(domain="d", task=name, trial=trial, agent=agent, outcome=outcome, task_hash=made)
        for trial, outcome in enumerate(outcomes, start=1)
    ]


def key(name: str, agent: str = "") -> TaskKey:
    return TaskKey("d", name, agent)


def test_tasks_are_paired_by_domain_and_name() -> None:
    other = [replace(run, domain="e") for run in task("t", RIGHT)]

    found = pair_runs([*task("t", RIGHT), *other], [*other, *task("t", WRONG)])

    assert [TaskKey("e", "t"), key("t")] == [pair.key for pair in found.pairs]
    assert [False, True] == [pair.lost for pair in found.pairs]


@pytest.mark.parametrize(
    ("before", "now", "lost", "gained"),
    [
        pytest.param([RIGHT], [WRONG], True, False, id="correct before and not now"),
        pytest.param([WRONG], [RIGHT], False, True, id="correct now and not before"),
        pytest.param([RIGHT], [Outcome.ERROR], True, False, id="an error is not correct"),
        pytest.param([WRONG], [Outcome.CRASH], False, False, id="never correct"),
        pytest.param([RIGHT] * 4, [RIGHT, RIGHT, WRONG, WRONG], True, False, id="fell by half"),
        pytest.param([RIGHT] * 5, [RIGHT] * 3 + [WRONG] * 2, False, False, id="by less than half"),
        pytest.param([RIGHT], [RIGHT, WRONG], True, False, id="more trials than before"),
        pytest.param([WRONG] * 3, [RIGHT, RIGHT, WRONG], False, True, id="rose by two of three"),
    ],
)
def test_a_task_is_lost_that_falls_by_half(
    before: list[Outcome], now: list[Outcome], lost: bool, gained: bool
) -> None:
    (pair,) = pair_runs(task("t", *before), task("t", *now)).pairs

    assert (lost, gained) == (pair.lost, pair.gained)


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        pytest.param(task("t", RIGHT), [], NotCompared.ONLY_BASELINE, id="gone"),
        pytest.param([], task("t", RIGHT), NotCompared.ONLY_CURRENT, id="added"),
        pytest.param(
            task("t", RIGHT), task("t", WRONG, made="x"), NotCompared.CHANGED, id="changed"
        ),
        pytest.param(
            task("t", RIGHT), task("t", AWAY), NotCompared.NO_EVIDENCE, id="unavailable now"
        ),
        pytest.param(task("t", AWAY), task("t", WRONG), NotCompared.NO_EVIDENCE, id="and then"),
        pytest.param(
            task("t", RIGHT), task("t", NEVER), NotCompared.NO_EVIDENCE, id="never started"
        ),
        pytest.param(
            task("t", RIGHT, RIGHT),
            task("t", AWAY, NEVER),
            NotCompared.NO_EVIDENCE,
            id="no trial left",
        ),
    ],
)
def test_a_task_that_cannot_be_compared_is_named_with_the_reason(
    before: list[RunRecord], now: list[RunRecord], why: NotCompared
) -> None:
    found = pair_runs(before, now)

    assert {key("t"): why} == found.aside
    assert () == found.pairs
    assert found.tasks == 1


def test_a_trial_that_says_nothing_is_left_out_of_its_task() -> None:
    (pair,) = pair_runs(task("t", RIGHT, AWAY, RIGHT), task("t", RIGHT, WRONG, NEVER)).pairs

    assert (Fraction(1), Fraction(1, 2)) == (pair.before, pair.after)


def test_all_runs_of_the_session_are_known_whether_compared_or_not() -> None:
    found = pair_runs(task("t", RIGHT), [*task("t", AWAY), *task("u", NEVER)])

    assert {key("t"): (AWAY,), key("u"): (NEVER,)} == found.outcomes


def test_a_task_that_options_left_out_is_not_missing() -> None:
    baseline = [*task("t", RIGHT), *task("u", RIGHT), *task("v", RIGHT)]

    found = pair_runs(baseline, task("t", RIGHT), left_out={("d", "u"), ("d", "t")})

    assert [key("t")] == [pair.key for pair in found.pairs]
    assert (key("u"),) == found.left_out
    assert {key("v"): NotCompared.ONLY_BASELINE} == found.aside


def test_a_task_that_may_fail_proves_nothing() -> None:
    baseline, current = task("t", RIGHT), task("t", WRONG)

    found = pair_runs(baseline, current, may_fail={("d", "t")})

    assert (key("t"),) == found.may_fail
    assert (0, {}, {}) == (found.tasks, found.aside, found.outcomes)


def test_one_agent_is_compared_with_another() -> None:
    found = pair_runs(task("t", RIGHT, agent="old"), task("t", RIGHT, agent="new"))

    assert [key("t")] == [pair.key for pair in found.pairs]


def test_several_agents_are_paired_by_name() -> None:
    baseline = [*task("t", RIGHT, agent="a"), *task("t", WRONG, agent="b")]
    current = [*task("t", WRONG, agent="b"), *task("t", WRONG, agent="c")]

    found = pair_runs(baseline, current)

    assert [key("t", "b")] == [pair.key for pair in found.pairs]
    assert {
        key("t", "c"): NotCompared.ONLY_CURRENT,
        key("t", "a"): NotCompared.ONLY_BASELINE,
    } == found.aside


RUNS = st.lists(
    st.builds(
        RunRecord,
        domain=st.sampled_from("de"),
        task=st.sampled_from("tuvw"),
        trial=st.integers(1, 2),
        agent=st.sampled_from(["a", "b"]),
        task_hash=st.sampled_from(["", "x"]),
        outcome=st.sampled_from(Outcome),
    ),
    max_size=12,
    unique_by=lambda run: run.key,
)


@settings(max_examples=80)
@given(RUNS, RUNS, st.sets(st.tuples(st.just("d"), st.sampled_from("tu"))))
def test_no_task_is_dropped_without_a_word(
    baseline: list[RunRecord], current: list[RunRecord], skipped: set[tuple[str, str]]
) -> None:
    found = pair_runs(baseline, current, left_out=skipped)

    named = {*found.aside, *found.left_out, *(pair.key for pair in found.pairs)}
    assert {(run.domain, run.task) for run in [*baseline, *current]} == {one[:2] for one in named}
    assert found.tasks + len(found.left_out) == len(named)


@settings(max_examples=60)
@given(RUNS, RUNS)
def test_parts_of_the_pairs_are_the_whole(
    baseline: list[RunRecord], current: list[RunRecord]
) -> None:
    whole = pair_runs(baseline, current)
    parts = [whole.of(domain, agent) for domain in "de" for agent in ("", "a", "b")]

    assert len(whole.pairs) == sum(len(part.pairs) for part in parts)
    assert whole.aside == {name: why for part in parts for name, why in part.aside.items()}
    assert whole.outcomes == {name: all_ for part in parts for name, all_ in part.outcomes.items()}


@pytest.mark.parametrize(
    ("now", "why"),
    [
        pytest.param(task("t", NEVER, made=""), NotCompared.NO_EVIDENCE, id="never started"),
        pytest.param(
            task("t", NEVER, made="other"), NotCompared.NO_EVIDENCE, id="changed, not run"
        ),
        pytest.param(task("t", RIGHT, made="other"), NotCompared.CHANGED, id="changed"),
        pytest.param(task("t", Outcome.CRASH, made=""), None, id="died with its process"),
        pytest.param(
            [*task("t", RIGHT), *task("t", NEVER, made="")], None, id="one trial never started"
        ),
    ],
)
def test_only_a_task_that_is_known_to_be_another_has_changed(
    now: list[RunRecord], why: NotCompared | None
) -> None:
    found = pair_runs(task("t", RIGHT), now)

    assert why is found.aside.get(key("t"))
