"""How a session ends: as it should, or as the next one, and `sopbench gate`, will say it did.

From the moment that the plugin wakes to the end of the process a mark lies beside the session's
file, and the ways out of the process are guarded. What agents leave behind holds the process no
longer than a moment.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest

from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.exit_guard import ExitGuard
from pytest_sopbench._hooks.runs.reportable import journal_folder
from pytest_sopbench._hooks.session.last import withdraw_last
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.ini import UNDECIDED
from pytest_sopbench._sessions.folder import followed, last_path, marked_unended
from pytest_sopbench._sessions.mark import Mark, mark_path
from pytest_sopbench.errors import SessionFileError

_DECIDED: Final = "something set the exit status to 0 although the session failed"
_LACKS: Final = "the session was ended with status 0 although what it was to keep is not there"


class Ending:
    """Marks the session, guards the process, and has the last word on the exit status."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        early: Any = sop.config.pluginmanager.get_plugin("sop-end-guard")
        guard = early.exits if early is not None else None
        # The one that stands already, if one does.
        self._guard: ExitGuard = guard or ExitGuard(sop.config, self._status, self._end)
        self._guard.answer_to(self._status, self._end)
        self._gate: Gate | None = None
        self._session: pytest.Session | None = None
        self._has_finished = False
        self._mark: Mark | None = None
        # What lasts as long as the set-up.
        self._set_up = ExitStack()
        self._unsaved: Callable[[], object] = tuple
        self._before: dict[str, str] = {}
        self._unended: list[Path] = []
        self._owed: Callable[[], object] = tuple

    def begin(self) -> None:
        """Mark the session and guard the process, before code of the project is imported.

        Raises:
            pytest.UsageError: nothing can be saved, and what the session is asked to do needs it.
        """
        if not self._sop.makes_runs:
            return
        session = journal_folder(self._sop).session
        # Keep gates from an older session until this one has ended.
        problem = withdraw_last(self._sop.config).problem
        if problem:
            older = followed(last_path(self._sop.options.sessions_dir)).stem
            self._before[""] = (
                f"last could not be withdrawn ({problem}): if this session is not saved, "
                f"sopbench gate last decides on the older session {older}"
            )
        try:
            self._mark = Mark(session)
        except SessionFileError as error:
            if needs_file(self._sop):
                raise pytest.UsageError(str(error)) from None
        self._look_back()
        self._guard.stand()
        # Also code that the set-up imports would be the end of the session.
        self._set_up.enter_context(self._guard.exec_refused())

    def end_set_up(self, resumed: Path | None) -> None:
        """Let conftests and plugins start pytest anew, as some do before anything runs.

        Args:
            resumed: the session that this one takes over, of which nothing need be told.
        """
        self._set_up.close()
        if resumed is not None:
            self._before.pop(resumed.stem, None)
        # Not before, since the resumption asks which sessions never ended.
        for mark in self._unended:
            with suppress(OSError):
                mark.unlink()

    def watch(self, gate: Gate, unsaved: Callable[[], object], owed: Callable[[], object]) -> None:
        """Ask, when all is over, what was decided, and what could not be written.

        Args:
            gate: decides.
            unsaved: what is wrong with the saved session.
            owed: what else was asked for, and is not there.
        """
        self._gate, self._unsaved, self._owed = gate, unsaved, owed

    def pytest_report_header(self) -> list[str]:
        return [f"sop: {line}" for line in self._told()]

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        # With -q there is no header, and a session may turn out to be one after it.
        told = self._told()
        if self._unsaved() and needs_file(self._sop):
            told.append("the session could not be saved, which fails it")
        elif self._unsaved() and not withdraw_last(self._sop.config).problem:
            told.append("the session could not be saved, so sopbench gate last fails")
        return [f"note   {line}" for line in told]

    def _told(self) -> list[str]:
        told = [*self._before.values()]
        self._before.clear()
        return told

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self) -> Generator[None, object, object]:
        # Agents and the tools of domains are imported in it.
        with self._guard.exec_refused():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        with self._guard.exec_refused():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._session = session
        if self.lacks and session.exitstatus == pytest.ExitCode.OK:
            # What was asked for is not there, whatever the runs came to.
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._has_finished = True
        return result

    # Whether a status of 0 is earned: whatever else sets it, a gate that does not hold fails.
    #
    # `pytest.exit(returncode=0)` and `sys.exit(0)` end a session as passed from any hook, and a
    # plugin may write over the exit status. So the status is looked at once more, when nothing but
    # pytest's own return is left.

    def earned(self, given: object, *, was_ended: bool) -> object:
        """Return the status of the session.

        Args:
            given: what pytest would return.
            was_ended: whether `pytest.exit` or `sys.exit` ended the session, in whichever hook.
        """
        why = self._unearned(was_ended=was_ended) if given == pytest.ExitCode.OK else ""
        if not why:
            return given
        sys.stderr.write(f"sop: {why}, so the status is 1\n")
        if self._session is not None:
            # What ends the process later, such as a thread that was left behind, ends it with this.
            self._session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return pytest.ExitCode.TESTS_FAILED

    def _unearned(self, *, was_ended: bool) -> str:
        if self._gate is None or not self._sop.makes_runs:
            return ""
        if self._gate.is_decided:
            lacks = _LACKS if self.lacks else ""
            return _DECIDED if self._gate.fails else lacks
        # Without `pytest.exit` there was no session, as with `--help`.
        return UNDECIDED if was_ended and self._gate.owes else ""

    @property
    def lacks(self) -> bool:
        """Whether something that was asked for is not there."""
        return bool(self._owed() or (self._unsaved() and needs_file(self._sop)))

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        early: Any = config.pluginmanager.get_plugin("sop-end-guard")
        if early is not None and early.exit_calls is not None:
            # Threads that were left behind, and what was registered with atexit, are still to come.
            early.exit_calls.append(self._end)
            return
        self._end()
        self._guard.step_down()

    def _status(self) -> int | None:
        if self._session is None or not self._has_finished:
            return None
        return int(self._session.exitstatus)

    def _end(self) -> None:
        """Take the mark off, unless the session's file is not what it should be."""
        if self._mark is None:
            return
        if self._unsaved():
            self._mark.leave()
        else:
            self._mark.take_off()

    def _look_back(self) -> None:
        """Tell of sessions that never ended."""
        for session in marked_unended(self._sop.options.sessions_dir):
            left = f"; go on with --sop-resume={session.stem}" if session.is_file() else ""
            told = f"the session {session.stem} before this one did not end{left}"
            self._before[session.stem] = told
            self._unended.append(mark_path(session))


