"""`--sop-compare`: what is said of the tasks after the last run.

Domain `lab` has six tasks, two of each grade. The baseline is a session of the right agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main
from tests.builders.commands import ran

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED = 0, 1
LAB = "--sop-domain=lab"
RIGHT = "--sop-agent=habits:right"
AGAINST_MAIN = (LAB, "--sop-compare=main")
ALL_LOST = "--sop-agent=habits:wrong"


@pytest.mark.usefixtures("baseline")
class TestTheComparison:
    def test_a_session_like_the_baseline_shows_no_difference(
        self, pytester: pytest.Pytester
    ) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "vs main  lost 0, gained 0, McNemar p = 1",
                "       no difference shown: 0 of 6 paired tasks changed",
            ]
        )

    def test_what_was_lost_is_named(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_three")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["vs main  lost 3 (T_03, T_04, T_06), gained 0, *"])

    def test_a_regression_is_called_one(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, ALL_LOST)

        result.stdout.fnmatch_lines(["       regression: 6 of 6 paired tasks changed"])

    def test_without_a_gate_pytest_shows_the_failures_by_itself(
        self, pytester: pytest.Pytester
    ) -> None:
        # On a CI server the short summary, which -rN leaves out, repeats all of it.
        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_second", "-rN")

        result.stdout.no_fnmatch_line("*1 task lost since main*")
        assert 1 == result.outlines.count(
            "field    grade: expected 'fail', actual 'unknown': not a known label"
        )

    def test_the_last_session_is_compared_though_it_is_replaced(
        self, pytester: pytest.Pytester
    ) -> None:
        result = pytester.runpytest(LAB, "--sop-compare=last", "--sop-agent=habits:loses_second")
        again = pytester.runpytest(LAB, "--sop-compare=last", "--sop-agent=habits:loses_second")

        result.stdout.fnmatch_lines(["vs last  lost 1 (T_02), gained 0, *"])
        again.stdout.fnmatch_lines(["vs last  lost 0, gained 0, *"])

    def test_quiet_says_it_in_one_line(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, ALL_LOST, "-q")

        said = [line for line in result.outlines if line.startswith("vs ")]
        assert ["vs main: regression: lost 6, gained 0, p = 0.031"] == said

    def test_tasks_that_options_leave_out_are_not_missing(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, RIGHT, "--sop-sample=first:2")

        result.stdout.fnmatch_lines(
            ["*0 of 2 paired tasks changed", "       4 tasks left out by options"]
        )

    def test_a_task_that_changed_is_set_aside_by_name(
        self, pytester: pytest.Pytester, lab: Path
    ) -> None:
        rows = lab / "data.csv"
        rows.write_text(rows.read_text().replace("T_02,10,", "T_02,20,"))

        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_second")

        result.stdout.fnmatch_lines(
            ["vs main  lost 0, *", "*0 of 5 paired tasks*", "*not compared, *: 1 task (T_02)*"]
        )

    def test_a_changed_sop_is_told(self, pytester: pytest.Pytester, lab: Path) -> None:
        same = pytester.runpytest(*AGAINST_MAIN, RIGHT)
        (sop,) = lab.glob("sop.*")
        sop.write_text(f"{sop.read_text()}\nRetest twice.\n")

        changed = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        same.stdout.no_fnmatch_line("sop    *")
        changed.stdout.fnmatch_lines(["sop    the SOP of lab has changed since the baseline"])

    def test_changed_tool_specs_are_told(self, pytester: pytest.Pytester, lab: Path) -> None:
        specs = lab / "toolspecs.json"
        told = json.loads(specs.read_text())
        told[0]["description"] = "Measures twice."
        specs.write_text(json.dumps(told))

        changed = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        changed.stdout.fnmatch_lines(
            ["tools  the tool specs of lab have changed since the baseline"]
        )

    @pytest.mark.parametrize("kind", ["html", "md"])
    def test_a_changed_sop_is_told_on_pages(
        self, pytester: pytest.Pytester, lab: Path, kind: str
    ) -> None:
        (sop,) = lab.glob("sop.*")
        sop.write_text(f"{sop.read_text()}\nRetest twice.\n")

        pytester.runpytest(*AGAINST_MAIN, RIGHT, f"--sop-report={kind}=page")

        page = (pytester.path / "page").read_text("utf-8")
        assert "the SOP of lab has changed since the baseline" in page

    def test_a_changed_sop_is_told_to_programs(self, pytester: pytest.Pytester, lab: Path) -> None:
        (sop,) = lab.glob("sop.*")
        sop.write_text(f"{sop.read_text()}\nRetest twice.\n")

        pytester.runpytest(*AGAINST_MAIN, RIGHT, "--sop-report=json=report.json")

        report = json.loads((pytester.path / "report.json").read_text("utf-8"))
        assert {"sop": ["lab"], "specs": [], "tools": []} == report["comparison"]["changed"]

    def test_sessions_of_other_rules_are_not_comparable(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, RIGHT, "-o", "sop_scoring=published")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["vs main  not comparable: judged by other rules*"])

    def test_every_domain_is_compared_and_all_of_them_pooled(
        self, pytester: pytest.Pytester, make_domain: Callable[..., Path]
    ) -> None:
        make_domain("clinic", tasks=3)
        both = "--sop-domain=lab,clinic"
        pytester.runpytest(both, RIGHT, "--sop-save=both")

        result = pytester.runpytest(both, "--sop-agent=habits:loses_second", "--sop-compare=both")

        result.stdout.fnmatch_lines(
            [
                "*SOP: lab ===*",
                "vs both  lost 1 (T_02), *",
                "*SOP: clinic ===*",
                "vs both  lost 1 (T_02), *",
                "*SOP: 2 domains, pooled*",
                "vs both  lost 2 (lab/T_02, clinic/T_02), *",
            ]
        )

    def test_the_command_line_tells_the_same(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_three")

        again = CliRunner().invoke(main, ["compare", "main", "last"], catch_exceptions=False)

        start = next(n for n, line in enumerate(result.outlines) if line.startswith("vs main"))
        said = again.stdout.splitlines()
        assert 3 < len(said)
        assert said == result.outlines[start : start + len(said)]

    def test_a_user_test_is_compared_as_well(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        pytester.makepyfile(test_own="def test_it(sop_run): sop_run.assert_correct()")

        result = pytester.runpytest(
            *AGAINST_MAIN, "--sop-agent=habits:loses_second", "test_own.py", *workers
        )

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["vs main  lost 1 (T_02), gained 0, *"])

    def test_unit_tests_alone_are_not_compared(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(test_unit="def test_unit(): pass")

        result = pytester.runpytest("test_unit.py", "--sop-compare=main")

        assert OK == result.ret
        result.stdout.no_fnmatch_line("vs *")

    def test_collecting_compares_nothing(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, RIGHT, "--collect-only")

        assert OK == result.ret
        result.stdout.no_fnmatch_line("vs *")


@pytest.mark.usefixtures("baseline")
class TestLostTasksUnderAGate:
    GATED = (*AGAINST_MAIN, "--sop-fail-under=0.1")

    def test_they_come_first_and_in_full(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*self.GATED, "--sop-agent=habits:loses_second")

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "*= SOP: 1 task lost since main =*",
                "wrong: grade is 'unknown', not 'fail'",
                "task     lab/T_02  domains/lab/data.csv:3",
                "inputs   sample_id='T_02'",
                "calls*",
                "again    pytest --sop-domain=lab::T_02 *",
                "more     sopbench show last T_02",
                "*SOP: lab, agent habits:loses_second*",
            ]
        )
        result.stdout.no_fnmatch_line("*SOP: 1 miss*")

    def test_other_misses_take_a_line_each(self, pytester: pytest.Pytester) -> None:
        """A task that the baseline missed too is no news."""
        pytester.runpytest(LAB, "--sop-agent=habits:loses_second", "--sop-save=weaker")

        result = pytester.runpytest(LAB, "--sop-compare=weaker", "--sop-fail-under=0.1", ALL_LOST)

        result.stdout.fnmatch_lines(
            [
                "*SOP: 5 tasks lost since weaker*",
                "*SOP: 1 miss *",
                "grade 'fail' -> 'unknown': T_02",
            ]
        )

    def test_quiet_lists_none(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*self.GATED, "--sop-agent=habits:loses_second", "-q")

        result.stdout.no_fnmatch_line("*lost since*")


@pytest.mark.usefixtures("baseline")
class TestTheReportOfIt:
    def test_it_compares_with_the_sessions_own_baseline(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_second", "--sop-gate=lost=0")

        page = ran("report", "last", "--to=md")

        page.stdout.fnmatch_lines(["- lost tasks *does not hold*", "## Compared with main"])

    def test_where_that_is_not_at_hand_it_is_said(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:loses_second", "--sop-gate=lost=0")
        (pytester.path / ".sop/sessions/main.jsonl").unlink()

        page = ran("report", "last", "--to=md")

        assert 0 == page.ret
        page.stderr.fnmatch_lines(["*main.jsonl: the baseline of the session is not here*"])
        page.stdout.fnmatch_lines(["- lost tasks *inconclusive*"])
        page.stdout.no_fnmatch_line("## Compared with main")
