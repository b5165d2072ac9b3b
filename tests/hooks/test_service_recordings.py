"""Agents elsewhere whose model traffic is recorded, and replayed with the provider gone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("openai")

ReadSaved = Callable[..., Any]

AGENT = Path(__file__).parents[1] / "wire_agents" / "model_agent.py"
GRADES = ("pass", "retest", "fail")
RECORD, ONLY = "--sop-replay=record", "--sop-replay=only"
pytestmark = pytest.mark.usefixtures("lab")


class Provider(ThreadingHTTPServer):
    """Grades the sample that it is told of, by the API of OpenAI."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.server.asked += 1
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = re.search(r"T_(\d+)", said["messages"][0]["content"])
        assert found is not None
        message = {"role": "assistant", "content": GRADES[int(found[1]) % 3]}
        reply = {
            "id": "c", "object": "chat.completion", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42},
        }  # fmt: skip
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        yield server
        server.shutdown()


@pytest.fixture
def agent(provider: Provider) -> Iterator[Callable[[str, str], str]]:
    """Return how an agent of a kind is named; a service is started before."""
    started: list[subprocess.Popen[str]] = []

    def named(way: str, address: str) -> str:
        command = [sys.executable, str(AGENT), way, address]
        if way != "http":
            return f"--agent=mine={way}:{' '.join(command)}"
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return f"--agent=mine=http://127.0.0.1:{process.stdout.readline().strip()}/"

    yield named
    for process in started:
        process.kill()
        process.communicate()


def told(result: pytest.RunResult) -> str:
    return "\n".join([*result.outlines, *result.errlines])


@pytest.mark.parametrize("way", ["http", "exec", "lines"])
def test_what_an_agent_elsewhere_asks_its_model_is_recorded_and_replayed_without_it(
    pytester: pytest.Pytester, provider: Provider, agent: Any, saved: ReadSaved, way: str
) -> None:
    words = ("--sop-domain=lab", agent(way, "told"), "--sop-concurrency=2", "--sop-sample=first:2")
    live = pytester.runpytest(*words, RECORD)
    recorded = saved()
    provider.shutdown()
    provider.server_close()

    replayed = pytester.runpytest(*words, ONLY)

    assert 0 == live.ret, told(live)
    assert 0 == replayed.ret, told(replayed)
    assert "record 2 runs, 2 requests" in told(live)
    assert "replay 2 runs replayed" in told(replayed)
    assert 2 == provider.asked
    for one, two in zip(recorded.runs, saved().runs, strict=True):
        assert [call["name"] for call in one["calls"]] == [call["name"] for call in two["calls"]]
        assert 40 == one["usage"]["input_tokens"] == two["usage"]["input_tokens"]


def test_a_service_that_goes_past_the_address_it_is_told_replays_as_unavailable(
    pytester: pytest.Pytester, agent: Any, saved: ReadSaved
) -> None:
    words = ("--sop-domain=lab", agent("http", "own"), "--sop-sample=first:2")
    live = pytester.runpytest(*words, RECORD)

    replayed = pytester.runpytest(*words, ONLY)

    assert "no traffic was seen" in told(live)
    assert 0 != replayed.ret
    assert {"unavailable"} == {*saved().outcomes.values()}
    assert "none of its requests came by the model_urls" in told(replayed)


def test_what_a_child_of_many_runs_asks_without_their_addresses_belongs_to_none_of_them(
    pytester: pytest.Pytester, provider: Provider, agent: Any, saved: ReadSaved
) -> None:
    words = ("--sop-domain=lab", agent("lines", "own"), "--sop-sample=first:2")
    live = pytester.runpytest(*words, RECORD)
    asked = provider.asked

    replayed = pytester.runpytest(*words, ONLY)

    assert "2 requests were not recorded, of no run that is known" in told(live)
    assert "record 2 runs, 0 requests" in told(live)
    assert asked == provider.asked
    assert 0 != replayed.ret
    assert {"unavailable"} >= {*saved().outcomes.values()} - {"not_run"}
