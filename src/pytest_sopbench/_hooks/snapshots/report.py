"""What a session says of its snapshots: those that were not approved, and those left over.

A snapshot is left over when its domain has no such task. That is known without running a test,
so one that fails before it compares never makes its snapshot look unused. It is looked for only
where every task of the domain was left in the session, whatever takes tasks away: `-k`, `--lf`,
node ids, `--sop-sample`, shards.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._hooks.session.session import REF, SopSession
from pytest_sopbench._reports.notices import leftover_lines, not_approved_lines, unasked_lines
from pytest_sopbench._sessions.snapshots import SnapshotFolder, shown_task

from .fixture import FIXTURE, SopSnapshot, not_approved

FOUND = "sop_snapshots_found"
NOT_APPROVED = "sop_not_approved"


class SnapshotCollector:
    """The hooks of a process that runs items; what it finds travels on test reports."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._folder = SnapshotFolder(sop.options.snapshots_dir)
        self._found = ""

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Show the steps that differ."""
        for one in (left, right):
            if op == "==" and isinstance(one, SopSnapshot):
                return one.lines
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        kept: dict[str, set[str]] = {}
        for item in session.items:
            if _asks(item):
                key = item.stash[REF].key
                kept.setdefault(key.domain, set()).add(key.task)
        leftovers: dict[str, list[str]] = {}
        for domain, tasks in kept.items():
            every = self._sop.find_active(domain).domain.task_ids
            if tasks.issuperset(every):
                folder = self._folder.file(domain, "").parent
                left = self._folder.leftovers(domain, every)
                leftovers[domain] = [path.relative_to(folder).as_posix() for path in left]
        unasked = [one for one in self._folder.domains() if one not in kept]
        self._found = json.dumps(
            {"leftovers": leftovers, "unasked": unasked if self._is_whole() else []}
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when != "teardown" or not _asks(item):
            return report
        if self._found:
            setattr(report, FOUND, self._found)
            self._found = ""
        why = not_approved(item)
        if why:
            key = item.stash[REF].key
            setattr(report, NOT_APPROVED, [f"{key.domain}/{key.task}", why])
        return report

    def _is_whole(self) -> bool:
        """Tell whether nothing was asked for but the tests of the project."""
        config = self._sop.config
        if config.args_source is pytest.Config.ArgsSource.ARGS or self._sop.options.typed_domains:
            return False
        given = ("keyword", "markexpr", "lf", "stepwise", "deselect", "ignore", "ignore_glob")
        return not any(config.getoption(name, None) for name in given)


class SnapshotSummary:
    """The hooks of the process that prints the summary."""

    def __init__(self, sop: SopSession) -> None:
        self._option: Any = sop.config.option
        self._shown = sop.shown
        self._folder = SnapshotFolder(sop.options.snapshots_dir)
        self._not_approved: dict[str, str] = {}
        self._leftovers: dict[str, list[str]] = {}
        self._unasked: list[str] = []
        self._settled = False
        self._deleted = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found: str | None = report.__dict__.pop(FOUND, None)
        why: list[str] | None = report.__dict__.pop(NOT_APPROVED, None)
        if found is not None:
            data: dict[str, Any] = json.loads(found)
            self._leftovers, self._unasked = data["leftovers"], data["unasked"]
        if why is not None:
            self._not_approved.setdefault(*why)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Settle what is left over; a session that is cut short settles nothing."""
        result = yield
        self._settled = not getattr(self._option, "disable_unused_snapshots", False)
        if self._settled and any(self._leftovers.values()):
            if self._option.update_snapshots:
                self._clean()
            elif not self._option.warn_unused_snapshots:
                session.testsfailed += 1
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = [*not_approved_lines(self._not_approved)]
        if self._settled:
            names = [
                f"{domain}/{shown_task(Path(name))}{' (state)' if '/' in name else ''}"
                for domain, left in self._leftovers.items()
                for name in left
            ]
            lines += leftover_lines(names, deleted=self._deleted)
            lines += unasked_lines(self._unasked, self._shown(self._folder.path))
        if lines:
            terminalreporter.write_sep("-", "SOP snapshots")
        for line in lines:
            terminalreporter.write_line(line)

    def _clean(self) -> None:
        if getattr(self._option, "no_cleanup", False):
            return
        for domain, names in self._leftovers.items():
            folder = self._folder.file(domain, "").parent
            for name in names:
                (folder / name).unlink(missing_ok=True)
        self._deleted = True


def _asks(item: pytest.Item) -> bool:
    return FIXTURE in getattr(item, "fixturenames", ()) and REF in item.stash
