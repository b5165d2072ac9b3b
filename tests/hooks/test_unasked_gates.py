"""Gates on some runs of a session, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED = 0, 1
GATE_FAILS = 1


def test_misses_of_a_domain_fail_where_gates_are_asked_of_another_alone(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)

    result = pytester.runpytest(
        "--sop-domain=lab,clinic", "--sop-agent=habits:wrong", "--sop-gate=lab:tsr=0"
    )

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lab: TSR >= 0% holds*",
            "gate   clinic: runs that are not correct, if no gate is checked <= 0 does not",
        ]
    )


def test_an_agent_with_misses_that_no_gate_names_is_told(pytester: pytest.Pytester) -> None:
    agents = ("--agent=good=habits:right", "--agent=bad=habits:wrong")

    result = pytester.runpytest("--sop-domain=lab", *agents, "--sop-gate=tsr=1@good")

    assert OK == result.ret
    result.stdout.fnmatch_lines(["*lab (bad): no gate is checked; 6 of 6 are not correct"])


def test_the_saved_session_comes_to_the_same(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)
    pytester.runpytest("--sop-domain=lab,clinic", "--sop-agent=habits:wrong")

    result = CliRunner().invoke(main, ["gate", "last", "--gate=lab:tsr=0"])

    assert GATE_FAILS == result.exit_code
    assert "clinic: runs that are not correct" in " ".join(result.output.split())


def test_gates_of_the_configuration_that_others_replace_are_named(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nsop_gate = tsr=0.9 ecr=0.5")

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=habits:wrong", "--sop-gate=ecr=0.5"
    )

    assert OK == result.ret
    result.stdout.fnmatch_lines(["*of the configuration, not checked: tsr=0.9*"])


def test_gates_of_the_configuration_that_are_asked_are_not_named_as_replaced(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nsop_gate = tsr=0.9")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert OK == result.ret
    result.stdout.no_fnmatch_line("*not checked*")


def test_a_session_whose_misses_no_gate_bounds_fails_and_becomes_no_baseline(
    pytester: pytest.Pytester,
) -> None:
    create = ("--sop-compare=main,create", "--sop-gate=lost=0")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:loses_second", *create)

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["*main.jsonl is not written: a gate does not hold: runs that are*"]
    )


@pytest.mark.parametrize("gate", ["lost=0", "drop=0.1", "p=0.05"])
def test_where_no_task_is_right_in_the_baseline_no_gate_says_that_none_was_lost(
    pytester: pytest.Pytester, gate: str
) -> None:
    wrong = ("--sop-domain=lab", "--sop-agent=habits:wrong")
    pytester.runpytest(*wrong, "--sop-save=main")

    result = pytester.runpytest(*wrong, "--sop-compare=main", f"--sop-gate={gate}")

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(["gate*inconclusive*"])


def test_entries_of_a_domain_that_nobody_knows_are_named(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    """A domain that is known and not selected is passed over, as before."""
    make_domain("clinic", tasks=3)
    pytester.path.joinpath("sop_tasks.toml").write_text(
        '["away/T_01"]\nmust_pass = true\n["clinic/T_01"]\nmust_pass = true\n'
    )

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert OK == result.ret
    result.stdout.fnmatch_lines(["*sop_tasks.toml: no domain is called away, so*not checked*"])
    result.stdout.no_fnmatch_line("*called clinic*")


@pytest.mark.parametrize("name", ["lad", "LAB"])
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "two workers"])
def test_a_task_that_must_pass_of_a_misspelt_domain_ends_the_session(
    pytester: pytest.Pytester, name: str, workers: tuple[str, ...]
) -> None:
    pytester.path.joinpath("sop_tasks.toml").write_text(f'["{name}/T_01"]\nmust_pass = true\n')

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", *workers)

    assert OK != result.ret
    told = f"{result.stdout}{result.stderr}"
    assert f"no domain is called {name}, and a task of it must pass" in told
    assert "did you mean 'lab'?" in told
    assert 1 == told.count(f"no domain is called {name}")
