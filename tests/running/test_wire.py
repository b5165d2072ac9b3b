"""Agents in other processes, as badly as they may behave; nothing here depends on time."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import le
from pathlib import Path
from shlex import quote
from socket import create_connection
from threading import Barrier, Event, Thread, active_count
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_sopbench import Trace
from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running import descendants
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.toolbox import Toolbox
from pytest_sopbench._running.wire import child as child_module
from pytest_sopbench._running.wire import service as service_module
from pytest_sopbench._running.wire.server import Address, ToolServer
from pytest_sopbench._running.wire.service import shared_server
from pytest_sopbench.errors import AgentSpecError
from tests.builders.running import resolve_agent

Run = Callable[..., Trace]


@pytest.fixture
def run(bench: Any, clock: Any) -> Run:
    def make(agent: str | AgentCaller, *, max_calls: int = 100) -> Trace:
        if isinstance(agent, str):
            agent = AgentCaller(resolve_agent(agent, path=bench.folder))
        domain = bench.domain()
        toolbox = bench.toolbox(domain, max_calls=max_calls)
        return run_task(
            agent,
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

IN_LINES_FOR_EVER = """
print('{"type": "ready", "protocol": 1}', flush=True)
for line in sys.stdin:
    message = json.loads(line)
    told = {"run": message["run"]["id"] if message["type"] == "run" else message["run"]}
    if message["type"] == "run":
        told |= {"type": "call", "call": 1, "tool": "get_score", "arguments": {"parcel_id": "PX1"}}
    else:
        told |= {"type": "answer", "output": {}}
    print(json.dumps(told), flush=True)
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


def test_what_a_child_writes_must_be_utf_8(run: Run, child: Any) -> None:
    command = child("""sys.stdin.read()
sys.stdout.buffer.write(b'{"output": {"shelf": "A"}, "notes": "\\xe9"}')
""")

    trace = run(f"exec:{command}")

    assert Ending.RAISED is trace.ending
    assert trace.problem is not None
    assert "the child's output is not UTF-8 at byte 38" in trace.problem.message


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


OUTPUT = b'{"output": {"shelf": "A"}}'


def reply(body: bytes, kind: str = "application/json", *, length: int | None = None) -> bytes:
    told = len(body) if length is None else length
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        kind.encode(),
        told,
        body,
    )


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        pytest.param(reply(OUTPUT, length=500), "answered with no HTTP", id="length-too-long"),
        pytest.param(reply(OUTPUT, length=10), "broken JSON", id="length-too-short"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            "conflicting Content-Length",
            id="two-lengths",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshelf",
            "answered with no HTTP",
            id="half-a-chunk",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nX-Endless: " + b"x" * 1_000_000,
            "answered with no HTTP",
            id="endless-header",
        ),
        pytest.param(b"\x16\x03\x01" * 100, "answered with no HTTP", id="no-http"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", "204 with nothing", id="204"),
        pytest.param(reply(OUTPUT).replace(b"200 OK", b"206 Partial Content"), "a part", id="206"),
        pytest.param(reply(OUTPUT[:-1] + b', "notes": "\xff"}'), "not UTF-8", id="not-utf-8"),
        pytest.param(reply(b"[" * 100_000), "broken JSON", id="deep"),
        pytest.param(
            reply(b"<html><shelf>A</shelf></html>", "application/xhtml+xml"), "HTML", id="xhtml"
        ),
        pytest.param(
            reply(b"\n<!DOCTYPE html><shelf>A</shelf>", "text/plain"), "HTML", id="html-as-text"
        ),
    ],
)
def test_what_is_no_whole_answer_is_never_judged(run: Run, sent: bytes, said: str) -> None:
    with serving(sent) as port:
        trace = run(f"http://127.0.0.1:{port}/")

    assert Ending.UNAVAILABLE is trace.ending
    assert trace.problem is not None
    assert said in trace.problem.message


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(reply(b"\xef\xbb\xbf" + OUTPUT), id="byte-order-mark"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + reply(OUTPUT), id="continues"),
        pytest.param(
            reply(
                OUTPUT[:-1] + b', "usage": {"input_tokens": 1%b, "cost_usd": 1e308}}' % (b"0" * 400)
            ),
            id="usage-without-end",
        ),
    ],
)
def test_an_answer_is_heard_whatever_stands_beside_it(run: Run, sent: bytes) -> None:
    with serving(sent) as port:
        trace = run(f"http://127.0.0.1:{port}/")

    assert trace.returned is not None
    assert {"shelf": "A"} == trace.returned.mapping
    assert trace.usage.input_tokens is trace.usage.cost_usd is None


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing counts what is open")
def test_a_request_that_breaks_off_is_no_call(bench: Any, eventually: Any) -> None:
    """Its sender may have sent half of the arguments, or none."""
    server = shared_server(Address())
    box = bench.toolbox()
    door = server.open(box.tools)
    place = urlsplit(door.call)
    before = held()

    for sent in (b"", b"{}"):
        with create_connection((place.hostname, place.port)) as connection:
            head = f"POST {place.path}/get_score HTTP/1.1\r\nHost: {place.netloc}\r\n"
            connection.sendall(f"{head}Content-Length: 50\r\n\r\n".encode() + sent)
    eventually(lambda: all(map(le, held(), before)))

    assert [] == [*box.log.calls]


