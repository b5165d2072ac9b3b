"""`sopbench gate last` never decides on a session that is older than the last one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.builders.commands import sopbench

LAB = ("--sop-domain=lab", "--agent=habits:right")
SOP_TEST = "def test(sop_run): sop_run.assert_correct()"
CONFIGURED = "[pytest]\nsop_domain = lab\nsop_agent = habits:right\n"


def command(*words: str) -> pytest.RunResult:
    """Run `sopbench` in this process."""
    done = sopbench(*words)
    return pytest.RunResult(done.exit_code, done.stdout.splitlines(), done.stderr.splitlines(), 0)


@pytest.fixture
def ask() -> Callable[[], pytest.RunResult]:
    """Ask a gate of `last`, after a session that passed."""
    return lambda: command("gate", "last", "--fail-under=1")


@pytest.fixture
def green(
    pytester: pytest.Pytester,
    passed: Callable[..., None],
    ask: Callable[[], pytest.RunResult],
) -> str:
    """A session that passed; its name."""
    passed()
    assert 0 == ask().ret
    return (pytester.path / ".sop/sessions/last.jsonl").readlink().stem


ENDS = {
    "an unknown option": ((*LAB, "--no-such-option"), "", 4),
    "an option of ours without its value": ((*LAB, "--sop-gate"), "", 4),
    "a value of ours that is none": ((*LAB, "--sop-trials=few"), "", 4),
    "an unknown domain": (("--sop-domain=lob", "--agent=habits:right"), "", 4),
    "an unknown agent": (("--sop-domain=lab", "--agent=habits:rite"), "", 4),
    "an agent and a domain that nobody typed": (("sop:lob::T_01",), "", 4),
    "a plugin that is not there": ((*LAB, "-pnosuchplugin"), "", 4),
    "a conftest that raises": (LAB, "raise RuntimeError('early')", 4),
    "a conftest that exits": (LAB, "import sys; sys.exit(0)", 4),
    "a conftest that raises in a hook": (LAB, "def pytest_configure(): raise ValueError", 3),
    "a conftest that stops it": (
        LAB,
        "import pytest\ndef pytest_collection(): pytest.exit('x', 0)",
        0,
    ),
    "a selection of nothing": ((*LAB, "-knothing"), "", 5),
    "a path that is not there": ((*LAB, "nowhere"), "", 4),
    "workers": ((*LAB, "-n1", "-knothing"), "", 5),
}


@pytest.mark.parametrize("end", ENDS)
def test_no_gate_decides_on_the_session_before_one_that_came_to_nothing(
    pytester: pytest.Pytester, green: str, ask: Callable[[], pytest.RunResult], end: str
) -> None:
    words, conftest, status = ENDS[end]
    pytester.makeconftest(conftest)

    result = pytester.runpytest_subprocess(*words)

    asked = ask()
    assert (status, 1) == (result.ret, asked.ret)
    asked.stdout.fnmatch_lines(["gate   no result was saved of the last session: *, begun * UTC"])
    assert green not in asked.stdout.str()


@pytest.mark.usefixtures("green")
@pytest.mark.parametrize("body", ["import nowhere", "raise RuntimeError", "def test(nothing: pass"])
def test_a_session_that_could_not_collect_came_to_nothing(
    pytester: pytest.Pytester,
    ask: Callable[[], pytest.RunResult],
    body: str,
) -> None:
    pytester.makefile(".ini", pytest=CONFIGURED)
    pytester.makepyfile(f"{SOP_TEST}\n{body}")

    pytester.runpytest()

    assert 1 == ask().ret


@pytest.mark.usefixtures("green")
@pytest.mark.parametrize("where", ["conftest", "habits"], ids=["early", "in a run"])
@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_a_session_that_was_killed_or_interrupted_passes_no_gate(
    pytester: pytest.Pytester, ask: Callable[[], pytest.RunResult], where: str, end: str
) -> None:
    kill = f"import os, signal\nos.kill(os.getpid(), signal.{end})"
    if where == "habits":
        kill = f"def right(inputs):\n    {kill.replace(chr(10), chr(10) + '    ')}"
    pytester.path.joinpath(f"{where}.py").write_text(kill)

    result = pytester.runpytest_subprocess(*LAB)

    assert 0 != result.ret
    assert ask().ret in {1, 3}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--collect-only", *LAB), id="collect-only"),
        pytest.param(("--co", "-q"), id="configured"),
        pytest.param(("--setup-plan", *LAB), id="setup-plan"),
        pytest.param(("--fixtures-per-test",), id="fixtures of a test"),
        pytest.param(("--markers",), id="markers"),
        pytest.param(("-hv",), id="help"),
        pytest.param(("-VV",), id="version"),
        pytest.param(("--cache-show=*",), id="cache"),
        pytest.param(("units.py",), id="other tests"),
        pytest.param(("units.py", "-n2"), id="other tests in workers"),
        pytest.param(("units.py", "-x"), id="other tests, which fail"),
        pytest.param(("units.py", "test_tasks.py", "-kunit"), id="other tests, selected"),
    ],
)
def test_what_runs_no_task_leaves_last_as_it_was(
    pytester: pytest.Pytester, green: str, words: tuple[str, ...]
) -> None:
    pytester.makefile(".ini", pytest=CONFIGURED)
    pytester.makepyfile(test_tasks=SOP_TEST, units="def test_unit(): assert False")
    folder = pytester.path / ".sop/sessions"
    before = sorted(folder.iterdir())

    pytester.runpytest(*words)

    assert before == sorted(folder.iterdir())
    assert f"{green}.jsonl" == str((folder / "last.jsonl").readlink())


def test_other_tests_of_a_configured_project_have_last_back_before_the_first_of_them(
    pytester: pytest.Pytester, green: str
) -> None:
    pytester.makefile(".ini", pytest=CONFIGURED)
    pytester.makepyfile(
        units="import os, signal\ndef test_unit(): os.kill(os.getpid(), signal.SIGKILL)"
    )

    pytester.runpytest_subprocess("units.py")

    assert f"{green}.jsonl" == str((pytester.path / ".sop/sessions/last.jsonl").readlink())


@pytest.mark.usefixtures("green")
def test_tasks_that_a_conftest_took_away_are_no_reason_to_trust_an_older_session(
    pytester: pytest.Pytester, ask: Callable[[], pytest.RunResult]
) -> None:
    pytester.makefile(".ini", pytest=CONFIGURED)
    pytester.makepyfile(test_tasks=f"{SOP_TEST}\ndef test_unit(): pass")
    pytester.makeconftest("def pytest_collection_modifyitems(items): items[:] = items[-1:]")

    pytester.runpytest_subprocess()

    assert ask().ret in {1, 3}


@pytest.mark.usefixtures("lab")
def test_a_project_that_has_no_sop_tests_is_left_alone(pytester: pytest.Pytester) -> None:
    """Its folder has sessions of somebody who typed the options."""
    pytester.runpytest(*LAB)
    folder = pytester.path / ".sop/sessions"
    before = sorted(folder.iterdir())
    pytester.makeconftest("raise RuntimeError")

    assert 4 == pytester.runpytest_subprocess("units.py").ret

    assert before == sorted(folder.iterdir())


def test_the_session_before_is_still_shown_compared_and_resumed(
    pytester: pytest.Pytester, green: str
) -> None:
    pytester.runpytest(*LAB, "-knothing")

    shown = command("show", "last")
    compared = pytester.runpytest(*LAB, "--sop-compare=last")
    pytester.runpytest(*LAB, "-knothing")
    resumed = pytester.runpytest(*LAB, "--sop-resume=last")

    assert [0, 0, 0] == [shown.ret, compared.ret, resumed.ret]
    shown.stderr.fnmatch_lines([f"*no result was saved of the last session: *is of {green}, *"])
    resumed.stdout.fnmatch_lines(["*6 runs*"])


def test_a_session_that_ends_well_is_the_last_one_again(
    pytester: pytest.Pytester, green: str, ask: Callable[[], pytest.RunResult]
) -> None:
    pytester.runpytest(*LAB, "-knothing")

    pytester.runpytest(*LAB)

    asked = ask()
    newest = max((pytester.path / ".sop/sessions").glob("2*.jsonl")).stem
    assert 0 == asked.ret
    assert green != newest
    asked.stdout.fnmatch_lines([f"session {newest}, begun * UTC", "gate   TSR*holds*"])
    assert not list((pytester.path / ".sop/sessions").glob("last.withdrawn*"))


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "ends",
    [
        pytest.param("raise RuntimeError('mine')", id="raises"),
        pytest.param("pytest.exit('mine', returncode=3)", id="exits"),
        pytest.param("session.exitstatus = 3", id="sets another status"),
        pytest.param("pytest.exit('mine', returncode=2)", id="exits as Ctrl-C does"),
    ],
)
def test_a_session_that_ends_otherwise_than_it_said_decides_no_gate(
    pytester: pytest.Pytester, ends: str
) -> None:
    pytester.makeconftest(f"import pytest\ndef pytest_sessionfinish(session): {ends}\n")

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "--sop-fail-under=0.9"
    )

    asked = command("gate", "last")
    assert result.ret != 0
    assert 1 == asked.ret
