"""Many runs in flight in one process: they overlap, no more than N, and nobody sees a difference.

Agents meet at barriers, so that a run which is not in flight beside the others would never end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MakeDomain = Callable[..., Path]

MEETING = """
import threading
from habits import right

meeting = threading.Barrier({parties})


def agent(inputs, tools):
    # Until a run has ended well, no more than five are begun.
    if int(inputs["sample_id"][2:]) > {alone}:
        meeting.wait(60)
    return right(inputs, tools)
"""

CROWD = '''
import os
import threading
from habits import right

lock, full = threading.Lock(), threading.Event()
inside = 0
begun = []


def note(line):
    with open("seen.txt", "a") as file:
        file.write(line + "\\n")


def agent(inputs, tools):
    """Wait until as many are in flight as shall be, and tell how many there were."""
    global inside
    with lock:
        begun.append(inputs["sample_id"])
        if len(begun) == 1:
            # Until a run has ended well, no more than five are begun.
            return right(inputs, tools)
        inside += 1
        note(f"{os.getpid()} {inside} {inputs['sample_id']}")
        if inside == int(os.environ["EXPECTED"]):
            full.set()
    assert full.wait(60), "never so many in flight"
    answer = right(inputs, tools)
    with lock:
        inside -= 1
    return answer
'''

STORY = """
import pytest


def note(line):
    with open("story.txt", "a") as file:
        file.write(line + "\\n")


def pytest_runtest_logstart(nodeid):
    note("test " + nodeid[-4:])


def pytest_runtest_logfinish(nodeid):
    note("end " + nodeid[-4:])
"""

TELLING = """
from habits import right
from conftest import note


def agent(inputs, tools):
    note("run " + inputs["sample_id"])
    return right(inputs, tools)
"""

ALONE = [f"{what} T_{n:02}" for n in range(1, 7) for what in ("test", "run", "end")]


def lines_of(pytester: pytest.Pytester, name: str) -> list[str]:
    return (pytester.path / name).read_text().splitlines()


def peaks(pytester: pytest.Pytester) -> list[int]:
    """The most runs in flight that each process has seen, in ascending order."""
    most: dict[str, int] = {}
    for line in lines_of(pytester, "seen.txt"):
        process, inside, _ = line.split()
        most[process] = max(most.get(process, 0), int(inside))
    return sorted(most.values())


@pytest.fixture
def many(lab: Path, make_domain: MakeDomain, pytester: pytest.Pytester) -> Path:
    """The domain `long` with 40 tasks, beside `lab`."""
    pytester.makepyfile(crowd=CROWD)
    return make_domain("long", tasks=40)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("parties", ["4", "8"])
def test_runs_overlap(pytester: pytest.Pytester, parties: str) -> None:
    """The barrier breaks unless as many are in flight as were asked for."""
    pytester.makepyfile(meeting=MEETING.format(parties=parties, alone=8))

    result = pytester.runpytest(
        "--sop-domain=long", "--agent=meeting:agent", f"--sop-concurrency={parties}"
    )

    result.assert_outcomes(passed=40)
    result.stdout.fnmatch_lines([f"sop: 40 runs, {parties} in flight", "TSR *correct, 40 of 40 *"])


@pytest.mark.usefixtures("lab")
def test_as_many_as_the_provider_bears_overlap(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(meeting=MEETING.format(parties=5, alone=1))

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=meeting:agent", "--sop-concurrency=auto"
    )

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["sop: 6 runs, as many in flight as the provider bears"])


@pytest.mark.usefixtures("many")
def test_async_runs_overlap_on_one_loop(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        later="""
        import asyncio
        from habits import right_later

        inside, full = [], asyncio.Event()

        async def agent(inputs, tools):
            inside.append(asyncio.get_running_loop())
            if len(inside) == 1:
                # Until a run has ended well, no more than five are begun.
                return await right_later(inputs, tools)
            if len(inside) == 9:
                full.set()
            await asyncio.wait_for(full.wait(), 60)
            assert 1 == len(set(map(id, inside)))
            return await right_later(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=long", "--agent=later:agent", "--sop-concurrency=8")

    result.assert_outcomes(passed=40)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("options", "each", "expected"),
    [
        pytest.param(("--sop-concurrency=8",), "8", [8], id="plain"),
        pytest.param(("--sop-concurrency=8", "-n2"), "4", [4, 4], id="shared out"),
        pytest.param(("--sop-concurrency=5", "-n2"), "2", [2, 3], id="with a remainder"),
    ],
)
def test_never_more_are_in_flight_than_were_asked_for(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    each: str,
    expected: list[int],
) -> None:
    monkeypatch.setenv("EXPECTED", each)

    result = pytester.runpytest("--sop-domain=long", "--agent=crowd:agent", *options)

    found = peaks(pytester)
    result.assert_outcomes(passed=40)
    assert len(expected) == len(found)
    # How many of a larger share are needed at a time is for the machine to say.
    assert all(int(each) <= one <= most for one, most in zip(found, expected, strict=True))


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="nothing said"),
        pytest.param(("--sop-concurrency=1",), id="one"),
        pytest.param(("--sop-concurrency=1", "--sop-timeout=0"), id="main thread"),
    ],
)
def test_a_run_begins_when_its_test_asks_for_it(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytester.makeconftest(STORY)
    pytester.makepyfile(telling=TELLING)

    pytester.runpytest("--sop-domain=lab", "--agent=telling:agent", *options)

    assert ALONE == lines_of(pytester, "story.txt")


@pytest.mark.usefixtures("many")
def test_items_ids_and_reports_are_as_without(pytester: pytest.Pytester, saved: Any) -> None:
    command = ("--sop-domain=long", "--agent=habits:fifths_and_sevenths", "-v", "--tb=short")

    found: list[Any] = []
    for count in ("1", "16"):
        result = pytester.runpytest(*command, f"--sop-concurrency={count}")
        said = [line for line in result.outlines if "data.csv" in line or line.startswith("E ")]
        own = {"crc": "", "duration_s": 0}
        runs = [{**one, **own, "calls": len(one["calls"])} for one in saved().runs]
        found.append((result.parseoutcomes(), said, runs))

    assert len(found[0][1]) > 40
    assert found[0] == found[1]


@pytest.mark.usefixtures("lab")
def test_two_tests_share_one_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_pair="""
        def test_first(sop_run): pass
        def test_second(sop_run): pass
        """
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:counted", "--sop-concurrency=8", "test_pair.py"
    )

    result.assert_outcomes(passed=12)
    assert dict.fromkeys((f"T_{n:02}" for n in range(1, 7)), 1) == Counter(
        lines_of(pytester, "calls.txt")
    )
