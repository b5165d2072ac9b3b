"""Crashes, exits and interruptions: each is counted once, on its own task, and the rest judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

MIXED = '''
import os
import signal


def agent(inputs, tools):
    """Four crashes, three exits and interruptions, two answers that are garbage; else right."""
    number = int(inputs["sample_id"].rpartition("_")[2])
    if number in range(25, 125, 25):
        os.kill(os.getpid(), signal.SIGSEGV) if number % 50 else os._exit(9)
    if number in (7, 57):
        raise SystemExit(0)
    if number == 37:
        raise KeyboardInterrupt
    if number in (13, 63):
        return object()
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return "pass" if reading > 70 else "retest" if reading > 40 else "fail"
'''


def outcomes(session: Path) -> dict[str, str]:
    lines = map(json.loads, session.read_text().splitlines())
    return {line["task"]: line["outcome"] for line in lines if line["type"] == "run"}


def test_every_hard_end_is_counted_on_its_own_task(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain(tasks=100)
    pytester.makepyfile(mixed=MIXED)

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=mixed:agent", "-n2", "--sop-fail-under=0.9", "-rN"
    )

    found = outcomes(pytester.path / ".sop/sessions/last.jsonl")
    by_outcome = {
        one: {task for task, outcome in found.items() if outcome == one}
        for one in ("crash", "error", "no_answer")
    }
    assert {"correct": 91, "crash": 4, "error": 3, "no_answer": 2} == Counter(found.values())
    assert {f"T_{number}" for number in range(25, 125, 25)} == by_outcome["crash"]
    assert {"T_07", "T_37", "T_57"} == by_outcome["error"]
    assert {"T_13", "T_63"} == by_outcome["no_answer"]
    assert 0 == result.ret


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("options", [("--sop-concurrency=1",), ("--sop-concurrency=8",)])
def test_a_run_whose_worker_died_is_explained_like_any_other(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    """Whether it was made alone or with others, and so who reports its end."""
    pytester.makepyfile(
        one="import habits\n\ndef agent(inputs, tools):\n    return habits.dying(inputs, tools)\n"
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab::T_03", "--agent=one:agent", "-n1", *options
    )

    result.stdout.fnmatch_lines(
        [
            "crash: the process that ran it died",
            "task     lab/T_03  domains/lab/data.csv:4",
            "again    pytest --sop-domain=lab::T_03 --sop-agent=one:agent",
        ]
    )


@pytest.mark.usefixtures("lab")
def test_a_process_that_dies_leaves_what_was_recorded(
    pytester: pytest.Pytester, newest: Callable[[], Path | None]
) -> None:
    """Without xdist nothing can go on; the run it died in is known by name."""
    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:dying")

    session = newest()
    assert session is not None
    last = json.loads(session.read_text().splitlines()[-1])
    assert 7 == result.ret
    assert {"T_01": "correct", "T_02": "correct"} == outcomes(session)
    assert ("start", "T_03") == (last["type"], last["task"])


@pytest.mark.usefixtures("lab")
def test_an_agent_that_ends_the_process_with_success_fails_the_session(
    pytester: pytest.Pytester,
) -> None:
    """The exit status is all that is left of it, and 0 would read as passed."""
    pytester.makepyfile(leaves="import os\ndef agent(inputs): os._exit(0)")

    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=leaves:agent")

    assert 1 == result.ret
    result.stderr.fnmatch_lines(["sop: the agent ended the process with os._exit(0)*"])


@pytest.mark.usefixtures("lab")
def test_a_child_process_of_an_agent_may_end_as_it_likes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        forks="""
        import os

        def agent(inputs):
            child = os.fork()
            if not child:
                os._exit(0)
            return "pass" if os.waitpid(child, 0)[1] == 0 else "fail"
        """
    )

    result = pytester.runpytest_subprocess("--sop-domain=lab::T_03", "--agent=forks:agent")

    result.assert_outcomes(passed=1, deselected=5)


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_ctrl_c_ends_the_session_and_keeps_what_was_finished(
    pytester: pytest.Pytester,
    make_domain: Callable[..., Path],
    newest: Callable[[], Path | None],
    workers: tuple[str, ...],
) -> None:
    make_domain(tasks=40)
    pytester.makepyfile(
        slow="""
        import pathlib, time

        def agent(inputs):
            if inputs["sample_id"] != "T_01":
                pathlib.Path("waiting").touch()
                time.sleep(600)
            return "pass"
        """
    )
    command = [sys.executable, "-m", "pytest", "--sop-domain=lab", "--agent=slow:agent", *workers]
    process = subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while not (
        (pytester.path / "waiting").exists()
        and (session := newest()) is not None
        and '{"type":"run"' in session.read_text()
    ):
        time.sleep(0.05)

    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    found = outcomes(pytester.path / ".sop/sessions/last.jsonl")
    assert 2 == process.returncode
    assert 40 == len(found)
    assert found["T_01"] in {"correct", "wrong"}
    assert "not_run" == found["T_40"]
    assert "not_run" in output


@pytest.mark.usefixtures("lab")
def test_an_agent_that_swallows_ctrl_c_does_not_swallow_the_session(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        deaf="""
        import os, signal

        def agent(inputs):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                pass
            return "pass"
        """
    )

    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=deaf:agent")

    assert 2 == result.ret
    # The run that swallowed it may have ended before everything was stopped.
    result.stdout.fnmatch_lines(["ECR *[56] not_run*"])


@pytest.mark.usefixtures("lab")
def test_ctrl_c_in_the_main_thread_names_the_line_where_the_agent_was(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        slow="""
        import os, signal

        def agent(inputs):
            os.kill(os.getpid(), signal.SIGINT)
            return "pass"
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=slow:agent", "--sop-concurrency=1", "--sop-timeout=0"
    )

    result.stdout.fnmatch_lines(["*slow.py:4: KeyboardInterrupt"])


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_five_first_runs_that_end_alike_stop_the_session(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], workers: tuple[str, ...]
) -> None:
    make_domain("long", tasks=40)
    pytester.makepyfile(keyless="def agent(inputs): raise RuntimeError('no key')")

    result = pytester.runpytest_subprocess(
        "--sop-domain=long", "--agent=keyless:agent", "-rN", "--tb=no", *workers
    )

    assert 4 == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: the first 5 runs ended in the same error; [567] runs were started, and no *",
            "RuntimeError: no key",
        ]
    )
    # The other worker's report may overtake the end of the fifth item.
    result.stdout.fnmatch_lines(
        ["ECR *answered, 0 of 40 *3[45] not_run, [56] error*", "*[4567] failed*"]
    )


