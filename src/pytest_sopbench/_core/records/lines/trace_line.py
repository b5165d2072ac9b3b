"""A trace as JSON and back, for a process that takes a finished run over from one that died.

`trace_to_json` and `trace_from_json` are inverse. Nothing is redacted: whoever writes the result
down sees to it that nothing in it must be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_sopbench._core.model.trace import Trace


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Return a value that `json` takes; enumerations are texts by themselves.

    The JSON values in it are those of the trace, and no copies.
    """
    return _parts(trace)


def members(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, and no copies, which `asdict` makes of all."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _parts(value: Any) -> dict[str, Any]:
    # By `members`, which makes a dictionary more, it takes nearly twice as long.
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
    from .line_schemas import traces, value_of  # noqa: PLC0415 - only where a line is read

    trace: Trace = value_of(traces(), data, "a trace")
    return trace
