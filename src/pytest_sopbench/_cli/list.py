"""`sopbench list`, and the domains that other commands need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_sopbench.errors import LoadingError

from .app import WRONG_USAGE, echo_json, project, say

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain
    from pytest_sopbench._loading.finding.resolve import SearchPaths


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
    from pytest_sopbench._loading.finding.catalogue import load_catalogue
    from pytest_sopbench._reports.notices.domains import listing_lines

    domains, broken = load_catalogue(names, search_paths())
    if as_json:
        problems = [{"name": name, "problem": problem} for name, problem in broken.items()]
        echo_json([*map(_as_json, domains), *problems])
    else:
        for line in listing_lines(domains, broken=broken, verbosity=verbose - quiet):
            say(line)
    if names and broken:
        sys.exit(WRONG_USAGE)


def search_paths() -> SearchPaths:
    """Return where domains are looked for."""
    from pytest_sopbench._loading.finding.resolve import SearchPaths

    known = project()
    paths = tuple(known.folder / path for path in known.folders("sop_paths"))
    return SearchPaths(rootdir=known.folder, invocation_dir=Path.cwd(), sop_paths=paths)


def domains_of(names: Iterable[str], places: Sequence[str]) -> Mapping[str, Domain]:
    """Load the domains that have these names, as far as they are found; a place wins."""
    return {name: load() for name, load in _found(names, places)}


def readable_domains(names: Iterable[str], places: Sequence[str] = ()) -> Mapping[str, Domain]:
    """Load the domains that have these names, as far as they are found and can be used."""
    domains: dict[str, Domain] = {}
    for name, load in _found(names, places):
        with suppress(LoadingError):
            domains[name] = load()
    return domains


def _found(
    names: Iterable[str], places: Sequence[str]
) -> Iterator[tuple[str, Callable[[], Domain]]]:
    from pytest_sopbench._loading.finding.resolve import find_domains
    from pytest_sopbench._loading.load import load_domain

    where = search_paths()
    given = {one.name: one for one in find_domains(places, where)}
    for name in sorted(names):
        try:
            found = given.get(name) or find_domains((name,), where)[0]
        except LoadingError:
            continue
        yield name, partial(load_domain, found.folder, name=found.name)


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
        "warnings": list(domain.warnings),
    }
