"""The example suite is a user's repository: it passes as it stands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[2] / "example_suite"


@pytest.fixture(autouse=True)
def suite(pytester: pytest.Pytester) -> None:
    """A copy without what sessions left in it."""
    left = shutil.ignore_patterns(".sop", ".pytest_cache", "__pycache__")
    shutil.copytree(SUITE, pytester.path, ignore=left, dirs_exist_ok=True)


@pytest.mark.parametrize(
    "workers", [pytest.param("-n0", id="plain"), pytest.param("-n2", id="two")]
)
def test_it_passes(pytester: pytest.Pytester, workers: str) -> None:
    result = pytester.runpytest_subprocess("-q", workers)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["18 snapshots passed."])


def test_an_agent_with_another_limit_is_seen_by_its_snapshots(pytester: pytest.Pytester) -> None:
    path = pytester.path / "conftest.py"
    path.write_text(path.read_text().replace("daily_limit=60", "daily_limit=1"))

    result = pytester.runpytest_subprocess("-q", "tests/test_steps.py")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["E*assert 1 added: meter_readings/* departs from its snapshot"])
