"""The tasks file in a session: tasks that must pass, what the saved session tells, bad files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"
SECOND = (LAB, "--sop-agent=habits:loses_second")
NEVER, LONG_AGO = "2999-12-31", "2000-01-01"

WriteTasks = Callable[..., Path]


class TestATaskThatMustPass:
    def test_a_gate_that_holds_does_not_forgive_it(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02="must_pass = true")

        result = pytester.runpytest(*SECOND, "--sop-fail-under=0.5")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task must pass and did not",
                "       lab/T_02 wrong: grade is 'unknown', not 'fail'",
                "gate   TSR >= 50% holds*",
                "gate   tasks that must pass and did not <= 0 does not hold (got 1): lab/T_02",
            ]
        )

    def test_a_test_that_looks_away_does_not_either(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02="must_pass = true")
        pytester.makepyfile(
            test_own="""
            import pytest

            @pytest.mark.sop(answer="ignored")
            def test_it(sop_run): pass
            """
        )

        result = pytester.runpytest(*SECOND, "test_own.py", *workers)

        assert FAILED == result.ret
        result.assert_outcomes(passed=6)

    def test_a_shard_does_not_forgive_it_either(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02="must_pass = true")

        result = pytester.runpytest(*SECOND, "--sop-shard=1/1")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["tasks  1 task must pass and did not"])

    def test_the_gate_of_a_session_without_one_does_not_either(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02="must_pass = true")
        pytester.runpytest(*SECOND)

        again = CliRunner().invoke(main, ["gate", "last"])

        assert FAILED == again.exit_code
        assert "tasks that must pass and did not <= 0 does not hold (got 1): lab/T_02" in (
            " ".join(again.output.split())
        )

    def test_one_that_passes_says_nothing(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_01="must_pass = true")

        result = pytester.runpytest(*SECOND, "--sop-fail-under=0.5")

        assert OK == result.ret
        result.stdout.no_fnmatch_line("*must pass*")

    def test_one_that_never_started_leaves_it_open(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_06="must_pass = true")

        result = pytester.runpytest(*SECOND, "-x", "--sop-fail-under=0.5")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            ["tasks  1 task must pass, and nobody knows", "*lab/T_06 not_run*"]
        )


@pytest.mark.parametrize(
    ("tasks", "agent"),
    [
        pytest.param({"T_02": NEVER}, "loses_second", id="may fail and did"),
        pytest.param({"T_02": NEVER}, "right", id="may fail and did not"),
        pytest.param({"T_02": LONG_AGO}, "loses_second", id="expired"),
        pytest.param({"T_02": "must_pass = true"}, "loses_second", id="must pass and did not"),
        pytest.param({"T_02": "must_pass = true"}, "right", id="must pass and did"),
    ],
)
def test_the_gate_of_the_file_is_that_of_the_session(
    pytester: pytest.Pytester, write_tasks: WriteTasks, tasks: dict[str, str], agent: str
) -> None:
    path = write_tasks(**tasks)
    result = pytester.runpytest(LAB, f"--sop-agent=habits:{agent}", "--sop-fail-under=0.9")
    # What the file says later is another matter.
    path.unlink()

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    assert int(result.ret) == again.exit_code
    said = [line for line in result.outlines if line.startswith("gate ")]
    assert said == again.stdout.splitlines()[1:]


class TestATasksFileThatCannotBeUsed:
    @pytest.mark.parametrize(
        ("content", "says"),
        [
            pytest.param(
                '["lab/T_01"]\nmust_pass = true\nmay_fail = "why"\nuntil = 2999-12-31\n',
                "*sop_tasks.toml, row 3: *may not fail*",
                id="both",
            ),
            pytest.param(
                '["lab/T_01"]\nmay_fial = "why"\n',
                "*sop_tasks.toml, row 2: *unknown key*",
                id="key",
            ),
            pytest.param(
                '["lab/T_01"]\nmay_fail = "why"\n',
                "*sop_tasks.toml, row 1: *no until*",
                id="endless",
            ),
            pytest.param("[lab/T_01]\n", "*sop_tasks.toml*", id="no TOML"),
        ],
    )
    def test_it_stops_before_the_first_run(
        self, pytester: pytest.Pytester, content: str, says: str
    ) -> None:
        (pytester.path / "sop_tasks.toml").write_text(content)

        result = pytester.runpytest(LAB, "--sop-agent=habits:counted")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines([says])
        assert not (pytester.path / "calls.txt").exists()

    def test_a_task_that_is_not_there_is_an_error_with_the_nearest(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_66=NEVER)

        result = pytester.runpytest(LAB, "--sop-agent=habits:counted", *workers)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(
            [
                "ERROR: *sop_tasks.toml, row 1: *domain lab has no task 'T_66'",
                "did you mean 'T_06'?",
            ]
        )
        assert not (pytester.path / "calls.txt").exists()

    def test_a_test_with_a_domain_of_its_own_finds_it_as_well(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_66=NEVER)
        pytester.makepyfile(
            test_own="""
            import pytest

            @pytest.mark.sop(domain="lab", agent="habits:right")
            def test_it(sop_run): pass
            """
        )

        result = pytester.runpytest("test_own.py", *workers)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*domain lab has no task 'T_66'"])

    def test_an_entry_of_another_domain_is_passed_over(self, pytester: pytest.Pytester) -> None:
        (pytester.path / "sop_tasks.toml").write_text('["clinic/T_99"]\nmust_pass = true\n')

        assert OK == pytester.runpytest(LAB, "--sop-agent=habits:right").ret

    def test_the_configuration_names_its_folder(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        pytester.makeini("[pytest]\nsop_committed_dir = tests\n")
        (pytester.path / "tests").mkdir()
        write_tasks("tests/sop_tasks.toml", T_02=NEVER)

        assert OK == pytester.runpytest(*SECOND).ret

    def test_a_folder_that_is_named_must_be_there(self, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\nsop_committed_dir = nowhere\n")

        result = pytester.runpytest(LAB, "--sop-agent=habits:counted")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["ERROR: sop_committed_dir: there is no folder *nowhere*"])
        assert not (pytester.path / "calls.txt").exists()


def test_a_session_that_cannot_be_saved_forgives_nothing(
    pytester: pytest.Pytester, write_tasks: WriteTasks
) -> None:
    """What must pass is found out by the saved session."""
    write_tasks(T_02="must_pass = true")
    (pytester.path / "blocked").write_text("a file where a folder is needed")

    result = pytester.runpytest(*SECOND, "-o", "sop_dir=blocked")

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["*the saved session that decides was not written*", "not saved: *"]
    )


def test_a_link_that_leads_nowhere_is_a_file_that_cannot_be_used(
    pytester: pytest.Pytester,
) -> None:
    (pytester.path / "sop_tasks.toml").symlink_to("gone.toml")

    result = pytester.runpytest(*SECOND)

    assert USAGE == result.ret
    result.stderr.fnmatch_lines(["ERROR: *sop_tasks.toml: *"])
