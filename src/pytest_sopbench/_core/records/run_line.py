"""The line of a run: `to_line` and `from_line` are inverse, and the line is ASCII."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.contract.ruling import RuleState
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.trace import Problem, Usage
from pytest_sopbench._core.model.usage import usage_to_json
from pytest_sopbench._core.verdict import Outcome

from .record import CallRecord, RunRecord, TrajectoryCheck
from .rule_line import rule_from_json, rule_to_json

_OFTEN_EMPTY = ("document", "compared", "ignored")
"""Left out of a line where there are none, so that other lines stay what every version reads."""


def to_line(record: RunRecord) -> str:
    """One line of JSON without its end; ASCII, so that no transport and no disk can break it."""
    parts = _parts(record)
    for name in _OFTEN_EMPTY:
        if not parts[name]:
            del parts[name]
    return _ENCODER.encode({"type": "run", **parts})


def _plain_part(part: object) -> dict[str, Any]:
    if isinstance(part, RuleResult):
        return rule_to_json(part)
    if isinstance(part, Usage):
        return usage_to_json(part)
    parts = _parts(part)
    if isinstance(part, CallRecord) and not part.overlaps:
        del parts["overlaps"]
    return parts


# Taken and made once: an agent may replace them, and `json.dumps` makes an encoder for each call.
_loads = json.loads
_ENCODER = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=_plain_part
)


def _parts(value: Any) -> dict[str, Any]:
    # Not `asdict`, which copies every value it meets: this is done once for each run.
    names = value.__dataclass_fields__
    return dict(zip(names, map(getattr, repeat(value), names), strict=False))


def from_line(line: str) -> RunRecord:
    """Read what `to_line` wrote.

    Raises:
        ValueError: the line is not JSON, not of a run, or lacks a key.
    """
    data: dict[str, Any] = _loads(line)
    if data.pop("type", None) != "run":
        msg = "not the line of a run"
        raise ValueError(msg)
    return record_from_json(data)


def record_from_json(data: dict[str, Any]) -> RunRecord:
    """Read what stands in a run's line besides its type; `data` is used up.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    try:
        data["outcome"] = Outcome(data["outcome"])
        data["mismatches"] = tuple(Mismatch(**one) for one in data["mismatches"])
        data["calls"] = tuple(_call_from(one) for one in data["calls"])
        data["usage"] = Usage(**data["usage"])
        data["problem"] = Problem(**data["problem"]) if data["problem"] else None
        data["rules"] = tuple(rule_from_json(one) for one in data["rules"])
        data["contract"] = RuleState(data["contract"]) if data["contract"] else None
        data["trajectory"] = TrajectoryCheck(**data["trajectory"]) if data["trajectory"] else None
        data["notes"] = tuple(data["notes"])
        if "document" in data:
            from .document import document_from_json  # noqa: PLC0415 - only where an answer is a document

            data["document"] = document_from_json(data["document"])
        data["compared"] = tuple(Compared(**one) for one in data.get("compared", ()))
        data["ignored"] = tuple(data.get("ignored", ()))
        return RunRecord(**data)
    except (KeyError, TypeError) as fault:
        msg = f"a run's line with missing or unknown keys: {fault}"
        raise ValueError(msg) from fault


def _call_from(data: dict[str, Any]) -> CallRecord:
    data["findings"] = tuple(data["findings"])
    return CallRecord(**data)
