"""Many runs in flight: each is made once, in its turn, and ends for itself alone."""

from __future__ import annotations

import asyncio
import ctypes
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Trace
from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running import engine as engines
from pytest_sopbench._running import event_loop as awaiting
from pytest_sopbench._running import threads as workers
from pytest_sopbench._running.limits import Limit
from pytest_sopbench.errors import ToolSpecError, Unavailable

SOON = 60.0
"""Seconds that a test waits at most for what is sure to come."""


class Notes:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.started_keys: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.ended_keys: list[str] = []

    def started(self, key: str) -> None:
        self.started_keys.put(key)

    def ended(self, key: str, trace: Trace) -> None:
        assert trace.ending
        self.ended_keys.append(key)


class Gate:
    """An agent that waits until it is let through."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered: queue.SimpleQueue[str] = queue.SimpleQueue()

    def agent(self, name: str = "") -> Callable[[], str]:
        def agent() -> str:
            self.entered.put(name)
            assert self.opened.wait(SOON)
            return name

        return agent


def text(trace: Trace | None) -> str:
    assert trace is not None
    assert trace.returned is not None
    return trace.returned.text


async def async_echo(task_id: str) -> str:
    await asyncio.sleep(0)
    return task_id


def coroutine(task_id: str) -> Any:
    return async_echo(task_id)


def awaitable() -> Later:
    return Later()


class Later:
    """An awaitable that is no coroutine."""

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return "PX1"


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(lambda task_id: task_id, id="sync"),
        pytest.param(async_echo, id="async"),
        pytest.param(coroutine, id="sync-that-returns-a-coroutine"),
        pytest.param(awaitable, id="sync-that-returns-an-awaitable"),
    ],
)
@pytest.mark.parametrize("timeout", [None, 60.0], ids=["endless", "limited"])
@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_gives_its_trace(flights: Any, agent: Any, timeout: float, limit: int) -> None:
    trace = flights.run(agent, limit=limit, timeout=timeout)

    assert Ending.RETURNED is trace.ending
    assert "PX1" == text(trace)


def test_256_runs_are_in_flight_at_once(flights: Any) -> None:
    barrier = threading.Barrier(256)
    engine = flights.engine(256, timeout=60.0)
    keys = [str(number) for number in range(256)]

    first, *others = [flights.job(key, lambda: barrier.wait(SOON) and "met") for key in keys]
    engine.ensure(first, others)

    assert {Ending.RETURNED} == {engine.wait(key).ending for key in keys}
    assert 256 == engine.standing().peak


def test_256_async_runs_share_one_loop(flights: Any) -> None:
    loops: set[int] = set()
    barrier = asyncio.Barrier(256)

    async def agent() -> str:
        loops.add(id(asyncio.get_running_loop()))
        await barrier.wait()
        return "done"

    engine = flights.engine(256)
    for number in range(256):
        engine.submit(flights.job(str(number), agent))

    assert {"done"} == {text(engine.wait(str(number))) for number in range(256)}
    assert 1 == len(loops)
    assert 256 == engine.standing().peak


def test_no_more_runs_are_in_flight_than_the_limit(flights: Any) -> None:
    lock, inside, seen = threading.Lock(), [0], [0]

    def agent() -> None:
        with lock:
            inside[0] += 1
            seen[0] = max(seen[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1

    engine = flights.engine(5)
    for number in range(60):
        engine.submit(flights.job(str(number), agent))
    for number in range(60):
        engine.wait(str(number))

    assert 5 == seen[0]
    assert (60, 60, 5, 0) == (
        engine.standing().started,
        engine.standing().ended,
        engine.standing().peak,
        engine.standing().queued,
    )


def test_the_current_run_is_the_next_to_start(flights: Any) -> None:
    gate, notes = Gate(), Notes()
    engine = flights.engine(1, timeout=60.0, listener=notes)
    for key in "abcd":
        engine.submit(flights.job(key, gate.agent(key)))

    gate.entered.get(timeout=SOON)
    engine.ensure(flights.job("d", gate.agent("d")), [flights.job("e", gate.agent("e"))])
    engine.ensure(flights.job("a", gate.agent("a")), [])
    gate.opened.set()
    for key in "abcde":
        engine.wait(key)

    assert list("adbce") == notes.ended_keys
    assert list("adbce") == [notes.started_keys.get(timeout=SOON) for _ in range(5)]


def test_a_key_is_run_once(flights: Any) -> None:
    made: list[str] = []
    engine = flights.engine(2)

    def job(key: str) -> Any:
        return flights.job(key, lambda: made.append(key) or key)

    for current in "abc":
        engine.ensure(job(current), map(job, "abc"))
        assert current == text(engine.wait(current))
    engine.submit(flights.job("a", lambda: "again"))

    assert ["a", "b", "c"] == sorted(made)
    assert "a" == text(engine.wait("a"))


def test_a_forgotten_run_may_be_made_again(flights: Any) -> None:
    engine = flights.engine(2)
    engine.submit(flights.job("a", lambda: "first"))
    engine.wait("a")

    engine.forget("a")
    engine.forget("unknown")
    engine.submit(flights.job("a", lambda: "second"))

    assert "second" == text(engine.wait("a"))


def test_a_run_in_flight_is_not_forgotten(flights: Any) -> None:
    gate = Gate()
    engine = flights.engine(2)
    engine.submit(flights.job("a", gate.agent("kept")))

    engine.forget("a")
    gate.opened.set()

    assert "kept" == text(engine.wait("a"))


def test_nobody_waits_for_a_run_that_was_never_submitted(flights: Any) -> None:
    with pytest.raises(KeyError):
        flights.engine(2).wait("unknown")


def test_threads_are_used_again(flights: Any) -> None:
    """Agents keep clients per thread."""
    engine = flights.engine(2)
    names = set()
    for number in range(20):
        engine.submit(flights.job(str(number), lambda: threading.current_thread().name))
        names.add(text(engine.wait(str(number))))
        # A run is over a moment before its thread is free.
        while not engine._idle:
            time.sleep(0.001)

    assert names == {"sopbench-agent-1"}


def test_a_run_sees_the_context_in_which_the_engine_was_made(flights: Any) -> None:
    word = ContextVar("word", default="unset")
    word.set("session")
    engine = flights.engine(2)
    word.set("test")

    def agent() -> str:
        said = word.get()
        word.set("run")
        return said

    async def async_agent() -> str:
        return agent()

    for key in "abcd":
        engine.submit(flights.job(key, async_agent if key in "bd" else agent))

    assert {"session"} == {text(engine.wait(key)) for key in "abcd"}
    assert "test" == word.get()


def test_where_one_run_is_in_flight_and_none_is_timed_out_it_is_made_here(flights: Any) -> None:
    engine = flights.engine(1)
    made: list[str] = []

    def agent() -> str:
        made.append("")
        return threading.current_thread().name

    engine.ensure(flights.job("a", agent), [flights.job(key, agent) for key in "bcd"])

    assert engine.direct
    assert [] == made
    assert threading.main_thread().name == text(engine.wait("a")) == text(engine.wait("a"))
    assert [""] == made


def test_a_run_that_is_made_here_shows_what_it_writes(
    flights: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = flights.run(lambda: print("shown"), limit=1)  # noqa: T201 - what agents do

    assert "shown\n" == trace.output == capsys.readouterr().out


@pytest.mark.parametrize("timeout", [None, 60.0], ids=["here", "in-a-thread"])
def test_a_toolbox_that_cannot_be_opened_is_a_fault_of_the_set_up(
    flights: Any, timeout: float
) -> None:
    engine = flights.engine(1, timeout=timeout)

    def open_toolbox() -> Any:
        path = "tools.py"
        raise ToolSpecError(path, "no manager")

    engine.submit(flights.job("a", lambda: None, open_toolbox=open_toolbox))

    for _ in range(2):
        with pytest.raises(ToolSpecError, match="no manager"):
            engine.wait("a")
    assert () == engine.standing().running


def test_what_a_listener_raises_reaches_the_one_who_waits(flights: Any) -> None:
    class Full(Notes):
        def ended(self, key: str, trace: Trace) -> None:
            raise OSError(key, trace.ending)

    engine = flights.engine(2, listener=Full())
    engine.submit(flights.job("a", lambda: None))

    with pytest.raises(OSError, match="a"):
        engine.wait("a")


class Interrupting:
    """What an agent may return; it exits when it is read."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


