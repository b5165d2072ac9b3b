"""A domain whose tools an MCP server serves: the same verdicts, and never one by accident.

The server is `tests/processes/mcp_lookups.py`, which looks up what `lab` and `dangerous_goods` look
up without it. It writes its process into `servers.txt` of the domain's folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from tests.builders.mcp_server import SERVER, serve_by_mcp

pytest.importorskip("mcp")

ReadSaved = Callable[..., Any]

DEADLINE = 60.0
GOODS = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods"


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for_end(processes: list[int]) -> None:
    end = time.monotonic() + DEADLINE
    while any(map(is_alive, processes)):
        assert time.monotonic() < end, "a process goes on"
        time.sleep(0.05)


def servers(domain: Path) -> list[int]:
    return [int(line) for line in (domain / "servers.txt").read_text().split()]


def by_task(saved: Any) -> dict[str, Any]:
    """What a saved session tells of each run that has nothing to do with time."""
    kept = ("outcome", "answer", "calls", "rules", "trajectory")
    return {
        run["task"]: [
            [{k: v for k, v in call.items() if k not in ("started", "duration")} for call in value]
            if name == "calls" and isinstance(value, list)
            else value
            for name in kept
            for value in [run.get(name)]
        ]
        for run in saved.runs
    }


def test_a_bundled_domain_has_the_same_verdicts_calls_and_rules_as_with_look_ups(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    shutil.copytree(GOODS, pytester.path / "plain" / "dangerous_goods")
    served = pytester.path / "served" / "dangerous_goods"
    shutil.copytree(GOODS, served)
    serve_by_mcp(served, "sdk")
    command = ("--sop-agent=reference-policy", "--sop-sample=40", "--sop-concurrency=16")

    pytester.runpytest("--sop-domain=./plain/dangerous_goods", *command)
    plain = saved()
    result = pytester.runpytest("--sop-domain=./served/dangerous_goods", *command, "-n2")

    result.assert_outcomes(passed=len(plain.runs))
    assert 40 == len(plain.runs)
    assert by_task(plain) == by_task(saved())
    assert 2 == len(servers(served))
    wait_for_end(servers(served))


def test_the_header_says_that_the_tools_are_not_deterministic(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")
    plain = saved().header["domains"]["lab"]
    serve_by_mcp(lab)
    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")
    served = saved().header["domains"]["lab"]

    result.assert_outcomes(passed=6)
    assert "deterministic" not in plain
    assert served["deterministic"] is False
    assert plain["tools"] != served["tools"]


def test_a_server_that_is_killed_in_the_middle_makes_every_later_run_unavailable(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved, workers: tuple[str, ...]
) -> None:
    """The agent answers `fail` when its tool fails, which is right on every third task."""
    pytester.makepyfile(
        careless="""
        def agent(inputs, tools):
            found = tools.execute_tool("measure", {"sample_id": inputs["sample_id"]})
            reading = found.get("reading", 0)
            return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
        """
    )
    serve_by_mcp(lab, "die-after=1", "child")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=careless:agent", *workers)

    made = len(workers) + 1
    outcomes = sorted(saved().outcomes.values())
    assert ["correct"] * made + ["unavailable"] * (6 - made) == outcomes
    result.stdout.fnmatch_lines(["*McpServerGoneError: the MCP server*has ended with status -9*"])
    wait_for_end([*servers(lab), int((lab / "children.txt").read_text())])


def test_a_server_that_is_gone_is_no_provider_that_is_away(
    pytester: pytest.Pytester, lab: Path
) -> None:
    serve_by_mcp(lab, "die-after=0")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    said = f"{result.stdout}{result.stderr}"
    assert "the tools of the domain come from an MCP server, which is gone" in said
    assert "rate limit" not in said


def test_a_number_that_json_does_not_have_is_no_result(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    serve_by_mcp(lab, "structured", "nan")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert {"unavailable", "not_run"} == {*saved().outcomes.values()}
    result.stdout.fnmatch_lines(
        ["*McpServerGoneError: a tool gave what is no JSON: a number that is not*"]
    )


def test_a_call_that_is_never_answered_is_bounded_by_the_time_limit_of_its_run(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    serve_by_mcp(lab, "hang-after=5")

    pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=habits:right", "--sop-timeout=8", "--sop-concurrency=1"
    )

    assert ["correct"] * 5 + ["timeout"] == sorted(saved().outcomes.values())
    wait_for_end(servers(lab))


def test_what_a_program_prints_beside_its_messages_does_no_harm(
    pytester: pytest.Pytester, lab: Path
) -> None:
    serve_by_mcp(lab, "before", "garbage", "flood", "structured")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    result.assert_outcomes(passed=6)


def test_a_line_that_never_ends_makes_the_runs_unavailable(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    serve_by_mcp(lab, "endless")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert set(saved().outcomes.values()) == {"unavailable", "not_run"}
    result.stdout.fnmatch_lines(["*more than 67,108,864 bytes on one line*"])


def test_a_tool_error_of_the_server_is_one_that_the_agent_sees(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    pytester.makepyfile(
        asking="""
        def agent(inputs, tools):
            return {"grade": tools.execute_tool("measure", {"sample_id": "T_99"})["error"]}
        """
    )
    serve_by_mcp(lab)

    pytester.runpytest("--sop-domain=lab::T_01", "--sop-agent=asking:agent")

    (run,) = saved().runs
    assert "no record with sample_id = 'T_99'" == run["calls"][0]["error"]
    assert "wrong" == run["outcome"]


@pytest.mark.parametrize("fault", ["refuse", "forget"])
def test_a_fault_of_the_server_is_never_the_agents(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved, fault: str
) -> None:
    serve_by_mcp(lab, fault)

    pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", "--sop-sample=first:4")

    assert set(saved().outcomes.values()) == {"unavailable"}


def test_arguments_are_checked_against_the_tool_specs_before_the_server_is_asked(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    pytester.makepyfile(
        asking="""
        def agent(inputs, tools):
            tools.execute_tool("measure", {"sample": 7})
            return {"grade": "pass"}
        """
    )
    serve_by_mcp(lab)
    metadata = lab / "metadata.json"
    content = json.loads(metadata.read_text()) | {"reject_bad_arguments": True}
    metadata.write_text(json.dumps(content))

    pytester.runpytest("--sop-domain=lab::T_01", "--sop-agent=asking:agent")

    (call,) = saved().runs[0]["calls"]
    assert "parameter 'sample_id' is missing; parameter 'sample' is unknown" in call["error"]


@pytest.mark.parametrize(
    ("habit", "told"),
    [
        pytest.param(
            "without=measure", "*has no tool 'measure'; it has none*", id="a tool is missing"
        ),
        pytest.param(
            "other-schema",
            "*tool 'measure'*at '/required' it says *'sample_id'*, the server []*",
            id="another schema",
        ),
        pytest.param("exit", "*the database of the orders cannot be opened*", id="it ends at once"),
        pytest.param("silent", "*did not answer within 8 s*", id="it never answers"),
    ],
)
def test_a_server_that_cannot_serve_the_domain_is_told_before_any_run(
    pytester: pytest.Pytester, lab: Path, habit: str, told: str
) -> None:
    serve_by_mcp(lab, habit, "child")
    limit = ("--sop-timeout=8",) if habit == "silent" else ()
    # Where workers start it, their controller tells.
    more = ("-n2",) if habit == "exit" else ()

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right", *limit, *more)

    assert result.ret != 0
    output = result.stdout.str() + result.stderr.str()
    pytest.LineMatcher(output.splitlines()).fnmatch_lines([told])
    assert "passed" not in output
    wait_for_end([*servers(lab), int((lab / "children.txt").read_text())])


def test_a_program_that_is_not_there_is_told(pytester: pytest.Pytester, lab: Path) -> None:
    serve_by_mcp(lab, command=["no-such-program"])

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    result.stderr.fnmatch_lines(["*the MCP server 'no-such-program' failed: *No such file*"])
    assert pytest.ExitCode.USAGE_ERROR == result.ret


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="a program"),
        pytest.param({"url": "https://tools.example/mcp"}, id="an address elsewhere"),
        pytest.param({"url": "http://127.0.0.1:9/mcp"}, id="an address of this machine"),
    ],
)
def test_a_server_of_a_domain_that_is_not_trusted_is_neither_started_nor_asked(
    pytester: pytest.Pytester, lab: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    serve_by_mcp(lab, **settings)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(lab, elsewhere / "lab")
    pytester.makeini(f"[pytest]\nsop_paths = {elsewhere}")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*key 'mcp': this code lies outside the project*"])
    assert not (elsewhere / "lab" / "servers.txt").exists()


def test_a_secret_reaches_the_server_and_nothing_that_is_recorded(
    pytester: pytest.Pytester, lab: Path, monkeypatch: pytest.MonkeyPatch, saved: ReadSaved
) -> None:
    monkeypatch.setenv("LAB_KEY", "korrekt-pferd-batterie")
    monkeypatch.setenv("OTHER", "of the session alone")
    serve_by_mcp(lab, "tell=KEY", env={"KEY": "env:LAB_KEY"})
    pytester.makepyfile(
        asking="""
        def agent(inputs, tools):
            return {"grade": str(tools.call("measure", sample_id=inputs["sample_id"]))}
        """
    )

    result = pytester.runpytest("--sop-domain=lab::T_01", "--sop-agent=asking:agent", "-v")

    assert {"reading": "***"} == saved().runs[0]["calls"][0]["result"]
    kept = [path.read_bytes() for path in (pytester.path / ".sop").rglob("*") if path.is_file()]
    assert not any(b"korrekt" in one for one in kept)
    assert "korrekt" not in result.stdout.str() + result.stderr.str()


def test_a_variable_that_is_not_set_is_told(pytester: pytest.Pytester, lab: Path) -> None:
    serve_by_mcp(lab, env={"KEY": "env:NO_SUCH_KEY"})

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    result.stderr.fnmatch_lines(["*the environment has no variable 'NO_SUCH_KEY'*"])


def test_a_server_ends_with_a_worker_that_dies(pytester: pytest.Pytester, lab: Path) -> None:
    """It is deaf, as its child is, and nobody is left to end it."""
    serve_by_mcp(lab, "child")
    pytester.makepyfile(
        killed="""
        import os, signal

        def agent(inputs, tools):
            tools.call("measure", sample_id=inputs["sample_id"])
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )

    pytester.runpytest_subprocess("--sop-domain=lab::T_01", "--sop-agent=killed:agent")

    wait_for_end([*servers(lab), int((lab / "children.txt").read_text())])


