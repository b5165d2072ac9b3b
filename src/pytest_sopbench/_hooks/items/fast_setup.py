"""Gives tests their task and their run, where nobody has a say in how these are made.

For each item pytest finds out anew what our fixtures ask for, which costs more than a run does.
Where a project has replaced none of them, and no other fixture builds on them, a test is given
what it would get, when all other fixtures are set up.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import pytest

from pytest_sopbench._hooks.process.hook_object import HookObject
from pytest_sopbench._hooks.runs.run_cache import RUN
from pytest_sopbench._hooks.runs.upcoming_items import definition, is_ours
from pytest_sopbench._hooks.session.session import REF

from . import fixtures

GIVEN: Final = ("sop_run", "sop_task", "request")
"""What is given; a test's own `request` is the item's."""

REPLACEABLE: Final = ("sop_run", "sop_task", "sop_agent", "sop_approver")


class FixtureFastPath(HookObject):
    """Stands in for the set-up of our fixtures."""

    def __init__(self) -> None:
        # All items of one test function share what is known of its fixtures.
        self._known: dict[int, tuple[object, bool]] = {}

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        ref = item.stash.get(REF, None)
        if ref is None or not isinstance(item, pytest.Function) or not self._is_simple(item):
            return (yield)
        if getattr(item.config.option, "setupplan", False):
            # Then pytest sets up no fixture either.
            return (yield)
        item.funcargs.update(dict.fromkeys(GIVEN))
        # Another plugin may run the item again, which is told of as such.
        before = item.stash.get(RUN, None)
        result = yield
        if RUN in item.stash and item.stash[RUN] is not before:
            # A fixture has asked for it by name while it was set up.
            run = item.stash[RUN]
        else:
            run = fixtures.direct_run(item, ref)
        given = {"sop_run": run, "sop_task": run.task, "request": getattr(item, "_request", None)}
        item.funcargs.update(given)
        return result

    def _is_simple(self, item: pytest.Function) -> bool:
        info: Any = getattr(item, "_fixtureinfo", None)
        known = self._known.get(id(info))
        if known is None:
            # Kept beside the answer, so that its id stays its own.
            known = self._known[id(info)] = info, _is_simple(item, info)
        return known[1]


def _is_simple(item: pytest.Function, info: Any) -> bool:
    if "sop_run" not in info.names_closure:
        return False
    definitions: Mapping[str, Sequence[Any]] = info.name2fixturedefs
    others = [one for name in definitions if name not in GIVEN for one in definitions[name]]
    ours = {"sop_run", "sop_task"}
    return all(is_ours(definition(item, name)) for name in REPLACEABLE) and all(
        ours.isdisjoint(one.argnames) for one in others
    )
