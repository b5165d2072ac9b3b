"""The command `sopbench`, in this process and as the start of a command line."""

from __future__ import annotations

import sys
from inspect import signature
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main

SOPBENCH = (sys.executable, "-c", "from pytest_sopbench.cli import main; main()")
"""The command, also where its folder is not on the path."""

_ACCEPTED: Final = signature(CliRunner).parameters


def sopbench(*words: str) -> Result:
    """Run the command with these words in the current folder; what it raises is raised here."""
    return CliRunner().invoke(main, words, catch_exceptions=False)


def ran(*words: str) -> pytest.RunResult:
    """Run the command as `sopbench` does, and return what a process of its own would have said."""
    # Before version 8.2 click kept the two streams apart only if it was asked to.
    apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in _ACCEPTED else {}
    result = CliRunner(**apart).invoke(main, words, catch_exceptions=False)
    lines = (result.stdout.splitlines(), result.stderr.splitlines())
    return pytest.RunResult(result.exit_code, *lines, duration=0.0)
