"""The gates on a comparison: `lost`, `drop` and `p`, alone and beside what else decides.

Domain `lab` has six tasks; `main` is a session of the right agent, against which `loses_second`
loses one, `loses_three` three and `wrong` all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

OK, FAILED = 0, 1
GATE_STATUS = {"holds": 0, "does not hold": 1, "inconclusive": 3}
LAB = "--sop-domain=lab"
UNAVAILABLE = """
from habits import right
from pytest_sopbench import Unavailable


def agent(inputs, tools):
    if inputs["sample_id"] == "T_01":
        raise Unavailable("busy")
    return right(inputs, tools)
"""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One row of the table: an agent, what is asked of it, and what comes of it."""

    agent: str
    gates: tuple[str, ...]
    status: int
    says: tuple[str, ...]
    ini: str = ""

    @property
    def args(self) -> tuple[str, ...]:
        return (LAB, f"--sop-agent={self.agent}", "--sop-compare=main", *self.gates)


TABLE = {
    "lost holds": Cell(
        agent="habits:loses_second",
        gates=("--sop-gate=lost=1",),
        status=OK,
        says=("gate   lost tasks <= 1 holds (got 1)",),
    ),
    "lost does not hold": Cell(
        agent="habits:loses_three",
        gates=("--sop-gate=lost=1",),
        status=FAILED,
        says=("gate   lost tasks <= 1 does not hold (got 3): 2 too many",),
    ),
    "drop holds": Cell(
        agent="habits:loses_second",
        gates=("--sop-gate=drop=0.2",),
        status=OK,
        says=("gate   drop of TSR <= 20% holds (got 16.67%)",),
    ),
    "drop does not hold": Cell(
        agent="habits:loses_three",
        gates=("--sop-gate=drop=0.2",),
        status=FAILED,
        says=("gate   drop of TSR <= 20% does not hold (got 50%): TSR 100% before, 50% now",),
    ),
    "p cannot tell a loss of three from chance": Cell(
        agent="habits:loses_three",
        gates=("--sop-gate=p=0.05",),
        status=FAILED,
        says=(
            "gate   no loss at p < 0.05 inconclusive (got p = 0.25): 3 fell, 3 of 6 tasks",
            "       changed, and p < 0.05 takes 6 that change (lost=0 needs none)",
        ),
    ),
    "p does not hold": Cell(
        agent="habits:wrong",
        gates=("--sop-gate=p=0.05",),
        status=FAILED,
        says=("gate   no loss at p < 0.05 does not hold (got p = 0.031): lost 6, gained 0",),
    ),
    "p holds where nothing fell, however few the tasks": Cell(
        agent="habits:right",
        gates=("--sop-gate=p=0.01",),
        status=OK,
        says=("gate   no loss at p < 0.01 holds (got p = 1)",),
    ),
    "one of several does not hold": Cell(
        agent="habits:loses_three",
        gates=("--sop-gate=lost=5", "--sop-gate=drop=0.1", "--sop-fail-under=0.5"),
        status=FAILED,
        says=("gate   TSR >= 50% holds*", "*lost tasks <= 5 holds*", "*drop*does not hold*"),
    ),
    "too much unavailable": Cell(
        agent="busy:agent",
        gates=("--sop-gate=lost=1",),
        status=FAILED,
        says=("gate   lost tasks <= 1 inconclusive (got 0): 16.67% of the runs*",),
    ),
    "unavailable tolerated": Cell(
        agent="busy:agent",
        gates=("--sop-gate=lost=1", "--sop-gate=unavailable=0.2"),
        status=OK,
        says=("gate   lost tasks <= 1 holds*", "*never started: 1 task (T_01)"),
    ),
    "other rules": Cell(
        agent="habits:right",
        gates=("--sop-gate=lost=0", "-o", "sop_scoring=published"),
        status=FAILED,
        says=("vs main  not comparable*", "gate   lost tasks <= 0 inconclusive*by other"),
    ),
    "a part of the tasks": Cell(
        agent="habits:right",
        gates=("--sop-gate=lost=0", "--sop-sample=first:2"),
        status=OK,
        says=("gate   lost tasks <= 0 holds*", "*4 tasks left out by options"),
    ),
    "of the configuration": Cell(
        agent="habits:loses_second",
        gates=(),
        ini="sop_gate = lost=0",
        status=FAILED,
        says=("gate   lost tasks <= 0 does not hold*",),
    ),
    "asked of the domain by name": Cell(
        agent="habits:loses_second",
        gates=("--sop-gate=lab:lost=0",),
        status=FAILED,
        says=("gate   lab: lost tasks <= 0 does not hold*",),
    ),
}


