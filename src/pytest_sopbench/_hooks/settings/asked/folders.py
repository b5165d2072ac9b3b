"""Folders among pytest's arguments that stand for the domains in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._hooks.settings.ini import ini_values
from pytest_sopbench._loading.finding.resolve import domains_in
from pytest_sopbench._loading.metadata.read import is_domain_folder
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.table import SPECS


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
