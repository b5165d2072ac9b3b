"""Processes that die with many runs in flight: each crash is counted once, on the right task."""

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
from typing import Any
from xml.etree import ElementTree as ET

import pytest

MakeDomain = Callable[..., Path]
DYING = ("T_05", "T_18", "T_30")

DEADLY = '''
import os
import threading
from habits import right

DYING = ("T_05", "T_18", "T_30")
lock, changed = threading.Lock(), threading.Condition()
inside = leaving = 0
doomed = False


def note(word, inputs):
    with open("notes.txt", "a") as file:
        file.write(f"{word} {inputs['sample_id']}\\n")


def agent(inputs, tools):
    """Die when three others of this process are in flight, and none of them is about to end.

    At the end of a session there may be fewer; then nobody comes for a while.
    """
    global inside, leaving, doomed
    again = os.path.exists("notes.txt") and f"begun {inputs['sample_id']}\\n" in open("notes.txt")
    note("begun", inputs)
    with changed:
        if inputs["sample_id"] in DYING and again:
            os._exit(7)
        inside += 1
        doomed = doomed or inputs["sample_id"] in DYING
        changed.notify_all()
        while doomed:
            note("held", inputs)
            if (inside == 4 and not leaving) or not changed.wait(5):
                os._exit(7)
        leaving += 1
    answer = right(inputs, tools)
    note("ended", inputs)
    with changed:
        # What ends after one that dies has come leaves its place to another.
        inside -= 1
        leaving -= 1
        changed.notify_all()
    return answer
'''


def notes(pytester: pytest.Pytester) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {"begun": Counter(), "held": Counter(), "ended": Counter()}
    for line in (pytester.path / "notes.txt").read_text().splitlines():
        word, task = line.split()
        found[word][task] += 1
    return found


@pytest.fixture
def forty(make_domain: MakeDomain, lab: Path, pytester: pytest.Pytester) -> Path:
    pytester.makepyfile(deadly=DEADLY)
    return make_domain("long", tasks=40)


COMMAND = ("--sop-domain=long", "--agent=deadly:agent", "-n2", "--sop-concurrency=8", "-rN")


@pytest.mark.usefixtures("forty")
def test_every_crash_is_blamed_on_its_task_and_no_other_pays(
    pytester: pytest.Pytester, saved: Any
) -> None:
    result = pytester.runpytest_subprocess(*COMMAND, "--junitxml=junit.xml")

    outcomes, seen = saved().outcomes, notes(pytester)
    suspects = set(seen["held"])
    everyone = {f"T_{n:02}" for n in range(1, 41)}
    assert dict.fromkeys(DYING, "crash") == {t: o for t, o in outcomes.items() if o != "correct"}
    assert everyone == set(outcomes)
    assert suspects > set(DYING)
    # What has ended is taken from the journal, and only suspects are made again, once.
    assert {1} == {seen["ended"][task] for task in everyone - set(DYING)}
    assert {1} == {seen["begun"][task] for task in everyone - suspects}
    assert {2} == {seen["begun"][task] for task in suspects - set(DYING)}
    assert max(seen["begun"].values()) == 2
    result.assert_outcomes(passed=37, failed=3)
    cases = list(ET.parse(pytester.path / "junit.xml").iter("testcase"))  # noqa: S314 - pytest's
    assert everyone == {case.get("name") for case in cases}
    assert 40 == len(cases)
    assert 1 == result.ret


@pytest.mark.usefixtures("forty")
def test_the_gate_counts_each_crash_once(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*COMMAND, "--sop-fail-under=0.9")

    result.stdout.fnmatch_lines(
        [
            "TSR    92.5%*correct, 37 of 40 *",
            "ECR *3 crash*",
            "gate   TSR >= 90% holds*",
            "*37 passed, 3 missed in*",
        ]
    )
    assert 0 == result.ret


