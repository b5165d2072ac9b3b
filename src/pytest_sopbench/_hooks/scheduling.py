"""Which worker of xdist runs which items: all tests of one run go to one worker.

Two tests that ask for one trial of a task share its run, so a second worker would make it again.
What belongs together is told by the end of the node id, which is a hint for the schedule and
nothing more: no run is ever identified by it.

It is imported wherever xdist runs tests, as its controller learns late that there are SOP tests.
"""

from __future__ import annotations

import re
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs] - xdist has no types
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs] - likewise

from pytest_sopbench._hooks.settings.marks import may_be_row

# A task, and its trial if it is not the first; before it the domain, and other parameters.
_RUN = re.compile(r"/([^/]+(?:/t[1-9][0-9]*)?)\]$")

WINDOW = 8
"""Items that wait in a worker's queue while there is enough to share out."""


class TaskScheduling(LoadScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps each worker's queue filled, never steals, and keeps the tests of a task together.

    `in_flight` is how many runs a worker makes at a time, `ahead` how many it may begin before
    their tests come: it can begin only what is in its queue.

    `pending` holds the first test of each task that no worker has begun; its other tests follow
    it to the worker that takes it, and wait there in `_owned`.
    """

    def __init__(
        self, config: pytest.Config, log: Any = None, *, in_flight: int = 1, ahead: int = 0
    ) -> None:
        super().__init__(config, log)
        # One more than can be made at once: a worker starts an item only when it knows the next.
        self._least = in_flight + 1
        self._window = max(WINDOW, ahead + 2)
        self.collection: list[str] | None
        self.pending: list[int]
        self._followers: dict[int, list[int]] = {}
        self._owned: dict[WorkerController, list[int]] = {}
        self._dead: set[WorkerController] = set()
        self._shares_runs = True

    @property
    def tests_finished(self) -> bool:
        return super().tests_finished and not any(self._owned.values())

    @property
    def has_pending(self) -> bool:
        return super().has_pending or any(self._owned.values())

    def schedule(self) -> None:
        if self.collection is None:
            # If no tests can share a run, xdist's own ways are kept.
            collection = next(iter(self.node2collection.values()))
            self._shares_runs = any(task_hint(nodeid) != nodeid for nodeid in collection)
        if not self._shares_runs:
            super().schedule()
            return
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                self.log("**Different tests collected, aborting run**")
                return
            self.collection = next(iter(self.node2collection.values()))
            self._put_back(range(len(self.collection)))
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
        """Fill the queue of one worker, and let it go when nothing is left for it."""
        if not self._shares_runs:
            super().check_schedule(node, duration)
            return
        if node.shutting_down or self.collection is None or node in self._dead:
            return
        owned = self._owned.setdefault(node, [])
        room = self._share() - len(self.node2pending[node])
        chosen: list[int] = []
        while len(chosen) < room and (self.pending or owned):
            chosen.append(self._take(owned))
        if chosen and not self._send(node, chosen):
            self._dead.add(node)
            self._put_back([*chosen, *self._owned.pop(node)])
        elif not self.pending and not owned:
            node.shutdown()

    def _send(self, node: WorkerController, indices: list[int]) -> bool:
        """Queue items in a worker; one that has just died, and is not yet known to, takes none."""
        try:
            node.send_runtest_some(indices)
        except OSError:
            return False
        self.node2pending[node].extend(indices)
        return True

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a dead worker had not begun to the others; return the item it died in."""
        if not self._shares_runs:
            died_in: str | None = super().remove_node(node)
            return died_in
        queued = self.node2pending.pop(node)
        self._put_back([*queued[1:], *self._owned.pop(node, [])])
        for other in self.nodes:
            self.check_schedule(other)
        return self.collection[queued[0]] if queued and self.collection is not None else None

    def _share(self) -> int:
        """Return how many items a worker may hold: few at the end, so that none waits for one."""
        held = sum(map(len, self._owned.values())) + sum(map(len, self.node2pending.values()))
        left = len(self.pending) + held
        workers = len(self.node2pending)
        # No worker may run dry while there is enough for all, and none may hoard the last items.
        needed = min(self._least, -(-left // workers))
        return max(2, needed, min(self._window, left // (2 * workers)))

    def _take(self, owned: list[int]) -> int:
        """Take the next item in the order of collection: an owned one, or one that nobody owns."""
        if owned and (not self.pending or owned[0] < self.pending[0]):
            return owned.pop(0)
        index = self.pending.pop(0)
        for follower in self._followers.pop(index, ()):
            insort(owned, follower)
        return index

    def _put_back(self, indices: Iterable[int]) -> None:
        groups: dict[str, list[int]] = defaultdict(list)
        collection = self.collection or []
        for index in sorted(indices):
            groups[task_hint(collection[index])].append(index)
        for first, *others in groups.values():
            insort(self.pending, first)
            if others:
                self._followers[first] = others


def task_hint(nodeid: str) -> str:
    """Return what the ids of tests on one run have in common; other ids are left whole.

    Trials of a task are runs of their own, so their tests may go to different workers.
    """
    if may_be_row(nodeid):
        return nodeid.rpartition("::")[2]
    if nodeid.endswith("]") and "/" in (brackets := nodeid.rpartition("[")[2]):
        found = _RUN.search(brackets)
        return found[1] if found else nodeid
    return nodeid


# What wakes the plugin when the controller of xdist learns late that there are SOP tests.


class LateActivation:
    """Wakes the plugin in the controller of xdist when a worker turns out to run SOP tests."""

    def __init__(self, config: pytest.Config, activate: Callable[[pytest.Config], None]) -> None:
        self._config = config
        self._activate = activate
        self._crashed: list[tuple[str, pytest.TestReport, Any]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Keep the tests of a task together, should there be any."""
        if config.getoption("dist") != "load":
            return None
        return TaskScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        # A worker may die in its first item, before any report told what it runs.
        self._crashed.append((crashitem, report, sched))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "sop_payload") and self._config.pluginmanager.unregister(self):
            self._activate(self._config)
            recorder: Any = self._config.pluginmanager.get_plugin("sop-recorder")
            for crash in self._crashed:
                recorder.pytest_handlecrashitem(*crash)
            recorder.pytest_runtest_logreport(report)
