"""Which domains a value of `--sop-domain` means; nothing of them is loaded, nothing runs."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._loading.files.cells import NAME_RULE, is_domain_name, listed, nearest
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.metadata.read import is_domain_folder
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import DomainNotFoundError, LoadingError

from .search_paths import (
    DomainCandidate,
    FoundDomain,
    Origin,
    SearchPaths,
    absolute,
    bundled_candidates,
    candidates,
    domains_in,
    found,
    found_candidate,
    project_candidates,
)

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
        return _many(project_candidates(where), where, name, _no_project(where))
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


def _no_project(where: SearchPaths) -> str:
    paths = listed(str(path) for path in where.sop_paths) or "no folder"
    return f"'all' means the project's own domains, and sop_paths ({paths}) has none"


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
    is_lost = all(place.origin is not Origin.PROJECT for place in every)
    return "\n".join(filter(None, (told, _looked_in(where) if is_lost else "")))


def _known(every: Sequence[DomainCandidate]) -> str:
    names = sorted({place.names[-1] for place in every})
    return f"known: {listed(names)}" if names else "none is known; sop_paths says where they lie"


def _looked_in(where: SearchPaths) -> str:
    folders = (absolute(path, where.rootdir) for path in where.sop_paths)
    return f"looked in {listed(map(str, folders))}" if where.sop_paths else ""


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
    """Load the domains that the values mean, or all that are known here where there are none.

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
