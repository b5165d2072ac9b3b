"""The zero-file run: a domain, an agent, and no test file.

These tests run pytest as a user does, in a folder that holds an agent and a domain.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RIGHT = ("--sop-domain=lab", "--agent=habits:right")


def test_each_row_becomes_an_item(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["TSR   100.0%*correct, 6 of 6 *"])
    assert 0 == result.ret


def test_spaces_instead_of_equals_signs_mean_the_same(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest("--sop-domain", "lab", "--agent", "habits:right")

    result.assert_outcomes(passed=6)


def test_nothing_else_of_the_project_is_collected(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(test_unit="def test_fails(): assert False")

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)


def test_a_domain_from_the_configuration_removes_no_unit_test(
    pytester: pytest.Pytester, lab: Path
) -> None:
    """An ini value says which tasks SOP tests use; a failing unit test must not vanish."""
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:right")
    pytester.makepyfile(test_unit="def test_fails(): assert False")

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)


def test_a_domain_in_addopts_removes_no_unit_test(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeini("[pytest]\naddopts = --sop-domain=lab --agent=habits:right")
    pytester.makepyfile(test_unit="def test_fails(): assert False")

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)


def test_items_are_named_by_data_file_and_task(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT, "--collect-only", "-q")

    result.stdout.fnmatch_lines(["domains/lab/data.csv::T_01", "domains/lab/data.csv::T_06"])
    result.stdout.no_fnmatch_line("TSR*")


def test_items_of_a_domain_outside_rootdir_are_named_by_the_domain(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(
        "--sop-domain=dangerous_goods", "--agent=reference-policy", "--collect-only", "-q"
    )

    result.stdout.fnmatch_lines(["sop:dangerous_goods::*", "327 tests collected*"])


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("domains/lab/data.csv::T_03", id="as printed"),
        pytest.param("sop:lab::T_03", id="with the prefix"),
        pytest.param("../sop:lab::T_03", id="with the prefix, from a sub-folder"),
        pytest.param("lab::T_03", id="by domain and task"),
    ],
)
def test_an_id_on_the_command_line_runs_one_task(
    pytester: pytest.Pytester, lab: Path, written: str
) -> None:
    result = pytester.runpytest(*RIGHT, written, "-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["domains/lab/data.csv::T_03 PASSED*"])


@pytest.mark.parametrize("written", ["sop:lab::T_03", "lab::T_03", "domains/lab/data.csv::T_03"])
def test_an_id_needs_no_domain_option(pytester: pytest.Pytester, lab: Path, written: str) -> None:
    result = pytester.runpytest("--agent=habits:right", written)

    result.assert_outcomes(passed=1)


def test_a_task_in_the_domain_option_runs_one_task(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest("--sop-domain=lab::T_03", "--agent=habits:right")

    result.assert_outcomes(passed=1, deselected=5)


def test_reserved_characters_of_a_task_id_are_encoded(pytester: pytest.Pytester, lab: Path) -> None:
    data = (lab / "data.csv").read_text().replace("T_03", "T[3]::a b/c%")
    (lab / "data.csv").write_text(data)

    listed = pytester.runpytest(*RIGHT, "--collect-only", "-q")
    again = pytester.runpytest(*RIGHT, "domains/lab/data.csv::T%5B3%5D%3A%3Aa%20b%2Fc%25")

    listed.stdout.fnmatch_lines(["domains/lab/data.csv::T%5B3%5D%3A%3Aa%20b%2Fc%25"])
    again.assert_outcomes(passed=1)


def test_last_failed_runs_the_failures_again(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.runpytest("--sop-domain=lab", "--agent=habits:always_pass")

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", "--lf")

    result.assert_outcomes(passed=4, deselected=2)


def test_last_failed_works_outside_rootdir_beside_failures_of_other_files(
    pytester: pytest.Pytester,
) -> None:
    """pytest skips files without failures by their path, and `sop:NAME` is not a path."""
    pytester.makepyfile(silent="def agent(): return 'I do not know'")
    pytester.makepyfile(test_unit="def test_fails(): assert False")
    pytester.runpytest("test_unit.py")
    run = ("--sop-domain=dangerous_goods::KX-1", "--agent=silent:agent")
    sample = ("--sop-domain=dangerous_goods", "--sop-sample=first:3", run[1])
    pytester.runpytest(*sample)

    result = pytester.runpytest(*sample, "--lf")

    result.assert_outcomes(failed=3, deselected=324)


def test_keyword_selects_tasks(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT, "-k", "T_02 or T_05")

    result.assert_outcomes(passed=2, deselected=4)


def test_every_item_carries_the_marker(pytester: pytest.Pytester, lab: Path) -> None:
    everything = pytester.runpytest(*RIGHT, "-m", "sop", "--strict-markers")
    nothing = pytester.runpytest(*RIGHT, "-m", "not sop")

    everything.assert_outcomes(passed=6)
    nothing.assert_outcomes(deselected=6)


def test_the_marker_tells_domains_apart(
    pytester: pytest.Pytester, lab: Path, make_domain: object
) -> None:
    make_domain("clinic", tasks=3)  # type: ignore[operator]

    result = pytester.runpytest(
        "--sop-domain=lab,clinic", "--agent=habits:right", "-m", "sop(domain='clinic')"
    )

    result.assert_outcomes(passed=3, deselected=6)


def test_several_domains_have_a_block_each_and_a_total(
    pytester: pytest.Pytester, lab: Path, make_domain: object
) -> None:
    make_domain("clinic", tasks=3)  # type: ignore[operator]

    result = pytester.runpytest("--sop-domain=lab,clinic", "--agent=habits:right")

    result.stdout.fnmatch_lines(
        ["*SOP: lab, agent habits:right*", "*SOP: clinic, agent*", "*SOP: 2 domains*"]
    )


def test_a_domain_that_selects_no_task_exits_with_5(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT, "-k", "nothing_like_it")

    assert pytest.ExitCode.NO_TESTS_COLLECTED == result.ret


@pytest.mark.parametrize(
    ("args", "domains"),
    [
        pytest.param((), "lab", id="nothing awake"),
        pytest.param(("--agent=habits:right",), "lab", id="with an agent"),
        pytest.param((), "lab clinic", id="several"),
    ],
)
def test_a_domain_of_the_configuration_that_is_not_run_says_how_it_is(
    pytester: pytest.Pytester, lab: Path, make_domain: object, args: tuple[str, ...], domains: str
) -> None:
    make_domain("clinic", tasks=3)  # type: ignore[operator]
    pytester.makeini(f"[pytest]\nsop_domain = {domains}")
    named = domains.replace(" ", ",")

    result = pytester.runpytest(*args)

    assert pytest.ExitCode.NO_TESTS_COLLECTED == result.ret
    said = f"to run {named}: pytest domains, or pytest --sop-domain={named}"
    result.stdout.fnmatch_lines([f"sop: nothing was collected; {said}"])


def test_tests_that_are_deselected_are_not_taken_for_none(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:right")

    result = pytester.runpytest("domains", "-k", "nothing_like_it")

    assert pytest.ExitCode.NO_TESTS_COLLECTED == result.ret
    result.stdout.no_fnmatch_line("sop: nothing was collected*")


def test_a_task_failure_points_at_its_row(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:always_pass", "-k", "T_01")

    result.stdout.fnmatch_lines(
        [
            "*lab?T_01?*",
            "wrong*",
            "task*lab/T_01*domains/lab/data.csv:2",
            "inputs*sample_id='T_01'",
            "*grade: expected 'retest', actual 'pass'*",
            "calls*none: the agent called no tool",
            "again*pytest --sop-domain=lab::T_01 --sop-agent=habits:always_pass",
        ]
    )


def test_no_printed_line_is_wider_than_a_terminal(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:fifths_and_sevenths", "-v", "--no-header"
    )

    ours = [line for line in result.outlines if not line.startswith(("platform", "plugins"))]
    assert [] == [line for line in ours if len(line) > 80 and not line.startswith("again")]


def test_an_agent_exception_shows_the_users_own_lines(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:raising", "-k", "T_01")

    result.stdout.fnmatch_lines(
        ["error*no model for T_01*", "*habits.py*in raising*", "*RuntimeError: no model for T_01"]
    )
    result.stdout.no_fnmatch_line("*pytest_sopbench*_running*")


def test_a_traceback_is_shown_once_for_its_kind(pytester: pytest.Pytester, lab: Path) -> None:
    """What the exceptions say is of their runs; where they were raised is the same."""
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:raising", "-k", "T_01 or T_02")

    shown = result.stdout.str()
    assert 1 == shown.count("Traceback (most recent call last)")
    result.stdout.fnmatch_lines(
        ["raised*no model for T_01", "raised*no model for T_02", "*the same*as that of lab/T_01"]
    )


def test_an_argument_that_differs_from_the_expected_one_is_shown(
    pytester: pytest.Pytester, lab: Path
) -> None:
    arguments = {"sample_id": "T_01", "note": "the expected note, too long for a line of calls"}
    expected = {"task": "T_01", "calls": [{"name": "measure", "arguments": arguments}]}
    (lab / "expected_calls.jsonl").write_text(json.dumps(expected))
    pytester.makepyfile(
        hasty="""
        def agent(inputs, tools):
            tools.execute_tool("measure", {"sample_id": inputs["sample_id"], "note": "another"})
            return {"grade": "nothing"}
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=hasty:agent", "-k", "T_01")

    result.stdout.fnmatch_lines(
        [
            "calls *measure(*",
            "*differs: note: expected 'the expected note, too long for a line of*",
            "*calls', was 'another'",
        ]
    )


