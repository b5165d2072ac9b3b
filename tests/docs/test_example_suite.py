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


def test_it_passes_in_two_workers(pytester: pytest.Pytester) -> None:
    """As it stands its workflow runs it."""
    result = pytester.runpytest_subprocess("-q", "-n2")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["18 snapshots passed."])


def test_its_recorded_model_is_skipped_where_the_client_is_missing(
    pytester: pytest.Pytester,
) -> None:
    missing = "raise ModuleNotFoundError(\"No module named 'openai'\", name='openai')"
    pytester.path.joinpath("replay", "openai.py").write_text(missing)

    result = pytester.runpytest_subprocess("-rs", "replay")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*model_desk.py asks its model by the client of OpenAI"])


def test_an_agent_with_another_limit_is_seen_by_its_snapshots(pytester: pytest.Pytester) -> None:
    path = pytester.path / "conftest.py"
    path.write_text(path.read_text().replace("daily_limit=60", "daily_limit=1"))

    result = pytester.runpytest_subprocess("-q", "tests/test_steps.py")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["E*assert 1 added: meter_readings/* departs from its snapshot"])
