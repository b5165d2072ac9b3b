"""What the options select is accounted for, whatever was collected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

LAB = ("--sop-domain=lab", "--agent=habits:right")
BOTH = ("--sop-domain=lab,clinic", "--agent=habits:right")
OF_LAB = """
import pytest

@pytest.mark.sop(domain="lab")
def test_lab(sop_run):
    pass
"""
NONE_LEFT = "def pytest_collection_modifyitems(items): items[:] = []"
ONE_LESS = "def pytest_collection_modifyitems(items): del items[0]"
ONE_DESELECTED = """
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=items[:1])
    del items[0]
"""
DIES = """
import os

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        os.{}
"""

ReadSaved = Callable[..., Any]


def merge(*names: str) -> str:
    return CliRunner().invoke(main, ["merge", *names, "--out=all"]).output


@pytest.mark.parametrize("death", ["_exit(0)", "kill(os.getpid(), 9)"], ids=["exit", "kill"])
def test_a_session_whose_workers_all_died_at_their_start_is_no_empty_shard(
    pytester: pytest.Pytester, death: str
) -> None:
    pytester.makeconftest(DIES.format(death))

    result = pytester.runpytest(*LAB, "--sop-shard=1/2", "-n1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*no worker came up: 2 died before they had collected anything"])


def test_a_shard_that_a_conftest_empties_fails_and_is_not_merged(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(NONE_LEFT)

    result = pytester.runpytest(*LAB, "--sop-shard=1/1", "--sop-save=part", *workers)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["*6 not_run*"])
    assert "shard 1/1 is not all of its part: no test asked for 6 of 6 selected tasks" in merge(
        "part"
    )


def test_a_shard_whose_set_up_failed_says_so_and_so_does_merge(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_late="""
        import pytest

        @pytest.fixture
        def database():
            raise ConnectionError("no database")

        @pytest.mark.sop(domain="lab", agent="habits:right")
        def test_late(sop_task, database, request):
            request.getfixturevalue("sop_run")
        """
    )

    result = pytester.runpytest("test_late.py", "--sop-shard=1/1", "--sop-save=part", *workers)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    why = "no test asked for 6 of 6 selected tasks: all of lab (the set-up of a test failed)"
    result.stdout.fnmatch_lines([f"*{why}, which fails the session"])
    refusal = merge("part")
    assert f"shard 1/1 is not all of its part: {why}" in refusal
    assert "mend that, then run this shard again" in refusal


@pytest.mark.parametrize("domain", [LAB[0], ""], ids=["named", "nobody names a domain"])
def test_a_shard_whose_job_names_other_tests_fails(
    pytester: pytest.Pytester, domain: str, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_unit="def test_unit(): pass")
    words = [domain] if domain else []

    result = pytester.runpytest("test_unit.py", *words, LAB[1], "--sop-shard=1/2", *workers)

    assert result.ret in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR}


@pytest.mark.parametrize("number", [1, 2])
def test_a_marked_test_is_shared_out_as_well(
    pytester: pytest.Pytester, number: int, workers: tuple[str, ...]
) -> None:
    """Where all tasks of a domain of six fall to some of many shards, the others are empty."""
    pytester.makepyfile(test_lab=OF_LAB)

    result = pytester.runpytest("test_lab.py", LAB[1], f"--sop-shard={number}/40", *workers)

    assert pytest.ExitCode.OK == result.ret


def test_what_a_conftest_takes_away_in_silence_was_not_run(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(ONE_LESS)

    result = pytester.runpytest(*LAB, *workers)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "TSR *correct, 5 of 6 *",
            "ECR *1 not_run*",
            "       no test asked for 1 of 6 selected tasks: lab/T_01, which fails the session",
        ]
    )


def test_what_a_plugin_deselects_aloud_is_no_loss_without_a_gate(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(ONE_DESELECTED)

    result = pytester.runpytest(*LAB)

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["TSR *correct, 5 of 5 *"])


@pytest.mark.parametrize(
    "path", ["test_lab.py", "domains/lab/data.csv"], ids=["tests", "data file"]
)
@pytest.mark.parametrize(
    "gate", ["--sop-fail-under=0.9", "--sop-gate=lab:tsr=0.9"], ids=["all", "one domain"]
)
def test_a_gate_is_not_asked_where_tests_are_of_one_domain_of_two(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], path: str, gate: str
) -> None:
    make_domain("clinic", tasks=3)
    pytester.makepyfile(test_lab=OF_LAB)

    result = pytester.runpytest(path, *BOTH, gate)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["gate   not evaluated: no test asked for 3 of 9 selected tasks: all of clinic,*"]
    )
    result.stdout.no_fnmatch_line("gate*holds*")


def test_what_no_test_asked_for_stands_in_the_saved_session(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], saved: ReadSaved
) -> None:
    make_domain("clinic", tasks=3)
    pytester.makepyfile(test_lab=OF_LAB)

    pytester.runpytest("test_lab.py", *BOTH)

    session = saved()
    assert ["T_01", "T_02", "T_03"] == session.header["domains"]["clinic"]["planned"]
    result = CliRunner().invoke(main, ["gate", "last", "--fail-under=0.5"])
    assert 3 == result.exit_code
    assert "not evaluated: no test asked for 3 of 9 selected tasks" in result.output


def test_tests_that_ask_for_a_toolbox_alone_demand_no_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_tools="def test_tools(sop_tools): pass")

    result = pytester.runpytest("test_tools.py", "--sop-domain=lab")

    assert pytest.ExitCode.OK == result.ret


def test_a_task_that_must_pass_and_is_skipped_fails_without_a_gate(
    pytester: pytest.Pytester, write_tasks: Callable[..., Path], workers: tuple[str, ...]
) -> None:
    write_tasks(T_01="must_pass = true")
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip)
        """
    )

    result = pytester.runpytest(*LAB, *workers)

    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_the_gate_of_a_file_counts_the_tests_that_failed_beside_the_misses(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_unit="def test_task(sop_run): pass\ndef test_unit(): assert False")

    session = pytester.runpytest(*LAB, "--sop-fail-under=1", "test_unit.py")
    gated = CliRunner().invoke(main, ["gate", "last"])

    assert pytest.ExitCode.TESTS_FAILED == session.ret
    assert 1 == gated.exit_code
    assert "tests that failed, which no gate forgives <= 0 does not hold (got 1)" in gated.output


