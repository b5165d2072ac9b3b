"""Agents in other processes, as badly as they may behave; nothing here depends on time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shlex import quote
from threading import Event, Thread
from typing import Any

import pytest

from pytest_sopbench import Trace
from pytest_sopbench._core.judging.availability import is_unavailable
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import resolve_agent
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.wire import child as child_module

Run = Callable[..., Trace]


@pytest.fixture
def run(bench: Any, clock: Any) -> Run:
    def make(spec: str, *, max_calls: int = 100) -> Trace:
        domain = bench.domain()
        toolbox = bench.toolbox(domain, max_calls=max_calls)
        return run_task(
            AgentCaller(resolve_agent(spec, path=bench.folder)),
            domain,
            bench.task(),
            toolbox,
            clock=clock,
            unavailable=is_unavailable,
        )

    return make


@pytest.fixture
def child(tmp_path: Path) -> Callable[[str], str]:
    """Return what writes the program of a child, and the command that starts it."""

    def write(program: str) -> str:
        file = tmp_path / "child.py"
        file.write_text("import itertools, json, subprocess, sys, urllib.request\n" + program)
        return f"{quote(sys.executable)} {quote(str(file))}"

    return write


IN_LINES = """
def say(**message): print(json.dumps(message), flush=True)
say(type="ready", protocol=1)
run = json.loads(sys.stdin.readline())["run"]["id"]
"""

OVER_HTTP = """
request = json.load(sys.stdin)
def call(name, arguments):
    asked = urllib.request.Request(request["tools"]["http"]["url"] + "/" + name,
                                   json.dumps(arguments).encode())
    return json.load(urllib.request.urlopen(asked))
"""


def test_calls_that_a_child_waits_for_no_more_are_all_seen_in_their_order(
    run: Run, child: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forbidden call that goes unseen would be a procedure that holds."""
    command = child(
        IN_LINES + "for number in range(40):\n"
        "    say(type='call', run=run, call=number, tool='get_score',"
        " arguments={'parcel_id': 'PX1', 'depth': number})\n"
        "say(type='answer', run=run, output={'shelf': 'A'})\n"
        "sys.stdin.read()\n"
    )

    # No tool has an answer before the run is over, which a busy machine may well come to.
    is_over = Event()
    monkeypatch.setattr(child_module, "finish", lambda *_: (is_over.wait(), None))

    trace = run(f"lines:{command}")
    is_over.set()

    assert Ending.RETURNED is trace.ending
    assert [*range(40)] == [call.arguments["depth"] for call in trace.calls]  # type: ignore[index,call-overload]


@pytest.mark.parametrize("kind", ["exec", "lines"])
def test_a_child_that_calls_on_past_its_limit_is_ended(run: Run, child: Any, kind: str) -> None:
    """It would go on for ever, with a model that is paid for."""
    program = {
        "exec": OVER_HTTP + "while True: call('get_score', {'parcel_id': 'PX1'})\n",
        "lines": IN_LINES + "for number in itertools.count():\n"
        "    say(type='call', run=run, call=number, tool='get_score',"
        " arguments={'parcel_id': 'PX1'})\n"
        "    sys.stdin.readline()\n",
    }

    trace = run(f"{kind}:{child(program[kind])}", max_calls=3)

    assert Ending.OVER_LIMIT is trace.ending
    assert 4 == len(trace.calls)


def test_a_grandchild_that_holds_the_output_open_holds_up_no_run(run: Run, child: Any) -> None:
    command = child(
        "sys.stdin.read()\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(json.dumps({'output': {'shelf': 'A'}}))\n"
    )

    trace = run(f"exec:{command}")

    assert Ending.RETURNED is trace.ending
    assert trace.returned is not None
    assert {"shelf": "A"} == trace.returned.mapping


@pytest.mark.parametrize(
    ("place", "told"),
    [
        pytest.param("inputs.Label2", "inputs.Label2", id="no-such-input"),
        pytest.param("input.label", "input.label", id="misspelled"),
        pytest.param("tool.mcp", "tool.mcp", id="no-such-tool-address"),
        pytest.param("inputs.weight-kg", "inputs.weight-kg", id="dash"),
    ],
)
def test_a_template_never_sends_its_own_braces(
    run: Run, tmp_path: Path, bench: Any, place: str, told: str
) -> None:
    file = bench.folder / "desk.toml"
    file.write_text(f'url = "http://127.0.0.1:9/"\nbody = {{ask = "{{{{ {place} }}}}"}}\n')

    trace = run(f"http:{file.name}")

    assert Ending.RAISED is trace.ending
    assert trace.problem is not None
    assert told in trace.problem.message


def test_a_secret_that_is_no_header_is_not_told(
    run: Run, bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables are often set from a file, with its line end."""
    monkeypatch.setenv("DESK_KEY", "Bearer swordfish\n8841")
    with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as port:
        (bench.folder / "desk.toml").write_text(
            f'url = "http://127.0.0.1:{port}/"\nauth = "env:DESK_KEY"\n'
        )

        trace = run("http:desk.toml")

    assert trace.problem is not None
    assert "swordfish" not in f"{trace.problem}{trace.notes}{trace.output}"
    assert "Authorization" in trace.problem.message


@contextmanager
def serving(reply: bytes) -> Iterator[int]:
    """Answer whatever comes with the same bytes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.wfile.write(reply)
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
