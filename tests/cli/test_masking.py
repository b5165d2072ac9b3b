"""What `sop_redact` names stands in no output of a command that reads a domain anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.lab import write_lab

from .conftest import Sopbench

PLANTED = "pq-1234567890-abcdef"


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that masks a variable, and a domain with its value in a row that is refused."""
    monkeypatch.setenv("TOKEN", PLANTED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nsop_redact = env:TOKEN\n")
    folder = write_lab(tmp_path / "domains")
    # Where a message cuts a value, it cuts this one in the secret.
    grade = f"{'x' * 48}{PLANTED}"
    data = folder / "data.csv"
    data.write_text(data.read_text().replace(",retest\n", f",{grade}\n", 1))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("list",), id="list"),
        pytest.param(("list", "--json"), id="list for programs"),
        pytest.param(("audit", "lab"), id="audit"),
        pytest.param(("audit", "lab", "--json"), id="audit for programs"),
        pytest.param(("list", "--steps", "lab"), id="error"),
    ],
)
def test_a_secret_in_a_row_is_masked(odd: Path, sopbench: Sopbench, words: tuple[str, ...]) -> None:
    done = sopbench(*words)

    told = done.output + done.stderr
    assert "xxx" in told
    assert "pq-12" not in told


def test_a_variable_that_is_not_set_hides_no_error(
    odd: Path, sopbench: Sopbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKEN")

    done = sopbench("list", "--steps", "lab")

    assert 2 == done.exit_code
    assert "column 'grade': 'xxx" in done.stderr
