"""Which items come next, and which of them may have their runs begun before they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_sopbench._hooks.session.variants import VARIANT

SHARED = ("sop_agent", "sop_approver", "sop_task", "sop_run")
"""Fixtures that must be the same for two items whose runs are begun alike."""

PLUGIN = "pytest_sopbench.plugin"
UNDECIDED = ("skip", "skipif", "xfail")
"""Marks of items that may never ask for their run."""


class ItemQueue:
    """The items of one process in the order in which they will be run, each given once."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._place = 0
        plugins = session.config.pluginmanager.get_plugins()
        # A worker of xdist knows what it was sent, and has no public way to tell.
        queues = (one for one in plugins if hasattr(one, "torun"))
        self._queue: Any = next(queues, None)

    def after(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield what comes after an item; what was yielded before is not yielded again.

        Variants stay behind all that counts: none begins before the first of them comes.
        """
        return self._queued(item) if self._queue is not None else self._listed(item)

    def _listed(self, item: pytest.Item) -> Iterator[pytest.Item]:
        items = self._session.items
        if self._place == 0:
            self._place = items.index(item) + 1
        while self._place < len(items):
            if VARIANT in items[self._place].stash and VARIANT not in item.stash:
                return
            self._place += 1
            yield items[self._place - 1]

    def _queued(self, item: pytest.Item) -> Iterator[pytest.Item]:
        queue = self._queue
        with queue.torun.lock() as waiting:
            indices = [queue.nextitem_index, *waiting]
        # The mark of the end is no number.
        following = (self._session.items[one] for one in indices if isinstance(one, int))
        return (one for one in following if VARIANT not in one.stash or VARIANT in item.stash)


def may_run_ahead(item: pytest.Item, current: pytest.Item) -> bool:
    """Tell whether a run of `item` needs nothing but what the run of `current` has used."""
    if any(item.get_closest_marker(name) for name in UNDECIDED):
        return False
    # Of several agents of the fixture, the runs of each are told apart by their keys.
    givers = [definition(item, name) for name in ("sop_agent", "sop_approver")]
    lasting = all(one is None or one.scope == "session" for one in givers)
    same = all(definition(item, name) is definition(current, name) for name in SHARED)
    ours = all(is_ours(definition(item, name)) for name in ("sop_task", "sop_run"))
    return lasting and same and ours


def definition(item: pytest.Item | pytest.Collector, name: str) -> Any:
    """Return what defines the fixture of that name as this node sees it, or `None`."""
    # pytest has no public way to ask which fixture an item gets. What an item itself knows lacks
    # the agent, which is asked for only where no marker names another one.
    manager: Any = getattr(item.session, "_fixturemanager", None)
    found = manager.getfixturedefs(name, item) if manager is not None else None
    return found[-1] if found else None


def is_ours(found: Any) -> bool:
    """Tell whether a definition is the plugin's own."""
    return getattr(getattr(found, "func", None), "__module__", "") == PLUGIN
