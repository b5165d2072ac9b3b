"""What runs in flight print and log is each run's own; what has ended when all ends is kept."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MakeDomain = Callable[..., Path]
LAB = "--sop-domain=lab"

CHATTY = """
import contextvars
import logging
import sys
import threading

meeting = threading.Barrier(8)


def agent(inputs):
    for number in range(5):
        # All eight write between any two lines of one. Until a run has ended well, no more than
        # five are begun, so the first one waits for none.
        if inputs["sample_id"] != "T_01":
            meeting.wait(60)
        print(f"said {inputs['sample_id']} {number}")
        print(f"cried {inputs['sample_id']} {number}", file=sys.stderr)
        logging.getLogger("desk").warning("logged %s %s", inputs["sample_id"], number)
        words = f"threaded {inputs['sample_id']} {number}"
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(print, words))
        thread.start()
        thread.join()
    return {"grade": "unknown"}
"""

WHERE = """
import threading
from habits import right


def agent(inputs, tools):
    with open("where.txt", "a") as file:
        file.write(f"{threading.current_thread() is threading.main_thread()}\\n")
    return right(inputs, tools)
"""

IN_MAIN = "sop: runs are made one at a time in the main thread, without a limit of time"


def said_under(result: pytest.RunResult) -> dict[str, list[tuple[str, str, str]]]:
    """What was shown under the failure of each task: the words, the task, the number."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    task = ""
    for line in result.outlines:
        if heading := re.fullmatch(r"_+ lab\[(T_\d+)\] _+", line):
            task = heading[1]
        elif said := re.search(r"\b(said|cried|logged|threaded) (T_\d+) (\d)$", line):
            found.setdefault(task, []).append((said[1], said[2], said[3]))
    return found


@pytest.mark.parametrize(
    ("capture", "workers"),
    [
        pytest.param("--capture=fd", "-n0", id="fd"),
        pytest.param("--capture=sys", "-n0", id="sys"),
        pytest.param("--capture=tee-sys", "-n0", id="tee"),
        pytest.param("--capture=fd", "-n1", id="a worker"),
    ],
)
def test_each_run_has_its_own_output_under_its_failure(
    pytester: pytest.Pytester, make_domain: MakeDomain, capture: str, workers: str
) -> None:
    make_domain(tasks=17)
    pytester.makepyfile(chatty=CHATTY)

    result = pytester.runpytest_subprocess(
        LAB, "--agent=chatty:agent", "--sop-concurrency=8", capture, workers, "-rN", "--tb=auto"
    )

    words = ("said", "cried", "logged", "threaded")
    expected = [(word, str(number)) for number in range(5) for word in words]
    found = said_under(result)
    assert {f"T_{n:02}" for n in range(1, 18)} == set(found)
    for task, lines in found.items():
        assert {task} == {of for _, of, _ in lines}
        assert expected == [(word, number) for word, _, number in lines]


@pytest.mark.usefixtures("lab")
def test_runs_that_are_right_print_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        quiet="""
        import logging, sys
        from habits import right

        def agent(inputs, tools):
            print("said")
            print("cried", file=sys.stderr)
            logging.warning("logged")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest_subprocess(LAB, "--agent=quiet:agent", "--sop-concurrency=6")

    result.assert_outcomes(passed=6)
    for word in ("said", "cried", "logged"):
        assert word not in result.stdout.str() + result.stderr.str()


@pytest.mark.usefixtures("lab")
def test_fixtures_of_a_test_catch_nothing_of_runs(pytester: pytest.Pytester) -> None:
    """The test waits until the others have written while it holds `caplog` and `capsys`."""
    pytester.makepyfile(
        loud="""
        import logging, threading
        from habits import right

        go, lock, all_said, said = threading.Event(), threading.Lock(), threading.Event(), []

        def agent(inputs, tools):
            if inputs["sample_id"] != "T_01":
                assert go.wait(60)
            print("printed by", inputs["sample_id"])
            logging.warning("logged by %s", inputs["sample_id"])
            with lock:
                said.append(1)
                if len(said) == 6:
                    all_said.set()
            return right(inputs, tools)
        """,
        test_catch="""
        import logging
        import loud

        def test_catch(sop_run, caplog, capsys):
            print("mine")
            logging.warning("my own")
            loud.go.set()
            assert loud.all_said.wait(60)
            assert ["my own"] == caplog.messages
            assert "mine\\n" == capsys.readouterr().out
        """,
    )

    result = pytester.runpytest(LAB, "--agent=loud:agent", "--sop-concurrency=6", "test_catch.py")

    result.assert_outcomes(passed=6)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "is_main"),
    [
        pytest.param(("-s",), True, id="-s"),
        pytest.param(("--pdb",), True, id="pdb"),
        pytest.param(("--capture=no", "--sop-concurrency=6"), True, id="-s wins over many"),
        pytest.param(("--sop-concurrency=1", "--sop-timeout=0"), True, id="one without a limit"),
        pytest.param((), False, id="nothing said"),
        pytest.param(("--sop-concurrency=6",), False, id="many"),
    ],
)
def test_the_user_can_have_runs_made_in_the_main_thread(
    pytester: pytest.Pytester, options: tuple[str, ...], is_main: bool
) -> None:
    pytester.makepyfile(where=WHERE)

    result = pytester.runpytest_subprocess(LAB, "--agent=where:agent", *options)

    assert [str(is_main)] * 6 == (pytester.path / "where.txt").read_text().split()
    assert ("--sop-timeout=0" in options or is_main) == (IN_MAIN in result.outlines) or (
        "--sop-timeout=0" in options
    )


def test_ctrl_c_keeps_what_has_ended_before_its_test_came(
    pytester: pytest.Pytester, make_domain: MakeDomain
) -> None:
    """Of 40 runs the 1st and those from the 20th on hang; 16 in flight means 34 begun."""
    make_domain(tasks=40)
    pytester.makepyfile(
        stuck="""
        import threading
        from habits import number, right

        def agent(inputs, tools):
            with open("begun.txt", "a") as file:
                file.write(inputs["sample_id"] + "\\n")
            if number(inputs) == 1 or number(inputs) >= 20:
                threading.Event().wait(600)
            return right(inputs, tools)
        """,
        habits="""
        def number(inputs):
            return int(inputs["sample_id"].rpartition("_")[2])

        def right(inputs, tools):
            reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
            return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
        """,
    )
    command = [sys.executable, "-m", "pytest", LAB, "--agent=stuck:agent", "--sop-concurrency=16"]
    process = subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    begun, end = pytester.path / "begun.txt", time.monotonic() + 120
    while not begun.exists() or len(begun.read_text().split()) < 34:
        assert time.monotonic() < end, "never so many begun"
        time.sleep(0.05)

    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=120)

    lines = (pytester.path / ".sop/sessions/last.jsonl").read_text().splitlines()
    runs: list[dict[str, Any]] = [json.loads(line) for line in lines[1:-1]]
    outcomes = {run["task"]: run["outcome"] for run in runs}
    assert 2 == process.returncode
    assert 40 == len(runs) == len(outcomes)
    assert {"correct": 18, "not_run": 22} == Counter(outcomes.values())
    assert {"correct"} == {outcomes[f"T_{n:02}"] for n in range(2, 20)}
    assert "note   18 runs ended before any test asked for them, so not run" in output
    assert "note   16 runs were interrupted, 6 runs were never started;\n" in output
    assert "       the same command with --sop-resume=last makes them\n" in output
    reasons = Counter(run["reason"] for run in runs if run["outcome"] == "not_run")
    assert {"it had begun when the session was cut short": 16, "it was never started": 6} == reasons