def test_quiet_prints_one_line_for_a_domain(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT, "-q")

    result.stdout.fnmatch_lines(["lab: TSR 100.0%*6 of 6, 0 wrong, 0 not answered"])
    result.stdout.no_fnmatch_line("*C-TSR*")


def test_header_says_what_is_about_to_run(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest(*RIGHT, "--sop-sample=first:2")

    result.stdout.fnmatch_lines(["sop: lab, 2 of 6 tasks, agent habits:right"])


def test_a_bundled_domain_runs_in_an_empty_folder(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=dangerous_goods", "--agent=reference-policy", "--sop-sample=24"
    )

    result.assert_outcomes(passed=24)
    result.stdout.fnmatch_lines(["TSR   100.0%*correct, 24 of 24 *"])


def test_a_table_of_right_answers_scores_everything(pytester: pytest.Pytester, lab: Path) -> None:
    """The run's own arithmetic: an agent that knows the table is right on every row."""
    pytester.makepyfile(
        table="""
        import csv, pathlib
        LINES = pathlib.Path("domains/lab/data.csv").read_text().splitlines()
        ROWS = {row["sample_id"]: row for row in csv.DictReader(LINES)}
        def agent(inputs): return {"grade": ROWS[inputs["sample_id"]]["grade"]}
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=table:agent")

    result.stdout.fnmatch_lines(["TSR   100.0%*", "*no tool was called*"])


def test_a_folder_that_pytest_takes_for_a_parameter_is_told(
    pytester: pytest.Pytester, lab: Path
) -> None:
    lab.rename(lab.with_name("lab[1]"))

    result = pytester.runpytest(*RIGHT)

    assert 4 == result.ret
    line = "ERROR: *lab[[]1]/data.csv: pytest takes '[[]' in a path for a parameter; rename*"
    result.stderr.fnmatch_lines([line])
