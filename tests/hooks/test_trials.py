"""`--sop-trials K`: each task is run K times, as K items whose runs know nothing of each other."""

from __future__ import annotations

import json

import pytest

from tests.builders.commands import ran

from .conftest import ReadSaved

OWN_TESTS = """
import pytest

def test_one(sop_run):
    assert sop_run.outcome == "correct"

def test_other(sop_run):
    sop_run.assert_called("measure")

@pytest.mark.sop(trials=3)
def test_more(sop_run):
    sop_run.assert_correct()
"""
PROCESSES = pytest.mark.parametrize(
    "how",
    [
        pytest.param((), id="plain"),
        pytest.param(("-n2",), id="two workers"),
        pytest.param(("--sop-concurrency=4",), id="four in flight"),
        pytest.param(("-n2", "--sop-concurrency=4"), id="four in flight in two workers"),
    ],
)


@PROCESSES
@pytest.mark.usefixtures("tired")
def test_each_trial_is_a_run_of_its_own(
    pytester: pytest.Pytester, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=tired:agent", "--sop-trials=3", *how)

    result.assert_outcomes(passed=6, failed=12)
    result.stdout.fnmatch_lines(
        [
            "TSR    33.3% correct, 6 of 18      [[]9.7, 70.0[]]",
            "ECR   100.0% answered, 18 of 18",
            "trials 3 per task   pass any 100.0% *pass all 0.0% *",
            "       trials disagree in 6 tasks: T_01 1 of 3, T_02 1 of 3, T_03 1 of 3,*",
        ]
    )
    found = saved()
    assert [trial for trial in (1, 2, 3) for _ in range(6)] == [one["trial"] for one in found.runs]
    assert 18 == len({(one["task"], one["trial"]) for one in found.runs})
    lab = found.header["domains"]["lab"]
    assert ([f"T_{n:02}" for n in range(1, 7)], 3, {}) == (
        lab["planned"],
        lab["trials"],
        lab["some_trials"],
    )


@pytest.mark.usefixtures("tired")
@pytest.mark.parametrize(
    ("gate", "status"),
    [
        pytest.param("pass_any=1", 0, id="each task is right at least once"),
        pytest.param("pass_all=0.1", 1, id="no task is right in all trials"),
        pytest.param("task=0.5", 0, id="each is right in half of them"),
        pytest.param("task=0.6", 1, id="and no more"),
    ],
)
def test_gates_on_trials(pytester: pytest.Pytester, gate: str, status: int) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=tired:agent", "--sop-trials=2", f"--sop-gate={gate}"
    )

    assert status == result.ret
    result.stdout.fnmatch_lines(["grade *: T_01 (trial 2)*"])


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_tests_of_the_user_share_the_run_of_a_trial(
    pytester: pytest.Pytester, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    """Two trials of two tasks, and a third one by a mark: six runs for fourteen tests."""
    pytester.makepyfile(test_own=OWN_TESTS)

    result = pytester.runpytest(
        "test_own.py",
        "--sop-domain=lab",
        "--sop-sample=first:2",
        "--agent=habits:counted",
        "--sop-trials=2",
        "-v",
        *how,
    )

    result.assert_outcomes(passed=14, **({} if how else {"deselected": 28}))
    result.stdout.fnmatch_lines_random(["*test_own.py::test_more[[]lab/T_02/t3]*"])
    assert 6 == len((pytester.path / "calls.txt").read_text().splitlines())
    assert 3 == saved().header["domains"]["lab"]["trials"]


@pytest.mark.usefixtures("lab")
def test_trials_that_differ_by_task_stand_in_the_header(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    pytester.runpytest(
        "lab::T_02/t2", "lab::T_03", "--agent=habits:right", "--sop-trials=2"
    ).assert_outcomes(passed=2)

    header = saved().header["domains"]["lab"]

    assert (["T_02", "T_03"], 2) == (header["planned"], header["trials"])
    assert {"T_02": [2], "T_03": [1]} == header["some_trials"]


@pytest.mark.usefixtures("tired")
@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_only_first_trials_are_compared_and_approved(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    """A later trial that calls something else fails no snapshot, and approves nothing."""
    pytester.makepyfile(
        test_own="""
        import pytest

        @pytest.mark.sop(answer="ignored")
        def test_calls(sop_run, sop_snapshot):
            assert sop_run.trajectory == sop_snapshot
        """,
        eager="""
        import os

        def agent(inputs, tools):
            for _ in range(2 if os.path.exists("again") else 1):
                tools.call("measure", sample_id=inputs["sample_id"])
            return {"grade": "pass"}
        """,
    )
    common = ("-psyrupy", "--sop-domain=lab", "test_own.py", "--agent=tired:agent")
    pytester.runpytest(*common, "--sop-trials=1", "--snapshot-update", *how)
    before = {one.name: one.read_text() for one in (pytester.path / "sop_snapshots/lab").iterdir()}
    assert 6 == len(before)
    (pytester.path / "again").touch()
    common = (*common[:-1], "--agent=eager:agent")

    result = pytester.runpytest(*common, "--sop-trials=2", "-k", "t2", "--snapshot-update", *how)

    result.assert_outcomes(passed=6, **({} if how else {"deselected": 6}))
    after = {one.name: one.read_text() for one in (pytester.path / "sop_snapshots/lab").iterdir()}
    assert before == after
    assert "not approved" not in result.stdout.str()


@pytest.mark.usefixtures("tired")
def test_shards_are_put_together_with_their_trials(pytester: pytest.Pytester) -> None:
    common = ("--sop-domain=lab", "--sop-agent=tired:agent", "--sop-trials=2")
    for number in (1, 2):
        pytester.runpytest(*common, f"--sop-shard={number}/2", f"--sop-save=part{number}")

    done = ran("merge", "part1", "part2", "--out", "all")

    assert 0 == done.ret, done.stderr.str()
    lines = (pytester.path / ".sop/sessions/all.jsonl").read_text().splitlines()
    header, *runs, summary = [json.loads(line) for line in lines]
    assert [1] * 6 + [2] * 6 == [one["trial"] for one in runs]
    assert 2 == header["domains"]["lab"]["trials"]
    assert [[2, 1, 6]] == summary["total"]["pooled"]["trials"]


@pytest.mark.usefixtures("lab")
def test_a_session_begins_with_what_it_will_make(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "--sop-trials=3", "--sop-concurrency=4"
    )

    result.stdout.fnmatch_lines(["collected 18 items", "sop: 6 tasks x 3 = 18 runs, 4 in flight"])


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_a_session_begins_with_what_the_last_one_took(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    pytester.runpytest("--sop-domain=lab", "--agent=habits:right")
    path = pytester.path / ".sop/sessions/last.jsonl"
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, json.dumps({**json.loads(last), "duration_s": 660.0})]))

    other = pytester.runpytest("--sop-domain=lab", "--agent=habits:wrong", "--collect-only")
    more = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", "--sop-trials=2", *how)

    assert "last time" not in other.stdout.str()
    more.stdout.fnmatch_lines(["sop: 6 tasks x 2 = 12 runs; last time 6 runs in 11 min"])


@pytest.mark.usefixtures("lab")
def test_a_worker_that_dies_loses_the_trial_it_made(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    pytester.runpytest("--sop-domain=lab", "--agent=habits:dying", "--sop-trials=2", "-n2")

    crashed = [(one["task"], one["trial"]) for one in saved().runs if one["outcome"] == "crash"]

    assert [("T_03", 1), ("T_03", 2)] == crashed
    assert 12 == len(saved().runs)
