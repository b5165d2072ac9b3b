"""`sopbench show --coverage`: which clauses of an SOP the tasks of a domain, or a session, hold."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.coverage import ClauseRuns, coverage_of, session_clauses
from pytest_sopbench._audit.coverage_report import (
    coverage_json,
    coverage_lines,
    coverage_page,
    runs_json,
    session_lines,
    session_page,
)
from pytest_sopbench._cli.app import (
    FAILS,
    echo_json,
    full_session,
    known_mask,
    path_of,
    refuse,
    say,
    tell,
)
from pytest_sopbench._cli.found_domains import domain_folders, readable_domains
from pytest_sopbench._sessions.file.event_logs import write_pages

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
        for line in coverage_lines(found, every=every):
            say(mask(line))
    if found.problems:
        tell(f"{found.name}: not every task was followed, so these numbers are too low")
        sys.exit(FAILS)
    if fail_under is not None and found.percent < fail_under:
        tell(f"{found.name}: {found.percent:.1f} % of the clauses, --fail-under is {fail_under:g}")
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
        for line in session_lines(domain, clauses, sop, every=every):
            say(mask(line))
