"""The way out: every text of a session passes here before anybody else sees it.

Reports are masked where they are made, so that JUnit, other plugins and the controller of xdist
are given nothing else; the terminal's writer is the last door, for all that is no report, such as
warnings. No text is judged after it: what is judged never comes from here.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import pytest

from pytest_sopbench._core.hiding import LineStart, harmless, without_controls
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._hooks.settings.hidden import REDACTION
from pytest_sopbench._running.observing.capture import RunLogHandler, is_shown, route_streams

OURS: Final = "sop."
"""Begins the names of properties that make a run this run."""

STYLE: Final = "style"
"""What pytest calls the way in which it shows a traceback: a word of its own, and no text."""

_OWN: Final = re.compile("\x1b\\]9;4;[0-9;]*\x1b\\\\")
"""What pytest tells a terminal of its progress."""

_DEPTH: Final = 30
_WRITER: Final = pytest.StashKey[Callable[..., None]]()
"""The writer of the terminal as it was before anything had to pass."""


def masked_error(config: pytest.Config, error: pytest.UsageError) -> pytest.UsageError:
    """Return a usage error that may be printed."""
    redaction = config.stash.get(REDACTION, Redaction())
    return pytest.UsageError(*(harmless(redaction.cut_text(str(one))) for one in error.args))


def write_command(config: pytest.Config, command: str) -> None:
    """Write a line to the terminal that a CI server shall take for a command: one of ours."""
    write = config.stash.get(_WRITER, None)
    if write is not None:
        write(f"{command}\n", flush=True)


class Outgoing:
    """Takes secrets and commands out of reports, and out of what the terminal is given.

    Args:
        config: of the session.
        redaction: what is masked.
    """

    def __init__(self, config: pytest.Config, redaction: Redaction) -> None:
        self._config = config
        self._redaction = redaction

    def text(self, text: str) -> str:
        """Return lines that may be printed."""
        return harmless(self._redaction.cut_text(text), colours="kept")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        # Here, and not in a wrapper of its own: this one is around all others.
        report = yield
        self._clean(report)
        report.user_properties[:] = [
            # Those that make a run this run stay as they are.
            (name, self.text(str(value)))
            if isinstance(value, str) and not name.startswith(OURS)
            else (name, value)
            for name, value in report.user_properties
        ]
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        self._clean(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.guard_terminal()
        self.guard_log_file()

    def guard_terminal(self) -> None:
        """Have all that is written to the terminal pass here; a second time changes nothing."""
        plugins = self._config.pluginmanager
        if _WRITER in self._config.stash or not plugins.hasplugin("terminalreporter"):
            return
        # Typed as the writer's own class, which pytest does not export.
        writer = cast("Any", self._config.get_terminal_writer())
        self._config.stash[_WRITER] = writer.write
        writer.write = self._guarded(writer.write)

    def guard_log_file(self) -> None:
        """Have what `--log-file` keeps pass here; pytest writes it without asking anybody."""
        plugin = self._config.pluginmanager.get_plugin("logging-plugin")
        handler = getattr(plugin, "log_file_handler", None)
        if isinstance(handler, logging.Handler):
            formatted = handler.format

            def guarded_format(record: logging.LogRecord) -> str:
                return self.text(formatted(record))

            cast("Any", handler).format = guarded_format

    def _guarded(self, write: Callable[..., None]) -> Callable[..., None]:
        start = LineStart()

        def guarded_write(msg: str, *args: object, **markup: object) -> None:
            if not _OWN.fullmatch(msg):
                # pytest begins a line anew where it counts what it has collected.
                anew, rest = ("\r", msg[1:]) if msg.startswith("\r") else ("", msg)
                shown = without_controls(self._redaction.text(rest), colours="kept")
                msg = start.without_commands(f"{anew}{shown}")
            write(msg, *args, **markup)

        return guarded_write

    def _clean(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.longrepr is not None:
            report.longrepr = self._inside(report.longrepr, 0)
        if isinstance(report, pytest.TestReport) and hasattr(report, "wasxfail"):
            # pytest's own word for the reason of an expected failure.
            report.wasxfail = self.text(report.wasxfail)
        if report.sections:
            # What the agent wrote, as pytest captured it, which `-rA` shows of passed tests too.
            report.sections[:] = [
                (name, self._section(name, self._redaction.text(text)))
                for name, text in report.sections
            ]

    def _section(self, name: str, text: str) -> str:
        # pytest itself colours what is logged.
        return harmless(text, colours="kept" if name.startswith("Captured log") else "escaped")

    def _inside(self, part: Any, depth: int) -> Any:
        """Return a part of what pytest shows of a failure; its own objects are changed in place."""
        if isinstance(part, str):
            return self.text(part)
        if part is None or isinstance(part, int | float) or depth > _DEPTH:
            return part
        if isinstance(part, list | tuple):
            return self._sequence(cast("Sequence[Any]", part), depth)
        if type(part).__module__.startswith("_pytest.") and hasattr(part, "__dict__"):
            self._change(cast("object", part), depth)
            return part
        # Of another plugin; all that is known of it is that it can be shown.
        shown = str(part)
        return part if self.text(shown) == shown else self.text(shown)

    def _change(self, part: object, depth: int) -> None:
        for name, one in tuple(vars(part).items()):
            if name != STYLE:
                # Also where pytest has made it frozen: nobody else has seen it yet.
                object.__setattr__(part, name, self._inside(one, depth + 1))

    def _sequence(self, parts: Sequence[Any], depth: int) -> Any:
        if isinstance(parts, list) and parts and all(isinstance(one, str) for one in parts):
            # The lines of one text, so that a secret of several lines is seen as a whole.
            return self.text("\n".join(parts)).split("\n")
        inside = [self._inside(one, depth + 1) for one in parts]
        return tuple(inside) if isinstance(parts, tuple) else inside


# Keeps what runs in flight write out of the items that happen to run meanwhile.


@contextmanager
def output_apart(config: pytest.Config) -> Generator[None]:
    """File what runs write and log with the runs themselves, while items run."""
    routes = Routes()
    handler = RunLogHandler()
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    handlers = [getattr(plugin, name, None) for name in ("caplog_handler", "report_handler")]
    shown = [one for one in handlers if isinstance(one, logging.Handler)]
    for one in shown:
        one.addFilter(is_shown)
    logging.getLogger().addHandler(handler)
    config.pluginmanager.register(routes)
    route_streams(sys.stdout, sys.stderr)
    try:
        yield
    finally:
        config.pluginmanager.unregister(routes)
        logging.getLogger().removeHandler(handler)
        for one in shown:
            one.removeFilter(is_shown)


class Routes:
    """Routes the streams again wherever pytest has put others into their place.

    While pytest reports, the streams stand there that `output_apart` has found.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        route_streams(sys.stdout, sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        # `capsys` and its like have put streams of their own there.
        route_streams(sys.stdout, sys.stderr)
