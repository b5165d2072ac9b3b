"""`sopbench steps`: the steps of a domain's SOP, and a model's proposal where it shows none."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_sopbench._cli.app import FAILS, echo_json, refuse, say
from pytest_sopbench._cli.found_domains import search_paths

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain
    from pytest_sopbench._core.steps.split import Procedure

PROPOSAL: Final = "steps.proposed.json"
"""What a model has proposed; nothing reads it until somebody renames it."""


@click.command()
@click.argument("domain")
@click.option("--json", "as_json", is_flag=True, help="For programs: an object with every text.")
@click.option("--propose", "model", metavar="PROVIDER/MODEL", help="Ask a model once for steps.")
@click.option("--out", metavar="PATH", help=f"With --propose: a file in place of {PROPOSAL}.")
def steps(domain: str, *, as_json: bool, model: str | None, out: str | None) -> None:
    """Show the steps of an SOP.

    They come from the domain's steps.json, or from the headings and numbers of the SOP. DOMAIN is a
    name or a folder. With --propose a model is asked, such as openai/gpt-5-mini, and what it
    proposes is written into the domain's folder for review; nothing uses it before it is renamed
    to steps.json. The status is 1 where the SOP shows no steps.
    """
    found = _domain(domain)
    if model is not None:
        _propose(found, model, out)
        return
    if out is not None:
        refuse("--out: it goes with --propose")
    procedure = found.procedure
    if as_json:
        echo_json(_as_json(found.name, procedure))
    else:
        _print(found.name, procedure)
        if not procedure.steps:
            say("write them into its steps.json, or have a model propose them:")
            say(f"  sopbench steps {domain} --propose PROVIDER/MODEL")
    if not procedure.steps:
        sys.exit(FAILS)


def _domain(value: str) -> Domain:
    from pytest_sopbench._loading.finding.resolve import find_domains
    from pytest_sopbench._loading.load import load_domain

    found, *others = find_domains((value,), search_paths())
    if others:
        refuse(f"{value}: {len(others) + 1} domains", "name one of them")
    return load_domain(found.folder, name=found.name)


def _print(name: str, procedure: Procedure) -> None:
    from pytest_sopbench._reports.lists import step_lines

    for line in step_lines(name, procedure):
        say(line)


def _as_json(name: str, procedure: Procedure) -> Mapping[str, Any]:
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


def _propose(domain: Domain, model: str, out: str | None) -> None:
    from pytest_sopbench._loading.domain.steps_file import FILE_NAME, read_steps
    from pytest_sopbench._sessions.file.event_logs import write_pages
    from pytest_sopbench.errors import SopbenchError

    path = Path(out) if out is not None else domain.folder / PROPOSAL
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
    _print(domain.name, procedure)
    say(f"Proposed by {model}. Nothing uses it yet: read and change it, then rename it:")
    say(f"  {path} -> {domain.folder / FILE_NAME}")


def _asked(domain: Domain, model: str) -> list[dict[str, str]]:
    from pytest_sopbench.agents.stepwise.proposing import propose_steps
    from pytest_sopbench.errors import SopbenchError

    try:
        return propose_steps(domain.sop, model)
    except SopbenchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is told in a line
        refuse(f"{model} could not be asked: {type(error).__name__}: {error}")