def test_what_an_agent_returns_cannot_end_the_session(flights: Any) -> None:
    def agent() -> Interrupting:
        return Interrupting()

    trace = flights.run(agent, timeout=60.0)

    assert Ending.RAISED is trace.ending
    assert trace.problem is not None
    assert "KeyboardInterrupt" == trace.problem.type


def test_dropped_runs_never_start_and_may_be_submitted_again(flights: Any) -> None:
    gate, notes = Gate(), Notes()
    engine = flights.engine(1, timeout=60.0, listener=notes)
    for key in "abc":
        engine.submit(flights.job(key, gate.agent(key)))
    gate.entered.get(timeout=SOON)
    waiting = queue.SimpleQueue[Any]()
    flight = engine._runs["b"]
    threading.Thread(target=lambda: waiting.put(flight.done.wait(SOON))).start()

    dropped = engine.cancel_queued()
    gate.opened.set()

    assert ("b", "c") == dropped
    assert waiting.get(timeout=SOON)
    assert "a" == text(engine.wait("a"))
    with pytest.raises(KeyError):
        engine.wait("b")
    engine.submit(flights.job("b", lambda: "again"))
    assert "again" == text(engine.wait("b"))


def test_a_stopped_engine_keeps_what_has_ended_and_starts_nothing(flights: Any) -> None:
    gate, notes = Gate(), Notes()
    engine = flights.engine(1, timeout=60.0, listener=notes)
    late: queue.SimpleQueue[str] = queue.SimpleQueue()

    def calling(tools: Any) -> None:
        gate.agent()()
        late.put(tools.execute_tool("send_letter")["error"])

    engine.submit(flights.job("ended", lambda: "kept"))
    engine.wait("ended")
    engine.submit(flights.job("running", calling))
    gate.entered.get(timeout=SOON)
    engine.submit(flights.job("queued", calling))

    engine.stop()
    engine.stop()
    engine.submit(flights.job("after", calling))
    gate.opened.set()

    assert "kept" == text(engine.wait("ended"))
    assert [None, None, None] == [engine.wait(key) for key in ("running", "queued", "after")]
    assert ["ended"] == notes.ended_keys
    assert () == engine.standing().running
    assert "the run is over" in late.get(timeout=SOON)


