"""Have the traffic of this process seen, for as long as a block lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any, Final

from pytest_sopbench._replay.seams.aiohttp_sessions import AIOHTTP
from pytest_sopbench._replay.seams.botocore_sessions import BOTOCORE
from pytest_sopbench._replay.seams.httpx_clients import HTTPX, HTTPX2
from pytest_sopbench._replay.seams.urllib3_pools import URLLIB3
from pytest_sopbench.errors import CassetteError

from .take import Patches, Seam, leaving_out

# Libraries that are imported later: each is met right after its own code has run.
#
# A finder at the front of `sys.meta_path` looks a name up in a table, and for all but a handful it
# is done. For one of these it asks the other finders, and has their loader tell when the module is
# there. Whatever is wrong with our part never becomes a failing import.

Met = Callable[[ModuleType], None]


class Watch(MetaPathFinder):
    """Calls a function with each watched module that is imported from now on."""

    def __init__(self, names: frozenset[str], met: Met) -> None:
        """Watch for these names; `met` must not raise."""
        self._names = names
        self._met = met

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        for finder in list(sys.meta_path):
            find = None if isinstance(finder, Watch) else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Telling(spec.loader, self._met)
                return spec
        return None


class _Telling(Loader):
    """A loader that steps aside: the module ends with the loader and the spec it always had."""

    def __init__(self, loader: Any, met: Met) -> None:
        self._loader = loader
        self._met = met

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        spec.loader = self._loader
        create = getattr(self._loader, "create_module", None)
        module: ModuleType | None = create(spec) if create else None
        spec.loader = self
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._met(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


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
