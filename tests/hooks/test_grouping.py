"""Failures of a zero-file run: the first ones in full, the others by what went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

WARD = "--sop-domain=ward"
CARELESS = "--agent=habits:always_pass"


@pytest.fixture(autouse=True)
def ward(lab: Path, make_domain: Callable[..., Path]) -> Path:
    return make_domain("ward", tasks=30)


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two-workers")]
)
def test_failures_after_the_first_five_are_grouped(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(WARD, CARELESS, *workers)

    assert 5 == sum("expected '" in line for line in result.outlines)
    result.stdout.fnmatch_lines(
        [
            "FAILED *",
            "and 15 more failures (expected -> given: tasks)",
            "grade '*' -> 'pass': T_*, T_*",
            "-v prints each of them in full",
            "*SOP: ward, agent habits:always_pass*",
        ]
    )
    result.assert_outcomes(passed=10, failed=20)


def test_right_answers_that_break_a_rule_are_grouped_by_the_rule(
    pytester: pytest.Pytester, ward: Path
) -> None:
    rule = {"id": "once", "severity": "must", "at_most": {"measure": 1}}
    path = ward / "metadata.json"
    metadata = json.loads(path.read_text())
    path.write_text(json.dumps({**metadata, "contract": {"rules": [rule]}}))
    pytester.makepyfile(
        twice="""
        import habits

        def agent(inputs, tools):
            tools.call("measure", sample_id=inputs["sample_id"])
            return habits.right(inputs, tools)
        """
    )

    result = pytester.runpytest(WARD, "--agent=twice:agent")

    assert 5 == sum(line.startswith("rule ") for line in result.outlines)
    result.stdout.fnmatch_lines(
        ["and 25 more failures", "correct, but broke once (must): T_*, T_* and * more"]
    )
    result.assert_outcomes(failed=30)


@pytest.mark.parametrize("option", ["-v", "--tb=short"])
def test_who_asks_for_all_failures_gets_them(pytester: pytest.Pytester, option: str) -> None:
    result = pytester.runpytest(WARD, CARELESS, option)

    assert 20 == sum(line.startswith("FAILED") for line in result.outlines)
    result.stdout.no_fnmatch_line("and * more failures*")


def test_failures_of_own_tests_are_never_grouped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own="def test_own(sop_run): sop_run.assert_correct()")

    result = pytester.runpytest(WARD, CARELESS, "test_own.py")

    assert 20 == sum(line.startswith("FAILED") for line in result.outlines)


def test_a_line_for_each_failure_is_a_line(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:loses_second", "--tb=line")

    printed = result.outlines[result.outlines.index(f"{' FAILURES ':=^80}") + 1 :]
    # xdist writes a line of its own before each failure.
    line, rest = [one for one in printed if not one.startswith("[gw")][:2]
    assert line.endswith("/lab/data.csv:3: wrong: grade is 'unknown', not 'fail'")
    assert "short test summary" in rest
