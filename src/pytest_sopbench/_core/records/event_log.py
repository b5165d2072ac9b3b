"""What happened in a run, in order: written and read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import MASK, RunKey
from pytest_sopbench._core.model.trace import (
    Approval,
    Compared,
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
from pytest_sopbench._core.model.usage import usage_to_json
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict

from .lines import rule_to_json
from .redaction import Redaction

# The event log of a run: everything that its trace holds, as lines of JSON, whole.
#
# The first line says which run it is, the last how it ended; calls and approvals stand between
# them in the order of time, then what has no time of its own. A line is never cut, and no value is
# written otherwise than it was seen, but for what a redaction takes out.

# Taken at import: an agent may put others into their place, also into those that JSON calls.
_encode, _loads = json.JSONEncoder(allow_nan=False).encode, json.loads

SCHEMA = 1
"""Counts up when a reader of before could misread what is written."""

Event = Mapping[str, object]


def event_log(
    key: RunKey, rules: JudgingRules, trace: Trace, verdict: Verdict, redaction: Redaction
) -> str:
    """Return the log of one run; ASCII, one JSON object on each line."""
    lines = (_encode(event) for event in _events(key, rules, trace, verdict, redaction))
    return "".join(f"{line}\n" for line in lines)


def key_of_log(log: str) -> RunKey:
    """Read back which run a log is of."""
    return RunKey.read(_loads(log.partition("\n")[0]))


def _events(
    key: RunKey, rules: JudgingRules, trace: Trace, verdict: Verdict, redaction: Redaction
) -> Iterator[Event]:
    yield {"type": "run", "schema": SCHEMA, **key._asdict()}
    yield from _timed(trace, redaction)
    # In free text a private answer cannot be told from the rest.
    hidden = any(field.private for field in rules.fields)
    for message in trace.messages:
        yield {"type": "message", "message": MASK if hidden else redaction.value(message)}
    if trace.output:
        yield {"type": "output", "text": MASK if hidden else redaction.text(trace.output)}
    if trace.returned is not None:
        yield _returned(trace.returned, redaction, hidden=hidden)
    for one in trace.compared:
        yield {"type": "compared", **asdict(redaction.compared(one))}
    problem = redaction.problem(trace.problem)
    if problem is not None:
        yield {
            "type": "problem",
            "exception": problem.type,
            "message": problem.message,
            "traceback": problem.traceback,
        }
    yield {"type": "usage", **usage_to_json(redaction.usage(trace.usage))}
    yield {
        "type": "end",
        "ending": trace.ending.value,
        "outcome": verdict.outcome.value,
        "reason": redaction.text(verdict.reason),
        "duration_s": trace.duration,
        "rules": [{**rule_to_json(one), "why": redaction.text(one.why)} for one in verdict.rules],
        "departure": None if verdict.departure is None else redaction.text(verdict.departure),
        "notes": [redaction.text(note) for note in trace.notes],
    }


def _timed(trace: Trace, redaction: Redaction) -> Iterator[Event]:
    calls = [(call.started, _call(step, call, redaction)) for step, call in _steps(trace)]
    approvals = [(one.started, _approval(one, redaction)) for one in trace.approvals]
    # An approval counts for a call that began with it, so it stands first.
    yield from (event for _, event in sorted([*approvals, *calls], key=lambda pair: pair[0]))


def _steps(trace: Trace) -> Iterator[tuple[int, ToolCall]]:
    return enumerate(trace.calls, start=1)


def _call(step: int, call: ToolCall, redaction: Redaction) -> Event:
    came_back: dict[str, JsonValue] = (
        {"result": redaction.value(call.result)}
        if call.error is None
        else {"error": redaction.text(call.error)}
    )
    return {
        "type": "call",
        "step": step,
        "at_s": call.started,
        "duration_s": call.duration,
        **({"overlaps": call.overlaps} if call.overlaps else {}),
        "name": redaction.text(call.name),
        "arguments": redaction.value(call.arguments),
        **came_back,
        "findings": [
            {
                **asdict(finding),
                "parameter": redaction.text(finding.parameter),
                "message": redaction.text(finding.message),
            }
            for finding in call.findings
        ],
    }


def _approval(approval: Approval, redaction: Redaction) -> Event:
    return {
        "type": "approval",
        "at_s": approval.started,
        **({} if approval.calls is None else {"calls": approval.calls}),
        "step": redaction.text(approval.step),
        "by": redaction.text(approval.by),
        # Older logs have approvals alone, so that nothing else needs to be said of one.
        **({} if approval.granted else {"granted": False}),
        **({"reason": redaction.text(approval.reason)} if approval.reason else {}),
    }


def _returned(returned: Returned, redaction: Redaction, *, hidden: bool) -> Event:
    said = returned.declared_error
    return {
        "type": "answer",
        "kind": returned.kind.value,
        "mapping": redaction.value(returned.mapping),
        "text": MASK if hidden and returned.text else redaction.text(returned.text),
        "problem": redaction.text(returned.problem),
        "declared_error": None if said is None else redaction.text(said),
    }


# Read the event log of a run back into its trace, so that the run can be judged again.


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
        returned=_read_returned(answers[0]) if answers else None,
        problem=_problem(problems[0]) if problems else None,
        calls=tuple(_read_call(one) for one in of_type.get("call", [])),
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


def _read_returned(event: Mapping[str, Any]) -> Returned:
    return Returned(
        kind=ReturnedKind(event["kind"]),
        mapping=event["mapping"],
        text=event["text"],
        problem=event["problem"],
        declared_error=event["declared_error"],
    )


def _problem(event: Mapping[str, Any]) -> Problem:
    return Problem(type=event["exception"], message=event["message"], traceback=event["traceback"])


def _read_call(event: Mapping[str, Any]) -> ToolCall:
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
