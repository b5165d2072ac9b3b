"""What an agent raised, as a value: its type, its message and the user's own frames."""

from __future__ import annotations

import os
import site
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeGuard, TypeVar

from pytest_sopbench import errors
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.values.plain import escape_surrogates

E = TypeVar("E", bound=BaseException)

_OURS: Final = str(Path(errors.__file__).parent)
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
    # Not `kind.__qualname__`: a metaclass of a user answers that, or fails to.
    name = str(type.__getattribute__(kind, "__qualname__"))
    module = type.__getattribute__(kind, "__module__")
    return f"{module}.{name}" if type(module) is str and module != "builtins" else name


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
    of a user may raise then.
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
