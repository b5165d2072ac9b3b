"""The files on a session, written when it is over: the pages of `--sop-report`, and JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.conditions import GateState
from pytest_sopbench._core.gates.decide import PageSources, SessionPage
from pytest_sopbench._core.hiding import as_xml_without_commands, masking
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.deciding.gate import Gate
from pytest_sopbench._hooks.runs.shown import rerun_of
from pytest_sopbench._hooks.session.session import SopSession, check_writable
from pytest_sopbench._loading.load import FILES, is_domain_folder
from pytest_sopbench._reports.annotations import annotation_line, annotations_of
from pytest_sopbench._reports.formats import find_format, missing_for, rendered
from pytest_sopbench._sessions.atomic import replace_file, try_writing
from pytest_sopbench._sessions.commands.page import SavedSources, row_places, session_page
from pytest_sopbench._sessions.event_logs import add_to_page, try_page, write_pages
from pytest_sopbench._sessions.saved import SavedSession
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.readers import ReportTarget
from pytest_sopbench.errors import ExtensionError, SopbenchError

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def check_reports(sop: SopSession, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a report that could not be written, before a model is paid for.

    Raises:
        pytest.UsageError: there is no step summary, no folder for the page can be made, or a
            library is not installed.
    """
    for target in _pages(sop):
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
            _spare_domain(sop, target)
            _make_folder(sop, target)
        attempt = try_writing if target.is_step_summary else try_page
        check_writable(sop, f"--sop-report={target}", _path(sop, target), attempt)


def _spare_domain(sop: SopSession, target: ReportTarget) -> None:
    """Refuse to write over a file of a domain: `csv=data.csv` is one letter from data."""
    path = _path(sop, target)
    if path.name in FILES and path.exists() and is_domain_folder(path.parent):
        msg = f"--sop-report={target}: {sop.shown(path)} belongs to a domain; name another file"
        raise pytest.UsageError(msg)


def _make_folder(sop: SopSession, target: ReportTarget) -> None:
    """Make the folder of a page, as pytest does for its own reports."""
    folder = _path(sop, target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        why = fault.strerror or str(fault)
        msg = f"--sop-report={target}: the folder {sop.shown(folder)} cannot be made: {why}"
        raise pytest.UsageError(msg) from None


def write_reports(
    sop: SopSession, gate: Gate, saved: SavedSession
) -> tuple[Sequence[str], Sequence[str]]:
    """Write every page that was asked for, and make the annotations.

    Returns:
        What went wrong with the pages, and commands to a CI server that stand below all else.
    """
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
    written = [_written(sop, target, texts[target.format]) for target in _pages(sop)]
    return [*filter(None, written)], [*_annotations(sop, page)]


def _annotations(sop: SopSession, page: SessionPage) -> Iterator[str]:
    if not any(target.is_annotations for target in sop.options.reports):
        return
    with masking(sop.options.redaction.text):
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


# What pytest has written as JUnit XML, read again, since it offers no say in it.
#
# A gate forgives misses, and some CI servers read every failure as one. And a job may print the
# file, where the name of a task must be no command to the server.


class JunitFile:
    """Writes misses as skipped, unless the project wants them as failures, and no command."""

    def __init__(self, config: pytest.Config, gate: Gate, *, misses: str) -> None:
        self._gate = gate
        self._misses = misses
        given: str | None = config.getoption("xmlpath", None)
        # As pytest reads it, and as early: an agent may go into another folder.
        expanded = os.path.expanduser(os.path.expandvars(given or ""))  # noqa: PTH111
        self._path = Path(expanded).absolute() if given else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        result = yield
        path = self._path
        if path is not None and path.is_file():
            if self._misses == "skipped" and self._are_forgiven:
                skip_misses(path)
            disarm(path)
        return result

    @property
    def _are_forgiven(self) -> bool:
        """Whether the misses fail nothing: a shard has no gate, and any other gate has to hold.

        A CI server may read this file and no exit status, so a gate that fails shows in it.
        """
        gate = self._gate
        if not gate.is_set:
            return gate.forgives
        holds = all(verdict.state is GateState.HOLDS for verdict in gate.verdicts)
        return gate.is_decided and not gate.not_evaluated and holds


def skip_misses(path: Path) -> None:
    """Turn the failures of misses in a JUnit XML file into skipped tests, counts included."""
    tree = ET.parse(path)  # noqa: S314 - pytest wrote it a moment ago
    for suite in tree.iter("testsuite"):
        moved = 0
        for case in suite.iter("testcase"):
            failure = case.find("failure")
            marked = case.find("properties/property[@name='sop.miss']")
            if failure is not None and marked is not None:
                failure.tag = "skipped"
                failure.set("type", "sop.miss")
                moved += 1
        suite.set("failures", str(int(suite.get("failures", "0")) - moved))
        suite.set("skipped", str(int(suite.get("skipped", "0")) + moved))
    tree.write(path, encoding="utf-8", xml_declaration=True)


def disarm(path: Path) -> None:
    """Take commands to a CI server out of a JUnit XML file; a parser reads the same as before."""
    text = path.read_text("utf-8")
    safe = as_xml_without_commands(text)
    if safe != text:
        with replace_file(path) as file:
            file.write(safe.encode())
