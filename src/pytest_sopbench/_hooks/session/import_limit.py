"""Imports of what the project names: bounded in time, and told of where they take long."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from pytest_sopbench._hooks.process.breakage import BREAKAGE
from pytest_sopbench._hooks.process.kept_open import kept_descriptors
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._running.importing import ImportLimit, SlowImportError

from .pace import needs_main_thread


@contextmanager
def import_limit(config: pytest.Config, options: Options, what: str) -> Generator[None]:
    """Bound the import of `what`, which is made inside, by the time limit of runs.

    Raises:
        pytest.UsageError: it took longer.
    """
    # A user who debugs the import may take his time.
    seconds = None if needs_main_thread(config) else options.timeout
    breakage = config.stash[BREAKAGE]
    breakage.keep_streams()
    try:
        with (
            kept_descriptors(breakage.note, f"while {what} was imported"),
            ImportLimit(seconds, partial(_say, config)).watching(what),
        ):
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
