"""What wakes the plugin where xdist's controller learns late that there are SOP tests.

It is imported where xdist runs tests.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._hooks.xdist.scheduling import TaskScheduling


class Doorbell:
    """Wakes the plugin in the controller of xdist when a worker turns out to run SOP tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._crashed: list[tuple[str, pytest.TestReport, Any]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Keep the tests of a task together, should there be any."""
        if config.getoption("dist") != "load":
            return None
        return TaskScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        # A worker may die in its first item, before any report told what it runs.
        self._crashed.append((crashitem, report, sched))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "sop_payload") and self._config.pluginmanager.unregister(self):
            from pytest_sopbench._hooks.activation import activate

            activate(self._config)
            ledger: Any = self._config.pluginmanager.get_plugin("sop-ledger")
            for crash in self._crashed:
                ledger.pytest_handlecrashitem(*crash)
            ledger.pytest_runtest_logreport(report)
