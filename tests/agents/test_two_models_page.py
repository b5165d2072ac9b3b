"""The how-to page on two models: its commands print what it shows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from shown import commands_of, is_shown

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "compare.md"
MODELS = PAGE.read_text(encoding="utf-8").partition("## Compare two models")[2]
COMMANDS = commands_of(MODELS.partition("## Quarantine a flaky task")[0])


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[str(n) for n in range(len(COMMANDS))])
def test_a_command_prints_what_the_page_shows(
    pytester: pytest.Pytester, stub: Any, monkeypatch: pytest.MonkeyPatch, command: str, shown: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    # One run at a time, so that the last request is the one that is answered.
    stub.err(
        "wrong",
        lambda seen: "nano" in stub.requests[-1].body["model"] and seen.task[-1] in "37",
    )

    result = pytester.runpytest_inprocess(*shlex.split(command))

    told = "\n".join([*result.outlines, *result.errlines])
    assert is_shown(shown, told), told


def test_the_page_shows_what_each_part_prints() -> None:
    assert 3 == len(COMMANDS)
