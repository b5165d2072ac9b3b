"""Output and logs of a run, kept apart from those of others."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Literal, TextIO, TypeAlias, cast
from weakref import WeakSet

from pytest_sopbench._core.hiding import current_mask, without_controls
from pytest_sopbench._core.values.json import escape_surrogates

# Route what a run writes to stdout and stderr to the run's own buffer.
#
# `contextlib.redirect_stdout` swaps a global of the process, so that two runs in flight would take
# each other's lines. Here the stream objects stay where they are; only their `write` asks a
# ContextVar whose run it is. A thread that carries no run's context writes as ever.

Capture: TypeAlias = Literal["keep", "tee"]
"""`keep`: only the buffer gets the text; `tee`: the terminal, or pytest's capture, gets it too,
with escapes for what moves a cursor."""

OUTPUT_LIMIT: Final = 1_000_000
"""Characters of output that one run keeps; the rest is left out, and said so."""

MARGIN: Final = 10_000
"""Characters beyond the limit in which a secret that begins before it must end."""


class Output:
    """What one run wrote; may be written to from any thread."""

    __slots__ = ("_left", "_lock", "_parts", "mask")

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._lock = Lock()
        self._left = limit + MARGIN
        self._parts: list[str] = []
        # Of the context of the run: whoever writes or reads may be of another one.
        self.mask = current_mask()

    def write(self, text: str) -> None:
        """Keep text.

        Raises:
            TypeError: it is not text; a stream refuses it with the same error.
        """
        if not isinstance(cast("object", text), str):
            msg = f"write() argument must be str, not {type(text).__name__}"
            raise TypeError(msg)
        with self._lock:
            if self._left <= 0:
                return
            self._parts.append(text[: self._left])
            self._left -= len(text)

    @property
    def text(self) -> str:
        if not self._parts:
            return ""
        with self._lock:
            kept, full = escape_surrogates("".join(self._parts)), self._left <= 0
        if not full:
            return kept
        # Where a secret was cut in two, its first part lies in the margin.
        return f"{self.mask(kept)[:-MARGIN]}\n[more output was left out]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    output: Output
    capture: Capture


_route: ContextVar[_Route | None] = ContextVar("sopbench_output", default=None)


def current_output() -> Output | None:
    """Return where the run writes whose context this is; `None` outside of runs."""
    route = _route.get()
    return route.output if route else None


def is_kept_apart() -> bool:
    """Tell whether this context is of a run whose output is only kept, and shown nowhere."""
    route = _route.get()
    return route is not None and route.capture == "keep"


def show_from_now_on() -> None:
    """Let what this context writes from now on go where it would go outside of a run."""
    _route.set(None)


_MARK: Final = "_sopbench_routed"
_patching = Lock()
_routed_streams: WeakSet[Any] = WeakSet()
"""A global, as the streams are; those that `capsys` and its like have put there come and go."""


class captured:  # noqa: N801 - it is used as a function is; a generator costs a run more
    """Send what this context writes to `output`; async tasks and copied contexts inherit it."""

    __slots__ = ("_route", "_token")

    def __init__(self, output: Output, capture: Capture = "keep") -> None:
        self._route = _Route(output=output, capture=capture)

    def __enter__(self) -> None:
        route_streams(sys.stdout, sys.stderr)
        self._token = _route.set(self._route)

    def __exit__(self, *_: object) -> None:
        _route.reset(self._token)


def route_streams(*streams: TextIO | None) -> None:
    """Make the `write` of these streams ask for the run; a second time changes nothing."""
    for stream in streams:
        # Under pythonw, and in some daemons, the standard streams are None; an agent may put
        # anything there.
        if stream is None or not hasattr(stream, "write") or hasattr(stream.write, _MARK):
            continue
        with _patching:
            if not hasattr(stream.write, _MARK):
                _patch(stream)


def release_streams() -> None:
    """Give the streams back as they were, such as to a program that has called pytest."""
    with _patching:
        for stream in list(_routed_streams):
            write = getattr(stream, "__dict__", {}).get("write")
            # Else somebody has put another function into the place of ours.
            if hasattr(write, _MARK):
                before = getattr(write, _MARK)
                if before is None:
                    del stream.write
                else:
                    stream.write = before
        _routed_streams.clear()


def _patch(stream: Any) -> None:
    before = getattr(stream, "__dict__", {}).get("write")
    routed = _routed(stream.write, before)
    try:
        stream.write = routed
    except (AttributeError, TypeError):
        # A stream without a __dict__ cannot be routed; its text then goes where it always went.
        return
    with suppress(TypeError):
        # An agent may put there what cannot be kept in a set.
        _routed_streams.add(stream)


def _routed(write: Callable[[str], int], before: object) -> Callable[[str], int]:
    def routed_write(text: str) -> int:
        route = _route.get()
        if route is None:
            return write(text)
        route.output.write(text)
        if route.capture == "tee":
            write(without_controls(text))
        return len(text)

    setattr(routed_write, _MARK, before)
    return routed_write


# File the log records of a run with the run's own output, and keep them from others' items.
#
# As for the streams, the ContextVar of the run decides, so that threads which carry a run's
# context are the run's own. Records of loggers that do not propagate never come here.

LOG_FORMAT: Final = "%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s"
"""How a record is written: pytest's own default."""


class RunLogHandler(logging.Handler):
    """For the root logger: writes each record into the output of the run that it comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(LOG_FORMAT))

    def createLock(self) -> None:  # noqa: N802 - the name is logging's
        # Outputs have locks of their own, and a record whose text hangs must not stop all runs.
        self.lock = None

    def handle(self, record: logging.LogRecord) -> Any:
        # From Python 3.13 on, logging's own enters the lock without asking whether there is one.
        kept: Any = self.filter(record)
        if isinstance(kept, logging.LogRecord):
            record = kept
        if kept:
            self.emit(record)
        return kept

    def emit(self, record: logging.LogRecord) -> None:
        output = current_output()
        if output is None:
            return
        try:
            output.write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - an agent's own values are put into the text
            self.handleError(record)


def is_shown(record: logging.LogRecord) -> bool:
    """Filter for handlers that belong to an item: no record of a run that is kept apart."""
    del record
    return not is_kept_apart()


# End a child of the process that comes back from an agent.
#
# An agent that forks and lets its child return would have two processes go on with one session, and
# count its runs twice. The promise is that nothing is lost or counted twice; campaign: "forks and
# comes back".

FAILED: Final = 1
MESSAGE: Final = (
    b"\nsop: a child process that the agent forked came back from the agent, and was ended\n"
)


def end_child_of(process: int) -> None:
    """End this process, unless it is the one that called the agent."""
    if os.getpid() == process:
        return
    try:
        os.write(2, MESSAGE)
    finally:
        os._exit(FAILED)
