"""What is installed beside the tests, read once and not by each of their sessions.

Every `-p NAME` of a session reads the entry points of all that is installed, and each start of
ours does so again for domains. Nothing is installed while tests run, so what stands in the folders
of this interpreter is remembered; all that a test puts elsewhere is read as ever.

In the same way pytest looks through every name of every plugin for fixtures, session after session.
It is told which names of a module are some, and looks through what it has not seen as ever. Most
hooks are plain functions of a module or of a class, which are found at once.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

FOLDERS = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
READ_ONCE = {
    "entry_points": Distribution,
    "metadata": Distribution,
    "_normalized_name": PathDistribution,
}


def remember() -> None:
    """Let this process, and all that fork from it, read what is installed once."""
    # Not above: the process from which others fork starts before it imports pytest.
    from _pytest.fixtures import FixtureManager  # noqa: PLC0415, TID251 - pytest exports no such name
    from pluggy import _manager  # noqa: PLC0415 - neither does it load this

    for name, kind in READ_ONCE.items():
        read = vars(kind)[name].fget
        if not hasattr(read, "kept"):
            setattr(kind, name, property(remembered(read)))
    look = FixtureManager.parsefactories
    if not hasattr(look, "without"):
        FixtureManager.parsefactories = passing_over(look)
    # An older pluggy has no such function, and looks a name up by itself.
    find = getattr(_manager, "_static_hook_attr", None)
    if find is not None and not hasattr(find, "slowly"):
        _manager._static_hook_attr = at_once(find)


def remembered(read: Callable[[Distribution], Any]) -> Callable[[Distribution], Any]:
    kept: dict[object, Any] = {}

    def known(distribution: Distribution) -> Any:
        path = getattr(distribution, "_path", None)
        if path in kept:
            return kept[path]
        value = read(distribution)
        if isinstance(path, Path) and path.parent in FOLDERS:
            kept[path] = value
        return value

    known.kept = kept  # type: ignore[attr-defined]
    return known


def passing_over(look: Callable[..., None]) -> Callable[..., None]:
    """Look for fixtures, and not again among the other names of a module.

    Nor in any plugin without one, which its type alone decides.
    """
    without: WeakSet[Any] = WeakSet()
    fixtures: WeakKeyDictionary[ModuleType, ModuleType] = WeakKeyDictionary()

    def look_once(manager: Any, *given: Any, holder: object = None, **named: Any) -> None:
        if holder is None:
            look(manager, *given, **named)
            return
        kind = holder if isinstance(holder, type | ModuleType) else type(holder)
        if kind in without:
            return
        if kind in fixtures:
            look(manager, *given, holder=fixtures[kind], **named)
            return
        before = count(manager)
        look(manager, *given, holder=holder, **named)
        if before == count(manager):
            without.add(kind)
        elif type(holder) is ModuleType:
            fixtures[holder] = with_fixtures_alone(holder)

    look_once.without = without  # type: ignore[attr-defined]
    return look_once


def with_fixtures_alone(module: ModuleType) -> ModuleType:
    from _pytest.fixtures import FixtureFunctionDefinition  # noqa: PLC0415, TID251 - as above

    less = ModuleType(module.__name__)
    for name, value in vars(module).items():
        if type(value) is FixtureFunctionDefinition:
            setattr(less, name, value)
    return less


def at_once(find: Callable[[object, str], Any]) -> Callable[[object, str], Any]:
    """Find the function behind a name of a plugin; what is no plain function is found as ever."""

    def found(plugin: object, name: str) -> Any:
        if type(plugin) is ModuleType:
            function = vars(plugin).get(name)
            if type(function) is FunctionType:
                return function, function
        elif not isinstance(plugin, type) and name not in getattr(plugin, "__dict__", ()):
            of_class = [vars(one)[name] for one in type(plugin).__mro__ if name in vars(one)]
            if of_class and type(of_class[0]) is FunctionType:
                return of_class[0], MethodType(of_class[0], plugin)
        return find(plugin, name)

    found.slowly = find  # type: ignore[attr-defined]
    return found


def count(manager: Any) -> int:
    return sum(1 for _ in manager._get_all_fixture_defs())
