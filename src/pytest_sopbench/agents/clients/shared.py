"""One client of a provider's SDK per process and connection, shared by all runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

_making = Lock()
_made: dict[Hashable, Any] = {}
_made_on: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Any]] = WeakKeyDictionary()


def environment(*prefixes: str) -> Hashable:
    """Return what an SDK reads in the environment, as a part of a key: it may change in a process.

    It holds secrets, so it is kept and compared, and never shown.
    """
    return frozenset(item for item in os.environ.items() if item[0].startswith(prefixes))


def shared(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return what was made for this key, making it once, however many threads ask."""
    # Neither SDK may be made by two threads at once, and each client has connections of its own.
    with _making:
        if key not in _made:
            _made[key] = make()
        return _made[key]


def shared_on_loop(key: Hashable, make: Callable[[], Any]) -> Any:
    """As `shared`, for clients that belong to the event loop that runs."""
    with _making:
        made = _made_on.setdefault(asyncio.get_running_loop(), {})
        if key not in made:
            made[key] = make()
        return made[key]