@pytest.mark.usefixtures("baseline")
class TestEachSituation:
    @pytest.mark.parametrize("cell", [pytest.param(cell, id=name) for name, cell in TABLE.items()])
    def test_it_has_its_status_and_its_file_comes_to_the_same(
        self, pytester: pytest.Pytester, cell: Cell
    ) -> None:
        """The law of gates: a saved session passes exactly if the session itself did."""
        arrange(pytester, cell)

        result = pytester.runpytest(*cell.args)
        again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

        assert cell.status == result.ret
        for line in cell.says:
            result.stdout.fnmatch_lines([line])
        said = gate_part(result.outlines)
        assert said == again.stdout.splitlines()[1:]
        found = [status for word, status in GATE_STATUS.items() if f" {word} (" in " ".join(said)]
        assert (1 if 1 in found else max(found)) == again.exit_code
        assert (OK == again.exit_code) is (OK == result.ret)

    @pytest.mark.parametrize("name", ["lost holds", "drop does not hold", "too much unavailable"])
    def test_two_workers_come_to_the_same(self, pytester: pytest.Pytester, name: str) -> None:
        cell = TABLE[name]
        arrange(pytester, cell)

        result = pytester.runpytest(*cell.args, "-n2")

        assert cell.status == result.ret
        for line in cell.says:
            result.stdout.fnmatch_lines([line])


def arrange(pytester: pytest.Pytester, cell: Cell) -> None:
    pytester.makepyfile(busy=UNAVAILABLE)
    if cell.ini:
        pytester.makeini(f"[pytest]\n{cell.ini}\n")


def gate_part(lines: list[str]) -> list[str]:
    """Return the lines of gates, with those on which one goes on."""
    start = next(place for place, line in enumerate(lines) if line.startswith("gate "))
    end = next(place for place in range(start, len(lines)) if lines[place].startswith("==="))
    return lines[start:end]


@pytest.mark.usefixtures("baseline")
class TestSeveralDomains:
    def test_it_is_asked_of_each_and_of_all(
        self,
        pytester: pytest.Pytester,
        make_domain: Callable[..., Path],
    ) -> None:
        make_domain("clinic", tasks=3)
        both = "--sop-domain=lab,clinic"
        pytester.runpytest(both, "--sop-agent=habits:right", "--sop-save=both")

        result = pytester.runpytest(
            both,
            "--sop-agent=habits:loses_second",
            "--sop-compare=both",
            "--sop-gate=lost=1",
        )

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            [
                "gate   lab: lost tasks <= 1 holds (got 1)",
                "gate   clinic: lost tasks <= 1 holds (got 1)",
                "gate   all: lost tasks <= 1 does not hold (got 2): 1 too many",
            ]
        )

    def test_a_domain_that_the_baseline_has_not_is_not_paired(
        self, pytester: pytest.Pytester, make_domain: Callable[..., Path]
    ) -> None:
        make_domain("clinic", tasks=3)

        result = pytester.runpytest(
            "--sop-domain=lab,clinic",
            "--sop-agent=habits:right",
            "--sop-compare=main",
            "--sop-gate=lost=0",
        )

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            ["gate   lab: lost tasks <= 0 holds*", "gate   clinic: lost tasks <= 0 inconclusive*"]
        )


@pytest.mark.usefixtures("baseline")
def test_fewer_than_four_fifths_paired_say_nothing(pytester: pytest.Pytester, lab: Path) -> None:
    rows = lab / "data.csv"
    changed = rows.read_text().replace("T_02,10,", "T_02,20,").replace("T_05,10,", "T_05,20,")
    rows.write_text(changed)

    result = pytester.runpytest(
        LAB, "--sop-agent=habits:right", "--sop-compare=main", "--sop-gate=lost=0"
    )

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["gate   lost tasks <= 0 inconclusive (got 0): only 4 of 6 tasks can be*"]
    )


@pytest.mark.usefixtures("lab")
def test_a_gained_task_makes_up_for_no_lost_one(pytester: pytest.Pytester) -> None:
    """`lost` counts tasks; `drop` and `p` weigh them against each other."""
    pytester.runpytest(LAB, "--sop-agent=habits:loses_three", "--sop-save=main")

    result = pytester.runpytest(
        LAB,
        "--sop-agent=habits:loses_second",
        "--sop-compare=main",
        "--sop-gate=lost=0",
        "--sop-gate=drop=0",
    )

    assert FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["gate   lost tasks <= 0 does not hold (got 1)*", "gate   drop*holds (got a rise of*"]
    )


@pytest.mark.usefixtures("baseline")
def test_the_last_session_is_compared_with_the_same_one_later(pytester: pytest.Pytester) -> None:
    """What was `last` then has a name of its own, which the session keeps."""
    result = pytester.runpytest(
        LAB, "--sop-agent=habits:loses_second", "--sop-compare=last", "--sop-gate=lost=0"
    )

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    assert FAILED == result.ret
    assert GATE_STATUS["does not hold"] == again.exit_code


def test_a_task_that_changed_since_is_named_in_one_line_too(
    pytester: pytest.Pytester, baseline: Path, lab: Path
) -> None:
    data = lab / "data.csv"
    data.write_text(data.read_text().replace("T_04,50,retest", "T_04,50,fail"))

    result = pytester.runpytest(
        LAB, "--sop-agent=habits:right", "--sop-compare=main", "--sop-gate=lost=0", "-q"
    )

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(
        [
            "vs main: *",
            "       not compared, the task itself changed: 1 task (T_04); not correct now:",
            "       T_04",
            "gate   lost tasks <= 0 holds for 5 of 6 tasks; 1 changed, 0 gone (got 0)",
        ]
    )
