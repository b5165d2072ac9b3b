"""Threads that agents leave behind keep no session from ending."""

from __future__ import annotations

import os
import sys
from threading import Event, Thread

import pytest

from pytest_sopbench._hooks.process import left_threads
from pytest_sopbench._hooks.process.left_threads import LeftThreads


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The statuses with which the process was left, which goes on all the same."""
    statuses: list[int] = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    monkeypatch.setattr(left_threads, "_last_calls", lambda: None)
    return statuses


def events(*, goes_on: bool) -> tuple[Event, Event]:
    waits, over = Event(), Event()
    waits.set()
    if goes_on:
        over.set()
    return waits, over


def test_the_process_is_left_with_the_status_of_its_session(
    left: list[int], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda _, text: told.append(text))
    threads, held = LeftThreads(lambda text: text.replace("key", "***")), Event()
    threads.pytest_sessionfinish(request.session)
    thread = Thread(target=held.wait, daemon=False, name="client of key")
    thread.start()

    threads.end(*events(goes_on=False), patience=0.01)
    held.set()
    thread.join()

    assert [int(request.session.exitstatus)] == left
    assert b"threads that still run: 'client of ***'" in told[0]


def test_threads_that_end_in_time_are_not_blamed_for_what_holds_the_process_after_them(
    left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda _, text: told.append(text))

    LeftThreads(str).end(*events(goes_on=True), last=0)

    assert [0] == left
    assert [
        b"sop: left without waiting for what was registered with atexit, which does not end\n"
    ] == (told)


HOLDS = {
    "atexit": "import atexit, threading\natexit.register(threading.Event().wait)",
    "a thread": "import threading\nthreading.Thread(target=threading.Event().wait).start()",
}


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("what", HOLDS)
@pytest.mark.parametrize(("agent", "status"), [("right", 0), ("wrong", 1)])
def test_a_process_that_somebody_holds_for_ever_ends_with_the_status_it_has_earned(
    pytester: pytest.Pytester, what: str, agent: str, status: int
) -> None:
    pytester.makeconftest(
        "import pytest\nfrom pytest_sopbench._hooks.process import left_threads\n"
        f"left_threads.LAST = 1.0\n{HOLDS[what]}"
    )

    result = pytester.runpytest_subprocess("--sop-domain=lab", f"--agent=habits:{agent}")

    assert status == result.ret
    result.stderr.fnmatch_lines(["sop: left without waiting for *"])
    assert not list((pytester.path / ".sop/sessions").glob("*.running"))


@pytest.mark.usefixtures("lab")
def test_a_process_that_nobody_holds_says_nothing_of_it(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:right")

    assert 0 == result.ret
    result.stderr.no_fnmatch_line("*left without waiting*")


@pytest.mark.usefixtures("lab")
def test_a_program_that_calls_pytest_goes_on_as_long_as_it_likes(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\naddopts = --sop-domain=lab --sop-agent=habits:right")
    pytester.makeconftest(
        "from pytest_sopbench._hooks.process import left_threads\nleft_threads.LAST = 0.1"
    )
    program = pytester.makepyfile(
        program="""
        import threading
        import pytest

        pytest.main(["domains"])
        threading.Event().wait(1)
        print("the program goes on")
        """
    )

    result = pytester.run(sys.executable, program, "domains")

    assert 0 == result.ret
    assert "the program goes on" == result.outlines[-1]
    result.stdout.fnmatch_lines(["TSR   100.0% correct, 6 of 6*"])
