"""The way out: every text of a session passes here before anybody else sees it.

Reports are masked where they are made, so that JUnit, other plugins and the controller of xdist
are given nothing else; the terminal's writer is the last door, for all that is no report, such as
warnings. No text is judged after it: what is judged never comes from here.

Below it, what keeps the streams in order on which all this goes out: what runs in flight write
stays out of other items, streams stay open although an agent closes them, and one debugger at a
time has the terminal.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from inspect import currentframe
from operator import is_
from threading import Event, Lock
from types import FrameType
from typing import Any, Final, Literal, TextIO, cast

import pytest

from pytest_sopbench._core.hiding import LineStart, harmless, without_controls
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._hooks.settings.hidden import REDACTION
from pytest_sopbench._running.observing import (
    RunLogHandler,
    is_kept_apart,
    is_shown,
    release_streams,
    route_streams,
)

OURS: Final = "sop."
"""Begins the names of properties that make a run this run."""

STYLE: Final = "style"
"""What pytest calls the way in which it shows a traceback: a word of its own, and no text."""

_OWN: Final = re.compile("\x1b\\]9;4;[0-9;]*\x1b\\\\")
"""What pytest tells a terminal of its progress."""

_DEPTH: Final = 30
_WRITER: Final = pytest.StashKey[Callable[..., None]]()
"""The writer of the terminal as it was before anything had to pass."""


def masked_error(config: pytest.Config, error: pytest.UsageError) -> pytest.UsageError:
    """Return a usage error that may be printed."""
    redaction = config.stash.get(REDACTION, Redaction())
    return pytest.UsageError(*(harmless(redaction.cut_text(str(one))) for one in error.args))


def write_command(config: pytest.Config, command: str) -> None:
    """Write a line to the terminal that a CI server shall take for a command: one of ours."""
    write = config.stash.get(_WRITER, None)
    if write is not None:
        write(f"{command}\n", flush=True)


class Outgoing:
    """Takes secrets and commands out of reports, and out of what the terminal is given.

    Args:
        config: of the session.
        redaction: what is masked.
    """

    def __init__(self, config: pytest.Config, redaction: Redaction) -> None:
        self._config = config
        self._redaction = redaction

    def text(self, text: str) -> str:
        """Return lines that may be printed."""
        return harmless(self._redaction.cut_text(text), colours="kept")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        # Here, and not in a wrapper of its own: this one is around all others.
        report = yield
        self._clean(report)
        for place, (name, value) in enumerate(report.user_properties):
            # Those that make a run this run stay as they are.
            if isinstance(value, str) and not name.startswith(OURS):
                # A text of a class of its own does not travel from a worker.
                report.user_properties[place] = (name, self.text(str(value)))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        self._clean(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.guard_terminal()
        self.guard_log_file()

    def guard_terminal(self) -> None:
        """Have all that is written to the terminal pass here; a second time changes nothing."""
        plugins = self._config.pluginmanager
        if _WRITER in self._config.stash or not plugins.hasplugin("terminalreporter"):
            return
        # Typed as the writer's own class, which pytest does not export.
        writer = cast("Any", self._config.get_terminal_writer())
        self._config.stash[_WRITER] = writer.write
        writer.write = self._guarded(writer.write)

    def guard_log_file(self) -> None:
        """Have what `--log-file` keeps pass here; pytest writes it without asking anybody."""
        plugin = self._config.pluginmanager.get_plugin("logging-plugin")
        handler = getattr(plugin, "log_file_handler", None)
        if isinstance(handler, logging.Handler):
            formatted = handler.format

            def guarded_format(record: logging.LogRecord) -> str:
                return self.text(formatted(record))

            cast("Any", handler).format = guarded_format

    def _guarded(self, write: Callable[..., None]) -> Callable[..., None]:
        start = LineStart()

        def guarded_write(msg: str, *args: object, **markup: object) -> None:
            if not _OWN.fullmatch(msg):
                # pytest begins a line anew when it counts what it has collected.
                anew, rest = ("\r", msg[1:]) if msg.startswith("\r") else ("", msg)
                shown = without_controls(self._redaction.text(rest), colours="kept")
                msg = start.without_commands(f"{anew}{shown}")
            write(msg, *args, **markup)

        return guarded_write

    def _clean(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.longrepr is not None:
            report.longrepr = self._inside(report.longrepr, 0)
        if isinstance(report, pytest.TestReport) and hasattr(report, "wasxfail"):
            # pytest's own word for the reason of an expected failure.
            report.wasxfail = self.text(report.wasxfail)
        if report.sections:
            # What the agent wrote, as pytest captured it, which `-rA` shows of passed tests too.
            for place, (name, text) in enumerate(report.sections):
                # pytest itself colours what is logged.
                kept: Literal["kept", "escaped"] = (
                    "kept" if name.startswith("Captured log") else "escaped"
                )
                report.sections[place] = name, harmless(self._redaction.text(text), colours=kept)

    def _inside(self, part: Any, depth: int) -> Any:
        """Return a part of what pytest shows of a failure; its own objects are changed in place."""
        if isinstance(part, str):
            return self.text(part)
        if part is None or isinstance(part, int | float) or depth > _DEPTH:
            return part
        if isinstance(part, list | tuple):
            return self._sequence(cast("Sequence[Any]", part), depth)
        if type(part).__module__.startswith("_pytest.") and hasattr(part, "__dict__"):
            for name, one in tuple(vars(cast("object", part)).items()):
                if name != STYLE:
                    # Also if pytest has made it frozen: nobody else has seen it yet.
                    object.__setattr__(cast("object", part), name, self._inside(one, depth + 1))
            return part
        # Of another plugin; all that is known of it is that it can be shown.
        shown = str(part)
        return part if self.text(shown) == shown else self.text(shown)

    def _sequence(self, parts: Sequence[Any], depth: int) -> Any:
        if isinstance(parts, list) and parts and all(isinstance(one, str) for one in parts):
            # The lines of one text, so that a secret of several lines is seen as a whole.
            return self.text("\n".join(parts)).split("\n")
        inside = [self._inside(one, depth + 1) for one in parts]
        return tuple(inside) if isinstance(parts, tuple) else inside


# Keeps what runs in flight write out of the items that happen to run meanwhile.


@contextmanager
def output_apart(config: pytest.Config) -> Generator[None]:
    """File what runs write and log with the runs themselves, while items run."""
    streams = config.stash[BREAKAGE]
    handler = RunLogHandler()
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    handlers = [getattr(plugin, name, None) for name in ("caplog_handler", "report_handler")]
    shown = [one for one in handlers if isinstance(one, logging.Handler)]
    for one in shown:
        one.addFilter(is_shown)
    logging.getLogger().addHandler(handler)
    # While pytest reports, the streams stand there that are there now.
    route_streams(sys.stdout, sys.stderr)
    streams.are_routed = True
    try:
        yield
    finally:
        streams.are_routed = False
        logging.getLogger().removeHandler(handler)
        for one in shown:
            one.removeFilter(is_shown)


# Streams and descriptors that pytest writes to, which stay open although somebody closes them.
#
# pytest reads back what was written there, to the end of a session. The promises: no false green,
# and nobody pays for another. Without this a session whose agent closes `sys.stdout` ends in the
# middle of a traceback, and other runs lose their verdicts (`tests/hooks/test_breakage.py`,
# `test_closed_at_import.py`).


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
        # The streams that are kept open, by their ids: these stay their own as long as that is so.
        self._kept: dict[int, Any] = {}
        self._is_decided = False
        # Whether what runs in flight write is to stay out of the items that happen to run.
        self.are_routed = False
        # The streams for which all that was done.
        self._seen: Sequence[TextIO | None] = (None,) * 4

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Let whatever was closed fail the session, once the last test has been run."""
        # pytest imports it when a destructor raises. One that raised meanwhile met half of it, and
        # an innocent test was blamed; campaign: "raises an exception when it is forgotten".
        import_module("tracemalloc")
        result = yield
        session.testsfailed += len(self.notes)
        # Whoever closes a stream from here on takes nothing from a run: it is kept open quietly.
        self._is_decided = True
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
        # Now they may be closed again, as pytest itself does at the end.
        for stream in list(self._kept.values()):
            self._release(stream)
        release_streams()

    @pytest.hookimpl(tryfirst=True)
    def keep_streams(self) -> None:
        """Keep the standard streams open that are there, and the output of runs apart."""
        there = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        if all(map(is_, there, self._seen)):
            # As nearly always: pytest puts the same ones back.
            return
        self._seen = there
        streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        # What a fixture put there is closed by the fixture.
        of_pytest = {
            name: one
            for name, one in streams.items()
            if type(one).__module__.startswith("_pytest.")
        }
        own = {"__stdout__": sys.__stdout__, "__stderr__": sys.__stderr__}
        for name, stream in {**of_pytest, **own}.items():
            if stream is not None and id(stream) not in self._kept:
                self._keep(name, stream)
        if self.are_routed:
            route_streams(sys.stdout, sys.stderr)

    # After the set-up pytest has put others there, and so have `capsys` and its like.
    pytest_runtest_setup = pytest_runtest_call = keep_streams

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
            self.note(f"sys.{name} was closed at {place}, which fails the session: leave it open")

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

    def note(self, note: str) -> None:
        """Keep a note, once; none after the last test, which fails nothing."""
        if len(self.notes) < _MOST and not self._is_decided:
            self.notes[harmless(self._mask(note))] = None


# Gives the terminal to a debugger that opens in a run, while other items would go on.
#
# pytest captures and reports in the main thread, and takes the terminal back whenever an item ends.
# So the main thread stands still, where it waits for a run, until the user has done.

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
