"""A time limit counts what a run could use: not where the process, or its event loop, stood still.

The clocks are moved by hand, and a look is what the pulse does twice a second.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running import event_loop as loop_thread
from pytest_sopbench._running.threads import BEAT, Pulse

SOON = 60.0
"""Seconds that a test waits at most for what is sure to come."""


class HandClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Bed:
    """An engine whose time a test moves, and agents that it lets go on."""

    def __init__(self, flights: Any, *, limit: float | None = 10.0, runs: int = 4) -> None:
        self.clock = HandClock()
        pulse = Pulse(self.clock)
        self.engine = flights.engine(runs, timeout=limit, clock=self.clock, pulse=pulse)
        pulse.beat()
        self._flights = flights
        self.entered: dict[str, threading.Event] = {}
        self.release = threading.Event()

    def submit(self, key: str, agent: Callable[..., Any]) -> None:
        bench = self._flights.bench
        job = self._flights.job(key, agent, task=bench.task(id=key))
        self.entered[key] = threading.Event()
        self.engine.submit(job)

    def blocks(self, key: str) -> None:
        """Submit a run that holds its loop until `release` is set."""

        async def agent() -> None:
            self.entered[key].set()
            self.release.wait(SOON)

        self._begin(key, agent)

    def waits(self, key: str, until: threading.Event) -> None:
        """Submit a run that waits as async code does."""

        async def agent() -> str:
            self.entered[key].set()
            while not until.is_set():  # noqa: ASYNC110 - it is set in another thread
                await asyncio.sleep(0.001)
            return "done"

        self._begin(key, agent)

    def queues(self, key: str) -> None:
        """Submit an async run that has to wait until its loop comes to it."""

        async def agent() -> str:
            return "done"

        self.submit(key, agent)
        assert eventually(lambda: self._settling(key) is not None and self._settling(key).waits)

    def pass_time(self, seconds: float) -> None:
        """Let time pass while the process can run."""
        for _ in range(round(seconds / BEAT)):
            self.clock.now += BEAT
            self.engine._timers.ring()

    def stand_still(self, seconds: float) -> None:
        """Let time pass in which no thread could run."""
        self.clock.now += seconds

    def ending(self, key: str) -> Ending:
        ending: Ending = self.engine.wait(key).ending
        return ending

    def _begin(self, key: str, agent: Callable[..., Any]) -> None:
        self.submit(key, agent)
        assert self.entered[key].wait(SOON)

    def _settling(self, key: str) -> Any:
        return self.engine._runs[key].settling


def eventually(condition: Callable[[], Any]) -> bool:
    end = time.monotonic() + SOON
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


@pytest.fixture
def bed(flights: Any) -> Any:
    bed = Bed(flights)
    yield bed
    bed.release.set()


def test_a_run_on_its_way_to_a_blocked_loop_begins_on_another_with_its_full_time(bed: Bed) -> None:
    bed.blocks("guilty")
    bed.queues("innocent")

    bed.pass_time(10.0)

    assert Ending.TIMED_OUT is bed.ending("guilty")
    trace = bed.engine.wait("innocent")
    assert Ending.RETURNED is trace.ending
    assert (
        "parcels/guilty held its event loop for 10 s, which its time limit does not count",
    ) == trace.notes


def test_a_loop_that_does_not_hear_of_an_end_is_left_whoever_holds_it(flights: Any) -> None:
    """What a callback of the loop does belongs to no task, and others may have set the limit."""
    bed = Bed(flights, limit=None)
    blocked = threading.Event()

    def hold() -> None:
        blocked.set()
        bed.release.wait(SOON)

    async def guilty() -> None:
        asyncio.get_running_loop().call_soon(hold)
        await asyncio.sleep(SOON)

    bed.submit("guilty", guilty)
    assert blocked.wait(SOON)
    bed.engine.abandon("guilty")
    bed.pass_time(2.0)
    bed.submit("next", lambda: asyncio.sleep(0, "done"))

    assert Ending.RETURNED is bed.ending("next")
    bed.release.set()


def test_the_next_run_does_not_meet_the_loop_that_the_last_one_blocks(flights: Any) -> None:
    bed = Bed(flights, runs=1)
    bed.blocks("guilty")
    bed.submit("next", lambda: asyncio.sleep(0, "done"))

    bed.pass_time(10.0)

    assert Ending.TIMED_OUT is bed.ending("guilty")
    assert Ending.RETURNED is bed.ending("next")
    bed.release.set()


def test_the_time_of_a_run_stands_still_while_another_holds_its_loop(bed: Bed) -> None:
    done = threading.Event()
    bed.waits("innocent", done)
    bed.pass_time(5.0)
    bed.blocks("guilty")

    bed.pass_time(10.0)
    assert Ending.TIMED_OUT is bed.ending("guilty")
    bed.release.set()
    done.set()
    trace = bed.engine.wait("innocent")

    assert Ending.RETURNED is trace.ending
    assert [
        "parcels/guilty held its event loop for 9.5 s, which its time limit does not count"
    ] == [*trace.notes]


def test_a_run_has_no_more_than_its_time_once_its_loop_goes_on(bed: Bed) -> None:
    bed.waits("innocent", threading.Event())
    bed.pass_time(5.0)
    bed.blocks("guilty")
    bed.pass_time(4.0)
    bed.release.set()
    assert Ending.RETURNED is bed.ending("guilty")

    home = bed.engine._runs["innocent"].settling.home
    assert eventually(home.answers)
    bed.pass_time(10.0)

    assert Ending.TIMED_OUT is bed.ending("innocent")


def test_a_run_is_made_again_where_its_loop_never_comes_back(bed: Bed) -> None:
    done = threading.Event()
    bed.waits("innocent", done)
    bed.blocks("guilty")

    bed.pass_time(10.0)
    assert Ending.TIMED_OUT is bed.ending("guilty")
    bed.entered["innocent"].clear()
    bed.pass_time(11.0)
    assert bed.entered["innocent"].wait(SOON)
    done.set()
    trace = bed.engine.wait("innocent")

    assert Ending.RETURNED is trace.ending
    assert ("made again: its event loop was blocked for good by parcels/guilty",) == trace.notes
    assert (2, 2) == (bed.engine.standing().started, bed.engine.standing().ended)


def test_what_a_task_of_an_agent_blocks_is_blocked_by_its_run(bed: Bed) -> None:
    done = threading.Event()

    async def parent() -> None:
        async def child() -> None:
            bed.entered["guilty"].set()
            bed.release.wait(SOON)

        await asyncio.gather(child(), asyncio.sleep(0))

    bed.waits("innocent", done)
    bed._begin("guilty", parent)

    bed.pass_time(10.0)
    assert Ending.TIMED_OUT is bed.ending("guilty")
    bed.release.set()
    done.set()

    assert Ending.RETURNED is bed.ending("innocent")


def test_a_loop_that_is_blocked_by_nobody_known_is_left_after_the_limit(bed: Bed) -> None:
    """A callback that an agent left on the loop is no task."""
    bed.waits("first", threading.Event())
    entered = threading.Event()
    home = bed.engine._runs["first"].settling.home
    home.call(lambda _: entered.set() or bed.release.wait(SOON))
    assert entered.wait(SOON)
    bed.queues("innocent")

    bed.pass_time(12.0)

    assert Ending.TIMED_OUT is bed.ending("first")
    assert Ending.RETURNED is bed.ending("innocent")


def test_where_there_is_no_thread_for_another_loop_the_next_look_tries_again(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scarce(_: threading.Thread) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    bed.blocks("guilty")
    bed.queues("innocent")

    with monkeypatch.context() as patch:
        patch.setattr(loop_thread.Thread, "start", scarce)
        bed.pass_time(10.0)
        assert Ending.TIMED_OUT is bed.ending("guilty")
    bed.pass_time(1.0)

    assert Ending.RETURNED is bed.ending("innocent")


def test_a_limit_does_not_count_while_the_process_stands_still(bed: Bed) -> None:
    entered = [threading.Event(), threading.Event()]

    def agent(number: int) -> str:
        entered[number].set()
        bed.release.wait(SOON)
        return "done"

    for number in range(2):
        bed.submit(str(number), lambda number=number: agent(number))
        assert entered[number].wait(SOON)
    bed.pass_time(8.0)
    bed.stand_still(30.0)
    bed.pass_time(1.0)
    bed.release.set()

    for key in "01":
        trace = bed.engine.wait(key)
        assert Ending.RETURNED is trace.ending
        assert ["the process stood still for 30 s, which its time limit does not count"] == [
            *trace.notes
        ]


def test_a_run_that_ends_before_the_pulse_beats_again_has_its_time_as_well(bed: Bed) -> None:
    def agent() -> str:
        bed.stand_still(30.0)
        return "done"

    bed.submit("a", agent)

    assert Ending.RETURNED is bed.ending("a")


def test_time_runs_out_after_the_process_stood_still(bed: Bed) -> None:
    entered = threading.Event()
    bed.submit("a", lambda: entered.set() or bed.release.wait(SOON))
    assert entered.wait(SOON)
    bed.pass_time(8.0)
    bed.stand_still(30.0)

    bed.pass_time(2.5)

    assert Ending.TIMED_OUT is bed.ending("a")


def test_what_is_not_counted_has_an_end(bed: Bed) -> None:
    """An agent that holds the interpreter's lock over and over must not keep the session."""
    entered = threading.Event()
    bed.submit("a", lambda: entered.set() or bed.release.wait(SOON))
    assert entered.wait(SOON)

    for _ in range(4):
        bed.stand_still(200.0)
        bed.pass_time(BEAT)

    assert Ending.TIMED_OUT is bed.ending("a")


class TestPulse:
    def test_a_beat_in_time_loses_nothing(self) -> None:
        clock = HandClock()
        pulse = Pulse(clock)
        pulse.beat()

        for _ in range(10):
            clock.now += BEAT + 0.9
            pulse.beat()

        assert 0.0 == pulse.lost()

    def test_what_is_late_is_lost_also_before_the_beat(self) -> None:
        clock = HandClock()
        pulse = Pulse(clock)
        pulse.beat()

        clock.now += BEAT + 4.0
        before = pulse.lost()
        pulse.beat()

        assert (4.0, 4.0) == (before, pulse.lost())
