"""`--sop-report`: a page of Markdown on the session, in a file or in the summary of a step."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench import SessionPage
from pytest_sopbench.cli import main
from tests.builders.tables import FORMATS, PageFormat

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"
RIGHT = (LAB, "--sop-agent=habits:right")
SECOND = (LAB, "--sop-agent=habits:loses_second")
TO_FILE = "--sop-report=md=page.md"
TO_GITHUB = "--sop-report=md=github"


def page(pytester: pytest.Pytester, name: str = "page.md") -> list[str]:
    return (pytester.path / name).read_text("utf-8").splitlines()


class TestAFile:
    def test_the_verdict_stands_first(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*SECOND, "--sop-fail-under=0.9", TO_FILE)

        assert FAILED == result.ret
        assert [
            "# SOP: lab, agent habits:loses_second",
            "",
            "**The gate does not hold**: TSR 83.3%, 5 of 6 runs correct",
        ] == page(pytester)[:3]
        assert "| lab/T_02 | wrong: grade is 'unknown', not 'fail' |" in page(pytester)

    def test_it_is_what_the_command_line_writes(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*SECOND, "--sop-fail-under=0.5", TO_FILE)

        again = CliRunner().invoke(main, ["report", "last"], catch_exceptions=False)

        assert page(pytester) == again.stdout.splitlines()

    def test_a_comparison_is_in_it(self, pytester: pytest.Pytester, baseline: Path) -> None:
        assert baseline.is_file()

        pytester.runpytest(*SECOND, "--sop-compare=main", TO_FILE)

        written = page(pytester)
        place = written.index("## Compared with main")
        assert written[place + 2].startswith("**not enough data: lost 1, gained 0 of 6 paired")
        assert "- lost 1: T_02" in written
        again = CliRunner().invoke(main, ["report", "last", "--compare=main"])
        assert written == again.stdout.splitlines()

    def test_tasks_that_may_fail_are_apart(self, pytester: pytest.Pytester) -> None:
        (pytester.path / "sop_tasks.toml").write_text(
            '["lab/T_02"]\nmay_fail = "two invoices"\nuntil = 2999-12-31\n'
        )

        pytester.runpytest(*SECOND, "--sop-fail-under=1", TO_FILE)

        assert (
            "**The gate holds**: TSR 83.3%, 5 of 6 runs correct; "
            "without answers that may be wrong 100.0%, 5 of 5"
        ) == page(pytester)[2]
        assert "## Not correct, and may fail: 1" in page(pytester)

    def test_a_session_that_is_cut_short_has_one(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        pytester.runpytest(
            LAB, "--sop-agent=habits:wrong", "--sop-fail-under=0", TO_FILE, "-x", *workers
        )

        assert "**No gate was evaluated**: TSR 0.0%, 0 of 6 runs correct" == page(pytester)[2]
        assert page(pytester)[4].startswith("- not evaluated: the session was cut short")
        assert any(line.startswith("| not_run |") for line in page(pytester))

    def test_what_came_of_the_baseline_is_told(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*RIGHT, "--sop-compare=main,create", TO_FILE)

        assert "- this session is the baseline now: .sop/sessions/main.jsonl" in page(pytester)

    def test_a_page_that_is_there_is_replaced(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*SECOND, TO_FILE)
        pytester.runpytest(*RIGHT, TO_FILE)

        assert 1 == sum(line.startswith("# ") for line in page(pytester))
        assert "T_02" not in "".join(page(pytester)[:12])

    def test_several_are_written(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*RIGHT, TO_FILE, "--sop-report=md=other.md")

        assert page(pytester) == page(pytester, "other.md")

    def test_one_that_cannot_be_written_is_told_before_the_first_run(
        self, pytester: pytest.Pytester
    ) -> None:
        (pytester.path / "page.md").mkdir()

        result = pytester.runpytest(*RIGHT, TO_FILE)

        assert pytest.ExitCode.USAGE_ERROR == result.ret
        result.stderr.fnmatch_lines(["*page.md cannot be written: *"])

    def test_one_that_nothing_can_replace_is_told_before_the_first_run(
        self, pytester: pytest.Pytester
    ) -> None:
        """A page is written aside, where its name with more to it is too long for the disk."""
        name = f"{'n' * 250}.md"
        (pytester.path / name).write_text("before")

        result = pytester.runpytest(*RIGHT, f"--sop-report=md={name}")

        assert pytest.ExitCode.USAGE_ERROR == result.ret
        result.stderr.fnmatch_lines(["*n.md cannot be written: *"])
        assert "before" == (pytester.path / name).read_text()

    def test_unit_tests_alone_write_none(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(test_unit="def test_unit(): pass")

        result = pytester.runpytest("test_unit.py", TO_FILE)

        assert OK == result.ret
        assert not (pytester.path / "page.md").exists()


class TestTheStepSummary:
    def test_the_page_is_appended(
        self,
        pytester: pytest.Pytester,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A step may have written into its summary before."""
        (pytester.path / "summary.md").write_text("What came before.\n\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))

        pytester.runpytest(*RIGHT, TO_GITHUB)

        assert ["What came before.", "", "# SOP: lab, agent habits:right"] == page(
            pytester, "summary.md"
        )[:3]

    def test_two_sessions_of_a_step_have_a_page_each(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))

        pytester.runpytest(*RIGHT, TO_GITHUB)
        pytester.runpytest(*SECOND, TO_GITHUB)

        heads = [line for line in page(pytester, "summary.md") if line.startswith("# ")]
        assert 2 == len(heads)

    @pytest.mark.parametrize("value", [None, ""], ids=["unset", "empty"])
    def test_without_one_the_session_does_not_start(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, value: str | None
    ) -> None:
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        if value is not None:
            monkeypatch.setenv("GITHUB_STEP_SUMMARY", value)

        result = pytester.runpytest(LAB, "--sop-agent=habits:counted", TO_GITHUB)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["ERROR: --sop-report=md=github: GITHUB_STEP_SUMMARY is not*"])
        assert not (pytester.path / "calls.txt").exists()


