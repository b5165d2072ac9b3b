"""`sopbench audit`: is a domain sound, and what is not?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import FAILS, HOLDS, echo_json, refuse, say
from .list import search_paths

if TYPE_CHECKING:
    from pytest_sopbench._audit.model.audit import Audit


@click.command()
@click.argument("domains", nargs=-1, required=True, metavar="DOMAIN...")
@click.option("-v", "--verbose", count=True, help="Show notes, every finding, what is accepted.")
@click.option("--strict", is_flag=True, help="A warning ends with status 1 as well.")
@click.option("--json", "as_json", is_flag=True, help="For programs: a list of objects.")
@click.option(
    "--sarif",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the findings as SARIF 2.1.0 as well.",
)
def audit(
    domains: tuple[str, ...], verbose: int, strict: bool, as_json: bool, sarif: Path | None
) -> None:
    """Say what is not sound in a domain.

    DOMAIN is what --sop-domain takes, or any folder; it may be one that loading refuses. The
    status is 1 where there is an error, or with --strict a warning, and 2 for wrong usage.
    """
    audits = [_audited(folder) for folder in dict.fromkeys(_folders(domains))]
    if sarif is not None:
        _write_sarif(sarif, audits)
    if as_json:
        from pytest_sopbench._audit.report.json import audit_json

        echo_json([audit_json(one) for one in audits])
    else:
        from pytest_sopbench._audit.report.text import audit_lines

        for one in audits:
            for line in audit_lines(one, verbosity=verbose):
                say(line)
    sys.exit(_status(audits, strict=strict))


def _folders(values: Sequence[str]) -> Iterator[Path]:
    from pytest_sopbench._loading.finding.resolve import find_domains

    for value in values:
        if Path(value).is_dir() and any(mark in value for mark in ("/", "\\", ".")):
            yield Path(value)
        else:
            yield from (one.folder for one in find_domains([value], search_paths()))


def _audited(folder: Path) -> Audit:
    from pytest_sopbench._audit.audit import audit as audited

    return audited(folder)


def _write_sarif(path: Path, audits: Sequence[Audit]) -> None:
    from importlib.metadata import version

    from pytest_sopbench._audit.report.sarif import sarif_log
    from pytest_sopbench._audit.rules.catalogue import GROUPS

    rules = [rule for group in GROUPS.values() for rule in group]
    log = sarif_log(audits, rules, root=Path.cwd(), plugin=version("pytest-sopbench"))
    try:
        path.write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")
    except OSError as fault:
        refuse(f"{path}: cannot be written: {fault.strerror or fault}", "name another file")


def _status(audits: Sequence[Audit], *, strict: bool) -> int:
    from pytest_sopbench._audit.model.finding import Severity

    costly = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    found = any(one.severity in costly for audit in audits for one in audit.findings)
    return FAILS if found else HOLDS
