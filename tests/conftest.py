"""Settings of the property tests, and of tests that run pytest themselves."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# A shell that starts a job in the background lets it ignore Ctrl-C, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is no fault of the code; benchmarks are where time is measured.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a session inside a worker of ours takes itself for that worker."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
