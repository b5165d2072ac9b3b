"""What the project's configuration says to a program that is not pytest.

The file is found, and read, as pytest does it for a call without paths: in the current folder and
then in each folder above it, the first of `FILES` that speaks of pytest. What pytest is told in
`addopts`, in `PYTEST_ADDOPTS` or with `-c` and `-o` is not known here.
"""

from __future__ import annotations

import importlib.metadata
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench.errors import SopbenchError

from .table import SESSIONS, SPECS, unsplit

_OWN = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})
FILES: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
"""Where pytest looks, in its order; the first four count even if they are empty."""
_NATIVE: Final = frozenset({"pytest.toml", ".pytest.toml"})
"""Those that pytest reads from version 9 on, as it does the table `tool.pytest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The folder that paths of the configuration start from, and the values that are set.

    `file` is the file that sets them, and `None` if no file speaks of pytest.
    """

    folder: Path
    file: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict[str, object])

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a value; if it is not set or empty, its default.

        Raises:
            SopbenchError: a quote or a backslash in it stands alone.
        """
        value, spec = self.values.get(name), SPECS[name]
        default = spec.default
        if isinstance(value, list):
            return tuple(map(str, cast("list[object]", value))) or default
        if value is None or isinstance(value, Mapping):
            return default
        text = str(value)
        if spec.lines:
            return tuple(line for one in text.split("\n") if (line := one.strip())) or default
        try:
            return tuple(shlex.split(text)) or default
        except ValueError as fault:
            raise SopbenchError(unsplit(name, fault, self.file)) from fault

    def folders(self, name: str) -> tuple[Path, ...]:
        """Return the folders that a value names, from the folder of the project."""
        return tuple(_shortened(self.folder / from_home(one)) for one in self.words(name))

    def below(self, name: str, part: str) -> Path:
        """Return what lies in the folder that a value names."""
        (word,) = self.words(name)[:1]
        return _shortened(self.folder / from_home(word) / part)

    @property
    def sessions_dir(self) -> Path:
        """Where saved sessions are kept."""
        return self.below("sop_dir", SESSIONS)


def read_project(here: Path) -> Project:
    """Read the configuration of the project that a folder is part of.

    Raises:
        SopbenchError: a file that pytest would read cannot be read.
    """
    fallback: Path | None = None
    for folder in (here, *here.parents):
        for name in FILES:
            path = folder / name
            if not path.is_file() or (name in _NATIVE and not _reads_toml()):
                continue
            values = _values(path)
            if values is not None:
                return Project(folder=folder, file=path, values=values)
            if name == "pyproject.toml" and fallback is None:
                fallback = folder
    return Project(folder=fallback or here)


def _values(path: Path) -> Mapping[str, object] | None:
    """Return what a file says to pytest, or `None` if it does not speak of it."""
    try:
        found = _toml(path) if path.suffix == ".toml" else _ini(path)
    except (OSError, ValueError) as fault:
        msg = f"{path.name}: cannot be read: {fault}"
        raise SopbenchError(msg) from fault
    return {} if found is None and path.name in _OWN else found


def _toml(path: Path) -> Mapping[str, object] | None:
    import tomllib  # noqa: PLC0415 - few sessions need a TOML file

    document: Mapping[str, Any] = tomllib.loads(path.read_text("utf-8"))
    if path.name in _OWN:
        return _table(document.get("pytest"))
    table = _table(_table(document.get("tool")).get("pytest"))
    native = {name: value for name, value in table.items() if name != "ini_options"}
    native = native if native and _reads_toml() else {}
    return native or (_table(table["ini_options"]) if "ini_options" in table else None)


@cache
def _reads_toml() -> bool:
    """Whether the pytest that is installed reads more of TOML than `tool.pytest.ini_options`."""
    return int(importlib.metadata.version("pytest").partition(".")[0]) >= 9  # noqa: PLR2004


def _ini(path: Path) -> Mapping[str, object] | None:
    # The reader that pytest itself uses, so that comments and continued lines mean the same.
    import iniconfig  # noqa: PLC0415 - as above

    try:
        sections = iniconfig.IniConfig(str(path))
    except iniconfig.ParseError as fault:
        raise ValueError(str(fault)) from fault
    section = "tool:pytest" if path.suffix == ".cfg" else "pytest"
    return dict(sections[section].items()) if section in sections else None


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def from_home(path: str) -> Path:
    """Return a path with `~` and `~user` replaced.

    As in a shell, the name of a user that does not exist stays, so that whoever opens the path says
    that it is missing; `Path.expanduser` raises instead.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111


def _shortened(path: Path) -> Path:
    """Write a path below the current folder as the user would type it."""
    here = Path.cwd()
    return path.relative_to(here) if path != here and path.is_relative_to(here) else path
