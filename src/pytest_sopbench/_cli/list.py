"""`sopbench list`: the domains that are found here, and the steps of one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from pytest_sopbench._audit.report import saved_summary
from pytest_sopbench._cli.app import (
    WRONG_USAGE,
    echo_json,
    known_mask,
    project,
    refuse,
    refuse_beside,
    say,
)
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench._cli.steps import PROPOSAL, propose_to_file, show_steps
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._loading.finding import load_catalogue
from pytest_sopbench._reports.lists import listing_lines


@click.command("list")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-v", "--verbose", count=True, help="Show inputs, tools, values and warnings.")
@click.option("-q", "--quiet", count=True, help="One line for each domain.")
@click.option("--steps", is_flag=True, help="Show the steps of the SOP of one domain.")
@click.option(
    "--propose", "model", metavar="PROVIDER/MODEL", help="With --steps: ask a model once for them."
)
@click.option("--out", metavar="PATH", help=f"With --propose: a file in place of {PROPOSAL}.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of objects.")
def list_domains(  # noqa: PLR0913 - click gives each option
    names: tuple[str, ...],
    *,
    verbose: int,
    quiet: int,
    steps: bool,
    model: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """List domains.

    Without NAME: those that are found here. NAME is what --sop-domain takes: a name, a folder
    (./lab), a glob, all or bundled.

    With --steps the steps of the SOP of one domain are shown. They come from its steps.json, or
    from the headings and numbers of the SOP. The status is 1 if it shows none. With --propose a
    model is asked, such as openai/gpt-5-mini, and what it proposes is written into the domain's
    folder for review; nothing uses it before it is renamed to steps.json.
    """
    if out is not None and model is None:
        refuse("--out: it goes with --propose")
    if model is not None and not steps:
        refuse("--propose: it goes with --steps")
    if steps:
        refuse_beside("--steps", {"-v": verbose, "-q": quiet})
        _steps(names, model, out, as_json=as_json)
        return
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


def _steps(names: tuple[str, ...], model: str | None, out: str | None, *, as_json: bool) -> None:
    if len(names) != 1:
        refuse(f"--steps is about one domain, and {len(names)} are named")
    if model is None:
        show_steps(names[0], as_json=as_json)
        return
    refuse_beside("--propose", {"--json": as_json})
    propose_to_file(names[0], model, out)


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
