"""Which tasks of two sessions are compared, and which are set aside by name."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core import statistics as paired_tests
from pytest_sopbench._core.comparison import NotCompared, fell_by_half, pair_runs
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.statistics import holm, needed_for, newcombe, paired_test, wilson

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
    assert [False, True] == [fell_by_half(pair.counts) for pair in found.pairs]


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

    turned = (*pair.counts[2:], *pair.counts[:2])
    assert (lost, gained) == (fell_by_half(pair.counts), fell_by_half(turned))


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
    parts = [whole.of(agent, domain) for domain in "de" for agent in ("", "a", "b")]

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


# Tests and intervals of paired tasks, against scipy, brute force and simulation.

CLOSE = {"rel": 1e-9, "abs": 1e-9}
DIFFERENCES = st.lists(st.integers(-5, 5), min_size=1, max_size=9)


def brute_force(differences: list[int]) -> float:
    signed = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return sum(abs(one) >= abs(sum(differences)) for one in signed) / len(signed)


@settings(max_examples=80, deadline=None)
@given(DIFFERENCES)
def test_p_is_the_share_of_all_signs_that_lead_as_far(differences: list[int]) -> None:
    assert brute_force(differences) == pytest.approx(paired_test(differences).p, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(DIFFERENCES.filter(any).map(lambda drawn: [*drawn, 0]))
def test_p_agrees_with_scipy(differences: list[int]) -> None:
    def total(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        return np.sum(one - other, axis=axis)

    expected = scipy.stats.permutation_test(
        (np.array(differences), np.zeros(len(differences), dtype=int)),
        total,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )

    assert expected.pvalue == pytest.approx(paired_test(differences).p, **CLOSE)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 700), st.integers(0, 700), st.integers(1, 6))
def test_of_one_trial_it_is_the_exact_mcnemar_test(lost: int, gained: int, unit: int) -> None:
    found = paired_test([-unit] * lost + [unit] * gained + [0] * 9)

    expected = scipy.stats.binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert expected == pytest.approx(found.p, **CLOSE)
    assert "exact McNemar" == found.source


@given(DIFFERENCES)
def test_it_does_not_matter_which_session_came_first(differences: list[int]) -> None:
    turned = [-one for one in differences]

    assert paired_test(differences) == paired_test(turned)
    assert paired_test(differences) == paired_test(differences[::-1])


def test_a_long_list_is_drawn_and_comes_close_to_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(3)  # noqa: S311 - a simulation
    differences = [random.choice([-2, -1, -1, 0, 1, 1]) for _ in range(300)]
    whole = paired_test(differences)
    monkeypatch.setattr(paired_tests, "_EXACT_STEPS", 0)

    drawn = paired_test(differences)

    assert "exact permutation" == whole.source
    assert "permutation, 99999 draws, seed 0" == drawn.source
    spread = sqrt(whole.p * (1 - whole.p) / paired_tests.DRAWS)
    assert drawn.p == pytest.approx(whole.p, abs=4 * spread)
    assert drawn == paired_test(differences)


def test_a_p_that_was_drawn_is_never_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_tests, "_EXACT_STEPS", 0)

    assert paired_test([-2] * 100 + [-1] * 100).p == 1e-5


def test_thousands_of_tasks_are_drawn() -> None:
    """A float has no room for 2**-1100, so the whole distribution would come out as 0."""
    found = paired_test([-1, 1] * 4_000 + [2, -2] * 500)

    assert "permutation, 99999 draws, seed 0" == found.source
    assert found.p == 1.0
    assert paired_test([-1] * 1_500 + [-2]).p == 1e-5


def test_nothing_that_differs_is_no_difference() -> None:
    assert paired_test([0, 0]).p == paired_test([]).p == 1.0


@pytest.mark.parametrize(
    ("alpha", "needed"),
    [
        pytest.param(0.05, 6, id="usual"),
        pytest.param(0.01, 8, id="strict"),
        pytest.param(0.5, 3, id="at the very bound, which is not below it"),
        pytest.param(1.0, 2, id="anything"),
    ],
)
def test_so_many_tasks_must_differ(alpha: float, needed: int) -> None:
    assert needed == needed_for(alpha)
    assert paired_test([-1] * needed).p < alpha <= paired_test([-1] * (needed - 1)).p


@pytest.mark.parametrize("alpha", [0.0, -1.0, 1.5])
def test_a_bound_that_no_p_has_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="a bound on p"):
        needed_for(alpha)


COUNTS = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


@settings(max_examples=80)
@given(COUNTS)
def test_the_interval_holds_the_change(counts: tuple[int, int, int, int]) -> None:
    _, lost, gained, _ = counts
    bounds = newcombe(*counts)

    assert bounds is not None
    assert -1 <= bounds[0] <= (gained - lost) / sum(counts) + 1e-12
    assert (gained - lost) / sum(counts) - 1e-12 <= bounds[1] <= 1


@settings(max_examples=80)
@given(COUNTS)
def test_the_interval_is_turned_where_the_sessions_are(counts: tuple[int, int, int, int]) -> None:
    both, lost, gained, neither = counts
    one, other = newcombe(both, lost, gained, neither), newcombe(both, gained, lost, neither)

    assert one is not None
    assert other is not None
    assert one == pytest.approx((-other[1], -other[0]))


def test_sessions_that_have_nothing_in_common_are_as_two_samples() -> None:
    """Without correlation the formula is Newcombe's for independent rates, of Wilson's bounds."""
    found = newcombe(0, 20, 0, 0)

    low, _ = wilson(20, 20) or (0, 0)
    _, high = wilson(0, 20) or (0, 0)
    assert found == pytest.approx((-1.0, -1 + sqrt((1 - low) ** 2 + high**2)))


@pytest.mark.parametrize(
    ("before", "both"), [pytest.param(0.9, 0.85, id="alike"), pytest.param(0.6, 0.4, id="unlike")]
)
def test_the_interval_holds_the_truth_in_about_95_of_100(before: float, both: float) -> None:
    random, tasks, sessions = Random(7), 120, 800  # noqa: S311 - a simulation
    gained = 0.3 * (1 - before)
    kinds = [both, before - both, gained, 1 - before - gained]
    truth = kinds[2] - kinds[1]
    held = 0

    for _ in range(sessions):
        drawn = random.choices(range(4), kinds, k=tasks)
        low, high = newcombe(*(drawn.count(kind) for kind in range(4))) or (0, 0)
        held += low <= truth <= high

    assert 0.93 <= held / sessions <= 0.985


def test_no_task_has_no_interval() -> None:
    assert newcombe(0, 0, 0, 0) is None


# Holm's adjustment of several p, against values worked out by hand and its laws.

_PS = st.lists(st.floats(0, 1), max_size=8)


@pytest.mark.parametrize(
    ("ps", "adjusted"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.03], [0.03], id="one"),
        pytest.param([0.01, 0.04], [0.02, 0.04], id="two"),
        pytest.param([0.04, 0.01, 0.03], [0.06, 0.03, 0.06], id="none-below-one-before-it"),
        pytest.param([0.5, 0.6, 0.4], [1.0, 1.0, 1.0], id="none-above-1"),
    ],
)
def test_it_gives_what_a_hand_works_out(ps: list[float], adjusted: list[float]) -> None:
    assert adjusted == pytest.approx(holm(ps))


@given(_PS)
def test_it_never_makes_a_p_smaller_and_keeps_their_order(ps: list[float]) -> None:
    adjusted = holm(ps)

    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    ordered = sorted(zip(ps, adjusted, strict=True))
    assert [q for _, q in ordered] == sorted(adjusted)


@given(_PS)
def test_it_rejects_no_more_than_no_adjustment_and_no_less_than_bonferroni(
    ps: list[float],
) -> None:
    assert all(q <= min(1.0, len(ps) * p) + 1e-12 for p, q in zip(ps, holm(ps), strict=True))


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])


# What a comparison can see, by simulation, and that the page about it says the same.

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/what-a-comparison-can-see.md"
CELLS = [(50, 1), (50, 3), (50, 5), (100, 1), (100, 3), (200, 1), (200, 3)]


@pytest.fixture(scope="module")
def called_regressions() -> Callable[..., float]:
    return runpy.run_path(str(ROOT / "benchmarks/power.py"))["called_regressions"]


@pytest.mark.parametrize("trials", [1, 3])
def test_an_unchanged_agent_is_hardly_ever_called_a_regression(
    called_regressions: Callable[..., float], trials: int
) -> None:
    share = called_regressions(tasks=200, trials=trials, loss=0.0, sessions=500)

    assert share <= 0.05


@pytest.mark.parametrize(("trials", "least"), [(1, 0.55), (3, 0.95)])
def test_an_agent_that_loses_8_points_is_found(
    called_regressions: Callable[..., float], trials: int, least: float
) -> None:
    share = called_regressions(tasks=200, trials=trials, loss=0.08, sessions=500)

    assert share >= least


def losses() -> dict[tuple[int, int], int]:
    """Read the page's table: (tasks, trials) to the least loss in points."""
    rows = re.findall(
        r"^\| ([\d,]+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {
        (int(tasks.replace(",", "")), trials): int(loss)
        for tasks, *row in rows
        for trials, loss in zip((1, 3, 5), row, strict=True)
    }


@pytest.mark.parametrize(("tasks", "trials"), CELLS)
def test_the_page_says_what_can_be_seen(
    called_regressions: Callable[..., float], tasks: int, trials: int
) -> None:
    """With other random numbers than those of the page, so within what chance leaves open."""
    loss = losses()[tasks, trials] / 100

    seen, hardly = (
        called_regressions(tasks=tasks, trials=trials, loss=one, sessions=250, seed=1)
        for one in (loss, loss - 0.02)
    )

    assert seen >= 0.72
    assert hardly < 0.84
