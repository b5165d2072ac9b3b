"""A folder that is typed as a test path stands for the domains in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeDomain = Callable[..., Path]
COUNTED = "--sop-agent=habits:counted"
RIGHT = "--sop-agent=habits:right"

OVERLAP = pytest.mark.skipif(
    pytest.version_tuple < (9,),
    reason="pytest 8 forgets a folder beside a part of it; its tasks are then told as not run",
)

pytestmark = pytest.mark.usefixtures("lab")


@pytest.mark.parametrize(
    ("typed", "count"),
    [
        pytest.param(["domains"], 9, id="the folder of the domains"),
        pytest.param(["domains/"], 9, id="with a slash"),
        pytest.param(["domains/lab"], 6, id="the folder of one domain"),
        pytest.param(["domains/lab", "domains/clinic"], 9, id="two of them"),
        pytest.param(["domains", "domains/lab"], 9, id="a folder and one in it", marks=OVERLAP),
        pytest.param(
            ["domains", "domains/lab/data.csv"],
            9,
            id="a folder and a data file in it",
            marks=OVERLAP,
        ),
        pytest.param(
            ["domains/lab/data.csv", "domains"], 9, id="the data file first", marks=OVERLAP
        ),
        pytest.param(["domains", "domains"], 9, id="a folder twice"),
    ],
)
def test_every_task_of_its_domains_is_run_once(
    pytester: pytest.Pytester, make_domain: MakeDomain, typed: list[str], count: int
) -> None:
    make_domain("clinic", tasks=3)

    result = pytester.runpytest(*typed, COUNTED)

    result.assert_outcomes(passed=count)
    assert 0 == result.ret
    assert count == len((pytester.path / "calls.txt").read_text().splitlines())


def test_workers_find_the_same_domains(pytester: pytest.Pytester, make_domain: MakeDomain) -> None:
    make_domain("clinic", tasks=3)

    result = pytester.runpytest("domains", RIGHT, "-n2")

    result.assert_outcomes(passed=9)


def test_tests_in_the_folder_share_the_runs(pytester: pytest.Pytester) -> None:
    (pytester.path / "domains" / "test_lab.py").write_text(
        "def test_answer(sop_run):\n    sop_run.assert_correct()\n"
    )

    result = pytester.runpytest("domains", COUNTED)

    result.assert_outcomes(passed=12)
    assert 6 == len((pytester.path / "calls.txt").read_text().splitlines())


def test_a_typed_domain_chooses_among_those_of_the_folder(
    pytester: pytest.Pytester, make_domain: MakeDomain
) -> None:
    make_domain("clinic", tasks=3)

    result = pytester.runpytest("domains", "--sop-domain=clinic", RIGHT)

    result.assert_outcomes(passed=3)


def test_the_gate_of_the_session_is_asked_of_them(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("domains", "--sop-agent=habits:loses_second", "--sop-fail-under=.8")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["gate*TSR >= 80% holds*", "*5 passed, 1 missed*"])


def test_a_folder_of_sop_paths_is_one_too(
    pytester: pytest.Pytester, make_domain: MakeDomain
) -> None:
    make_domain("clinic", tasks=3, under="procedures")
    pytester.makeini("[pytest]\nsop_paths = procedures\n")

    result = pytester.runpytest("procedures", RIGHT)

    result.assert_outcomes(passed=3)


def test_a_domain_that_cannot_be_used_stops_the_session(
    pytester: pytest.Pytester, lab: Path
) -> None:
    (lab / "data.csv").unlink()

    result = pytester.runpytest("domains", RIGHT)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*lab: no rows*"])


@pytest.mark.parametrize(
    "typed", [pytest.param(["tests"], id="tests"), pytest.param(["."], id="the project"), []]
)
def test_any_other_folder_is_searched_for_tests_alone(
    pytester: pytest.Pytester, make_domain: MakeDomain, typed: list[str]
) -> None:
    """A run of an agent is paid for, so that nobody makes one by typing `pytest tests`."""
    make_domain("clinic", tasks=3, under="tests/domains")
    (pytester.path / "tests" / "test_unit.py").write_text("def test_unit(): pass\n")

    result = pytester.runpytest(*typed, RIGHT)

    result.assert_outcomes(passed=1)
