"""What code of a project breaks in its process, which pytest needs: mended, told, and no pass."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib import import_module
from inspect import currentframe
from operator import is_
from types import FrameType
from typing import Any, Final, TextIO

import pytest

from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._running.observing.problem import (
    kept_recursion_limit,
    restored_recursion_limit,
)

from .broken_functions import EVERY, INDISPENSABLE, Mending, Seen, Watched, must_be_mended, seen_now

# Standard streams, and their descriptors, that stay open although somebody closes them.
#
# pytest writes to them, and reads back what was written, to the end of a session: one that is
# closed ends the session in the middle of a traceback.


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
"""In the output of a worker: what was broken in its process."""

_MOST: Final = 20
"""Notes that are kept; an agent may close a stream in each of its runs."""

BREAKAGE = pytest.StashKey["Breakage"]()


class _Watching(restored_recursion_limit):
    """Has somebody look, after a block, at what was there before it."""

    __slots__ = ("_look", "_seen")

    def __init__(self, look: Callable[..., None]) -> None:
        self._look = look

    def __enter__(self) -> None:
        self._seen = seen_now()
        super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._look(since=self._seen)


class Breakage:
    """Mends what is broken where no test can have meant it, and keeps a note of each.

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
        self._mending = Mending()
        self._open = KeptOpen(self.note)
        # Those that were seen last: from one phase to the next they nearly always are the same.
        self._streams: tuple[object, ...] = (None,) * 4

    def watching(self) -> AbstractContextManager[None]:
        """Put back what does not work and was replaced in the block, in which a run is made."""
        return _Watching(self._look)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        # Before fixtures of the test, which may mean to replace such functions.
        self.keep_streams()
        self._look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        self.keep_streams()
        if must_be_mended():
            self._mend(INDISPENSABLE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        if must_be_mended():
            self._mend(INDISPENSABLE)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        # A run in flight may have done it since.
        if must_be_mended():
            self._mend(INDISPENSABLE)
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Let whatever was broken fail the session, once the last test has been run."""
        # pytest imports it when a destructor raises. One that raises meanwhile met half of it, and
        # an innocent test was blamed.
        import_module("tracemalloc")
        result = yield
        self._look()
        session.testsfailed += len(self.notes)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        # Also where the loop was cut short.
        self._look()
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

    def _look(self, *, since: Seen | None = None) -> None:
        """Mend whatever does not work; see `Mending.mend`."""
        if EVERY.are_replaced():
            self._mend(EVERY, since=since)

    def _mend(self, watched: Watched, *, since: Seen | None = None) -> None:
        self.take(self._mending.mend(watched, since=since))

    def keep_streams(self) -> None:
        """Keep the standard streams open that are there."""
        streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        # Not by `==`, which may be the project's own.
        if all(map(is_, streams, self._streams)):
            return
        self._streams = streams
        # What a fixture put there is closed by the fixture.
        if _is_of_pytest(sys.stdout):
            self._open.keep(stdout=sys.stdout)
        if _is_of_pytest(sys.stderr):
            self._open.keep(stderr=sys.stderr)
        self._open.keep(__stdout__=sys.__stdout__, __stderr__=sys.__stderr__)

    def look_quickly(self) -> None:
        """Mend what pytest cannot do without until its next hook."""
        if must_be_mended():
            self._mend(INDISPENSABLE)

    def take(self, notes: Iterable[str]) -> None:
        """Keep notes of what was mended."""
        for note in notes:
            self.note(note)

    def note(self, note: str) -> None:
        """Keep a note, once."""
        if len(self.notes) < _MOST:
            self.notes[harmless(self._mask(note))] = None


def breakage_of(
    config: pytest.Config, notes: dict[str, None], mask: Callable[[str], str]
) -> Breakage:
    """Return what looks after the process of a session; see `Breakage`."""
    breakage = config.stash[BREAKAGE] = Breakage(config, notes, mask)
    limit = ExitStack()
    limit.enter_context(kept_recursion_limit())
    config.add_cleanup(limit.close)
    early: Any = config.pluginmanager.get_plugin("sop-end-guard")
    breakage.take(early.broken if early is not None else ())
    return breakage


def _is_of_pytest(stream: object) -> bool:
    return type(stream).__module__.startswith("_pytest.")
