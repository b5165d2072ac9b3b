"""Libraries that are imported later: each is met right after its own code has run.

A finder at the front of `sys.meta_path` looks a name up in a table, and for all but a handful it is
done. For one of these it asks the other finders, and has their loader tell when the module is
there. Whatever is wrong with our part never becomes a failing import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

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
