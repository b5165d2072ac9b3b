"""Gates on a comparison beside what else decides a session, and those that are refused."""

from __future__ import annotations

import pytest

OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"


@pytest.mark.usefixtures("baseline")
class TestBesideOtherThings:
    HOLDS = (LAB, "--sop-agent=habits:loses_second", "--sop-compare=main", "--sop-gate=lost=1")

    def test_a_failing_unit_test_fails(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        pytester.makepyfile(test_unit="def test_task(sop_task): pass\ndef test_unit(): assert 0")

        result = pytester.runpytest(*self.HOLDS, "domains/lab/data.csv", "test_unit.py", *workers)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate   lost*holds*", "*1 other failure, which no gate*"])

    def test_unused_snapshots_fail_beside_a_gate_that_holds(
        self, pytester: pytest.Pytester
    ) -> None:
        pytester.makepyfile(
            test_shot="""
            def test_run(sop_run): pass
            def test_shot(snapshot): assert 1 == snapshot
            def test_other(snapshot): assert 2 == snapshot
            """
        )
        update = pytester.runpytest(
            "-p", "syrupy", "--snapshot-update", "test_shot.py", LAB, "--sop-agent=habits:right"
        )
        text = (pytester.path / "test_shot.py").read_text().replace("test_other", "check_other")
        (pytester.path / "test_shot.py").write_text(text)

        result = pytester.runpytest(
            "-p",
            "syrupy",
            LAB,
            "--sop-agent=habits:right",
            "--sop-compare=main",
            "--sop-gate=lost=0",
            "test_shot.py",
        )

        assert OK == update.ret
        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["*1 snapshot unused*", "gate   lost*holds*"])

    @pytest.mark.parametrize(
        ("covered", "status"),
        [pytest.param("0", OK, id="enough"), pytest.param("100", FAILED, id="too little")],
    )
    def test_coverage_beside(self, pytester: pytest.Pytester, covered: str, status: int) -> None:
        result = pytester.runpytest_subprocess(
            *self.HOLDS, "-p", "pytest_cov", "--cov=habits", f"--cov-fail-under={covered}"
        )

        assert status == result.ret
        result.stdout.fnmatch_lines(["gate   lost*holds*"])

    @pytest.mark.parametrize(
        ("gates", "told"),
        [
            pytest.param(("--sop-fail-under=0.5",), True, id="a rate alone"),
            pytest.param(("--sop-fail-under=0.5", "--sop-gate=lost=1"), False, id="lost beside it"),
            pytest.param(("--sop-fail-under=0.5", "--sop-gate=drop=0.3"), False, id="a fall"),
            pytest.param((), False, id="no gate, so that each miss fails"),
        ],
    )
    def test_lost_tasks_that_no_gate_counts_are_named(
        self,
        pytester: pytest.Pytester,
        gates: tuple[str, ...],
        told: bool,
    ) -> None:
        """The session is green, though the comparison stands above it."""
        asked = (
            LAB,
            "--sop-agent=habits:loses_second",
            "--sop-compare=main",
            "--sop-report=md=page.md",
        )

        result = pytester.runpytest(*asked, *gates)

        line = "       1 task was lost, and no gate counts that: add --sop-gate lost=0"
        assert told == (line in result.outlines)
        assert (OK if gates else FAILED) == result.ret

    def test_no_loss_needs_no_gate(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(
            LAB, "--sop-agent=habits:right", "--sop-compare=main", "--sop-fail-under=0.5"
        )

        assert OK == result.ret
        result.stdout.no_fnmatch_line("*no gate counts*")

    def test_what_takes_tasks_away_leaves_it_open(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*self.HOLDS, "-k", "T_02")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["vs main  lost 1*", "gate   not evaluated: -k took 5 of 6*"])


@pytest.mark.usefixtures("lab")
class TestWhatIsRefused:
    def test_a_gate_with_nothing_to_compare_with(self, pytester: pytest.Pytester) -> None:
        """It can only come out inconclusive, so that no model needs to be paid for it."""
        result = pytester.runpytest(LAB, "--sop-agent=habits:counted", "--sop-gate=p=0.05")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(
            ["ERROR: --sop-gate=p=0.05: there is nothing to compare with", "*--sop-compare=NAME*"]
        )
        assert not (pytester.path / "calls.txt").exists()

    def test_the_configuration_may_ask_in_every_session(self, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\nsop_gate = lost=0\n")

        result = pytester.runpytest(LAB, "--sop-agent=habits:right")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(["gate   lost*inconclusive*there is nothing to compare with"])

    @pytest.mark.usefixtures("baseline")
    @pytest.mark.parametrize("value", ["lost=0.5", "lost=-1", "drop=2", "p=0", "p=1.5", "lost"])
    def test_a_bound_that_means_nothing(self, pytester: pytest.Pytester, value: str) -> None:
        result = pytester.runpytest(
            LAB, "--sop-agent=habits:right", "--sop-compare=main", f"--sop-gate={value}"
        )

        assert USAGE == result.ret
        result.stderr.fnmatch_lines([f"ERROR: --sop-gate={value}*"])
