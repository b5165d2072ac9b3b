"""What bounds runs in flight: time, calls, repetitions; and what no run may end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._running import limits as time_used

LAB = "--sop-domain=lab"

HANGING = """
import asyncio
import threading
from habits import right

never = threading.Event()


def agent(inputs, tools):
    if inputs["sample_id"] == "T_02":
        print("I hang")
        never.wait(300)
    return right(inputs, tools)


async def blocking(inputs, tools):
    if inputs["sample_id"] == "T_02":
        never.wait(300)
    await asyncio.sleep(0)
    return right(inputs, tools)


async def later(inputs, tools):
    try:
        await asyncio.sleep(300)
    except asyncio.CancelledError:
        open("cancelled.txt", "w").close()
        raise
"""


def eventually(path: Path) -> bool:
    end = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--sop-concurrency=0",), "--sop-concurrency=0: a whole*auto*", id="none"),
        pytest.param(("--sop-concurrency=x",), "--sop-concurrency=x: a whole*auto*", id="a word"),
        pytest.param(("-osop_concurrency=-1",), "sop_concurrency=-1: a whole*", id="ini"),
        pytest.param(("--sop-retries=1.5",), "--sop-retries=1.5: a whole number*", id="retries"),
        pytest.param(("--sop-timeout=-1",), "--sop-timeout=-1: seconds expected*", id="time-out"),
        pytest.param(("--sop-timeout=soon",), "--sop-timeout=soon: seconds*", id="soon"),
        pytest.param(("--sop-timeout=nan",), "--sop-timeout=nan: seconds expected*", id="nan"),
        pytest.param(
            ("-n4", "--sop-concurrency=2"), "--sop-concurrency=2: 4 workers*", id="few for workers"
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    result = pytester.runpytest(LAB, "--agent=habits:right", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_an_agent_that_blocks_its_loop_times_out_alone(
    pytester: pytest.Pytester, concurrency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The loop that is left never comes back, however long the others wait for it.
    monkeypatch.setattr(time_used, "PATIENCE", 0.5)
    pytester.makepyfile(hanging=HANGING)
    options = ("--sop-timeout=4", f"--sop-concurrency={concurrency}")

    result = pytester.runpytest(LAB, "--agent=hanging:blocking", *options)

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::T_02 - timeout: still running after 4 s"])


@pytest.mark.usefixtures("lab")
def test_concurrency_and_retries_may_stand_in_the_configuration(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml(
        "[tool.pytest]\nsop_concurrency = 6\naddopts = ['--sop-retries=1', '--sop-timeout=300']\n"
    )
    pytester.makepyfile(
        meeting="""
        import threading
        from habits import right

        # Until a run has ended well, no more than five are begun.
        meeting, seen = threading.Barrier(5), {"T_01"}

        def agent(inputs, tools):
            from pytest_sopbench import Unavailable

            if inputs["sample_id"] not in seen:
                meeting.wait(60)
                seen.add(inputs["sample_id"])
                raise Unavailable
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest(LAB, "--agent=meeting:agent")

    result.assert_outcomes(passed=6)


@pytest.mark.usefixtures("lab")
def test_an_agent_that_hangs_is_timed_out_and_the_others_are_judged(
    pytester: pytest.Pytester, saved: Any
) -> None:
    pytester.makepyfile(hanging=HANGING)

    # Long enough for a run that does nothing, whatever else the machine has to do.
    result = pytester.runpytest_subprocess(
        LAB, "--agent=hanging:agent", "--sop-concurrency=2", "--sop-timeout=5s"
    )

    result.assert_outcomes(passed=5, failed=1)
    assert "timeout" == saved().outcomes.pop("T_02")
    assert {"correct": 5, "timeout": 1} == Counter(saved().outcomes.values())
    result.stdout.fnmatch_lines(
        [
            "*Captured stdout*",
            "I hang",
            "alarm  1 timed-out agent may go on calling models: lab/T_02",
        ]
    )


