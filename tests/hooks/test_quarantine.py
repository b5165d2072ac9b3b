"""Tasks that may fail until a day, by `sop_tasks.toml`.

Of the six tasks of `lab`, `loses_three` fails the third, the fourth and the sixth.
"""

from __future__ import annotations

import json
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
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=f'may_fail = "two invoices"\nuntil = {NEVER}\nissue = "SOP-71"')

        result = pytester.runpytest(*SECOND, "--sop-fail-under=0.5")

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
                "TSR without answers that may be wrong: 100.0% *5 of 5",
            ]
        )

    def test_gates_leave_it_out(self, pytester: pytest.Pytester, write_tasks: WriteTasks) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(*SECOND, "--sop-fail-under=1")

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
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_03=NEVER, T_04=NEVER)

        result = pytester.runpytest(*THREE)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["FAILED *T_06*", "*1 failed, 3 passed, 2 may fail in*"])

    def test_where_all_may_fail_no_gate_can_be_decided(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(**{f"T_0{number}": NEVER for number in range(1, 7)})

        result = pytester.runpytest(*THREE, "--sop-fail-under=0.1")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate*TSR >= 10% inconclusive (got n/a): no run was planned*"])

    def test_one_that_fails_no_longer_is_reported(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_01=NEVER)

        result = pytester.runpytest(*SECOND[:1], "--sop-agent=habits:right", "--sop-trials=5")

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

        result = pytester.runpytest(*SECOND, "--sop-sample=first:2", "--sop-fail-under=0.5")

        assert OK == result.ret
        result.stdout.no_fnmatch_line("*may fail*")

    def test_a_dead_worker_is_no_answer(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_03=NEVER)

        result = pytester.runpytest(LAB, "--sop-agent=habits:dying", "-n2")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["FAILED *T_03*crash*"])
        result.stdout.no_fnmatch_line("*may fail*")

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


LOOSE = """
from habits import *
from time import sleep


def loose(inputs, tools):
    \"\"\"Measure the second sample twice, which no rule allows, and grade it wrong or right.\"\"\"
    answer = right(inputs, tools)
    return right(inputs, tools) if number(inputs) == 2 else answer


def loose_and_wrong(inputs, tools):
    answer = loose(inputs, tools)
    return {"grade": "unknown"} if number(inputs) == 2 else answer


def stopped(inputs, tools):
    return sleep(30) if number(inputs) == 2 else right(inputs, tools)


def mute(inputs, tools):
    return "I have read the procedure." if number(inputs) == 2 else right(inputs, tools)


def breaking(inputs, tools):
    if number(inputs) == 2:
        raise ValueError("no such model")
    return right(inputs, tools)


def away(inputs, tools):
    if number(inputs) == 2:
        raise ConnectionError("down")
    return right(inputs, tools)


def endless(inputs, tools):
    while number(inputs) == 2:
        tools.call("measure", sample_id=inputs["sample_id"])
    return right(inputs, tools)
"""
ONCE = {"id": "once", "severity": "must", "at_most": {"measure": 1}}
EVER = {"id": "ever", "severity": "should", "requires": {"all_of": ["measure"]}}
GATES = [
    pytest.param((), id="no gate"),
    pytest.param(("--sop-fail-under=1",), id="gate"),
]
RULES = ("--sop-gate=contract=1",)
WRONG_MAY_BE, RULE_MAY_BE = "may_fail = 'two invoices'", 'may_break = ["once"]'


@pytest.fixture
def manners(lab: Path, pytester: pytest.Pytester) -> None:
    """Agents that break a rule on the second task of six, or come to no answer there."""
    pytester.makepyfile(manners=LOOSE)
    path = lab / "metadata.json"
    contract = {"rules": [ONCE, EVER]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": contract}))


def gated() -> int:
    """Return what `sopbench gate last` says of the session that ended last."""
    return CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False).exit_code


