"""What bounds a run: its time, its calls, and how often it is made again."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from pytest_sopbench import Trace
from pytest_sopbench._core.model.trace import GOES_ON, Ending, Usage, has_ended
from pytest_sopbench._running import engine as engines
from pytest_sopbench._running import threads as workers
from pytest_sopbench._running.event_loop import CancellableAwait, SharedLoop
from pytest_sopbench._running.limits import Backoff, Limit
from pytest_sopbench._running.tools.toolbox import begin
from pytest_sopbench.errors import ToolError, Unavailable

SOON = 60.0
"""Seconds that a test waits at most for what is sure to come."""
AT_ONCE = Backoff(random=lambda: 0.0)


class HandClock:
    """A clock that the test moves; what is due is done then."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def move(self, engine: Any, seconds: float) -> None:
        self.now += seconds
        engine._timers.ring()


def away_for(times: int, **usage: int) -> Callable[[Any], str]:
    """An agent whose provider is away for so many attempts."""
    left = [times]

    def agent(tools: Any) -> str:
        tools.call("send_letter")
        tools.report(usage=usage)
        left[0] -= 1
        if left[0] >= 0:
            raise Unavailable
        return "there"

    return agent


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + SOON
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def test_a_hanging_run_is_timed_out_with_what_was_seen_of_it(flights: Any) -> None:
    clock, hanging, release = HandClock(), threading.Event(), threading.Event()
    late: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    engine = flights.engine(2, timeout=600.0, clock=clock)

    def agent(tools: Any) -> str:
        tools.call("send_letter")
        print("so far")  # noqa: T201 - what agents do
        hanging.set()
        release.wait(SOON)
        print("too late")  # noqa: T201
        try:
            tools.call("send_letter")
        except ToolError as error:
            late.put(error)
        return "too late"

    engine.submit(flights.job("a", agent))
    assert hanging.wait(SOON)
    clock.move(engine, 599.0)
    assert (("a", 599.0),) == engine.standing().running
    clock.move(engine, 1.0)
    trace = engine.wait("a")
    release.set()

    assert "the run is over" in str(late.get(timeout=SOON))
    assert Ending.TIMED_OUT is trace.ending
    assert (600.0, "so far\n", 1) == (trace.duration, trace.output, len(trace.calls))
    assert trace is engine.wait("a")


def test_the_time_limit_ends_the_wait_for_a_call_that_is_at_work(flights: Any) -> None:
    clock = HandClock()
    tools_of: queue.SimpleQueue[Any] = queue.SimpleQueue()
    engine = flights.engine(2, timeout=600.0, clock=clock)

    def agent(tools: Any) -> str:
        # As one whose tool never ends.
        begin(tools, "send_letter", {})
        tools_of.put(tools)
        return "done"

    engine.submit(flights.job("a", agent))
    tools_of.get(timeout=SOON)
    clock.move(engine, 600.0)
    trace = engine.wait("a")

    assert Ending.TIMED_OUT is trace.ending
    assert [False] == [has_ended(call) for call in trace.calls]


def test_hanging_runs_do_not_hold_up_the_others(flights: Any) -> None:
    clock, release = HandClock(), threading.Event()
    hanging: queue.SimpleQueue[str] = queue.SimpleQueue()
    engine = flights.engine(5, timeout=10.0, clock=clock)

    def hang() -> None:
        hanging.put("")
        release.wait(SOON)

    stuck = [f"hangs {number}" for number in range(5)]
    for key in stuck:
        engine.submit(flights.job(key, hang))
    for number in range(50):
        engine.submit(flights.job(str(number), lambda: "done"))
    for _ in stuck:
        hanging.get(timeout=SOON)
    assert (5, 50) == (len(engine.standing().running), engine.standing().queued)
    clock.move(engine, 10.0)

    assert {Ending.RETURNED} == {engine.wait(str(number)).ending for number in range(50)}
    assert {Ending.TIMED_OUT} == {engine.wait(key).ending for key in stuck}
    release.set()


