"""Notices when the value of an option passed for a test path, and changed the configuration.

pytest decides on rootdir before it knows the options of plugins: in `--sop-domain ../lab` the
existing folder looks like a test path. A configuration file, and the gate in it, may be lost, and
without such a file the root of the project, below which sessions are saved and code is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_sopbench._settings.project_file import read_project
from pytest_sopbench._settings.table import VALUE_OPTIONS
from pytest_sopbench.errors import SopbenchError

from .strictness import typed_words


class _SetUp(NamedTuple):
    """What pytest settles before it knows our options."""

    rootdir: Path
    file: Path | None


def check_rootdir(config: pytest.Config) -> None:
    """Stop where the value of an option has changed rootdir or the configuration file.

    Raises:
        pytest.UsageError: with the spelling that is safe.
    """
    here = config.invocation_params.dir
    named: str | None = config.getoption("inifilename", None)
    # A worker has the arguments and the rootdir of its controller, which has checked them.
    if hasattr(config, "workerinput") or (named and _absolute(here, named) == config.inipath):
        return
    words = [*_expanded(here, typed_words(config, os.environ))]
    taken = [*_values_taken_for_paths(here, words)]
    if not taken:
        return
    # Paths in `addopts` of the file are no part of it, since pytest finds the file first.
    typed = [word for word in words if word in config.args]
    typed = typed if config.args_source is pytest.Config.ArgsSource.ARGS else []
    try:
        meant = _set_up(config, typed)
        given = _SetUp(config.rootpath, config.inipath)
        if given != meant:
            guilty = (one for one in taken if _set_up(config, [*typed, one[1]]) != meant)
            raise pytest.UsageError(_message(*next(guilty, taken[0]), given=given, meant=meant))
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def _message(option: str, value: str, *, given: _SetUp, meant: _SetUp) -> str:
    if given.file == meant.file:
        lost = f"rootdir is {given.rootdir} instead of {meant.rootdir}"
    elif meant.file is not None:
        lost = f"{meant.file} was not read"
    else:
        lost = f"{given.file} was read"
    return (
        f"{option} {value}: pytest took the value for a test path, and {lost}\n"
        f"write {option}={value}"
    )


def _set_up(config: pytest.Config, paths: Sequence[str]) -> _SetUp:
    """Return what pytest settles where these are its test paths, as `determine_setup` of it does.

    `--rootdir` names the root alone, and the file is searched all the same.
    """
    here = config.invocation_params.dir
    folders = [_folder(path) for one in paths if (path := _existing(here, one))]
    ancestor = _shared(folders) if folders else here
    found = _configured(ancestor)
    named: str | None = config.getoption("rootdir", None)
    if named and _absolute(here, os.path.expandvars(named)) == config.rootpath:
        return _SetUp(config.rootpath, found.file if found else None)
    if found is not None:
        return found
    for folder in (ancestor, *ancestor.parents):
        if (folder / "setup.py").is_file():
            return _SetUp(folder, None)
    found = next(filter(None, map(_configured, folders)), None)
    shared = _shared([here, ancestor])
    return found or _SetUp(ancestor if shared == Path(shared.anchor) else shared, None)


def _configured(folder: Path) -> _SetUp | None:
    project = read_project(folder)
    # A file that says nothing to pytest is the configuration where no other file is.
    fallback = project.folder / "pyproject.toml"
    file = project.file or (fallback if fallback.is_file() else None)
    return _SetUp(project.folder, file) if file else None


def _existing(here: Path, word: str) -> Path | None:
    """Return the path that a word names: that of the file, where it is a node id."""
    path = _absolute(here, word.split("::", maxsplit=1)[0])
    # A path may be too long for a `Path` to be asked about it.
    return path if os.path.exists(path) else None  # noqa: PTH110


def _absolute(here: Path, path: str) -> Path:
    # As pytest does it: links stay.
    return Path(os.path.abspath(here / path))  # noqa: PTH100


def _shared(folders: Sequence[Path]) -> Path:
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:
        # On different drives of Windows pytest stays with the first.
        return folders[0]


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _values_taken_for_paths(here: Path, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for option, value in pairwise(words):
        if option in VALUE_OPTIONS and _existing(here, value):
            yield option, value


def _expanded(here: Path, words: Iterable[str]) -> Iterator[str]:
    """Yield the words that a file `@FILE` holds, one a line, in its place."""
    for word in words:
        path = here / word.removeprefix("@")
        if word.startswith("@") and path.is_file():
            yield from _expanded(here, path.read_text("utf-8", "replace").splitlines())
        else:
            yield word
