"""What is seen of a run: what it writes and logs, what it raises, and what interrupts it.

Output and logs of a run are kept apart from those of others. What an agent raised becomes a value:
its type, its message and the user's own frames.
"""

from __future__ import annotations

import logging
import os
import signal
import site
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any, Final, Literal, TextIO, TypeAlias, TypeGuard, TypeVar, cast
from weakref import WeakSet

from pytest_sopbench import errors
from pytest_sopbench._core.availability import chain
from pytest_sopbench._core.hiding import current_mask, ready_to_cut, without_controls
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.values.json import call_safely, escape_surrogates, get_member

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
        # If a secret was cut in two, its first part lies in the margin.
        return f"{self.mask(kept)[:-MARGIN]}\n[more output was left out]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    output: Output
    capture: Capture


_route: ContextVar[_Route | None] = ContextVar("sopbench_output", default=None)


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


class captured:  # noqa: N801 - it is used as a function is
    """Send what this context writes to `output`; async tasks and copied contexts inherit it.

    A generator would write to what the agent raises, which may be frozen.
    """

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
        route = _route.get()
        if route is None:
            return
        try:
            route.output.write(f"{self.format(record)}\n")
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


# What an agent raised, as a value: its type, its message and the user's own frames.

E = TypeVar("E", bound=BaseException)

_OURS: Final = str(Path(errors.__file__).parent)
_PRIVATE: Final = "pytest_sopbench._"
_BUNDLED: Final = str(Path(_OURS, "bundled"))
# Not imported for its path: most sessions have no async agent.
_ASYNCIO: Final = str(Path(os.__file__).with_name("asyncio"))

TEXT_LIMIT: Final = 20_000
"""Characters of a message or of a traceback that are kept; what is cut is the middle."""


def problem_of(error: BaseException, notes: list[str] | None = None) -> Problem:
    """Describe an exception, with the exceptions it came from; its traceback is not kept."""
    return Problem(
        type=qualified_name(type(error)),
        message=_fitting(message_of(error), notes),
        traceback=_fitting(_user_traceback(error), notes),
    )


def qualified_name(kind: type) -> str:
    # Not `kind.__qualname__`: a metaclass of a user answers that, or fails to. The promise is that
    # who raises costs nobody else a run; campaign: "raises an exception of a hostile class".
    name = str(type.__getattribute__(kind, "__qualname__"))
    module = type.__getattribute__(kind, "__module__")
    if isinstance(module, str) and module.startswith(_PRIVATE):
        # Where we keep it is nobody's concern.
        return name
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name


def name_of(error: BaseException) -> str:
    """Return the bare name of an exception's class."""
    return str(type.__getattribute__(type(error), "__name__"))


def message_of(error: BaseException) -> str:
    """Return `str(error)`, which an exception of a user may fail to give."""
    try:
        return str(error)
    except BaseException as fault:  # noqa: BLE001 - the user's own __str__, which may even exit
        return f"<its text cannot be read: {name_of(fault)}>"


def is_of(error: BaseException, kind: type[E]) -> TypeGuard[E]:
    """Tell whether an exception is one of a kind.

    `isinstance` asks the object itself for its class if its type does not fit, and an object
    of a user may raise then. The promise is that who raises costs nobody else a run;
    campaign: "raises an exception that hides its attributes".
    """
    return issubclass(type(error), kind)


def is_ours(filename: str) -> bool:
    """Whether a frame in this file is machinery: ours, or asyncio's own."""
    if filename.startswith(_BUNDLED):
        return False
    return filename.startswith((_OURS, _ASYNCIO, "<frozen "))


