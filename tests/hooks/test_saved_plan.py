"""What a saved session tells of its plan, so that what is decided of the file later is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench import load_session
from pytest_sopbench.cli import main
from tests.builders.saved import planned_records

pytestmark = pytest.mark.usefixtures("lab")

RIGHT = ("--sop-domain=lab", "--agent=habits:right")

BOTH = pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)

TWO_AGENTS = """
import pytest

@pytest.mark.sop(domain="lab", agent="habits:right")
def test_right(sop_run):
    pass

@pytest.mark.sop(domain="lab", agent="deadly:agent")
def test_deadly(sop_run):
    pass
"""
DEADLY = """
import os, signal

def agent(inputs):
    if inputs["sample_id"].endswith("4"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"grade": "pass"}
"""


def sopbench(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def save_shards(pytester: pytest.Pytester, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Save two shards of the domain, or of what their options name."""
    for number, words in ((1, first), (2, second)):
        domain = () if "sop-domain" in " ".join(words) else ("--sop-domain=lab",)
        shard = (f"--sop-shard={number}/2", f"--sop-save=part{number}")
        pytester.runpytest("--agent=habits:right", *domain, *words, *shard)


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        pytest.param(("-k", "T_01 or T_02"), "-k took ", id="some"),
        pytest.param(("-k", "nothing"), "-k took ", id="all"),
        pytest.param(("lab::T_01",), "node ids or another plugin took ", id="an id"),
    ],
)
def test_a_shard_that_was_narrowed_is_not_merged(
    pytester: pytest.Pytester, taken: tuple[str, ...], said: str
) -> None:
    save_shards(pytester, taken, ())

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "part1.jsonl: shard 1/2 is not all of its part" in result.output
    assert said in result.output


def test_a_shard_without_some_trials_is_not_merged(pytester: pytest.Pytester) -> None:
    trials = ("--sop-trials=2",)
    save_shards(pytester, trials, (*trials, "-k", "not t2"))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "part2.jsonl: shard 2/2 is not all of its part" in result.output
    assert "selected runs away" in result.output


def test_shards_of_tasks_that_are_named_differently_are_not_merged(
    pytester: pytest.Pytester,
) -> None:
    save_shards(pytester, (), ("--sop-domain=lab::T_01", "--sop-domain=lab::T_02"))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 2 == result.exit_code
    assert "'none' and '--sop-domain=lab::T_01 --sop-domain=lab::T_02'" in result.output, (
        result.output
    )


def test_shards_of_the_same_named_tasks_are_merged(pytester: pytest.Pytester) -> None:
    save_shards(
        pytester,
        ("--sop-domain=lab::T_01", "--sop-domain=lab::T_02"),
        ("--sop-domain=lab::T_02", "--sop-domain=lab::T_01"),
    )

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 0 == result.exit_code, result.output


def test_a_task_is_not_named_where_its_domain_is(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest(*RIGHT, "--sop-domain=lab::T_01")

    assert [] == saved().header["options"]["selection"]


def test_an_empty_shard_of_few_tasks_is_merged(pytester: pytest.Pytester) -> None:
    """The option selects no task in one of the shards, and nothing took any away."""
    named = ("--sop-domain=lab::T_01",)
    save_shards(pytester, named, (*named, "-n2"))

    result = sopbench("merge", "part1", "part2", "--out", "all")

    assert 0 == result.exit_code, result.output


@BOTH
def test_a_session_that_was_narrowed_is_not_gated_afterwards(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """It had no gate, so nothing was to be said of it then."""
    result = pytester.runpytest(*RIGHT, "-k", "T_01", *workers)

    gated = sopbench("gate", "last", "--gate", "tsr=0.9")
    assert 0 == result.ret
    assert "evaluated" not in result.stdout.str()
    assert 3 == gated.exit_code
    assert "-k took 5 of 6 selected tasks away" in gated.output


def test_a_killed_session_lacks_the_runs_of_each_agent(
    pytester: pytest.Pytester, newest: Callable[[], Path]
) -> None:
    """The first agent has run every task, which says nothing of the second."""
    pytester.makepyfile(deadly=DEADLY, test_two=TWO_AGENTS)

    pytester.runpytest_subprocess("-p", "no:randomly", "test_two.py")

    session = newest()
    dead = sopbench("gate", session.stem, "--gate", "tsr=0.1")
    session.with_suffix(".running").unlink()
    gated = sopbench("gate", session.stem, "--gate", "tsr=0.1")
    outcomes = [one.outcome.value for one in planned_records(load_session(session))]
    assert 12 == len(outcomes)
    assert {"crash": 1, "not_run": 2} == {
        name: outcomes.count(name) for name in ("crash", "not_run")
    }
    assert (1, 3) == (dead.exit_code, gated.exit_code), gated.output


def test_a_session_of_its_one_agent_does_not_repeat_its_plan(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest(*RIGHT)

    assert {} == saved().header["domains"]["lab"]["agents"]


@BOTH
def test_the_plan_of_each_agent_is_saved(
    pytester: pytest.Pytester, saved: Callable[[], Any], workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(deadly="def agent(inputs): return {}", test_two=TWO_AGENTS)

    pytester.runpytest("test_two.py", "--sop-trials=2", "--sop-sample=first:1", *workers)

    lab = saved().header["domains"]["lab"]
    plan: dict[str, object] = {"planned": ["T_01"], "trials": 2, "some_trials": {}}
    assert {"habits:right": plan, "deadly:agent": plan} == lab["agents"]
    assert plan == {name: lab[name] for name in plan}
