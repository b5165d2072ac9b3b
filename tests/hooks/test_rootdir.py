"""A value that pytest takes for a test path may cost the project its configuration file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def project(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project with a gate in its configuration, and a domain outside of it."""
    make_domain(under="elsewhere")
    folder = pytester.mkdir("project")
    (folder / "pytest.ini").write_text("[pytest]\nsop_fail_under = 0.9\n")
    (folder / "half.py").write_text("def agent(inputs): return 'pass'\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("project")
def test_a_separate_path_that_loses_the_configuration_is_stopped(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest("--sop-domain", "../elsewhere/lab", "--agent=half:agent")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: --sop-domain ../elsewhere/lab: pytest took the value for a test path, *",
            "write --sop-domain=../elsewhere/lab",
        ]
    )


@pytest.mark.usefixtures("project")
def test_the_same_path_with_an_equals_sign_keeps_the_gate(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=../elsewhere/lab", "--agent=half:agent")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 90% does not hold*"])


def test_a_separate_path_inside_the_project_loses_nothing(
    pytester: pytest.Pytester, project: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain(under="project/domains")

    result = pytester.runpytest("--sop-domain", "./domains/lab", "--agent=half:agent")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 90% does not hold*"])
