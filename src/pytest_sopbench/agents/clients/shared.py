"""The library of a provider: imported, its clients shared by all runs, its calls waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from threading import Lock, Thread
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from pytest_sopbench._core.installing import install_hint
from pytest_sopbench.errors import AgentSpecError

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


# Wait on an event loop for a client that blocks.

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Return what a call returns, made in a thread of its own.

    The pool of `asyncio.to_thread` has few threads, and waits at the end for those that hang.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)  # type: ignore[arg-type] # it is a T if nothing was raised
        else:
            future.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(call)
        except BaseException as raised:  # noqa: BLE001 - it is raised again where it is awaited
            error = raised
        # The loop may be closed by now: then nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    Thread(target=work, daemon=True).start()
    return await future


# Import a library that only an extra installs, or say what to install.

# Each extra has jinja2 as well: prompts are made by it, and it would be the next that is missing.
_EXTRAS: Final = {"openai": "openai", "boto3": "bedrock", "jinja2": "openai"}


def load_sdk(name: str) -> Any:
    """Return a library by its name.

    Raises:
        AgentSpecError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        extra = _EXTRAS[name]
        libraries = [one for one in _EXTRAS if one == "jinja2" or _EXTRAS[one] == extra]
        msg = f"{name} is not installed: {install_hint(*libraries, extra=extra)}"
        raise AgentSpecError(msg) from None
