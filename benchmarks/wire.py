"""What a tool call costs an agent in another process, by HTTP and by MCP, beside one in process.

    python benchmarks/wire.py [CALLS]
    python benchmarks/wire.py domain

With `domain` the reference policy makes all runs of a domain as a service that calls its tools by
HTTP and by both eras of MCP, 32 at a time and in eight processes, and is held against itself in
process. Else one connection has one call
in flight. The server is in this process, as in a session, and the client in one of its own, as an
agent is: in one process they would wait for the same interpreter. Told is the median. What is to
hold: at most 2 ms by HTTP, and 3 ms by MCP, on a machine that does nothing else.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from mcp import Client

import pytest_sopbench
from pytest_sopbench import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.toolbox import ToolboxFactory, Tools
from pytest_sopbench._running.wire.server import Address, ToolServer

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods"
AGENTS = Path(__file__).parents[1] / "tests" / "wire_agents"
SERVICES = {
    "HTTP": [sys.executable, AGENTS / "service.py"],
    "MCP": [sys.executable, AGENTS / "mcp_service.py", "auto"],
    "MCP, before 2026": [sys.executable, AGENTS / "mcp_service.py", "legacy"],
}
TOGETHER = ("--sop-concurrency=32", "-n8")
TOOL = "calculate_sds_label_score"
LIMITS = {"HTTP": 2.0, "MCP": 3.0, "MCP, before 2026": 3.0}
WAYS = {"HTTP": "http", "MCP": "auto", "MCP, before 2026": "legacy"}


def main(calls: int) -> None:
    """Print the cost of a call by each way, and how many times that of one in process it is."""
    domain = load_domain(FOLDER)
    task = domain.tasks[0]
    arguments = {name: task.inputs[name] for name in ("product_id", "sds_label_text")}
    server = ToolServer(Address())

    def opened() -> Tools:
        return toolbox(domain, task, calls).tools

    tools = opened()
    inside = measured(lambda: tools.call(TOOL, **arguments), calls)
    spent: dict[str, float] = {}
    for name, way in WAYS.items():
        door = server.open(opened())
        url = door.call if way == "http" else door.mcp
        command = [sys.executable, __file__, "client", way, url, json.dumps(arguments), str(calls)]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        spent[name] = float(told.stdout)
    print(f"in process        {inside * 1000:8.3f} ms")
    for name, seconds in spent.items():
        limit = LIMITS[name]
        print(
            f"{name:17} {seconds * 1000:8.3f} ms   {seconds / inside:6.0f} times   "
            f"{'within' if seconds * 1000 <= limit else 'MORE THAN'} {limit:g} ms"
        )


def toolbox(domain: Domain, task: Task, calls: int):  # noqa: ANN201 - of the room beside
    """Open the tools of one run, which may make more calls than are measured."""
    factory = ToolboxFactory(domain)
    box = factory.open(task, max_calls=2 * calls + 100, clock=time.perf_counter)
    KEPT.append(box)
    return box


KEPT: list[object] = []
"""Toolboxes: their tools lead to them by weak references."""


def client(way: str, url: str, arguments: dict[str, object], calls: int) -> None:
    """Print the seconds of a call, in a process of its own."""
    if way == "http":
        print(by_http(url, arguments, calls))
    else:
        print(asyncio.run(by_mcp(url, way, arguments, calls)))


def by_http(url: str, arguments: dict[str, object], calls: int) -> float:
    """Return the seconds of a call over one connection."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port)
    body = json.dumps(arguments)

    def call() -> None:
        connection.request("POST", f"{parts.path}/{TOOL}", body)
        told = json.loads(connection.getresponse().read())
        if "result" not in told:
            raise SystemExit(told)

    return measured(call, calls)


async def by_mcp(url: str, mode: str, arguments: dict[str, object], calls: int) -> float:
    """Return the seconds of a call by the official client."""
    spent: list[float] = []
    async with Client(url, mode=mode) as client:
        for _ in range(calls):
            began = time.perf_counter()
            result = await client.call_tool(TOOL, arguments)
            spent.append(time.perf_counter() - began)
            if result.is_error:
                raise SystemExit(result.content)
    return middle(spent)


def measured(call: Callable[[], object], calls: int) -> float:
    """Return the median of so many calls."""
    spent: list[float] = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return middle(spent)


def middle(spent: Sequence[float]) -> float:
    """Return the median, without the first calls, which open connections."""
    return median(spent[len(spent) // 10 :])


def whole_domain() -> None:
    """Print how many runs of a domain are the same elsewhere as in process."""
    with TemporaryDirectory() as folder:
        inside = procedures(Path(folder), "reference-policy", TOGETHER[0])
        for (name, command), words in product(SERVICES.items(), TOGETHER):
            began = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
                port = next(iter(service.stdout or ())).strip()
                try:
                    elsewhere = procedures(Path(folder), f"http://127.0.0.1:{port}/run", words)
                finally:
                    service.kill()
            same = sum(run == elsewhere.get(task) for task, run in inside.items())
            seconds = time.perf_counter() - began
            print(
                f"{name:17} {words:20} {same} of {len(inside)} runs are the same   {seconds:.0f} s"
            )


def procedures(folder: Path, agent: str, words: str) -> dict[str, object]:
    """Return what an agent does on each task, and what is made of it."""
    saved = folder / "session.jsonl"
    saved.unlink(missing_ok=True)
    options = (words, "--sop-save=./session.jsonl", "--tb=no", "-q")
    command = (sys.executable, "-m", "pytest", "--sop-domain=dangerous_goods", f"--agent={agent}")
    subprocess.run([*command, *options], cwd=folder, check=False, stdout=subprocess.DEVNULL)
    runs = [one for line in saved.open("rb") if (one := json.loads(line)).get("type") == "run"]
    kept = ("outcome", "trajectory", "rules")
    return {
        one["task"]: [
            *(one.get(name) for name in kept),
            *([call["name"], call["arguments"], call.get("result")] for call in one["calls"]),
        ]
        for one in runs
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["domain"]:
        whole_domain()
    elif sys.argv[1:2] == ["client"]:
        client(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]), int(sys.argv[5]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
