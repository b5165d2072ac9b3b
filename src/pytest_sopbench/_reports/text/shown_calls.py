"""The calls of a run as a report shows them, whether its event log was kept or its record alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.values.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A call, whole where its event log was kept; else `began` and `took` are `None`."""

    name: str
    arguments: JsonValue
    result: JsonValue
    error: str | None
    overlaps: int = 0
    findings: tuple[str, ...] = ()
    began: float | None = None
    took: float | None = None


def shown_calls(record: RunRecord, trace: Trace | None) -> Sequence[ShownCall]:
    """Return the calls of a run, from its event log where there is one."""
    if trace is None:
        return [call_of(one) for one in record.calls]
    return [
        ShownCall(
            name=one.name,
            arguments=one.arguments,
            result=one.result,
            error=one.error,
            overlaps=one.overlaps,
            findings=tuple(finding.message for finding in one.findings),
            began=one.started,
            took=one.duration,
        )
        for one in trace.calls
    ]


def call_of(call: CallRecord) -> ShownCall:
    """Return a call as a record keeps it."""
    return ShownCall(
        name=call.name,
        arguments=call.arguments,
        result=call.result,
        error=call.error,
        overlaps=call.overlaps,
        findings=call.findings,
    )
