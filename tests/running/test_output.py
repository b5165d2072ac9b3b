"""What runs write: to their own buffers, with the streams left where they are."""

from __future__ import annotations

import asyncio
import contextvars
import io
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._running.observing import (
    MARGIN,
    Output,
    RunLogHandler,
    captured,
    is_shown,
    route_streams,
)

# ruff: noqa: T201 - what is printed is what is tested


def test_output_is_kept_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()

    with captured(output):
        print("kept")
        print("too", file=sys.stderr)
    print("shown")

    assert "kept\ntoo\n" == output.text
    assert ("shown\n", "") == capsys.readouterr()


def test_output_may_be_shown_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()

    with captured(output, "tee"):
        print("both")

    assert "both\n" == output.text
    assert "both\n" == capsys.readouterr().out


def test_the_inner_capture_ends_where_the_outer_goes_on() -> None:
    outer, inner = Output(), Output()

    with captured(outer):
        print("a")
        with captured(inner):
            print("b")
        print("c")

    assert ("a\nc\n", "b\n") == (outer.text, inner.text)


def test_threads_and_tasks_write_to_the_run_whose_context_they_carry(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = [Output() for _ in range(8)]

    async def run(number: int) -> None:
        with captured(outputs[number]):
            for _ in range(20):
                print(number)
                await asyncio.sleep(0)
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(print, "thread", number))
            thread.start()
            thread.join()

    async def every() -> None:
        await asyncio.gather(*(run(number) for number in range(8)))

    asyncio.run(every())
    foreign = threading.Thread(target=print, args=("foreign",))
    foreign.start()
    foreign.join()

    assert [f"{n}\n" * 20 + f"thread {n}\n" for n in range(8)] == [o.text for o in outputs]
    assert "foreign\n" == capsys.readouterr().out


def test_a_stream_is_routed_once() -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    route_streams(stream, None)
    routed = stream.write

    route_streams(stream)

    assert routed is stream.write


def test_a_stream_that_cannot_be_routed_is_left_alone() -> None:
    class Fixed:
        __slots__ = ("text",)

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

    stream: Any = Fixed()

    route_streams(stream)
    stream.write("as ever")

    assert "as ever" == stream.text


def test_endless_output_is_cut() -> None:
    output = Output(limit=10)

    for _ in range(MARGIN):
        output.write("1234")

    assert "1234123412\n[more output was left out]\n" == output.text


def test_a_secret_is_masked_also_where_the_output_is_cut() -> None:
    with masking(lambda text: text.replace("sk-12345", "***")):
        output = Output(limit=10)

    output.write(f"12345678sk-12345{'.' * MARGIN}")

    assert "12345\n[more output was left out]\n" == output.text


def test_what_is_not_text_is_refused_as_a_stream_does() -> None:
    wrong: Any = b"bytes"

    with captured(Output()), pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(wrong)


def test_a_broken_character_is_escaped() -> None:
    output = Output()

    output.write("\ud83d")

    assert "\\ud83d" == output.text


@pytest.mark.parametrize("stream", [None, 5])
def test_what_is_no_stream_stands_in_nobodys_way(
    monkeypatch: pytest.MonkeyPatch, stream: Any
) -> None:
    output = Output()
    monkeypatch.setattr(sys, "stdout", stream)

    with captured(output):
        print("kept", file=sys.stderr)

    assert "kept\n" == output.text


# What many runs write at once: to each its own, and nothing under another's.

# ruff: noqa: T201 - what runs write is what is tested


LOGGER = logging.getLogger("some_agent")
RUNS = 64
LINES = 50


@pytest.fixture
def foreign() -> Iterator[list[logging.LogRecord]]:
    """The records that an item's own handler is shown, while those of runs are filed."""
    shown: list[logging.LogRecord] = []

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            shown.append(record)

    item, runs = Shown(), RunLogHandler()
    item.addFilter(is_shown)
    root, level = logging.getLogger(), LOGGER.level
    LOGGER.setLevel(logging.INFO)
    root.addHandler(item)
    root.addHandler(runs)
    yield shown
    root.removeHandler(item)
    root.removeHandler(runs)
    LOGGER.setLevel(level)


def say(name: str) -> None:
    print(f"out of {name}")
    print(f"err of {name}", file=sys.stderr)
    LOGGER.info("log of %s", name)


def sync_agent(name: str, together: threading.Barrier) -> Callable[[], None]:
    def agent() -> None:
        together.wait(60)
        for _ in range(LINES):
            say(name)
        thread = threading.Thread(target=contextvars.copy_context().run, args=(say, name))
        thread.start()
        thread.join()

    return agent


def async_agent(name: str) -> Callable[[], Awaitable[None]]:
    async def agent() -> None:
        for _ in range(LINES):
            say(name)
            await asyncio.sleep(0)
        await asyncio.to_thread(say, name)

    return agent


def test_64_runs_at_once_each_keep_their_own_lines(
    flights: Any, foreign: list[logging.LogRecord], capsys: pytest.CaptureFixture[str]
) -> None:
    together = threading.Barrier(RUNS // 2)
    engine = flights.engine(RUNS, timeout=60.0)
    keys = [f"<{number}>" for number in range(RUNS)]

    for key in keys[: RUNS // 2]:
        engine.submit(flights.job(key, sync_agent(key, together)))
    for key in keys[RUNS // 2 :]:
        engine.submit(flights.job(key, async_agent(key)))
    LOGGER.info("of the item")
    print("of the item")
    outputs = {key: engine.wait(key).output for key in keys}

    for key, output in outputs.items():
        lines = output.splitlines()
        assert 3 * (LINES + 1) == len(lines)
        assert {key} == {line.rpartition(" ")[2] for line in lines}
        assert LINES + 1 == sum(line.startswith("INFO     some_agent:") for line in lines)
    assert ["of the item"] == [record.getMessage() for record in foreign]
    assert ("of the item\n", "") == capsys.readouterr()


def test_a_record_that_cannot_be_written_breaks_no_run() -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError

    handler, output = RunLogHandler(), Output()

    with captured(output):
        for value in (Unspeakable(), "fine"):
            handler.handle(LOGGER.makeRecord("a", 20, "f.py", 7, "value %s", (value,), None))

    assert "Logging error" in output.text
    assert output.text.endswith("\nINFO     a:f.py:7 value fine\n")


def test_records_of_a_run_that_is_shown_are_shown(foreign: list[logging.LogRecord]) -> None:
    output = Output()

    with captured(output, "tee"):
        LOGGER.info("seen twice")

    assert "seen twice\n" == output.text.partition(" ")[2].rpartition(":")[2].partition(" ")[2]
    assert ["seen twice"] == [record.getMessage() for record in foreign]


# How a process with an engine ends: at once, whatever its agents do.
#
# Each case is a script in a process of its own, since it is the process that is tested.

PRELUDE = """
import asyncio, sys, threading, time
from pathlib import Path
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running import limits as time_used
from pytest_sopbench._running.engine import Engine
from pytest_sopbench._running.limits import Limit, Limits
from pytest_sopbench._running.limits import Job
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
engine = Engine(Limit.fixed(8), Limits(timeout=0.2))
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
engine = Engine(Limit.fixed(257), Limits(timeout=500))
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