def test_a_hanging_async_run_is_cancelled(flights: Any) -> None:
    clock, entered, cleaned = HandClock(), threading.Event(), threading.Event()

    async def agent() -> None:
        entered.set()
        try:
            await asyncio.sleep(SOON)
        finally:
            cleaned.set()

    engine = flights.engine(1, timeout=10.0, clock=clock)
    engine.submit(flights.job("a", agent))
    assert entered.wait(SOON)
    clock.move(engine, 10.0)
    trace = engine.wait("a")

    assert Ending.TIMED_OUT is trace.ending
    assert 10.0 == trace.duration
    assert cleaned.wait(SOON)


def test_an_async_run_that_does_not_let_itself_be_cancelled_is_timed_out(flights: Any) -> None:
    clock, release = HandClock(), threading.Event()
    entered: queue.SimpleQueue[str] = queue.SimpleQueue()

    async def stubborn() -> None:
        entered.put("stubborn")
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def hanging() -> None:
        entered.put("hanging")
        await asyncio.sleep(SOON)

    engine = flights.engine(2, timeout=10.0, clock=clock)
    for key, agent in [("stubborn", stubborn), ("hanging", hanging)]:
        engine.submit(flights.job(key, agent))
        entered.get(timeout=SOON)
    clock.move(engine, 10.0)
    assert {Ending.TIMED_OUT} == {engine.wait(key).ending for key in ("stubborn", "hanging")}
    release.set()


def test_a_loop_that_hears_of_the_end_is_kept_though_the_agent_goes_on(flights: Any) -> None:
    """Runs that share a client share a loop."""
    clock, entered, release = HandClock(), threading.Event(), threading.Event()

    async def stubborn() -> None:
        entered.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    engine = flights.engine(2, timeout=10.0, clock=clock)
    engine.submit(flights.job("stubborn", stubborn))
    assert entered.wait(SOON)
    before = engine._loop.current()
    clock.move(engine, 10.0)
    assert Ending.TIMED_OUT is engine.wait("stubborn").ending
    for _ in range(10):
        turned = threading.Event()
        engine._loop.current().call(lambda _, turned=turned: turned.set())
        assert turned.wait(SOON)
        clock.move(engine, 1.0)

    assert before is engine._loop.current()
    release.set()


def test_a_loop_that_is_blocked_is_replaced(flights: Any) -> None:
    clock, blocked, release = HandClock(), threading.Event(), threading.Event()

    async def blocking() -> None:
        blocked.set()
        release.wait(SOON)

    async def good() -> str:
        await asyncio.sleep(0)
        return "good"

    engine = flights.engine(2, timeout=10.0, clock=clock)
    engine.submit(flights.job("blocking", blocking))
    assert blocked.wait(SOON)
    clock.move(engine, 10.0)
    assert Ending.TIMED_OUT is engine.wait("blocking").ending
    assert eventually(lambda: clock.move(engine, 1.0) or engine._loop.standing() is None)
    engine.submit(flights.job("good", good))

    assert Ending.RETURNED is engine.wait("good").ending
    release.set()


def test_a_task_that_an_agent_leaves_behind_cannot_end_the_loop(flights: Any) -> None:
    left: list[Any] = []

    async def leaving() -> str:
        async def exits() -> None:
            raise SystemExit

        left.append(asyncio.get_running_loop().create_task(exits()))
        await asyncio.sleep(0.01)
        return str(type(left[0].exception()).__name__)

    engine = flights.engine(2)
    for key in "ab":
        engine.submit(flights.job(key, leaving))
        assert "SystemExit" == engine.wait(key).returned.text


def test_an_awaitable_that_comes_too_late_is_not_awaited(flights: Any) -> None:
    clock, hanging, release = HandClock(), threading.Event(), threading.Event()
    made: list[Any] = []

    async def later() -> None:
        made.append("awaited")

    def agent() -> Any:
        hanging.set()
        release.wait(SOON)
        made.append(later())
        return made[0]

    engine = flights.engine(2, timeout=10.0, clock=clock)
    engine.submit(flights.job("a", agent))
    assert hanging.wait(SOON)
    clock.move(engine, 10.0)
    trace = engine.wait("a")
    release.set()

    assert Ending.TIMED_OUT is trace.ending
    assert eventually(lambda: bool(made) and made[0].cr_frame is None)
    assert 1 == len(made)


