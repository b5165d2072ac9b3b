"""What listens to the ends of a session from pytest's start on, whether it turns out to be ours.

It imports no more than `plugin` does, which registers all of it.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_sopbench._hooks.exit_guard import ExitGuard

USAGE_ERROR = "sop_usage_error"
HIDDEN = "pytest_sopbench._hooks.settings.hidden"
"""What every session reads first that has anything to do with SOP tests."""

CONFIGURED = ("sop_domain", "sop_agent", "sop_fail_under", "sop_gate")
"""The ini values of which one at least is set if a project has SOP tests."""


def exit_calls() -> list[Callable[[], None]]:
    """Return what is called as the interpreter ends, to be added to.

    It is made before any conftest is imported, so it comes after all that those have registered.
    """
    calls: list[Callable[[], None]] = []

    def say() -> None:
        for call in calls:
            call()

    atexit.register(say)
    return calls


class EndGuard:
    """Lets no session end as passed unearned, and masks usage errors, which pass every hook.

    The promise is that there is no false green; `tests/hooks/test_early_ends.py` and
    `test_earned.py` fail without this.
    """

    def __init__(self) -> None:
        self._is_sop = False
        self._was_ended = False
        self._status: int | None = None
        # What stands before `os._exit` until a session takes it over.
        self.exits: ExitGuard | None = None
        # None in a process that is not pytest's own: a program that calls pytest lives on.
        self.exit_calls: list[Callable[[], None]] | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(
        self, early_config: pytest.Config, args: list[str]
    ) -> Generator[None, None, None]:
        """Let no conftest end a SOP session as passed, before there is one."""
        # The command line or the configuration asks for SOP tests.
        typed = any(arg.startswith("--sop-") for arg in args)
        self._is_sop = typed or any(is_set(early_config, name) for name in CONFIGURED)
        if _is_own_process(early_config):
            self.exit_calls = exit_calls()
            if self._is_sop:
                from pytest_sopbench._hooks.exit_guard import ExitGuard

                self.exits = ExitGuard(early_config, lambda: self._status, lambda: None)
                self.exits.stand()
        try:
            yield
        except SystemExit as end:
            if end.code or not self._is_sop:
                raise
            msg = "a conftest, or what it imports, ended pytest with sys.exit(0)"
            raise pytest.UsageError(msg) from None

    @pytest.hookimpl
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that `pytest.exit` ended the session, maybe before the plugin woke."""
        self._was_ended |= excinfo.errisinstance(pytest.exit.Exception)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._status = int(session.exitstatus)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Take what must not leave the process out of the error that ends the session.

        A status of 0 is returned if the session has earned it.
        """
        status: Any = None
        try:
            status = yield
        except SystemExit as end:
            # `sys.exit()` is one with 0.
            if self._earned(config, end.code or 0, by_exit=True) == (end.code or 0):
                raise
            raise SystemExit(1) from None
        except pytest.UsageError as error:
            if HIDDEN not in sys.modules:
                # In a project without SOP tests, usage errors are none of our business.
                raise
            from pytest_sopbench._hooks.outgoing import masked_error

            raise masked_error(config, error) from None
        finally:
            last: Any = config.pluginmanager.get_plugin("sop-last")
            if last is not None:
                last.end(status)
        return self._earned(config, status)

    def _earned(self, config: pytest.Config, status: object, *, by_exit: bool = False) -> object:
        """Return the exit status that a session has earned; without SOP tests the one given."""
        ending: Any = config.pluginmanager.get_plugin("sop-ending")
        was_ended = by_exit or self._was_ended
        if ending is not None:
            return ending.earned(status, was_ended=was_ended)
        if status != pytest.ExitCode.OK or not (self._is_sop and was_ended):
            return status
        from pytest_sopbench._hooks.settings.ini import UNDECIDED, relies_on_gate

        if not relies_on_gate(config):
            return status
        sys.stderr.write(f"sop: {UNDECIDED}, so the status is 1\n")
        return pytest.ExitCode.TESTS_FAILED


def _is_own_process(config: pytest.Config) -> bool:
    """Tell whether the process is pytest's own: neither a worker nor a program that calls it."""
    return tuple(map(str, config.invocation_params.args)) == tuple(sys.argv[1:])


def is_set(config: pytest.Config, name: str) -> bool:
    """Tell whether the project sets an ini value, without importing what reads it."""
    try:
        return bool(config.getini(name))
    except (TypeError, ValueError, pytest.UsageError):
        # A number in a native TOML table, or a quote that stands alone; see `_hooks.settings.ini`.
        return True


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

    def tell_controller(self, config: pytest.Config, message: str) -> None:
        """Send a usage error of a worker to the controller, in a report as a collector has it."""
        report = pytest.CollectReport("", "failed", message, None)
        setattr(report, USAGE_ERROR, message)
        config.hook.pytest_collectreport(report=report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        message: str | None = getattr(report, USAGE_ERROR, None)
        if message is not None and not self._is_worker:
            raise pytest.UsageError(message)
