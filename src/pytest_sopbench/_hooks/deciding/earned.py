"""Whether a status of 0 is earned: whatever else sets it, a gate that does not hold fails.

`pytest.exit(returncode=0)` and `sys.exit(0)` end a session as passed from any hook, and a plugin
may write over the exit status. So the status is looked at once more, when nothing but pytest's own
return is left.
"""

from __future__ import annotations

import sys
from typing import Final

import pytest

from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.strictness import UNDECIDED

from .ending import Ending
from .gate import Gate

NAME: Final = "sop-earned"
_DECIDED: Final = "something set the exit status to 0 although the session failed"
_LACKS: Final = "the session was ended with status 0 although what it was to keep is not there"


class Earned:
    """Looks at the status that pytest is about to return."""

    def __init__(self, sop: SopSession, gate: Gate, ending: Ending) -> None:
        self._sop = sop
        self._gate = gate
        self._ending = ending
        self._was_ended = False

    @pytest.hookimpl
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that `pytest.exit` ended the session, in whichever hook it was called."""
        self._was_ended |= excinfo.errisinstance(pytest.exit.Exception)

    def status(self, given: object, *, by_exit: bool = False) -> object:
        """Return the status of the session.

        Args:
            given: what pytest would return.
            by_exit: whether `sys.exit` ended the session.
        """
        self._was_ended |= by_exit
        why = self._unearned() if given == pytest.ExitCode.OK else ""
        if not why:
            return given
        sys.stderr.write(f"sop: {why}, so the status is 1\n")
        # What ends the process later, such as a thread that was left behind, ends it with this.
        self._ending.fail()
        return pytest.ExitCode.TESTS_FAILED

    def _unearned(self) -> str:
        if not self._sop.makes_runs:
            return ""
        if self._gate.is_decided:
            lacks = _LACKS if self._ending.lacks else ""
            return _DECIDED if self._gate.fails else lacks
        # Without `pytest.exit` there was no session, as with `--help`.
        return UNDECIDED if self._was_ended and self._gate.owes else ""
