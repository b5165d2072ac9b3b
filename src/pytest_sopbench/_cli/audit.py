"""`sopbench audit`: is a domain sound, and what is not? And what `show --coverage` prints.

Both call the room of the audit, which takes long to import: so `show` imports this file only if
coverage is asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from pytest_sopbench._audit.audit import GROUPS, disagreements_written
from pytest_sopbench._audit.audit import audit as audited
from pytest_sopbench._audit.coverage import ClauseRuns, coverage_of, session_clauses
from pytest_sopbench._audit.coverage_report import (
    coverage_json,
    coverage_lines,
    coverage_page,
    runs_json,
    session_lines,
    session_page,
)
from pytest_sopbench._audit.model import Audit, Severity
from pytest_sopbench._audit.observing.sandbox import Limits
from pytest_sopbench._audit.report import audit_json, audit_lines, sarif_log, save_audit
from pytest_sopbench._cli.app import (
    FAILS,
    HOLDS,
    echo_json,
    full_session,
    known_mask,
    path_of,
    project,
    read_rate,
    refuse,
    say_lines,
    tell,
)
from pytest_sopbench._cli.found_domains import domain_folders, readable_domains
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._sessions.event_logs import write_pages
from pytest_sopbench.errors import SopbenchError


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
@click.option(
    "--write-disagreements",
    is_flag=True,
    help="Write where the policy disagrees with a row into the domain's files.",
)
@click.option("--no-code", is_flag=True, help="Do not run tools.py and policy.py.")
@click.option("--mutants", is_flag=True, help="Break agents on purpose: does the suite notice?")
@click.option("--write-sample", is_flag=True, help="Write what --sop-sample=strong takes.")
@click.option(
    "--fail-under",
    callback=read_rate,
    metavar="RATE",
    help="With --mutants: status 1 if a smaller share of them fails the suite (0.9 or 90%).",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=300.0,
    metavar="S",
    help="Seconds for the code of a domain (300).",
)
def audit(domains: tuple[str, ...], verbose: int, sarif: Path | None, **options: Any) -> None:
    """Say what is not sound in a domain.

    DOMAIN is what --sop-domain takes, or any folder; it may be one that loading refuses. The
    status is 1 if there is an error, or with --strict a warning, and 2 for wrong usage.
    """
    folders = dict(domain_folders(domains))
    if options["write_disagreements"]:
        _write_disagreements(folders, limit=options["time_limit"], no_code=options["no_code"])
    _refuse_without_mutants(folders, options)
    audits = [
        _audited(folder, options, run_code=trusted and not options["no_code"])
        for folder, trusted in folders.items()
    ]
    for one in audits:
        # A session shows in its header what was found of a whole domain.
        if one.is_whole:
            save_audit(one, project().folder)
    if sarif is not None:
        _write_sarif(sarif, audits)
    if options["as_json"]:
        echo_json([audit_json(one) for one in audits])
    else:
        for one in audits:
            say_lines(audit_lines(one, verbosity=verbose))
    status = _status(audits, strict=options["strict"])
    sys.exit(status if _reached(audits, options["fail_under"]) else FAILS)


def _reached(audits: Sequence[Audit], bound: float | None) -> bool:
    """Whether enough mutants of each domain fail its suite; say of which they do not."""
    if not bound:
        return True
    reached = True
    for one in audits:
        percent = one.score.percent if one.score else 0.0
        is_whole = one.score is None or one.score.is_whole
        if one.score is None or not is_whole or percent / 100 < bound:
            share = f"{percent:.1f} % of the mutants fail the suite" if one.score else "no mutant"
            share = share if is_whole else "not every wrong agent was run"
            tell(f"{one.name}: {share}, and --fail-under asks for {bound:g}")
            reached = False
    return reached


def _refuse_without_mutants(folders: Mapping[Path, bool], options: Mapping[str, Any]) -> None:
    for name in ("write_sample", "fail_under"):
        if options[name] not in (None, False) and not options["mutants"]:
            refuse(f"--{name.replace('_', '-')} needs --mutants", "add --mutants")
    for folder, trusted in folders.items():
        if options["mutants"] and (options["no_code"] or not trusted):
            refuse(f"{folder}: its code must not be run", "name the domain by its folder")


def _audited(folder: Path, options: Mapping[str, Any], *, run_code: bool) -> Audit:
    mask = known_mask()
    with masking(mask):
        found = audited(
            folder,
            run_code=run_code,
            mutants=options["mutants"],
            write_sample=options["write_sample"],
            limits=Limits(total=options["time_limit"]),
        )
    return found.masked_by(mask)


def _write_disagreements(folders: Mapping[Path, bool], *, limit: float, no_code: bool) -> None:
    for folder, trusted in folders.items():
        if no_code or not trusted:
            refuse(f"{folder}: its policy must not be run", "name the domain by its folder")
        rows = disagreements_written(folder, limits=Limits(total=limit))
        tell(f"{folder}: {rows} {'row was' if rows == 1 else 'rows were'} given a reason")


def _write_sarif(path: Path, audits: Sequence[Audit]) -> None:
    rules = [rule for group in GROUPS.values() for rule in group]
    log = sarif_log(audits, rules, root=Path.cwd(), plugin=version("pytest-sopbench"))
    try:
        write_pages({path: json.dumps(log, indent=1) + "\n"})
    except SopbenchError as fault:
        refuse(str(fault), "name another file")


def _status(audits: Sequence[Audit], *, strict: bool) -> int:
    costly = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    found = any(one.severity in costly for audit in audits for one in audit.findings)
    return FAILS if found else HOLDS


# Coverage: which clauses of an SOP the tasks of a domain, or a session, hold.

_TO: Final = "html="


def show_coverage(
    name: str,
    places: Sequence[str],
    *,
    every: bool,
    as_json: bool,
    to: str | None,
    fail_under: float | None,
) -> None:
    """Say what a domain or a session exercises, by a name that a saved session has first.

    Raises:
        SopbenchError: there is neither, or the page cannot be written.
    """
    if to is not None and not (to.startswith(_TO) and to != _TO):
        refuse(f"--to={to}: --coverage writes HTML alone", "write --to html=FILE")
    page = Path(to.removeprefix(_TO)) if to is not None else None
    if path_of(name).is_file():
        if fail_under is not None:
            refuse("--fail-under: a session has gates of its own", "see sopbench gate")
        _show_session(name, places, every=every, as_json=as_json, page=page)
        return
    _show_domain(name, every=every, as_json=as_json, page=page, fail_under=fail_under)


def _show_domain(
    name: str, *, every: bool, as_json: bool, page: Path | None, fail_under: float | None
) -> None:
    (folder, trusted), *others = domain_folders([name])
    if others:
        refuse(f"{name}: {len(others) + 1} domains", "name one of them")
    if not trusted:
        refuse(f"{folder}: its code must not be run", "name the domain by its folder")
    mask = known_mask()
    found = coverage_of(folder)
    if page is not None:
        write_pages({page: coverage_page(found, mask)})
    if as_json:
        echo_json(coverage_json(found))
    else:
        say_lines(map(mask, coverage_lines(found, every=every)))
    if found.problems:
        tell(f"{found.name}: not every task was followed, so these numbers are too low")
        sys.exit(FAILS)
    if fail_under is not None and found.percent / 100 < fail_under:
        share = f"{found.percent:.1f} %" if found.clauses else "none"
        tell(f"{found.name}: {share} of the clauses, --fail-under is {fail_under:g}")
        sys.exit(FAILS)


def _show_session(
    name: str, places: Sequence[str], *, every: bool, as_json: bool, page: Path | None
) -> None:
    saved = full_session(name)
    mask = known_mask()
    names = list(dict.fromkeys(one.domain for one in saved.records))
    domains = readable_domains(names, places, saved.header.domains)
    found: dict[str, tuple[Mapping[str, ClauseRuns], str]] = {}
    for domain in names:
        runs = [one for one in saved.records if one.domain == domain]
        sop = domains[domain].sop if domain in domains else ""
        found[domain] = (session_clauses(runs), sop)
        if not sop:
            tell(f"{domain}: its procedure is not found here; --domain PATH names it")
    if page is not None:
        write_pages({page: session_page(saved.name, found, mask)})
    if as_json:
        echo_json({domain: runs_json(clauses) for domain, (clauses, _) in found.items()})
        return
    for domain, (clauses, sop) in found.items():
        say_lines(map(mask, session_lines(domain, clauses, sop, every=every)))