def test_a_stopped_engine_lets_runs_be_told_of_that_are_ending(flights: Any) -> None:
    """Several may time out at once, and one of them ends the session."""
    telling, may_go_on = threading.Event(), threading.Event()

    class Slow(Notes):
        def ended(self, key: str, trace: Trace) -> None:
            telling.set()
            may_go_on.wait(SOON)
            super().ended(key, trace)

    slow = Slow()
    engine = flights.engine(1, timeout=60.0, listener=slow)
    engine.submit(flights.job("a", lambda: "done"))
    telling.wait(SOON)
    threading.Timer(0.05, may_go_on.set).start()

    engine.stop(SOON)

    assert ["a"] == slow.ended_keys


def test_the_threads_of_a_stopped_engine_end(flights: Any) -> None:
    engine = flights.engine(8, timeout=60.0)
    before = set(threading.enumerate())
    for number in range(8):
        agent = async_echo if number % 2 else (lambda: None)
        engine.submit(flights.job(str(number), agent))
    for number in range(8):
        engine.wait(str(number))
    ours = set(threading.enumerate()) - before

    engine.stop()

    assert {"sopbench-loop", "sopbench-watchdog"} <= {thread.name for thread in ours}
    for thread in ours:
        thread.join(SOON)
        assert not thread.is_alive()


def test_a_standing_tells_the_slowest_run_first(flights: Any) -> None:
    gate = Gate()
    now = [0.0]
    engine = flights.engine(2, clock=lambda: now[0])
    engine.submit(flights.job("first", gate.agent()))
    gate.entered.get(timeout=SOON)
    now[0] = 5.0
    engine.submit(flights.job("second", gate.agent()))
    gate.entered.get(timeout=SOON)
    engine.submit(flights.job("third", gate.agent()))
    now[0] = 6.0

    standing = engine.standing()
    gate.opened.set()

    assert (("first", 6.0), ("second", 1.0)) == standing.running
    assert (2, 0, 1, 2) == (standing.started, standing.ended, standing.queued, standing.limit)


