"""Agents elsewhere, run as a user runs them: services, children, clients of MCP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

AGENTS = Path(__file__).parents[1] / "wire_agents"
DOMAIN = "--sop-domain=dangerous_goods"


@pytest.fixture
def serve() -> Iterator[Callable[[str], tuple[str, subprocess.Popen[str]]]]:
    """Start a script of a service, and return where it is."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str) -> tuple[str, subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, AGENTS / script],
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


def child(kind: str, script: str, *words: str) -> str:
    return f"--agent={kind}:{sys.executable} {AGENTS / script} {' '.join(words)}".strip()


def records(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the runs of the saved session, by task."""
    lines = (pytester.path / "session.jsonl").read_text("utf-8").splitlines()
    runs = [one for line in lines if (one := json.loads(line)).get("type") == "run"]
    return sorted(runs, key=lambda one: one["task"])


def procedure(run: dict[str, Any]) -> list[Any]:
    """Return what a run did: each call with its arguments and its result."""
    return [
        [run["task"], run["outcome"]],
        *([one["name"], one["arguments"]] for one in run["calls"]),
    ]


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
        _, runs = session(pytester, "--agent=reference-policy")
        return [procedure(one) for one in runs]

    @pytest.mark.parametrize("words", [["--sop-concurrency=32"], ["-n2"]], ids=["flight", "n2"])
    def test_as_a_service(
        self, pytester: pytest.Pytester, serve: Any, in_process: list[Any], words: list[str]
    ) -> None:
        url, _ = serve("service.py")

        result, runs = session(pytester, f"--agent={url}/run", *words)

        assert 0 == result.ret
        assert in_process == [procedure(one) for one in runs]
        assert 30 == runs[0]["usage"]["input_tokens"]

    @pytest.mark.parametrize("words", [["--sop-concurrency=32"], ["-n2"]], ids=["flight", "n2"])
    def test_as_one_child_of_many_runs(
        self, pytester: pytest.Pytester, in_process: list[Any], words: list[str]
    ) -> None:
        result, runs = session(pytester, child("lines", "lines.py"), *words)

        assert 0 == result.ret
        assert in_process == [procedure(one) for one in runs]

    @pytest.mark.parametrize(
        "agent",
        [
            pytest.param(("child.py",), id="http"),
            pytest.param(("mcp_child.py", "auto"), id="mcp"),
            pytest.param(("mcp_child.py", "legacy"), id="mcp-before-2026"),
            pytest.param(("mcp_child.py", "stdio"), id="mcp-stdio"),
        ],
    )
    def test_as_a_child_for_each_run(
        self, pytester: pytest.Pytester, in_process: list[Any], agent: tuple[str, ...]
    ) -> None:
        words = ("--sop-sample=4", "--sop-concurrency=4")

        result, runs = session(pytester, child("exec", *agent), *words)

        assert 0 == result.ret
        assert 4 == len(runs)
        assert all(procedure(one) in in_process for one in runs)


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        pytest.param("dies", "unavailable", "closed the connection without an answer", id="dies"),
        pytest.param("hangs", "timeout", "still running", id="hangs"),
        pytest.param("trickles", "timeout", "still running", id="trickles"),
        pytest.param("html", "unavailable", "a page of HTML", id="html"),
        pytest.param("floods", "error", "more than 16,777,216 bytes", id="floods"),
        pytest.param("half", "unavailable", "answered with no HTTP", id="half"),
        pytest.param("broken", "unavailable", "broken JSON", id="broken"),
        pytest.param("empty", "unavailable", "200 with nothing", id="empty"),
        pytest.param("redirects", "error", "answered with 307 to", id="redirects"),
        pytest.param("redirects-away", "error", "answered with 307 to", id="redirects-away"),
        pytest.param("refuses", "error", "answered 400", id="refuses"),
        pytest.param("is-busy", "unavailable", "answered 503: come back later", id="busy"),
        pytest.param("waits", "timeout", "still running", id="polled-for-ever"),
    ],
)
def test_what_a_service_does_is_told(
    pytester: pytest.Pytester, serve: Any, path: str, outcome: str, reason: str
) -> None:
    url, _ = serve("evil.py")

    limit = 3 if outcome == "timeout" else 120
    result, runs = session(
        pytester, f"--agent={url}/{path}", "--sop-sample=2", f"--sop-timeout={limit}"
    )

    assert 0 != result.ret
    assert [outcome, outcome] == [one["outcome"] for one in runs]
    assert all(reason in one["reason"] for one in runs)


def test_a_service_that_nobody_runs_is_unavailable(pytester: pytest.Pytester) -> None:
    result, runs = session(pytester, "--agent=http://127.0.0.1:9/run", "--sop-sample=2")

    assert 0 != result.ret
    assert ["unavailable"] * 2 == [one["outcome"] for one in runs]


def test_a_run_that_is_over_takes_back_what_it_waits_for(
    pytester: pytest.Pytester, serve: Any
) -> None:
    url, process = serve("evil.py")

    session(pytester, f"--agent={url}/waits", "--sop-sample=1", "--sop-timeout=1")

    process.terminate()
    assert "deleted" in process.communicate()[1]


def test_a_tool_that_is_called_after_the_answer_is_gone(
    pytester: pytest.Pytester, serve: Any
) -> None:
    url, process = serve("evil.py")
    slow = "def pytest_sessionfinish():\n    import time\n    time.sleep(1)\n"
    pytester.makeconftest(slow)

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


@pytest.mark.parametrize(
    ("kind", "what", "outcome", "reason"),
    [
        pytest.param("exec", "dies", "crash", "ended by signal 9", id="dies"),
        pytest.param("exec", "fails", "error", "status 3: there is no key", id="fails"),
        pytest.param("exec", "hangs", "timeout", "still running", id="hangs"),
        pytest.param("exec", "silent", "no_answer", "", id="silent"),
        pytest.param("exec", "floods", "error", "more than 16,777,216 bytes", id="floods"),
        pytest.param("exec", "half", "no_answer", "", id="half"),
        pytest.param("lines", "babbles", "error", "no message of the protocol", id="babbles"),
        pytest.param("lines", "future", "error", "protocol 2", id="future"),
        pytest.param("lines", "greedy", "error", "ready for 0 runs", id="greedy"),
        pytest.param("lines", "ends-ready", "crash", "ended in the middle of a run", id="ends"),
        pytest.param("lines", "garbles", "error", "no message of the protocol", id="garbles"),
        pytest.param("lines", "falls", "crash", "status 0: out of memory", id="falls"),
        pytest.param("lines", "ignores", "timeout", "still running", id="ignores"),
        pytest.param("lines", "invents", "no_answer", "", id="invents"),
        pytest.param("lines", "strange", "timeout", "still running", id="strange"),
    ],
)
def test_what_a_child_does_is_told(
    pytester: pytest.Pytester, kind: str, what: str, outcome: str, reason: str
) -> None:
    agent = child(kind, "evil_child.py", what)

    limit = 5 if outcome == "timeout" else 120
    result, runs = session(pytester, agent, "--sop-sample=2", f"--sop-timeout={limit}")

    assert 0 != result.ret
    assert [outcome, outcome] == [one["outcome"] for one in runs]
    assert all(reason in one["reason"] for one in runs)


@pytest.mark.parametrize("what", ["deaf", "chatters", "leaves"])
def test_a_child_that_answers_all_the_same_is_heard(pytester: pytest.Pytester, what: str) -> None:
    _, runs = session(pytester, child("exec", "evil_child.py", what), "--sop-sample=2")

    assert {"correct", "wrong"} >= {one["outcome"] for one in runs}


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="nothing tells of children")
@pytest.mark.parametrize(
    ("kind", "what"), [("exec", "leaves"), ("exec", "hangs"), ("lines", "ignores")]
)
def test_no_child_is_left(pytester: pytest.Pytester, kind: str, what: str) -> None:
    agent = child(kind, "evil_child.py", what)

    session(pytester, agent, "--sop-sample=2", "--sop-timeout=2")

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
