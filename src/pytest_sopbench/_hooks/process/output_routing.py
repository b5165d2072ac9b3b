"""Keeps what runs in flight write out of the items that happen to run meanwhile."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from pytest_sopbench._running.observing.capture import route_streams
from pytest_sopbench._running.observing.log_capture import RunLogHandler, is_shown


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
    """Routes the streams again wherever pytest has put others into their place."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        route_streams(sys.stdout, sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        # `capsys` and its like have put streams of their own there.
        route_streams(sys.stdout, sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        # The terminal's own streams stand there while pytest reports.
        route_streams(sys.stdout, sys.stderr)
