"""Threads that make runs; one that has ended its run is used again.

They are daemons, and of no pool: a pool waits for its threads when the interpreter ends. That
they are used again matters to agents that keep a client per thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

from .starting import start

F = TypeVar("F")


class RunThread(Generic[F]):
    """One thread, which does what it is given until it is dismissed."""

    def __init__(self, work: Callable[[RunThread[F], F], None], name: str) -> None:
        self._work = work
        self._inbox: SimpleQueue[F | None] = SimpleQueue()
        self._item: F | None = None
        self._thread = Thread(target=self._run, daemon=True, name=name)
        start(self._thread)

    def take(self, item: F) -> None:
        self._item = item
        self._inbox.put(item)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def is_at(self, item: F) -> bool:
        """Tell whether it was given this item last, and has not let go of it."""
        return self._item is item and self.is_alive

    def dismiss(self) -> None:
        self._inbox.put(None)

    def _run(self) -> None:
        while (item := self._inbox.get()) is not None:
            # Where the memory is used up anything may raise, also between two lines of ours. A
            # thread that ended for it might be given another run, which it would never make.
            with suppress(BaseException):
                self._work(self, item)
            if self._item is item:
                self._item = None
            # Else the last run would be kept until the next one comes.
            del item


class ThreadPool(Generic[F]):
    """The workers of one engine; not safe by itself, the engine's lock guards it.

    Args:
        work: does one item; the worker that does it gives itself back with `give_back`.
    """

    def __init__(self, work: Callable[[RunThread[F], F], None]) -> None:
        self._work = work
        self._idle: list[RunThread[F]] = []
        self._numbers = itertools.count(1)
        self._stopped = False

    def start(self, item: F) -> RunThread[F]:
        """Let an idle worker do `item`, or a new one, and return it.

        Raises:
            RuntimeError: the system gives no more threads.
        """
        while self._idle and not self._idle[-1].is_alive:
            self._idle.pop()
        if not self._idle:
            number = next(self._numbers)
            self._idle.append(RunThread(self._work, f"sopbench-agent-{number}"))
        worker = self._idle.pop()
        worker.take(item)
        return worker

    def give_back(self, worker: RunThread[F]) -> None:
        if self._stopped:
            worker.dismiss()
        else:
            self._idle.append(worker)

    def stop(self) -> None:
        """Dismiss those who are idle at once, and the others when they are given back."""
        self._stopped = True
        for worker in self._idle:
            worker.dismiss()
        self._idle.clear()
