"""Have the traffic of this process and of its children seen, for as long as a block lasts.

The libraries of this process are patched: those that are imported already, and those that will be.
Children are given an environment that leads them to the proxy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import RLock, current_thread, main_thread
from types import ModuleType
from typing import Any, Final

from pytest_sopbench._replay.exchange import Tape
from pytest_sopbench._replay.run_tape import CURRENT, current_tape
from pytest_sopbench._replay.seams.aiohttp_sessions import AIOHTTP
from pytest_sopbench._replay.seams.forwarding import PROVIDERS
from pytest_sopbench._replay.seams.httpx_clients import HTTPX, HTTPX2
from pytest_sopbench._replay.seams.proxy import Proxy
from pytest_sopbench._replay.seams.take import Door, Seam, leaving_out, settle
from pytest_sopbench._replay.seams.urllib3_pools import BOTOCORE, URLLIB3
from pytest_sopbench.errors import CassetteError

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


class Installation:
    """The seams of this process: what is patched, and which libraries keep their traffic hidden."""

    def __init__(self, seams: Sequence[Seam] = SEAMS) -> None:
        """Prepare for these libraries."""
        self._seams = {seam.module: seam for seam in seams}
        self._done: dict[tuple[int, str], tuple[Door, Any, Any]] = {}
        self._watch = Watch(frozenset(self._seams), self._meet)
        self.moved: list[str] = []
        """What stands in the way of seeing a library that is imported."""

    def enter(self) -> None:
        """Patch what is imported, and wait for the rest."""
        sys.meta_path.insert(0, self._watch)
        for name in self._seams:
            if name in sys.modules:
                # Of an import that another thread is in the middle of, this awaits the end.
                self._meet(import_module(name))

    def patch(self, doors: Sequence[Door]) -> None:
        """Patch each door that is not patched yet."""
        for door in doors:
            key = (id(door.owner), door.name)
            if key not in self._done:
                before = vars(door.owner)[door.name]
                after = door.through(before)
                setattr(door.owner, door.name, after)
                self._done[key] = (door, before, after)

    def leave(self) -> None:
        """Give everything back, but put nothing over what somebody else has put there since."""
        sys.meta_path.remove(self._watch)
        while self._done:
            _, (door, before, after) = self._done.popitem()
            if vars(door.owner).get(door.name) is after:
                setattr(door.owner, door.name, before)

    def _meet(self, module: Any) -> None:
        seam = self._seams[module.__name__]
        with _LOCK:
            try:
                self.patch(seam.open(module))
            except CassetteError as error:
                self.moved.append(str(error))


# Children of a run that find the proxy, if other code of this process starts them.
#
# The environment of a process is one for all runs in flight, so nothing is ever set in it. Each
# child gets an environment of its own when it is started, and that is where ours is put in: in
# `subprocess.Popen`, by which `subprocess.run` and the subprocesses of asyncio start too. The
# run is found by the context of the one who starts the child.

_ENVIRONMENT: Final = 10
"""The place of `env` among the positional arguments of `Popen`."""

_WATCHES: list[Watching] = []
"""One at most. A global, as `subprocess` and the libraries that it patches are."""


class Watching:
    """What is seen of the traffic of this process and of its children."""

    def __init__(self) -> None:
        """Begin with no child."""
        self._seams = Installation()
        self._proxy = Proxy()
        self._blocks = 0

    @property
    def moved(self) -> tuple[str, ...]:
        """What stands in the way of seeing a library that is imported."""
        return tuple(self._seams.moved)

    def environment(self, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment for a child of the run in this context.

        By it a child is recorded that is started in another way than by `subprocess`: in a
        terminal, by a job of another service.
        """
        own = dict(os.environ if environment is None else environment)
        tape = _tape_of_child()
        return own if tape is None else self._proxy.environment(tape, own)

    def model_urls(self, tape: Tape) -> dict[str, str]:
        """Return where an agent that runs already reaches each provider for the run of a tape.

        What is not recorded goes to where the environment of this process leads.
        """
        own = self._proxy.environment(tape, os.environ)
        return {provider.name: own[provider.variables[0]] for provider in PROVIDERS}

    def end(self, tape: Tape) -> None:
        """The run of a tape is over: streams left open are kept as such, and children refused."""
        settle(tape)
        self._proxy.forget(tape)

    def enter(self) -> None:
        """Patch with the first block."""
        self._blocks += 1
        if self._blocks > 1:
            return
        self._seams.enter()
        through = partial(_with_environment, self.environment)
        self._seams.patch((Door(owner=subprocess.Popen, name="__init__", through=through),))

    def leave(self) -> bool:
        """Give everything back with the last block, and tell whether this was it."""
        self._blocks -= 1
        if self._blocks:
            return False
        # First, else a child that is started meanwhile would start the proxy anew.
        self._seams.leave()
        self._proxy.close()
        return True


@contextmanager
def watching(left_out: Sequence[str] = ()) -> Generator[Watching]:
    """See the traffic of this process and of the children of runs, for as long as a block lasts.

    A library is patched if it is imported already, and else when it is. A block within another
    one changes nothing but the hosts that are left out, and the outer one gives back what was
    there.
    """
    with _LOCK:
        if not _WATCHES:
            _WATCHES.append(Watching())
        found = _WATCHES[0]
        found.enter()
    try:
        with leaving_out(left_out):
            yield found
    finally:
        with _LOCK:
            if found.leave():
                _WATCHES.remove(found)


def _tape_of_child() -> Tape | None:
    """Return the tape of the run; one of the outside for a thread that has lost its context."""
    tape = CURRENT.get()
    if tape is None and current_thread() is not main_thread():
        return current_tape()
    return tape


def _with_environment(
    environment_of: Callable[[Mapping[str, str] | None], dict[str, str]],
    original: Callable[..., None],
) -> Callable[..., None]:
    @wraps(original)
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807 - it replaces one
        if _tape_of_child() is None:
            original(self, *args, **named)
        elif len(args) > _ENVIRONMENT:
            before, given, after = args[:_ENVIRONMENT], args[_ENVIRONMENT], args[_ENVIRONMENT + 1 :]
            original(self, *before, environment_of(given), *after, **named)
        else:
            given = named.pop("env", None)
            original(self, *args, env=environment_of(given), **named)

    return __init__
