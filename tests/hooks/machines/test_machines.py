"""Runs spread over machines are counted as on one."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASKS = 21
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "run-many-at-once.md"
SPREAD = PAGE.read_text("utf-8").partition("## Shards in CI")[2]
COMMANDS = re.findall(r"^\$ (pytest .*|sopbench .*)$", SPREAD, re.MULTILINE)

Machine = Callable[..., tuple[str, ...]]


def totals(result: pytest.RunResult) -> list[str]:
    """The lines of the summary that count."""
    return [line for line in result.outlines if re.match("TSR|ECR|C-TSR|wrong|gate", line)]


def stable(run: dict[str, Any]) -> dict[str, Any]:
    """A run's line without what two sessions cannot have in common."""
    own = {"crc", "duration_s", "problem"}
    return {name: value for name, value in run.items() if name not in own}


def _traces(pytester: pytest.Pytester) -> Path:
    return (pytester.path / ".sop/sessions/last.jsonl").resolve().with_suffix(".traces")


def logs(pytester: pytest.Pytester) -> set[str]:
    return {path.name for path in _traces(pytester).rglob("*.jsonl")}


@pytest.mark.usefixtures("lab")
def test_totals_runs_and_logs_are_those_of_one_machine(
    pytester: pytest.Pytester,
    make_domain: Callable[..., Path],
    saved: Callable[[], Any],
    bring: Callable[[], None],
    here_and_over_ssh: Machine,
) -> None:
    make_domain("ward", tasks=TASKS)
    bring()
    agent = "--agent=habits:fifths_and_sevenths"
    args = ("--sop-domain=ward", agent, "--sop-fail-under=0.9", "-rN", "--tb=no")

    alone = pytester.runpytest(*args)
    runs, written = saved().runs, logs(pytester)
    spread = pytester.runpytest_subprocess(*args, *here_and_over_ssh())

    assert pytest.ExitCode.TESTS_FAILED == alone.ret == spread.ret
    spread.stdout.fnmatch_lines([f"2 workers ?{TASKS} items?"])
    assert totals(alone) == totals(spread)
    assert any("TSR >= 90% does not hold" in line for line in totals(spread))
    assert TASKS == len(runs)
    assert list(map(stable, runs)) == list(map(stable, saved().runs))
    assert 7 == len(written)
    assert written == logs(pytester)


@pytest.mark.usefixtures("lab")
def test_a_worker_that_dies_there_costs_one_run(
    pytester: pytest.Pytester,
    over_socket: Machine,
    server: tuple[str, subprocess.Popen[str]],
    saved: Callable[[], Any],
    bring: Callable[[], None],
) -> None:
    """The server outlives its workers: the next one is started behind it."""
    bring()

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:dying", *over_socket()
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    expected = {f"T_{place:02}": "correct" for place in range(1, 7)} | {"T_03": "crash"}
    assert expected == saved().outcomes
    assert server[1].poll() is None


def test_a_bundled_domain_needs_no_file_there(
    pytester: pytest.Pytester, over_socket: Machine, there: Path
) -> None:
    result = pytester.runpytest_subprocess(
        "--sop-domain=dangerous_goods",
        "--agent=reference-policy",
        "--sop-sample=20",
        *over_socket(),
    )

    assert pytest.ExitCode.OK == result.ret
    result.assert_outcomes(passed=20)
    result.stdout.fnmatch_lines(["TSR   100.0% *correct, 20 of 20 *"])
    # What xdist copies there is why the folder has to be one that nothing else is in need of.
    assert {"pytest", "_pytest"} <= {path.name for path in there.iterdir()}


@pytest.mark.usefixtures("lab")
def test_runs_are_made_there_where_an_environment_variable_is_given_by_name(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    over_ssh: Machine,
    there: Path,
    bring: Callable[[], None],
) -> None:
    pytester.makepyfile(
        keyed="""
        import os
        import habits

        def agent(inputs, tools):
            answer = habits.counted(inputs, tools)
            return answer if os.environ.get("LAB_KEY") else "no key"
        """
    )
    bring()
    monkeypatch.setenv("LAB_KEY", "k-4711")

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=keyed:agent", *over_ssh(1, "//env:LAB_KEY=k-4711")
    )

    result.assert_outcomes(passed=6)
    assert 6 == len((there / "calls.txt").read_text().splitlines())
    assert not (pytester.path / "calls.txt").exists()
    assert "k-4711" not in result.stdout.str()
    assert "k-4711" not in (pytester.path / ".sop/sessions/last.jsonl").read_text()


@pytest.mark.usefixtures("lab")
def test_tests_of_the_project_run_there_when_no_path_is_given(
    pytester: pytest.Pytester, over_ssh: Machine, bring: Callable[[], None]
) -> None:
    pytester.makepyfile(test_lab="def test_run(sop_run): sop_run.assert_correct()")
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:right")
    bring()

    result = pytester.runpytest_subprocess(*over_ssh(1))

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["TSR   100.0% *correct, 6 of 6 *"])


def as_here(command: str, there: str = "", address: str = "") -> list[str]:
    """Write a command of the page for the project of these tests, with one worker of each kind."""
    command = command.replace("late_returns", "lab").replace("desk:agent", "habits:right")
    command = command.replace("/srv/claims/.venv/bin/python", sys.executable)
    command = command.replace("/srv/claims", there).replace("127.0.0.1:8888", address)
    return shlex.split(re.sub(r"[24]\*", "1*", command))


@pytest.mark.usefixtures("lab", "over_ssh")
@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if " --tx " in one], ids=["try", "ssh", "socket"]
)
def test_a_command_of_the_page_spreads_the_runs(
    pytester: pytest.Pytester,
    server: tuple[str, Any],
    there: Path,
    bring: Callable[[], None],
    command: str,
) -> None:
    bring()
    _, *args = as_here(command, str(there), server[0])

    result = pytester.runpytest_subprocess(*args)

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["[12] worker* ?*items?", "TSR   100.0% *"])


@pytest.mark.usefixtures("lab")
def test_the_shards_of_the_page_are_merged_and_gated(pytester: pytest.Pytester) -> None:
    python = {"pytest": "-mpytest", "sopbench": "-cfrom pytest_sopbench.cli import main; main()"}
    found: list[pytest.RunResult] = []

    for command in COMMANDS:
        program, *args = as_here(command)
        if "--tx" not in args:
            found.append(pytester.run(sys.executable, python[program], *args))

    assert [0, 0, 0, 0] == [result.ret for result in found]
    found[-1].stdout.fnmatch_lines(["gate   TSR >= 90% holds (got 100%)"])
