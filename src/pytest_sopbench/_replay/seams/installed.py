"""Have the traffic of this process seen, for as long as a block lasts."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import Any, Final

from pytest_sopbench._replay.seams.libraries.aiohttp_sessions import AIOHTTP
from pytest_sopbench._replay.seams.libraries.botocore_sessions import BOTOCORE
from pytest_sopbench._replay.seams.libraries.httpx_clients import HTTPX, HTTPX2
from pytest_sopbench._replay.seams.libraries.urllib3_pools import URLLIB3
from pytest_sopbench.errors import CassetteError

from .doors import Patches, Seam
from .imports import Watch
from .left_out import leaving_out

SEAMS: Final[tuple[Seam, ...]] = (HTTPX, HTTPX2, BOTOCORE, URLLIB3, AIOHTTP)

_LOCK = RLock()
_INSTALLED: list[Installation] = []
"""One at most. A global, as the libraries that it patches are."""


class Installation:
    """The seams of this process: what is patched, and which libraries keep their traffic hidden."""

    def __init__(self, seams: Sequence[Seam] = SEAMS) -> None:
        """Prepare for these libraries."""
        self._seams = {seam.module: seam for seam in seams}
        self._patches = Patches()
        self._watch = Watch(frozenset(self._seams), self._meet)
        self._blocks = 0
        self.moved: list[str] = []
        """What stands in the way of seeing a library that is imported."""

    def enter(self) -> None:
        """Patch what is imported, and wait for the rest."""
        self._blocks += 1
        if self._blocks > 1:
            return
        sys.meta_path.insert(0, self._watch)
        for name in self._seams:
            if name in sys.modules:
                # Of an import that another thread is in the middle of, this awaits the end.
                self._meet(import_module(name))

    def leave(self) -> bool:
        """Give everything back with the last block, and tell whether this was it."""
        self._blocks -= 1
        if self._blocks:
            return False
        sys.meta_path.remove(self._watch)
        self._patches.undo()
        return True

    def _meet(self, module: Any) -> None:
        seam = self._seams[module.__name__]
        with _LOCK:
            try:
                self._patches.apply(seam.open(module))
            except CassetteError as error:
                self.moved.append(str(error))


@contextmanager
def installed(left_out: Sequence[str] = ()) -> Generator[Installation]:
    """See the traffic of the libraries that clients use, but that to hosts that are left out.

    A library is patched where it is imported already, and else when it is. Within another block
    nothing is patched twice, and the outer one gives back what was there.
    """
    with _LOCK:
        if not _INSTALLED:
            _INSTALLED.append(Installation())
        installation = _INSTALLED[0]
        installation.enter()
    try:
        with leaving_out(left_out):
            yield installation
    finally:
        with _LOCK:
            if installation.leave():
                _INSTALLED.remove(installation)
