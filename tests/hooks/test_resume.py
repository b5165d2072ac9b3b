"""`--sop-resume`: what was finished is taken over, what was not is run, and the rest is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main
from tests.builders.saved import bare, followed, sealed, seed_of

pytestmark = pytest.mark.usefixtures("lab")

LAST = Path(".sop/sessions/last.jsonl")
RUN = ("--sop-domain=lab", "--agent=habits:counted")
RESUME = (*RUN, "--sop-resume=last")
TASKS = [f"T_0{number}" for number in range(1, 7)]

BOTH = pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
TESTS = {
    "test_lab": """
    def test_right(sop_run):
        sop_run.assert_correct()

    def test_measured(sop_run):
        sop_run.assert_called("measure", times=1)
    """
}


def cut(*outcomes: str, path: Path = LAST) -> None:
    """Leave of a whole session what a kill would have left: a few runs, with these outcomes."""
    header, *lines = path.read_text().splitlines()[: len(outcomes) + 1]
    runs = [json.loads(line) for line in lines]
    for run, outcome in zip(runs, outcomes, strict=True):
        run["outcome"] = outcome
    write_sealed(path, [json.loads(header), *runs])


def write_sealed(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write the lines of a session as if they had been written so."""
    plain = [{name: value for name, value in line.items() if name != "crc"} for line in lines]
    header, *others = (json.dumps(line, separators=(",", ":")) for line in plain)
    seed = seed_of(lines[0]["identity"])
    sealed_lines = [sealed(header), *(sealed(line, seed) for line in others)]
    path.write_bytes(b"".join(line + b"\n" for line in sealed_lines))


def change_header(change: Callable[[dict[str, Any]], None], path: Path = LAST) -> None:
    header, *lines = map(json.loads, path.read_text().splitlines())
    change(header)
    write_sealed(path, [header, *lines])


def calls() -> list[str]:
    path = Path("calls.txt")
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def begun(pytester: pytest.Pytester, lab: Path) -> None:
    """A session that was killed after four of six runs."""
    pytester.runpytest(*RUN)
    cut(*["correct"] * 4)
    Path("calls.txt").unlink()


@BOTH
@pytest.mark.usefixtures("begun")
def test_only_the_rest_is_run(
    pytester: pytest.Pytester, saved: Callable[[], Any], workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*RESUME, *workers)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["resumed 4 of 6 runs from last"])
    assert TASKS[4:] == sorted(calls())
    assert TASKS == [run["task"] for run in saved().runs]
    assert 6 == saved().summary["total"]["pooled"]["correct"]


@BOTH
def test_a_whole_session_that_is_resumed_runs_nothing_and_stays_as_it_is(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    agent = "--agent=habits:fifths_and_sevenths"
    first = pytester.runpytest("--sop-domain=lab", agent, *workers)
    before = LAST.read_bytes().splitlines()

    again = pytester.runpytest("--sop-domain=lab", agent, "--sop-resume=last", *workers)

    after = LAST.read_bytes().splitlines()
    # The checksums begin with the identity of each session.
    assert list(map(bare, before[1:-1])) == list(map(bare, after[1:-1]))
    summaries = [json.loads(lines[-1]) for lines in (before, after)]
    assert summaries[0]["domains"] == summaries[1]["domains"]
    assert first.ret == again.ret
    assert first.parseoutcomes() == again.parseoutcomes()


@pytest.mark.usefixtures("begun")
def test_the_header_tells_what_the_session_goes_back_to(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    begun, started = LAST.resolve().stem, json.loads(LAST.read_text().splitlines()[0])["started"]

    pytester.runpytest(*RESUME)
    resumed = LAST.resolve().stem
    pytester.runpytest(*RESUME)

    first, second = saved().header["options"]["resumed"]
    assert {"session": begun, "started": started, "runs": 4} == first
    assert (resumed, 6) == (second["session"], second["runs"])


@pytest.mark.parametrize("outcome", ["unavailable", "crash", "not_run"])
def test_a_run_that_says_nothing_of_the_agent_is_made_again(
    pytester: pytest.Pytester, outcome: str
) -> None:
    pytester.runpytest(*RUN)
    cut("correct", outcome, *["correct"] * 4)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*RESUME)

    assert ["T_02"] == calls()
    result.stdout.fnmatch_lines(["resumed 5 of 6 runs from last"])


@pytest.mark.parametrize("outcome", ["wrong", "no_answer", "error", "timeout", "call_limit"])
def test_a_failure_of_the_agent_is_taken_over_and_fails(
    pytester: pytest.Pytester, saved: Callable[[], Any], outcome: str
) -> None:
    """To make it again until it passes would flatter the agent."""
    pytester.runpytest(*RUN)
    cut("correct", outcome, *["correct"] * 4)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*RESUME)

    result.assert_outcomes(passed=5, failed=1)
    assert [] == calls()
    assert outcome == saved().outcomes["T_02"]


