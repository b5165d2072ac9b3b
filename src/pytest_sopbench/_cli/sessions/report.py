"""`sopbench report`: a saved session as a page, in one format or in several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_sopbench._cli.app import full_session, path_of, project, saved_session, tell
from pytest_sopbench._cli.found_domains import domain_option, readable_domains
from pytest_sopbench.errors import SopbenchError

from .gate_options import fail_under_option, gate_option, given_gates

if TYPE_CHECKING:
    from pytest_sopbench._core.comparing.comparison import SessionComparison
    from pytest_sopbench._core.gates.conditions import GateSpec
    from pytest_sopbench._core.gates.decide import Decision, PageSources, SessionPage
    from pytest_sopbench._sessions.reading.reader import SavedSession
    from pytest_sopbench._settings.readers import ReportTarget

STDOUT: Final = "-"
_MARKDOWN: Final = "md"
_FORMATS: Final = {
    _MARKDOWN: "One page of Markdown",
    "csv": "One line a run, for a spreadsheet",
    "json": "Summary, gates and comparison, for a program",
    "html": "One HTML file with every run, made to be opened",
}
"""Every format, named here since `sopbench -h` shall load no room."""

_ALIASES: Final = {_MARKDOWN: ("--markdown",)}


def _own_baseline(saved: SavedSession) -> str:
    """Return what the session itself was compared with, or nothing where it is not at hand."""
    name = saved.header.options.compare
    if name and not path_of(name).exists():
        tell(f"{path_of(name)}: the baseline of the session is not here; nothing is compared")
        return ""
    return name


def _format_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each format."""
    for name, told in reversed(_FORMATS.items()):
        command = click.option(
            f"--{name}",
            *_ALIASES.get(name, ()),
            f"format_{name}",
            is_flag=False,
            flag_value=STDOUT,
            default=None,
            metavar="[PATH|-]",
            help=f"{told}: into a file, or (-, default) to the terminal.",
        )(command)
    return command


@click.command()
@click.argument("session")
@_format_options
@click.option(
    "--annotations",
    type=click.Choice(["github"]),
    help="Misses as commands to the runner of GitHub Actions, on the terminal.",
)
@click.option(
    "--to",
    "others",
    multiple=True,
    metavar="FORMAT=PATH",
    help="The page in this format, into a file or (-) to the terminal. Repeatable.",
)
@click.option(
    "--compare", "--baseline", "baseline", metavar="NAME|PATH", help="What changed since."
)
@domain_option
@gate_option
@fail_under_option
def report(  # noqa: PLR0913 - click gives each option
    session: str,
    *,
    annotations: str | None,
    others: tuple[str, ...],
    baseline: str | None,
    places: tuple[str, ...],
    gates: tuple[str, ...],
    fail_under: str | None,
    **pages: str | None,
) -> None:
    """Write reports on a saved session, verdict first: as Markdown, CSV, JSON and more.

    They tell the gates (those given, else those that the session was asked), the rates, the
    outcomes, the runs that are not correct, broken rules, the slowest runs, the cost. Several
    formats at once are written all or none. Write a format without PATH behind SESSION, or as
    --md=PATH. The status says nothing of the gates: see gate.
    """
    targets = _targets(pages, others, annotations)
    _require({one.format for one in targets})
    saved = full_session(session)
    asked = given_gates(gates, fail_under)
    name = baseline or _own_baseline(saved)
    before = saved_session(name) if name else None
    _check_sources(targets, [one for one in (saved, before) if one is not None])
    page = _page(saved, before, asked, places if _shows_domains(targets) else None)
    _write(targets, page)
    if any(one.is_annotations for one in targets):
        _annotate(page, saved)


def _page(
    saved: SavedSession,
    before: SavedSession | None,
    asked: Sequence[GateSpec],
    places: tuple[str, ...] | None,
) -> SessionPage:
    from pytest_sopbench._sessions.commands.compare import compare_saved
    from pytest_sopbench._sessions.commands.page import session_page

    comparison = compare_saved(before, saved) if before is not None else None
    gated = _gated(saved, asked, comparison)
    # Other formats show nothing of them, and a project may have patterns that cannot be read.
    sources = _sources(saved, before, places) if places is not None else None
    return session_page(
        saved,
        gated,
        comparison=comparison,
        remarks=gated.unasked,
        sources=sources,
        gates=asked or None,
    )