@pytest.mark.usefixtures("lab")
def test_an_async_agent_that_hangs_is_cancelled(pytester: pytest.Pytester, saved: Any) -> None:
    pytester.makepyfile(hanging=HANGING)

    result = pytester.runpytest(f"{LAB}::T_01", "--agent=hanging:later", "--sop-timeout=0.3")

    assert "timeout" == saved().outcomes["T_01"]
    assert eventually(pytester.path / "cancelled.txt")
    result.stdout.no_fnmatch_line("alarm*")


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("swallowed", ["Exception", "BaseException"])
def test_an_agent_that_swallows_the_limit_of_calls_has_passed_it(
    pytester: pytest.Pytester, saved: Any, swallowed: str
) -> None:
    pytester.makepyfile(
        greedy=f"""
        from habits import right

        def agent(inputs, tools):
            answer = right(inputs, tools)
            if inputs["sample_id"] == "T_03":
                for _ in range(9):
                    try:
                        tools.call("measure", sample_id="T_03")
                    except {swallowed}:
                        pass
            return answer
        """
    )

    pytester.runpytest(LAB, "--agent=greedy:agent", "--sop-concurrency=6", "-osop_max_calls=3")

    assert "call_limit" == saved().outcomes["T_03"]
    assert {"correct": 5, "call_limit": 1} == Counter(saved().outcomes.values())


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
@pytest.mark.parametrize("raised", ["SystemExit(0)", "KeyboardInterrupt", "GeneratorExit"])
def test_what_an_agent_in_flight_raises_ends_nothing_else(
    pytester: pytest.Pytester, saved: Any, raised: str, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        leaving=f"""
        from habits import right

        def agent(inputs, tools):
            if inputs["sample_id"] == "T_02":
                raise {raised}
            return right(inputs, tools)

        async def later(inputs, tools):
            return agent(inputs, tools)
        """
    )

    for agent in ("agent", "later"):
        result = pytester.runpytest(
            LAB, f"--agent=leaving:{agent}", "--sop-concurrency=6", *workers
        )

        result.assert_outcomes(passed=5, failed=1)
        assert "error" == saved().outcomes["T_02"]


@pytest.mark.usefixtures("lab")
def test_a_run_whose_provider_comes_back_is_made_again(
    pytester: pytest.Pytester, saved: Any
) -> None:
    pytester.makepyfile(
        away="""
        from collections import Counter
        from habits import right
        from pytest_sopbench import Unavailable

        tried = Counter()

        def agent(inputs, tools):
            tried[inputs["sample_id"]] += 1
            if inputs["sample_id"] in ("T_02", "T_04") and tried[inputs["sample_id"]] <= 2:
                raise Unavailable
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest(LAB, "--agent=away:agent", "--sop-concurrency=6", "--sop-retries=2")

    result.assert_outcomes(passed=6)
    assert 6 == Counter(saved().outcomes.values())["correct"]
    result.stdout.fnmatch_lines(
        ["note   2 runs made again, as the provider was not available before"]
    )


@pytest.mark.usefixtures("lab")
@pytest.mark.skipif(sys.platform == "win32", reason="pytest-timeout has no signals there")
def test_a_plugin_that_ends_the_waiting_test_ends_its_run_alone(
    pytester: pytest.Pytester, saved: Any
) -> None:
    pytester.makepyfile(hanging=HANGING)

    result = pytester.runpytest_subprocess(
        LAB, "--agent=hanging:agent", "--sop-concurrency=2", "-ptimeout", "--timeout=5"
    )

    result.assert_outcomes(passed=5, failed=1)
    assert "timeout" == saved().outcomes["T_02"]
    assert 5 == Counter(saved().outcomes.values())["correct"]


SCARCE = """
import threading

# It is called otherwise from 3.13 on.
name = "_start_new_thread" if hasattr(threading, "_start_new_thread") else "_start_joinable_thread"
begin = getattr(threading, name)
left = {left}


def scarce(*args, **named):
    global left
    if not left:
        raise RuntimeError("can't start new thread")
    left -= 1
    return begin(*args, **named)


def pytest_runtestloop():
    # As where RLIMIT_NPROC is reached: whoever asks for a thread is refused.
    setattr(threading, name, scarce)
"""


@pytest.mark.parametrize(
    ("left", "status", "line"),
    [
        pytest.param(4, 0, "TSR   100.0% correct, 6 of 6*", id="those there are have to do"),
        pytest.param(
            0, 4, "*RuntimeError: the run could not be started: can't start new*", id="none"
        ),
    ],
)
def test_where_threads_run_out_runs_wait_or_end_as_errors_with_the_reason(
    pytester: pytest.Pytester, lab: Path, left: int, status: int, line: str
) -> None:
    pytester.makeconftest(SCARCE.format(left=left))

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "--sop-concurrency=8"
    )

    assert status == result.ret
    result.stdout.fnmatch_lines([line])


@pytest.mark.usefixtures("lab")
def test_runs_that_end_beside_the_one_that_ends_the_session_are_no_fault_of_the_disk(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """All six time out at once, and the first of them is told of while the disk is slow."""
    pytester.makepyfile(hanging=HANGING)
    pytester.makeconftest(
        """
        import time
        from pytest_sopbench._sessions.journal import Journal

        end = Journal.end

        def slow(*given):
            time.sleep(0.04)
            end(*given)

        Journal.end = slow
        """
    )

    result = pytester.runpytest_subprocess(
        LAB, "--sop-agent=hanging:later", "-x", "--sop-concurrency=6", "--sop-timeout=1", *workers
    )

    result.stdout.no_fnmatch_line("*cannot be used*")
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])
