"""The loop on which async agents run, and what becomes of one that is blocked."""

from __future__ import annotations

import asyncio
import inspect
from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from os import getpid
from queue import SimpleQueue
from threading import Event, Lock, Thread
from types import CoroutineType
from typing import Any, Final, TypeAlias, TypeVar, cast

from pytest_sopbench._running.observing import end_child_of

from .threads import start

# Wait for async work from sync code, and for sync work from async code.
#
# Threads are daemons and never of a pool: a pool waits for its threads when the interpreter ends,
# so one tool that hangs would keep the whole session.

T = TypeVar("T")


def run_blocking(value: object) -> object:
    """Return `value`, or what it comes to if it is awaitable.

    An event loop is made for it and closed after it, in this thread; if this thread already
    has a running one (an agent started from an async test), in a thread of its own.
    """
    if not inspect.isawaitable(value):
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(value)
    return in_thread(lambda: _run(value)).result()


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Start `work` in a daemon thread which carries a copy of this context."""
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        # Said to run, the future cannot be cancelled under a work that has begun.
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who waits
            future.set_exception(error)

    start(Thread(target=run, daemon=True, name="sopbench-thread"))
    return future


async def offloaded(work: Callable[[], T]) -> T:
    """Do `work` in a thread while the event loop goes on."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # Another async library's loop: correct, but its loop waits.
        return work()
    return await asyncio.wrap_future(in_thread(work))


async def others_first() -> None:
    """Let the event loop start what was made together with this, if there is one of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    await asyncio.sleep(0)


def _run(value: Awaitable[object]) -> object:
    async def wait() -> object:
        return await value

    # `asyncio.run` would leave this thread without a current loop for whoever comes next.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(wait())


def close_coroutine(value: object) -> None:
    """Close a coroutine that is not awaited any more, which Python would warn of."""
    # Of its type, since a value may refuse to tell its class.
    if issubclass(type(value), CoroutineType):
        cast("Coroutine[object, object, object]", value).close()


# One event loop for the async agents of all runs, in a thread of its own.
#
# The clients of providers belong to the loop on which they were first used, so runs that share a
# client must share the loop. If an agent blocks the loop for good, the next runs get a new one.


class SharedLoop:
    """Gives the loop of all runs; it is made when the first awaitable comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: LoopThread | None = None
        self._blocked: list[LoopThread] = []

    def current(self) -> LoopThread:
        """Return the loop on which runs begin.

        Raises:
            RuntimeError, MemoryError: the system gives no more threads.
        """
        with self._lock:
            if self._current is None:
                self._current = LoopThread()
            return self._current

    def standing(self) -> LoopThread | None:
        """Return the loop on which runs begin, if there is one."""
        return self._current

    def replace(self, blocked: LoopThread) -> None:
        """Give a new loop from now on, if this one is still the one that is given."""
        with self._lock:
            if self._current is blocked:
                self._current = None
                # Other runs on it may go on, once it is free again.
                self._blocked.append(blocked)

    def stop(self, grace: float) -> None:
        """End the loop; wait for that no longer than `grace` seconds."""
        with self._lock:
            current, self._current = self._current, None
        for blocked in self._blocked:
            blocked.stop(0.0)
        if current is not None:
            current.stop(grace)


# Settle what one run's agent returned on the loop of all runs, so that it can be cancelled.

_End: TypeAlias = "SimpleQueue[tuple[object, BaseException | None]]"
"""What a run's agent came to; the first entry counts."""


