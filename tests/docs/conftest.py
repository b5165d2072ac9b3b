"""Pages are tried as a reader would: with pytest, ours, xdist and syrupy, and no other plugin."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def as_a_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off what only our own tests have installed."""
    if "pytester" in request.fixturenames:
        # It clears the variable when it is made.
        request.getfixturevalue("pytester")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist -psyrupy")
