"""One client of a provider's SDK per process and connection, shared by all runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final
from weakref import WeakKeyDictionary

_NAME_OF_TEST: Final = "PYTEST_CURRENT_TEST"
_TRIES: Final = 9

_making = Lock()
_made: dict[Hashable, Any] = {}
_made_on: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Any]] = WeakKeyDictionary()


def environment(*prefixes: str) -> Hashable:
    """Return what an SDK reads in the environment, as a part of a key: it may change in a process.

    It holds secrets, so it is kept and compared, and never shown.
    """
    # pytest changes the environment for each test, so a name may be gone once its turn comes.
    names = [name for name in list(os.environ) if name.startswith(prefixes)]
    return frozenset((name, os.environ.get(name)) for name in names)


def shared(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return what was made for this key, making it once, however many threads ask."""
    # Neither SDK may be made by two threads at once, and each client has connections of its own.
    with _making:
        if key not in _made:
            _made[key] = _once_made(make)
        return _made[key]


def shared_on_loop(key: Hashable, make: Callable[[], Any]) -> Any:
    """As `shared`, for clients that belong to the event loop that runs."""
    with _making:
        made = _made_on.setdefault(asyncio.get_running_loop(), {})
        if key not in made:
            made[key] = _once_made(make)
        return made[key]


def _once_made(make: Callable[[], Any]) -> Any:
    """Make a client whose SDK walks through the environment while pytest names its next test."""
    for _ in range(_TRIES):
        try:
            return make()
        except KeyError as gone:
            if gone.args != (_NAME_OF_TEST,):
                raise
    return make()
