"""What a page may ask for beside the runs of a session: tasks, event logs, the baseline's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What its domain says of the task of a run; everything is masked, and empty where unknown.

    Attributes:
        inputs: what the agent was given, without private columns.
        expected_calls: the calls that are expected of the task.
        clauses: what the SOP says in the clauses of the rules that the run broke, by number.
        tags: the tags of the task.
        location: the file and line of the row.
        remark: what was changed since the run, or why nothing is known.
    """

    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    expected_calls: Sequence[ExpectedCall] = ()
    clauses: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: tuple[str, ...] = ()
    location: str = ""
    remark: str = ""


class PageSources(Protocol):
    """Where a page finds what most formats do not show, so that only a page that asks pays."""

    def facts(self, record: RunRecord, /) -> TaskFacts:
        """Return what the domain of a run says of its task."""
        ...

    def again(self, record: RunRecord, /) -> str:
        """Return the command that makes a run again; empty where nobody knows it."""
        ...

    def sop(self, domain: str, /) -> str:
        """Return the SOP of a domain as it is today; empty where the domain is not found."""
        ...

    def trace(self, record: RunRecord, /) -> Trace | None:
        """Return what the event log of a run holds; `None` where there is none to read."""
        ...

    def baseline(self) -> Sequence[RunRecord]:
        """Return the runs of the session that this one was compared with, or nothing."""
        ...

    def masked(self, text: str, /) -> str:
        """Return a text without what the project wants to be masked."""
        ...
