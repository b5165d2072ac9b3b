"""Notices when the value of an option passed for a test path, and took the configuration away.

pytest decides on rootdir before it knows the options of plugins: in `--sop-domain ../lab` the
existing folder looks like a test path. A configuration file, and the gate in it, may be lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_sopbench._settings.project_file import read_project
from pytest_sopbench._settings.table import VALUE_OPTIONS
from pytest_sopbench.errors import SopbenchError

from .strictness import typed_words


def check_rootdir(config: pytest.Config) -> None:
    """Stop where a configuration file was lost to an option's value.

    Raises:
        pytest.UsageError: with the spelling that is safe.
    """
    taken = next(_values_taken_for_paths(config), None)
    named = config.getoption("inifilename", None) or config.getoption("rootdir", None)
    # A worker has the arguments and the rootdir of its controller, which has checked them.
    if taken is None or named or hasattr(config, "workerinput"):
        return
    try:
        # What pytest would read for this folder, were there no such value.
        lost = read_project(config.invocation_params.dir).file
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None
    if lost is not None and lost != config.inipath:
        option, value = taken
        msg = (
            f"{option} {value}: pytest took the value for a test path, and {lost} was not read\n"
            f"write {option}={value}"
        )
        raise pytest.UsageError(msg)


def _values_taken_for_paths(config: pytest.Config) -> Iterator[tuple[str, str]]:
    here = config.invocation_params.dir
    words = _expanded(here, typed_words(config, os.environ))
    for option, value in pairwise(words):
        # As pytest does, which looks for the file of a node id. A path may be too long for a
        # `Path` to be asked about it.
        if option in VALUE_OPTIONS and os.path.exists(here / value.split("::")[0]):  # noqa: PTH110
            yield option, value


def _expanded(here: Path, words: Iterable[str]) -> Iterator[str]:
    """Yield the words that a file `@FILE` holds, one a line, in its place."""
    for word in words:
        path = here / word.removeprefix("@")
        if word.startswith("@") and path.is_file():
            yield from _expanded(here, path.read_text("utf-8", "replace").splitlines())
        else:
            yield word
