"""A trace as JSON and back, for a process that takes a finished run over from one that died.

`trace_to_json` and `trace_from_json` are inverse. Nothing is redacted: whoever writes the result
down sees to it that nothing in it must be.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Return a value that `json` takes; enumerations are texts by themselves.

    The JSON values in it are those of the trace, and no copies.
    """
    # Not `asdict`, which copies every value it meets: this is done once for each run.
    return _parts(trace)


def _parts(value: Any) -> dict[str, Any]:
    return {name: _part(getattr(value, name)) for name in value.__dataclass_fields__}


def _part(part: Any) -> Any:
    if part.__class__ is tuple:
        return [_part(one) for one in part]
    return _parts(part) if hasattr(part, "__dataclass_fields__") else part


def trace_from_json(data: Mapping[str, Any]) -> Trace:
    """Read what `trace_to_json` returned, or what came of it as JSON.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    try:
        return _trace(data)
    except (KeyError, TypeError) as fault:
        msg = f"a trace with missing or unknown keys: {fault}"
        raise ValueError(msg) from fault


def _trace(data: Mapping[str, Any]) -> Trace:
    returned, problem = data["returned"], data["problem"]
    return Trace(
        ending=Ending(data["ending"]),
        returned=None if returned is None else _returned(returned),
        problem=None if problem is None else Problem(**problem),
        calls=tuple(_call(one) for one in data["calls"]),
        approvals=tuple(Approval(**one) for one in data["approvals"]),
        usage=Usage(**data["usage"]),
        messages=tuple(data["messages"]),
        output=data["output"],
        duration=data["duration"],
        notes=tuple(data["notes"]),
        compared=tuple(Compared(**one) for one in data["compared"]),
    )


def _returned(data: Mapping[str, Any]) -> Returned:
    read: dict[str, Any] = {
        "kind": ReturnedKind(data["kind"]),
        "usage": Usage(**data["usage"]),
        "messages": tuple(data["messages"]),
        "notes": tuple(data["notes"]),
    }
    return Returned(**{**data, **read})


def _call(data: Mapping[str, Any]) -> ToolCall:
    read: dict[str, Any] = {"findings": tuple(_finding(one) for one in data["findings"])}
    return ToolCall(**{**data, **read})


def _finding(data: Mapping[str, Any]) -> Finding:
    read: dict[str, Any] = {"kind": FindingKind(data["kind"])}
    return Finding(**{**data, **read})
