"""What a user has asked for by name: agents, domains, folders; and what passed for a folder.

The last part stops a session in which pytest took the value of an option for a test path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_sopbench._hooks.settings.ini import ini_values, refusing, typed_words
from pytest_sopbench._hooks.settings.marks import read_task_id
from pytest_sopbench._loading.finding import domains_in
from pytest_sopbench._loading.load import DATA_FILES, is_domain_folder
from pytest_sopbench._reports.text import shell_word
from pytest_sopbench._settings.project_file import from_home, read_project
from pytest_sopbench._settings.readers import GivenAgent, read_agents
from pytest_sopbench._settings.table import AGENT_OPTION, SPECS, VALUE_OPTIONS
from pytest_sopbench.errors import SopbenchError

# The agents that the command line or the configuration names.


def given_agents(config: pytest.Config) -> tuple[GivenAgent, ...]:
    """Return the agents of the command line; without any, those of the configuration.

    What is typed replaces what `addopts` or `PYTEST_ADDOPTS` give, as it did when there was room
    for one agent alone.

    Raises:
        pytest.UsageError: one is named twice, or means nothing.
    """
    spec = SPECS["sop_agent"]
    given: Sequence[str] = config.getoption(spec.name) or ()
    typed = min(_typed(config), len(given))
    chosen = given[-typed:] if typed else given
    if not any(chosen):
        # An empty text has always meant that nothing is given.
        with refusing(spec.name):
            return read_agents(ini_values(config, spec.name))
    with refusing(spec.option):
        return read_agents(chosen)


def types_agents(config: pytest.Config) -> bool:
    """Tell whether the agents in use were typed with this command, and not configured."""
    typed, given = _typed(config), config.getoption(SPECS["sop_agent"].name) or ()
    return any(given[-typed:]) if typed else False


def _typed(config: pytest.Config) -> int:
    """Count the agents that were typed with this command."""
    options = (SPECS["sop_agent"].option, AGENT_OPTION)
    words = takewhile(lambda word: word != "--", map(str, config.invocation_params.args))
    return sum(word.partition("=")[0] in options for word in words)


# Folders among pytest's arguments that stand for the domains in them.


def domain_paths(config: pytest.Config) -> tuple[Path, ...]:
    """Return the folders of `sop_paths`, in which domain folders lie."""
    words = ini_values(config, "sop_paths") or SPECS["sop_paths"].default
    return tuple(config.rootpath / from_home(word) for word in words)


def how_to_run(config: pytest.Config) -> str:
    """Say how the domains of the configuration are run, if nothing was collected."""
    here = config.invocation_params.dir
    folders = [path for path in domain_paths(config) if path.is_dir()]
    paths = " ".join(shell_word(os.path.relpath(path, here)) for path in folders)
    named = ",".join(ini_values(config, "sop_domain"))
    runs = [f"pytest {paths}"] if paths else []
    runs.append(f"pytest --sop-domain={shell_word(named)}")
    return f"sop: nothing was collected; to run {named}: {', or '.join(runs)}"


def typed_domain_folders(config: pytest.Config) -> tuple[Path, ...]:
    """Return the domain folders that typed folders mean: a domain's own, or one of `sop_paths`.

    Other folders are searched for tests alone. They may hold domains that nobody asked for, and
    each run of an agent is paid for.
    """
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return ()
    paths = {path.resolve() for path in domain_paths(config)}
    typed: dict[Path, None] = {}
    for arg in config.args:
        folder = config.invocation_params.dir / arg
        if "::" in arg or not folder.is_dir():
            continue
        if folder.resolve() in paths:
            typed.update(dict.fromkeys(domains_in(folder.resolve())))
        elif is_domain_folder(folder):
            typed[folder.resolve()] = None
    return tuple(typed)


# Which domains a session is asked for: by an option, a setting, an id, a data file or a folder.


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedDomains:
    """What `--sop-domain` or its ini twin say, and what pytest's arguments name beside.

    `typed` tells that `--sop-domain` was typed on the command line, and not set in `addopts` or
    as an ini value. `named` are the domains of task ids among pytest's arguments.
    """

    values: tuple[str, ...]
    typed: bool
    named: tuple[str, ...]

    @property
    def every(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.values, *self.named)))


def read_asked_domains(config: pytest.Config) -> AskedDomains:
    """Read what is asked for; whether there are such domains is not looked at."""
    given: list[str] | None = config.getoption("sop_domain")
    values = ini_values(config, "sop_domain") if given is None else tuple(given)
    words = map(str, config.invocation_params.args)
    typed, named = any(word.partition("=")[0] == "--sop-domain" for word in words), _named(config)
    if not typed:
        folders = (str(folder) for folder in typed_domain_folders(config))
        named = tuple(dict.fromkeys((*named, *folders)))
    return AskedDomains(values=values, typed=typed, named=named)


def _named(config: pytest.Config) -> tuple[str, ...]:
    """Return the domains of the ids and data files that stand among pytest's arguments."""
    here = config.invocation_params.dir
    named: dict[str, None] = {}
    for arg in config.args:
        head = here / arg.split("::")[0]
        found = None if head.exists() else read_task_id(arg)
        if found is not None:
            named[found.domain] = None
        elif head.name in DATA_FILES and is_domain_folder(head.parent):
            # An id as it is printed for a domain of the project: its data file and the task.
            named[f"{head.parent.resolve()}"] = None
    return tuple(named)


# Notices when the value of an option passed for a test path, and changed the configuration.
#
# pytest decides on rootdir before it knows the options of plugins: in `--sop-domain ../lab` the
# existing folder looks like a test path. A configuration file, and the gate in it, may be lost, and
# without such a file the root of the project, below which sessions are saved and code is trusted.


class _SetUp(NamedTuple):
    """What pytest settles before it knows our options."""

    rootdir: Path
    file: Path | None


def check_rootdir(config: pytest.Config) -> None:
    """Stop if the value of an option has changed rootdir or the configuration file.

    Raises:
        pytest.UsageError: with the spelling that is safe.
    """
    here = config.invocation_params.dir
    named: str | None = config.getoption("inifilename", None)
    # A worker has the arguments and the rootdir of its controller, which has checked them.
    if hasattr(config, "workerinput") or (named and _absolute(here, named) == config.inipath):
        return
    words = [*_expanded(here, typed_words(config, os.environ))]
    taken = [
        (option, value)
        for option, value in pairwise(words)
        if option in VALUE_OPTIONS and _existing(here, value)
    ]
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
    """Return what pytest settles if these are its test paths, as `determine_setup` of it does.

    `--rootdir` names the root alone, and the file is searched all the same.
    """
    here = config.invocation_params.dir
    named_paths = [path for one in paths if (path := _existing(here, one))]
    folders = [path if path.is_dir() else path.parent for path in named_paths]
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
    # A file that says nothing to pytest is the configuration if no other file is.
    fallback = project.folder / "pyproject.toml"
    file = project.file or (fallback if fallback.is_file() else None)
    return _SetUp(project.folder, file) if file else None


def _existing(here: Path, word: str) -> Path | None:
    """Return the path that a word names: that of the file, if it is a node id."""
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


def _expanded(here: Path, words: Iterable[str]) -> Iterator[str]:
    """Yield the words that a file `@FILE` holds, one a line, in its place."""
    for word in words:
        path = here / word.removeprefix("@")
        if word.startswith("@") and path.is_file():
            yield from _expanded(here, path.read_text("utf-8", "replace").splitlines())
        else:
            yield word