def test_failures_are_made_again_on_request_and_counted(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RUN)
    cut("error", "timeout", "wrong", "correct")
    Path("calls.txt").unlink()

    result = pytester.runpytest(*RESUME, "--sop-resume=last,retry=error+timeout")

    assert ["T_01", "T_02", "T_05", "T_06"] == calls()
    result.stdout.fnmatch_lines(["resumed 2 of 6 runs from last (2 retried)"])


def test_a_run_that_was_only_begun_is_made_again(
    pytester: pytest.Pytester, saved: Callable[[], Any], newest: Callable[[], Path]
) -> None:
    pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:dying")
    killed = newest().stem
    pytester.makepyfile(habits=Path("habits.py").read_text().replace("os._exit(7)", "pass"))

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:dying", "--sop-resume=last"
    )

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"resumed 2 of 6 runs from {killed}"])
    result.stdout.no_fnmatch_line("*did not end*")
    assert "correct" == saved().outcomes["T_03"]


@pytest.mark.usefixtures("begun")
def test_a_kept_session_is_resumed_and_stays_as_it_is(pytester: pytest.Pytester) -> None:
    kept = LAST.with_name("main.jsonl")
    LAST.rename(kept)
    before = kept.read_bytes()

    result = pytester.runpytest(*RUN, "--sop-resume=main")

    result.stdout.fnmatch_lines(["resumed 4 of 6 runs from main"])
    assert before == kept.read_bytes()
    assert 8 == len(LAST.read_text().splitlines())


@pytest.mark.usefixtures("begun")
def test_what_is_taken_over_is_selected_as_any_test(pytester: pytest.Pytester) -> None:
    main = LAST.rename(LAST.with_name("main.jsonl"))
    cut("correct", "wrong", "correct", path=main)

    by_name = pytester.runpytest(*RUN, "--sop-resume=main", "-k", "T_02 or T_03")
    by_failure = pytester.runpytest(*RUN, "--sop-resume=main", "--lf")

    by_name.assert_outcomes(passed=1, failed=1, deselected=4)
    by_name.stdout.fnmatch_lines(["resumed 2 of 2 runs from main"])
    by_failure.assert_outcomes(failed=1, deselected=5)
    by_failure.stdout.fnmatch_lines(["resumed 1 of 1 run from main"])
    assert [] == calls()


def test_an_interrupted_session_is_resumed(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    agent = """
    import os
    import signal
    from habits import counted

    def agent(inputs, tools):
        if inputs["sample_id"] == "T_03" and os.environ.get("INTERRUPT"):
            os.kill(os.getpid(), signal.SIGINT)
        return counted(inputs, tools)
    """
    pytester.makepyfile(stopping=agent)
    pytester.makefile(".sh", interrupted='INTERRUPT=1 exec "$@"')
    options = ("--sop-domain=lab", "--agent=stopping:agent")
    shell = ("sh", "interrupted.sh", sys.executable, "-mpytest", *options)
    stopped = subprocess.run(shell, check=False, capture_output=True)
    assert int(pytest.ExitCode.INTERRUPTED) == stopped.returncode
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    result = pytester.runpytest_subprocess(*options, "--sop-resume=last")

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["resumed * of 6 runs from last"])
    assert {"correct"} == {*saved().outcomes.values()}
    assert ["T_01", "T_02"] == [one for one in calls() if one in {"T_01", "T_02"}]


