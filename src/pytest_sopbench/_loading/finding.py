"""Which domains a name means, and where they are looked for."""

from __future__ import annotations

import fnmatch
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from pytest_sopbench import errors
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import DomainNotFoundError, LoadingError

from .files import listed, nearest
from .load import is_domain_folder, load_domain
from .metadata import NAME_RULE, is_domain_name, read_metadata

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
    """A place that may hold a domain, a folder or a package's, and the names it answers to."""

    names: tuple[str, ...]
    origin: Origin
    place: Path | importlib.metadata.EntryPoint


def found(
    folder: Path, origin: Origin, where: SearchPaths, *, name: str | None = None
) -> FoundDomain:
    """A domain folder with its name, and with the answer to whether its code may run."""
    return FoundDomain(
        name=name or metadata_name(folder) or folder.name,
        folder=folder,
        origin=origin,
        trusted=is_trusted(folder, origin, where),
    )


def found_candidate(candidate: DomainCandidate, where: SearchPaths) -> FoundDomain:
    """The domain of a place that may hold one.

    Raises:
        LoadingError: the package that brings the domain does not lead to a domain folder.
    """
    place = candidate.place
    if isinstance(place, Path):
        # The last name of a folder is the one in its metadata, which has been read for it.
        return found(place, candidate.origin, where, name=candidate.names[-1])
    return found(_entry_folder(place), candidate.origin, where)


def metadata_name(folder: Path) -> str:
    """The name that a domain gives itself; empty if its metadata cannot be read."""
    try:
        return read_metadata(folder).metadata.name
    except LoadingError:
        # Told in full when the domain is loaded; a listing of the others must not end here.
        return ""