def test_a_child_that_dies_is_a_crash_even_if_what_it_has_started_holds_its_output(
    run: Run, child: Any
) -> None:
    command = child(
        IN_LINES + "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " start_new_session=True)\n"
        "sys.exit(5)\n"
    )

    trace = run(f"lines:{command}")

    assert trace.problem is not None
    assert "status 5" in trace.problem.message


def test_a_child_that_dies_before_its_first_run_is_handed_over_is_a_crash(
    run: Run, child: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_first = child_module.LinesChild.take_first

    def late(one: child_module.LinesChild, first: child_module.LinesRun) -> None:
        eventually(lambda: one._end is not None)
        take_first(one, first)

    monkeypatch.setattr(child_module.LinesChild, "take_first", late)

    trace = run(f"lines:{child(IN_LINES.rpartition('run =')[0])}")

    assert trace.problem is not None
    assert "ended in the middle of a run, with status 0" in trace.problem.message


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("{'type': 'report', 'usage': {'input_tokens': 10**400}}", id="usage"),
        pytest.param("{'type': 'report', 'usage': 'x', 'model': [1], 'notes': {}}", id="report"),
        pytest.param(
            "{'type': 'call', 'call': [1], 'tool': '\\ud800', 'arguments': 'x'}", id="call"
        ),
        pytest.param("{'type': 'approve', 'step': {}, 'moment': 5, 'title': None}", id="approve"),
        pytest.param("{'type': 'answer', 'run': 'another', 'output': {}}", id="another-run"),
    ],
)
def test_whatever_a_child_says_its_answer_is_heard(run: Run, child: Any, said: str) -> None:
    command = child(
        IN_LINES + f"say(**{{'run': run}} | {said})\n"
        "print(flush=True)\n"
        "say(type='answer', run=run, output={'shelf': 'A'})\n"
        "say(type='answer', run=run, output={'shelf': 'B'})\n"
        "sys.stdin.read()\n"
    )

    trace = run(f"lines:{command}")

    assert trace.returned is not None
    assert {"shelf": "A"} == trace.returned.mapping


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="nothing waits here without reaping")
@pytest.mark.parametrize("kind", ["exec", "lines"])
def test_a_group_is_ended_while_its_number_is_still_its_own(
    run: Run, child: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Once the child has been waited for, its number may be that of a stranger's group."""
    ended: list[bool] = []
    end = os.killpg

    def killpg(group: int, number: int) -> None:
        # It raises if there is no such child any more.
        os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT)
        ended.append(True)
        end(group, number)

    monkeypatch.setattr(descendants.os, "killpg", killpg)
    program = {"exec": "print('{}')\n", "lines": IN_LINES}

    run(f"{kind}:{child(program[kind])}")

    assert [True] == ended


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="nothing waits here without reaping")
def test_the_group_of_a_child_that_has_been_waited_for_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(descendants.os, "killpg", lambda group, _: ended.append(group))
    environment = descendants.marked(os.environ)
    command = [sys.executable, "-c", ""]
    reaped = subprocess.Popen(command, env=environment, start_new_session=True)
    reaped.wait()
    by_another = subprocess.Popen(command, env=environment, start_new_session=True)
    os.waitpid(by_another.pid, 0)

    for process in (reaped, by_another):
        descendants.end_with_descendants(process, environment)

    assert [] == ended


RUNS = 64


