"""Children of a run that find the proxy, where other code of this process starts them.

The environment of a process is one for all runs in flight, so nothing is ever set in it. Each child
gets an environment of its own when it is started, and that is where ours is put in: in
`subprocess.Popen`, by which `subprocess.run` and the subprocesses of asyncio start too. The run is
found by the context of the one who starts the child.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Final

from pytest_sopbench._replay.seams.installed import Installation, installed
from pytest_sopbench._replay.seams.take import Door, Patches, settle
from pytest_sopbench._replay.tape.exchange import Tape
from pytest_sopbench._replay.tape.run_tape import CURRENT, current_tape

from .server import Proxy

_ENVIRONMENT: Final = 10
"""The place of `env` among the positional arguments of `Popen`."""

_LOCK = threading.RLock()
_WATCHES: list[Watching] = []
"""One at most. A global, as `subprocess` is."""


class Watching:
    """What is seen of the traffic of this process and of its children."""

    def __init__(self, seams: Installation) -> None:
        """Begin with no child."""
        self._seams = seams
        self._patches = Patches()
        self._proxy = Proxy()
        self.blocks = 0

    @property
    def moved(self) -> tuple[str, ...]:
        """What stands in the way of seeing a library that is imported."""
        return tuple(self._seams.moved)

    def environment(self, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment for a child of the run in this context.

        By it a child is recorded that is started in another way than by `subprocess`: in a
        terminal, by a job of another service.
        """
        own = dict(os.environ if environment is None else environment)
        tape = _tape_of_child()
        return own if tape is None else self._proxy.environment(tape, own)

    def end(self, tape: Tape) -> None:
        """The run of a tape is over: streams left open are kept as such, and children refused."""
        settle(tape)
        self._proxy.forget(tape)

    def open(self) -> None:
        through = partial(_with_environment, self.environment)
        self._patches.apply((Door(owner=subprocess.Popen, name="__init__", through=through),))

    def close(self) -> None:
        self._patches.undo()
        self._proxy.close()


@contextmanager
def watching(left_out: Sequence[str] = ()) -> Generator[Watching]:
    """See the traffic of this process and of the children of runs, for as long as a block lasts.

    A block within another one changes nothing but the hosts that are left out.
    """
    with installed(left_out) as seams:
        with _LOCK:
            if not _WATCHES:
                _WATCHES.append(Watching(seams))
                _WATCHES[0].open()
            watching = _WATCHES[0]
            watching.blocks += 1
        try:
            yield watching
        finally:
            with _LOCK:
                watching.blocks -= 1
                if not watching.blocks:
                    _WATCHES.remove(watching)
                    watching.close()


def _tape_of_child() -> Tape | None:
    """Return the tape of the run; one of the outside for a thread that has lost its context."""
    tape = CURRENT.get()
    if tape is None and threading.current_thread() is not threading.main_thread():
        return current_tape()
    return tape


def _with_environment(
    environment_of: Callable[[Mapping[str, str] | None], dict[str, str]],
    original: Callable[..., None],
) -> Callable[..., None]:
    @wraps(original)
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807 - it replaces one
        if _tape_of_child() is None:
            original(self, *args, **named)
        elif len(args) > _ENVIRONMENT:
            before, given, after = args[:_ENVIRONMENT], args[_ENVIRONMENT], args[_ENVIRONMENT + 1 :]
            original(self, *before, environment_of(given), *after, **named)
        else:
            given = named.pop("env", None)
            original(self, *args, env=environment_of(given), **named)

    return __init__