# What cannot be taken over.


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(
            ("--agent=habits:right",), "agent: habits:counted there, habits:right here", id="agent"
        ),
        pytest.param(
            ("--agent=habits:counted", "--sop-agent-arg=unit=mg"),
            "agent arguments: none there, unit=mg here",
            id="agent arguments",
        ),
        pytest.param(
            ("--agent=habits:counted", "-o", "sop_scoring=published"),
            "scoring: exact there, published here",
            id="scoring",
        ),
    ],
)
def test_another_agent_or_another_judge_is_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    habits = Path("habits.py")
    habits.write_text(
        habits.read_text().replace("counted(inputs, tools)", 'counted(inputs, tools, unit="")')
    )
    before = followed(LAST).read_bytes()

    result = pytester.runpytest("--sop-domain=lab", *options, "--sop-resume=last,anyway")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: --sop-resume=last: {said}", "*--sop-resume*"])
    assert before == followed(LAST).read_bytes()


def change_sop(folder: Path) -> None:
    (folder / "sop.md").write_text("Grade the sample.\n")


def change_specs(folder: Path) -> None:
    path = folder / "toolspecs.json"
    path.write_text(path.read_text().replace("Measure a sample", "Measure"))


def change_type(folder: Path) -> None:
    path = folder / "metadata.json"
    path.write_text(
        path.read_text()
        .replace('"enum"', '"text"')
        .replace(', "values": ["pass", "retest", "fail"]', "")
    )


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(change_sop, "domain lab: its SOP was changed since", id="sop"),
        pytest.param(change_specs, "domain lab: its tool specs were changed since", id="specs"),
        pytest.param(change_type, "domain lab: answers were judged by other rules*", id="type"),
    ],
)
def test_a_domain_that_was_changed_is_refused(
    pytester: pytest.Pytester, lab: Path, change: Callable[[Path], None], said: str
) -> None:
    change(lab)
    before = followed(LAST).read_bytes()

    result = pytester.runpytest(*RESUME, "--sop-resume=last,anyway")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: --sop-resume=last: {said}"])
    assert before == followed(LAST).read_bytes()
    assert [] == calls()


@pytest.mark.usefixtures("begun")
def test_a_changed_row_is_refused_by_name_or_run_anew(
    pytester: pytest.Pytester, lab: Path, saved: Callable[[], Any]
) -> None:
    data = lab / "data.csv"
    data.write_text(data.read_text().replace("T_02,10,fail", "T_02,90,pass"))

    refused = pytester.runpytest(*RESUME)
    result = pytester.runpytest(*RESUME, "--sop-resume=last,anyway")

    assert pytest.ExitCode.USAGE_ERROR == refused.ret
    refused.stderr.fnmatch_lines(["*the rows of lab/T_02 have changed", "*are run anew*"])
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["resumed 3 of 6 runs from last"])
    assert ["T_02", "T_05", "T_06"] == sorted(calls())
    assert ["the rows of lab/T_02 have changed"] == saved().header["options"]["resumed_anyway"]


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("commit", "said"),
    [
        pytest.param(
            {"commit": "0" * 40, "dirty": False},
            "git: 000000000000 there, no repository here",
            id="no repository",
        ),
    ],
)
def test_another_commit_is_refused_or_recorded(
    pytester: pytest.Pytester, saved: Callable[[], Any], commit: dict[str, Any], said: str
) -> None:
    change_header(lambda header: header.update(git=commit))

    refused = pytester.runpytest(*RESUME)
    result = pytester.runpytest(*RESUME, "--sop-resume=last,anyway")

    assert pytest.ExitCode.USAGE_ERROR == refused.ret
    refused.stderr.fnmatch_lines([f"*{said}", "*with ,anyway after the name*"])
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"note   taken over in spite of: {said}"])
    assert [said] == saved().header["options"]["resumed_anyway"]


