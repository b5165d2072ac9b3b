"""Standard streams, and their descriptors, that stay open although somebody closes them.

pytest writes to them, and reads back what was written, to the end of a session: one that is closed
ends the session in the middle of a traceback.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from inspect import currentframe
from types import FrameType
from typing import Any, TextIO


class KeptOpen:
    """Keeps streams open, and tells who has closed them.

    Args:
        told: called with a sentence, in whatever thread closed a stream.
    """

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        # By their ids, which stay their own as long as they are kept.
        self._kept: dict[int, Any] = {}

    def keep(self, **streams: TextIO | None) -> None:
        """Keep these streams open, each of which is given by its name; again changes nothing."""
        for name, stream in streams.items():
            if stream is not None and id(stream) not in self._kept:
                self._keep(name, stream)

    def let_go(self) -> None:
        """Let the streams be closed again, as pytest itself does at the end."""
        for stream in list(self._kept.values()):
            self._release(stream)

    def _keep(self, name: str, stream: Any) -> None:
        def close() -> None:
            here = currentframe()
            there = here.f_back if here is not None else None
            if there is not None and _is_pytest(there):
                # What captures a test, such as `capsys`, is closed by the one who opened it.
                self._release(stream)
                stream.close()
                return
            place = f"{there.f_code.co_filename}:{there.f_lineno}" if there is not None else "once"
            self._told(f"sys.{name} was closed at {place}; it was kept open")

        try:
            stream.close = close
        except (AttributeError, TypeError):
            # A stream without a __dict__; pytest's and Python's own have one.
            return
        self._kept[id(stream)] = stream

    def _release(self, stream: Any) -> None:
        if "close" in vars(stream):
            del stream.close
        self._kept.pop(id(stream), None)


@contextmanager
def kept_descriptors(told: Callable[[str], None], what: str) -> Generator[None]:
    """Put the descriptors 0, 1 and 2 back that the block, in which `what` happens, has replaced.

    pytest captures by them, and the next file that is opened would take the number of one that is
    closed.
    """
    before: dict[int, int] = {}
    for descriptor in range(3):
        with suppress(OSError):
            before[descriptor] = os.dup(descriptor)
    try:
        yield
    finally:
        for descriptor, copy in before.items():
            if not _is_same(descriptor, copy):
                with suppress(OSError):
                    os.dup2(copy, descriptor)
                told(f"file descriptor {descriptor} was closed or replaced {what}; it was put back")
            with suppress(OSError):
                # A process may have none of the three, and then a copy has the number of one.
                os.close(copy)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _is_pytest(frame: FrameType) -> bool:
    name: object = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == "_pytest"
