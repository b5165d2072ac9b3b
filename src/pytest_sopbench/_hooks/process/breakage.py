"""Streams and descriptors that pytest writes to, which stay open although somebody closes them.

pytest reads back what was written there, to the end of a session. The promises: no false green, and
nobody pays for another. Without this a session whose agent closes `sys.stdout` ends in the middle
of a traceback, and other runs lose their verdicts (`tests/hooks/test_breakage.py`,
`test_closed_at_import.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from inspect import currentframe
from types import FrameType
from typing import Any, Final, TextIO

import pytest

from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._running.observing.capture import release_streams


class KeptOpen:
    """Keeps streams open, and tells who has closed them.

    Args:
        told: called with a sentence, in whatever thread closed a stream.
    """

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        # By their ids, which stay their own as long as they are kept.
        self._kept: dict[int, Any] = {}

    def keep(self, **streams: TextIO | None) -> None:
        """Keep these streams open, each of which is given by its name; again changes nothing."""
        for name, stream in streams.items():
            if stream is not None and id(stream) not in self._kept:
                self._keep(name, stream)

    def let_go(self) -> None:
        """Let the streams be closed again, as pytest itself does at the end."""
        for stream in list(self._kept.values()):
            self._release(stream)

    def _keep(self, name: str, stream: Any) -> None:
        def close() -> None:
            here = currentframe()
            there = here.f_back if here is not None else None
            if there is not None and _is_pytest(there):
                # What captures a test, such as `capsys`, is closed by the one who opened it.
                self._release(stream)
                stream.close()
                return
            place = f"{there.f_code.co_filename}:{there.f_lineno}" if there is not None else "once"
            self._told(f"sys.{name} was closed at {place}; it was kept open")

        try:
            stream.close = close
        except (AttributeError, TypeError):
            # A stream without a __dict__; pytest's and Python's own have one.
            return
        self._kept[id(stream)] = stream

    def _release(self, stream: Any) -> None:
        if "close" in vars(stream):
            del stream.close
        self._kept.pop(id(stream), None)


@contextmanager
def kept_descriptors(told: Callable[[str], None], what: str) -> Generator[None]:
    """Put the descriptors 0, 1 and 2 back that the block, in which `what` happens, has replaced.

    pytest captures by them, and the next file that is opened would take the number of one that is
    closed.
    """
    before: dict[int, int] = {}
    for descriptor in range(3):
        with suppress(OSError):
            before[descriptor] = os.dup(descriptor)
    try:
        yield
    finally:
        for descriptor, copy in before.items():
            if not _is_same(descriptor, copy):
                with suppress(OSError):
                    os.dup2(copy, descriptor)
                told(f"file descriptor {descriptor} was closed or replaced {what}; it was put back")
            with suppress(OSError):
                # A process may have none of the three, and then a copy has the number of one.
                os.close(copy)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _is_pytest(frame: FrameType) -> bool:
    name: object = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == "_pytest"


SENT: Final = "sop_broken"
"""In the output of a worker: what was closed in its process."""

_MOST: Final = 20
"""Notes that are kept; an agent may close a stream in each of its runs."""

BREAKAGE = pytest.StashKey["Breakage"]()


class Breakage:
    """Keeps what pytest writes to open, and a note of each that somebody closed.

    A session goes on with what was there before, and fails: what was written meanwhile may lack.

    Args:
        config: of the session.
        notes: where each note is kept, once.
        mask: takes secrets out of a note.
    """

    def __init__(
        self, config: pytest.Config, notes: dict[str, None], mask: Callable[[str], str]
    ) -> None:
        self._config = config
        self.notes = notes
        self._mask = mask
        self._open = KeptOpen(self.note)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.keep_streams()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        # pytest has put others there since.
        self.keep_streams()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Let whatever was closed fail the session, once the last test has been run."""
        # pytest imports it when a destructor raises. One that raised meanwhile met half of it, and
        # an innocent test was blamed; campaign: "raises an exception when it is forgotten".
        import_module("tracemalloc")
        result = yield
        session.testsfailed += len(self.notes)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[SENT] = [*self.notes]
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for note in getattr(node, "workeroutput", {}).get(SENT, ()):
            self.note(note)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        self._open.let_go()
        release_streams()

    def keep_streams(self) -> None:
        """Keep the standard streams open that are there."""
        streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        # What a fixture put there is closed by the fixture.
        of_pytest = {
            name: one
            for name, one in streams.items()
            if type(one).__module__.startswith("_pytest.")
        }
        self._open.keep(**of_pytest, __stdout__=sys.__stdout__, __stderr__=sys.__stderr__)

    def note(self, note: str) -> None:
        """Keep a note, once."""
        if len(self.notes) < _MOST:
            self.notes[harmless(self._mask(note))] = None
