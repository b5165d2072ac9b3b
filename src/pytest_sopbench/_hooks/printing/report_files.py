"""`--sop-report`: a page on the session, written when it is over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.page_sources import PageSources
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.session.writable import check_writable
from pytest_sopbench._reports.html.needs import NAME as HTML
from pytest_sopbench._reports.html.needs import missing_for
from pytest_sopbench._reports.pages.formats import FORMATS
from pytest_sopbench._sessions.commands.page import session_page
from pytest_sopbench._sessions.commands.page_sources import SavedSources
from pytest_sopbench._sessions.reading.reader import SavedSession
from pytest_sopbench._settings.values import ReportTarget

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def check_reports(sop: SopSession, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a report that could not be written, before a model is paid for.

    Raises:
        pytest.UsageError: there is no step summary, no folder for the page can be made, or a
            library is not installed.
    """
    for target in sop.options.reports:
        if why := missing_for(target.format):
            msg = f"--sop-report={target}: {why}"
            raise pytest.UsageError(msg)
        if target.is_step_summary and not environment.get(STEP_SUMMARY):
            msg = f"--sop-report=md=github: {STEP_SUMMARY} is not set; GitHub Actions sets it"
            raise pytest.UsageError(msg)
        if not target.is_step_summary:
            _make_folder(sop, target)
        check_writable(sop, f"--sop-report={target}", _path(sop, target))


def _make_folder(sop: SopSession, target: ReportTarget) -> None:
    """Make the folder of a page, as pytest does for its own reports."""
    folder = _path(sop, target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        why = fault.strerror or str(fault)
        msg = f"--sop-report={target}: the folder {sop.shown(folder)} cannot be made: {why}"
        raise pytest.UsageError(msg) from None


def write_reports(sop: SopSession, gate: Gate, saved: SavedSession) -> tuple[str, ...]:
    """Write every page that was asked for; return what went wrong."""
    if not sop.options.reports:
        return ()
    found = session_page(
        saved,
        gate.decision,
        comparison=gate.comparison,
        remarks=gate.remarks,
        sources=_sources(sop, gate, saved),
    )
    pages = {
        name: _masked(sop, name, FORMATS[name].render(found))
        for name in {target.format for target in sop.options.reports}
    }
    written = (_written(sop, target, pages[target.format]) for target in sop.options.reports)
    return tuple(filter(None, written))


def _sources(sop: SopSession, gate: Gate, saved: SavedSession) -> PageSources:
    """Return where a page finds what stands in no run: the session's own domains, event logs."""

    def domains() -> Mapping[str, Domain]:
        found: dict[str, Domain] = {}
        for name in {one.domain for one in saved.records}:
            # A worker may have found it where this process cannot.
            with suppress(pytest.UsageError):
                found[name] = sop.find_active(name).domain
        return found

    return SavedSources(
        saved,
        baseline=gate.baseline.saved if gate.comparison is not None else None,
        domains=domains,
        redaction=sop.options.redaction,
        shown=sop.shown,
    )


def _masked(sop: SopSession, name: str, page: str) -> str:
    """Mask what stands in a page, but where each text was masked by itself."""
    # In a whole page a pattern could also match what browsers must find as it was written.
    return page if name == HTML else sop.options.redaction.text(page)


def _written(sop: SopSession, target: ReportTarget, page: str) -> str:
    path = _path(sop, target)
    try:
        # A step may write several pages into its summary.
        with path.open(
            "a" if target.is_step_summary else "w", encoding="utf-8", newline="\n"
        ) as file:
            file.write(page)
    except OSError as fault:
        return f"{path}: cannot be written: {fault.strerror or fault}"
    return ""


def _path(sop: SopSession, target: ReportTarget) -> Path:
    if target.is_step_summary:
        return Path(os.environ.get(STEP_SUMMARY, ""))
    return sop.config.invocation_params.dir / Path(target.path).expanduser()