def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package or the standard library."""
    return filename.startswith(_installed_places())


@cache
def _installed_places() -> tuple[str, ...]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    places = {*map(sysconfig.get_path, kinds), site.getusersitepackages()}
    return tuple(f"{place}/" for place in places if place)


def _user_traceback(error: BaseException) -> str:
    try:
        told = traceback.TracebackException.from_exception(error, compact=True)
        _leave_others_out(told)
        return "".join(told.format())
    except BaseException as fault:  # noqa: BLE001 - an exception of a user may break any protocol
        return f"<its traceback cannot be read: {name_of(fault)}>"


def _leave_others_out(told: traceback.TracebackException) -> None:
    """Leave our frames out, and those of installed packages, unless there are no others."""
    linked = list(_linked(told))
    for one in linked:
        kept = [frame for frame in one.stack if not is_ours(frame.filename)]
        one.stack = traceback.StackSummary.from_list(kept)
    # An agent may be an installed package itself: then all frames are of use.
    if any(not is_installed(frame.filename) for one in linked for frame in one.stack):
        for one in linked:
            own = [frame for frame in one.stack if not is_installed(frame.filename)]
            one.stack = traceback.StackSummary.from_list(own)


def _linked(told: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """Yield an exception, those it came from, and those of a group."""
    pending = [told]
    while pending:
        one = pending.pop()
        yield one
        linked = (one.__cause__, one.__context__, *(one.exceptions or ()))
        pending += [other for other in linked if other is not None]


def _fitting(text: str, notes: list[str] | None) -> str:
    text = escape_surrogates(text, notes)
    if len(text) <= TEXT_LIMIT:
        return text
    text, half = ready_to_cut(text), TEXT_LIMIT // 2
    if len(text) <= TEXT_LIMIT:
        return text
    return f"{text[:half]}\n[...]\n{text[-half:]}"


# Tell a Ctrl-C of the user from a `KeyboardInterrupt` that an agent raised.
#
# Both are the same exception. Only the signal differs, so while a run is in the main thread (the
# only one that signals reach) the handler of SIGINT is asked to note that it was called. In other
# threads a `KeyboardInterrupt` can only be the agent's own.


@dataclass(slots=True)
class Interrupts:
    """Whether the user has interrupted since the watch began."""

    seen: bool = False


@contextmanager
def watched_interrupts() -> Generator[Interrupts]:
    """Note SIGINT while it is handled as before, in the thread that it reaches."""
    before, interrupts = signal.getsignal(signal.SIGINT), Interrupts()
    # If no Python function handles the signal, it never becomes a KeyboardInterrupt.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        __tracebackhide__ = True
        interrupts.seen = True
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        # An agent that has set a handler of its own keeps it.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


# Read from an exception for how long its provider asks to be left alone.
#
# Clients keep the response on what they raise: openai, anthropic, httpx and requests as an object
# with `headers`, botocore as a mapping. No client is imported for it.

LONGEST: Final = 300.0
"""Seconds that are waited at most, whatever a provider asks for."""


_NOW: Final = partial(datetime.now, UTC)


def retry_after(error: BaseException, now: Callable[[], datetime] = _NOW) -> float | None:
    """Return the seconds of the first `Retry-After` along the chain of causes, or `None`.

    Read are seconds, HTTP dates (RFC 9110, 10.2.3), and the milliseconds of `retry-after-ms`.
    """
    for one in chain(error):
        response = get_member(one, "response")
        metadata = get_member(response, "ResponseMetadata")
        for headers in (get_member(response, "headers"), get_member(metadata, "HTTPHeaders")):
            found = _read(headers, now)
            if found is not None:
                return min(found, LONGEST)
    return None


def _read(headers: object, now: Callable[[], datetime]) -> float | None:
    milliseconds = _seconds(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = _header(headers, "retry-after")
    seconds = _seconds(text)
    return _until(text, now) if seconds is None else seconds


def _header(headers: Any, name: str) -> str:
    # Clients' headers know no case; those of a stand-in may be a plain dict.
    for spelling in (name, name.title()):
        value = call_safely(partial(_get_header, headers, spelling), None)
        if isinstance(value, str | int | float):
            return str(value).strip()
    return ""


def _get_header(headers: Any, name: str) -> object:
    found: object = headers.get(name)
    return found


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _until(text: str, now: Callable[[], datetime]) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now()).total_seconds())
