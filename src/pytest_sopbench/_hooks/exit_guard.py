"""Nothing that runs in a session may end the process with success before the session's end.

After `os._exit` nothing of a session is left: no summary, no gate, no report. What is left is the
exit status, and with 0 a CI server would read the session as passed. So a 0 becomes the status of
the session, which is a failure until the session has ended. Every other status stays. The promise
is that there is no false green; without this `tests/hooks/test_ending.py` ends with 0.

What ends the process past Python (`exit` of the C library) cannot be seen here, nor what got hold
of the function before this stood and keeps it elsewhere than in a module. For those there is the
mark that a session leaves (`_sessions.mark`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from operator import is_
from types import ModuleType
from typing import Any, NoReturn, TypeGuard

import pytest

FAILED = 1
IN_THE_MIDDLE = (
    "\nsop: the agent ended the process with os._exit(0) in the middle of the session; the session "
    "is lost, and fails\nsop: with pytest-xdist (-n 1) such a run counts as a crash, and the "
    "session goes on\n"
)
TOO_EARLY = (
    "\nsop: something ended the process with os._exit(0) before the session was over; "
    "the session fails\n"
)
AT_THE_END = "\nsop: something ended the process with os._exit(0); the session failed with {}\n"
REPLACED = (
    "sop: os.exec* would put another program in the place of the session; start it with subprocess"
)
EXECS = ("execv", "execve")
"""All others call these."""

SYSTEM = (os, sys.modules.get(os.name))
"""Where the functions of the system come from."""


def exited(ended: SystemExit, hook: str) -> RuntimeError:
    """Return the error that takes the place of an exit, which with 0 would pass for a success."""
    return RuntimeError(
        f"{hook} called sys.exit({ended.code!r}); a hook says what is wrong by an error"
    )


class ExitGuard:
    """Stands before the ways out of this process, under each name that a module has for them.

    Children that were forked from the process go on ending as they like.

    Args:
        config: of the session, whose output is no longer captured when the end is told.
        status: what a 0 becomes; `None` before the session has ended.
        leave: is called before the process ends as the session did.
    """

    def __init__(
        self, config: pytest.Config, status: Callable[[], int | None], leave: Callable[[], None]
    ) -> None:
        self._config = config
        self._status = status
        self._leave = leave
        self._process = os.getpid()
        self._early = TOO_EARLY
        self._undo: list[Callable[[], None]] = []

    def answer_to(self, status: Callable[[], int | None], leave: Callable[[], None]) -> None:
        """Guard the process for a session from here on; what was said before is forgotten."""
        self._status, self._leave, self._early = status, leave, IN_THE_MIDDLE

    def stand(self) -> None:
        """Begin, with every module that is there; a guard that stands goes on."""
        if self._undo:
            return
        self._replace(os._exit, self._exit_in_place_of(os._exit), list(sys.modules.values()))

    @contextmanager
    def exec_refused(self) -> Generator[None]:
        """Let no other program take the place of this process meanwhile."""
        before = len(self._undo)
        for name in EXECS:
            original: Any = getattr(os, name)
            # Not in every module: who has it from before is rare, and looking takes its time.
            self._replace(original, self._refusal_in_place_of(original), SYSTEM)
        try:
            yield
        finally:
            while len(self._undo) > before:
                self._undo.pop()()

    def step_down(self) -> None:
        """End, and leave everything as it was."""
        while self._undo:
            self._undo.pop()()

    def _exit_in_place_of(self, leave: Callable[[Any], NoReturn]) -> Callable[[Any], NoReturn]:
        def _exit(status: Any) -> NoReturn:
            if os.getpid() != self._process:
                leave(status)
            own = self._status()
            # The system keeps the last eight bits: 256 is 0 as well.
            claims_success = isinstance(status, int) and status & 0xFF == 0
            if own is not None:
                self._leave()
            if not claims_success or own == 0:
                leave(status)
            try:
                self._say(own)
            finally:
                leave(FAILED if own is None else own)

        return _exit

    def _say(self, own: int | None) -> None:
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        if own is None and capture is not None:
            capture.suspend_global_capture(in_=True)
        text = self._early if own is None else AT_THE_END.format(own)
        os.write(2, text.encode())

    def _refusal_in_place_of(self, original: Callable[..., object]) -> Callable[..., object]:
        def refuse(*arguments: Any, **named: Any) -> object:
            if os.getpid() != self._process:
                return original(*arguments, **named)
            raise PermissionError(REPLACED)

        return refuse

    def _replace(self, original: object, guard: object, modules: Iterable[object]) -> None:
        for module, name in list(_places(original, modules)):
            setattr(module, name, guard)
            self._undo.append(partial(setattr, module, name, original))


def _places(original: object, modules: Iterable[object]) -> Iterator[tuple[ModuleType, str]]:
    """Yield where modules have a function."""
    for module in modules:
        if not _is_module(module):
            continue
        # Past the module's own way of giving attributes, which may load what nobody needs, as with
        # `importlib.util.LazyLoader`.
        names: dict[str, object] = object.__getattribute__(module, "__dict__")
        # Nearly all have it not, and there are thousands of names in hundreds of modules.
        if any(map(is_, list(names.values()), repeat(original))):
            yield from ((module, name) for name, value in list(names.items()) if value is original)


def _is_module(value: object) -> TypeGuard[ModuleType]:
    # By its type: what cffi puts among the modules only says that it is one.
    return issubclass(type(value), ModuleType)
