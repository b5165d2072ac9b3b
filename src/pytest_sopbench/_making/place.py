"""Where a domain is made, and whether it may have the name that was asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._loading.files.names import NAME_RULE, is_domain_name
from pytest_sopbench.errors import LoadingError, SopbenchError

_WORDS: Final = frozenset({"all", "bundled"})
"""What `--sop-domain` takes for more than one domain."""

_DEVICES: Final = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.IGNORECASE)
"""Names that are no files on Windows, and that nobody there could check out."""

_LONGEST: Final = 80
_NEITHER: Final = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a domain is made.

    `folder` is as a user types it from the current folder. `domain` is what `--sop-domain` takes,
    and `agent` what `--agent` takes for the agent that is written beside it.
    """

    name: str
    folder: Path
    domain: str

    @property
    def agent(self) -> str:
        return f"{'.'.join((*self.folder.parts, 'agent'))}:agent"

    @property
    def test_file(self) -> str:
        """The name of the file with tests; unlike those of other domains, as pytest needs."""
        return f"test_{self.name.replace('-', '_')}.py"


def check_name(name: str) -> None:
    """Refuse a name that no folder, module or domain should have.

    Raises:
        SopbenchError: the name cannot be used; the hint has one that can.
    """
    problem = _problem(name)
    if problem:
        plain = suggested_name(name)
        hint = f"{plain!r} can be one" if plain and not _problem(plain) else NAME_RULE
        msg = f"{name!r} cannot be the name of a domain that is made: {problem}"
        raise SopbenchError(msg, hint=hint)


def suggested_name(text: str) -> str:
    """Return a name that is like a text; empty where nothing of it is left."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    return _NEITHER.sub("_", plain).strip("_-").lower()[:_LONGEST]


def choose_place(name: str, *, folder: Path, known: Collection[str], has_name: bool) -> Place:
    """Return the place of a new domain in a folder; nothing is written.

    Args:
        name: of the domain.
        folder: in which the folder of the domain is made, from the current folder.
        known: the names of the domains that are found here.
        has_name: whether domains in this folder are found by their name.

    Raises:
        SopbenchError: the name or the folder cannot be used, or something is there already.
    """
    check_name(name)
    target = folder / name
    _check_folder(folder, target)
    if has_name and name in known:
        msg = f"{name!r} is the name of a domain that comes with the package or is found here"
        raise SopbenchError(msg, hint="take another; `sopbench list` shows those that are taken")
    domain = name if has_name else f"./{target.as_posix()}"
    return Place(name=name, folder=target, domain=domain)


def _problem(name: str) -> str:
    if not is_domain_name(name):
        return "it has other signs than the letters a to z, digits, '_' and '-'"
    if "." in name:
        return "the agent beside it is imported, and no module has a dot in its name"
    if name.lower() in _WORDS:
        return f"--sop-domain {name.lower()} means several domains"
    if _DEVICES.fullmatch(name):
        return "Windows keeps it for a device"
    if len(name) > _LONGEST:
        return f"it is longer than {_LONGEST} letters"
    return ""


def _check_folder(folder: Path, target: Path) -> None:
    if target.is_absolute() or ".." in target.parts:
        msg = f"{folder}: does not lie under the current folder, from which the agent is imported"
        raise SopbenchError(msg, hint="go to the project's folder first, or give --to FOLDER")
    if any("." in part for part in folder.parts):
        msg = f"{folder}: the agent is imported from there, and no module has a dot in its name"
        raise SopbenchError(msg, hint="give --to a folder without a dot")
    for place in (target, *target.parents):
        if place.exists() and not place.is_dir():
            raise LoadingError(place, "is a file, and would have to be a folder")
    if target.exists() or target.is_symlink():
        raise LoadingError(
            target,
            "is there already, and nothing is overwritten",
            hint="take another name, or remove the folder first",
        )