def test_a_run_is_judged_by_its_own_clock_however_late_the_watchdog_is(flights: Any) -> None:
    clock = HandClock()
    engine = flights.engine(2, timeout=10.0, clock=clock)

    def agent() -> str:
        clock.now += 10.0
        return "late"

    engine.submit(flights.job("a", agent))
    trace = engine.wait("a")

    assert (Ending.TIMED_OUT, None, 10.0) == (trace.ending, trace.returned, trace.duration)


def test_a_run_may_hang_before_its_agent_is_called(flights: Any, bench: Any) -> None:
    """A domain's own code makes the manager."""
    opening, release = threading.Event(), threading.Event()
    opened: queue.SimpleQueue[Any] = queue.SimpleQueue()
    clock = HandClock()
    engine = flights.engine(2, timeout=10.0, clock=clock)

    def open_toolbox() -> Any:
        opening.set()
        release.wait(SOON)
        toolbox = bench.toolbox()
        opened.put(toolbox)
        return toolbox

    called: list[str] = []
    engine.submit(flights.job("a", lambda: called.append(""), open_toolbox=open_toolbox))
    assert opening.wait(SOON)
    clock.move(engine, 10.0)
    trace = engine.wait("a")
    release.set()
    toolbox = opened.get(timeout=SOON)

    assert Trace(ending=Ending.TIMED_OUT, duration=10.0, notes=(GOES_ON,)) == trace
    assert eventually(lambda: "over" in toolbox.tools.execute_tool("send_letter").get("error", ""))
    assert [] == called


def test_someone_elses_limit_ends_a_run_as_well(flights: Any) -> None:
    hanging, release = threading.Event(), threading.Event()
    clock = HandClock()
    engine = flights.engine(2, clock=clock)

    def agent() -> None:
        hanging.set()
        release.wait(SOON)

    engine.submit(flights.job("a", agent))
    assert hanging.wait(SOON)
    clock.now = 3.0
    trace = engine.abandon("a", "ended by another limit")
    release.set()

    assert (Ending.TIMED_OUT, 3.0) == (trace.ending, trace.duration)
    assert ("ended by another limit", GOES_ON) == trace.notes
    assert trace is engine.abandon("a") is engine.wait("a")


def test_a_run_that_is_abandoned_before_it_starts_has_no_trace(flights: Any) -> None:
    hanging, release = threading.Event(), threading.Event()
    engine = flights.engine(1, timeout=60.0)
    engine.submit(flights.job("a", lambda: hanging.set() or release.wait(SOON)))
    assert hanging.wait(SOON)
    engine.submit(flights.job("b", lambda: None))

    assert engine.abandon("b") is None
    assert engine.wait("b") is None
    release.set()
    assert engine.wait("a") is not None


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_agent_that_loops_on_refused_calls_ends(flights: Any, kind: str) -> None:
    def agent(tools: Any) -> None:
        while True:
            try:
                tools.call("send_letter")
            except Exception:  # noqa: BLE001, S112 - so do agents
                continue

    async def async_agent(tools: Any) -> None:
        while True:
            try:
                await tools.acall("send_letter")
            except Exception:  # noqa: BLE001, S112 - so do agents
                continue

    trace = flights.run(agent if kind == "sync" else async_agent, max_calls=3, timeout=60.0)

    assert Ending.OVER_LIMIT is trace.ending
    assert 4 == len(trace.calls)


def test_an_agent_that_swallows_everything_is_over_its_limit_at_the_time_limit(
    flights: Any,
) -> None:
    release = threading.Event()

    def agent(tools: Any) -> None:
        while not release.wait(0.001):
            try:
                tools.call("send_letter")
            except BaseException:  # noqa: BLE001, S112 - so do some agents
                continue

    trace = flights.run(agent, max_calls=3, timeout=2.0)
    release.set()

    assert Ending.OVER_LIMIT is trace.ending
    assert 4 == len(trace.calls)