@contextmanager
def listening(domain: Path, *habits: str) -> Iterator[str]:
    """Run the server of a domain behind an address, and give that."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "url", *habits], cwd=domain, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("era", "workers"),
    [pytest.param("stateful", (), id="stateful"), pytest.param("stateless", ("-n2",), id="two")],
)
def test_a_server_behind_an_address_serves_the_tools_and_is_not_ended(
    pytester: pytest.Pytester, lab: Path, era: str, workers: tuple[str, ...]
) -> None:
    serve_by_mcp(lab)
    with listening(lab, era) as url:
        serve_by_mcp(lab, url=url)

        result = pytester.runpytest(
            "--sop-domain=lab", "--sop-agent=habits:right", "--sop-concurrency=6", *workers
        )

        result.assert_outcomes(passed=6)
        assert all(map(is_alive, servers(lab)))


def test_a_server_behind_an_address_that_goes_away_makes_the_runs_unavailable(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved
) -> None:
    serve_by_mcp(lab)
    with listening(lab, "die-after=2") as url:
        serve_by_mcp(lab, url=url)

        pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    assert ["correct"] * 2 + ["unavailable"] * 4 == sorted(saved().outcomes.values())


def test_an_address_at_which_nobody_listens_is_told(pytester: pytest.Pytester, lab: Path) -> None:
    serve_by_mcp(lab, url="http://127.0.0.1:9/mcp?key=korrekt")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=habits:right")

    result.stderr.fnmatch_lines(["*the MCP server at http://127.0.0.1:9/mcp failed:*"])
    assert "korrekt" not in result.stderr.str()


def test_nothing_of_it_is_taken_for_traffic_of_the_agents_model(
    pytester: pytest.Pytester, lab: Path
) -> None:
    serve_by_mcp(lab)
    with listening(lab) as url:
        serve_by_mcp(lab, url=url)
        options = ("--sop-domain=lab", "--sop-agent=habits:right")

        recorded = pytester.runpytest(*options, "--sop-replay=record")
        replayed = pytester.runpytest(*options, "--sop-replay=only")

    for result in (recorded, replayed):
        result.assert_outcomes(passed=6)
        result.stdout.no_fnmatch_line("*were not recorded*")
    recorded.stdout.fnmatch_lines(["*6 runs, 0 requests*"])