@pytest.mark.usefixtures("manners")
class TestNothingElseIsForgiven:
    @pytest.mark.parametrize("gate", [*GATES, pytest.param(RULES, id="contract")])
    @pytest.mark.parametrize("agent", ["loose", "loose_and_wrong"])
    def test_a_rule_fails_the_session_whatever_the_answer_is(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        agent: str,
        gate: tuple[str, ...],
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(LAB, f"--sop-agent=manners:{agent}", *gate)

        assert FAILED == result.ret
        if gate:
            result.stdout.fnmatch_lines(["gate   runs that break a must rule <= 0 does not hold*"])
            assert FAILED == gated()
        if gate == RULES:
            result.stdout.fnmatch_lines(["gate   contract rate >= 100% does not hold (got 83*"])

    def test_a_rule_fails_a_merged_session(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)
        shards = [f"part{number}" for number in (1, 2)]
        made = [
            int(
                pytester.runpytest(
                    LAB,
                    "--sop-agent=manners:loose",
                    f"--sop-shard={number}/2",
                    f"--sop-save={name}",
                ).ret
            )
            for number, name in enumerate(shards, start=1)
        ]

        merged = CliRunner().invoke(main, ["merge", *shards, "--out", "all"])
        found = CliRunner().invoke(main, ["gate", "all", "--gate=tsr=0"])

        assert [OK, FAILED] == sorted(made)
        assert OK == merged.exit_code, merged.output
        assert FAILED == found.exit_code
        assert "lab/T_02 once" in found.output

    @pytest.mark.parametrize(
        ("agent", "more"),
        [
            pytest.param("stopped", ("--sop-timeout=0.3",), id="timeout"),
            pytest.param("breaking", (), id="error"),
            pytest.param("away", ("--sop-retries=0",), id="unavailable"),
            pytest.param("endless", (), id="call limit"),
        ],
    )
    @pytest.mark.parametrize("gate", GATES)
    def test_a_run_that_something_stopped_fails_as_that_of_any_other_task(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        agent: str,
        more: tuple[str, ...],
        gate: tuple[str, ...],
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(LAB, f"--sop-agent=manners:{agent}", *more, *gate)

        assert FAILED == result.ret
        result.stdout.no_fnmatch_line("*may fail*")
        if gate:
            assert FAILED == gated()

    @pytest.mark.parametrize("gate", GATES)
    def test_no_answer_is_one_that_may_be_wrong(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, gate: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(LAB, "--sop-agent=manners:mute", *gate)

        assert OK == result.ret
        result.stdout.fnmatch_lines(["*5 passed, 1 may fail in*"])

    def test_a_gate_bounds_what_was_stopped_as_it_does_elsewhere(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)

        result = pytester.runpytest(LAB, "--sop-agent=manners:breaking", "--sop-fail-under=0.8")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["gate   TSR >= 80% holds (got 83.33%)"])
        assert OK == gated()

    def test_what_was_stopped_is_lost_where_it_was_right_before(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)
        assert OK == pytester.runpytest(LAB, "--sop-agent=habits:right", "--sop-save=main").ret

        result = pytester.runpytest(
            LAB, "--sop-agent=manners:breaking", "--sop-compare=main", "--sop-gate=lost=0"
        )

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate   lost tasks <= 0 does not hold (got 1)*"])

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            pytest.param("sop_run.assert_correct()", OK, id="the answer"),
            pytest.param("pass", OK, id="the verdict, at its end"),
            pytest.param("assert len(sop_run.trace.calls) == 7", FAILED, id="an assertion"),
            pytest.param("sop_run.assert_not_called('measure')", FAILED, id="a call"),
            pytest.param("raise ValueError", FAILED, id="its own code"),
            pytest.param("sop_run.assert_contract(); assert 0", FAILED, id="behind the contract"),
        ],
    )
    def test_of_a_test_of_the_user_the_answer_is_forgiven(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        body: str,
        expected: int,
    ) -> None:
        write_tasks(**{f"T_0{number}": NEVER for number in range(1, 7)})
        pytester.makepyfile(test_own=f"def test_it(sop_run):\n    {body}")

        result = pytester.runpytest(*SECOND, "test_own.py")

        assert expected == result.ret

    @pytest.mark.parametrize("body", ["sop_run.assert_correct()", "pass"])
    def test_a_rule_fails_a_test_of_the_user(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        workers: tuple[str, ...],
        body: str,
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.makepyfile(test_own=f"def test_it(sop_run):\n    {body}")

        result = pytester.runpytest(
            LAB, "--sop-agent=manners:loose_and_wrong", "test_own.py", *workers
        )

        assert FAILED == result.ret


@pytest.mark.usefixtures("manners")
class TestARuleThatMayBeBroken:
    @pytest.mark.parametrize("gate", [*GATES, pytest.param(RULES, id="contract")])
    def test_it_is_forgiven_by_its_name_and_told(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        gate: tuple[str, ...],
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}\nissue = 'SOP-7'")

        result = pytester.runpytest(LAB, "--sop-agent=manners:loose", *gate)

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "contract without rules that may be broken: 100.0% *5 of 5",
                "tasks  1 task may break a rule and did, outside gates",
                "       lab/T_02 once until 2999-12-31: (SOP-7)",
            ]
        )
        if gate == RULES:
            result.stdout.fnmatch_lines(["gate   contract rate >= 100% holds (got 100%)"])
        if gate:
            assert OK == gated()

    @pytest.mark.parametrize("gate", GATES)
    def test_the_answer_is_not(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        gate: tuple[str, ...],
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}")

        result = pytester.runpytest(LAB, "--sop-agent=manners:loose_and_wrong", *gate)

        assert FAILED == result.ret
        if gate:
            assert FAILED == gated()

    def test_the_answer_is_a_miss_which_a_gate_bounds(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}")

        result = pytester.runpytest(
            LAB, "--sop-agent=manners:loose_and_wrong", "--sop-fail-under=0.8"
        )

        assert OK == result.ret
        result.stdout.fnmatch_lines(["*5 passed, 1 missed in*"])
        assert OK == gated()

    @pytest.mark.parametrize("gate", GATES)
    def test_both_are_where_the_entry_says_so(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, gate: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=f"{WRONG_MAY_BE}\n{RULE_MAY_BE}\nuntil = {NEVER}")

        result = pytester.runpytest(LAB, "--sop-agent=manners:loose_and_wrong", *gate)

        assert OK == result.ret

    @pytest.mark.parametrize("gate", GATES)
    def test_another_rule_is_not(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, gate: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=f'may_break = ["ever"]\nuntil = {NEVER}')

        result = pytester.runpytest(LAB, "--sop-agent=manners:loose", *gate)

        assert FAILED == result.ret

    @pytest.mark.parametrize("gate", GATES)
    def test_after_its_last_day_it_fails_the_session(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, gate: tuple[str, ...]
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {LONG_AGO}")

        result = pytester.runpytest(LAB, "--sop-agent=habits:right", *gate)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task may fail no longer, by sop_tasks.toml",
                "       lab/T_02 once until 2000-01-01",
            ]
        )

    def test_a_rule_that_no_contract_has_stops_the_session_at_once(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=f'may_break = ["onse"]\nuntil = {NEVER}')

        result = pytester.runpytest(LAB, "--sop-agent=habits:counted")

        assert pytest.ExitCode.USAGE_ERROR == result.ret
        result.stderr.fnmatch_lines(
            ["ERROR: *sop_tasks.toml, *2*may_break*no rule 'onse'", "*did you mean 'once'?*"]
        )
        assert not (pytester.path / "calls.txt").exists()

    def test_one_that_holds_is_told_too(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}")

        result = pytester.runpytest(LAB, "--sop-agent=habits:right", "--sop-trials=5")

        assert OK == result.ret
        result.stdout.fnmatch_lines(
            [
                "tasks  1 task may break a rule and did not: take it out of sop_tasks.toml",
                "       lab/T_02 once (5 runs)",
            ]
        )

    @pytest.mark.parametrize("body", ["sop_run.assert_contract()", "sop_run.assert_correct()"])
    def test_in_tests_of_the_user_it_is_forgiven(
        self,
        pytester: pytest.Pytester,
        write_tasks: WriteTasks,
        workers: tuple[str, ...],
        body: str,
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}")
        pytester.makepyfile(test_own=f"def test_it(sop_run):\n    {body}")

        result = pytester.runpytest(LAB, "--sop-agent=manners:loose", "test_own.py", *workers)

        assert OK == result.ret
        result.stdout.fnmatch_lines(["*5 passed, 1 may fail in*"])

    @pytest.mark.parametrize(
        ("page", "expected"),
        [
            pytest.param("csv", ",once,once,", id="csv"),
            pytest.param("json", '"lab/T_02 may break the rule once, and did', id="json"),
            pytest.param("md", "lab/T_02 may break the rule once, and did", id="markdown"),
            pytest.param("html", "lab/T_02 may break the rule once, and did", id="html"),
        ],
    )
    def test_each_page_tells_it(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks, page: str, expected: str
    ) -> None:
        write_tasks(T_02=f"{RULE_MAY_BE}\nuntil = {NEVER}")

        result = pytester.runpytest(
            LAB, "--sop-agent=manners:loose", f"--sop-report={page}=page.{page}"
        )

        assert OK == result.ret
        assert expected in (pytester.path / f"page.{page}").read_text().replace("\\_", "_")


class TestInTestsOfTheUser:
    def test_the_test_itself_is_forgiven(
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.makepyfile(test_own="def test_it(sop_run): sop_run.assert_correct()")

        result = pytester.runpytest(*SECOND, "test_own.py")

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
        self, pytester: pytest.Pytester, write_tasks: WriteTasks
    ) -> None:
        write_tasks(T_02=NEVER)
        pytester.makepyfile(test_own="def test_it(sop_run): pass\ndef test_unit(): assert 0")

        result = pytester.runpytest(*SECOND, "test_own.py")

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
        gate: tuple[str, ...],
        agent: str,
    ) -> None:
        """Whatever came of the task: the entry itself has to go."""
        write_tasks(T_02=LONG_AGO)

        result = pytester.runpytest(LAB, f"--sop-agent=habits:{agent}", *gate)

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
            LAB, "--sop-agent=habits:right", "--sop-sample=first:2", "--sop-fail-under=1"
        )

        assert OK == result.ret
        again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)
        assert OK == again.exit_code
