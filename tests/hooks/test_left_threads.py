"""Threads that agents leave behind keep no session from ending."""

from __future__ import annotations

import sys

import pytest

KEY = "a-long-secret"
HOLDS = {
    "what was registered with atexit, which does not end": (
        "import atexit, threading\natexit.register(threading.Event().wait)"
    ),
    "the threads that still run: 'client of ***'": (
        "import threading\n"
        f"threading.Thread(target=threading.Event().wait, name='client of {KEY}').start()"
    ),
}


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("what", HOLDS, ids=["atexit", "a thread"])
@pytest.mark.parametrize(("agent", "status"), [("right", 0), ("wrong", 1)])
def test_a_process_that_somebody_holds_for_ever_ends_with_the_status_it_has_earned(
    pytester: pytest.Pytester, what: str, agent: str, status: int
) -> None:
    pytester.makeconftest(
        "import pytest\nfrom pytest_sopbench._hooks.deciding import ending\n"
        f"ending.LAST = 1.0\n{HOLDS[what]}"
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", f"--agent=habits:{agent}", f"-osop_redact={KEY}"
    )

    assert status == result.ret
    assert f"sop: left without waiting for {what}" in result.errlines
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
    pytester.makeconftest("from pytest_sopbench._hooks.deciding import ending\nending.LAST = 0.1")
    program = pytester.makepyfile(
        program="""
        import threading
        import pytest

        pytest.main(["domains"])
        threading.Event().wait(1)
        print("the program goes on", flush=True)
        """
    )

    result = pytester.run(sys.executable, program, "domains")

    assert 0 == result.ret
    assert "the program goes on" == result.outlines[-1]
    result.stdout.fnmatch_lines(["TSR   100.0% correct, 6 of 6*"])
