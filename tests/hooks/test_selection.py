"""Which tasks the options select: even over answers, and the same in every process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.domains import STRONG_FILE, data_hash, load_domain

RIGHT = ("--sop-domain=ward", "--agent=habits:right")


@pytest.fixture(autouse=True)
def ward(lab: Path, make_domain: Callable[..., Path]) -> Path:
    """A domain with 30 tasks, ten of each grade."""
    return make_domain("ward", tasks=30)


@pytest.fixture
def selected(pytester: pytest.Pytester) -> Callable[..., list[str]]:
    """Return the tasks that options select."""

    def collect(*options: str) -> list[str]:
        result = pytester.runpytest(*RIGHT, *options, "--collect-only", "-q")
        return [line.partition("::")[2] for line in result.outlines if "::" in line]

    return collect


def test_a_limit_takes_the_first_rows(selected: Callable[..., list[str]]) -> None:
    assert ["T_01", "T_02", "T_03"] == selected("--sop-sample=first:3")


def test_a_limit_holds_for_each_domain(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab,ward", RIGHT[1], "--sop-sample=first:2")

    result.assert_outcomes(passed=4, deselected=32)


def test_what_is_not_selected_is_deselected(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-sample=first:4")

    result.assert_outcomes(passed=4, deselected=26)
    result.stdout.fnmatch_lines(["sop: ward, 4 of 30 tasks, agent*", "TSR*correct, 4 of 4 *"])


def test_a_sample_is_even_over_the_expected_answers(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest(*RIGHT, "--sop-sample=9")

    grades = Counter(run["expected"]["grade"] for run in saved().runs)
    assert {"pass": 3, "retest": 3, "fail": 3} == grades


def test_a_sample_keeps_the_order_of_the_rows(selected: Callable[..., list[str]]) -> None:
    drawn = selected("--sop-sample=12")

    assert sorted(drawn) == drawn


def test_a_sample_is_drawn_with_seed_zero_unless_told(selected: Callable[..., list[str]]) -> None:
    assert selected("--sop-sample=9@0") == selected("--sop-sample=9")


def test_another_seed_draws_other_tasks(selected: Callable[..., list[str]]) -> None:
    assert selected("--sop-sample=9@1") != selected("--sop-sample=9@2")


def test_a_sample_of_all_is_all(selected: Callable[..., list[str]]) -> None:
    assert 30 == len(selected("--sop-sample=99"))


def test_every_process_draws_the_same_tasks(
    pytester: pytest.Pytester, selected: Callable[..., list[str]], saved: Callable[[], Any]
) -> None:
    alone = selected("--sop-sample=10@3")

    result = pytester.runpytest(*RIGHT, "--sop-sample=10@3", "-n2")

    result.assert_outcomes(passed=10)
    assert alone == [run["task"] for run in saved().runs]


@pytest.fixture
def strong(ward: Path) -> tuple[str, ...]:
    """A strong sample of the domain, in the order in which its tasks were chosen."""
    tasks = ("T_17", "T_03", "T_25", "T_08")
    sample = {
        "data": data_hash(load_domain(ward)),
        "mutants": 9,
        "unseen": 1,
        "tasks": tasks,
        "noticed": [5, 7, 8, 8],
    }
    (ward / STRONG_FILE).write_text(json.dumps(sample), encoding="utf-8")
    return tasks


def test_the_strong_sample_takes_its_tasks_in_the_order_of_the_rows(
    selected: Callable[..., list[str]], strong: tuple[str, ...]
) -> None:
    assert sorted(strong) == selected("--sop-sample=strong")


def test_a_part_of_the_strong_sample_takes_those_that_were_chosen_first(
    selected: Callable[..., list[str]], strong: tuple[str, ...]
) -> None:
    assert sorted(strong[:2]) == selected("--sop-sample=strong:2")


@pytest.mark.usefixtures("strong")
def test_a_session_of_the_strong_sample_runs_it_and_says_what_it_stands_for(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-sample=strong")

    result.assert_outcomes(passed=4, deselected=26)
    result.stdout.fnmatch_lines(["*4 of the 4 tasks of its strong sample fail 8 of the 8 mutants*"])


def test_a_domain_without_a_strong_sample_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-sample=strong")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the domain has no strong sample*"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        pytest.param(
            "--sop-sample=first:0",
            "*=first:0: write N, N@SEED, first:N, strong or strong:N*",
            id="zero",
        ),
        pytest.param("--sop-sample=first:-1", "*--sop-sample=first:-1:*", id="negative"),
        pytest.param("--sop-sample=first:many", "*--sop-sample=first:many:*", id="a word"),
        pytest.param("--sop-sample=first:1.5", "*--sop-sample=first:1.5:*", id="a fraction"),
        pytest.param("--sop-sample=first:²", "*=first:²:*", id="no digit"),
        pytest.param(
            "--sop-sample=0", "*=0: write N, N@SEED, first:N, strong or strong:N*", id="none"
        ),
        pytest.param("--sop-sample=first:3@1", "*first:3@1:*", id="a seed of the first"),
        pytest.param("--sop-sample=3@", "*--sop-sample=3@:*", id="no seed"),
        pytest.param("--sop-sample=3@x", "*--sop-sample=3@x:*", id="a seed that is a word"),
        pytest.param("--sop-sample=10%", "*--sop-sample=10%:*", id="a share"),
    ],
)
def test_a_bad_value_is_a_usage_error(pytester: pytest.Pytester, option: str, message: str) -> None:
    result = pytester.runpytest(*RIGHT, option)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])
