"""However an agent ends the process, the session is not green, or is known not to have ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.commands import ran

pytestmark = pytest.mark.usefixtures("lab")

RUN = ("--sop-domain=lab", "--agent=ends:agent")
RIGHT = ("--sop-domain=lab", "--agent=habits:right")
IN_C = "import ctypes\ndef agent(inputs): ctypes.CDLL(None)._exit(0)"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a function of POSIX systems")


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param("from os import _exit\ndef agent(inputs): _exit(0)", id="by its own name"),
        pytest.param(
            "import posix\ndef agent(inputs): posix._exit(0)",
            id="where os has it from",
            marks=POSIX,
        ),
        pytest.param("import os\nos._exit(0)", id="while it is imported"),
        pytest.param(
            "import atexit, os\natexit.register(os._exit, 0)\ndef agent(inputs): return 'wrong'",
            id="at exit",
        ),
        pytest.param(
            """
            import os, threading

            def late():
                threading.main_thread().join()
                os._exit(0)

            def agent(inputs):
                if inputs["sample_id"] == "T_06":
                    threading.Thread(target=late, daemon=False).start()
                return "wrong"
            """,
            id="by a thread that is left",
        ),
    ],
)
def test_an_agent_cannot_end_a_session_with_success(pytester: pytest.Pytester, agent: str) -> None:
    pytester.makepyfile(ends=agent)

    result = pytester.runpytest_subprocess(*RUN)

    assert 1 == result.ret
    result.stderr.fnmatch_lines(["sop: *ended the process with os._exit(0)*"])


def test_the_tools_of_a_domain_cannot_end_a_session_with_success(
    pytester: pytest.Pytester, lab: Path
) -> None:
    metadata = lab / "metadata.json"
    (lab / "tools.py").write_text("from os import _exit\n_exit(0)\n")
    metadata.write_text(metadata.read_text().partition(', "tools"')[0] + "}")

    result = pytester.runpytest_subprocess(*RIGHT)

    assert 1 == result.ret


def test_a_conftest_that_has_the_function_from_before_is_guarded_too(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest("from os import _exit")
    pytester.makepyfile(ends="import conftest\ndef agent(inputs): conftest._exit(0)")

    result = pytester.runpytest_subprocess(*RUN)

    assert 1 == result.ret


def test_another_program_does_not_take_the_place_of_the_session(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        ends="""
        import os
        from habits import number, right

        def agent(inputs, tools):
            if number(inputs) == 3:
                os.execlp("true", "true")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest_subprocess(*RUN)

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*in the place of the session; start it with subprocess*"])


def test_children_of_an_agent_end_as_they_like(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ends="""
        import multiprocessing, os, subprocess, sys
        from habits import right

        def leave():
            os._exit(0)

        def agent(inputs, tools):
            child = multiprocessing.get_context("fork").Process(target=leave)
            child.start()
            child.join()
            other = subprocess.run([sys.executable, "-c", "import os; os._exit(0)"])
            assert child.exitcode == other.returncode == 0
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest_subprocess("--sop-domain=lab::T_03", RUN[1])

    assert 0 == result.ret


@POSIX
def test_an_end_that_no_guard_can_see_is_told_by_gate(
    pytester: pytest.Pytester, newest: Callable[[], Path | None]
) -> None:
    """The exit status is the C library's; the session before this one held its gate."""
    pytester.runpytest(*RIGHT, "--sop-fail-under=0.5")
    pytester.makepyfile(ends=IN_C)
    pytester.runpytest_subprocess(*RUN, "--sop-fail-under=0.5")
    session = newest()
    assert session is not None

    text = ran("gate", "last")
    as_json = ran("gate", "last", "--json")
    by_name = ran("gate", session.stem)

    assert [1, 1, 1] == [text.ret, as_json.ret, by_name.ret]
    text.stdout.fnmatch_lines([f"gate   the last session did not end: {session.stem}, begun * UTC"])
    as_json.stdout.fnmatch_lines(['*"state": "fails"*', f"*did not end: {session.stem}, *"])


@POSIX
def test_an_end_that_no_guard_can_see_is_told_by_the_next_session_once(
    pytester: pytest.Pytester, newest: Callable[[], Path | None]
) -> None:
    pytester.makepyfile(ends=IN_C)
    pytester.runpytest_subprocess(*RUN)
    session = newest()
    assert session is not None

    first = pytester.runpytest(*RIGHT, "-q")
    second = pytester.runpytest(*RIGHT)

    told = f"*the session {session.stem} before this one did not end; go on with --sop-resume=*"
    assert [0, 0] == [first.ret, second.ret]
    first.stdout.fnmatch_lines([told])
    second.stdout.no_fnmatch_line(told)


@POSIX
def test_a_process_that_ends_before_any_run_is_told_by_gate(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ends="import ctypes\nctypes.CDLL(None)._exit(0)")
    pytester.runpytest_subprocess(*RUN)

    result = ran("gate", "last", "--fail-under=0.5")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   the last session did not end: *"])


def test_a_session_that_ends_leaves_no_mark(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess(*RIGHT)
    pytester.runpytest_subprocess("--sop-domain=lab", "--agent=none:agent")

    assert [] == [*(pytester.path / ".sop/sessions").glob("*.running")]


def test_a_program_that_calls_pytest_ends_as_it_likes_afterwards(
    pytester: pytest.Pytester,
) -> None:
    script = pytester.makepyfile(
        program=f"""
        import os, pytest
        assert pytest.main([*{RUN!r}]) == 1
        os._exit(0)
        """,
        ends="def agent(inputs): return 'wrong'",
    )

    assert 0 == pytester.runpython(script).ret
