"""A reference agent with the client of OpenAI: recorded once, replayed without its provider."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

TASKS = 12
PARTS = ("outcome", "answer", "calls", "trajectory", "text", "usage", "rules", "mismatches")


@pytest.fixture(autouse=True)
def as_a_user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # It clears the variable when it is made.
    del pytester
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist")


def session(pytester: pytest.Pytester, name: str, mode: str, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(
        "--sop-domain=dangerous_goods",
        "--agent=mine=function-calling:openai/m",
        f"--sop-sample=first:{TASKS}",
        f"--sop-save={name}.jsonl",
        f"--sop-replay={mode}",
        *options,
    )


def told(result: pytest.RunResult) -> str:
    return "\n".join([*result.outlines, *result.errlines])


def runs(pytester: pytest.Pytester, name: str) -> dict[str, dict[str, Any]]:
    lines = map(json.loads, (pytester.path / f"{name}.jsonl").read_text().splitlines())
    return {
        line["task"]: {part: line[part] for part in PARTS}
        for line in lines
        if line["type"] == "run"
    }


def test_a_recorded_model_gives_the_same_runs_when_it_is_gone(
    pytester: pytest.Pytester, stub: Any, secrets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded with many in flight; replayed one by one, with many in flight and two workers."""
    live = session(pytester, "live", "record", "--sop-concurrency=32")
    asked = len(stub.requests)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")

    one = session(pytester, "one", "only", "-n0")
    many = session(pytester, "many", "only", "-n2", "--sop-concurrency=64")

    assert 0 == live.ret, told(live)
    assert (0, 0) == (one.ret, many.ret), told(one)
    assert asked == len(stub.requests)
    assert TASKS == len(runs(pytester, "live"))
    assert runs(pytester, "live") == runs(pytester, "one") == runs(pytester, "many")
    files = [path for path in (pytester.path / "sop_cassettes").rglob("*") if path.is_file()]
    assert not any(secret in path.read_text() for path in files for secret in secrets)
    # Of a task with up to six requests; the requests themselves have ten times as much.
    assert max(path.stat().st_size for path in files if path.suffix == ".jsonl") < 10_000


def test_the_line_that_makes_a_replayed_run_again_pays_nothing(
    pytester: pytest.Pytester, stub: Any
) -> None:
    limit = "-osop_max_calls=1"
    session(pytester, "live", "record", limit)
    paid = len(stub.requests)
    result = session(pytester, "one", "only", limit)
    line = next(one for one in result.outlines if one.startswith("again    pytest "))

    again = pytester.runpytest_inprocess(*shlex.split(line)[2:])

    assert paid == len(stub.requests), told(again)
    again.stdout.fnmatch_lines(["*1 run replayed*"])
