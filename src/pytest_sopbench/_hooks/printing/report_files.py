"""`--sop-report`: a page on the session, written when it is over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.runs.shown import rerun_of
from pytest_sopbench._hooks.session.session import SopSession, check_writable
from pytest_sopbench._sessions.file.atomic import try_writing
from pytest_sopbench._sessions.file.event_logs import add_to_page, try_page, write_pages
from pytest_sopbench._sessions.reading.saved import SavedSession
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.readers import ReportTarget
from pytest_sopbench.errors import ExtensionError, SopbenchError

if TYPE_CHECKING:
    from pytest_sopbench._core.gates.decide import PageSources, SessionPage

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def check_reports(sop: SopSession, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a report that could not be written, before a model is paid for.

    Raises:
        pytest.UsageError: there is no step summary, no folder for the page can be made, or a
            library is not installed.
    """
    for target in _pages(sop):
        from pytest_sopbench._reports.html.needs import missing_for  # noqa: PLC0415 - only where a page is written
        from pytest_sopbench._reports.pages.formats import find_format  # noqa: PLC0415 - only where a page is written

        if why := missing_for(target.format):
            msg = f"--sop-report={target}: {why}"
            raise pytest.UsageError(msg)
        try:
            find_format(target.format)
        except ExtensionError as fault:
            msg = f"--sop-report={target}: {fault}"
            raise pytest.UsageError(msg) from None
        if target.is_step_summary and not environment.get(STEP_SUMMARY):
            msg = f"--sop-report=md=github: {STEP_SUMMARY} is not set; GitHub Actions sets it"
            raise pytest.UsageError(msg)
        if not target.is_step_summary:
            _make_folder(sop, target)
        attempt = try_writing if target.is_step_summary else try_page
        check_writable(sop, f"--sop-report={target}", _path(sop, target), attempt)


def _make_folder(sop: SopSession, target: ReportTarget) -> None:
    """Make the folder of a page, as pytest does for its own reports."""
    folder = _path(sop, target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        why = fault.strerror or str(fault)
        msg = f"--sop-report={target}: the folder {sop.shown(folder)} cannot be made: {why}"
        raise pytest.UsageError(msg) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What went wrong with the pages, and commands to a CI server that stand below all else."""

    unwritten: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def write_reports(sop: SopSession, gate: Gate, saved: SavedSession) -> Reported:
    """Write every page that was asked for, and make the annotations."""
    from pytest_sopbench._reports.pages.formats import rendered  # noqa: PLC0415 - only where a page is written
    from pytest_sopbench._sessions.commands.page import session_page  # noqa: PLC0415 - only where a page is written

    if not sop.options.reports:
        return Reported()
    page = session_page(
        saved,
        gate.decision,
        comparison=gate.comparison,
        remarks=gate.remarks,
        sources=_sources(sop, gate, saved),
    )
    mask = sop.options.redaction.text
    texts: dict[str, str | ExtensionError] = {}
    for name in dict.fromkeys(target.format for target in _pages(sop)):
        try:
            texts[name] = rendered(name, page, mask)
        except ExtensionError as fault:
            texts[name] = fault
    written = (_written(sop, target, texts[target.format]) for target in _pages(sop))
    return Reported(unwritten=tuple(filter(None, written)), commands=tuple(_annotations(sop, page)))


def _annotations(sop: SopSession, page: SessionPage) -> Iterator[str]:
    from pytest_sopbench._reports.pages.annotations import annotation_line  # noqa: PLC0415 - only where a page is written
    from pytest_sopbench._sessions.commands.page import row_places  # noqa: PLC0415 - only where a page is written

    if not any(target.is_annotations for target in sop.options.reports):
        return
    with masking(sop.options.redaction.text):
        from pytest_sopbench._reports.pages.annotations import annotations_of  # noqa: PLC0415 - only where a page is written

        found = annotations_of(page)
    tasks = {one.task for one in found}
    domains: list[Domain] = []
    for name in {one.domain for one in tasks}:
        # A worker may have found it where this process cannot.
        with suppress(pytest.UsageError):
            domains.append(sop.find_active(name).domain)
    places = row_places(domains, tasks, sop.config.rootpath)
    yield from (annotation_line(one, places.get(one.task)) for one in found)


def _pages(sop: SopSession) -> Iterator[ReportTarget]:
    return (target for target in sop.options.reports if not target.is_annotations)


def _sources(sop: SopSession, gate: Gate, saved: SavedSession) -> PageSources:
    """Return where a page finds what stands in no run: the session's own domains, event logs."""
    from pytest_sopbench._sessions.commands.page import SavedSources  # noqa: PLC0415 - only where a page is written

    def domains() -> Mapping[str, Domain]:
        found: dict[str, Domain] = {}
        for name in {one.domain for one in saved.records}:
            # A worker may have found it where this process cannot.
            with suppress(pytest.UsageError):
                found[name] = sop.find_active(name).domain
        return found

    def again(record: RunRecord) -> str:
        with suppress(pytest.UsageError):
            return rerun_of(sop, record)
        return ""

    return SavedSources(
        saved,
        baseline=gate.baseline.saved if gate.comparison is not None else None,
        domains=domains,
        redaction=sop.options.redaction,
        shown=sop.shown,
        again=again,
    )


def _written(sop: SopSession, target: ReportTarget, page: str | ExtensionError) -> str:
    path = _path(sop, target)
    if isinstance(page, ExtensionError):
        return f"--sop-report={target}: {page}"
    try:
        if target.is_step_summary:
            # A step may write several pages into its summary.
            add_to_page(path, page)
        else:
            write_pages({path: page})
    except SopbenchError as fault:
        return str(fault)
    return ""


def _path(sop: SopSession, target: ReportTarget) -> Path:
    if target.is_step_summary:
        return Path(os.environ.get(STEP_SUMMARY, ""))
    return sop.config.invocation_params.dir / from_home(target.path)
