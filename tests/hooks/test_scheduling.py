"""How items are shared out among workers: each is sent once, whatever the workers do.

Nothing runs here: the nodes are stand-ins that remember what they were sent, and a test decides
in which order they finish.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdist.remote import Producer

from pytest_sopbench._hooks.scheduling import WINDOW, TaskScheduling, task_hint


class Node:
    """A worker: what it was sent and has not finished."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.queue: list[int] = []
        self.sent: list[int] = []
        self.done: list[int] = []
        self.shutting_down = False

    def __repr__(self) -> str:
        return self.gateway.id

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.queue.extend(indices)
        self.sent.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    """As much of a configuration as xdist's scheduler asks for."""

    def __init__(self, workers: int) -> None:
        self.option = SimpleNamespace(maxschedchunk=None)
        self.hook = SimpleNamespace(pytest_collectreport=self.report)
        self.reported: list[object] = []
        self._workers = workers

    def report(self, report: object) -> None:
        self.reported.append(report)

    def getvalue(self, _name: str) -> list[str]:
        return ["popen"] * self._workers

    def getoption(self, _name: str, *_default: object) -> None:
        return None


def new_scheduler(workers: int) -> Any:
    config: Any = Config(workers)
    return TaskScheduling(config, Producer("test", enabled=False))


class Floor:
    """A scheduler with its nodes."""

    def __init__(self, ids: list[str], count: int) -> None:
        self.ids = ids
        self.nodes = [Node(f"gw{number}") for number in range(count)]
        self.sched = new_scheduler(count)
        for node in self.nodes:
            self.sched.add_node(node)
            self.sched.add_node_collection(node, ids)
        self.sched.schedule()

    @property
    def working(self) -> list[Node]:
        # As a worker does: it begins an item when it knows the next one, or that there is none.
        return [n for n in self.nodes if len(n.queue) > 1 or (n.queue and n.shutting_down)]

    def finish(self, node: Node) -> None:
        index = node.queue.pop(0)
        node.done.append(index)
        self.sched.mark_test_complete(node, index)

    def run(self, choose: Sequence[int] = (0,)) -> None:
        step = 0
        while self.working:
            working = self.working
            self.finish(working[choose[step % len(choose)] % len(working)])
            step += 1

    def die(self, node: Node) -> str | None:
        self.nodes.remove(node)
        return self.sched.remove_node(node)

    def replace(self) -> Node:
        node = Node("gw9")
        self.nodes.append(node)
        self.sched.add_node(node)
        self.sched.add_node_collection(node, self.ids)
        self.sched.schedule()
        return node


def ids_of(tasks: int, *names: str) -> list[str]:
    return [f"test_lab.py::{name}[lab/T_{n:02}]" for name in names for n in range(tasks)]


@given(
    tasks=st.integers(1, 40),
    names=st.integers(1, 3),
    count=st.integers(1, 5),
    choose=st.lists(st.integers(0, 4), min_size=1, max_size=20),
)
def test_each_item_is_sent_once_and_every_item_is_done(
    tasks: int, names: int, count: int, choose: list[int]
) -> None:
    ids = ids_of(tasks, *[f"test_{number}" for number in range(names)])
    floor = Floor(ids, count)

    floor.run(choose)

    done = sorted(index for node in floor.nodes for index in node.done)
    assert [*range(len(ids))] == done
    assert floor.sched.tests_finished
    assert not floor.sched.has_pending
    assert all(node.shutting_down for node in floor.nodes)


@given(count=st.integers(1, 4), tests=st.integers(1, 40))
def test_tests_that_share_no_run_are_scheduled_as_xdist_does(count: int, tests: int) -> None:
    """The plugin is installed in projects that never use it."""
    ids = [f"test_unit.py::test_{number}" for number in range(tests)]
    floor = Floor(ids, count)

    floor.run([0, 1, 2])

    assert [*range(tests)] == sorted(index for node in floor.nodes for index in node.done)


@given(
    tasks=st.integers(1, 30),
    count=st.integers(2, 4),
    choose=st.lists(st.integers(0, 4), min_size=1, max_size=20),
)
def test_all_tests_of_a_task_go_to_one_worker(tasks: int, count: int, choose: list[int]) -> None:
    ids = ids_of(tasks, "test_first", "test_second", "test_third")
    floor = Floor(ids, count)

    floor.run(choose)

    for number in range(tasks):
        companions = {number, number + tasks, number + 2 * tasks}
        assert 1 == sum(not companions.isdisjoint(node.done) for node in floor.nodes)


@given(
    tasks=st.integers(1, 30),
    before=st.integers(0, 20),
    choose=st.lists(st.integers(0, 4), min_size=1, max_size=20),
)
def test_what_a_dead_worker_had_not_begun_goes_on_elsewhere(
    tasks: int, before: int, choose: list[int]
) -> None:
    ids = ids_of(tasks, "test_first", "test_second")
    floor = Floor(ids, 2)
    for _ in range(before):
        if floor.working:
            floor.finish(floor.working[0])
    victim = floor.nodes[0]
    lost = victim.queue[:1]

    blamed = floor.die(victim)
    floor.replace()
    floor.run(choose)

    assert blamed == (ids[lost[0]] if lost else None)
    done = sorted([*victim.done, *lost, *(i for node in floor.nodes for i in node.done)])
    assert [*range(len(ids))] == done


def test_a_queue_holds_no_more_than_the_window() -> None:
    floor = Floor(ids_of(100, "test_first"), 2)

    assert [WINDOW, WINDOW] == [len(node.queue) for node in floor.nodes]


def test_near_the_end_no_worker_hoards() -> None:
    """With long tasks, a worker that holds eight while another idles doubles the time."""
    floor = Floor(ids_of(9, "test_first"), 2)

    assert [2, 2] == [len(node.queue) for node in floor.nodes]


def test_workers_that_collected_differently_get_nothing() -> None:
    one, other = Node("gw0"), Node("gw1")
    sched = new_scheduler(2)
    for node, ids in ((one, ["a", "b"]), (other, ["b", "a"])):
        sched.add_node(node)
        sched.add_node_collection(node, ids)

    sched.schedule()

    assert ([], []) == (one.sent, other.sent)


@pytest.mark.parametrize(
    ("nodeid", "hint"),
    [
        pytest.param("test_a.py::test_x[lab/T_01]", "T_01", id="a user's test"),
        pytest.param("test_a.py::test_x[red-lab/T_01]", "T_01", id="with another parameter"),
        pytest.param("domains/lab/data.csv::T_01", "T_01", id="a row of the project"),
        pytest.param("domains/lab/tasks.jsonl::T_01", "T_01", id="a line of the project"),
        pytest.param("sop:lab::T_01", "T_01", id="a row of a bundled domain"),
        pytest.param("test_a.py::test_x[lab/T_01/t2]", "T_01/t2", id="a trial of a user's test"),
        pytest.param("domains/lab/data.csv::T_01/t2", "T_01/t2", id="a trial of a row"),
        pytest.param("test_a.py::test_x[lab/t2]", "t2", id="a task called like a trial"),
        pytest.param("test_a.py::test_x[lab/t2/t3]", "t2/t3", id="and its trial"),
        pytest.param("test_a.py::test_x", "test_a.py::test_x", id="a unit test"),
        pytest.param("test_a.py::test_x[1]", "test_a.py::test_x[1]", id="parametrized"),
        pytest.param("test_a.py::C::test_x", "test_a.py::C::test_x", id="a method"),
    ],
)
def test_the_end_of_an_id_tells_what_belongs_together(nodeid: str, hint: str) -> None:
    assert hint == task_hint(nodeid)
