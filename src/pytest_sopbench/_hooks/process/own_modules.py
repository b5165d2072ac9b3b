"""Loads our own modules in less time, once a session turns out to have SOP tests."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import pytest

PACKAGE = "pytest_sopbench."
LOADED = pytest.StashKey[bool]()


class OwnModules:
    """Finds modules of this package before pytest asks whether it should rewrite their asserts.

    pytest does so for every module of an installed plugin. There is nothing to rewrite in ours; the
    question costs more than the search, and the first start with each version of pytest would
    compile every module anew, in each start where the environment is read-only.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module stands, and nothing for those of others."""
        return PathFinder.find_spec(name, path, target) if name.startswith(PACKAGE) else None


@contextmanager
def loading(config: pytest.Config) -> Generator[None, None, None]:
    """Import what a SOP session needs in here; it counts once for each session.

    The collector rests meanwhile. What stands in memory afterwards stays to the end, so that the
    collector leaves it out from then on, until pytest has cleared up behind the session.
    """
    if config.stash.get(LOADED, False):
        yield
        return
    config.stash[LOADED] = True
    finder = OwnModules()
    sys.meta_path.insert(0, finder)
    config.add_cleanup(lambda: _take_back(finder))
    with resting_collector():
        yield
    # A program that calls pytest may have done so itself.
    if not gc.get_freeze_count():
        gc.freeze()
        config.add_cleanup(gc.unfreeze)


@contextmanager
def resting_collector() -> Generator[None, None, None]:
    """Search for no garbage where much is made that is none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _take_back(finder: OwnModules) -> None:
    # An agent may have emptied the list, or put something else in its place.
    with suppress(AttributeError, ValueError):
        sys.meta_path.remove(finder)
