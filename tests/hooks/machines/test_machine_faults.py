"""A machine that differs is named, and stops the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Machine = Callable[..., tuple[str, ...]]


@pytest.mark.usefixtures("lab")
def test_a_machine_whose_domain_differs_is_named(
    pytester: pytest.Pytester,
    over_ssh: Machine,
    there: Path,
    bring: Callable[[], None],
) -> None:
    """xdist compares ids only, and runs judged by another answer would be counted."""
    bring()
    path = there / "domains/lab/metadata.json"
    path.write_text(path.read_text().replace('"enum",', '"enum", "aliases": {"ok": "pass"},'))

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "--sop-fail-under=0.5", *over_ssh(1)
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    worker = f"worker gw0 (ssh=me@there in {there})"
    result.stderr.fnmatch_lines(
        [f"ERROR: {worker}: domain lab is not the one that lies here; its judging differ"]
    )
    result.stdout.no_fnmatch_line("gate*holds*")


@pytest.mark.usefixtures("lab")
def test_a_domain_of_a_marker_that_differs_there_is_named(
    pytester: pytest.Pytester, over_ssh: Machine, there: Path, bring: Callable[[], None]
) -> None:
    """Only a worker that collects learns of such a domain; the controller loads it to compare."""
    pytester.makepyfile(
        test_lab="""
        import pytest

        @pytest.mark.sop(domain="lab", agent="habits:right")
        def test_run(sop_run): sop_run.assert_correct()
        """
    )
    bring()
    path = there / "domains/lab/data.csv"
    path.write_text(path.read_text().replace("T_06,90,pass", "T_06,90,fail"))

    result = pytester.runpytest_subprocess(*over_ssh(1))

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    worker = "worker gw0 (ssh=me@there *)"
    result.stderr.fnmatch_lines([f"ERROR: {worker}: domain lab is not the one*; its data differ"])


@pytest.mark.usefixtures("lab")
def test_a_machine_that_lacks_the_agent_ends_the_session_once(
    pytester: pytest.Pytester, over_ssh: Machine, there: Path, bring: Callable[[], None]
) -> None:
    """xdist would start it again for every task, and end in an internal error."""
    bring()
    (there / "habits.py").unlink()

    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:right", *over_ssh(1))

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "node down" not in result.stdout.str()
    result.stderr.fnmatch_lines(
        [
            f"ERROR: worker gw0 (ssh=me@there in {there}): agent 'habits:right': there is no *",
            f"looked in {there} and *",
        ],
        consecutive=True,
    )


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param((), "*without -d nothing is distributed*", id="without -d"),
        pytest.param(("-d", "-n2"), "*-n starts its workers on this machine*", id="beside -n"),
    ],
)
def test_machines_that_would_not_be_used_are_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    """Every run would be made here, and the summary would not tell."""
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "--tx=ssh=me@there", *options
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([said])
