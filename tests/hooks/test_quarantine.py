"""Tasks that may fail until a day, by `sop_tasks.toml`.

Of the six tasks of `lab`, `loses_three` fails the third, the fourth and the sixth.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED = 0, 1
LAB = "--sop-domain=lab"
THREE = (LAB, "--sop-agent=habits:loses_three")
SECOND = (LAB, "--sop-agent=habits:loses_second")
NEVER, LONG_AGO = "2999-12-31", "2000-01-01"

WriteTasks = Callable[..., Path]


class TestATaskThatMayFail:
    def test_it_fails_no_session(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND, *workers)

        assert OK == result.ret
        assert {"passed": 5} == {k: n for k, n in result.parseoutcomes().items() if k == "passed"}
        result.stdout.fnmatch_lines(["*5 passed, 1 may fail in *"])

    def test_it_has_a_letter_and_a_word_of_its_own(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        letters = pytester.runpytest(*SECOND)
        words = pytester.runpytest(*SECOND, "-v")

        letters.stdout.fnmatch_lines(["domains/lab/data.csv .q....*"])
        words.stdout.fnmatch_lines(["domains/lab/data.csv::T_02 MAY FAIL*"])

    def test_it_is_shown_apart_with_its_reason(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=f'may_fail = "two invoices"\nuntil = {NEVER}\nissue = "SOP-71"')

        result = pytester.runpytest(*SECOND, "--sop-fail-under=0.5", *workers)

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task may fail and did, outside gates",
                "       lab/T_02 until 2999-12-31: two invoices (SOP-71)",
            ]
        )
        result.stdout.no_fnmatch_line("*miss*")

    def test_the_rate_is_told_with_and_without_it(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND)

        result.stdout.fnmatch_lines(
            [
                "TSR    83.3% *correct, 5 of 6 *",
                "TSR without tasks that may fail: 100.0% *5 of 5",
            ]
        )

    def test_gates_leave_it_out(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND, "--sop-fail-under=1", *workers)

        assert OK == result.ret
        result.stdout.fnmatch_lines(["gate   TSR >= 100% holds (got 100%)"])

    def test_it_makes_no_gate_hold(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        """A task that may fail and does not counts for nothing either."""
        write_tasks(T_01=NEVER)

        result = pytester.runpytest(*THREE, "--sop-fail-under=0.5")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate   TSR >= 50% does not hold (got 40%): 2 of 5"])

    @pytest.mark.usefixtures("baseline")
    def test_it_is_neither_lost_nor_gained(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND, "--sop-compare=main", "--sop-gate=lost=0")

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            ["vs main  lost 0, gained 0, *", "*not compared, may fail: 1 task (T_02)"]
        )

    def test_other_failures_fail_all_the_same(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_03=NEVER, T_04=NEVER)

        result = pytester.runpytest(*THREE, *workers)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["FAILED *T_06*", "*1 failed, 3 passed, 2 may fail in*"])

    def test_where_all_may_fail_no_gate_can_be_decided(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(**{f"T_0{number}": NEVER for number in range(1, 7)})

        result = pytester.runpytest(*THREE, "--sop-fail-under=0.1")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate*TSR >= 10% inconclusive (got n/a): no run was planned"])

    def test_one_that_fails_no_longer_is_reported(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_01=NEVER)

        result = pytester.runpytest(
            *SECOND[:1], "--sop-agent=habits:right", "--sop-trials=5", *workers
        )

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task may fail and did not: take it out of sop_tasks.toml",
                "*lab/T_01 (5 of 5)",
            ]
        )

    def test_one_that_was_not_selected_changes_no_rate(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_06=NEVER)

        result = pytester.runpytest(*SECOND, "--sop-limit=2", "--sop-fail-under=0.5")

        assert OK == result.ret
        result.stdout.no_fnmatch_line("*may fail*")

    def test_a_dead_worker_is_a_failure_like_any(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_03=NEVER)

        result = pytester.runpytest(LAB, "--sop-agent=habits:dying", "-n2")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["tasks  1 task may fail and did, outside gates"])

    def test_the_session_still_stops_at_it_where_x_says_so(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND, "-x")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["*1 passed, 1 may fail in*"])

    def test_it_is_run_again_by_last_failed(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.runpytest(*SECOND)
        pytester.makeini("[pytest]\nsop_fail_under = 1")

        result = pytester.runpytest(*SECOND, "--lf")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["gate   not evaluated: --lf took 5 of 6*", "*1 may fail*"])

    def test_a_shard_forgives_it(self, pytester: pytest.Pytester, write_tasks: WriteTasks) -> None:
        write_tasks(T_02=NEVER)

        statuses = [int(pytester.runpytest(*SECOND, f"--sop-shard={n}/2").ret) for n in (1, 2)]

        assert [OK, OK] == statuses

    def test_junit_has_it_as_a_failure(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        pytester.runpytest(*SECOND, "--junitxml=out.xml")

        suite = next(ET.parse(pytester.path / "out.xml").iter("testsuite"))  # noqa: S314 - pytest's
        assert ("6", "1") == (suite.get("tests"), suite.get("failures"))


class TestInTestsOfTheUser:
    def test_the_test_itself_is_forgiven(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.makepyfile(test_own="def test_it(sop_run): sop_run.assert_correct()")

        result = pytester.runpytest(*SECOND, "test_own.py", *workers)

        assert OK == result.ret
        result.stdout.fnmatch_lines(["*5 passed, 1 may fail in*"])

    @pytest.mark.parametrize(
        "fixture",
        [
            pytest.param("assert 0\n    yield", id="set-up"),
            pytest.param("yield\n    assert 0", id="tear-down"),
        ],
    )
    def test_its_fixtures_are_not(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        workers: tuple[str, ...],
        fixture: str,
    ) -> None:
        """A broken fixture says nothing of the agent."""
        write_tasks(**{f"T_0{number}": NEVER for number in range(1, 7)})
        pytester.makepyfile(
            test_own="import pytest\n\n@pytest.fixture\ndef broken():\n    "
            f"{fixture}\n\ndef test_it(sop_run, broken): pass\n"
        )

        result = pytester.runpytest(LAB, "--sop-agent=habits:right", "test_own.py", *workers)

        assert FAILED == result.ret
        assert 6 == result.parseoutcomes()["errors"]

    def test_a_unit_test_beside_is_not(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, workers: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.makepyfile(test_own="def test_it(sop_run): pass\ndef test_unit(): assert 0")

        result = pytester.runpytest(*SECOND, "test_own.py", *workers)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["FAILED *test_unit*", "*1 failed, 5 passed, 1 may fail in*"])


class TestAnExpiredEntry:
    @pytest.mark.parametrize(
        "gate", [pytest.param((), id="no gate"), pytest.param(("--sop-fail-under=0",), id="gate")]
    )
    @pytest.mark.parametrize("agent", ["right", "loses_second"])
    def test_it_fails_the_session(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        workers: tuple[str, ...],
        gate: tuple[str, ...],
        agent: str,
    ) -> None:
        """Whatever came of the task: the entry itself has to go."""
        write_tasks(T_02=LONG_AGO)

        result = pytester.runpytest(LAB, f"--sop-agent=habits:{agent}", *gate, *workers)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task may fail no longer, by sop_tasks.toml",
                "       lab/T_02 until 2000-01-01: two invoices",
                "gate   tasks whose entry is expired <= 0 does not hold (got 1): lab/T_02",
            ]
        )

    def test_it_fails_also_where_other_tasks_were_taken_away(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=LONG_AGO)

        result = pytester.runpytest(LAB, "--sop-agent=habits:right", "-k", "T_02")

        assert FAILED == result.ret

    def test_a_task_that_was_not_selected_fails_nothing(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_06=LONG_AGO)

        result = pytester.runpytest(
            LAB, "--sop-agent=habits:right", "--sop-limit=2", "--sop-fail-under=1"
        )

        assert OK == result.ret
        again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)
        assert OK == again.exit_code
