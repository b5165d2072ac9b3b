"""`--sop-list`: what it prints, and what leaves it where something is wrong."""

from __future__ import annotations

import gc
from pathlib import Path

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


def test_what_a_list_says_of_a_broken_domain_shows_no_secret(
    lab: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the message cuts the value, it cuts it in the secret."""
    monkeypatch.setenv("TOKEN", "pq-1234567890-abcdef")
    pytester.makeini("[pytest]\nsop_redact = env:TOKEN\n")
    data = lab / "data.csv"
    grade = f"{'x' * 48}pq-1234567890-abcdef"
    data.write_text(data.read_text().replace(",retest\n", f",{grade}\n", 1))

    result = pytester.runpytest("--sop-list")

    result.stdout.fnmatch_lines(["*xxx*"])
    result.stdout.no_fnmatch_line("*pq-12*")


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
