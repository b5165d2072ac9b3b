"""What others put around each attempt at a run, by the hook `pytest_sop_wrap_run`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial

import pluggy
import pytest

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.protocols import RunWrapper


def run_wrapper(config: pytest.Config) -> RunWrapper | None:
    """Return all wrappers as one, or `None` where nobody wraps runs and none need pay for it."""
    hook: pluggy.HookCaller = config.hook.pytest_sop_wrap_run
    # Asked for each run: a `conftest.py` further down may have come since.
    return partial(_wrapped, hook) if hook.get_hookimpls() else None


@contextmanager
def _wrapped(hook: pluggy.HookCaller, key: RunKey, attempt: int, /) -> Generator[None]:
    with ExitStack() as stack:
        for manager in hook(key=key, attempt=attempt):
            stack.enter_context(manager)
        yield
