"""What a page may ask for beside the runs of a saved session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from pytest_sopbench._core.contract.clause_text import clause_text
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.page_sources import TaskFacts
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.reading.event_log import kept_log
from pytest_sopbench._sessions.reading.planned import planned_records
from pytest_sopbench._sessions.reading.reader import SavedSession

NOT_FOUND: Final = "the domain is not found, so inputs and expected calls are not shown"
NO_TASK: Final = "the domain has no such task today, so inputs and expected calls are not shown"
OTHER_ROW: Final = "the row, or the tools, were changed since: inputs are those of today"
OTHER_SOP: Final = "the SOP was changed since: clauses are those of today"

Domains = Callable[[], Mapping[str, Domain]]
"""Finds the domains of the session, as far as they are at hand."""


def no_domains() -> Mapping[str, Domain]:
    """Find none."""
    return {}


def no_command(_: RunRecord) -> str:
    """Know no command: a saved session does not hold all that was typed."""
    return ""


class SavedSources:
    """Finds what a page asks for, once it asks.

    Args:
        saved: the session.
        baseline: the session that it was compared with; `None` where there is none.
        domains: finds the domains.
        redaction: what is masked in whatever does not stand in the session itself.
        shown: writes the path of a data file as the user would type it.
        again: writes the command that makes a run again.
    """

    def __init__(
        self,
        saved: SavedSession,
        *,
        baseline: SavedSession | None = None,
        domains: Domains = no_domains,
        redaction: Redaction = NOTHING_REDACTED,
        shown: Callable[[Path], str] = str,
        again: Callable[[RunRecord], str] = no_command,
    ) -> None:
        self._saved = saved
        self._baseline = baseline
        self._find = domains
        self._redaction = redaction
        self._shown = shown
        self._again = again
        self._places: dict[str, Mapping[str, int]] = {}
        self._clauses: dict[tuple[str, str], str] = {}

    def facts(self, record: RunRecord) -> TaskFacts:
        domain = self._domains.get(record.domain)
        if domain is None:
            return TaskFacts(remark=NOT_FOUND)
        position = self._places_of(domain).get(record.task)
        if position is None:
            return TaskFacts(remark=NO_TASK)
        task = domain.tasks[position]
        redaction = self._redaction.of(domain.private_columns)
        expected = domain.expected_calls.get(task.id, ())
        return TaskFacts(
            inputs=redaction.mapping(_public(task.inputs, domain)),
            expected_calls=redaction.expected_calls(expected),
            clauses={
                one.clause: self._clause(domain, one.clause)
                for one in record.rules
                if one.broken and one.clause
            },
            tags=task.tags,
            location=f"{self._where(domain.data_file)}:{task.line}",
            remark=self._remark(record, domain, task.hash),
        )

    def again(self, record: RunRecord) -> str:
        return self._redaction.text(self._again(record))

    def sop(self, domain: str) -> str:
        found = self._domains.get(domain)
        return self._redaction.text(found.sop) if found is not None else ""

    def trace(self, record: RunRecord) -> Trace | None:
        found = kept_log(self._saved.path, record).trace
        return found and self._redaction.trace(found)

    def baseline(self) -> Sequence[RunRecord]:
        if self._baseline is None:
            return ()
        return [self._redaction.record(one) for one in planned_records(self._baseline)]

    def masked(self, text: str) -> str:
        return self._redaction.text(text)

    @cached_property
    def _domains(self) -> Mapping[str, Domain]:
        return self._find()

    def _places_of(self, domain: Domain) -> Mapping[str, int]:
        found = self._places.get(domain.name)
        if found is None:
            found = {task: place for place, task in enumerate(domain.task_ids)}
            self._places[domain.name] = found
        return found

    def _clause(self, domain: Domain, clause: str) -> str:
        # A clause is broken in many runs, and the SOP is long.
        key = domain.name, clause
        if key not in self._clauses:
            self._clauses[key] = self._redaction.text(clause_text(domain.sop, clause))
        return self._clauses[key]

    def _where(self, path: Path) -> str:
        """Write a path; of one elsewhere only its end, since a page is given to others."""
        shown = Path(self._shown(path))
        return str(Path(*shown.parts[-2:]) if shown.is_absolute() else shown)

    def _remark(self, record: RunRecord, domain: Domain, task_hash: str) -> str:
        if record.task_hash and record.task_hash != task_hash:
            return OTHER_ROW
        header = self._saved.header.domains.get(record.domain)
        if header is not None and header.sop and header.sop != domain.hashes.get("sop"):
            return OTHER_SOP
        return ""


def _public(inputs: Mapping[str, JsonValue], domain: Domain) -> Mapping[str, JsonValue]:
    private = domain.private_columns
    return {name: value for name, value in inputs.items() if name not in private}
