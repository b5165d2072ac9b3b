"""Take secrets out of a text before it is cut: a part of a secret is no longer known for one.

What cuts a text lies deep in a run, where nobody knows of redactions. So the function that masks
is a part of the context, like the run whose output a thread writes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeAlias

Mask: TypeAlias = Callable[[str], str]
"""Returns a text without its secrets."""


def _as_it_is(text: str) -> str:
    return text


_mask: ContextVar[Mask] = ContextVar("sopbench_mask", default=_as_it_is)


def ready_to_cut(text: str) -> str:
    """Return the text of which a part may be left out; every function that cuts asks for it."""
    return _mask.get()(text)


def current_mask() -> Mask:
    """Return what masks here, for a thread that will not have this context."""
    return _mask.get()


class masking:  # noqa: N801 - it is used as a function is; a generator costs a call more
    """Have texts masked before they are cut, in this context and its copies."""

    __slots__ = ("_mask", "_token")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def __enter__(self) -> None:
        self._token = _mask.set(self._mask)

    def __exit__(self, *_: object) -> None:
        _mask.reset(self._token)
