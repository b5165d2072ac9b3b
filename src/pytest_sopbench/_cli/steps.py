"""`sopbench list --steps`: the steps of an SOP, and a model's proposal if it shows none."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._cli.app import FAILS, echo_json, refuse, say
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.steps.split import Procedure
from pytest_sopbench._loading.domain.steps_file import FILE_NAME, read_steps
from pytest_sopbench._loading.finding import find_domains
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._reports.lists import step_lines
from pytest_sopbench._sessions.file.event_logs import write_pages
from pytest_sopbench.errors import SopbenchError

PROPOSAL: Final = "steps.proposed.json"
"""What a model has proposed; nothing reads it until somebody renames it."""


def show_steps(domain: str, *, as_json: bool) -> None:
    """Print the steps of a domain that is named by its name or folder; end with 1 without any."""
    found = _domain(domain)
    procedure = found.procedure
    if as_json:
        echo_json(_as_json(found.name, procedure))
    else:
        _print(found.name, procedure)
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


def _print(name: str, procedure: Procedure) -> None:
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


def propose_to_file(name: str, model: str, out: str | None) -> None:
    """Have a model propose the steps of a domain, print them, and write them for review."""
    domain = _domain(name)
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
    # A plain list need not wait for the clients of models.
    from pytest_sopbench.agents.stepwise.proposing import propose_steps  # noqa: PLC0415

    try:
        return propose_steps(domain.sop, model)
    except SopbenchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is told in a line
        refuse(f"{model} could not be asked: {type(error).__name__}: {error}")
