"""The reference agents on every client over a whole domain, and beside as many plain threads.

    python benchmarks/reference_agents.py [--small]

A stub of the three providers on the loopback follows the domain's procedure. The first table has
each agent on each client with 32 runs in flight, beside the same agent on OpenAI's client; all
tasks have to be correct. In the second the stub takes its time, and a session with 64 runs in
flight stands beside the same agent and client in plain threads. Times are those of the stub, from
the first request to the last reply.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sessions import SOPBENCH, Session, run
from tables import Table, is_small

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "agents"))

from model_stub.server import Handler, Stub

AGENTS = ("function-calling", "react", "stepwise")
CLIENTS = ("openai/m", "openai-responses/m", "bedrock/vendor.m")
DOMAIN = "dangerous_goods"
TASKS, SMALL_TASKS = 327, 24
IN_FLIGHT, MANY = 32, 64
LATENCY_S = 0.5
LIMIT = 1.1

PLAIN = f"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest_sopbench
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import output_fields
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.agents import FunctionCalling

domain = load_domain(Path(pytest_sopbench.__file__).parent / "bundled" / "{DOMAIN}")
factory = ToolboxFactory(domain)
agent = FunctionCalling(model=sys.argv[1])
fields = output_fields(domain)


def work(task):
    tools = factory.open(task, max_calls=100, clock=time.monotonic).tools
    return agent.execute(domain.sop, task.inputs, tools, fields)


with ThreadPoolExecutor({MANY}) as pool:
    answers = list(pool.map(work, domain.tasks[: int(sys.argv[2])]))
assert None not in answers
"""


class SlowHandler(Handler):
    """Answers as late as a model would, and notes when."""

    server: Timed

    def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
        """Answer a request."""
        self.server.times.append(time.perf_counter())
        time.sleep(self.server.latency)
        super().do_POST()
        self.server.times.append(time.perf_counter())


class Timed(Stub):
    """A stub that keeps the time."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = SlowHandler
        self.latency = 0.0
        self.times: list[float] = []

    def restart(self, latency: float) -> None:
        """Forget what was, and answer so late from now on."""
        self.reset()
        self.latency, self.times = latency, []

    @property
    def took(self) -> float:
        """Seconds from the first request to the last reply."""
        return max(self.times) - min(self.times)


@contextmanager
def served() -> Iterator[Timed]:
    """Serve the stub where every client of this process and its children looks."""
    with Timed() as stub:
        os.environ |= {
            "OPENAI_BASE_URL": f"{stub.url}/v1",
            "OPENAI_API_KEY": "none",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": stub.url,
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }
        yield stub


def session(folder: Path, agent: str, tasks: int, in_flight: int) -> Session:
    """Run a session, which must be right on all tasks."""
    ran = run(
        folder,
        *SOPBENCH,
        f"--sop-domain={DOMAIN}",
        f"--sop-agent={agent}",
        f"--sop-sample=first:{tasks}",
        f"--sop-concurrency={in_flight}",
    )
    told = " ".join(ran.output.split())
    if "TSR 100.0%" not in told or f"{tasks} of {tasks}" not in told:
        sys.exit(f"{agent} is not right on every task:\n{ran.output[-3_000:]}")
    return ran


def main() -> int:
    """Print the times; the status is 1 where a task is lost or a session takes too long."""
    tasks = SMALL_TASKS if is_small(__doc__) else TASKS
    if missing := [one for one in ("openai", "boto3") if find_spec(one) is None]:
        print(f"it needs {' and '.join(missing)}: pip install {' '.join(missing)}", file=sys.stderr)
        return 1
    with served() as stub, TemporaryDirectory() as name:
        folder = Path(name)
        status = each_pair(stub, folder, tasks)
        return status | beside_threads(stub, folder, tasks)


def each_pair(stub: Timed, folder: Path, tasks: int) -> int:
    """Print what each agent takes on each client."""
    table = Table(f"{tasks} tasks, {IN_FLIGHT} in flight", "all correct in", "on openai")
    for agent in AGENTS:
        first: float | None = None
        for client in CLIENTS:
            stub.restart(0.0)
            session(folder, f"{agent}:{client}", tasks, IN_FLIGHT)
            first = first or stub.took
            requests = len(stub.requests)
            table.row(
                f"{agent}:{client}, {requests} requests",
                f"{stub.took:.2f} s",
                f"{first:.2f} s",
                value=stub.took / first,
            )
    return table.status


def beside_threads(stub: Timed, folder: Path, tasks: int) -> int:
    """Print what a session takes beside plain threads, in turn, the best of two."""
    table = Table(f"{tasks} tasks, {MANY} in flight", "a session", "plain threads")
    for client in CLIENTS:
        ours, plain = [], []
        for _ in range(2):
            stub.restart(LATENCY_S)
            command: list[Any] = [sys.executable, "-c", PLAIN, client, str(tasks)]
            subprocess.run(command, cwd=folder, check=True)
            plain.append(stub.took)
            stub.restart(LATENCY_S)
            session(folder, f"function-calling:{client}", tasks, MANY)
            ours.append(stub.took)
        ratio = min(ours) / min(plain)
        table.row(
            f"function-calling:{client}",
            f"{min(ours):.2f} s",
            f"{min(plain):.2f} s",
            value=ratio,
            most=LIMIT,
        )
    return table.status


if __name__ == "__main__":
    sys.exit(main())
