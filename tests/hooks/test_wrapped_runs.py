"""`pytest_sop_wrap_run`: what others put around each attempt at a run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"

WRAPPER = """
import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar

inside = ContextVar("inside", default="nothing")


def note(*words):
    with open("story.txt", "a") as file:
        file.write(" ".join(map(str, words)) + "\\n")


@contextmanager
def around(key, attempt):
    inside.set(f"{key.task}:{attempt}")
    note("enter", key.task, attempt)
    yield
    note("leave", key.task, attempt)


def pytest_sop_wrap_run(key, attempt):
    return around(key, attempt)
"""

AGENTS = """
import conftest
import habits
from pytest_sopbench import Unavailable

away = []


def agent(inputs, tools):
    conftest.note("agent", inputs["sample_id"], "sees", conftest.inside.get())
    return habits.right(inputs, tools)


async def later(inputs, tools):
    conftest.note("agent", inputs["sample_id"], "sees", conftest.inside.get())
    return await habits.right_later(inputs, tools)


def away_at_first(inputs, tools):
    conftest.note("agent", inputs["sample_id"], "sees", conftest.inside.get())
    if not away:
        away.append(1)
        raise Unavailable("not now")
    return habits.right(inputs, tools)
"""


@pytest.fixture
def story(pytester: pytest.Pytester) -> Path:
    pytester.makeconftest(WRAPPER)
    pytester.makepyfile(wrapped=AGENTS)
    return pytester.path / "story.txt"


@pytest.mark.parametrize("agent", ["agent", "later"], ids=["sync", "async"])
@pytest.mark.parametrize(
    "how",
    [
        pytest.param((), id="one by one"),
        pytest.param(("--sop-concurrency=3",), id="in flight"),
        pytest.param(("-n2",), id="workers"),
    ],
)
def test_each_run_is_made_inside_its_own_wrapper(
    pytester: pytest.Pytester, story: Path, agent: str, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest(LAB, f"--agent=wrapped:{agent}", *how)

    result.assert_outcomes(passed=6)
    lines = story.read_text().splitlines()
    for task in (f"T_0{number}" for number in range(1, 7)):
        assert [
            f"enter {task} 1",
            f"agent {task} sees {task}:1",
            f"leave {task} 1",
        ] == [line for line in lines if task in line]


def test_each_attempt_is_wrapped_and_counted(pytester: pytest.Pytester, story: Path) -> None:
    pytester.runpytest(
        LAB, "--agent=wrapped:away_at_first", "--sop-sample=first:1", "--sop-retries=1"
    ).assert_outcomes(passed=1)

    assert [
        "enter T_01 1",
        "agent T_01 sees T_01:1",
        "enter T_01 2",
        "agent T_01 sees T_01:2",
        "leave T_01 2",
    ] == story.read_text().splitlines()


FAULTS = {
    "the hook": "def pytest_sop_wrap_run(key, attempt):\n    raise OSError('no tape')\n",
    "the way in": """
        from contextlib import contextmanager

        @contextmanager
        def around():
            raise OSError("no tape")
            yield

        def pytest_sop_wrap_run(key, attempt):
            return around()
    """,
    "the way out": """
        from contextlib import contextmanager

        @contextmanager
        def around():
            yield
            raise OSError("no tape")

        def pytest_sop_wrap_run(key, attempt):
            return around()
    """,
}


@pytest.mark.parametrize("place", FAULTS)
@pytest.mark.parametrize("how", [(), ("--sop-concurrency=2",)], ids=["one by one", "in flight"])
def test_what_a_wrapper_raises_makes_the_run_an_error_with_its_reason(
    pytester: pytest.Pytester, place: str, how: tuple[str, ...]
) -> None:
    pytester.makeconftest(FAULTS[place])

    result = pytester.runpytest(
        LAB, "--agent=habits:right", "--sop-sample=first:3", "--sop-fail-under=0.5", *how
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["error: OSError: no tape: T_01, T_02, T_03", "*gate*does not hold (got 0%)*"]
    )


def test_a_wrapper_that_is_no_context_manager_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_sop_wrap_run(key, attempt): return 7")

    result = pytester.runpytest(LAB, "--agent=habits:right", "--sop-sample=first:1")

    result.stdout.fnmatch_lines(["*error: TypeError: *int' object*"])


def test_a_wrapper_cannot_swallow_what_the_agent_raised(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest("""
        from contextlib import suppress

        def pytest_sop_wrap_run(key, attempt):
            return suppress(Exception)
    """)
    pytester.makepyfile(alone="def fails(inputs):\n    raise LookupError('no such sample')\n")

    result = pytester.runpytest(LAB, "--agent=alone:fails", "--sop-sample=first:1")

    result.stdout.fnmatch_lines(["*error: LookupError: no such sample*"])


def test_a_wrapper_that_hangs_is_ended_by_the_time_limit(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import threading

        def pytest_sop_wrap_run(key, attempt):
            threading.Event().wait(300)
    """)

    result = pytester.runpytest(
        LAB, "--agent=habits:right", "--sop-sample=first:1", "--sop-timeout=0.2"
    )

    result.stdout.fnmatch_lines(["*timeout*"])


def test_the_first_of_several_wrappers_stands_outside(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        from contextlib import contextmanager

        @contextmanager
        def noting(name):
            open("order.txt", "a").write(f"enter {name}\\n")
            yield
            open("order.txt", "a").write(f"leave {name}\\n")

        class Late:
            def pytest_sop_wrap_run(self, key, attempt):
                return noting("late")

        class Silent:
            def pytest_sop_wrap_run(self, key, attempt):
                return None

        def pytest_configure(config):
            config.pluginmanager.register(Late())
            config.pluginmanager.register(Silent())

        def pytest_sop_wrap_run(key, attempt):
            return noting("early")
    """)

    pytester.runpytest(LAB, "--agent=habits:right", "--sop-sample=first:1")

    order = (pytester.path / "order.txt").read_text().split("\n")[:-1]
    assert ["enter late", "enter early", "leave early", "leave late"] == order