def test_no_finished_run_is_dropped_unsaid(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*RUN)
    before = followed(LAST).read_bytes()

    result = pytester.runpytest(*RESUME, "--sop-sample=first:2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    said = (
        "*4 finished runs that this session does not plan (lab/T_03, lab/T_04, lab/T_05 and 1 more*"
    )
    result.stderr.fnmatch_lines([said])
    assert before == followed(LAST).read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--sop-resume=nine",), "*nine.jsonl: cannot be read*", id="none"),
        pytest.param(("--sop-resume=so so",), "*is no name of a session*", id="name"),
        pytest.param(("--sop-resume=retry=error",), "*name the session*", id="retry"),
        pytest.param(("--sop-resume=anyway",), "*name the session*", id="anyway"),
        pytest.param(("--sop-resume=last,retry=",), "*retry= takes one or more of*", id="empty"),
        pytest.param(
            ("--sop-resume=last,retry=crash",),
            "*retry=crash: retry= takes one or more of wrong+no_answer+error+timeout+call_limit",
            id="always",
        ),
        pytest.param(
            ("--sop-resume=last,retry=correct",), "*=correct: retry= takes one or*", id="correct"
        ),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    result = pytester.runpytest(*RUN, *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([said])
    assert [] == calls()


# The tests of a user look at more than a record holds.


@BOTH
def test_a_users_test_is_given_the_trace_of_the_event_log(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(**TESTS)
    options = (*RUN, "test_lab.py", "-o", "sop_traces=all", *workers)
    pytester.runpytest(*options)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*options, "--sop-resume=last")

    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["resumed 6 of 6 runs from last"])
    assert [] == calls()


