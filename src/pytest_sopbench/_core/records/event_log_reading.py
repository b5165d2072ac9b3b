"""Read the event log of a run back into its trace, so that the run can be judged again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.trace import (
    Approval,
    Ending,
    Finding,
    FindingKind,
    Problem,
    Returned,
    ReturnedKind,
    ToolCall,
    Trace,
    Usage,
)

from .event_log import SCHEMA


def trace_of_log(log: str) -> Trace:
    """Return what a log holds of a trace, which is all of it but what a redaction took out.

    Raises:
        ValueError: it is no event log, was cut short, or was written by a newer version.
    """
    try:
        lines = log.rstrip("\n").split("\n") if log else []
        events: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
        if not events or events[0]["type"] != "run" or events[-1]["type"] != "end":
            msg = "cut short, or no event log"
            raise ValueError(msg)
        if events[0]["schema"] > SCHEMA:
            msg = f"written by a newer pytest-sopbench (schema {events[0]['schema']})"
            raise ValueError(msg)
        return _trace(events)
    except (KeyError, TypeError) as fault:
        msg = f"an event log with missing or unknown keys: {fault}"
        raise ValueError(msg) from fault


def _trace(events: Sequence[Mapping[str, Any]]) -> Trace:
    of_type: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        of_type.setdefault(event["type"], []).append(event)
    end = events[-1]
    answers, problems = of_type.get("answer", []), of_type.get("problem", [])
    usage = of_type.get("usage", [])
    return Trace(
        ending=Ending(end["ending"]),
        returned=_returned(answers[0]) if answers else None,
        problem=_problem(problems[0]) if problems else None,
        calls=tuple(_call(one) for one in of_type.get("call", [])),
        approvals=tuple(
            Approval(
                step=one["step"],
                by=one["by"],
                started=one["at_s"],
                calls=one.get("calls"),
                granted=one.get("granted", True),
                reason=one.get("reason", ""),
            )
            for one in of_type.get("approval", [])
        ),
        usage=Usage(**_without_type(usage[0])) if usage else Usage(),
        messages=tuple(one["message"] for one in of_type.get("message", [])),
        output="".join(one["text"] for one in of_type.get("output", [])),
        duration=end["duration_s"],
        notes=tuple(end["notes"]),
        compared=tuple(Compared(**_without_type(one)) for one in of_type.get("compared", [])),
    )


def _returned(event: Mapping[str, Any]) -> Returned:
    return Returned(
        kind=ReturnedKind(event["kind"]),
        mapping=event["mapping"],
        text=event["text"],
        problem=event["problem"],
        declared_error=event["declared_error"],
    )


def _problem(event: Mapping[str, Any]) -> Problem:
    return Problem(type=event["exception"], message=event["message"], traceback=event["traceback"])


def _call(event: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=event["name"],
        arguments=event["arguments"],
        result=event.get("result"),
        error=event.get("error"),
        findings=tuple(_finding(one) for one in event["findings"]),
        started=event["at_s"],
        duration=event["duration_s"],
        overlaps=event.get("overlaps", 0),
    )


def _finding(data: Mapping[str, Any]) -> Finding:
    return Finding(
        kind=FindingKind(data["kind"]),
        parameter=data["parameter"],
        message=data["message"],
        copied=data["copied"],
    )


def _without_type(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in event.items() if name != "type"}
