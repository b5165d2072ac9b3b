"""Pages are tried as a reader would: with pytest, ours, xdist and syrupy, and no other plugin."""

from __future__ import annotations

import pytest

OTHERS = (
    "asyncio",
    "flaky",
    "html",
    "pytest-split",
    "pytest_cov",
    "pytest_github_actions_annotate_failures",
    "randomly",
    "rerunfailures",
    "timeout",
)


@pytest.fixture(autouse=True)
def as_a_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off what only our own tests have installed."""
    if "pytester" in request.fixturenames:
        # It clears the variable when it is made.
        request.getfixturevalue("pytester")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-pno:{name}" for name in OTHERS))
