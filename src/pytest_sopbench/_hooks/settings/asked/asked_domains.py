"""Which domains a session is asked for: by an option, a setting, an id, a data file or a folder."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_sopbench._hooks.settings.ini import ini_values
from pytest_sopbench._hooks.settings.node_ids import read_task_id
from pytest_sopbench._loading.load import DATA_FILES
from pytest_sopbench._loading.metadata.read import is_domain_folder

from .folders import typed_domain_folders


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