class CancellableAwait:
    """The `settle` of one run: called in the run's thread, cancelled from any other.

    The run's thread only waits meanwhile, and is free as soon as the run is cancelled, also if
    the agent does not let itself be cancelled.

    Args:
        shared: gives the loop.
        name: what the run is called in what others are told of it.
    """

    def __init__(self, shared: SharedLoop, name: str = "") -> None:
        self.name: Final = name
        self._shared = shared
        self._lock = Lock()
        # Made when it is needed: most agents return a value.
        self._end: _End | None = None
        self._home: LoopThread | None = None
        self._begin: Callable[[LoopThread, AbstractEventLoop], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False
        self.is_lost = False

    @property
    def home(self) -> LoopThread | None:
        """The loop on which the agent is, or on which it waits to begin."""
        return self._home

    @property
    def waits(self) -> bool:
        """Whether the loop has not come to the agent yet."""
        return self._home is not None and self._task is None

    def __call__(self, value: object) -> object:
        """Return `value`, or what it comes to if it is awaitable."""
        if not inspect.isawaitable(value):
            return value
        context = copy_context()
        context.run(OWNER.set, self)
        end: _End = SimpleQueue()

        def begin(home: LoopThread, loop: AbstractEventLoop) -> None:
            with self._lock:
                if self._home is not home or self._task is not None:
                    # It was moved to another loop while this one was blocked.
                    return
                if self._cancelled:
                    close_coroutine(value)
                    return
                try:
                    self._task = loop.create_task(_tell(value, end), context=context)
                    # A task that is ended before its first step cannot tell of it itself.
                    self._task.add_done_callback(lambda _: end.put((None, CancelledError())))
                except BaseException as error:  # noqa: BLE001 - else its run would never end
                    end.put((None, error))
                    close_coroutine(value)

        with self._lock:
            if not self._cancelled:
                self._end, self._begin = end, begin
                self._home = self._shared.current()
        if self._home is None:
            close_coroutine(value)
            raise CancelledError
        self._home.call(partial(begin, self._home))
        result, error = end.get()
        if error is None:
            return result
        try:
            raise error
        finally:
            # Else the error holds this frame, and the frame the error.
            del error

    def move(self) -> bool:
        """Begin on the loop that is given now, if the old one has not come to it.

        Raises:
            RuntimeError, MemoryError: there is no other loop, and no thread for one.
        """
        with self._lock:
            if not self.waits or self._cancelled or self._begin is None:
                return False
            home = self._home = self._shared.current()
        home.call(partial(self._begin, home))
        return True

    def cancel(self) -> bool:
        """End the run's waiting; tell whether there was anything to be cancelled."""
        with self._lock:
            self._cancelled = True
        if self._home is None or self._end is None:
            return False
        self._end.put((None, CancelledError()))
        self._home.unheard.add(self)
        with suppress(RuntimeError):
            self._home.call(self._cancel)
        return True

    def lose(self) -> None:
        """End the run's waiting, since its loop is blocked for good by somebody else."""
        self.is_lost = True
        self.cancel()

    def _cancel(self, _loop: AbstractEventLoop) -> None:
        if self._home is not None:
            self._home.unheard.discard(self)
        if self._task is not None:
            self._task.cancel()


async def _tell(value: Awaitable[object], end: _End) -> None:
    """Await what an agent returned, and tell what came of it."""
    # Whatever it is, it belongs to the run: a task would pass an exit on to the loop.
    process = getpid()
    try:
        result = await value
    except BaseException as error:  # noqa: BLE001 - an agent's SystemExit ends no session
        end_child_of(process)
        end.put((None, error))
    else:
        end_child_of(process)
        end.put((result, None))


# An event loop in a thread of its own, which tells whether it goes on, and who holds it.

OWNER: Final[ContextVar[object]] = ContextVar("sopbench_owner", default=None)
"""To whom the tasks belong that are made in this context."""


class LoopThread:
    """An event loop that is served by a daemon thread until it is stopped.

    `silent_since` is from when on it has not answered, and `left_at` when no run was to begin on it
    any more; whoever looks at it writes them down. `unheard` are those that were told to end, and
    to which it has not come.

    Raises:
        RuntimeError, MemoryError: the system gives no more threads.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._loop.set_task_factory(_owned)
        self._stopping = False
        self._answered = True
        self.silent_since: float | None = None
        self.left_at: float | None = None
        self.unheard: set[object] = set()
        self._ended = Event()
        try:
            start(Thread(target=self._serve, daemon=True, name="sopbench-loop"))
        except BaseException:
            self._loop.close()
            raise

    def call(self, action: Callable[[AbstractEventLoop], object]) -> None:
        """Do `action` on the loop.

        Raises:
            RuntimeError: the loop is closed.
        """
        self._loop.call_soon_threadsafe(action, self._loop)

    def answers(self) -> bool:
        """Tell whether the loop has gone on since this was asked last, and ask it again."""
        if not self._answered:
            return False
        self._answered = False
        with suppress(RuntimeError):
            self.call(self._answer)
        return True

    def holder(self) -> object:
        """Return to whom the task belongs that the loop is at; `None` if that is unknown."""
        return getattr(asyncio.current_task(self._loop), "owner", None)

    def stop(self, grace: float) -> None:
        """Cancel what is on the loop and end it; wait for that no longer than `grace` seconds."""
        self._stopping = True
        with suppress(RuntimeError):
            self.call(lambda loop: loop.stop())
        self._ended.wait(grace)

    def _answer(self, _loop: AbstractEventLoop) -> None:
        self._answered = True

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        while not self._stopping:
            # A task that an agent has started, and that exits, would end the loop of all runs.
            with suppress(BaseException):
                loop.run_forever()
        loop.set_exception_handler(lambda _loop, _context: None)
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        with suppress(BaseException):
            # One turn delivers the cancelling.
            loop.run_until_complete(_some_turns())
            loop.run_until_complete(loop.shutdown_asyncgens())
        stuck = {task for task in tasks if not task.done()}
        if not stuck:
            loop.close()
        self._ended.set()
        if stuck:
            _keep_for_good(stuck)


class _OwnedTask(asyncio.Task[Any]):
    """A task that knows to whom it belongs, also if an agent's own task has made it."""

    owner: object = None


def _owned(loop: AbstractEventLoop, coroutine: Any, **given: Any) -> Any:
    task = _OwnedTask(coroutine, loop=loop, **given)
    context: Context | None = given.get("context")
    task.owner = OWNER.get() if context is None else context.get(OWNER)
    return task


async def _some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def _keep_for_good(stuck: set[asyncio.Task[Any]]) -> None:
    """Hold on to tasks that have swallowed their end, until the process is gone.

    A coroutine that is forgotten is closed by whichever thread forgets it. One that goes on
    whatever is raised in it would then go on in the main thread, at the end of the session.
    """
    while stuck:
        Event().wait()


class _DaemonThreads(ThreadPoolExecutor):
    """Serves `asyncio.to_thread`; a pool only by name, as asyncio accepts nothing else.

    A real one would wait for a hanging thread when the interpreter ends, and its few threads
    would be shared by all runs in flight.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return in_thread(lambda: fn(*args, **kwargs))
