"""Two sessions compared: tiers, tests, changes, and what is counted beside."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, RunRecord
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import (
    ComparedSession,
    ComparisonResult,
    GroupComparison,
    SessionComparison,
    Setup,
    SetupChange,
    comparison_to_json,
    setup_changes,
)
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.statistics import mcnemar, newcombe
from pytest_sopbench._reports.terminal.comparison import setup_lines

RIGHT, WRONG, ERROR = Outcome.CORRECT, Outcome.WRONG, Outcome.ERROR


def runs(
    outcomes: Iterable[Outcome], *, trials: int = 1, domain: str = "d", agent: str = "a"
) -> list[RunRecord]:
    """Runs with these outcomes, so many in a row for each task."""
    return [
        RunRecord(
            domain=domain,
            task=f"t{number // trials}",
            trial=number % trials + 1,
            agent=agent,
            outcome=outcome,
        )
        for number, outcome in enumerate(outcomes)
    ]


def sessions(
    before: list[RunRecord], now: list[RunRecord], *, judging: str = ""
) -> SessionComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="current", records=now, judging=judging),
    )


def pooled(before: list[RunRecord], now: list[RunRecord]) -> GroupComparison:
    return sessions(before, now).pooled


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(sorted(set(Outcome) - {Outcome.UNAVAILABLE, Outcome.NOT_RUN})),
        min_size=1,
        max_size=24,
    ),
    st.integers(1, 3),
)
def test_a_session_differs_in_nothing_from_itself(outcomes: list[Outcome], trials: int) -> None:
    same = runs(outcomes, trials=trials)

    found = pooled(same, same)

    assert found.tier is ComparisonResult.NO_DIFFERENCE
    assert found.lost == found.gained == ()
    assert (found.discordant, found.test.p, found.kinds) == (0, 1.0, {})


@pytest.mark.parametrize(
    ("lost", "gained", "same", "tier"),
    [
        pytest.param(0, 0, 9, ComparisonResult.NO_DIFFERENCE, id="none"),
        pytest.param(5, 0, 900, ComparisonResult.NOT_ENOUGH, id="five lost"),
        pytest.param(6, 0, 900, ComparisonResult.REGRESSION, id="six lost"),
        pytest.param(0, 6, 0, ComparisonResult.IMPROVEMENT, id="six gained"),
        pytest.param(2, 5, 200, ComparisonResult.NO_DIFFERENCE, id="lost 2 and gained 5"),
        pytest.param(3, 2, 200, ComparisonResult.NOT_ENOUGH, id="lost 3 and gained 2"),
        pytest.param(40, 20, 100, ComparisonResult.REGRESSION, id="lost 40 and gained 20"),
    ],
)
def test_tiers_of_one_trial(lost: int, gained: int, same: int, tier: ComparisonResult) -> None:
    before = runs([RIGHT] * lost + [WRONG] * gained + [RIGHT] * same)
    now = runs([WRONG] * lost + [RIGHT] * gained + [RIGHT] * same)

    found = pooled(before, now)

    assert tier is found.tier
    assert (lost, gained) == (len(found.lost), len(found.gained))
    assert found.test.p == mcnemar(lost, gained)
    assert (found.discordant, found.needed) == (lost + gained, 6)


def test_trials_show_a_fall_that_loses_no_task() -> None:
    before = runs([RIGHT] * 50, trials=5)
    now = runs([RIGHT, RIGHT, RIGHT, RIGHT, WRONG] * 10, trials=5)

    found = pooled(before, now)

    assert found.tier is ComparisonResult.REGRESSION
    assert found.lost == ()
    assert found.test.p == pytest.approx(2 / 2**10)


def test_trials_of_unequal_number_are_compared_by_their_rates() -> None:
    before = runs([RIGHT] * 12, trials=2)
    now = runs([RIGHT, RIGHT, WRONG] * 6, trials=3)

    found = pooled(before, now)

    assert found.changes["tsr"].difference == pytest.approx(-1 / 3)
    assert found.test.p == pytest.approx(2 / 2**6)
    assert found.kinds == {}


def test_sessions_judged_by_other_rules_are_not_comparable() -> None:
    same = runs([RIGHT] * 9)

    assert sessions(same, same, judging="other").pooled.tier is ComparisonResult.NOT_COMPARABLE


def test_no_task_in_common_is_not_enough() -> None:
    found = pooled(runs([RIGHT] * 9), [])

    assert found.tier is ComparisonResult.NOT_ENOUGH
    assert (found.paired, found.tasks) == (0, 9)
    assert found.changes["tsr"].difference is None
    assert not found.fell


def test_changes_are_those_of_the_paired_tasks() -> None:
    before = runs([RIGHT, RIGHT, WRONG, ERROR, RIGHT])
    now = runs([RIGHT, WRONG, RIGHT, ERROR, Outcome.UNAVAILABLE])

    found = pooled(before, now)

    tsr, ecr, c_tsr = (found.changes[name] for name in ("tsr", "ecr", "c_tsr"))
    assert (0.5, 0.5, newcombe(1, 1, 1, 1), "Newcombe") == (
        tsr.before,
        tsr.after,
        tsr.bounds,
        tsr.method,
    )
    assert (0.75, 0.75) == (ecr.before, ecr.after)
    assert (2 / 3, 2 / 3, "bootstrap over tasks") == (c_tsr.before, c_tsr.after, c_tsr.method)
    assert found.changes["grounded_tsr"].difference is None
    assert {Outcome.UNAVAILABLE: 1, RIGHT: 2, WRONG: 1, ERROR: 1} == found.outcomes


def test_grounded_tsr_changes_where_both_sessions_require_tools() -> None:
    before = [replace(run, grounded=True) for run in runs([RIGHT] * 4)]
    now = [replace(run, grounded=number > 0) for number, run in enumerate(runs([RIGHT] * 4))]

    assert pooled(before, now).changes["grounded_tsr"].difference == -0.25
    assert pooled(before, runs([RIGHT] * 4)).changes["grounded_tsr"].difference is None


def test_an_interval_over_trials_holds_its_change() -> None:
    before = runs([RIGHT] * 60, trials=3)
    now = runs([RIGHT, RIGHT, WRONG, RIGHT, RIGHT, RIGHT] * 10, trials=3)

    change = pooled(before, now).changes["tsr"]

    assert change.difference == pytest.approx(-1 / 6)
    assert change.bounds is not None
    assert change.bounds[0] < -1 / 6 < change.bounds[1] < 0
    assert change == pooled(before, now).changes["tsr"]


def test_trials_that_all_changed_alike_have_no_interval() -> None:
    """A bootstrap without spread would claim certainty."""
    found = pooled(runs([RIGHT] * 6, trials=3), runs([RIGHT, WRONG, WRONG] * 2, trials=3))

    assert found.changes["tsr"].bounds is None


def test_nothing_completed_has_no_c_tsr() -> None:
    change = pooled(runs([ERROR] * 9), runs([RIGHT] * 9)).changes["c_tsr"]

    assert (None, 1.0, None, None) == (
        change.before,
        change.after,
        change.difference,
        change.bounds,
    )


def test_changed_outcomes_are_counted_by_kind_the_most_frequent_first() -> None:
    before = runs([RIGHT, WRONG, WRONG, RIGHT, RIGHT])
    now = runs([WRONG, ERROR, ERROR, RIGHT, WRONG])

    kinds = pooled(before, [*now[:4], replace(now[4], outcome=RIGHT)]).kinds

    assert [((WRONG, ERROR), 2), ((RIGHT, WRONG), 1)] == list(kinds.items())


def test_what_the_runs_took_is_of_the_paired_tasks_and_unknown_is_not_0() -> None:
    before = [replace(run, duration_s=1.0, usage=Usage(cost_usd=0.25)) for run in runs([RIGHT] * 3)]
    now = [replace(run, duration_s=3.0) for run in runs([RIGHT, RIGHT, Outcome.UNAVAILABLE])]

    found = pooled(before, now)

    assert (1.0, 3.0) == (found.baseline.latency_median, found.current.latency_median)
    assert (2, 2) == (found.baseline.runs, found.current.runs)
    assert found.baseline.cost_per_correct == 0.25
    assert found.current.cost_per_correct is None


def answering(labels: str, *, domain: str = "d") -> list[RunRecord]:
    """Runs of tasks that expect A and B in turn."""
    found: list[RunRecord] = []
    for number, (run, actual) in enumerate(
        zip(runs([RIGHT] * len(labels), domain=domain), labels, strict=True)
    ):
        expected = "AB"[number % 2]
        wrong = Mismatch(field="class", expected=expected, actual=actual, why="different")
        found.append(
            replace(
                run,
                expected={"class": expected},
                outcome=RIGHT if expected == actual else WRONG,
                mismatches=() if expected == actual else (wrong,),
            )
        )
    return found


def test_a_collapse_that_the_baseline_had_not_is_told() -> None:
    before, now = answering("AB" * 15), answering("AA" * 15)

    (collapse,) = pooled(before, now).collapses

    assert (["A"], {"B": 15}) == (list(collapse.favoured), collapse.never)
    assert pooled(now, now).collapses == ()
    assert pooled(now, before).ended_collapses == (collapse,)


def test_each_domain_is_compared_and_all_tasks_together() -> None:
    before = [*runs([RIGHT] * 6, domain="one"), *runs([RIGHT] * 4, domain="two")]
    now = [*runs([WRONG] * 6, domain="one"), *runs([RIGHT] * 4, domain="two")]

    found = sessions(before, now)

    assert {"one": ComparisonResult.REGRESSION, "two": ComparisonResult.NO_DIFFERENCE} == {
        name: one.tier for name, one in found.groups.items()
    }
    assert (10, 6, 2) == (found.pooled.paired, len(found.pooled.lost), found.pooled.groups)


def test_labels_of_two_domains_do_not_mix() -> None:
    before = [*answering("AB" * 15), *answering("AB" * 15, domain="e")]
    now = [*answering("AA" * 15), *answering("BB" * 15, domain="e")]

    found = sessions(before, now)

    assert found.pooled.collapses == sessions(now, before).pooled.ended_collapses == ()
    assert all(one.collapses for one in found.groups.values())


def test_several_agents_are_compared_one_by_one() -> None:
    before = [*runs([RIGHT] * 6), *runs([RIGHT] * 6, agent="b")]
    now = [*runs([WRONG] * 6), *runs([RIGHT] * 6, agent="b")]

    found = sessions(before, now)

    assert {"d (a)": 6, "d (b)": 0} == {name: len(one.lost) for name, one in found.groups.items()}


def test_tasks_that_may_fail_are_named_and_prove_nothing() -> None:
    before, now = runs([RIGHT] * 9), runs([WRONG] * 6 + [RIGHT] * 3)

    found = compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="current", records=now),
        may_fail={("d", f"t{number}") for number in range(6)},
    ).pooled

    assert found.tier is ComparisonResult.NO_DIFFERENCE
    assert (3, 6) == (found.tasks, len(found.may_fail))


def test_a_comparison_is_json() -> None:
    before = [*answering("AB" * 15), *runs([RIGHT], domain="gone")]
    now = [*answering("AA" * 14 + "AB"), *runs([Outcome.UNAVAILABLE], domain="more")]

    data = json.loads(json.dumps(comparison_to_json(sessions(before, now)), allow_nan=False))

    assert ("main", ["d", "more", "gone"]) == (data["baseline"], list(data["groups"]))
    assert "regression" == data["groups"]["d"]["tier"]
    assert [{"domain": "more", "task": "t0", "why": "only in this session"}] == (
        data["groups"]["more"]["aside"]
    )
    assert [{"before": "correct", "now": "wrong", "tasks": 14}] == data["pooled"]["kinds"]
    assert None is data["groups"]["gone"]["changes"]["tsr"]["difference"]
    assert "A" in data["groups"]["d"]["collapses"][0]["favoured"]


def test_rates_of_the_same_runs_have_the_same_interval() -> None:
    """TSR and C-TSR, where each run gave an answer."""
    changes = sessions(runs([RIGHT] * 12), runs([WRONG, *[RIGHT] * 11])).pooled.changes

    assert changes["tsr"] == changes["c_tsr"]


# What differs in the agents themselves, as a comparison names it.

BEFORE = Setup(
    agent="react",
    model="openai/a",
    prompt="react.md.jinja",
    prompt_hash="3f2a000000000000",
    settings={"temperature": "0", "max_turns": "50"},
)


def told(now: Setup, before: Setup = BEFORE) -> list[str]:
    changes = setup_changes({"a": before}, {"b": now})
    return [f"{one.what}: {one.before} -> {one.now}" for one in changes]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        pytest.param(BEFORE, [], id="nothing"),
        pytest.param(
            replace(BEFORE, prompt_hash="91bc000000000000"),
            ["prompt react.md.jinja: 3f2a -> 91bc"],
            id="prompt",
        ),
        pytest.param(
            replace(BEFORE, prompt_hash="3f2a111111111111"),
            ["prompt react.md.jinja: 3f2a0000 -> 3f2a1111"],
            id="prompt-that-begins-alike",
        ),
        pytest.param(
            replace(BEFORE, prompt="mine.jinja", prompt_hash="91bc000000000000"),
            ["prompt: react.md.jinja 3f2a -> mine.jinja 91bc"],
            id="another-file",
        ),
        pytest.param(
            replace(BEFORE, prompt="copy.jinja"), [], id="another-file-with-the-same-text"
        ),
        pytest.param(
            replace(BEFORE, model="openai/b"), ["model: openai/a -> openai/b"], id="model"
        ),
        pytest.param(
            replace(BEFORE, settings={"max_turns": "50", "seed": "7"}),
            ["temperature: 0 -> not set", "seed: not set -> 7"],
            id="settings",
        ),
        pytest.param(replace(BEFORE, settings=None, agent="", model=""), [], id="unknown-there"),
        pytest.param(
            Setup(agent="mine:agent", settings={"x": "1"}),
            ["agent: react -> mine:agent"],
            id="no-agent-of-ours",
        ),
    ],
)
def test_what_differs_is_named(now: Setup, said: list[str]) -> None:
    assert said == told(now)


def test_several_agents_are_compared_by_name() -> None:
    now = {"a": replace(BEFORE, model="openai/b"), "new": BEFORE}

    changes = setup_changes({"a": BEFORE, "old": BEFORE}, now)

    assert (SetupChange(agent="a", what="model", before="openai/a", now="openai/b"),) == changes


def test_lines_are_short_enough_for_a_terminal() -> None:
    now = replace(BEFORE, prompt_hash="91bc000000000000", model="openai/gpt-5-mini", settings={})

    lines = [*setup_lines(setup_changes({"a": BEFORE}, {"a": now}))]

    assert lines == [
        "setup  model: openai/a -> openai/gpt-5-mini,",
        "       prompt react.md.jinja: 3f2a -> 91bc, temperature: 0 -> not set,",
        "       max_turns: 50 -> not set",
    ]