@pytest.mark.parametrize("timeout", [None, 60.0], ids=["here", "in-a-thread"])
def test_an_unavailable_run_is_made_again_with_a_fresh_toolbox(
    flights: Any, timeout: float
) -> None:
    slept: list[float] = []
    backoff = Backoff(random=lambda: 0.001, sleep=slept.append)
    engine = flights.engine(1, timeout=timeout, retries=3, backoff=backoff)

    engine.submit(flights.job("a", away_for(2, input_tokens=5)))
    trace = engine.wait("a")

    assert Ending.RETURNED is trace.ending
    assert 1 == len(trace.calls)
    assert Usage(input_tokens=15) == trace.usage
    assert ("attempt 3 of 4: the provider was not available before",) == trace.notes
    assert ([0.001, 0.002] if timeout is None else []) == slept
    assert (1, 1, 2) == (
        engine.standing().started,
        engine.standing().ended,
        engine.standing().retried,
    )


def test_a_provider_that_stays_away_makes_the_run_unavailable(flights: Any) -> None:
    trace = flights.run(away_for(99), retries=2, backoff=AT_ONCE)

    assert Ending.UNAVAILABLE is trace.ending
    assert ("attempt 3 of 3: the provider was not available before",) == trace.notes


def test_a_run_that_waits_for_its_provider_holds_no_place(flights: Any) -> None:
    clock = HandClock()
    engine = flights.engine(1, timeout=600.0, retries=1, clock=clock, backoff=Backoff(first=1000))
    engine.submit(flights.job("away", away_for(1)))
    engine.submit(flights.job("other", lambda: "done"))

    assert "done" == engine.wait("other").returned.text
    assert 1 == engine.standing().retried
    clock.move(engine, 1000.0)

    assert "there" == engine.wait("away").returned.text


