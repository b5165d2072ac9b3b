"""An agent that ends the process must not end the session with success.

Nothing of a session is left after `os._exit`: no summary, no gate, no report. What is left is the
exit status, and with 0 a CI server would read the session as passed.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

FAILED = 1
MESSAGE = (
    "\nsop: the agent ended the process with os._exit(0) in the middle of a run; the session is "
    "lost, and fails\nsop: with pytest-xdist (-n 1) such a run counts as a crash, and the "
    "session goes on\n"
)


@contextmanager
def exits_fail(config: pytest.Config) -> Generator[None]:
    """Make `os._exit(0)` of this process fail while a run is in progress.

    Children that were forked from it go on ending as they like.
    """
    leave, process = os._exit, os.getpid()

    def fail(status: int) -> NoReturn:
        if status == 0 and os.getpid() == process:
            capture: Any = config.pluginmanager.get_plugin("capturemanager")
            if capture is not None:
                capture.suspend_global_capture(in_=True)
            os.write(2, MESSAGE.encode())
            leave(FAILED)
        leave(status)

    os._exit = fail
    try:
        yield
    finally:
        os._exit = leave
