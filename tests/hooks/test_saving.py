"""The saved session: always there, in the order of the plan, and never in anybody's way."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.commands import ran

pytestmark = pytest.mark.usefixtures("lab")

LAST = ".sop/sessions/last.jsonl"
RIGHT = ("--sop-domain=lab", "--agent=habits:right")
TASKS = [f"T_0{number}" for number in range(1, 7)]

BOTH = pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)


@BOTH
def test_every_session_is_saved(
    pytester: pytest.Pytester, saved: Callable[[], Any], workers: tuple[str, ...]
) -> None:
    pytester.runpytest(*RIGHT, *workers)

    session = saved()
    assert TASKS == [run["task"] for run in session.runs]
    assert ("header", 1, "habits:right") == tuple(
        session.header[name] for name in ("type", "schema", "agent")
    )
    assert TASKS == session.header["domains"]["lab"]["planned"]
    assert {"sop", "specs", "tools", "data"} < set(session.header["domains"]["lab"])
    assert "summary" == session.summary["type"]
    assert 6 == session.summary["total"]["pooled"]["correct"]


def test_a_run_holds_what_happened(pytester: pytest.Pytester, saved: Callable[[], Any]) -> None:
    pytester.runpytest("--sop-domain=lab", "--agent=habits:always_pass", "--sop-sample=first:1")

    run = saved().runs[0]
    assert ("run", "lab", "T_01", 1, "wrong") == tuple(
        run[name] for name in ("type", "domain", "task", "trial", "outcome")
    )
    assert {"grade": "pass"} == run["answer"]
    assert {"grade": "retest"} == run["expected"]
    assert "<final_decision>pass</final_decision>" == run["text"]
    assert [] == run["calls"]


def test_the_folder_ignores_itself_in_git(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RIGHT)

    assert "*\n" == (pytester.path / ".sop" / ".gitignore").read_text()


def test_the_options_that_select_are_recorded_and_no_others(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest(*RIGHT, "--sop-sample=3@7", "--sop-fail-under=0.5", "-p", "no:cacheprovider")

    options = saved().header["options"]
    assert ["--sop-sample=3@7"] == options["selection"]
    assert not any("cacheprovider" in str(value) for value in options.values())


@pytest.mark.usefixtures("baseline")
def test_all_that_a_header_tells_stands_there_in_one_order(
    pytester: pytest.Pytester, write_tasks: Callable[..., Path]
) -> None:
    """Other programs read the file, and a diff of two of them shows what changed."""
    write_tasks(T_02="2999-12-31", T_03="must_pass = true")
    here = (
        "--sop-domain=lab",
        "--agent=us=habits:right",
        "--sop-gate=tsr=0.5",
        "--sop-sample=first:3",
    )

    pytester.runpytest(*here, "--sop-compare=main", "--sop-timeout=9", "--sop-save=new")

    saved = pytester.path / ".sop" / "sessions" / "new.jsonl"
    assert (
        '"options":{"selection":["--sop-sample=first:3"],"trials":1,"agents":{"us":"habits:right"},'
        '"gates":["tsr=0.5"],"max_calls":100,"concurrency":null,"timeout":9.0,"retries":0,'
        '"scoring":"exact","contract":"report","approver":"auto","failures":0,"compare":"main",'
        '"quarantined":["lab/T_02"],"must_pass":["lab/T_03"]},"git"'
    ) in saved.read_text("ascii").partition("\n")[0]


def test_the_last_session_replaces_the_one_before(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.runpytest(*RIGHT)
    pytester.runpytest("--sop-domain=lab", "--agent=habits:silent", "--sop-sample=first:2")

    assert ["no_answer", "no_answer"] == list(saved().outcomes.values())


def test_nothing_is_saved_where_nothing_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_unit(): pass")

    pytester.runpytest("test_unit.py")
    pytester.runpytest(*RIGHT, "--collect-only")

    assert not (pytester.path / ".sop").exists()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param("main", ".sop/sessions/main.jsonl", id="a name"),
        pytest.param("kept/main.jsonl", "kept/main.jsonl", id="a path"),
        pytest.param("main.jsonl", "main.jsonl", id="a file here"),
        pytest.param("./main", "main", id="a path without suffix"),
    ],
)
def test_a_session_is_kept(pytester: pytest.Pytester, value: str, path: str) -> None:
    pytester.runpytest(*RIGHT, f"--sop-save={value}")

    assert (pytester.path / path).read_bytes() == (pytester.path / LAST).read_bytes()


def test_a_session_of_workers_is_kept(pytester: pytest.Pytester, saved: Callable[..., Any]) -> None:
    pytester.runpytest(*RIGHT, "--sop-save=main", "-n2")

    assert TASKS == [run["task"] for run in saved(".sop/sessions/main.jsonl").runs]


def test_a_session_is_kept_where_pytest_was_started(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    monkeypatch.syspath_prepend(str(pytester.path))

    result = pytester.runpytest(*RIGHT, "--sop-save=./main.jsonl")

    result.assert_outcomes(passed=6)
    assert (below / "main.jsonl").exists()
    assert (pytester.path / LAST).exists()


def test_a_kept_session_is_never_replaced(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RIGHT, "--sop-save=main")
    before = (pytester.path / ".sop/sessions/main.jsonl").read_bytes()

    result = pytester.runpytest(*RIGHT, "--sop-save=main")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "*--sop-save: *main.jsonl exists, and is not replaced",
            "choose another name; to renew a baseline, move that away or remove it first",
        ]
    )
    assert before == (pytester.path / ".sop/sessions/main.jsonl").read_bytes()


def test_a_kept_session_says_where_it_is_and_that_not_all_of_it_is_well(
    pytester: pytest.Pytester,
) -> None:
    right = pytester.runpytest(*RIGHT, "--sop-save=main")
    wrong = pytester.runpytest(RIGHT[0], "--sop-agent=habits:loses_three", "--sop-save=worse", "-q")

    assert "saved  .sop/sessions/main.jsonl" in right.outlines
    assert "saved  .sop/sessions/worse.jsonl, 6 runs, 3 not correct" in wrong.outlines


def test_a_bad_name_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-save=so so")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*'so so' is no name of a session*"])


def test_sessions_may_lie_elsewhere(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_dir = kept")

    pytester.runpytest(*RIGHT)

    assert (pytester.path / "kept" / "sessions" / "last.jsonl").exists()


# What cannot be written.


@pytest.mark.parametrize(
    "option",
    [
        pytest.param("--sop-save=file/main.jsonl", id="save"),
        pytest.param("--sop-save=file/below/main.jsonl", id="save deeper"),
        pytest.param("--sop-compare=file/main.jsonl,create", id="compare-create"),
        pytest.param("--sop-report=md=folder", id="report"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_first_run(
    pytester: pytest.Pytester, option: str
) -> None:
    (pytester.path / "file").write_text("a file where a folder should be")
    pytester.mkdir("folder")

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:counted", *option.split())

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-* cannot be written: *"])
    assert not (pytester.path / "calls.txt").exists()


FULL = """
import contextlib, errno, os
import pytest_sopbench._sessions.{room} as room