@pytest.mark.parametrize("first", [True, False], ids=["not-even-one", "one"])
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("can't start new thread"), id="no-thread"),
        pytest.param(MemoryError("can't start new thread"), id="no-memory"),
    ],
)
def test_where_the_system_gives_no_more_threads_those_there_are_have_to_do(
    flights: Any, monkeypatch: pytest.MonkeyPatch, first: bool, error: Exception
) -> None:
    made = []

    class Scarce(workers.RunThread[Any]):
        def __init__(self, work: Any, name: str) -> None:
            made.append(name)
            if first or len(made) > 1:
                raise error
            super().__init__(work, name)

    monkeypatch.setattr(engines, "RunThread", Scarce)
    gate = Gate()
    gate.opened.set()
    engine = flights.engine(8)
    for key in "abc":
        engine.submit(flights.job(key, gate.agent(key)))

    if first:
        traces = [engine.wait(key) for key in "abc"]
        assert [Ending.RAISED] * 3 == [trace.ending for trace in traces]
        assert {"the run could not be started: can't start new thread"} == {
            trace.problem.message for trace in traces
        }
    else:
        assert list("abc") == [text(engine.wait(key)) for key in "abc"]
        assert 8 == engine.standing().limit


async def hang_async() -> None:
    await asyncio.sleep(SOON)


async def exit_async() -> None:
    raise SystemExit


def raising(error: BaseException) -> Callable[..., None]:
    def agent(*_: object, **__: object) -> None:
        raise error

    return agent


def test_500_runs_of_all_kinds_are_each_counted_once(flights: Any) -> None:
    """Hangs, exits, interrupts, errors and good ends; each ends on the right key."""
    release, notes, now = threading.Event(), Notes(), [0.0]
    kinds: list[tuple[Any, Ending]] = [
        (lambda: release.wait(SOON), Ending.TIMED_OUT),
        (hang_async, Ending.TIMED_OUT),
        (raising(SystemExit()), Ending.RAISED),
        (raising(KeyboardInterrupt()), Ending.RAISED),
        (exit_async, Ending.RAISED),
        (raising(Unavailable()), Ending.UNAVAILABLE),
    ]
    special = {41 * place: kind for place, kind in enumerate(kinds * 2)}
    engine = flights.engine(64, timeout=10.0, listener=notes, clock=lambda: now[0])

    expected: dict[str, Ending] = {}
    for number in range(500):
        agent, ending = special.get(number, (lambda: "done", Ending.RETURNED))
        expected[str(number)] = ending
        engine.submit(flights.job(str(number), agent))
    hanging = {key for key, ending in expected.items() if ending is Ending.TIMED_OUT}
    endings = {key: engine.wait(key).ending for key in expected.keys() - hanging}
    now[0] = 10.0
    engine._timers.ring()
    endings |= {key: engine.wait(key).ending for key in hanging}
    release.set()

    assert expected == endings
    assert Counter(expected.keys()) == Counter(notes.ended_keys)
    assert (500, 500) == (engine.standing().started, engine.standing().ended)


def test_errors_that_are_nested_very_deep_are_an_error_of_the_agent(flights: Any) -> None:
    def agent() -> None:
        error: Exception = ValueError("at the bottom")
        for _ in range(5000):
            error = ExceptionGroup("a group", [error])
        raise error

    def unavailable(error: BaseException) -> bool:
        return is_unavailable(error)

    engine = flights.engine(2)
    engine.submit(flights.job("a", agent, unavailable=unavailable))
    trace = engine.wait("a")

    assert (Ending.RAISED, "ExceptionGroup") == (trace.ending, trace.problem.type)


@pytest.mark.filterwarnings("error")
def test_a_coroutine_that_an_async_agent_returns_is_named_and_closed(flights: Any) -> None:
    async def answer() -> str:
        return "late"

    async def agent() -> Any:
        return answer()

    trace = flights.run(agent)

    assert "the agent returned a coroutine: an await is missing in it" == trace.returned.problem


