"""Whether the runs of a process are recorded or replayed; what that takes is loaded only then."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import pytest

from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession

if TYPE_CHECKING:
    from .tapes import Tapes

TAPES = pytest.StashKey["Tapes"]()


class NoTapes:
    """Nothing is recorded or replayed."""

    def __init__(self, sop: SopSession) -> None:
        self.retries = sop.options.retries

    def settle(self, ref: TaskRef, trace: Trace) -> Trace:
        """Return the trace of a run as it is."""
        del ref
        return trace

    def beside(self) -> AbstractContextManager[None]:
        """Enter what is asked about a run by somebody else than its agent."""
        return nullcontext()


def tapes_of(sop: SopSession) -> Tapes | NoTapes:
    """Return what records or replays the runs of this process, registered as a plugin."""
    mode = sop.options.replay.mode
    if mode == "off":
        return NoTapes(sop)
    known = sop.config.stash.get(TAPES, None)
    if known is None:
        from .tapes import Tapes  # noqa: PLC0415 - nearly no session replays

        known = sop.config.stash[TAPES] = Tapes(sop, mode)
        sop.config.pluginmanager.register(known, "sop-tapes")
    return known
