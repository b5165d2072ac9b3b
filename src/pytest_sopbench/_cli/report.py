"""`sopbench report`: a saved session as a page."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_sopbench.errors import SopbenchError

from .app import full_session, path_of, saved_session, tell
from .gate_options import fail_under_option, gate_option, given_gates
from .list import domain_option

if TYPE_CHECKING:
    from pytest_sopbench._core.gates.page_sources import PageSources
    from pytest_sopbench._sessions.reading.reader import SavedSession
    from pytest_sopbench._settings.values import ReportTarget

STDOUT = "-"


def _own_baseline(saved: SavedSession) -> str:
    """Return what the session itself was compared with, or nothing where it is not at hand."""
    name = saved.header.asked.compare
    if name and not path_of(name).exists():
        tell(f"{path_of(name)}: the baseline of the session is not here; nothing is compared")
        return ""
    return name


@click.command()
@click.argument("session")
@click.option(
    "--md",
    "target",
    is_flag=False,
    flag_value=STDOUT,
    default=None,
    metavar="[PATH|-]",
    help="One page of Markdown, into a file or (-, default) to the terminal.",
)
@click.option("--html", metavar="PATH", help="One HTML file with every run, made to be opened.")
@click.option(
    "--to",
    "others",
    multiple=True,
    metavar="FORMAT=PATH",
    help="The page in this format, into a file or (-) to the terminal. Repeatable.",
)
@click.option(
    "--compare", "--baseline", "baseline", metavar="NAME|PATH", help="Tell what changed since."
)
@domain_option
@gate_option
@fail_under_option
def report(  # noqa: PLR0913 - click gives each option
    session: str,
    *,
    target: str | None,
    html: str | None,
    others: tuple[str, ...],
    baseline: str | None,
    places: tuple[str, ...],
    gates: tuple[str, ...],
    fail_under: str | None,
) -> None:
    """Write a page on a saved session, verdict first.

    It tells the gates (those given, else those that the session was asked), the rates, the
    outcomes, the first 20 runs that are not correct, broken rules, the slowest runs, the cost.
    Write --md behind SESSION, or as --md=PATH. The status says nothing of the gates: see gate.
    """
    from pytest_sopbench._core.gates.decide import Decision
    from pytest_sopbench._reports.pages.formats import FORMATS
    from pytest_sopbench._sessions.commands.compare import compare_saved
    from pytest_sopbench._sessions.commands.gate import ask_gates, recorded_gates
    from pytest_sopbench._sessions.commands.page import session_page
    from pytest_sopbench._sessions.reading.planned import shard_of
    from pytest_sopbench._settings.values import MARKDOWN

    if html is not None:
        others = (*others, f"html={html}")
    targets = _targets(target, others)
    _require({one.format for one in targets})
    saved = full_session(session)
    asked = given_gates(gates, fail_under) or recorded_gates(saved)
    shard = shard_of(saved)
    name = baseline or _own_baseline(saved)
    compared = saved_session(name) if name else None
    comparison = compare_saved(compared, saved) if compared else None
    if shard is not None:
        gated = Decision(not_evaluated=f"shard {shard} is a part of the tasks")
    else:
        gated = ask_gates(saved, asked, comparison=comparison) if asked else Decision()
    # Markdown shows nothing of them, and a project may have patterns that cannot be read.
    is_plain = all(one.format == MARKDOWN for one in targets)
    sources = None if is_plain else _sources(saved, compared, places)
    page = session_page(saved, gated, comparison=comparison, sources=sources)
    for one in targets:
        _write(one.path, FORMATS[one.format].render(page))


def _sources(
    saved: SavedSession, baseline: SavedSession | None, places: tuple[str, ...]
) -> PageSources:
    """Return where a page finds what stands in no run: domains as they are today, event logs."""
    from pytest_sopbench._sessions.commands.page_sources import SavedSources

    from .list import readable_domains
    from .whole_runs import project_redaction, short_path

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


def _targets(markdown: str | None, others: tuple[str, ...]) -> tuple[ReportTarget, ...]:
    """Return every page that is asked for: without any, that of Markdown to the terminal."""
    from pytest_sopbench._reports.pages.formats import FORMATS
    from pytest_sopbench._settings.readers import read_reports
    from pytest_sopbench._settings.values import MARKDOWN, ReportTarget

    try:
        read = read_reports(others, FORMATS)
    except ValueError as fault:
        msg = f"--to={fault}"
        raise SopbenchError(msg) from fault
    if any(one.is_step_summary for one in read):
        msg = "--to=md=github: pytest alone writes the summary of a step; give a path, or -"
        raise SopbenchError(msg)
    if markdown is None and read:
        return read
    return (ReportTarget(format=MARKDOWN, path=markdown or STDOUT), *read)


def _write(target: str, page: str) -> None:
    if target == STDOUT:
        click.echo(page, nl=False)
        return
    try:
        Path(target).write_text(page, "utf-8", newline="\n")
    except OSError as fault:
        msg = f"{target}: cannot be written: {fault.strerror or fault}"
        raise SopbenchError(msg) from fault