def test_no_call_of_64_runs_at_once_reaches_another_run(bench: Any) -> None:
    server = shared_server(Address())
    boxes = [bench.toolbox() for _ in range(RUNS)]
    doors = [server.open(box.tools) for box in boxes]
    together = Barrier(RUNS)

    def make(number: int) -> None:
        with closing(HTTPConnection(urlsplit(doors[number].call).netloc)) as connection:
            together.wait(60)
            for _ in range(4):
                call_score(connection, doors[number].call, number + 1)

    with ThreadPoolExecutor(RUNS) as pool:
        list(pool.map(make, range(RUNS)))

    assert [[number] * 4 for number in range(1, RUNS + 1)] == [depths(box) for box in boxes]


def test_no_call_of_64_clients_of_mcp_reaches_another_run(bench: Any) -> None:
    """Half of them speak the protocol as it was before 2026."""
    mcp = pytest.importorskip("mcp")
    server = shared_server(Address())
    boxes = [bench.toolbox() for _ in range(RUNS)]
    doors = [server.open(box.tools) for box in boxes]

    async def make(number: int, together: asyncio.Barrier) -> None:
        mode = "legacy" if number % 2 else "auto"
        async with mcp.Client(doors[number].mcp, mode=mode) as client:
            await together.wait()
            for _ in range(2):
                arguments = {"parcel_id": "PX1", "depth": number + 1}
                await client.call_tool("get_score", arguments)

    async def make_all() -> None:
        together = asyncio.Barrier(RUNS)
        await asyncio.gather(*(make(number, together) for number in range(RUNS)))

    asyncio.run(make_all())

    assert [[number] * 2 for number in range(1, RUNS + 1)] == [depths(box) for box in boxes]


def call_score(connection: HTTPConnection, url: str, depth: int) -> None:
    body = json.dumps({"parcel_id": "PX1", "depth": depth})
    connection.request("POST", f"{urlsplit(url).path}/get_score", body)
    assert "result" in json.loads(connection.getresponse().read())


def depths(box: Toolbox) -> list[Any]:
    return [call.arguments["depth"] for call in box.log.calls]  # type: ignore[index,call-overload]


MANY = {"http": 100, "lines": 100, "exec": 5}
"""Runs of each kind: what each left would be seen after one, and what one in fifty did, here."""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing counts what is open")
@pytest.mark.parametrize("kind", MANY)
def test_many_runs_leave_no_child_socket_or_thread(
    run: Run, child: Any, kind: str, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    programs = {
        "lines": IN_LINES_FOR_EVER,
        "exec": OVER_HTTP + "call('get_score', {'parcel_id': 'PX1'})\nprint('{}')\n",
    }
    with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", calls_back=True) as port:
        spec = f"http://127.0.0.1:{port}/" if kind == "http" else f"{kind}:{child(programs[kind])}"
        agent = AgentCaller(resolve_agent(spec, path=Path.cwd()))
        # What all runs share is started by the first one.
        assert Ending.RETURNED is run(agent).ending
        before = held()

        traces = [run(agent) for _ in range(MANY[kind])]

        eventually(lambda: all(map(le, held(), before)))
    assert {(Ending.RETURNED, 1)} == {(one.ending, len(one.calls)) for one in traces}


def held() -> tuple[int, int, int]:
    """Return the open files, threads and children of this process."""
    told = Path("/proc/self/task").glob("*/children")
    children = sum(len(one.read_text().split()) for one in told)
    return len([*Path("/proc/self/fd").iterdir()]), active_count(), children


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Return what waits a minute for what is sure to come: the other side closes when it likes."""

    def wait(is_so: Callable[[], bool]) -> None:
        for _ in range(3000):
            if is_so():
                return
            Event().wait(0.02)
        assert is_so()

    return wait


@contextmanager
def serving(reply: bytes, *, calls_back: bool = False) -> Iterator[int]:
    """Answer whatever comes with the same bytes, and call a tool of the run before."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if calls_back:
                url = json.loads(request)["tools"]["http"]["url"]
                with closing(HTTPConnection(urlsplit(url).netloc)) as connection:
                    call_score(connection, url, 1)
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


@pytest.mark.parametrize("library", ["uvicorn", "h11"])
def test_a_library_of_the_extra_that_is_missing_is_named_with_the_command(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(service_module, "find_spec", lambda _: None)
    start = {"uvicorn": lambda: ToolServer(Address()), "h11": service_module._need_h11}[library]

    with pytest.raises(AgentSpecError) as raised:
        start()

    assert raised.value.message.endswith(f" {library}, which is not installed")
    assert "pip install h11 mcp uvicorn; the extra 'wire' brings these" == raised.value.hint