def counts(page: SessionPage) -> str:
    """A format from outside: one line, for a spreadsheet."""
    return f"{len(page.records)},{page.summaries['lab'].correct}\n"


COUNTS = PageFormat(name="counts", render=counts)


class TestAFormatFromOutside:
    @pytest.fixture(autouse=True)
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(FORMATS, "counts", COUNTS)

    def test_a_session_writes_it_beside_others(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest_inprocess(*SECOND, "--sop-report=counts=counts.csv", TO_FILE)

        assert FAILED == result.ret
        assert ["6,5"] == page(pytester, "counts.csv")
        assert "# SOP: lab, agent habits:loses_second" == page(pytester)[0]

    def test_the_command_writes_it_of_a_saved_session(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest_inprocess(*SECOND)

        printed = CliRunner().invoke(main, ["report", "last", "--to=counts=-"])
        written = CliRunner().invoke(main, ["report", "last", "--to=counts=counts.csv", "--to=md"])

        assert "6,5\n" == printed.stdout
        assert written.stdout.startswith("# SOP: lab")
        assert ["6,5"] == page(pytester, "counts.csv")

    def test_the_summary_of_a_step_does_not_take_it(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest_inprocess(*RIGHT, "--sop-report=counts=github")

        assert USAGE == result.ret
        told = "ERROR: *counts=github: write md=PATH, *counts=PATH, md=github for*"
        result.stderr.fnmatch_lines([told])


@pytest.mark.parametrize("value", ["pdf=page.pdf", "page.md", "md", "=page.md", "annotations=x"])
def test_another_value_is_refused(pytester: pytest.Pytester, value: str) -> None:
    result = pytester.runpytest(*RIGHT, f"--sop-report={value}")

    assert USAGE == result.ret
    result.stderr.fnmatch_lines([f"ERROR: --sop-report={value}: write md=PATH, *, md=github*"])


def test_a_folder_that_is_not_there_is_made(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--sop-agent=habits:right", "--sop-report=md=out/ci/page.md")

    assert pytest.ExitCode.OK == result.ret
    assert "TSR 100.0%" in (pytester.path / "out/ci/page.md").read_text("utf-8")


def test_a_folder_that_cannot_be_made_is_refused(pytester: pytest.Pytester) -> None:
    (pytester.path / "out").write_text("a file")

    result = pytester.runpytest(LAB, "--sop-agent=habits:counted", "--sop-report=md=out/page.md")

    assert USAGE == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: --sop-report=md=out/page.md: the folder out cannot be made: *"]
    )
    assert not (pytester.path / "calls.txt").exists()
