"""What a run raised, and what interrupts a session."""

from __future__ import annotations

import os
import signal
import site
import sysconfig
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from math import isfinite
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeGuard, TypeVar

from pytest_sopbench import errors
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.judging.availability import chain
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.values.json import call_safely, escape_surrogates, get_member

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

    `isinstance` asks the object itself for its class where its type does not fit, and an object
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


class Interrupts:
    """Whether the user has interrupted since the watch began."""

    def __init__(self) -> None:
        self.seen = False
        self._handler: Callable[[int, FrameType | None], Any] | None = None

    @property
    def is_watching(self) -> bool:
        """Whether nobody has put a handler of his own into the place of this one."""
        return self._handler is not None and signal.getsignal(signal.SIGINT) is self._handler

    @contextmanager
    def watching(self) -> Generator[Interrupts, None, None]:
        """Note that SIGINT came, in the thread that it reaches."""
        before = signal.getsignal(signal.SIGINT)
        # Where no Python function handles the signal, it never becomes a KeyboardInterrupt.
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield self
            return

        def note(number: int, frame: FrameType | None) -> None:
            __tracebackhide__ = True
            self.seen = True
            before(number, frame)

        self._handler = note
        signal.signal(signal.SIGINT, note)
        try:
            yield self
        finally:
            # An agent that has set a handler of its own keeps it.
            if self.is_watching:
                signal.signal(signal.SIGINT, before)


_standing: Interrupts | None = None
"""The watch that lasts longer than a run, if there is one."""


@contextmanager
def standing_watch() -> Generator[None, None, None]:
    """Watch once for all runs inside: exchanging the handler for each costs more than the run."""
    global _standing  # noqa: PLW0603 - a process has one handler of a signal
    before, interrupts = _standing, Interrupts()
    with interrupts.watching():
        _standing = interrupts
        try:
            yield
        finally:
            _standing = before


_UNSEEN: Final = nullcontext(Interrupts())
"""For all other threads: no signal reaches them."""


def watched_interrupts() -> AbstractContextManager[Interrupts]:
    """Note SIGINT while it is handled as before; the handler is put back at the end."""
    if threading.current_thread() is not threading.main_thread():
        return _UNSEEN
    if _standing is not None and _standing.is_watching:
        _standing.seen = False
        return nullcontext(_standing)
    return Interrupts().watching()


# Read from an exception for how long its provider asks to be left alone.
#
# Clients keep the response on what they raise: openai, anthropic, httpx and requests as an object
# with `headers`, botocore as a mapping. No client is imported for it.

LONGEST: Final = 300.0
"""Seconds that are waited at most, whatever a provider asks for."""


def _now() -> datetime:
    return datetime.now(UTC)


def retry_after(error: BaseException, now: Callable[[], datetime] = _now) -> float | None:
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
