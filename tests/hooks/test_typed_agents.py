"""An agent that was typed with the command, and of which no test has asked for a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED = 0, 1
LAB: Final = "--sop-domain=lab"
TYPED: Final = "--agent=habits:wrong"
GATE: Final = "--sop-fail-under=0.9"
UNUSED: Final = "*no test asked for a run of the typed agent habits:wrong, which fails the session"
MARKED: Final = """
import pytest

@pytest.mark.sop(agent="habits:right")
def test_marked(sop_run):
    sop_run.assert_correct()
"""
STANDS_FOR_IT: Final = """
import habits, pytest

@pytest.fixture
def sop_agent():
    return habits.right

def test_with_a_fixture(sop_run):
    sop_run.assert_correct()
"""
WRAPS_IT: Final = """
import pytest

@pytest.fixture
def sop_agent(request):
    return request.getfixturevalue("sop_agent")

@pytest.mark.sop(answer="ignored")
def test_with_a_fixture(sop_run):
    assert sop_run.outcome == "wrong"
"""
BY_ITSELF: Final = """
def test_by_itself(sop_task, sop_agent):
    assert sop_agent({}) == {"grade": "unknown"}
"""
PLAIN: Final = "def test_unit(): pass\n"


@pytest.mark.parametrize("gate", [pytest.param((), id="no gate"), pytest.param((GATE,), id="gate")])
@pytest.mark.parametrize(
    "body", [pytest.param(MARKED, id="a mark"), pytest.param(STANDS_FOR_IT, id="a fixture")]
)
def test_it_fails_the_session(pytester: pytest.Pytester, body: str, gate: tuple[str, ...]) -> None:
    pytester.makepyfile(test_own=body)

    result = pytester.runpytest(LAB, TYPED, "test_own.py", *gate)

    assert FAILED == result.ret
    said = [UNUSED] if not gate else ["gate   not evaluated: *habits:wrong,", "*fails the session"]
    result.stdout.fnmatch_lines(said)
    result.stdout.no_fnmatch_line("sop: *agent habits:wrong")
    result.stdout.no_fnmatch_line("gate*holds*")


@pytest.mark.parametrize(
    "more", [pytest.param(("-k", "T_01"), id="-k"), pytest.param(("--sop-concurrency=2",), id="2")]
)
def test_it_fails_a_part_of_it_too(pytester: pytest.Pytester, more: tuple[str, ...]) -> None:
    pytester.makepyfile(test_own=MARKED)

    result = pytester.runpytest(LAB, TYPED, "test_own.py", GATE, *more)

    assert FAILED == result.ret
    result.stdout.no_fnmatch_line("gate*holds*")


def test_one_of_several_fails_the_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=MARKED)

    result = pytester.runpytest(LAB, TYPED, "--agent=habits:right", "test_own.py")

    assert FAILED == result.ret
    result.stdout.fnmatch_lines([UNUSED])


def test_the_gate_of_the_file_is_open(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=MARKED)
    pytester.runpytest(LAB, TYPED, "test_own.py", GATE)

    result = CliRunner().invoke(main, ["gate", "last"])

    assert 3 == result.exit_code
    assert "no test asked for a run of the typed agent habits:wrong" in result.output


def test_without_any_run_it_fails_too(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(test_own=PLAIN)

    result = pytester.runpytest(TYPED, "test_own.py", *workers)

    assert FAILED == result.ret
    result.stdout.fnmatch_lines([UNUSED])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{MARKED}\n\ndef test_too(sop_run): sop_run.assert_correct()\n", id="beside"),
        pytest.param(WRAPS_IT, id="a fixture that asks for it"),
        pytest.param(BY_ITSELF, id="a test that calls it"),
    ],
)
def test_one_that_is_run_fails_nothing_by_that(pytester: pytest.Pytester, body: str) -> None:
    pytester.makepyfile(test_own=body)

    result = pytester.runpytest(LAB, TYPED, "test_own.py")

    assert body.startswith(MARKED) is (result.ret == FAILED)
    result.stdout.no_fnmatch_line("*typed agent*")


@pytest.mark.parametrize("ini", ["sop_agent = habits:wrong", f"addopts = {TYPED}"])
def test_one_of_the_configuration_may_be_replaced(pytester: pytest.Pytester, ini: str) -> None:
    pytester.makepyfile(test_own=MARKED)
    pytester.makeini(f"[pytest]\n{ini}")

    result = pytester.runpytest(LAB, "test_own.py", GATE)

    assert OK == result.ret


def test_a_shard_that_the_hash_leaves_empty_lacks_no_agent(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own="def test_it(sop_run): sop_run.assert_correct()")
    right = "--agent=habits:right"

    made = [
        int(pytester.runpytest(LAB, right, "test_own.py", f"--sop-shard={n}/12").ret)
        for n in range(1, 13)
    ]

    assert {OK} == {*made}


def test_the_saved_session_says_who_ran(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=MARKED)

    result = pytester.runpytest(LAB, TYPED, "test_own.py")

    first = (pytester.path / ".sop/sessions/last.jsonl").read_text().partition("\n")[0]
    assert "habits:right" == json.loads(first)["agent"]
    result.stdout.fnmatch_lines(["sop: agent habits:right"])


def test_a_session_that_marks_have_run_is_resumed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own=MARKED)
    pytester.makeini("[pytest]\nsop_agent = habits:wrong")
    pytester.runpytest(LAB, "test_own.py")

    result = pytester.runpytest(LAB, "test_own.py", "--sop-resume=last")

    assert OK == result.ret, result.stderr.str()


LATE = {
    "as it is collected": "def pytest_itemcollected(item): item.add_marker(MARK)",
    "once all are": (
        "def pytest_collection_modifyitems(items):\n    [item.add_marker(MARK) for item in items]"
    ),
    "as it is set up": (
        "@pytest.fixture(autouse=True)\ndef marked(request): request.node.add_marker(MARK)"
    ),
}


@pytest.mark.parametrize("how", LATE)
def test_a_mark_that_is_added_late_files_no_run_under_another_agent(
    pytester: pytest.Pytester, lab: Path, how: str
) -> None:
    assert lab.is_dir()
    pytester.makeconftest(
        f"import pytest\nMARK = pytest.mark.sop(agent='habits:right')\n{LATE[how]}\n"
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:always_pass", "--sop-fail-under=0.1"
    )

    assert 1 == result.ret
    result.assert_outcomes(errors=6)
    result.stdout.fnmatch_lines(
        ["*a mark names the agent habits:right, and the run of this test was planned for*"]
    )