def test_a_fault_while_a_run_is_concluded_reaches_the_one_who_waits(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a run for which memory runs out at its end would be waited for without end."""
    engine = flights.engine(2)
    monkeypatch.setattr(engine._time, "trace", raising(MemoryError()))
    engine.submit(flights.job("a", lambda: "done"))

    with pytest.raises(MemoryError):
        engine.wait("a")


def test_a_value_that_refuses_everything_is_no_fault_of_ours(flights: Any) -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    def agent() -> object:
        return Hostile()

    assert Ending.RAISED is flights.run(agent).ending


def test_a_thread_outlives_what_is_raised_in_it_between_two_runs(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may raise in all threads, and the next run is given to one that looks idle."""
    engine = flights.engine(1, timeout=SOON)
    go_on, raised = engine._start_queued, threading.Event()

    def raising() -> None:
        in_worker = threading.current_thread().name.startswith("sopbench-agent")
        if in_worker and not raised.is_set():
            raised.set()
            raise SystemExit
        go_on()

    monkeypatch.setattr(engine, "_start_queued", raising)
    engine.submit(flights.job("a", lambda: "done"))
    engine.wait("a")
    assert raised.wait(SOON)

    engine.submit(flights.job("b", lambda: "done"))

    assert "done" == text(engine.wait("b"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_ends_though_something_was_raised_in_the_thread_that_waited_for_it(
    flights: Any,
) -> None:
    """What is raised from another thread comes as the thread wakes, with a run in its hands."""
    engine = flights.engine(1, timeout=SOON)
    engine.submit(flights.job("a", lambda: str(threading.get_ident())))
    ident = int(text(engine.wait("a")))
    # A run is over a moment before its thread waits for the next one.
    time.sleep(0.2)

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(ValueError))
    for key in "bc":
        engine.submit(flights.job(key, lambda: "done"))

    assert engine.wait("b").ending in {Ending.RETURNED, Ending.RAISED}
    assert "done" == text(engine.wait("c"))


def test_a_run_that_its_thread_lets_go_of_is_an_error_and_the_next_is_made(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something may be raised between two lines, before the run has begun."""
    monkeypatch.setattr(engines, "BEGINS_WITHIN", 0.2)
    engine = flights.engine(2)

    def let_go(_worker: Any, _run: Any) -> None: ...

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_work", let_go)
        engine.submit(flights.job("lost", lambda: "done"))
        lost = engine.wait("lost")

    engine.submit(flights.job("next", lambda: "done"))

    assert Ending.RAISED is lost.ending
    assert "could not be started: its thread did not begin it" in lost.problem.message
    assert "done" == text(engine.wait("next"))


def test_a_thread_that_ended_is_given_no_run(flights: Any) -> None:
    engine = flights.engine(1, timeout=SOON)
    engine.submit(flights.job("a", lambda: "done"))
    engine.wait("a")
    while not engine._idle:
        time.sleep(0.001)
    (idle,) = engine._idle
    idle.dismiss()
    idle._thread.join(SOON)

    engine.submit(flights.job("b", lambda: "done"))

    assert "done" == text(engine.wait("b"))


class DiesEarly(threading.Thread):
    """A thread that ends before it says that it has begun, as if something was raised in it."""

    def _bootstrap(self) -> None: ...


def test_a_thread_that_never_begins_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.05)

    with pytest.raises(RuntimeError, match="the new thread did not begin"):
        workers.start(DiesEarly(daemon=True))


def test_a_run_whose_thread_never_begins_holds_up_no_other(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = flights.engine(2, timeout=SOON)
    engine.submit(flights.job("first", lambda: "done"))
    engine.wait("first")
    monkeypatch.setattr(workers, "PATIENCE", 0.05)
    with monkeypatch.context() as patched:
        patched.setattr(workers, "Thread", DiesEarly)
        engine._idle.clear()
        engine.submit(flights.job("lost", lambda: "done"))

    engine.submit(flights.job("next", lambda: "done"))

    assert "could not be started: the new thread did not begin" in (
        engine.wait("lost").problem.message
    )
    assert "done" == text(engine.wait("next"))


# Sync code that waits for async code, and the other way round.


def test_work_that_is_cancelled_before_it_begins_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin: list[Callable[[], None]] = []
    done: list[str] = []

    monkeypatch.setattr(awaiting, "start", lambda thread: begin.append(thread.run))
    future = awaiting.in_thread(lambda: done.append(""))

    future.cancel()
    begin[0]()

    assert future.cancelled()
    assert [] == done


# The limit of runs in flight: laws that hold whatever a provider does.

EVENTS = st.lists(
    st.tuples(st.booleans(), st.integers(1, 300), st.floats(0, 5), st.none() | st.floats(0, 60)),
    max_size=80,
)


def after(limit: Limit, events: list[tuple[bool, int, float, float | None]]) -> Limit:
    for now, (well, in_flight, took, asked) in enumerate(events):
        limit = (
            limit.ended_well(in_flight)
            if well
            else limit.throttled(in_flight, began=now - took, now=now, retry_after=asked)
        )
    return limit


@settings(max_examples=60)
@given(EVENTS, st.integers(1, 50), st.integers(0, 50))
def test_a_limit_stays_within_its_bounds(events: list, lowest: int, span: int) -> None:
    limit = after(Limit.adaptive(lowest=lowest, highest=lowest + span), events)

    assert lowest <= limit.count <= lowest + span


@settings(max_examples=30)
@given(EVENTS, st.integers(1, 300))
def test_a_fixed_limit_learns_nothing(events: list, count: int) -> None:
    limit = Limit.fixed(count)

    assert limit == after(limit, events)
    assert count == limit.room(0, now=1e9)


@settings(max_examples=60)
@given(EVENTS, st.integers(0, 400), st.floats(-10, 200))
def test_there_is_never_room_beyond_the_limit(events: list, in_flight: int, now: float) -> None:
    limit = after(Limit.adaptive(), events)

    room = limit.room(in_flight, now)

    assert 0 <= room <= max(0, limit.count - in_flight)
    assert room == 0 or now >= limit.paused_until


def test_a_round_of_good_ends_doubles_the_limit_until_it_is_throttled() -> None:
    limit = Limit.adaptive(start=10)

    for _ in range(10):
        limit = limit.ended_well(limit.count)

    assert 20 == limit.count


def test_after_throttling_a_round_of_good_ends_adds_one() -> None:
    limit = Limit.adaptive(start=10).throttled(10, began=0, now=1)

    for _ in range(7):
        limit = limit.ended_well(limit.count)

    assert 7 == Limit.adaptive(start=10).throttled(10, began=0, now=1).count
    assert 7.9 < limit.level <= 8


def test_a_limit_that_is_not_used_up_does_not_grow() -> None:
    limit = Limit.adaptive(start=10)

    assert limit == limit.ended_well(9)


def test_a_burst_of_throttled_runs_cuts_the_limit_once() -> None:
    limit = Limit.adaptive(start=100)

    for moment in range(50):
        limit = limit.throttled(100, began=-1.0, now=float(moment))

    assert 70 == limit.count


def test_a_run_that_began_after_the_cut_cuts_again() -> None:
    limit = Limit.adaptive(start=100).throttled(100, began=0, now=1)

    assert 49 == limit.throttled(70, began=1, now=2).count


def test_what_is_cut_is_what_was_in_flight() -> None:
    assert 7 == Limit.adaptive(start=100).throttled(10, began=0, now=1).count


def test_a_provider_that_asks_to_be_left_alone_is() -> None:
    limit = Limit.adaptive(start=10).throttled(10, began=0, now=1, retry_after=30)

    later = limit.throttled(10, began=0, now=2, retry_after=5)

    assert 0 == later.room(0, now=30.9)
    assert 7 == later.room(0, now=31)


@settings(max_examples=40)
@given(st.integers(3, 80), st.integers(1, 200))
def test_the_limit_settles_near_what_the_provider_bears(capacity: int, start: int) -> None:
    """Rounds in which all that goes beyond the capacity is turned away."""
    limit = Limit.adaptive(start=start)

    for now in range(200):
        in_flight = limit.count
        for number in range(in_flight):
            if number < capacity:
                limit = limit.ended_well(in_flight)
            else:
                limit = limit.throttled(in_flight, began=now, now=now + 0.5)

    assert capacity * 0.5 <= limit.count <= capacity + 2


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [pytest.param(0, 5, id="none"), pytest.param(5, 4, id="crossed")],
)
def test_bounds_without_a_run_between_them_are_refused(lowest: int, highest: int) -> None:
    with pytest.raises(ValueError, match="start no lower than 1"):
        Limit.adaptive(lowest=lowest, highest=highest)
