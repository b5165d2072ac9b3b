"""Two sessions in one folder at once: neither touches, or decides by, what is of the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("lab")

STARTS_ANOTHER = '''
import pathlib, subprocess, sys
from habits import number, right


def agent(inputs, tools):
    """Right; in the middle of its session a whole other one is run in the same folder."""
    if number(inputs) == 3:
        done = subprocess.run(
            [sys.executable, "-mpytest", *pathlib.Path("other.txt").read_text().split()],
            capture_output=True, text=True,
        )
        pathlib.Path("status.txt").write_text(str(done.returncode))
        pathlib.Path("output.txt").write_text(done.stdout + done.stderr)
    return right(inputs, tools)
'''
OTHER = (
    "--sop-domain=lab --agent=habits:silent --sop-fail-under=0.5 --sop-sample=first:2 "
    "-o sop_traces=all"
)
RUN = ("--sop-domain=lab", "--agent=starts:agent", "--sop-fail-under=0.9", "-o", "sop_traces=all")


@pytest.fixture
def _other(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(starts=STARTS_ANOTHER)
    (pytester.path / "other.txt").write_text(OTHER)


def sessions(folder: Path) -> dict[str, Path]:
    """The files of the sessions by their agent."""
    found = (folder / ".sop/sessions").glob("2*.jsonl")
    return {json.loads(path.read_text().splitlines()[0])["agent"]: path for path in found}


def tasks(session: Path) -> list[str]:
    lines = map(json.loads, session.read_text().splitlines())
    return [line["task"] for line in lines if line["type"] == "run"]


@pytest.mark.usefixtures("_other")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="by its own summaries"),
        pytest.param(("--sop-compare=base,create",), id="by its file"),
        pytest.param(("-n1",), id="a worker"),
    ],
)
def test_each_session_decides_by_its_own_runs(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = pytester.runpytest_subprocess(*RUN, *options)

    assert 0 == result.ret
    assert "1" == (pytester.path / "status.txt").read_text()


@pytest.mark.usefixtures("_other")
def test_each_session_has_its_own_file_and_logs(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess(*RUN)

    own, other = (sessions(pytester.path)[name] for name in ("starts:agent", "habits:silent"))
    assert [f"T_0{number}" for number in range(1, 7)] == tasks(own)
    assert ["T_01", "T_02"] == tasks(other)
    assert 6 == len([*own.with_suffix(".traces").rglob("*.jsonl")])
    assert 2 == len([*other.with_suffix(".traces").rglob("*.jsonl")])


@pytest.mark.usefixtures("_other")
def test_last_is_the_session_that_ended_last(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest_subprocess(*RUN)

    assert "starts:agent" == saved().header["agent"]


@pytest.mark.usefixtures("_other")
def test_a_session_that_is_running_is_not_resumed(pytester: pytest.Pytester) -> None:
    (pytester.path / "other.txt").write_text(
        "--sop-domain=lab --agent=starts:agent --sop-resume=last"
    )

    result = pytester.runpytest_subprocess(*RUN)

    assert 0 == result.ret
    assert "4" == (pytester.path / "status.txt").read_text()
    assert "this session is still running (process " in (pytester.path / "output.txt").read_text()


def test_old_sessions_go_as_new_ones_end(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_keep_sessions = 2")

    for _ in range(4):
        pytester.runpytest("--sop-domain=lab", "--agent=habits:silent")

    left = sorted((pytester.path / ".sop/sessions").glob("2*"))
    assert 2 == len([path for path in left if path.suffix == ".jsonl"])
    assert 2 == len([path for path in left if path.suffix == ".traces"])


@pytest.mark.parametrize("value", ["0", "-1", "two"])
def test_how_many_sessions_stay_is_a_number_or_all(pytester: pytest.Pytester, value: str) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:silent", "-o", f"sop_keep_sessions={value}"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: sop_keep_sessions={value}: *"])


def test_a_killed_session_is_resumed_by_last_though_an_older_one_ended(
    pytester: pytest.Pytester, newest: Callable[[], Path | None], saved: Callable[[], Any]
) -> None:
    pytester.runpytest("--sop-domain=lab", "--agent=habits:dying", "--sop-sample=first:2")
    pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:dying")
    killed = newest()
    assert killed is not None
    habits = pytester.path / "habits.py"
    habits.write_text(habits.read_text().replace("os._exit(7)", "pass"))

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:dying", "--sop-resume=last")

    result.stdout.fnmatch_lines([f"resumed 2 of 6 runs from {killed.stem}"])
    assert killed.stem == saved().header["options"]["resumed"][0]["session"]
    assert 6 == saved().summary["total"]["pooled"]["correct"]
