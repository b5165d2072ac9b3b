"""Imports of agents and of domains' code: bounded in time, and told of where they take long."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from pytest_sopbench._hooks.session.pace import needs_main_thread
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._running.tools.importing import ImportLimit, SlowImportError


@contextmanager
def bounded_import(sop: SopSession, what: str) -> Generator[None, None, None]:
    """Bound the import of `what`, which is made inside, by the time limit of runs.

    Raises:
        pytest.UsageError: it took longer.
    """
    # A user who debugs the import may take his time.
    seconds = None if needs_main_thread(sop.config) else sop.options.timeout
    try:
        with ImportLimit(seconds, partial(_say, sop.config)).watching(what):
            yield
    except SlowImportError as error:
        msg = f"{what}: importing it {error}\nraise --sop-timeout, or let it do less when imported"
        raise pytest.UsageError(msg) from None


def _say(config: pytest.Config, line: str) -> None:
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - there is no reporter yet
        return
    with capture.global_and_fixture_disabled():
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - there is no reporter yet