class AskingError(Unavailable):
    """Throttled, with the wait that the provider asks for."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.response = {"headers": {"retry-after": str(seconds)}}


def test_a_run_waits_as_long_as_its_provider_asks(flights: Any) -> None:
    clock = HandClock()
    attempts: queue.SimpleQueue[float] = queue.SimpleQueue()
    engine = flights.engine(1, timeout=600.0, retries=1, clock=clock, backoff=AT_ONCE)

    def agent() -> str:
        attempts.put(clock.now)
        if clock.now < 30:
            raise AskingError(30)
        return "there"

    engine.submit(flights.job("a", agent))
    assert 0.0 == attempts.get(timeout=SOON)
    assert eventually(lambda: engine.standing().retried == 1)
    clock.move(engine, 29.9)
    assert attempts.empty()
    clock.move(engine, 0.1)

    assert "there" == engine.wait("a").returned.text


@pytest.mark.parametrize("how", ["cancel", "stop", "abandon"])
def test_a_run_that_waits_to_be_made_again_ends_as_it_is(flights: Any, how: str) -> None:
    engine = flights.engine(2, retries=1, backoff=Backoff(first=900, random=lambda: 1.0))
    engine.submit(flights.job("a", away_for(9)))
    assert eventually(lambda: engine.standing().retried == 1)

    if how == "cancel":
        assert () == engine.cancel_queued()
    elif how == "stop":
        engine.stop()
    else:
        engine.abandon("a")

    assert Ending.UNAVAILABLE is engine.wait("a").ending
    assert 1 == engine.standing().ended


def test_an_adaptive_limit_grows_while_runs_end_well(flights: Any) -> None:
    engine = flights.engine(Limit.adaptive(start=2, highest=16))
    for number in range(200):
        engine.submit(flights.job(str(number), lambda: "done"))
    for number in range(200):
        engine.wait(str(number))

    assert 2 < engine.standing().limit <= 16
    assert engine.standing().peak <= 16


def test_an_adaptive_limit_leaves_the_provider_alone_when_it_asks(flights: Any) -> None:
    clock = HandClock()
    engine = flights.engine(Limit.adaptive(start=1, highest=8), clock=clock)

    def throttled() -> None:
        raise AskingError(20)

    engine.submit(flights.job("throttled", throttled))
    assert Ending.UNAVAILABLE is engine.wait("throttled").ending
    for key in "ab":
        engine.submit(flights.job(key, lambda: "done"))
    assert (2, 0) == (engine.standing().queued, len(engine.standing().running))
    clock.move(engine, 20.0)

    assert ["done", "done"] == [engine.wait(key).returned.text for key in "ab"]


def test_what_is_raised_from_outside_times_a_run_out_that_is_made_here(flights: Any) -> None:
    """A plugin that limits tests fails the item from a signal, wherever the agent is."""

    def agent() -> None:
        raise TimeoutError

    engine = flights.engine(1)
    job = flights.job("a", agent, timed_out=lambda error: isinstance(error, TimeoutError))
    engine.submit(job)

    assert Ending.TIMED_OUT is engine.wait("a").ending


class Held(workers.RunThread[Any]):
    """A worker that is slow to begin: it does its work when the test says so."""

    made: ClassVar[list[Held]] = []

    def __init__(self, work: Any, name: str) -> None:
        self.begin = lambda: work(self, self.item)
        self.item: Any = name
        self.made.append(self)

    def take(self, item: Any) -> None:
        self.item = item

    def dismiss(self) -> None:
        self.item = None


def test_a_run_that_ends_before_its_thread_begins_is_not_made(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "RunThread", Held)
    Held.made.clear()
    called: list[str] = []
    engine = flights.engine(2)
    engine.submit(flights.job("a", lambda: called.append("")))

    trace = engine.abandon("a")
    Held.made[0].begin()

    assert Ending.TIMED_OUT is trace.ending
    assert [] == called
    assert 0 == engine.standing().started


def test_an_alarm_that_comes_too_late_changes_nothing(flights: Any) -> None:
    """It may have begun to ring when the run ended."""
    engine = flights.engine(2, timeout=60.0, retries=1)
    engine.submit(flights.job("a", lambda: "done"))
    trace = engine.wait("a")
    run = engine._runs["a"]

    engine._beat()
    engine._queue_again(run)

    assert trace is engine.wait("a")
    assert (0, 1) == (engine.standing().queued, engine.standing().ended)


def test_an_engine_stops_while_a_toolbox_is_opened(flights: Any, bench: Any) -> None:
    opening, release = threading.Event(), threading.Event()
    called: list[str] = []
    opened: queue.SimpleQueue[Any] = queue.SimpleQueue()
    engine = flights.engine(2)

    def open_toolbox() -> Any:
        opening.set()
        release.wait(SOON)
        toolbox = bench.toolbox()
        opened.put(toolbox)
        return toolbox

    engine.submit(flights.job("a", lambda: called.append(""), open_toolbox=open_toolbox))
    assert opening.wait(SOON)
    engine.stop()
    release.set()
    toolbox = opened.get(timeout=SOON)

    assert engine.wait("a") is None
    assert eventually(lambda: "over" in toolbox.tools.execute_tool("send_letter").get("error", ""))
    assert [] == called


def test_what_is_no_coroutine_needs_no_closing() -> None:
    """Where the run was ended before the agent gave an awaitable of its own kind."""
    settling = CancellableAwait(SharedLoop())
    assert not settling.cancel()

    class Awaitable:
        def __await__(self) -> Any:
            raise AssertionError

    with pytest.raises(asyncio.CancelledError):
        settling(Awaitable())


def test_a_run_that_is_cancelled_on_its_way_to_the_loop_is_not_begun() -> None:
    shared = SharedLoop()
    busy, release = threading.Event(), threading.Event()
    shared.current().call(lambda _: busy.set() or release.wait(SOON))
    assert busy.wait(SOON)
    settling = CancellableAwait(shared)
    begun: list[str] = []

    async def agent() -> None:
        begun.append("")

    raised: queue.SimpleQueue[BaseException] = queue.SimpleQueue()

    def settle() -> None:
        try:
            settling(agent())
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            raised.put(error)

    thread = threading.Thread(target=settle)
    thread.start()
    assert eventually(lambda: settling._home is not None)
    assert settling.cancel()
    thread.join(SOON)
    release.set()
    shared.stop(SOON)

    assert isinstance(raised.get(timeout=SOON), asyncio.CancelledError)
    assert [] == begun


def test_only_the_loop_that_is_given_is_replaced() -> None:
    shared = SharedLoop()
    first = shared.current()

    shared.replace(first)
    second = shared.current()
    shared.replace(first)

    assert first is not second
    assert second is shared.current()
    shared.stop(SOON)
    first.stop(SOON)