@pytest.mark.usefixtures("lab")
def test_first_runs_that_end_in_different_errors_do_not_stop_it(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:raising")

    result.assert_outcomes(failed=6)


@pytest.mark.usefixtures("lab")
def test_the_debugger_opens_in_the_agent(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(stops="def agent(inputs):\n    breakpoint()\n    return 'pass'")

    child = pytester.spawn_pytest("--sop-domain=lab::T_03 --agent=stops:agent", expect_timeout=60)
    child.expect("stops.py")
    child.expect("Pdb")
    child.sendline("c")
    rest = child.read().decode()

    assert "1 passed" in rest


@pytest.mark.usefixtures("lab")
def test_pdb_opens_where_the_agent_raised(pytester: pytest.Pytester) -> None:
    child = pytester.spawn_pytest(
        "--sop-domain=lab::T_03 --agent=habits:raising --pdb", expect_timeout=60
    )
    child.expect(r"habits.py\(\d+\)raising\(\)")
    child.sendline("q")
    rest = child.read().decode()

    assert "1 failed" in rest


@pytest.mark.usefixtures("lab")
def test_what_an_agent_prints_is_shown_with_its_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(chatty="def agent(inputs):\n    print('I am thinking')\n    return 'pass'")

    captured = pytester.runpytest("--sop-domain=lab::T_01", "--agent=chatty:agent")
    passed_on = pytester.runpytest("--sop-domain=lab::T_03", "--agent=chatty:agent", "-s")

    captured.stdout.fnmatch_lines(["*Captured stdout*", "I am thinking"])
    passed_on.stdout.fnmatch_lines(["*I am thinking*"])


FORKING = """
import asyncio
import os


def agent(inputs):
    if inputs["sample_id"] == "T_02":
        os.fork()
    return {"grade": "pass"}


async def later(inputs):
    await asyncio.sleep(0)
    return agent(inputs)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("agent", ["agent", "later"])
@pytest.mark.parametrize("options", [(), ("-s",)], ids=["in-a-thread", "in-the-main-thread"])
def test_a_child_that_comes_back_from_an_agent_does_not_go_on_with_the_session(
    pytester: pytest.Pytester, agent: str, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(forking=FORKING)

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", f"--agent=forking:{agent}", *options, timeout=120
    )

    result.assert_outcomes(passed=2, failed=4)
    assert 1 == result.outlines.count("=" * 35 + " FAILURES " + "=" * 35)