def test_without_an_event_log_a_users_run_is_made_again_and_counted(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(**TESTS)
    pytester.runpytest(*RUN, "test_lab.py")
    Path("calls.txt").unlink()

    result = pytester.runpytest(*RUN, "test_lab.py", "--sop-resume=last")

    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(
        [
            "resumed 0 of 6 runs from last",
            "note   6 runs were made again: no event log was kept, or not whole;",
        ]
    )
    assert TASKS == sorted(calls())
    assert 6 == len(saved().runs)


def test_a_log_with_masked_values_is_not_enough(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(**TESTS)
    options = (*RUN, "test_lab.py", "-o", "sop_traces=all", "-o", "sop_redact=T_03")
    pytester.runpytest(*options)
    Path("calls.txt").unlink()

    pytester.runpytest(*options, "--sop-resume=last")

    assert ["T_03"] == calls()


def test_event_logs_of_what_is_taken_over_come_along(pytester: pytest.Pytester) -> None:
    agent = "--agent=habits:always_pass"
    pytester.runpytest("--sop-domain=lab", agent, "--sop-save=main")
    logs = LAST.resolve().with_suffix(".traces") / "lab"
    before = {path.name: path.read_bytes() for path in logs.iterdir()}
    pytester.runpytest("--sop-domain=lab", "--agent=habits:silent")

    pytester.runpytest("--sop-domain=lab", agent, "--sop-resume=main")

    logs = LAST.resolve().with_suffix(".traces") / "lab"
    assert before == {path.name: path.read_bytes() for path in logs.iterdir()}
    assert 4 == len(before)


@pytest.mark.usefixtures("begun")
def test_a_gate_is_asked_of_all_runs(pytester: pytest.Pytester) -> None:
    cut("wrong", "correct", "correct")

    result = pytester.runpytest(*RESUME, "--sop-fail-under=0.8")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["TSR    83.3%*correct, 5 of 6 *", "gate   TSR >= 80% holds*"])


def test_first_runs_that_were_taken_over_do_not_stop_the_session(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(alike="def agent(inputs): raise RuntimeError('no key')")
    first = pytester.runpytest("--sop-domain=lab", "--agent=alike:agent")

    result = pytester.runpytest("--sop-domain=lab", "--agent=alike:agent", "--sop-resume=last")

    assert pytest.ExitCode.USAGE_ERROR == first.ret
    result.stdout.fnmatch_lines(["resumed 5 of 6 runs from last"])
    result.assert_outcomes(failed=6)


@pytest.mark.usefixtures("begun")
def test_a_resumed_shard_is_merged_with_the_others(pytester: pytest.Pytester) -> None:
    """Which sessions a shard goes back to is no difference between shards."""
    shards = [(*RUN, f"--sop-shard={number}/2") for number in (1, 2)]
    pytester.runpytest(*shards[0])
    first = LAST.resolve().stem
    pytester.runpytest(*shards[0], "--sop-resume=last", "--sop-save=one")
    pytester.runpytest(*shards[1], "--sop-save=two")

    done = CliRunner().invoke(main, ["merge", "one", "two", "--out", "all"])

    assert 0 == done.exit_code, done.output
    header = json.loads(LAST.with_name("all.jsonl").read_text().splitlines()[0])
    assert [first] == [one["session"] for one in header["options"]["resumed"]]


def test_each_trial_is_taken_over_by_itself(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    options = (*RUN, "--sop-trials=2")
    pytester.runpytest(*options)
    keys = [(run["task"], run["trial"]) for run in saved().runs]
    cut(*["correct"] * 7)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*options, "--sop-resume=last")

    result.stdout.fnmatch_lines(["resumed 7 of 12 runs from last"])
    assert keys == [(run["task"], run["trial"]) for run in saved().runs]
    assert sorted(task for task, _ in keys[7:]) == sorted(calls())


def test_a_budget_counts_what_this_session_spends(
    pytester: pytest.Pytester, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        priced="""
        from habits import counted

        def agent(inputs, tools):
            tools.report(usage={"cost_usd": 1.0})
            return counted(inputs, tools)
        """
    )
    options = ("--sop-domain=lab", "--agent=priced:agent", "--sop-budget=3usd")
    first = pytester.runpytest(*options)

    second = pytester.runpytest(*options, "--sop-resume=last")

    assert 1 == first.ret
    second.stdout.fnmatch_lines(["resumed 3 of 6 runs from last"])
    assert {"correct"} == {*saved().outcomes.values()}


TWO = ("--sop-domain=lab", "--agent=habits:right", "--agent=habits:counted")
ONE = ("--sop-domain=lab", "--agent=habits:counted", "--sop-resume=last")


@BOTH
def test_one_of_two_agents_is_resumed_and_the_runs_of_the_other_are_named(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.runpytest(*TWO)
    before = LAST.resolve().stem
    cut(*["correct"] * 9)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*ONE, "--sop-fail-under=1", *workers)

    found = [json.loads(line) for line in LAST.read_text().splitlines()]
    agents = [one["agent"] for one in found if one["type"] == "run"]
    done = 6 - len(calls())
    assert 0 == result.ret
    assert ["habits:counted"] * 6 == agents
    assert 4 == done
    result.stdout.fnmatch_lines(
        [
            "resumed 4 of 6 runs from *",
            f"note   5 runs stay in {before}:",
            "       no test asked for one of habits:right here",
        ]
    )


def test_both_of_two_agents_are_resumed_where_one_was_finished(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*TWO)
    cut(*["correct"] * 9)
    Path("calls.txt").unlink()

    result = pytester.runpytest(*TWO, "--sop-resume=last")

    assert 0 == result.ret
    assert 2 == len(calls())
    result.stdout.fnmatch_lines(["resumed 9 of 12 runs from *"])
    result.stdout.no_fnmatch_line("*stay in*")


def test_tasks_of_an_agent_that_runs_here_are_not_dropped_unsaid(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*TWO)

    result = pytester.runpytest(*ONE, "--sop-sample=first:2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: *4 finished runs that this session does not plan*"])


def test_resuming_the_last_session_says_that_there_is_none(pytester: pytest.Pytester) -> None:
    """A session that was killed before its first run leaves nothing that could be read."""
    left = pytester.path / ".sop" / "sessions"
    left.mkdir(parents=True)
    (left / "20260101-000000-000-00000000.running").write_text("")

    result = pytester.runpytest(*RESUME)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: --sop-resume=last: there is no session to resume; one that ends before*",
            "leave --sop-resume out to run all tasks anew",
        ]
    )
