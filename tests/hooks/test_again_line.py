"""The line `again`: pasted into a shell, it makes the same run by the same rules."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.tables import TABLE, table

GIVEN = {
    "sop_approver": "deny",
    "sop_variants": "nosop",
    "sop_replay": "off",
    "sop_prices": "none",
    "sop_timeout": "7.5",
    "sop_retries": "1",
    "sop_paths": "domains",
    "sop_trust": "some folder",
    "sop_max_calls": "7",
    "sop_scoring": "exact",
    "sop_tool_address": "127.0.0.1 localhost",
    "sop_unavailable_exceptions": "some.Error",
    "sop_comparer_timeout": "5",
    "sop_judge": "openai/m temperature=none",
    "sop_dir": "ignored",
    "sop_committed_dir": "domains",
    "sop_contract": "off",
    "sop_redact": "it's [a-z]{40}",
    "sop_replay_ignore": "metadata.user\nmessages[*].id\ntext:\\d{4}-\\d{2}",
    "sop_replay_max_age": "90",
    "sop_snapshot_rules": "digits=2",
    "sop_shard": "1/1",
    "sop_sample": "6",
    "sop_budget": "14m",
    "sop_concurrency": "2",
    "sop_fail_under": "0.9",
    "sop_gate": "tsr=0.9",
    "sop_save": "kept.jsonl",
    "sop_report": "md=page.md",
    "sop_keep_sessions": "3",
    "sop_junit_misses": "failure",
    "sop_traces": "none",
}
"""A value for each row that the line repeats or leaves out."""

OF_A_SESSION = {"sop_tags", "sop_compare", "sop_resume"}
"""Options that run nothing by themselves, or need another session."""


def again_of(result: pytest.RunResult) -> str:
    """Return the first line `again` of a session, as it is printed."""
    return next(one for one in result.outlines if one.startswith("again    ")).partition("pytest ")[
        2
    ]


def pasted(pytester: pytest.Pytester, line: str, folder: Path) -> str:
    """Paste a line into a shell, and return what is printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash", "-c", f"pytest {line}"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    del pytester
    return done.stdout + done.stderr


def test_each_row_says_whether_it_is_repeated_and_has_a_value_here() -> None:
    assert {spec.again for spec in TABLE} == {table.SAME, table.OWN, table.NO}
    assert {spec.name for spec in TABLE if spec.again != table.OWN} == {*GIVEN, *OF_A_SESSION}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in GIVEN])
def test_what_decides_a_run_is_repeated_and_nothing_else_is(
    pytester: pytest.Pytester, lab: Path, name: str
) -> None:
    spec, value = table.SPECS[name], GIVEN[name]
    pytester.makefile(".toml", tasks="")
    ways = [[f"{spec.option}={value}"]] if spec.is_option else []
    ways += [["-o", f"{name}={value}"]] if spec.is_ini else []

    for words in ways:
        result = pytester.runpytest(f"--sop-domain={lab.name}", "--sop-agent=habits:wrong", *words)
        again = shlex.split(again_of(result))

        plain = [f"--sop-domain={lab.name}::T_01", "--sop-agent=habits:wrong"]
        # A line break is written as a shell reads it, and shlex is none.
        same = [*plain, *words] if "\n" not in value else [*plain, "-o", again[-1]]
        assert (same if spec.again == table.SAME else plain) == again


def test_the_line_is_taken_by_a_shell_from_the_folder_where_it_was_printed(
    pytester: pytest.Pytester, lab: Path
) -> None:
    """With another configuration, a plugin, an option of the project, and signs of a shell."""
    del lab
    pytester.makefile(".ini", other="[pytest]\nsop_max_calls = 3\npythonpath = .\n")
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--tone", default="kind")
            parser.addoption("--loud", action="store_true")
        """
    )
    pytester.makepyfile(
        extra="def pytest_report_header(config): return 'extra is here'",
        test_mine="""
        def test_mine(sop_run, request):
            said = request.config.getoption("tone"), request.config.getoption("loud")
            print(said)
            sop_run.assert_correct()
        """,
    )
    below = pytester.mkdir("below")
    words = (
        *("-c", "../other.ini", "--rootdir=..", "-pextra", "--tone", "it's $HOME; a 'word'"),
        *("--loud", "-o", "sop_max_calls=33", "-o", "sop_traces=none", "--tb=short"),
        *("../test_mine.py", "--sop-domain=lab", "--sop-agent=habits:wrong", "-k", "T_02"),
    )
    os.chdir(below)
    result = pytester.run(sys.executable, "-m", "pytest", *words)
    line = next(one for one in result.outlines if "again    " in one).partition("pytest ")[2]

    shown = pasted(pytester, line, below)

    assert "sop_traces" not in line
    assert "extra is here" in shown
    assert "it's $HOME; a 'word'" in shown
    assert "1 failed" in shown
    assert line in shown


def test_one_of_several_agents_and_trials_is_made_again_alone(
    pytester: pytest.Pytester, lab: Path
) -> None:
    words = ("--sop-agent=one=habits:wrong", "--sop-agent=two=habits:right", "--sop-trials=2")
    result = pytester.run(sys.executable, "-m", "pytest", f"--sop-domain={lab.name}", *words)

    shown = pasted(pytester, again_of(result), pytester.path)

    assert "1 failed" in shown
    assert "passed" not in shown


def test_making_a_recorded_run_again_replaces_no_recording(
    pytester: pytest.Pytester, lab: Path
) -> None:
    words = (f"--sop-domain={lab.name}", "--sop-agent=habits:wrong", "--sop-replay=record")

    result = pytester.runpytest(*words)

    assert again_of(result).endswith(" --sop-replay=off")


def test_two_workers_print_the_line_that_one_process_prints(
    pytester: pytest.Pytester, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist")
    asked = (f"--sop-domain={lab.name}", "--sop-agent=habits:wrong")
    words = (*asked, "--sop-timeout=33", "-osop_max_calls=3")

    one = pytester.run(sys.executable, "-m", "pytest", *words)
    two = pytester.run(sys.executable, "-m", "pytest", *words, "-n2")

    # Which task is named depends on which worker ends first.
    assert re.sub("T_0[1-6]", "T", again_of(one)) == re.sub("T_0[1-6]", "T", again_of(two))
    assert again_of(one).endswith("--sop-timeout=33 -o sop_max_calls=3")
