"""What we register shows pytest its hooks alone, and all of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import pytest_sopbench._hooks as hooks
from pytest_sopbench._hooks.process.hook_object import HookObject

AT_EVERY_START = {"Doorbell"}
"""Imports nothing: every session of a project without SOP tests registers it."""


def classes_with_hooks() -> Iterator[type]:
    for found in walk_packages(hooks.__path__, f"{hooks.__name__}."):
        if found.name.endswith("syrupy_extension"):
            continue  # has no hooks, and imports a plugin that these sessions may load later
        module = import_module(found.name)
        own = [one for one in vars(module).values() if isinstance(one, type)]
        yield from (
            one
            for one in own
            if one.__module__ == module.__name__
            and any(name.startswith("pytest_") for name in vars(one))
        )


def test_every_class_with_hooks_shows_them_alone() -> None:
    found = [*classes_with_hooks()]

    others = {one.__name__ for one in found if not issubclass(one, HookObject)}

    assert len(found) > 30
    assert others == AT_EVERY_START


def test_what_is_marked_as_a_hook_is_called_like_one() -> None:
    marked = [
        name
        for one in classes_with_hooks()
        for name, value in vars(one).items()
        if hasattr(value, "pytest_impl")
    ]

    assert [] == [name for name in marked if not name.startswith("pytest_")]


def test_an_object_shows_the_hooks_of_its_bases_too() -> None:
    class Base(HookObject):
        def pytest_sessionstart(self) -> None: ...

        def helper(self) -> None: ...

    class Example(Base):
        def __init__(self) -> None:
            self.number = 3

        def pytest_sessionfinish(self) -> None: ...

    assert ["pytest_sessionfinish", "pytest_sessionstart"] == sorted(dir(Example()))


def test_pluggy_registers_all_of_them() -> None:
    seen: list[str] = []

    class Example(HookObject):
        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionstart(self) -> None:
            seen.append("start")

        def pytest_sessionfinish(self) -> None:
            seen.append("finish")

    manager: Any = pytest.PytestPluginManager()
    manager.register(Example())

    manager.hook.pytest_sessionstart(session=None)
    manager.hook.pytest_sessionfinish(session=None, exitstatus=0)

    assert ["start", "finish"] == seen