def _shows_domains(targets: Sequence[ReportTarget]) -> bool:
    """Whether a page is asked for that shows what stands in the domains."""
    from pytest_sopbench._reports.html.needs import NAME

    return any(one.format == NAME for one in targets)


def _sources(
    saved: SavedSession, baseline: SavedSession | None, places: tuple[str, ...]
) -> PageSources:
    """Return where a page finds what stands in no run: domains as they are today, event logs."""
    from pytest_sopbench._cli.app import project_redaction
    from pytest_sopbench._sessions.commands.page import SavedSources

    from .whole_runs import short_path

    return SavedSources(
        saved,
        baseline=baseline,
        domains=lambda: readable_domains(
            {one.domain for one in saved.records}, places, saved.header.domains
        ),
        redaction=project_redaction(),
        shown=short_path,
    )


def _require(formats: Collection[str]) -> None:
    """Refuse a format whose library is not installed.

    Raises:
        SopbenchError: there is one.
    """
    from pytest_sopbench._reports.html.needs import missing_for

    for why in filter(None, map(missing_for, formats)):
        raise SopbenchError(why)


def _gated(
    saved: SavedSession, given: Sequence[GateSpec], comparison: SessionComparison | None
) -> Decision:
    from pytest_sopbench._core.gates.decide import Decision
    from pytest_sopbench._sessions.commands.gate import ask_gates, decide_entries
    from pytest_sopbench._sessions.reading.planned import recorded_gates, shard_of

    shard = shard_of(saved)
    if shard is not None:
        return Decision(not_evaluated=f"shard {shard} is a part of the tasks")
    asked = given or recorded_gates(saved)
    return ask_gates(saved, asked, comparison=comparison) if asked else decide_entries(saved)


def _targets(
    pages: dict[str, str | None], others: tuple[str, ...], annotations: str | None
) -> tuple[ReportTarget, ...]:
    """Return every page that is asked for: without any, that of Markdown to the terminal."""
    from pytest_sopbench._settings.readers import ANNOTATIONS

    typed = [
        *(f"{name.removeprefix('format_')}={path}" for name, path in pages.items() if path),
        *others,
        *((f"{ANNOTATIONS}={annotations}",) if annotations else ()),
    ]
    # Each by itself first, so that the message names the option.
    for one in others:
        _read((one,), "--to=")
    read = _read(typed or [f"{_MARKDOWN}={STDOUT}"], "")
    if any(one.is_step_summary for one in read):
        msg = "--to=md=github: pytest alone writes the summary of a step; give a path, or -"
        raise SopbenchError(msg)
    if any(one.is_annotations for one in read) and any(one.path == STDOUT for one in read):
        msg = "annotations stand on the terminal, and so would a page; give that a path"
        raise SopbenchError(msg)
    return read


def _read(texts: Sequence[str], option: str) -> tuple[ReportTarget, ...]:
    from pytest_sopbench._reports.pages.formats import FORMATS
    from pytest_sopbench._settings.readers import read_reports

    try:
        return read_reports(texts, FORMATS)
    except ValueError as fault:
        msg = f"{option}{fault}"
        raise SopbenchError(msg) from fault


def _check_sources(targets: Sequence[ReportTarget], sources: Sequence[SavedSession]) -> None:
    """Refuse a page in the place of the sessions that it tells of."""
    for target in targets:
        path = Path(target.path).resolve()
        if any(path == one.path.resolve() for one in sources):
            msg = f"{target}: this is the saved session itself, and is not replaced"
            raise SopbenchError(msg, hint="give the page a path of its own")


def _write(targets: Sequence[ReportTarget], page: SessionPage) -> None:
    from pytest_sopbench._core.hiding import current_mask
    from pytest_sopbench._reports.pages.formats import rendered
    from pytest_sopbench._sessions.file.event_logs import write_pages

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
    from pytest_sopbench._reports.pages.annotations import annotation_line, annotations_of
    from pytest_sopbench._sessions.commands.page import row_places

    found = annotations_of(page)
    tasks = {one.task for one in found}
    ran: dict[str, Any] = {one.domain: saved.header.domains[one.domain] for one in tasks}
    places = row_places(readable_domains(ran, ran=ran).values(), tasks, project().folder)
    for one in found:
        click.echo(annotation_line(one, places.get(one.task)))