class Full:
    def __getattr__(self, name):
        return getattr(os, name)

    def fsync(self, descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

@contextlib.contextmanager
def full(path, **how):
    with whole(path) as file:
        yield file
        raise OSError(errno.ENOSPC, "No space left on device")

if room.__name__.endswith("writer"):
    whole, room.replace_file = room.replace_file, full
else:
    assert room.os
    room.os = Full()
"""
ANY_FILE, MARK, SESSION = "atomic", "mark", "writer"


@pytest.mark.parametrize(
    ("room", "options", "status"),
    [
        pytest.param(ANY_FILE, ("--sop-save=main",), 4, id="kept, at the start"),
        pytest.param(ANY_FILE, ("--sop-report=md=page.md",), 4, id="a page, at the start"),
        pytest.param(MARK, ("--sop-fail-under=0.5",), 4, id="the session, at the start"),
        pytest.param(MARK, (), 0, id="the session, nothing is asked of it"),
        pytest.param(SESSION, ("--sop-save=main",), 1, id="kept, later"),
        pytest.param(SESSION, ("--sop-fail-under=0.5",), 1, id="the session, later"),
        pytest.param(SESSION, ("--sop-shard=1/1",), 1, id="a shard, later"),
        pytest.param(SESSION, (), 0, id="the session, later, nothing is asked of it"),
    ],
)
def test_a_full_disk_is_no_success_where_what_it_lacks_was_asked_for(
    pytester: pytest.Pytester, room: str, options: tuple[str, ...], status: int
) -> None:
    pytester.makeconftest(FULL.format(room=room))

    result = pytester.runpytest_subprocess(*RIGHT, *options)

    assert status == result.ret
    if status == 4:
        result.stderr.fnmatch_lines(["ERROR: *No space left on device*"])
    if status == 1:
        result.stdout.fnmatch_lines(
            ["note   the session could not be saved*", "not saved: *No space left on device*"]
        )


@pytest.mark.parametrize(
    ("room", "options"),
    [
        pytest.param(MARK, ("--sop-fail-under=0.5",), id="at the start, gated"),
        pytest.param(SESSION, ("--sop-fail-under=0.5",), id="later, gated"),
        pytest.param(SESSION, (), id="later, nothing is asked of it"),
    ],
)
def test_a_session_that_could_not_be_saved_is_not_the_last_one(
    pytester: pytest.Pytester, saved: Callable[[], Any], room: str, options: tuple[str, ...]
) -> None:
    pytester.runpytest(*RIGHT)
    started = saved().header["identity"]
    pytester.makeconftest(FULL.format(room=room))

    result = pytester.runpytest_subprocess(*RIGHT, *options)

    assert started == saved().header["identity"]
    assert 1 == ran("gate", "last", "--fail-under=0.5").ret
    if not options:
        result.stdout.fnmatch_lines(["note   *sopbench gate last fails*", "not saved: *"])


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        pytest.param("--sop-save=kept/main.jsonl", "not saved: *main.jsonl*", id="save"),
        pytest.param("--sop-report=md=kept/page.md", "not written: *page.md*", id="report"),
        pytest.param(
            "--sop-compare=kept/main.jsonl,create",
            "*main.jsonl*",
            id="compare-create",
        ),
    ],
)
def test_what_is_in_the_way_at_the_end_is_no_success(
    pytester: pytest.Pytester, option: str, asked: str
) -> None:
    pytester.mkdir("kept")
    pytester.makepyfile(
        hides="""
        import pathlib
        from habits import number, right

        def agent(inputs, tools):
            if number(inputs) == 6:
                pathlib.Path("kept").rename("away")
                pathlib.Path("kept").write_text("a file where a folder should be")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=hides:agent", *option.split())

    assert 1 == result.ret
    result.stdout.fnmatch_lines([asked])


def test_a_name_that_was_taken_meanwhile_is_not_replaced_and_no_success(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        takes="""
        import pathlib
        from habits import right

        def agent(inputs, tools):
            pathlib.Path(".sop/sessions/main.jsonl").write_text("of another session")
            return right(inputs, tools)
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=takes:agent", "--sop-save=main")

    assert 1 == result.ret
    assert "of another session" == (pytester.path / ".sop/sessions/main.jsonl").read_text()


def test_last_is_no_name_to_keep_a_session_under(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-save=last")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*'last' is always the session that ended last*"])


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_session(
    pytester: pytest.Pytester,
) -> None:
    (pytester.path / ".sop").write_text("a file where a folder should be")

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["TSR   100.0%*", "not saved: *.sop*"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_costs_the_file_and_not_the_session(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("kept")
    folder.chmod(0o500)
    pytester.makeini("[pytest]\nsop_dir = kept")

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["not saved: *"])


def test_what_a_session_cut_short_never_started_is_not_run(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    """A denominator never shrinks to the survivors."""
    pytester.runpytest("--sop-domain=lab", "--agent=habits:always_pass", "-x")

    assert {"T_01": "wrong"} | dict.fromkeys(TASKS[1:], "not_run") == saved().outcomes
    assert 6 == saved().summary["domains"]["lab"]["runs"]


def test_an_interrupted_session_is_saved(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makeconftest(
        """
        def pytest_runtest_setup(item):
            if item.name == "T_03":
                raise KeyboardInterrupt
        """
    )

    # Not in this process, which pytester would interrupt as well.
    result = pytester.runpytest_subprocess(*RIGHT)

    assert pytest.ExitCode.INTERRUPTED == result.ret
    assert (
        dict.fromkeys(TASKS[:2], "correct") | dict.fromkeys(TASKS[2:], "not_run")
        == saved().outcomes
    )


def test_a_dead_worker_leaves_a_crash_and_the_rest_is_judged(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:dying", "-n2")

    assert dict.fromkeys(TASKS, "correct") | {"T_03": "crash"} == saved().outcomes
    assert TASKS == [run["task"] for run in saved().runs]
    result.stdout.fnmatch_lines(["TSR*correct, 5 of 6 *", "ECR*1 crash*"])


def test_a_worker_that_dies_in_a_users_test_leaves_a_crash(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.mark.sop(domain="lab", agent="habits:dying")
        def test_run(sop_run): pass
        """
    )

    result = pytester.runpytest("-n2")

    assert dict.fromkeys(TASKS, "correct") | {"T_03": "crash"} == saved().outcomes
    result.assert_outcomes(passed=5, failed=1)


def test_a_fixture_that_breaks_leaves_the_run_as_not_run(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(autouse=True)
        def breaks(request):
            assert request.node.name != "T_02"
        """
    )

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=5, errors=1)
    assert "not_run" == saved().outcomes["T_02"]


def test_two_domains_are_saved_in_one_session(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], saved: Callable[[], Any]
) -> None:
    make_domain("clinic", tasks=3)

    pytester.runpytest("--sop-domain=lab,clinic", RIGHT[1])

    assert {"lab": 6, "clinic": 3} == {
        name: one["runs"] for name, one in saved().summary["domains"].items()
    }
    assert 9 == saved().summary["total"]["pooled"]["runs"]


@pytest.mark.parametrize("name", ["os.fsync", "os.link"])
def test_a_function_that_an_agent_has_replaced_is_told_in_one_line(
    pytester: pytest.Pytester, name: str
) -> None:
    pytester.makepyfile(
        meddler=f"""
        import os

        from habits import right

        def broken(*_, **__):
            raise RuntimeError("mine")

        def agent(inputs, tools):
            answer = right(inputs, tools)
            {name} = broken
            return answer
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=meddler:agent", "--sop-save=kept"
    )

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["*not saved: *cannot be written: RuntimeError: mine (at *:*)"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stderr.no_fnmatch_line("*Traceback*")


def test_an_error_of_any_kind_while_it_is_saved_is_told_and_fails_the_session(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        from pytest_sopbench._sessions.writer import SessionWriter

        def append(self, line):
            raise ValueError("no such value")

        SessionWriter.append = append
        """
    )

    result = pytester.runpytest_subprocess(*RIGHT, "--sop-fail-under=0.5")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["*not saved: *cannot be written: ValueError: no such value*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_where_no_test_is_left_workers_leave_no_journals(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RIGHT, "-n2", "-k", "nothing")

    assert not list((pytester.path / ".sop" / "sessions").glob("*.journals"))
