"""Agents and tests that close what pytest writes to, or break what it calls.

A stream that is closed stays open; the session says so in one line, and fails. What is replaced by
something that does not work is not mended, and makes no session pass that lacks a run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_sopbench import load_session

AGENT = """
import builtins
import json
import os
import sys
import threading
import time

from habits import right

seen = 0


def broken(*args, **named):
    raise RuntimeError("mine")


def agent(inputs, tools):
    global seen
    answer = right(inputs, tools)
    seen += 1
    if seen == 3:
        {breaks}
    return answer
"""

# What is imported only where it is used must not be imported in a world that is broken.
pytestmark = pytest.mark.usefixtures("new_interpreters")

TASKS = 6
RUN = ("--sop-domain=lab", "--agent=meddler:agent", "--sop-fail-under=0.5")


@pytest.fixture
def meddler(pytester: pytest.Pytester, lab: Path) -> Callable[[str], None]:
    """Write an agent that is right on every task, and breaks something on the third."""

    def write(breaks: str) -> None:
        pytester.makepyfile(meddler=AGENT.format(breaks=breaks))

    return write


@pytest.mark.parametrize("name", ["builtins.__import__", "json.loads"])
def test_no_session_passes_that_lacks_a_run_whatever_function_its_agent_breaks(
    pytester: pytest.Pytester,
    meddler: Callable[[str], None],
    newest: Callable[[], Path | None],
    name: str,
) -> None:
    meddler(f"{name} = broken")

    result = pytester.runpytest_subprocess(*RUN)

    path = newest()
    saved = load_session(path) if path is not None else None
    is_whole = saved is not None and saved.finished and len(saved.records) == TASKS
    assert is_whole or result.ret != 0


@pytest.mark.parametrize("more", [(), ("--sop-timeout=0", "--sop-concurrency=1")])
def test_an_agent_that_closes_standard_output_fails_the_session_and_is_named_in_one_line(
    pytester: pytest.Pytester, meddler: Callable[[str], None], more: tuple[str, ...]
) -> None:
    meddler("sys.stdout.close(); sys.__stdout__.close()")

    result = pytester.runpytest_subprocess(*RUN, *more)

    assert 1 == result.ret
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        ["*sys.stdout was closed at *meddler.py:*, which fails the session: leave it open"]
    )
    result.stderr.no_fnmatch_line("*Traceback*")


def test_a_test_that_closes_standard_output_fails_the_session_and_is_named_in_one_line(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(
        """
        import sys

        import pytest

        @pytest.mark.sop(domain="lab")
        def test_grade(sop_run):
            sys.stdout.close()
        """
    )

    result = pytester.runpytest_subprocess("--agent=habits:right", pytester.path)

    assert 1 == result.ret
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        ["*sys.stdout was closed at *.py:*, which fails the session: leave it open"]
    )
    result.stderr.no_fnmatch_line("*Traceback*")


def test_standard_output_that_is_closed_after_the_last_test_is_kept_open_quietly(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makeconftest(
        """
        import sys

        def pytest_sessionfinish():
            sys.stdout.close()
        """
    )

    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:right")

    assert 0 == result.ret
    result.assert_outcomes(passed=6)
    result.stdout.no_fnmatch_line("*was closed at*")


@pytest.mark.parametrize("capture", ["capsys", "capfd"])
def test_a_test_that_captures_its_own_output_breaks_nothing(
    pytester: pytest.Pytester, lab: Path, capture: str
) -> None:
    pytester.makepyfile(
        test_output=f"""
        import sys
        import pytest

        @pytest.fixture
        def own(monkeypatch):
            with open("out.txt", "w") as file:
                monkeypatch.setattr(sys, "stdout", file)
                yield file
                monkeypatch.undo()

        def test_it({capture}):
            print("seen")
            assert "seen\\n" == {capture}.readouterr().out

        def test_with_a_file(own):
            print("kept")

        @pytest.mark.sop(domain="lab", agent="habits:right")
        def test_grade(sop_run, {capture}):
            sop_run.assert_correct()
        """
    )

    result = pytester.runpytest_inprocess()

    assert 0 == result.ret
    result.stdout.no_fnmatch_line("*was closed*")


def test_a_wrapper_that_works_and_a_frozen_clock_change_nothing(
    pytester: pytest.Pytester, meddler: Callable[[str], None]
) -> None:
    meddler("dumps = json.dumps; json.dumps = lambda *a, **k: dumps(*a, **k); time.time = float")

    result = pytester.runpytest_subprocess(*RUN)

    assert 0 == result.ret
    result.assert_outcomes(passed=TASKS)
