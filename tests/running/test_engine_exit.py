"""How a process with an engine ends: at once, whatever its agents do.

Each case is a script in a process of its own, since it is the process that is tested.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PRELUDE = """
import asyncio, sys, threading, time
from pathlib import Path
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.engine import limits as time_used
from pytest_sopbench._running.engine.engine import Engine
from pytest_sopbench._running.queue import Limits
from pytest_sopbench._running.queue import Job
from pytest_sopbench._running.tools.toolbox import ToolboxFactory

# No loop that is left here comes back; to wait longer for it is to let the others spin.
time_used.PATIENCE = 0.5

task = Task(domain="d", id="T1", line=2, inputs={}, expected={}, results={}, hash="")
domain = Domain(name="d", folder=Path(), data_file=Path("data.csv"), sop="", tool_specs=(),
                fields=(), tasks=(task,), task_ids=("T1",), input_columns=())
factory = ToolboxFactory(domain)

def job(key, agent):
    return Job(key=key, caller=AgentCaller(agent), domain=domain, task=task,
               open_toolbox=lambda: factory.open(task, max_calls=9, clock=time.perf_counter))

def hang():
    time.sleep(600)

async def hang_async():
    await asyncio.sleep(600)

async def block():
    time.sleep(600)

async def hang_in_thread():
    await asyncio.to_thread(time.sleep, 600)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass

def chatty():
    while True:
        print("x" * 1000)
"""
PATIENCE = 60.0
"""Seconds for a loaded machine; the agents hang for ten times as long."""


def script(tmp_path: Path, body: str) -> list[str]:
    path = tmp_path / "script.py"
    path.write_text(PRELUDE + body)
    return [sys.executable, "-X", "dev", str(path)]


EVERY = "hang, hang_async, block, hang_in_thread, stubborn, chatty"


@pytest.mark.parametrize(
    ("agents", "stop"),
    [
        pytest.param("hang", "", id="sync"),
        pytest.param("block", "", id="blocked-loop"),
        pytest.param("hang_in_thread", "engine.stop()", id="thread-of-the-loop"),
        pytest.param(EVERY, "", id="all"),
        pytest.param(EVERY, "engine.stop()", id="all-and-stopped"),
    ],
)
def test_the_interpreter_ends_though_agents_hang(tmp_path: Path, agents: str, stop: str) -> None:
    body = f"""
engine = Engine(8, Limits(timeout=0.2))
agents = [{agents}]
for number, agent in enumerate(agents):
    engine.submit(job(number, agent))
endings = [engine.wait(number).ending.value for number in range(len(agents))]
{stop}
print(*sorted(set(endings)))
"""

    done = subprocess.run(
        script(tmp_path, body), capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert (0, "timed_out\n") == (done.returncode, done.stdout), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a process there")
@pytest.mark.parametrize("agent", ["hang", "hang_async"])
def test_ctrl_c_gets_through_while_256_runs_are_in_flight(tmp_path: Path, agent: str) -> None:
    body = f"""
engine = Engine(257, Limits(timeout=500))
engine.submit(job("ended", lambda: "kept"))
engine.wait("ended")
for number in range(256):
    engine.submit(job(number, {agent}))
while len(engine.standing().running) < 256:
    time.sleep(0.01)
print("ready", flush=True)
try:
    engine.wait(0)
except KeyboardInterrupt:
    engine.stop()
    print("interrupted", engine.wait("ended").returned.text)
"""
    command = script(tmp_path, body)

    ended = interrupted(command)
    if ended == (-signal.SIGSEGV, "interrupted kept\n") and sys.version_info < (3, 14):
        # CPython can crash by itself while it ends beside daemon threads (gh-87135).
        ended = interrupted(command)

    assert (0, "interrupted kept\n") == ended


def interrupted(command: list[str]) -> tuple[int, str]:
    """Return the status and the last words of a script that is interrupted once it is ready."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
        # It is to be interrupted in the wait, not on the way to it.
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, said
