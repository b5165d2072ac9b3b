"""Where domains lie: the bundled ones, the installed ones, and those of the project."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_sopbench import errors
from pytest_sopbench._loading.metadata.read import is_domain_folder, read_metadata
from pytest_sopbench.errors import LoadingError

ENTRY_POINTS = "pytest_sopbench.domains"
"""The entry-point group of installed domains."""

BUNDLED = Path(errors.__file__).resolve().parent / "bundled"


class Origin(StrEnum):
    """How a domain was found."""

    BUNDLED = "bundled"
    INSTALLED = "installed"
    PROJECT = "project"
    PATH = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPaths:
    """Where to look for domains, and whose code may run.

    Args:
        rootdir: pytest's.
        invocation_dir: what a path on the command line is relative to.
        sop_paths: folders in which domain folders lie; relative ones start at `rootdir`.
        trusted: folders under which the code of domains may run.
    """

    rootdir: Path
    invocation_dir: Path
    sop_paths: tuple[Path, ...] = ()
    trusted: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDomain:
    """A domain that was found, and is not loaded.

    `trusted` tells whether its code (`tools.py`, `policy.py`) may run. `task` is the one task
    that was asked for, as it was written. `problem` says why an installed domain has no folder;
    only listings hold one.
    """

    name: str
    folder: Path
    origin: Origin
    trusted: bool
    task: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCandidate:
    """A place that may hold a domain, and the names it answers to."""

    names: tuple[str, ...]
    origin: Origin
    folder: Path | None = None
    entry_point: importlib.metadata.EntryPoint | None = None

    def located(self) -> Path:
        """The folder.

        Raises:
            LoadingError: the package that brings the domain does not lead to a domain folder.
        """
        if self.folder is not None:
            return self.folder
        assert self.entry_point is not None  # noqa: S101 - a candidate has one or the other
        return _entry_folder(self.entry_point)


def found(
    folder: Path, origin: Origin, where: SearchPaths, *, name: str | None = None
) -> FoundDomain:
    """A domain folder with its name, and with the answer to whether its code may run."""
    return FoundDomain(
        name=name or metadata_name(folder) or folder.name,
        folder=folder,
        origin=origin,
        trusted=_trusted(folder, origin, where),
    )


def found_candidate(candidate: DomainCandidate, where: SearchPaths) -> FoundDomain:
    """The domain of a place that may hold one.

    Raises:
        LoadingError: the package that brings the domain does not lead to a domain folder.
    """
    # The last name of a folder is the one in its metadata, which has been read for it.
    name = None if candidate.folder is None else candidate.names[-1]
    return found(candidate.located(), candidate.origin, where, name=name)


def metadata_name(folder: Path) -> str:
    """The name that a domain gives itself; empty where its metadata cannot be read."""
    try:
        return read_metadata(folder).metadata.name
    except LoadingError:
        # Told in full when the domain is loaded; a listing of the others must not end here.
        return ""


def candidates(where: SearchPaths) -> tuple[DomainCandidate, ...]:
    """All places that may hold a domain: the project's, then the bundled, then the installed."""
    return (*project_candidates(where), *bundled_candidates(), *_installed())


def project_candidates(where: SearchPaths) -> tuple[DomainCandidate, ...]:
    """The domain folders on `sop_paths`; one that is itself a domain folder counts."""
    folders: dict[Path, None] = {}
    for path in where.sop_paths:
        top = absolute(path, where.rootdir)
        folders.update(dict.fromkeys([top] if is_domain_folder(top) else _readable_in(top)))
    return tuple(_candidate(folder, Origin.PROJECT) for folder in folders)


def bundled_candidates() -> tuple[DomainCandidate, ...]:
    """The domains that come with the package, each in the folder of its name."""
    # Their metadata says the same: files that no start needs to read.
    return tuple(
        DomainCandidate(names=(folder.name,), origin=Origin.BUNDLED, folder=folder)
        for folder in domains_in(BUNDLED)
    )


def domains_in(folder: Path) -> list[Path]:
    """The domain folders right under a folder, by name; none where it does not exist."""
    if not folder.is_dir():
        return []
    return sorted(child for child in folder.iterdir() if is_domain_folder(child))


def _readable_in(top: Path) -> list[Path]:
    try:
        return domains_in(top)
    except PermissionError:
        # Listed as one that cannot be read; the domains elsewhere are found all the same.
        return [top]


def absolute(path: Path, start: Path) -> Path:
    """The path without `..`, from the folder at which relative paths start."""
    return Path(os.path.abspath(start / path))  # noqa: PTH100 - a symlink keeps its own name


def _candidate(folder: Path, origin: Origin) -> DomainCandidate:
    names = dict.fromkeys((folder.name, metadata_name(folder)))
    return DomainCandidate(
        names=tuple(name for name in names if name), origin=origin, folder=folder
    )


def _installed() -> Iterator[DomainCandidate]:
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        yield DomainCandidate(names=(point.name,), origin=Origin.INSTALLED, entry_point=point)


def _entry_folder(point: importlib.metadata.EntryPoint) -> Path:
    label = f"{point.name} = {point.value}"
    try:
        folder = _package_folder(point.value) if not point.attr else _told_folder(point.load())
    except Exception as fault:
        # The package that brings the domain is foreign code, and may raise anything.
        raise LoadingError(
            label, f"the entry point cannot be read: {type(fault).__name__}: {fault}"
        ) from fault
    if folder is None or not is_domain_folder(folder):
        raise LoadingError(
            label,
            "the entry point leads to no domain folder",
            hint="it names a package that holds metadata.json, or a path, or a function that"
            " returns one",
        )
    return folder


def _package_folder(module: str) -> Path | None:
    # Found without importing it, since listings run no code of others.
    spec = importlib.util.find_spec(module)
    if spec is None:
        return None
    places = list(spec.submodule_search_locations or ())
    return Path(places[0] if places else spec.origin or "").resolve() if places else None


def _told_folder(target: object) -> Path | None:
    value = target() if callable(target) else target
    if isinstance(value, str | os.PathLike):
        return Path(os.fspath(value)).resolve()
    places = getattr(value, "__path__", None)
    return Path(next(iter(places))).resolve() if places else None


def _trusted(folder: Path, origin: Origin, where: SearchPaths) -> bool:
    if origin in (Origin.BUNDLED, Origin.PATH):
        return True
    # Resolved, since a link inside the project can lead out of it.
    real = folder.resolve()
    roots = [absolute(path, where.rootdir).resolve() for path in where.trusted]
    if any(real.is_relative_to(root) for root in roots):
        return True
    if origin is Origin.INSTALLED and real.is_relative_to(Path(sys.prefix).resolve()):
        # An environment inside the project is not the project.
        return False
    return real.is_relative_to(where.rootdir.resolve())