@pytest.mark.usefixtures("lab")
def test_a_test_that_ends_its_worker_is_blamed_once(pytester: pytest.Pytester, saved: Any) -> None:
    """The run had ended; the code of the test is what dies."""
    pytester.makepyfile(
        test_dies="""
        import os

        def test_dies(sop_run):
            with open("tried.txt", "a") as file:
                file.write(sop_run.task.id + "\\n")
            if sop_run.task.id == "T_03":
                os._exit(9)
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "-n2", "--sop-concurrency=4", "test_dies.py"
    )

    tried = Counter((pytester.path / "tried.txt").read_text().split())
    # With another run in flight nobody can tell, and the test is tried once more.
    assert tried.pop("T_03") in {1, 2}
    assert dict.fromkeys(("T_01", "T_02", "T_04", "T_05", "T_06"), 1) == tried
    assert 6 == len(saved().outcomes)
    result.assert_outcomes(passed=5, failed=1)
    assert 1 == result.ret


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("redact", ["", "zebra"], ids=["whole", "redacted"])
def test_what_must_be_masked_is_in_no_journal(
    pytester: pytest.Pytester, lab: Path, *, private: bool, redact: str
) -> None:
    if private:
        path, rows = lab / "metadata.json", lab / "data.csv"
        path.write_text(json.dumps({**json.loads(path.read_text()), "private_columns": ["name"]}))
        rows.write_text("".join(f"{row},name\n" for row in rows.read_text().splitlines()))
    pytester.makepyfile(
        telling="""
        from habits import right

        def agent(inputs, tools):
            answer = right(inputs, tools)
            tools.report(messages=["a secret zebra"])
            return answer
        """,
        test_look="""
        from pathlib import Path

        def test_look(sop_run):
            # The run has ended, so that its journal has it.
            paths = Path(".sop/sessions").glob("*.journals/*.jsonl")
            text = "".join(path.read_text() for path in paths)
            with open("seen.txt", "a") as file:
                file.write(text)
        """,
    )

    result = pytester.runpytest_subprocess(
        *("--sop-domain=lab", "--agent=telling:agent", "-n1", "--sop-concurrency=4"),
        *("test_look.py", f"-osop_redact={redact}"),
    )

    text = (pytester.path / "seen.txt").read_text()
    result.assert_outcomes(passed=6)
    assert '"type":"start"' in text
    assert '"type":"run"' in text
    # Without anything to be masked the journal has it all, for a worker that takes over.
    assert ("zebra" in text) == ('"type":"trace"' in text) == (not private and not redact)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
def test_no_journal_is_left_of_a_session_that_came_to_its_end(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        looking="""
        import glob
        from habits import right

        def agent(inputs, tools):
            assert glob.glob(".sop/sessions/*.journals/*")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=looking:agent", "--sop-concurrency=4", *workers
    )

    result.assert_outcomes(passed=6)
    left = [*(pytester.path / ".sop/sessions").iterdir()]
    assert 2 == len(left)
    assert {".jsonl"} == {path.suffix for path in left}


def test_a_process_that_is_killed_leaves_the_runs_that_had_ended(
    pytester: pytest.Pytester, forty: Path
) -> None:
    """Of four places one hangs from the start, the others from the 11th run on."""
    pytester.makepyfile(
        stuck="""
        import os
        import threading
        from habits import number, right

        def agent(inputs, tools):
            with open("begun.txt", "a") as file:
                file.write(inputs["sample_id"] + "\\n")
            is_first = not os.path.exists("killed.txt")
            if is_first and (number(inputs) == 1 or number(inputs) >= 11):
                threading.Event().wait(600)
            return right(inputs, tools)
        """
    )
    command = [sys.executable, "-m", "pytest", "--sop-domain=long", "--agent=stuck:agent"]
    with (pytester.path / "said.txt").open("w") as said:
        process = subprocess.Popen(
            [*command, "--sop-concurrency=4"], cwd=pytester.path, stdout=said, stderr=said
        )
    begun, end = pytester.path / "begun.txt", time.monotonic() + 120
    while not begun.exists() or len(begun.read_text().split()) < 13:
        assert time.monotonic() < end, "never so many begun"
        time.sleep(0.05)

    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    begun.replace(pytester.path / "killed.txt")
    result = pytester.runpytest(
        "--sop-domain=long", "--agent=stuck:agent", "--sop-resume=last", "--sop-concurrency=4"
    )

    result.assert_outcomes(passed=40)
    made_again = {"T_01", *(f"T_{n}" for n in range(11, 41))}
    assert made_again == {*begun.read_text().split()}


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("-n2", "--dist=worksteal"), id="worksteal"),
        pytest.param(("-n2", "--dist=loadscope"), id="loadscope"),
        pytest.param(("-n2", "--dist=loadgroup"), id="loadgroup"),
        pytest.param(("-n2", "--dist=each"), id="each"),
    ],
)
def test_every_way_of_sharing_out_counts_each_task_once(
    pytester: pytest.Pytester, make_domain: MakeDomain, saved: Any, options: tuple[str, ...]
) -> None:
    make_domain("long", tasks=40)

    result = pytester.runpytest_subprocess(
        "--sop-domain=long", "--agent=habits:right", "--sop-concurrency=8", *options
    )

    assert 40 == len(saved().runs) == len(saved().outcomes)
    assert {"correct"} == set(saved().outcomes.values())
    result.stdout.fnmatch_lines(["TSR *correct, 40 of 40 *"])
    assert 0 == result.ret
