"""What happened in a run, in order: written and read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from pydantic_core import SchemaValidator

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import MASK, RunKey
from pytest_sopbench._core.model.trace import (
    UNKNOWN_USAGE,
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
from pytest_sopbench._core.verdict import Verdict

from .record import (
    AMOUNT,
    ANY,
    OBJECT,
    STATE_CHANGE,
    TEXT,
    TEXTS,
    UNKNOWN,
    Keys,
    many,
    maybe,
    part,
    told,
    typed,
    value_of,
    word,
)
from .redaction import Redaction

# The event log of a run: everything that its trace holds, as lines of JSON, whole.
#
# The first line says which run it is, the last how it ended; calls and approvals stand between
# them in the order of time, then what has no time of its own. A line is never cut, and no value is
# written otherwise than it was seen, but for what a redaction takes out.

_encode = json.JSONEncoder(allow_nan=False).encode

SCHEMA = 1
"""The version of the format; a log of any other is refused."""

Event = Mapping[str, object]


def event_log(
    key: RunKey, rules: JudgingRules, trace: Trace, verdict: Verdict, redaction: Redaction
) -> str:
    """Return the log of one run; ASCII, one JSON object on each line."""
    # In free text a private answer cannot be told from the rest.
    hidden = any(field.private for field in rules.fields)
    trace, verdict = redaction.part(trace), redaction.part(verdict)
    end = {
        "type": "end",
        "ending": trace.ending.value,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "duration_s": trace.duration,
        "rules": [{**told(one), "why": one.why} for one in verdict.rules],
        "departure": verdict.departure,
        "notes": [*trace.notes],
    }
    events = (
        {"type": "run", "schema": SCHEMA, **key._asdict()},
        *_observed(trace, hidden=hidden),
        end,
    )
    return "".join(f"{_encode(event)}\n" for event in events)


def events_of(trace: Trace) -> Iterator[Event]:
    """Yield what `trace_of_events` reads, for a process that takes a finished run over.

    Nothing is redacted: whoever writes it down sees to it that nothing in it must be.
    """
    yield from _observed(trace, hidden=False)
    yield {
        "type": "end",
        "ending": trace.ending.value,
        "duration_s": trace.duration,
        "notes": [*trace.notes],
    }


def _observed(trace: Trace, *, hidden: bool) -> Iterator[Event]:
    """Yield what was observed, as it may be written; `hidden` hides free texts altogether."""
    calls = [(call.started, _call(step, call)) for step, call in enumerate(trace.calls, 1)]
    approvals = [(one.started, _approval(one)) for one in trace.approvals]
    # An approval counts for a call that began with it, so it stands first.
    yield from (event for _, event in sorted([*approvals, *calls], key=lambda pair: pair[0]))
    for message in trace.messages:
        yield {"type": "message", "message": MASK if hidden else message}
    if trace.output:
        yield {"type": "output", "text": MASK if hidden else trace.output}
    if (returned := trace.returned) is not None:
        yield {
            "type": "answer",
            "kind": returned.kind.value,
            "mapping": returned.mapping,
            "text": MASK if hidden and returned.text else returned.text,
            "problem": returned.problem,
            "declared_error": returned.declared_error,
        }
    for one in trace.compared:
        yield {"type": "compared", **asdict(one)}
    if trace.state is not None:
        yield {"type": "state", "changes": [asdict(one) for one in trace.state]}
    if (problem := trace.problem) is not None:
        yield {
            "type": "problem",
            "exception": problem.type,
            "message": problem.message,
            "traceback": problem.traceback,
        }
    yield {"type": "usage", **told(trace.usage)}


def _call(step: int, call: ToolCall) -> Event:
    came_back = {"result": call.result} if call.error is None else {"error": call.error}
    return {
        "type": "call",
        "step": step,
        "at_s": call.started,
        "duration_s": call.duration,
        **({"overlaps": call.overlaps} if call.overlaps else {}),
        "name": call.name,
        "arguments": call.arguments,
        **came_back,
        "findings": [asdict(finding) for finding in call.findings],
    }


def _approval(approval: Approval) -> Event:
    return {
        "type": "approval",
        "at_s": approval.started,
        "calls": approval.calls,
        "step": approval.step,
        "by": approval.by,
        **({} if approval.granted else {"granted": False}),
        **({"reason": approval.reason} if approval.reason else {}),
    }


# Read back what happened in a run, so that it can be judged again.

_AT: Final = {"started": "at_s"}
_ANSWER: Final[Keys] = {
    "kind": word(ReturnedKind),
    "mapping": OBJECT,
    **dict.fromkeys(("text", "problem"), TEXT),
    "declared_error": maybe(TEXT),
}


_EVENTS: Final[Mapping[str, SchemaValidator]] = {
    kind: SchemaValidator(schema)
    for kind, schema in {
        "call": part(
            ToolCall,
            {"findings": many(part(Finding, {"kind": word(FindingKind)}))},
            optional={"result": None, "error": None, "overlaps": 0},
            aliases={**_AT, "duration": "duration_s"},
            extra="ignore",
        ),
        "approval": part(
            Approval,
            optional={"granted": True, "reason": ""},
            aliases=_AT,
            extra="ignore",
        ),
        "message": typed({"message": ANY}),
        "output": typed({"text": TEXT}),
        "answer": typed(_ANSWER),
        "compared": part(Compared, extra="ignore"),
        "state": typed({"changes": many(STATE_CHANGE)}),
        "problem": part(Problem, aliases={"type": "exception"}, extra="ignore"),
        "usage": part(Usage, optional=UNKNOWN, extra="ignore"),
        "end": typed({"ending": word(Ending), "duration_s": AMOUNT, "notes": TEXTS}),
    }.items()
}
"""What is made of the events of each type."""


def trace_of_log(log: str) -> Trace:
    """Return what a log holds of a trace, which is all of it but what a redaction took out.

    Raises:
        ValueError: it is no event log, was cut short, or was written by another version.
    """
    try:
        lines = log.rstrip("\n").split("\n") if log else []
        events: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
        if not events or events[0]["type"] != "run" or events[-1]["type"] != "end":
            msg = "cut short, or no event log"
            raise ValueError(msg)
        if events[0]["schema"] != SCHEMA:
            msg = f"written by another pytest-sopbench (schema {events[0]['schema']})"
            raise ValueError(msg)
    except (KeyError, TypeError) as fault:
        msg = f"an event log with missing or unknown keys: {fault}"
        raise ValueError(msg) from fault
    return trace_of_events(events[1:])


def trace_of_events(events: Iterable[Mapping[str, Any]]) -> Trace:
    """Return the trace of which these are the events.

    Raises:
        ValueError: one is of no known type, lacks a key or holds something else than it should, or
            the last one is missing.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in _EVENTS}
    for event in events:
        kind = event.get("type")
        if kind not in found:
            msg = f"{kind!r} is no event"
            raise ValueError(msg)
        found[kind].append(value_of(_EVENTS[kind], event, f"the event {kind!r}"))
    if not found["end"]:
        msg = "no event says how the run ended"
        raise ValueError(msg)
    end = found["end"][0]
    answer = next(iter(found["answer"]), None)
    return Trace(
        ending=end["ending"],
        returned=None if answer is None else Returned(**answer),
        problem=next(iter(found["problem"]), None),
        calls=tuple(found["call"]),
        approvals=tuple(found["approval"]),
        usage=next(iter(found["usage"]), UNKNOWN_USAGE),
        messages=tuple(one["message"] for one in found["message"]),
        output="".join(one["text"] for one in found["output"]),
        duration=end["duration_s"],
        notes=end["notes"],
        compared=tuple(found["compared"]),
        state=next((one["changes"] for one in found["state"]), None),
    )
