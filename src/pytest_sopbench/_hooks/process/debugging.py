"""Gives the terminal to a debugger that opens in a run, while other items would go on.

pytest captures and reports in the main thread, and takes the terminal back whenever an item ends.
So the main thread stands still, where it waits for a run, until the user has done.
"""

from __future__ import annotations

import sys
import time
from threading import Event, Lock
from typing import Any, Final

import pytest

from pytest_sopbench._running.observing.capture import is_kept_apart

POLL: Final = 0.05
"""Seconds."""


class Debugging:
    """Lets one debugger at a time talk to the user; each runs in the thread of its agent."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._turn = Lock()
        self._open: Any = None
        self._standing = Event()
        self._quit = False
        config.pluginmanager.register(self)

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self, pdb: Any) -> None:
        """Wait until the main thread stands still, then take the terminal."""
        if not is_kept_apart():
            # It is no run, or one for which the main thread stands still by itself.
            return
        self._turn.acquire()
        self._standing.clear()
        self._open = pdb
        self._standing.wait()
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        if capture is not None:
            # pytest suspended it in this thread already, maybe while the main thread resumed it:
            # then it takes itself for suspended, and would keep the prompt to itself.
            capture.resume()
            capture.suspend(in_=True)
        # It was made before, and may hold the streams of the capture.
        pdb.stdin, pdb.stdout = sys.stdin, sys.stdout
        end = pdb.set_quit

        def set_quit() -> None:
            self._quit = True
            if capture is not None:
                capture.resume()
            self.pytest_leave_pdb(pdb)
            end()

        pdb.set_quit = set_quit

    @pytest.hookimpl
    def pytest_leave_pdb(self, pdb: Any) -> None:
        """Let the main thread go on."""
        if self._open is pdb:
            self._open = None
            self._turn.release()

    def look(self) -> None:
        """Stand still while a debugger is open; called in the main thread while it waits.

        Raises:
            pytest.exit.Exception: the user has quit.
        """
        # Once the user has quit, other runs that stop are not asked about.
        while self._open is not None and not self._quit:
            self._standing.set()
            # In short steps: on Windows a wait without an end cannot be interrupted.
            time.sleep(POLL)
        if self._quit:
            pytest.exit("Quitting debugger")
