"""The domains that a command needs: where they are looked for, and those that a session has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

import click

from pytest_sopbench._cli.app import project
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._loading.finding import FoundDomain, SearchPaths, domains_called, find_domains
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.header import DomainHeader
from pytest_sopbench.errors import DomainNotFoundError, LoadingError

_NOTHING_RUN: Mapping[str, DomainHeader] = MappingProxyType({})

domain_option = click.option(
    "--domain", "places", multiple=True, metavar="PATH", help="A domain not found by its name."
)
"""The folders of domains that a session has run, and that have no name here."""


def search_paths() -> SearchPaths:
    """Return where domains are looked for."""
    known = project()
    paths = tuple(known.folder / path for path in known.folders("sop_paths"))
    return SearchPaths(rootdir=known.folder, invocation_dir=Path.cwd(), sop_paths=paths)


def domain_folders(values: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Yield the folder of each domain that is named, or any folder, and whether its code may run.

    Raises:
        LoadingError: a name is that of no domain.
    """
    for value in values:
        if Path(value).is_dir() and any(mark in value for mark in ("/", "\\", ".")):
            yield Path(value), True
        else:
            for one in find_domains([value], search_paths()):
                yield one.folder, one.trusted


def domains_of(
    names: Iterable[str], places: Sequence[str], ran: Mapping[str, DomainHeader] = _NOTHING_RUN
) -> Mapping[str, Domain]:
    """Load the domains that have these names, as far as they are found; a place wins.

    Of several that have a name, the one is taken whose content is that of `ran`, which is what a
    session has run.

    Raises:
        LoadingError: one cannot be used, or none of several is what was run.
    """
    return {name: load() for name, load in _found(names, places, ran)}


def readable_domains(
    names: Iterable[str],
    places: Sequence[str] = (),
    ran: Mapping[str, DomainHeader] = _NOTHING_RUN,
) -> Mapping[str, Domain]:
    """Load the domains that have these names, as far as they are found and can be used."""
    domains: dict[str, Domain] = {}
    for name, load in _found(names, places, ran):
        with suppress(LoadingError):
            domains[name] = load()
    return domains


def _found(
    names: Iterable[str], places: Sequence[str], ran: Mapping[str, DomainHeader]
) -> Iterator[tuple[str, Callable[[], Domain]]]:
    where = search_paths()
    given = {one.name: one for one in find_domains(places, where)}
    for name in sorted(names):
        try:
            found = (given[name],) if name in given else domains_called(name, where)
        except LoadingError:
            continue
        if len(found) == 1 or (found and name in ran):
            yield name, partial(_loaded, found, ran.get(name))


def _loaded(found: Sequence[FoundDomain], ran: DomainHeader | None) -> Domain:
    """Load the only domain of a name, or the one whose content is most like what was run.

    Raises:
        LoadingError: it cannot be used, or none of several is more like it than another.
    """
    domains = [load_domain(one.folder, name=one.name) for one in found]
    alike = [
        sum(getattr(ran, part, "") == one for part, one in domain.hashes.items() if one)
        for domain in domains
    ]
    best = max(alike)
    if len(domains) > 1 and (not best or alike.count(best) > 1):
        folders = ", ".join(str(one.folder) for one in found)
        raise DomainNotFoundError(
            domains[0].name,
            f"found in {len(domains)} places, and none is like what was run: {folders}",
            hint="say which: --domain PATH",
        )
    return domains[alike.index(best)]
