"""`sopbench report`: a saved session as a page, in one format or in several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from pytest_sopbench._cli.app import (
    full_session,
    path_of,
    project,
    project_redaction,
    saved_session,
    short_path,
    tell,
)
from pytest_sopbench._cli.found_domains import domain_option, readable_domains
from pytest_sopbench._cli.gate import fail_under_option, gate_option, given_gates
from pytest_sopbench._core.gates.conditions import GateSpec
from pytest_sopbench._core.gates.decide import Decision, PageSources, SessionPage
from pytest_sopbench._core.hiding import current_mask
from pytest_sopbench._reports.annotations import annotation_line, annotations_of
from pytest_sopbench._reports.formats import FORMATS, HTML, format_names, missing_for, rendered
from pytest_sopbench._sessions.commands.gate import compare_saved, decide_entries, decide_gates
from pytest_sopbench._sessions.commands.page import SavedSources, row_places, session_page
from pytest_sopbench._sessions.event_logs import write_pages
from pytest_sopbench._sessions.saved import SavedSession, recorded_gates
from pytest_sopbench._settings.readers import (
    ANNOTATIONS,
    GITHUB,
    MARKDOWN,
    ReportTarget,
    read_reports,
)
from pytest_sopbench.errors import SopbenchError

STDOUT: Final = "-"
_ALONE: Final = {ANNOTATIONS: GITHUB}
"""What a format without a file means, if it is not the terminal."""


def _own_baseline(saved: SavedSession) -> str:
    """Return what the session itself was compared with, or nothing if it is not at hand."""
    name = saved.header.options.compare
    if name and not path_of(name).exists():
        tell(f"{path_of(name)}: the baseline of the session is not here; nothing is compared")
        return ""
    return name


@click.command()
@click.argument("session")
@click.option(
    "--to",
    "formats",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help=f"The page in a format ({', '.join([*FORMATS, ANNOTATIONS])}), into a file or to the"
    " terminal; repeatable.",
)
@click.option(
    "--compare", "--baseline", "baseline", metavar="NAME|PATH", help="What changed since."
)
@domain_option
@gate_option
@fail_under_option
def report(
    session: str,
    *,
    formats: tuple[str, ...],
    baseline: str | None,
    places: tuple[str, ...],
    gates: tuple[str, ...],
    fail_under: str | None,
) -> None:
    """Write reports on a saved session, verdict first: as Markdown, CSV, JSON and more.

    They show the gates (those given, else those of the session), the rates, the
    outcomes, the runs that are not correct, broken rules, the slowest runs, the cost. Several
    formats at once are written all or none. Without --to it is Markdown to the terminal.
    Annotations are commands to the runner of GitHub Actions. The status says nothing of the gates:
    see gate.
    """
    targets = _targets(formats)
    for why in filter(None, map(missing_for, {one.format for one in targets})):
        raise SopbenchError(why)
    saved = full_session(session)
    asked = given_gates(gates, fail_under)
    name = baseline or _own_baseline(saved)
    before = saved_session(name) if name else None
    _check_sources(targets, [one for one in (saved, before) if one is not None])
    # Other formats show nothing of domains, and a project may have patterns that cannot be read.
    shows_domains = any(one.format == HTML for one in targets)
    sources = _sources(saved, before, places) if shows_domains else None
    page = _page(saved, before, asked, sources)
    _write(targets, page)
    if any(one.is_annotations for one in targets):
        _annotate(page, saved)


def _page(
    saved: SavedSession,
    before: SavedSession | None,
    asked: Sequence[GateSpec],
    sources: PageSources | None,
) -> SessionPage:
    comparison = compare_saved(before, saved) if before is not None else None
    shard = saved.header.options.shard
    checked = asked or (recorded_gates(saved) if shard is None else ())
    if shard is not None:
        gated = Decision(not_evaluated=f"shard {shard} is a part of the tasks")
    elif checked:
        gated = decide_gates(saved, checked, comparison=comparison)
    else:
        gated = decide_entries(saved)
    return session_page(
        saved,
        gated,
        comparison=comparison,
        remarks=gated.unasked,
        sources=sources,
        gates=asked or None,
    )


def _sources(
    saved: SavedSession, baseline: SavedSession | None, places: tuple[str, ...]
) -> PageSources:
    """Return where a page finds what stands in no run: domains as they are today, event logs."""
    return SavedSources(
        saved,
        baseline=baseline,
        domains=lambda: readable_domains(
            {one.domain for one in saved.records}, places, saved.header.domains
        ),
        redaction=project_redaction(),
        shown=short_path,
    )


def _targets(texts: Sequence[str]) -> tuple[ReportTarget, ...]:
    """Return every page that is asked for: without any, that of Markdown to the terminal."""
    known = (*format_names(), ANNOTATIONS)
    typed = list[str]()
    for text in texts or [MARKDOWN]:
        name, sign, _ = text.partition("=")
        if name not in known:
            msg = f"--to={text}: {name!r} is no format"
            raise SopbenchError(msg, hint=f"write one of {', '.join(known)}, alone or with =FILE")
        typed.append(text if sign else f"{text}={_ALONE.get(text, STDOUT)}")
    try:
        read = read_reports(typed, format_names())
    except ValueError as fault:
        msg = f"--to={fault}"
        raise SopbenchError(msg) from fault
    if any(one.is_step_summary for one in read):
        msg = "--to=md=github: pytest alone writes the summary of a step; give a file, or none"
        raise SopbenchError(msg)
    if any(one.is_annotations for one in read) and any(one.path == STDOUT for one in read):
        msg = "annotations stand on the terminal, and so would a page; give that a file"
        raise SopbenchError(msg)
    return read


def _check_sources(targets: Sequence[ReportTarget], sources: Sequence[SavedSession]) -> None:
    """Refuse a page in the place of the sessions that it tells of."""
    for target in targets:
        path = Path(target.path).resolve()
        if any(path == one.path.resolve() for one in sources):
            msg = f"{target}: this is the saved session itself, and is not replaced"
            raise SopbenchError(msg, hint="give the page a path of its own")


def _write(targets: Sequence[ReportTarget], page: SessionPage) -> None:
    told = {
        one.path: rendered(one.format, page, current_mask())
        for one in targets
        if not one.is_annotations
    }
    shown = told.pop(STDOUT, None)
    write_pages({Path(path): text for path, text in told.items()})
    if shown is not None:
        click.echo(shown, nl=False)


def _annotate(page: SessionPage, saved: SavedSession) -> None:
    found = annotations_of(page)
    tasks = {one.task for one in found}
    ran: dict[str, Any] = {one.domain: saved.header.domains[one.domain] for one in tasks}
    places = row_places(readable_domains(ran, ran=ran).values(), tasks, project().folder)
    for one in found:
        click.echo(annotation_line(one, places.get(one.task)))
