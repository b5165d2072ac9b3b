"""Settings of the property tests, and of tests that run pytest themselves."""

from __future__ import annotations

import cProfile
import gc
import os
import signal
import sys
import threading
import tracemalloc  # noqa: F401 - see below
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

# pytester restores `sys.modules` after each run inside this process. What a session loads only
# where it is used is loaded here, so that it is loaded once and not by every run: 50 ms, not 1 s.
import pytest_sopbench._audit.report
import pytest_sopbench._core.records.reconstruct
import pytest_sopbench._hooks.activation
import pytest_sopbench._hooks.items.variants
import pytest_sopbench._hooks.printing.summary
import pytest_sopbench._hooks.replaying
import pytest_sopbench._hooks.results.budget
import pytest_sopbench._hooks.results.resume
import pytest_sopbench._hooks.runs.shown
import pytest_sopbench._hooks.settings.ini
import pytest_sopbench._hooks.snapshots.fixture
import pytest_sopbench._judge.calibrating
import pytest_sopbench._judge.judging
import pytest_sopbench._loading.contract
import pytest_sopbench._loading.documents
import pytest_sopbench._loading.outputs
import pytest_sopbench._loading.prices
import pytest_sopbench._loading.quarantine_file
import pytest_sopbench._loading.rows
import pytest_sopbench._loading.tools
import pytest_sopbench._loading.variants
import pytest_sopbench._reports.terminal.comparison
import pytest_sopbench._running.event_loop
import pytest_sopbench._running.tools.domain_code
import pytest_sopbench._sessions.commands.page
import pytest_sopbench._sessions.commands.resume
import pytest_sopbench.agents.sources  # noqa: F401 - see above
from tests.processes import installed, popen

installed.remember()

# A shell that starts a job in the background lets it ignore Ctrl-C, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is no fault of the code; benchmarks are where time is measured.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


SELDOM = (5_000, 10, 20)
"""New objects before each look for garbage, and looks at the young before one at the older."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected out of the way of the garbage collector.

    Half a million objects that all live to the end: to look at them again and again takes a sixth
    of the time of a collection, and a tenth of the time of the sessions inside of tests after it.
    It looks for garbage less often, too: a session leaves all that it had, and to look through
    what the sessions of many tests have left took an eighth of the time of those tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*SELDOM)
        gc.enable()


# Coverage is measured from the start of an interpreter on, so nothing forks where it is.
CAN_FORK = sys.platform == "linux" and not any(name.startswith("COVERAGE_") for name in os.environ)


@pytest.fixture(autouse=True)
def forked_sessions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sessions inside of a test fork; the tests beside this file are about real starts."""
    if CAN_FORK:
        # Not before there is a test: the workers of this very session are started by then.
        popen.install()
        monkeypatch.setattr(popen.switch, "on", request.path.parent != Path(__file__).parent)


@pytest.fixture
def new_interpreters(monkeypatch: pytest.MonkeyPatch, forked_sessions: None) -> None:
    """For a test in a room that is about what a process imports or inherits: it forks from none."""
    monkeypatch.setattr(popen.switch, "on", False)


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a session inside a worker of ours takes itself for that worker."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    # A session in CI is stricter; the tests that are about that say so.
    monkeypatch.delenv("CI", raising=False)
    # The sessions that a test starts would compile this package anew, each for itself.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


CountSteps = Callable[[Callable[[], object]], int]

# Far beyond what any test needs: a pattern that goes back over its text takes hours.
PATIENCE_SECONDS = 300


@pytest.fixture(scope="session")
def count_steps() -> CountSteps:
    """Count the calls of functions, built-in ones included, that a function makes.

    The number is the same on every machine, however loaded it is. What happens inside one call,
    such as a regular expression that goes back over its text, is one step: `no_hang` stops that.
    """

    def count(function: Callable[[], object]) -> int:
        profile = cProfile.Profile()
        profile.runcall(function)
        return sum(entry.callcount for entry in profile.getstats())

    return count


@pytest.fixture
def no_hang() -> Iterator[None]:
    """Stop a test that would go on for hours; no test is right or wrong by how long it takes."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _alarm():
        yield


@contextmanager
def _alarm() -> Iterator[None]:
    def stop(*_: object) -> None:
        pytest.fail(f"it was still running after {PATIENCE_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
