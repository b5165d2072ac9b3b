"""What listens to the ends of a session from pytest's start on, whether it turns out to be ours.

It imports no more than `plugin` does, which registers all of it.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest

USAGE_ERROR = "sop_usage_error"
HIDDEN = "pytest_sopbench._hooks.settings.hidden"
"""What every session reads first that has anything to do with SOP tests."""


class ExitCalls:
    """Calls back as the interpreter ends, in pytest's own process.

    It is made before any conftest is imported, so it comes after all that those have registered.
    A program that calls pytest lives on, and has none.
    """

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        atexit.register(self._say)

    def _say(self) -> None:
        for call in self.calls:
            call()


class EndGuard:
    """Lets no session end as passed unearned, and masks usage errors, which pass every hook."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, args: list[str]) -> Generator[None, None, None]:
        """Let no conftest end a SOP session as passed, before there is one."""
        try:
            yield
        except SystemExit as end:
            if end.code or not any(arg.startswith("--sop-") for arg in args):
                raise
            msg = "a conftest, or what it imports, ended pytest with sys.exit(0)"
            raise pytest.UsageError(msg) from None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Take what must not leave the process out of the error that ends the session.

        A status of 0 is returned where the session has earned it.
        """
        try:
            status = yield
        except SystemExit as end:
            # `sys.exit()` is one with 0.
            if _earned(config, end.code or 0, by_exit=True) == (end.code or 0):
                raise
            raise SystemExit(1) from None
        except pytest.UsageError as error:
            if HIDDEN not in sys.modules:
                # In a project without SOP tests, usage errors are none of our business.
                raise
            from pytest_sopbench._hooks.process.outgoing import masked_error

            raise masked_error(config, error) from None
        return _earned(config, status)


def _earned(config: pytest.Config, status: object, *, by_exit: bool = False) -> object:
    """Return the exit status that a session has earned; without SOP tests it is the one given."""
    earned: Any = config.pluginmanager.get_plugin("sop-earned")
    return status if earned is None else earned.status(status, by_exit=by_exit)


class UsageErrors:
    """Turns a usage error of collecting SOP tests into one of the session.

    pytest reports an exception of a collector as an error of collection, with a traceback and
    status 2. In a worker of xdist the report is all that reaches the controller. It listens from
    the start, because the first test that asks for a SOP fixture may be the one at fault.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._is_awake = partial(config.pluginmanager.hasplugin, "sop-collection")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        # pytest keeps the call on the report for its own hooks, and drops it before it is sent.
        call: pytest.CallInfo[object] | None = getattr(report, "call", None)
        # In a project without SOP tests, usage errors are none of our business.
        fault = call.excinfo if call is not None and self._is_awake() else None
        if fault is not None and fault.errisinstance(pytest.UsageError):
            message = str(fault.value)
            setattr(report, USAGE_ERROR, message)
            report.longrepr = message
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        message: str | None = getattr(report, USAGE_ERROR, None)
        if message is not None and not self._is_worker:
            raise pytest.UsageError(message)
