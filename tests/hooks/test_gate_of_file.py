"""The law of gates: a saved session passes exactly if the session itself did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

HOLDS, FAILS, INCONCLUSIVE = 0, 1, 3


@pytest.mark.parametrize(
    ("agent", "gates", "status"),
    [
        pytest.param("right", ["--sop-fail-under=1"], HOLDS, id="holds"),
        pytest.param("fifths_and_sevenths", ["--sop-fail-under=0.5"], HOLDS, id="with misses"),
        pytest.param("always_pass", ["--sop-fail-under=0.5"], FAILS, id="does not hold"),
        pytest.param("silent", ["--sop-gate=c_tsr=0.1"], INCONCLUSIVE, id="nothing to divide"),
        pytest.param(
            "right", ["--sop-gate=tsr=1", "--sop-gate=lab:ecr=1"], HOLDS, id="several gates"
        ),
        pytest.param("dying", ["--sop-fail-under=1", "-n1"], FAILS, id="with a dead worker"),
    ],
)
def test_the_gate_of_a_file_is_that_of_its_session(
    pytester: pytest.Pytester, lab: Path, agent: str, gates: list[str], status: int
) -> None:
    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", f"--sop-agent=habits:{agent}", *gates
    )

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    assert (status == HOLDS) is (0 == result.ret)
    assert status == again.exit_code
    said = [line for line in result.outlines if line.startswith("gate ")]
    assert said == again.stdout.splitlines()[1:]


def require_measure(lab: Path) -> None:
    path = lab / "metadata.json"
    rule = {"id": "measured", "severity": "must", "requires": {"all_of": ["measure"]}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": [rule]}}))


def test_a_broken_must_rule_fails_both(pytester: pytest.Pytester, lab: Path) -> None:
    require_measure(lab)

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=habits:always_pass", "--sop-fail-under=0"
    )

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    assert 1 == result.ret
    assert FAILS == again.exit_code
    assert "must rule" in again.stdout


def test_both_name_the_same_runs_in_whatever_order_they_ended(
    pytester: pytest.Pytester, lab: Path
) -> None:
    require_measure(lab)
    pytester.makepyfile(
        last_first="""
        import time

        def agent(task_id):
            time.sleep(0.5 if task_id == "T_01" else 0)
            return {"grade": "pass"}
        """
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--sop-agent=last_first:agent", "--sop-fail-under=0", "-n2"
    )

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    named = again.stdout[again.stdout.index("gate   runs that break") :]
    assert "lab/T_01" in named
    assert named in result.stdout.str()


@pytest.mark.parametrize("ends", [["-x"], ["--maxfail=2"]], ids=["first", "second"])
def test_a_session_that_was_cut_short_does_not_pass(
    pytester: pytest.Pytester, lab: Path, ends: list[str]
) -> None:
    pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=habits:always_pass", "--sop-fail-under=0.1", *ends
    )

    again = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)

    assert INCONCLUSIVE == again.exit_code
    assert "never started" in again.stdout


def test_merged_shards_pass_as_the_whole_does(pytester: pytest.Pytester, lab: Path) -> None:
    common = ("--sop-domain=lab", "--sop-agent=habits:fifths_and_sevenths")
    whole = pytester.runpytest(*common, "--sop-fail-under=0.5")
    for number in (1, 2):
        pytester.runpytest(*common, f"--sop-shard={number}/2", f"--sop-save=part{number}")

    merged = CliRunner().invoke(main, ["merge", "part1", "part2", "--out", "all"])
    again = CliRunner().invoke(main, ["gate", "all", "--fail-under", "0.5"])

    assert 0 == merged.exit_code
    assert whole.ret == again.exit_code
    said = [line for line in whole.outlines if line.startswith("gate ")]
    assert said == again.stdout.splitlines()
