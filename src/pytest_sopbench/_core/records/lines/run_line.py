"""The line of a run: `to_line` and `from_line` are inverse, and the line is ASCII."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.fields.match import as_text, may_stand_in
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import usage_to_json
from pytest_sopbench._core.records.cutting import is_cut
from pytest_sopbench._core.records.record import CallRecord, RunRecord

from .rule_line import rule_to_json
from .trace_line import members

_OFTEN_EMPTY = ("document", "compared", "ignored")
"""Left out of a line where there are none, so that other lines stay what every version reads."""

_BEGIN: Final = '{"type":"run",'


def to_line(record: RunRecord) -> str:
    """One line of JSON without its end; ASCII, so that no transport and no disk can break it."""
    parts = members(record)
    for name in _OFTEN_EMPTY:
        if not parts[name]:
            del parts[name]
    return _ENCODER.encode({"type": "run", **parts})


def _plain_part(part: object) -> dict[str, Any]:
    if isinstance(part, RuleResult):
        return rule_to_json(part)
    if isinstance(part, Usage):
        return usage_to_json(part)
    parts = members(part)
    if isinstance(part, CallRecord) and not part.overlaps:
        del parts["overlaps"]
    return parts


# Taken and made once: an agent may replace them, and `json.dumps` makes an encoder for each call.
_loads = json.loads
_ENCODER = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=_plain_part
)


def from_line(line: str) -> RunRecord:
    """Read what `to_line` wrote.

    Raises:
        ValueError: the line is not JSON, not of a run, or holds something else than it should.
    """
    from .line_schemas import RUN  # noqa: PLC0415 - only where a line is read

    if line.startswith(_BEGIN):
        try:
            record: RunRecord = RUN.validate_json(f"{{{line[len(_BEGIN) :]}")
        except ValueError:
            # JSON of Python may hold more, such as half of a surrogate pair.
            pass
        else:
            return _with_its_quotes(record)
    data: dict[str, Any] = _loads(line)
    if data.pop("type", None) != "run":
        msg = "not the line of a run"
        raise ValueError(msg)
    return record_from_json(data)


def record_from_json(data: Mapping[str, Any]) -> RunRecord:
    """Read what stands in a run's line besides its type.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    from .line_schemas import RUN, value_of  # noqa: PLC0415 - only where a line is read

    record: RunRecord = value_of(RUN, data, "a run's line")
    return _with_its_quotes(record)


def _with_its_quotes(record: RunRecord) -> RunRecord:
    """Return a record whose quotes stand in its answer.

    Whoever reads a run relies on what a judge said of it: gates, pages, and who judges it again.

    Raises:
        ValueError: a quote stands nowhere in the answer that was judged by it.
    """
    for one in record.compared:
        if one.quote and record.answer is not None:
            actual = record.answer.get(one.field)
            if not is_cut(actual) and not may_stand_in(one.quote, as_text(actual)):
                msg = f"field {one.field!r}: what compared it quotes what the answer does not say"
                raise ValueError(msg)
    return record
