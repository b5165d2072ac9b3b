"""`sopbench list`, and the domains that other commands need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from pytest_sopbench.errors import DomainNotFoundError, LoadingError

from .app import WRONG_USAGE, echo_json, project, say

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain
    from pytest_sopbench._loading.finding.resolve import FoundDomain
    from pytest_sopbench._loading.finding.search_paths import SearchPaths
    from pytest_sopbench._sessions.file.header import DomainHeader

_NOTHING_RUN: Mapping[str, DomainHeader] = MappingProxyType({})

domain_option = click.option(
    "--domain", "places", multiple=True, metavar="PATH", help="A domain not found by its name."
)
"""The folders of domains that a session has run, and that have no name here."""


@click.command("list")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-v", "--verbose", count=True, help="Show inputs, tools, values and warnings.")
@click.option("-q", "--quiet", count=True, help="One line for each domain.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of objects.")
def list_domains(names: tuple[str, ...], verbose: int, quiet: int, as_json: bool) -> None:
    """List domains.

    Without NAME: those that are found here. NAME is what --sop-domain takes: a name, a folder
    (./lab), a glob, all or bundled.
    """
    from pytest_sopbench._audit.saved import saved_summary
    from pytest_sopbench._loading.finding.catalogue import load_catalogue
    from pytest_sopbench._reports.notices.domains import listing_lines

    domains, broken = load_catalogue(names, search_paths())
    if as_json:
        problems = [{"name": name, "problem": problem} for name, problem in broken.items()]
        echo_json([*map(_as_json, domains), *problems])
    else:
        audits = {one.name: saved_summary(one, project().folder) for one in domains}
        verbosity = verbose - quiet
        for line in listing_lines(domains, broken=broken, audits=audits, verbosity=verbosity):
            say(line)
    if names and broken:
        sys.exit(WRONG_USAGE)


def search_paths() -> SearchPaths:
    """Return where domains are looked for."""
    from pytest_sopbench._loading.finding.resolve import SearchPaths

    known = project()
    paths = tuple(known.folder / path for path in known.folders("sop_paths"))
    return SearchPaths(rootdir=known.folder, invocation_dir=Path.cwd(), sop_paths=paths)


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
    from pytest_sopbench._loading.finding.resolve import domains_called, find_domains

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
    from pytest_sopbench._loading.load import load_domain

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


def _as_json(domain: Domain) -> Mapping[str, Any]:
    return {
        "name": domain.name,
        "title": domain.title,
        "folder": str(domain.folder),
        "licence": domain.licence,
        "tasks": len(domain.task_ids),
        "inputs": list(domain.input_columns),
        "tools": [spec.name for spec in domain.tool_specs],
        "outputs": [
            {
                "name": field.name,
                "type": field.type.value,
                "declared": field.declared,
                "compare": field.compare.value,
                "values": [] if field.private else list(field.values),
            }
            for field in domain.fields
        ],
        "output_schema": domain.document.schema_name if domain.document else None,
        "warnings": list(domain.warnings),
    }
