"""Which event logs a session keeps, where they lie, and what never stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TALKING = """
from habits import *

KEY = "sk-" + "12345"


def talking(inputs, tools):
    print("the key is", KEY)
    tools.record_approval("measuring", by="Jo")
    tools.report(usage={"input_tokens": 7}, messages=[{"role": "user", "content": KEY}])
    reading = tools.call("measure", sample_id=inputs["sample_id"], key=KEY)["reading"]
    if number(inputs) == 3:
        raise ValueError(f"refused with {KEY}")
    return f"<grade>pass</grade>, by {KEY}"
"""


def events_in(pytester: pytest.Pytester, session: str = "last") -> dict[str, list[Any]]:
    path = pytester.path / f".sop/sessions/{session}.jsonl"
    folder = path.resolve().with_suffix(".traces")
    return {
        path.relative_to(folder).as_posix(): [
            json.loads(line) for line in path.read_text("ascii").splitlines()
        ]
        for path in sorted(folder.rglob("*.jsonl"))
    }


def run(pytester: pytest.Pytester, *more: str, agent: str = "talk:talking") -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", f"--sop-agent={agent}", *more)


@pytest.fixture(autouse=True)
def talk(lab: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(talk=TALKING)


@pytest.mark.parametrize("more", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
def test_a_run_that_is_not_correct_leaves_its_log(
    pytester: pytest.Pytester, more: tuple[str, ...]
) -> None:
    run(pytester, *more)

    logs = events_in(pytester)
    assert [f"lab/T_0{n}@talk%3Atalking.jsonl" for n in (1, 2, 3, 4, 5)] == list(logs)
    first, raised = logs["lab/T_01@talk%3Atalking.jsonl"], logs["lab/T_03@talk%3Atalking.jsonl"]
    assert [
        "run", "approval", "call", "message", "output", "answer", "usage", "end",
    ] == [event["type"] for event in first]  # fmt: skip
    assert {"problem"} == {e["type"] for e in raised} - {e["type"] for e in first}
    assert ("measuring", "Jo") == (first[1]["step"], first[1]["by"])
    assert {"reading": 50} == first[2]["result"]
    assert "the key is sk-12345\n" == first[4]["text"]
    assert 7 == first[6]["input_tokens"]
    assert ("returned", "wrong") == (first[-1]["ending"], first[-1]["outcome"])


def test_a_line_of_the_session_tells_where_its_log_lies(pytester: pytest.Pytester) -> None:
    run(pytester)

    lines = (pytester.path / ".sop/sessions/last.jsonl").read_text().splitlines()
    runs = {one["task"]: one["trace"] for one in map(json.loads, lines) if one["type"] == "run"}
    assert "lab/T_01@talk%3Atalking.jsonl" == runs["T_01"]
    assert sorted(name for name in runs.values() if name) == list(events_in(pytester))


@pytest.mark.parametrize(
    ("choice", "count"),
    [
        pytest.param("failed", 0, id="failed"),
        pytest.param("all", 6, id="all"),
        pytest.param("none", 0, id="none"),
    ],
)
def test_the_project_chooses_which_logs_are_kept(
    pytester: pytest.Pytester, choice: str, count: int
) -> None:
    run(pytester, "-o", f"sop_traces={choice}", agent="habits:right")

    assert count == len(events_in(pytester))


def test_logs_of_the_session_before_are_gone(pytester: pytest.Pytester) -> None:
    run(pytester)

    run(pytester, agent="habits:right")

    assert {} == events_in(pytester)


def test_a_kept_session_keeps_its_logs(pytester: pytest.Pytester) -> None:
    run(pytester, "--sop-save=main")

    assert list(events_in(pytester)) == list(events_in(pytester, "main"))
    assert 5 == len(events_in(pytester, "main"))


@pytest.mark.parametrize("more", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
def test_a_secret_leaves_the_process_nowhere(
    pytester: pytest.Pytester, more: tuple[str, ...]
) -> None:
    result = run(pytester, "-o", "sop_redact=sk-[0-9]+", *more)

    found = (pytester.path / ".sop").rglob("*.jsonl")
    written = [path for path in found if not path.is_symlink()]
    assert 6 == len(written)
    assert [] == [path for path in written if "sk-12345" in path.read_text()]
    assert "sk-12345" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*raised   *ValueError: refused with [*][*][*]"])


def test_a_secret_may_be_named_by_its_variable(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-12345")
    monkeypatch.setenv("EMPTY", "")
    pytester.makeini("[pytest]\nsop_redact =\n  env:LAB_KEY\n  env:EMPTY")

    run(pytester)

    text = (pytester.path / ".sop/sessions/last.jsonl").read_text()
    assert "sk-12345" not in text
    assert "***" in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("[", "*sop_redact=[[]: not a regular expression*", id="not a pattern"),
        pytest.param("x*", "*sop_redact=x[*]: it matches nothing at all, and so *", id="empty"),
        pytest.param("'x'", "*sop_redact='x': write the pattern without quotes*", id="quoted"),
        pytest.param("env:A env:B", "*sop_redact=env:A env:B: write env:NAME, *", id="two"),
        pytest.param("env:TYPO", "*the environment has no variable 'TYPO'*", id="not set"),
        pytest.param("env:SHORT", "*env:SHORT: it holds fewer than 6 characters*", id="too short"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.setenv("SHORT", " 12345 ")

    result = run(pytester, "-o", f"sop_redact={value}")

    assert 4 == result.ret
    result.stderr.fnmatch_lines([message])


def test_a_disk_that_takes_no_logs_costs_the_session_nothing_and_is_told_once(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        blocks="""
        import pathlib, talk

        def agent(inputs, tools):
            mark, = pathlib.Path(".sop/sessions").glob("*.running")
            mark.with_suffix(".traces").touch()
            return talk.talking(inputs, tools)
        """
    )

    result = run(pytester, agent="blocks:agent")

    saved = (pytester.path / ".sop/sessions/last.jsonl").read_text()
    assert 6 == saved.count('{"type":"run"')
    assert '{"type":"summary"' == saved.splitlines()[-1][:17]
    (told,) = [line for line in result.outlines if line.startswith("not saved: ")]
    assert ".traces" in told
