"""Tasks of which the project says that they must pass, or may fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_sopbench._core.gates.quarantine import (
    NO_ENTRIES,
    Forgiven,
    PolicyReport,
    TaskEntries,
    report_entries,
)
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.judging import doubtful_in
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench.errors import SopbenchError


class Quarantine:
    """The tasks file of the project, and what a session shows of it."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._entries: TaskEntries = NO_ENTRIES
        self._checked: set[str] = set()
        # One day for the whole session, also where it runs past midnight.
        self._today = datetime.now(UTC).astimezone().date()
        self.report = PolicyReport()

    @property
    def path(self) -> Path:
        return self._sop.options.tasks_file

    @property
    def shown(self) -> str:
        """The tasks file, as the user would type it."""
        return self._sop.shown(self.path)

    @property
    def forgiven(self) -> Forgiven:
        """What is forgiven today."""
        return self._sop.forgiven

    @property
    def is_set(self) -> bool:
        return bool(self._entries.entries)

    def read(self) -> None:
        """Read the file, if there is one.

        Raises:
            pytest.UsageError: it cannot be used.
        """
        if not self.path.exists():
            return
        try:
            from pytest_sopbench._loading.quarantine_file import read_tasks_file  # noqa: PLC0415 - only where tasks are quarantined

            self._entries = read_tasks_file(self.path)
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None
        self._sop.forgiven = self._entries.forgiven(self._today)

    def check(self) -> None:
        """Stop at an entry of a task, or of a rule, that a domain in use does not have.

        Raises:
            pytest.UsageError: there is one.
        """
        # This is asked at each report, and few projects have entries.
        if not self._entries.entries:
            return
        actives = self._sop.actives
        if len(actives) == len(self._checked):
            # Domains are only added.
            return
        fresh = [one for one in actives if one.domain.name not in self._checked]
        self._checked.update(one.domain.name for one in fresh)
        known = {one.domain.name: one.domain for one in fresh}
        try:
            from pytest_sopbench._loading.quarantine_file import check_tasks  # noqa: PLC0415 - only where tasks are quarantined

            check_tasks(self.path, self._entries, known)
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None

    def remarks(self) -> Iterator[str]:
        """Say which entries are of no domain that has a name here: they are not asked."""
        named = {one.domain for one in self._entries.entries} - self._checked
        if not named:
            return
        from pytest_sopbench._loading.finding import domains_called  # noqa: PLC0415 - only where entries are of other domains

        for name in sorted(named):
            try:
                is_known = bool(domains_called(name, self._sop.where))
            except SopbenchError:
                # It is there, and told in full where it is used.
                is_known = True
            if not is_known:
                yield f"{self.shown}: no domain is called {name}, so its entries are not checked"

    def hold_against(self, records: Sequence[RunRecord]) -> None:
        """Find out what the runs of a session show of the entries."""
        doubtful = doubtful_in(self._sop.config)
        self.report = report_entries(records, self._entries, self._today, doubtful)

    def record(self) -> None:
        """Have the header of the session keep the tasks by what is said of them."""
        expired = [one.name for one in self._entries.expired(self._today)]
        self._sop.recorded = replace(
            self._sop.recorded,
            quarantined=tuple(sorted(self.forgiven.answers, key=str)),
            may_break={
                name: tuple(sorted(self.forgiven.rules[name]))
                for name in sorted(self.forgiven.rules, key=str)
            },
            must_pass=tuple(sorted(self._entries.must_pass, key=str)),
            expired=tuple(sorted(expired, key=str)),
        )
