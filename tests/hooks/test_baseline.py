"""The baseline of `--sop-compare`: read before the first run, or made after the last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"
RIGHT = "--sop-agent=habits:right"
AGAINST_MAIN = (LAB, "--sop-compare=main")
BASELINE = ".sop/sessions/main.jsonl"
CREATED = (LAB, "--sop-compare=main,create")
CREATE = (*CREATED, RIGHT)


class TestWithoutABaseline:
    def test_it_is_an_error_that_says_how_to_make_one(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(
            [
                f"ERROR: --sop-compare=main: there is no {BASELINE}",
                "make a baseline when all is well: run with --sop-save=main,",
                "or with --sop-compare=main,create",
            ]
        )

    def test_no_agent_is_called(self, pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:counted", *workers)

        assert USAGE == result.ret
        assert not (pytester.path / "calls.txt").exists()

    def test_the_session_becomes_the_baseline_where_that_is_asked_for(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        result = pytester.runpytest(*CREATE, *workers)

        assert OK == result.ret
        result.stdout.fnmatch_lines([f"       this session is the baseline now: {BASELINE}"])
        result.stdout.no_fnmatch_line("vs main*")
        assert OK == pytester.runpytest(*AGAINST_MAIN, RIGHT).ret

    def test_it_may_be_kept_under_the_same_name(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(LAB, RIGHT, "--sop-compare=main,create", "--sop-save=main")

        result.stdout.fnmatch_lines(["*this session is the baseline now: *main.jsonl"])
        result.stdout.no_fnmatch_line("*another session*")

    def test_a_path_is_made_with_its_folders(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(LAB, RIGHT, "--sop-compare=accepted/lab.jsonl,create")

        assert (pytester.path / "accepted" / "lab.jsonl").is_file()

    def test_gates_on_the_comparison_are_not_asked_of_the_first(
        self, pytester: pytest.Pytester
    ) -> None:
        result = pytester.runpytest(*CREATE, "--sop-gate=lost=0", "--sop-fail-under=1")

        assert OK == result.ret
        result.stdout.fnmatch_lines(["gate   TSR >= 100% holds*"])
        result.stdout.no_fnmatch_line("gate   lost*")

    def test_a_baseline_that_cannot_be_written_is_told_before_the_first_run(
        self, pytester: pytest.Pytester
    ) -> None:
        (pytester.path / "accepted").write_text("a file where a folder is needed")

        result = pytester.runpytest(
            LAB,
            RIGHT,
            "--sop-compare=accepted/lab.jsonl,create",
            "--sop-gate=lost=0",
        )

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*accepted/lab.jsonl cannot be written:*"])

    @pytest.mark.parametrize(
        ("args", "why"),
        [
            pytest.param((RIGHT, "-k", "T_01"), "-k took 5 of 6 selected tasks away", id="-k"),
            pytest.param(
                ("-x", "--sop-agent=habits:loses_second"), "4 runs were never started", id="-x"
            ),
        ],
    )
    def test_a_part_of_the_runs_is_no_baseline(
        self, pytester: pytest.Pytester, args: tuple[str, ...], why: str
    ) -> None:
        result = pytester.runpytest(*CREATED, *args)

        result.stdout.fnmatch_lines([f"*{BASELINE} is not written: {why}"])
        assert not (pytester.path / BASELINE).exists()

    def test_a_session_that_fails_its_gate_is_no_baseline(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(
            *CREATED, "--sop-agent=habits:loses_second", "--sop-fail-under=1"
        )

        result.stdout.fnmatch_lines([f"*{BASELINE} is not written: a gate does not hold:*"])
        assert not (pytester.path / BASELINE).exists()

    @pytest.mark.parametrize(
        ("gate", "why"),
        [
            pytest.param((), "1 failed; --sop-fail-under says how many may", id="no gate"),
            pytest.param(
                ("--sop-gate=lost=0",),
                "a gate does not hold: runs that are*",
                id="no gate on misses",
            ),
        ],
    )
    def test_one_whose_misses_no_gate_bounds_is_none_either(
        self,
        pytester: pytest.Pytester,
        workers: tuple[str, ...],
        gate: tuple[str, ...],
        why: str,
    ) -> None:
        args = (*CREATED, "--sop-agent=habits:loses_second", *gate, *workers)

        result = pytester.runpytest(*args)

        assert FAILED == result.ret
        result.stdout.fnmatch_lines([f"*{BASELINE} is not written: {why}"])
        assert not (pytester.path / BASELINE).exists()

    def test_one_with_a_failed_test_that_no_gate_forgives_is_none_either(
        self, pytester: pytest.Pytester
    ) -> None:
        file = pytester.makepyfile(
            test_lab="""
            import pytest

            @pytest.mark.sop(domain="lab", agent="habits:right")
            def test_it(sop_run):
                pass

            def test_of_something_else():
                assert 0
            """
        )

        result = pytester.runpytest(file, "--sop-compare=main,create", "--sop-fail-under=0.5")

        assert FAILED == result.ret
        assert not (pytester.path / BASELINE).exists()

    def test_misses_that_a_gate_bounds_are_those_of_the_baseline(
        self, pytester: pytest.Pytester
    ) -> None:
        agent = "--sop-agent=habits:loses_second"

        result = pytester.runpytest(*CREATED, agent, "--sop-fail-under=0.5")

        assert OK == result.ret
        result.stdout.fnmatch_lines([f"       this session is the baseline now: {BASELINE}"])

    def test_one_whose_gate_was_not_asked_is_none_either(self, pytester: pytest.Pytester) -> None:
        """All of its runs were made, and the last of them stopped it."""
        result = pytester.runpytest(
            *CREATED,
            "--sop-agent=habits:loses_second",
            "--sop-sample=first:2",
            "--sop-fail-under=0.5",
            "-x",
        )

        result.stdout.fnmatch_lines([f"*{BASELINE} is not written: the session was cut short*"])
        assert not (pytester.path / BASELINE).exists()

    def test_one_that_its_tasks_file_fails_is_none_either(self, pytester: pytest.Pytester) -> None:
        (pytester.path / "sop_tasks.toml").write_text('["lab/T_02"]\nmust_pass = true\n')

        result = pytester.runpytest(
            *CREATED, "--sop-agent=habits:loses_second", "--sop-fail-under=0.5"
        )

        result.stdout.fnmatch_lines([f"*{BASELINE} is not written: the tasks file fails*"])
        assert not (pytester.path / BASELINE).exists()

    def test_a_shard_is_no_baseline(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(*CREATE, "--sop-shard=1/2")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*--sop-shard*cannot be compared*", "*sopbench merge*"])

    def test_creating_asks_for_a_name(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(LAB, RIGHT, "--sop-compare=,create")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*--sop-compare=,create: write NAME,create*"])

    def test_creating_replaces_nothing(self, pytester: pytest.Pytester, baseline: Path) -> None:
        before = baseline.read_text("utf-8")

        result = pytester.runpytest(*CREATED, "--sop-agent=habits:loses_second")

        assert before == baseline.read_text("utf-8")
        result.stdout.fnmatch_lines(["vs main  lost 1 (T_02), gained 0, *"])


class TestABaselineThatIsNone:
    @pytest.mark.usefixtures("baseline")
    def test_a_slim_one_is_taken(self, pytester: pytest.Pytester) -> None:
        args = ["approve", "last", "--baseline", "slim.jsonl", "--reason", "release 4"]
        assert OK == CliRunner().invoke(main, args, catch_exceptions=False).exit_code

        result = pytester.runpytest(
            LAB, "--sop-compare=slim.jsonl", "--sop-agent=habits:loses_second", "--sop-gate=lost=1"
        )

        assert OK == result.ret
        result.stdout.fnmatch_lines(["vs slim  lost 1 (T_02), *", "gate   lost tasks <= 1 holds*"])

    def test_a_shard_is_refused(self, pytester: pytest.Pytester) -> None:
        pytester.runpytest(LAB, RIGHT, "--sop-shard=1/2", "--sop-save=main")

        result = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*a shard is a part of the tasks*", "*sopbench merge*"])

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            pytest.param("a poem\nof two lines\n", "*main.jsonl*", id="foreign"),
            pytest.param('{"type": "run"}\n', "*main.jsonl*", id="no header"),
            pytest.param("", "*main.jsonl*", id="empty"),
        ],
    )
    def test_a_file_that_is_no_session_is_refused(
        self, pytester: pytest.Pytester, baseline: Path, content: str, says: str
    ) -> None:
        baseline.write_text(content)

        result = pytester.runpytest(*AGAINST_MAIN, "--sop-agent=habits:counted")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines([f"ERROR: --sop-compare=main: {says}"])
        result.stderr.no_fnmatch_line("*make a baseline*")
        assert not (pytester.path / "calls.txt").exists()

    def test_a_newer_schema_is_refused(self, pytester: pytest.Pytester, baseline: Path) -> None:
        head, _, rest = baseline.read_text().partition("\n")
        baseline.write_text(f"{json.dumps({**json.loads(head), 'schema': 99})}\n{rest}")

        result = pytester.runpytest(*AGAINST_MAIN, RIGHT)

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*main.jsonl*99*"])

    def test_a_folder_is_refused(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(LAB, RIGHT, "--sop-compare=./domains")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["ERROR: --sop-compare=./domains: *"])

    def test_a_name_must_be_one(self, pytester: pytest.Pytester) -> None:
        result = pytester.runpytest(LAB, RIGHT, "--sop-compare=no name")

        assert USAGE == result.ret
        result.stderr.fnmatch_lines(["*--sop-compare=no name: 'no name' is no name of a session*"])
        result.stderr.no_fnmatch_line("*make a baseline*")

    def test_what_a_killed_session_left_is_compared_as_far_as_it_goes(
        self, pytester: pytest.Pytester, baseline: Path
    ) -> None:
        """Runs that the file does not have were never started, and are named."""
        lines = baseline.read_text().splitlines(keepends=True)
        baseline.write_text("".join(lines[:5]) + lines[5][:40])

        result = pytester.runpytest(*AGAINST_MAIN, RIGHT, "--sop-gate=lost=0")

        assert FAILED == result.ret
        result.stdout.fnmatch_lines(
            ["*not compared, *: 2 tasks (T_05, T_06)", "gate   lost tasks <= 0 inconclusive*"]
        )


def test_tasks_of_the_baseline_that_a_sample_leaves_out_are_counted(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(*CREATE)

    result = pytester.runpytest(
        *AGAINST_MAIN, RIGHT, "--sop-sample=first:2", "--sop-gate=lost=0", "-q"
    )

    assert OK == result.ret
    result.stdout.fnmatch_lines(["*4 tasks left out by options*"])


@pytest.mark.parametrize("how", [(), ("-q",)], ids=["plain", "quiet"])
def test_a_sop_that_has_changed_since_the_baseline_is_told(
    pytester: pytest.Pytester, lab: Path, how: tuple[str, ...]
) -> None:
    pytester.runpytest(*CREATE)
    with next(lab.glob("sop.*")).open("a") as sop:
        sop.write("9. Sign it.\n")

    result = pytester.runpytest(*AGAINST_MAIN, RIGHT, "--sop-gate=lost=0", *how)

    result.stdout.fnmatch_lines(["*the SOP of lab has changed since the baseline*"])


def test_a_baseline_that_another_session_made_meanwhile_is_not_replaced(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(
        slow="""
        from pathlib import Path

        def agent(inputs, tools):
            Path(".sop/sessions/main.jsonl").write_text("of another session")
            return {"grade": "pass"}
        """
    )

    result = pytester.runpytest(*CREATED, "--sop-agent=slow:agent", "--sop-fail-under=0.1")

    assert "of another session" == (pytester.path / ".sop/sessions/main.jsonl").read_text()
    result.stdout.fnmatch_lines(["*main.jsonl is not written: another session has become it*"])
