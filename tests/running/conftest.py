"""Small domains, built from models: no file of a domain is read in this room's tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain, OutputField, Task, Trace
from pytest_sopbench._core.model.task import FieldType, LookupTool, ToolSpec
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.engine import Engine
from pytest_sopbench._running.limits import Job, Limit, Limits
from pytest_sopbench._running.threads import BEAT, Pulse, Timers
from pytest_sopbench._running.tools.domain_code import load_manager_factory
from pytest_sopbench._running.tools.toolbox import Toolbox, ToolboxFactory
from pytest_sopbench.errors import Unavailable

BOUNDS = ("timeout", "retries", "backoff")

GET_SCORE = ToolSpec(
    name="get_score",
    description="Return the score of a parcel.",
    parameters={
        "type": "object",
        "properties": {
            "parcel_id": {
                "type": "string",
                "description": "Id of the parcel",
                "pattern": "^PX[0-9]+$",
            },
            "label": {"type": "string"},
            "depth": {"type": "integer", "minimum": 1},
        },
        "required": ["parcel_id"],
        "additionalProperties": False,
    },
)
SEND = ToolSpec(
    name="send_letter",
    description="Send a letter.",
    parameters={"type": "object", "properties": {"to": {"type": "string"}}},
)
HIDDEN_ANSWER = "ANSWER-quarantine-7731"
HIDDEN_RESULT = "RESULT-93-inches"
OTHER_ROW = "OTHER-ROW-5512"


@dataclass
class Bench:
    """Makes domains and toolboxes; what a test does not say is the small parcel domain."""

    folder: Path

    def task(self, **changes: Any) -> Task:
        task = Task(
            domain="parcels",
            id="PX1",
            line=2,
            inputs={"parcel_id": "PX1", "label": "Fragile  glass", "weight": 12.5, "rush": True},
            expected={"shelf": HIDDEN_ANSWER},
            results={"score": 4, "dimension": HIDDEN_RESULT, "note": None, "parts": ["a", "b"]},
            hash="h1",
        )
        return replace(task, **changes)

    def domain(self, **changes: Any) -> Domain:
        other = self.task(id="PX2", inputs={"parcel_id": OTHER_ROW}, line=3)
        domain = Domain(
            name="parcels",
            folder=self.folder,
            data_file=self.folder / "data.csv",
            sop="Put the parcel on its shelf.",
            tool_specs=(GET_SCORE, SEND),
            fields=(OutputField(name="shelf", type=FieldType.ENUM, values=("A", "B")),),
            tasks=(self.task(), other),
            task_ids=("PX1", "PX2"),
            input_columns=("parcel_id", "label", "weight", "rush"),
            lookups={
                "get_score": LookupTool(name="get_score", key=("parcel_id",), returns=("score",)),
                "send_letter": LookupTool(name="send_letter", result={"status": "sent"}),
            },
        )
        return replace(domain, **changes)

    def lookup(self, **changes: Any) -> Domain:
        """A domain whose `get_score` is this look-up tool."""
        tool = LookupTool(**{"name": "get_score", **changes})
        return self.domain(lookups={**self.domain().lookups, "get_score": tool})

    def coded(self, source: str, **changes: Any) -> Domain:
        """A domain whose tools are served by a `tools.py` with this source."""
        path = self.folder / "tools.py"
        path.write_text(source)
        return self.domain(**{"lookups": {}, "tools_file": path, **changes})

    def toolbox(
        self, domain: Domain | None = None, *, max_calls: int = 100, task: Task | None = None
    ) -> Toolbox:
        domain = domain or self.domain()
        manager = load_manager_factory(domain) if domain.tools_file else None
        factory = ToolboxFactory(domain, manager)
        return factory.open(task or self.task(), max_calls=max_calls, clock=ticking())


class HandTimers(Timers):
    """Do what is due when the test calls `ring`, and on no thread of their own."""

    def start(self) -> None:
        self._beats_at = min(self._beats_at, self._clock() + BEAT)


class Flights:
    """Makes engines, which are stopped at the end of the test, and jobs for the small task."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._engines: list[Engine[str]] = []

    def engine(self, limit: int | Limit = 4, **options: Any) -> Engine[str]:
        if "clock" in options:
            # Where a test moves the clock, it must not seem that the process stood still.
            options.setdefault("pulse", Pulse(clock=lambda: 0.0))
        listener = options.pop("listener", None)
        if listener is not None:
            options |= {"started": listener.started, "ended": listener.ended}
        bounds = {name: options.pop(name) for name in list(options) if name in BOUNDS}
        most = Limit.fixed(limit) if isinstance(limit, int) else limit
        engine: Engine[str] = Engine(most, Limits(**bounds), **options)
        if "clock" in options:
            engine._timers = HandTimers(options["clock"], engine._beat)
        self._engines.append(engine)
        return engine

    def job(self, key: str, agent: object, *, max_calls: int = 100, **changes: Any) -> Job[str]:
        job = Job(
            key=key,
            caller=AgentCaller(agent),
            domain=self.bench.domain(),
            task=self.bench.task(),
            open_toolbox=lambda: self.bench.toolbox(max_calls=max_calls),
            unavailable=lambda error: issubclass(type(error), Unavailable),
        )
        return replace(job, **changes)

    def run(self, agent: object, *, max_calls: int = 100, **options: Any) -> Trace:
        """Make one run in an engine of its own."""
        engine = self.engine(**options)
        engine.submit(self.job("one", agent, max_calls=max_calls))
        return ended(engine, "one")

    def stop(self) -> None:
        for engine in self._engines:
            engine.stop()


def ended(engine: Engine[str], key: str) -> Trace:
    """Wait for a run that is sure to leave a trace."""
    trace = engine.wait(key)
    assert trace is not None
    return trace


def ticking() -> Callable[[], float]:
    """A clock that goes on by one second whenever it is asked."""
    return map(float, itertools.count()).__next__


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def flights(bench: Bench) -> Iterator[Flights]:
    flights = Flights(bench)
    yield flights
    flights.stop()


@pytest.fixture
def clock() -> Callable[[], float]:
    return ticking()


@pytest.fixture
def secrets() -> Mapping[str, str]:
    return {"answer": HIDDEN_ANSWER, "result": HIDDEN_RESULT, "other row": OTHER_ROW}
