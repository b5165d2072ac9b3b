"""`sopbench list`: the domains that are found here, and the steps of one.

Steps come from the domain. If its SOP shows none, a model may propose them, into a file for review.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from pytest_sopbench._audit.saved import saved_summary
from pytest_sopbench._cli.app import (
    FAILS,
    WRONG_USAGE,
    echo_json,
    known_mask,
    project,
    refuse,
    refuse_beside,
    say,
    say_lines,
)
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.steps import Procedure
from pytest_sopbench._loading.finding import find_domains, load_catalogue
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.steps_file import FILE_NAME, read_steps
from pytest_sopbench._reports.lists import listing_lines, step_lines
from pytest_sopbench._sessions.event_logs import write_pages
from pytest_sopbench.errors import SopbenchError

_PROPOSAL: Final = "steps.proposed.json"
"""What a model has proposed; nothing reads it until somebody renames it."""


@click.command("list")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-v", "--verbose", count=True, help="Show inputs, tools, values and warnings.")
@click.option("-q", "--quiet", count=True, help="One line for each domain.")
@click.option("--steps", is_flag=True, help="Show the steps of the SOP of one domain.")
@click.option(
    "--propose", "model", metavar="PROVIDER/MODEL", help="With --steps: ask a model once for them."
)
@click.option("--out", metavar="PATH", help=f"With --propose: a file in place of {_PROPOSAL}.")
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
        echo_json([*(_domain_as_json(one, mask) for one in domains), *problems])
    else:
        folder = project().folder
        audits = {one.name: saved_summary(one, folder) for one in domains}
        verbosity = verbose - quiet
        say_lines(
            map(mask, listing_lines(domains, broken=broken, audits=audits, verbosity=verbosity))
        )
    if names and broken:
        sys.exit(WRONG_USAGE)


def _steps(names: tuple[str, ...], model: str | None, out: str | None, *, as_json: bool) -> None:
    if len(names) != 1:
        refuse(f"--steps is about one domain, and {len(names)} are named")
    if model is None:
        _show_steps(names[0], as_json=as_json)
        return
    refuse_beside("--propose", {"--json": as_json})
    _propose(names[0], model, out)


def _domain_as_json(domain: Domain, mask: Callable[[str], str]) -> Mapping[str, Any]:
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


# The steps of an SOP, and a model's proposal if it shows none.


def _show_steps(domain: str, *, as_json: bool) -> None:
    """Print the steps of a domain that is named by its name or folder; end with 1 without any."""
    found = _domain(domain)
    procedure = found.procedure
    if as_json:
        echo_json(_steps_as_json(found.name, procedure))
    else:
        say_lines(step_lines(found.name, procedure))
        if not procedure.steps:
            say("write them into its steps.json, or have a model propose them:")
            say(f"  sopbench list {domain} --steps --propose PROVIDER/MODEL")
    if not procedure.steps:
        sys.exit(FAILS)


def _domain(value: str) -> Domain:
    found, *others = find_domains((value,), search_paths())
    if others:
        refuse(f"{value}: {len(others) + 1} domains", "name one of them")
    return load_domain(found.folder, name=found.name)


def _steps_as_json(name: str, procedure: Procedure) -> Mapping[str, Any]:
    return {
        "domain": name,
        "source": procedure.source,
        "why_not": procedure.why_not,
        "general": procedure.general,
        "steps": [
            {
                "number": step.number,
                "title": step.title,
                "text": step.text,
                "approval": [moment.value for moment in step.approvals],
                "jumps": list(step.jumps),
                "line": step.line or None,
            }
            for step in procedure.steps
        ],
        "warnings": list(procedure.warnings),
    }


def _propose(name: str, model: str, out: str | None) -> None:
    """Have a model propose the steps of a domain, print them, and write them for review."""
    domain = _domain(name)
    path = Path(out) if out is not None else domain.folder / _PROPOSAL
    # Looked for before a model is paid for.
    if path.exists():
        refuse(f"{path} exists, and is not replaced", "remove it, or write elsewhere with --out")
    if not os.access(path.parent, os.W_OK):
        refuse(f"{path.parent}: nothing can be written there", "write elsewhere with --out=PATH")
    proposed: dict[str, Any] = {"steps": _asked(domain, model)}
    procedure = read_steps(proposed, path, domain.sop)
    try:
        write_pages({path: json.dumps(proposed, indent=1, ensure_ascii=False) + "\n"})
    except SopbenchError as fault:
        refuse(str(fault), "write elsewhere with --out=PATH")
    say_lines(step_lines(domain.name, procedure))
    say(f"Proposed by {model}. Nothing uses it yet: read and change it, then rename it:")
    say(f"  {path} -> {domain.folder / FILE_NAME}")


def _asked(domain: Domain, model: str) -> list[dict[str, str]]:
    # A plain list need not wait for the clients of models.
    from pytest_sopbench.agents.stepwise.proposing import propose_steps  # noqa: PLC0415

    try:
        return propose_steps(domain.sop, model)
    except SopbenchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is printed on a line
        refuse(f"{model} could not be asked: {type(error).__name__}: {error}")
