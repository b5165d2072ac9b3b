"""Functions of the standard library that code of a project has replaced by what does not work.

pytest, Python and this package need them to the end of a session. What stands in their place and
works, such as a frozen clock or the wrapper of a tracer, is left alone.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from operator import is_not
from typing import Any, Final, TypeAlias

_NULL: Final = os.devnull
# Taken at import, since what is looked for here may be one of them.
_any, _getattr, _repr, _type = any, getattr, repr, type
_map: Final[Callable[..., Iterable[object]]] = map

Seen: TypeAlias = tuple[object, ...]
"""What stood in the place of each function at some moment, in the order of `NAMES`."""


@dataclass(frozen=True, slots=True)
class _Needed:
    """A function as it was at import, and how to find out whether another does what it does."""

    name: str
    owner: Any
    attribute: str
    works: Callable[[Any], bool]
    original: Any

    @property
    def there(self) -> Any:
        """What stands in its place."""
        return _getattr(self.owner, self.attribute, None)


def _opens(open_file: Any) -> bool:
    open_file(_NULL, "rb").close()
    return True


def _opens_path(open_path: Any) -> bool:
    open_path(pathlib.Path(_NULL), "rb").close()
    return True


def _misses(replace: Any) -> bool:
    """Tell whether a function that takes two paths says that the first one is not there."""
    try:
        replace(f"{_NULL}/nothing", f"{_NULL}/nothing")
    except OSError:
        return True
    return False


def _writes(write: Any) -> bool:
    descriptor = os.open(_NULL, os.O_WRONLY)
    try:
        return bool(write(descriptor, b"a") == 1)
    finally:
        os.close(descriptor)


def _locks(make_lock: Any) -> bool:
    with make_lock():
        return True


def _is_thread(thread: object) -> bool:
    return isinstance(thread, _Thread)


_Thread: Final = threading.Thread
_PROBES: Final[tuple[tuple[Any, str, Callable[[Any], bool]], ...]] = (
    (builtins, "__import__", lambda f: f("sys").__name__ == "sys"),
    (builtins, "repr", lambda f: f(0) == "0"),
    (builtins, "open", _opens),
    (json, "JSONEncoder", lambda f: f().encode([0]) == "[0]"),
    (json, "dumps", lambda f: f([0]) == "[0]"),
    (json, "loads", lambda f: f("[0]") == [0]),
    (os, "environ", lambda env: isinstance(env.get("PATH", ""), str)),
    (os, "getpid", lambda f: isinstance(f(), int)),
    (os, "write", _writes),
    (os, "replace", _misses),
    (pathlib.Path, "exists", lambda f: f(pathlib.Path(_NULL)) is True),
    (pathlib.Path, "open", _opens_path),
    (pathlib.Path, "write_text", lambda f: isinstance(f(pathlib.Path(_NULL), "a", "ascii"), int)),
    (threading, "current_thread", lambda f: _is_thread(f())),
    (threading, "Lock", _locks),
    (threading, "Event", lambda f: f().is_set() is False),
    (threading, "Thread", lambda f: _is_thread(f(target=len))),
    (queue, "SimpleQueue", lambda f: f().empty() is True),
    (time, "time", lambda f: isinstance(f(), int | float)),
    (time, "monotonic", lambda f: isinstance(f(), int | float)),
    (time, "perf_counter", lambda f: isinstance(f(), int | float)),
    (time, "sleep", lambda f: f(0) is None),
    (hashlib, "sha256", lambda f: len(f(b"").digest()) == 32),  # noqa: PLR2004 - its size
)
_NEEDED: Final = tuple(
    _Needed(
        name=f"{owner.__name__}.{attribute}" if owner is not pathlib.Path else f"Path.{attribute}",
        owner=owner,
        attribute=attribute,
        works=works,
        original=getattr(owner, attribute),
    )
    for owner, attribute, works in _PROBES
)
NAMES: Final = tuple(one.name for one in _NEEDED)
"""The functions that are looked at."""


class Watched:
    """Some of the functions, in columns: to look at all of them is done twice for each test."""

    def __init__(self, needed: Iterable[_Needed]) -> None:
        self._needed = tuple(needed)
        self._owners = tuple(one.owner for one in self._needed)
        self._attributes = tuple(one.attribute for one in self._needed)
        self._originals = tuple(one.original for one in self._needed)

    def there(self) -> tuple[object, ...]:
        """Return what stands in the place of each."""
        return (*_map(_getattr, self._owners, self._attributes, repeat(None)),)

    def are_replaced(self) -> bool:
        """Tell whether something else stands in the place of any, which is rare."""
        there = _map(_getattr, self._owners, self._attributes, repeat(None))
        return _any(_map(is_not, there, self._originals))

    def replaced(self) -> Collection[_Needed]:
        """Return those in whose place something else stands."""
        return [one for one in self._needed if one.there is not one.original]


EVERY: Final = Watched(_NEEDED)
INDISPENSABLE: Final = Watched(
    one for one in _NEEDED if one.name in {"builtins.__import__", "builtins.repr", "os.environ"}
)
"""What pytest needs between any two of its hooks; no test can mean to do without."""

_BUILTINS: Final = vars(builtins)
_OS: Final = vars(os)
_import, _environ = builtins.__import__, os.environ


def must_be_mended() -> bool:
    """Tell whether something else stands in the place of what is `INDISPENSABLE`.

    As its `are_replaced` says it, in a fifth of the time: it is asked eight times for each test.
    """
    return (
        _BUILTINS.get("__import__") is not _import
        or _BUILTINS.get("repr") is not _repr
        or _OS.get("environ") is not _environ
    )


def seen_now() -> Seen:
    """Return what stands in the place of each function."""
    return EVERY.there()


class Mending:
    """Puts functions back whose replacement does not work; each replacement is tried once."""

    def __init__(self) -> None:
        # The objects themselves, so that none of them gives its identity to another.
        self._working: list[tuple[str, object]] = []

    def mend(self, watched: Watched = EVERY, *, since: Seen | None = None) -> list[str]:
        """Put back what does not work, and say of each function what was found in its place.

        Args:
            watched: the functions to look at.
            since: what was there before; what has not changed since is left alone.
        """
        return [*self._mended(watched, since)]

    def _mended(self, watched: Watched, since: Seen | None) -> Iterator[str]:
        for one in watched.replaced():
            there = one.there
            if since is not None and since[NAMES.index(one.name)] is there:
                continue
            why = self._fault(one, there)
            if why:
                setattr(one.owner, one.attribute, one.original)
                yield (
                    f"{one.name} was replaced by {_described(there)}, which does not work"
                    f" ({why}); it was put back"
                )

    def _fault(self, one: _Needed, there: object) -> str:
        if any(name == one.name and known is there for name, known in self._working):
            return ""
        try:
            if one.works(there):
                self._working.append((one.name, there))
                return ""
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it may raise anything
            return _said(error)
        return "it returns something else"


def _said(error: BaseException) -> str:
    try:
        return f"{_type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - the class is the project's
        return _type(error).__name__


def _described(there: object) -> str:
    """Name what stands there, with its place where it has one."""
    code = _getattr(there, "__code__", None)
    try:
        return f"{code.co_name} of {code.co_filename}:{code.co_firstlineno}"  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess] - what has none is below
    except Exception:  # noqa: BLE001 - it may be anything
        return f"an object of type {_type(there).__name__}"
