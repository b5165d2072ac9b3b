"""Sessions whose controller dies before it has read the first message of a test.

Workers with many runs in flight end runs, and write them down, while the controller still has all
their messages before it. Here it reads none: it stands still, until a worker that has ended a run
kills it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_sopbench import load_session

CONFTEST = """
import os
import threading

import pytest

from pytest_sopbench._sessions.journal import Journal

ends = Journal.end


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart():
    if "PYTEST_XDIST_WORKER" not in os.environ and "SIGNAL" in os.environ:
        threading.Event().wait(60)


def end(self, *args):
    ends(self, *args)
    if "SIGNAL" in os.environ and "PYTEST_XDIST_WORKER" in os.environ:
        os.kill(os.getppid(), int(os.environ["SIGNAL"]))


Journal.end = end
"""
OWN_TESTS = """
import pytest


@pytest.mark.sop(domain="lab")
def test_grade(sop_run):
    assert sop_run.correct
"""
IN_FLIGHT = ("-n2", "--sop-concurrency=4")

# A worker that forks has another parent than its controller.
pytestmark = pytest.mark.usefixtures("new_interpreters")


@pytest.fixture
def killed(
    pytester: pytest.Pytester, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pytest.RunResult]:
    """Run a session whose controller is killed when a worker has ended its first run."""
    pytester.makeconftest(CONFTEST)

    def run(*args: str, by: signal.Signals) -> pytest.RunResult:
        with monkeypatch.context() as patch:
            patch.setenv("SIGNAL", str(int(by)))
            return pytester.runpytest_subprocess("-q", *IN_FLIGHT, *args)

    return run


def test_a_controller_that_dies_before_any_report_leaves_the_runs_that_ended(
    pytester: pytest.Pytester,
    killed: Callable[..., pytest.RunResult],
    newest: Callable[[], Path | None],
) -> None:
    args = ("--sop-domain=lab", "--agent=habits:right")

    result = killed(*args, by=signal.SIGTERM)

    assert result.ret == -signal.SIGTERM
    path = newest()
    assert path is not None
    saved = load_session(path)
    assert saved.records
    assert not saved.finished
    assert not saved.doubts
    resumed = pytester.runpytest_subprocess("-q", *args, "--sop-resume=last")
    assert resumed.ret == 0
    resumed.stdout.fnmatch_lines([f"resumed * of 6 runs from {path.stem}*"])


def test_a_controller_that_dies_before_it_knows_what_own_tests_ask_for_leaves_their_runs(
    pytester: pytest.Pytester,
    killed: Callable[..., pytest.RunResult],
    newest: Callable[[], Path | None],
) -> None:
    pytester.makepyfile(test_own=OWN_TESTS)
    args = ("test_own.py", "--agent=habits:right")

    result = killed(*args, by=signal.SIGKILL)

    assert result.ret == -signal.SIGKILL
    path = newest()
    assert path is not None
    saved = load_session(path)
    assert saved.records
    assert not saved.doubts
    assert 6 == len(saved.header.domains["lab"].planned)
