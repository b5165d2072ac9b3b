"""Notices when the value of an option passed for a test path, and took the configuration away.

pytest decides on rootdir before it knows the options of plugins: in `--sop-domain ../lab` the
existing folder looks like a test path. A configuration file, and the gate in it, may be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

VALUE_OPTIONS = frozenset(
    {
        "--agent",
        "--sop-agent",
        "--sop-agent-arg",
        "--sop-domain",
        "--sop-gate",
        "--sop-resume",
        "--sop-save",
        "--sop-tags",
    }
)
CONFIGURATION_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
TABLES = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}


def check_rootdir(config: pytest.Config) -> None:
    """Stop where a configuration file was lost to an option's value.

    Raises:
        pytest.UsageError: with the spelling that is safe.
    """
    taken = list(_values_taken_for_paths(config))
    if not taken or config.getoption("inifilename", None) or config.getoption("rootdir", None):
        return
    lost = _configuration(config.invocation_params.dir)
    if lost is not None and lost != config.inipath:
        option, value = taken[0]
        msg = (
            f"{option} {value}: pytest took the value for a test path, and {lost} was not read\n"
            f"write {option}={value}"
        )
        raise pytest.UsageError(msg)


def _values_taken_for_paths(config: pytest.Config) -> Iterator[tuple[str, str]]:
    words = [str(word) for word in config.invocation_params.args]
    for option, value in pairwise(words):
        if option in VALUE_OPTIONS and (config.invocation_params.dir / value).exists():
            yield option, value


def _configuration(folder: Path) -> Path | None:
    """Return the file that pytest would read for this folder, were there no such value."""
    for one in (folder, *folder.parents):
        for name in CONFIGURATION_FILES:
            if (one / name).is_file():
                return one / name
        for name, table in TABLES.items():
            if (one / name).is_file() and table in (one / name).read_text("utf-8", "replace"):
                return one / name
    return None