def needs_file(sop: SopSession) -> bool:
    """Tell whether a session is worth nothing without its file."""
    options = sop.options
    asked: tuple[Any, ...] = (options.gates, options.save, options.shard, options.compare)
    return any(asked)


# What agents leave behind holds the process, and so the session, no longer than a moment.
#
# Python waits for every thread that is no daemon, for all that a pool still has to do, and for
# whatever was registered with `atexit`, before it ends. An agent that was given no time limit, or
# whose client has a thread of its own, would keep a session from ending that was saved long ago.
# The promise is that every session ends; without this `tests/hooks/test_left_threads.py` hangs.

PATIENCE: Final = 10.0
"""Seconds that Python may wait for such threads, as for a client that sends its last words."""

LAST: float = 60.0
"""Seconds that the process may go on once Python has begun to end it, whatever holds it."""

_SHOWN: Final = 3

_register: Callable[..., object] | None = getattr(threading, "_register_atexit", None)
"""Has a function called when Python begins to wait for threads; it has no public name."""


class LeftThreads:
    """Ends the process in spite of threads that are left, with the status of its session."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        """Remember what takes out of the names of threads what must not be told."""
        self._mask = mask
        self._session: pytest.Session | None = None

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        early: Any = config.pluginmanager.get_plugin("sop-end-guard")
        is_own = early is not None and early.exit_calls is not None
        # A program that calls pytest lives on, and xdist ends its workers itself.
        if self._session is None or not is_own:
            return
        if _register is None:
            # Nothing would tell a process that ends from a program that goes on.
            return
        waits, goes_on = Event(), Event()
        _register(waits.set)
        # Called once Python has waited, and goes on to end.
        atexit.register(goes_on.set)
        act = partial(self.end, waits, goes_on, last=LAST)
        # If no thread is left to be had, nobody ends a process that somebody holds.
        with suppress(RuntimeError):
            Thread(target=act, daemon=True, name="sopbench-end").start()

    def end(
        self, waits: Event, goes_on: Event, patience: float = PATIENCE, last: float = LAST
    ) -> None:
        """Wait until Python `waits` for threads, then as long as that may last; then leave.

        Args:
            waits: is set when Python begins to wait.
            goes_on: is set when the threads have ended, before what is registered with `atexit`.
            patience: seconds that Python may wait for threads.
            last: seconds after which the process is left, whatever holds it.
        """
        # Until then it may be a program that has called pytest and goes on, whatever its arguments.
        waits.wait()
        deadline = time.monotonic() + last
        if not goes_on.wait(min(patience, deadline - time.monotonic())):
            main = threading.main_thread()
            # Those for which Python waits before it ends.
            left = [one for one in threading.enumerate() if one is not main and not one.daemon]
            names = harmless(", ".join(repr(one.name) for one in left[:_SHOWN]))
            why = f"left without waiting for the threads that still run: {names}"
            self._leave(why, _last_calls, patience)
        else:
            # Nothing sets it: the process ends, or does not.
            Event().wait(max(0.0, deadline - time.monotonic()))
            why = "left without waiting for what was registered with atexit, which does not end"
            self._leave(why, _flush, patience)

    def _leave(self, why: str, last_calls: Callable[[], None], patience: float) -> None:
        os.write(2, self._mask(f"sop: {why}\n").encode(errors="replace"))
        last = Thread(target=last_calls, daemon=True, name="sopbench-end")
        last.start()
        last.join(patience)
        # Past the guard of the process, which lets through what the session has come to.
        os._exit(0 if self._session is None else int(self._session.exitstatus))


def _last_calls() -> None:
    """Do what Python does before it ends, such as saving what coverage has measured."""
    run: Any = getattr(atexit, "_run_exitfuncs", None)
    if run is not None:
        run()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
