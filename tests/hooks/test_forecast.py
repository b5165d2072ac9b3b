"""What a session says before its first run: no number that it does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("lab")

RIGHT = ("--sop-domain=lab", "--agent=habits:right")


@pytest.fixture
def last(pytester: pytest.Pytester) -> Path:
    return pytester.path / ".sop/sessions/last.jsonl"


def rewrite(path: Path, number: int, **changes: Any) -> None:
    """Change keys of one line of a session."""
    lines = path.read_text("ascii").splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **changes})
    path.write_text("".join(f"{line}\n" for line in lines), "ascii")


def forecast(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("sop: ") and " run" in line]


@pytest.mark.parametrize(
    "narrowed", [pytest.param(("-k", "T_01"), id="-k"), pytest.param(("lab::T_01",), id="an id")]
)
def test_what_workers_leave_out_is_not_promised(
    pytester: pytest.Pytester, narrowed: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*RIGHT, *narrowed, "-n2", "--sop-concurrency=4")

    assert ["sop: up to 6 runs, 4 in flight"] == forecast(result)


def test_what_no_option_takes_away_is_promised(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RIGHT, "-n2", "--sop-concurrency=4")

    assert ["sop: 6 runs, 4 in flight"] == forecast(result)


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        pytest.param(10, (), " with 10 in flight", id="number and none"),
        pytest.param("auto", (), " with --sop-concurrency=auto", id="auto and none"),
        pytest.param(None, ("--sop-concurrency=4",), " without --sop-concurrency", id="none"),
        pytest.param(4, ("--sop-concurrency=4",), "", id="same"),
        pytest.param(1, (), "", id="one is none"),
        pytest.param(4, ("--sop-concurrency=4", "-s"), " with 4 in flight", id="in main thread"),
    ],
)
def test_another_pace_is_told(
    pytester: pytest.Pytester, last: Path, then: object, now: tuple[str, ...], said: str
) -> None:
    pytester.runpytest(*RIGHT)
    header = json.loads(last.read_text("ascii").splitlines()[0])
    rewrite(last, 0, options={**header["options"], "concurrency": then})
    rewrite(last, -1, duration_s=660.0)

    result = pytester.runpytest(*RIGHT, *now)

    assert [f"last time the runs took 11 min{said}"] == [
        line.partition("; ")[2] for line in forecast(result) if "last time" in line
    ]


def test_runs_that_are_taken_over_are_not_announced(pytester: pytest.Pytester, last: Path) -> None:
    pytester.runpytest(*RIGHT)
    first = pytester.runpytest(*RIGHT, "--sop-resume=last", "--sop-concurrency=4")
    more = pytester.runpytest(*RIGHT, "--sop-resume=last", "--sop-concurrency=4", "--sop-trials=2")

    assert [
        ["sop: resumes last, which has 6 finished runs"],
        ["sop: resumes last, which has 6 finished runs", "sop: 6 runs of 6 tasks, 4 in flight"],
    ] == [forecast(first), forecast(more)]


def test_what_a_resumed_session_took_is_not_what_the_whole_takes(
    pytester: pytest.Pytester, last: Path
) -> None:
    """Its time is that of the runs that it made itself."""
    pytester.runpytest(*RIGHT)
    pytester.runpytest(*RIGHT, "--sop-resume=last", "--sop-trials=2")
    rewrite(last, -1, duration_s=660.0)

    result = pytester.runpytest(*RIGHT, "--sop-trials=2")

    assert ["sop: 6 tasks x 2 = 12 runs"] == forecast(result)
