"""Runs in flight against the ideal, from the first start to the last end.

Run: `python benchmarks/concurrency.py`. The ideal of equal latencies is `ceil(tasks / N) x
latency`; of unequal ones it is their list scheduled by hand, each on the place that is free first.
Every ratio must stay within 1.1.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from pytest_sopbench._core.models import Domain, FieldType, OutputField, Task
from pytest_sopbench._core.traces import Trace
from pytest_sopbench._running.agent_call import AgentCaller
from pytest_sopbench._running.engine import Engine
from pytest_sopbench._running.in_flight import Limits
from pytest_sopbench._running.job import Job
from pytest_sopbench._running.toolbox import ToolboxFactory

TASKS = 200
LATENCY_S = 0.5
LIMIT = 1.1
TIMEOUT_S = 600.0

DOMAIN = Domain(
    name="parcels",
    folder=Path(),
    data_file=Path("data.csv"),
    sop="",
    tool_specs=(),
    fields=(OutputField(name="shelf", type=FieldType.TEXT),),
    tasks=(),
    task_ids=(),
    input_columns=("latency",),
)


class Times:
    """The first start and the last end of runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.first = math.inf
        self.last = -math.inf

    def started(self, key: int, /) -> None:
        del key
        with self._lock:
            self.first = min(self.first, time.perf_counter())

    def ended(self, key: int, trace: Trace, /) -> None:
        del key, trace
        with self._lock:
            self.last = max(self.last, time.perf_counter())


def sync_agent(inputs: dict[str, float]) -> dict[str, str]:
    """Wait as an agent waits for its model."""
    time.sleep(inputs["latency"])
    return {"shelf": "A"}


async def async_agent(inputs: dict[str, float]) -> dict[str, str]:
    """Wait as an async agent does."""
    await asyncio.sleep(inputs["latency"])
    return {"shelf": "A"}


def seconds(agent: Callable[..., object], latencies: Sequence[float], in_flight: int) -> float:
    """Run one task per latency, and return the time from the first start to the last end."""
    caller, factory, times = AgentCaller(agent), ToolboxFactory(DOMAIN), Times()

    def job(number: int) -> Job[int]:
        task = Task(
            domain="parcels",
            id=f"PX{number}",
            line=number + 2,
            inputs={"latency": latencies[number]},
            expected={"shelf": "A"},
            results={},
            hash="",
        )
        return Job(
            key=number,
            caller=caller,
            domain=DOMAIN,
            task=task,
            open_toolbox=lambda: factory.open(task, max_calls=10, clock=time.perf_counter),
        )

    engine: Engine[int] = Engine(in_flight, Limits(timeout=TIMEOUT_S), listener=times)
    for current in range(len(latencies)):
        ahead = range(current + 1, min(len(latencies), current + 1 + 8 * in_flight))
        engine.ensure(current, ahead, job)
        engine.wait(current)
        engine.forget(current)
    engine.stop()
    return times.last - times.first


def ideal(latencies: Sequence[float], in_flight: int) -> float:
    """Return when the last of these ends, if starting and ending took no time."""
    free = [0.0] * in_flight
    for latency in latencies:
        heapq.heapreplace(free, free[0] + latency)
    return max(free)


def main() -> int:
    """Print a line per case; the status is 1 where a ratio is too high."""
    equal = [LATENCY_S] * TASKS
    draw = random.Random(0)  # noqa: S311 - the same latencies each time, and no secret
    tail = [min(3.0, draw.lognormvariate(-2.0, 1.2)) for _ in range(TASKS)]
    worst = 0.0
    for name, latencies, in_flight in [
        (f"{TASKS} x {LATENCY_S} s", equal, 64),
        ("heavy tail", tail, 8),
        ("heavy tail", tail, 64),
    ]:
        for kind, agent in [("sync", sync_agent), ("async", async_agent)]:
            best, took = ideal(latencies, in_flight), seconds(agent, latencies, in_flight)
            worst = max(worst, took / best)
            print(
                f"{name:12} {kind:5} {in_flight:3} in flight  {took:6.2f} s   "
                f"ideal {best:6.2f} s   ratio {took / best:.3f}   at most {LIMIT}"
            )
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
