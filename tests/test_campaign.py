"""The campaign itself: what fails in it is reported, with a line to repeat it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parent / "campaign"
ROOT = CAMPAIGN.parents[1]

PLANTED = """
import os

from campaign.kit import Batch, Case, Part


def raises(folder):
    raise LookupError("planted")


def together(cases):
    def run(folder):
        return "all of them" if any(case.run(folder) for case in cases) else None

    shared = [case for case in cases if case.kind == "shared"]
    if shared:
        yield Batch(tuple(shared), run)
    for case in cases:
        if case.kind != "shared":
            yield Batch((case,), case.run)


CASES = [
    Case("survives", lambda folder: None),
    Case("is wrong", lambda folder: "one is counted twice"),
    Case("raises", raises),
    Case("dies", lambda folder: os._exit(0)),
    Case("shared/sound", lambda folder: None),
    Case("shared/wrong", lambda folder: "this one"),
]

PART = Part("planted", lambda seed: CASES, together)
"""

CHECKED = """
from functools import partial

from campaign.agents.kind import Kind
from campaign.agents.modes import MODES
from campaign.agents.session import survives
from campaign.folders.breakage import Breakage
from campaign.folders.check import survives as survives_folder
from campaign.forked import warm
from campaign.kit import Case, Part

RIGHT = Kind("is right after all", "return right(inputs, tools)")
SOUND = Breakage(name="is sound after all", apply=lambda folder, random: None)


def cases(seed):
    warm()
    return [
        Case("agent", partial(survives, [RIGHT], MODES[0], seed)),
        Case("folder", partial(survives_folder, SOUND, seed)),
    ]


PART = Part("checked", cases)
"""


def campaign(parts: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "tests/campaign", "--parts", str(parts), *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    (tmp_path / "planted.py").write_text(PLANTED)
    return tmp_path


def test_what_fails_is_counted_and_can_be_repeated(planted: Path) -> None:
    ended = campaign(planted, "--seed", "3")

    assert 1 == ended.returncode
    assert ["planted", "6", "2", "4"] in [line.split() for line in ended.stdout.splitlines()]
    assert "FAILED planted: is wrong\n    one is counted twice\n" in ended.stdout
    assert "LookupError: planted" in ended.stdout
    assert "the process of the case died with status 0" in ended.stdout
    assert f"--seed 3 --part planted --parts {planted} --case 'is wrong'\n" in ended.stdout
    assert "FAILED planted: shared/wrong\n    this one\n" in ended.stdout


def test_the_line_that_is_printed_repeats_the_failure(planted: Path) -> None:
    printed = campaign(planted, "--case", "is wrong").stdout
    line = next(line for line in printed.splitlines() if line.startswith("  repeat: "))

    again = campaign(planted, *shlex.split(line)[3:])

    assert 1 == again.returncode
    assert printed == again.stdout


def test_survivors_alone_are_a_success(planted: Path) -> None:
    ended = campaign(planted, "--case", "survives", "--case", "shared/sound", "--markdown")

    assert 0 == ended.returncode
    assert "| planted | 2 | 2 | 0 |\n" in ended.stdout


def test_a_part_that_tries_nothing_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text(
        "from campaign.kit import Part\nPART = Part('empty', lambda seed: [])\n"
    )

    ended = campaign(tmp_path)

    assert 1 == ended.returncode
    assert "empty: nothing was tried" in ended.stdout


def test_a_sample_has_each_kind_before_a_second_of_one(planted: Path) -> None:
    ended = campaign(planted, "--sample", "5", "--list")

    kinds = {line.removeprefix("planted: ").partition("/")[0] for line in ended.stdout.splitlines()}
    assert {"survives", "is wrong", "raises", "dies", "shared"} == kinds


def test_the_checks_of_agents_and_folders_can_fail(tmp_path: Path) -> None:
    (tmp_path / "checked.py").write_text(CHECKED)

    ended = campaign(tmp_path)

    assert ["checked", "2", "0", "2"] in [line.split() for line in ended.stdout.splitlines()]
    assert "(is right after all) is correct" in ended.stdout
    assert "the session of a broken folder ends with 0" in ended.stdout


def test_the_parts_are_as_large_as_is_promised() -> None:
    ended = campaign(CAMPAIGN / "parts", "--list")

    lines = ended.stdout.splitlines()
    agents = [line.rpartition("/")[0] for line in lines if line.startswith("agents: ")]
    assert len(lines) == len(set(lines))
    assert 150 <= sum(line.startswith("folders: ") for line in lines)
    assert 120 <= len(set(agents))
    assert 4 * len(set(agents)) == len(agents)
