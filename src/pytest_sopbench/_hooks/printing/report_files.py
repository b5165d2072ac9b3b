"""`--sop-report`: a page on the session, written when it is over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.session.writable import check_writable
from pytest_sopbench._reports.pages.formats import FORMATS
from pytest_sopbench._sessions.commands.page import session_page
from pytest_sopbench._sessions.reading.reader import SavedSession
from pytest_sopbench._settings.values import ReportTarget

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def check_reports(sop: SopSession, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a report that could not be written, before a model is paid for.

    Raises:
        pytest.UsageError: there is no step summary, or no folder for the page can be made.
    """
    for target in sop.options.reports:
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
    found = session_page(saved, gate.decision, comparison=gate.comparison, remarks=gate.remarks)
    pages = {
        name: sop.options.redaction.text(FORMATS[name].render(found))
        for name in {target.format for target in sop.options.reports}
    }
    written = (_written(sop, target, pages[target.format]) for target in sop.options.reports)
    return tuple(filter(None, written))


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
