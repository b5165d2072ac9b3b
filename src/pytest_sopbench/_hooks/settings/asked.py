"""What a user has asked for by name: agents, domains, folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest

from pytest_sopbench._loading.finding import domains_in
from pytest_sopbench._loading.load import DATA_FILES
from pytest_sopbench._loading.metadata import is_domain_folder
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.readers import GivenAgent, read_agents
from pytest_sopbench._settings.table import AGENT_OPTION, SPECS

from .ini import ini_values
from .marks import read_task_id
from .refusing import refusing

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
    typed, named = _is_typed(config, "--sop-domain"), _named(config)
    if not typed:
        folders = (str(folder) for folder in typed_domain_folders(config))
        named = tuple(dict.fromkeys((*named, *folders)))
    return AskedDomains(values=values, typed=typed, named=named)


def _is_typed(config: pytest.Config, option: str) -> bool:
    words = map(str, config.invocation_params.args)
    return any(word == option or word.startswith(f"{option}=") for word in words)


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
