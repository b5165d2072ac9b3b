"""What each of many runs in flight has of its own: its agent, its context, its duration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pytest_sopbench._hooks.items.transport import _take_own_time


def lines_of(pytester: pytest.Pytester, name: str) -> list[str]:
    return (pytester.path / name).read_text().splitlines()


@pytest.mark.usefixtures("lab")
def test_a_class_is_made_once_for_each_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        shop="""
        import threading
        from habits import right

        # Until a run has ended well, no more than five are begun.
        meeting = threading.Barrier(5)

        class Agent:
            def __init__(self):
                with open("made.txt", "a") as file:
                    file.write("one\\n")

            def run(self, inputs, tools):
                self.sample = inputs["sample_id"]
                if self.sample != "T_01":
                    meeting.wait(60)
                assert inputs["sample_id"] == self.sample
                return right(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=shop:Agent", "--sop-concurrency=6")

    result.assert_outcomes(passed=6)
    assert 6 == len(lines_of(pytester, "made.txt"))


@pytest.mark.usefixtures("lab")
def test_what_a_fixture_sets_in_the_context_reaches_no_run(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        import stained

        @pytest.fixture(autouse=True, scope="session")
        def stain():
            stained.colour.set("red")
        """
    )
    pytester.makepyfile(
        stained="""
        from contextvars import ContextVar
        from habits import right

        colour = ContextVar("colour", default="none")

        def agent(inputs, tools):
            assert "none" == colour.get()
            colour.set("of another run")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=stained:agent", "--sop-concurrency=2")

    result.assert_outcomes(passed=6)


@pytest.mark.usefixtures("lab")
def test_a_run_that_ended_before_its_test_came_has_its_own_duration(
    pytester: pytest.Pytester, saved: Any
) -> None:
    """Else it would be next to nothing, since its test had no time to wait for it."""
    pytester.makepyfile(
        early="""
        import threading, time
        from habits import right

        ended = threading.Event()

        def agent(inputs, tools):
            if inputs["sample_id"] == "T_02":
                time.sleep(0.2)
            if inputs["sample_id"] == "T_03":
                ended.set()
            if inputs["sample_id"] == "T_01":
                assert ended.wait(60)
            return right(inputs, tools)
        """
    )

    pytester.runpytest(
        "--sop-domain=lab", "--agent=early:agent", "--sop-concurrency=2", "--junitxml=junit.xml"
    )

    cases = ET.parse(pytester.path / "junit.xml").iter("testcase")  # noqa: S314 - pytest wrote it
    reported = {case.get("name"): float(case.get("time", "nan")) for case in cases}
    (recorded,) = [one["duration_s"] for one in saved().runs if one["task"] == "T_02"]
    # JUnit has three places.
    assert recorded <= reported["T_02"] + 0.001


def test_the_time_that_a_test_waited_for_its_run_is_not_reported() -> None:
    report: Any = SimpleNamespace(duration=101.0)

    _take_own_time(report, waited=100.0, took=2.0)

    assert report.duration == 3.0
