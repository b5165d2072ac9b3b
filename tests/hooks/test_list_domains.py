"""`--sop-list`: what it prints, and what leaves it where something is wrong."""

from __future__ import annotations

import gc

import pytest

pytestmark = pytest.mark.usefixtures("lab")


def test_a_domain_that_cannot_be_loaded_is_listed_with_its_problem(
    pytester: pytest.Pytester,
) -> None:
    broken = pytester.path / "domains" / "torn"
    broken.mkdir(parents=True)
    (broken / "metadata.json").write_text("{")

    result = pytester.runpytest("--sop-list")

    assert 0 == result.ret
    result.stdout.fnmatch_lines_random(["lab *", "torn", "  problem  *"])


def test_an_error_of_a_list_shows_no_secret(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsop_redact = hunter[0-9]+")

    result = pytester.runpytest("--sop-list", "--sop-domain=hunter22")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*[*][*][*]*no domain has this name*"])
    result.stderr.no_fnmatch_line("*hunter22*")


def test_an_error_of_a_list_commands_no_terminal(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-list", "--sop-domain=./a\x1b[31mb")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "no such folder" in result.stderr.str()
    assert "\x1b" not in result.stderr.str()


def test_what_the_next_run_would_refuse_does_not_keep_domains_from_being_listed(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest("--sop-list", "--sop-timeout=soon")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["lab *"])


def test_a_program_that_lists_domains_has_its_collector_back(pytester: pytest.Pytester) -> None:
    pytester.runpytest_inprocess("--sop-list")

    assert gc.isenabled()
