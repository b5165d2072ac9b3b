"""The public names of the package: few, sorted, and fetched when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_sopbench

NAMES = [
    "Answer",
    "ApprovalDecision",
    "ApprovalRequest",
    "Call",
    "Domain",
    "ExpectedCall",
    "Match",
    "Metric",
    "Mismatch",
    "Outcome",
    "OutputField",
    "Procedure",
    "Run",
    "RunKey",
    "RunRecord",
    "SavedSession",
    "SessionPage",
    "SopbenchError",
    "Step",
    "Summary",
    "Task",
    "ToolCall",
    "ToolError",
    "Tools",
    "Trace",
    "Trajectory",
    "TrajectoryMatch",
    "Unavailable",
    "Verdict",
    "load_session",
    "match_trajectory",
    "split_sop",
]


def test_the_public_names_are_these_and_no_others() -> None:
    """Adding one is a promise; taking one away breaks a user."""
    assert NAMES == pytest_sopbench.__all__
    assert sorted(NAMES) == sorted(pytest_sopbench._HOMES)
    assert set(NAMES) <= set(dir(pytest_sopbench))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there(name: str) -> None:
    found = getattr(pytest_sopbench, name)

    assert name == found.__name__
    assert found.__module__.startswith("pytest_sopbench")


def test_any_other_name_is_not() -> None:
    with pytest.raises(AttributeError, match="'pytest_sopbench' has no attribute 'judge'"):
        pytest_sopbench.judge  # noqa: B018 - the attribute alone is what is tested


def test_importing_the_package_imports_none_of_its_rooms() -> None:
    code = (
        "import sys, pytest_sopbench;"
        "print([n for n in sys.modules if n.startswith('pytest_sopbench.')"
        " or n in {'pydantic', 'pytest', 'jsonschema_rs'}])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