def test_the_gate_of_a_file_does_not_count_misses(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB[0], "--agent=habits:always_pass")

    gated = CliRunner().invoke(main, ["gate", "last", "--fail-under=0.3"])

    assert 0 == gated.exit_code, gated.output


def test_the_gate_of_a_session_that_was_cut_short_is_inconclusive(
    pytester: pytest.Pytester,
) -> None:
    """With its last test; all runs are there, and other tests might have failed."""
    pytester.runpytest(LAB[0], "--agent=habits:right", "--sop-fail-under=0.1", "-x", "-k", "T_0")
    whole = CliRunner().invoke(main, ["gate", "last"])
    pytester.makepyfile(test_unit="def test_task(sop_run): pass\ndef test_unit(): assert False")
    pytester.runpytest(*LAB, "--sop-fail-under=0.1", "-x", "test_unit.py")
    cut = CliRunner().invoke(main, ["gate", "last"])

    assert 0 == whole.exit_code, whole.output
    assert 3 == cut.exit_code
    assert "inconclusive (got n/a): the session was cut short" in " ".join(cut.output.split())


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("hook", ["pytest_runtest_protocol(item)", "pytest_runtestloop(session)"])
@pytest.mark.parametrize("shard", [(), ("--sop-shard=1/1",)], ids=["whole", "shard"])
def test_a_session_whose_tests_a_conftest_swallows_fails(
    pytester: pytest.Pytester, hook: str, shard: tuple[str, ...]
) -> None:
    pytester.makeconftest(
        f"import pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef {hook}:\n    return True\n"
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", *shard)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["*6 tests of tasks never ran to a report, which fails the *"])


TAKES_ONE = {
    "protocol": """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    return True if "T_03" in item.nodeid else None
""",
    "loop": """
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    for item in session.items[:-1]:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return True
""",
    "list": """
@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    del session.items[-1]
""",
}
PASSES = {
    "call": """
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call():
    return True
""",
    "report": """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.outcome = "passed"
    return report
""",
}


@pytest.mark.parametrize("where", TAKES_ONE)
@pytest.mark.parametrize(
    ("tests", "in_flight"),
    [
        pytest.param("domains/lab/data.csv", "1", id="1 in flight-built-in"),
        pytest.param("domains/lab/data.csv", "4", id="4 in flight-built-in"),
        pytest.param("test_own.py", "4", id="4 in flight-own"),
    ],
)
def test_one_test_that_a_conftest_swallows_fails(
    pytester: pytest.Pytester, where: str, tests: str, in_flight: str
) -> None:
    """In the session and in its file, also where its run was made ahead of it, and was right."""
    pytester.makepyfile(test_own="def test(sop_run): sop_run.assert_correct()")
    pytester.makeconftest(f"import pytest\n{TAKES_ONE[where]}")

    result = pytester.runpytest_subprocess(*LAB, f"--sop-concurrency={in_flight}", tests)

    asked = CliRunner().invoke(main, ["gate", "last", "--fail-under=0.1"])
    assert (pytest.ExitCode.TESTS_FAILED, 1) == (result.ret, asked.exit_code)
    result.stdout.fnmatch_lines(["*1 test of a task never ran to a report, which fails the *"])


def test_one_test_that_a_conftest_swallows_in_a_worker_fails_the_session(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_own="def test(sop_run): sop_run.assert_correct()")
    pytester.makeconftest(f"import pytest\n{TAKES_ONE['protocol']}")

    result = pytester.runpytest(*LAB, "-n2", "test_own.py")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["*1 test of a task never ran to a report, which fails the *"])


@pytest.mark.parametrize("where", PASSES)
def test_a_built_in_test_that_a_conftest_lets_pass_fails_as_its_run_did(
    pytester: pytest.Pytester, workers: tuple[str, ...], where: str
) -> None:
    pytester.makeconftest(f"import pytest\n{PASSES[where]}")

    wrong = pytester.runpytest("--sop-domain=lab", "--agent=habits:loses_second", *workers)
    right = pytester.runpytest(*LAB, *workers)

    assert [pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.OK] == [wrong.ret, right.ret]
    wrong.stdout.fnmatch_lines(["*1 test of a task passed although*, which fails*: lab/T_02"])


def test_a_budget_counts_what_it_did_not_let_begin_and_nobody_else(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        slow="""
        import time
        def agent(inputs, tools):
            time.sleep(0.3)
            return "pass"
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=slow:agent", "--sop-budget=0.5s")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.no_fnmatch_line("*never ran to a report*")