def candidates(where: SearchPaths) -> tuple[DomainCandidate, ...]:
    """All places that may hold a domain: the project's, then the bundled, then the installed."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    installed = (
        DomainCandidate(names=(point.name,), origin=Origin.INSTALLED, place=point)
        for point in sorted(points, key=lambda point: (point.name, point.value))
    )
    return (*project_candidates(where), *bundled_candidates(), *installed)


def project_candidates(where: SearchPaths) -> tuple[DomainCandidate, ...]:
    """The domain folders on `sop_paths`; one that is itself a domain folder counts."""
    folders: dict[Path, None] = {}
    for path in where.sop_paths:
        top = absolute(path, where.rootdir)
        folders.update(dict.fromkeys([top] if is_domain_folder(top) else _readable_in(top)))
    found: list[DomainCandidate] = []
    for folder in folders:
        names = dict.fromkeys(filter(None, (folder.name, metadata_name(folder))))
        found.append(DomainCandidate(names=(*names,), origin=Origin.PROJECT, place=folder))
    return tuple(found)


def bundled_candidates() -> tuple[DomainCandidate, ...]:
    """The domains that come with the package, each in the folder of its name."""
    # Their metadata says the same: files that no start needs to read.
    return tuple(
        DomainCandidate(names=(folder.name,), origin=Origin.BUNDLED, place=folder)
        for folder in domains_in(BUNDLED)
    )


def domains_in(folder: Path) -> list[Path]:
    """The domain folders right under a folder, by name; none if it does not exist."""
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


def is_trusted(folder: Path, origin: Origin, where: SearchPaths) -> bool:
    """Whether the code of a domain that was found so may run."""
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


# Which domains a value of `--sop-domain` means; nothing of them is loaded, nothing runs.

__all__ = ["FoundDomain", "Origin", "SearchPaths", "domains_in", "find_domains", "known_domains"]

ALL = "all"
BUNDLED_WORD = "bundled"

_SEPARATORS = tuple(mark for mark in {"/", os.sep, os.altsep} if mark)
_WILDCARDS = "*?["
_FILES = frozenset({"data.csv", "test_set_with_outputs.csv", "tasks.jsonl"})


def find_domains(values: Sequence[str], where: SearchPaths) -> tuple[FoundDomain, ...]:
    """The domains that the values mean: in the order of the values, each once.

    A value is a folder, a name, a glob of names, `all`, `bundled`, or several of them with
    commas between; each may end in `::TASK`.

    Raises:
        DomainNotFoundError: nothing answers to a value, or two places do.
        LoadingError: a value cannot be a name, or two of the domains have the same name.
    """
    every: dict[tuple[Path, str | None], FoundDomain] = {}
    for value in values:
        for one in _resolve(value, where):
            key = one.folder.resolve(), one.task
            if key not in every or (one.trusted and not every[key].trusted):
                every[key] = one
    # One value may name by its path what another only finds by its name.
    trusted = {folder for (folder, _), one in every.items() if one.trusted}
    domains = tuple(replace(one, trusted=folder in trusted) for (folder, _), one in every.items())
    _check_distinct(domains)
    return domains


def domains_called(name: str, where: SearchPaths) -> tuple[FoundDomain, ...]:
    """The domains of a name, each folder once; a project may have one that is called like ours.

    Raises:
        LoadingError: one of them cannot be used.
    """
    matching = [place for place in candidates(where) if name in place.names]
    by_folder = {
        one.folder.resolve(): one
        for one in (found_candidate(place, where) for place in reversed(matching))
    }
    return tuple(by_folder.values())


def known_domains(where: SearchPaths) -> tuple[FoundDomain, ...]:
    """Every domain that has a name here: the project's, the bundled and the installed.

    A domain whose package is broken is among them, with its `problem`.
    """
    every: dict[Path, FoundDomain] = {}
    broken: list[FoundDomain] = []
    for candidate in candidates(where):
        try:
            one = found_candidate(candidate, where)
        except LoadingError as fault:
            broken.append(
                FoundDomain(
                    name=candidate.names[0],
                    folder=Path(),
                    origin=candidate.origin,
                    trusted=False,
                    problem=fault.message,
                )
            )
            continue
        every.setdefault(one.folder.resolve(), one)
    return (*every.values(), *broken)


def _resolve(value: str, where: SearchPaths) -> Iterator[FoundDomain]:
    parts = [part for part in _split(value, where) if part]
    if not parts:
        raise DomainNotFoundError(
            repr(value), "names no domain", hint="say a name, a folder such as ./lab, or 'all'"
        )
    for part in parts:
        name, separator, task = part.partition("::")
        name = name.removeprefix("sop:") if separator else name
        if separator and not task:
            raise DomainNotFoundError(part, "no task stands after '::'")
        for one in _of(name, where):
            yield replace(one, task=task if separator else None)


def _split(value: str, where: SearchPaths) -> list[str]:
    # A folder whose name has a comma in it is still one folder.
    if _is_path(value) and _folder(value, where).exists():
        return [value]
    return [part.strip() for part in value.split(",")]


def _of(name: str, where: SearchPaths) -> Iterable[FoundDomain]:
    if _is_path(name):
        return [_at_path(name, where)]
    if name == ALL:
        paths = listed(str(path) for path in where.sop_paths) or "no folder"
        hint = f"'all' means the project's own domains, and sop_paths ({paths}) has none"
        return _many(project_candidates(where), where, name, hint)
    if name == BUNDLED_WORD:
        return _many(bundled_candidates(), where, name, "")
    if any(mark in name for mark in _WILDCARDS):
        return _globbed(name, where)
    return [_named(name, where)]


def _is_path(value: str) -> bool:
    return (
        value in {".", ".."}
        or value.startswith("~")
        or any(separator in value for separator in _SEPARATORS)
    )


def _folder(value: str, where: SearchPaths) -> Path:
    return absolute(from_home(value), where.invocation_dir)


def _at_path(value: str, where: SearchPaths) -> FoundDomain:
    folder = _folder(value, where)
    if folder.is_file() and folder.name in _FILES:
        folder = folder.parent
    if is_domain_folder(folder):
        return found(folder, Origin.PATH, where)
    if not folder.exists():
        near = nearest(folder.name, (child.name for child in domains_in(folder.parent)))
        hint = f"did you mean {str(folder.parent / near)!r}?" if near else ""
        raise DomainNotFoundError(folder, "no such folder", hint=hint)
    if folder.is_file():
        raise DomainNotFoundError(
            folder, "a file, and a domain is a folder", hint=f"give its folder, {folder.parent}"
        )
    inside = [child.name for child in domains_in(folder)]
    raise DomainNotFoundError(
        folder,
        "not a domain: it has neither metadata.json nor domain.toml",
        hint=f"there are domains in it: {listed(inside)}; name one of them" if inside else "",
    )


def _many(
    places: Sequence[DomainCandidate], where: SearchPaths, name: str, hint: str
) -> Iterable[FoundDomain]:
    if not places:
        raise DomainNotFoundError(name, "there is no such domain", hint=hint)
    every = [found_candidate(place, where) for place in places]
    return sorted(every, key=lambda one: (one.name, one.folder))


def _globbed(pattern: str, where: SearchPaths) -> Iterable[FoundDomain]:
    every = candidates(where)
    matching = [
        place for place in every if any(fnmatch.fnmatchcase(name, pattern) for name in place.names)
    ]
    if not matching:
        raise DomainNotFoundError(pattern, "no domain's name fits this", hint=_known(every))
    return _many(matching, where, pattern, "")


def _named(name: str, where: SearchPaths) -> FoundDomain:
    if not is_domain_name(name):
        raise DomainNotFoundError(
            repr(name), "not the name of a domain", hint=f"{NAME_RULE}; a folder has a '/'"
        )
    called = domains_called(name, where)
    if len(called) > 1:
        places = "\n".join(f"  {one.folder} ({one.origin.value})" for one in called)
        raise DomainNotFoundError(
            name, f"found in {len(called)} places:\n{places}", hint="say which, by its path"
        )
    if not called:
        raise DomainNotFoundError(
            name, "no domain has this name", hint=_unknown_name(name, candidates(where), where)
        )
    return called[0]


def _unknown_name(name: str, every: Sequence[DomainCandidate], where: SearchPaths) -> str:
    if is_domain_folder(where.invocation_dir / name):
        return f"for the folder of that name write ./{name}"
    near = nearest(name, (known for place in every for known in place.names))
    told = f"did you mean {near!r}? {_known(every)}" if near else _known(every)
    if not where.sop_paths or any(place.origin is Origin.PROJECT for place in every):
        return told
    folders = (str(absolute(path, where.rootdir)) for path in where.sop_paths)
    return f"{told}\nlooked in {listed(folders)}"


def _known(every: Sequence[DomainCandidate]) -> str:
    names = sorted({place.names[-1] for place in every})
    return f"known: {listed(names)}" if names else "none is known; sop_paths says where they lie"


def _check_distinct(every: Iterable[FoundDomain]) -> None:
    folders: dict[str, Path] = {}
    for one in every:
        other = folders.setdefault(one.name, one.folder)
        if other.resolve() != one.folder.resolve():
            raise LoadingError(
                one.folder,
                f"the domain is called {one.name!r}, and so is {other}",
                hint="change 'name' in the metadata of one of them",
            )


# Many domains at once, for listings: one that cannot be used hides no other.


def load_catalogue(
    values: Sequence[str], where: SearchPaths
) -> tuple[tuple[Domain, ...], dict[str, str]]:
    """Load the domains that the values mean, or all that are known here if there are none.

    Returns:
        The domains that can be used, and the problems of the others by their names.

    Raises:
        LoadingError: a value means no domain, or more than one.
    """
    domains: list[Domain] = []
    broken: dict[str, str] = {}
    for place in find_domains(values, where) if values else known_domains(where):
        if place.problem:
            broken[place.name] = place.problem
            continue
        try:
            domains.append(load_domain(place.folder, name=place.name))
        except LoadingError as error:
            broken[place.name] = str(error)
    return tuple(domains), broken
