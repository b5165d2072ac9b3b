"""What an engine needs to make one run, and to make it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.tools.toolbox import Toolbox

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


def never(_: BaseException) -> bool:
    """Say no of every exception."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[K]):
    """One run that is to be made; `key` is what the engine knows it by.

    `open_toolbox` gives a fresh toolbox each time it is called, in the thread of the run. What
    `unavailable` and `timed_out` tell is what `run_task` asks of them. A job that is to be made
    `alone` has no other run in flight beside it: it may end the process. `wrap` gives, by the
    number of an attempt, what is entered around it. `compare` adds to the trace of a run what
    others find of its answer, before anybody is told that the run has ended.
    """

    key: K
    caller: AgentCaller
    domain: Domain
    task: Task
    open_toolbox: Callable[[], Toolbox]
    unavailable: Callable[[BaseException], bool] = never
    timed_out: Callable[[BaseException], bool] = never
    alone: bool = False
    wrap: Callable[[int], AbstractContextManager[None]] | None = None
    compare: Callable[[Trace], Trace] | None = None

    @property
    def name(self) -> str:
        """What the run is called in what others are told of it."""
        return f"{self.task.domain}/{self.task.id}"


class Listener(Protocol[K_contra]):
    """Is told of runs as they start and end, in whichever thread that happens.

    What it raises is raised again by `Engine.wait` for the run in question.
    """

    def started(self, key: K_contra, /) -> None:
        """Take note that a run starts, before its agent is called; once, however often retried."""
        ...

    def ended(self, key: K_contra, trace: Trace, /) -> None:
        """Take note of how a run ended, before anyone who waits for it goes on."""
        ...


class NullListener:
    """A listener that takes no note."""

    def started(self, key: object, /) -> None: ...

    def ended(self, key: object, trace: Trace, /) -> None: ...
