"""`sopbench list`: the domains that are found here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pytest_sopbench._cli.app import WRONG_USAGE, echo_json, known_mask, project, say
from pytest_sopbench._cli.found_domains import search_paths

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain


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
    from pytest_sopbench._loading.finding.resolve import load_catalogue
    from pytest_sopbench._reports.lists import listing_lines

    domains, broken = load_catalogue(names, search_paths())
    mask = known_mask()
    broken = {name: mask(problem) for name, problem in broken.items()}
    if as_json:
        problems = [{"name": name, "problem": problem} for name, problem in broken.items()]
        echo_json([*(_as_json(one, mask) for one in domains), *problems])
    else:
        audits = {one.name: saved_summary(one, project().folder) for one in domains}
        verbosity = verbose - quiet
        for line in listing_lines(domains, broken=broken, audits=audits, verbosity=verbosity):
            say(mask(line))
    if names and broken:
        sys.exit(WRONG_USAGE)


def _as_json(domain: Domain, mask: Callable[[str], str]) -> Mapping[str, Any]:
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
        "warnings": [mask(one) for one in domain.warnings],
    }
