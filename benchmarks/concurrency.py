"""Runs in flight in the engine alone, without pytest, against the ideal.

    python benchmarks/concurrency.py [--small]

Measured from the first start to the last end. Every ratio must stay within 1.1. What pytest adds
to it, `in_flight.py` shows.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from ideals import heavy_tail, ideal
from tables import Table, is_small

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import FieldType, OutputField, Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.engine import Engine
from pytest_sopbench._running.limits import Job, Limit, Limits
from pytest_sopbench._running.tools.toolbox import ToolboxFactory

TASKS, SMALL_TASKS = 200, 192
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

    limits = Limits(timeout=TIMEOUT_S)
    limit = Limit.fixed(in_flight)
    engine: Engine[int] = Engine(limit, limits, started=times.started, ended=times.ended)
    jobs = list(map(job, range(len(latencies))))
    for current in range(len(latencies)):
        engine.ensure(jobs[current], jobs[current + 1 : current + 1 + 8 * in_flight])
        engine.wait(current)
        engine.forget(current)
    engine.stop()
    return times.last - times.first


def main() -> int:
    """Print a line per case; the status is 1 where a ratio is too high."""
    tasks = SMALL_TASKS if is_small(__doc__) else TASKS
    tail = heavy_tail(tasks)
    table = Table("the engine alone", "first to last", "ideal")
    for name, latencies, in_flight in [
        (f"{tasks} x {LATENCY_S} s", [LATENCY_S] * tasks, 64),
        ("heavy tail", tail, 8),
        ("heavy tail", tail, 64),
    ]:
        for kind, agent in [("sync", sync_agent), ("async", async_agent)]:
            best, took = ideal(latencies, in_flight), seconds(agent, latencies, in_flight)
            title, ratio = f"{name} at {in_flight}, {kind}", took / best
            table.row(title, f"{took:.2f} s", f"{best:.2f} s", value=ratio, most=LIMIT)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
