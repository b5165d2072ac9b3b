"""The event log of a run: everything that its trace holds, as lines of JSON, whole.

The first line says which run it is, the last how it ended; calls and approvals stand between
them in the order of time, then what has no time of its own. A line is never cut, and no value
is written otherwise than it was seen, but for what a redaction takes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.keys import MASK, RunKey
from pytest_sopbench._core.model.trace import Approval, Returned, ToolCall, Trace
from pytest_sopbench._core.model.usage import usage_to_json
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict

from .lines.rule_line import rule_to_json
from .redaction import Redaction

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
