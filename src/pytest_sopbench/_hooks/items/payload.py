"""What a process hands over through the reports of pytest, and all that knows how it rides there.

The payload is one attribute of a report. pytest keeps the attributes of reports, and xdist ships
them, so no code here does either; nothing but text and flags crosses to another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

import pytest

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome

PAYLOAD: Final = "sop_payload"
_BUILTIN: Final = "sop_builtin"
_FAILED_BY: Final = "sop_failed_by"
# execnet cannot carry a lower number, and writes a higher one digit by digit.
SMALLEST = -(2**31)
LARGEST = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What stands on one report.

    `plan` is on the first report of a process: its plan as JSON, empty where the process keeps the
    books itself; `None` on the others. `line` is that of the run that its item left, or `None`,
    and `events` is its event log, or empty. `record` is what the line says, where it need not be
    read. `taken_over` runs are of a session that is resumed, `inherited` ones of a dead worker.
    `is_rerun` holds where another plugin ran the item again.
    """

    plan: str | None = None
    line: str | None = None
    events: str = ""
    record: RunRecord | None = None
    taken_over: bool = False
    inherited: bool = False
    is_rerun: bool = False


def attach(report: pytest.TestReport, payload: Payload, *, is_sent: bool) -> None:
    """Put a payload on a report; one that is sent to another process becomes plain values."""
    setattr(report, PAYLOAD, _plain(payload) if is_sent else payload)


def detach(report: pytest.TestReport) -> Payload:
    """Take the payload off a report; where it has none, this is an empty one."""
    found: object = report.__dict__.pop(PAYLOAD, {})
    return found if isinstance(found, Payload) else Payload(**cast("dict[str, Any]", found))


class FailedBy(NamedTuple):
    """What of its run a test failed by, and by nothing else.

    `outcome` is that of the run, `wrong` where the test found its answer wrong by itself, and
    `correct` where the test ignores the answer. `rules` are the ids of the rules that it broke.
    """

    outcome: Outcome
    rules: tuple[str, ...] = ()


def mark_failed_by(report: pytest.TestReport, found: FailedBy, *, builtin: bool) -> None:
    """Tell what of its run a test failed by; gates bound what comes of a `builtin` one."""
    setattr(report, _FAILED_BY, [found.outcome.value, *found.rules])
    setattr(report, _BUILTIN, builtin)


def failed_by(report: pytest.TestReport) -> FailedBy | None:
    """Return what of its run a test failed by; `None` where it failed by anything else."""
    # A plugin that runs a failed item again has given the first report another outcome.
    found: Sequence[str] = report.__dict__.get(_FAILED_BY, ())
    return FailedBy(Outcome(found[0]), tuple(found[1:])) if found and report.failed else None


def is_builtin(report: pytest.TestReport) -> bool:
    """Tell whether a test that `failed_by` something is a built-in one."""
    return getattr(report, _BUILTIN, False)


def _plain(payload: Payload) -> dict[str, object]:
    values = {
        "plan": payload.plan,
        "line": payload.line,
        "events": payload.events,
        "taken_over": payload.taken_over,
        "inherited": payload.inherited,
        "is_rerun": payload.is_rerun,
    }
    return {name: value for name, value in values.items() if value not in {None, False}}


def sanitised(value: Any) -> Any:
    """Return the value in types that execnet carries, its text without lone surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if value is None or type(value) in {bool, float, bytes}:
        return value
    if type(value) is int:
        return value if SMALLEST <= value < LARGEST else hex(value)
    if isinstance(value, dict):
        return {sanitised(name): sanitised(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType] - a report holds anything
    if isinstance(value, list | tuple | set | frozenset):
        items = [sanitised(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - a report holds anything
        return tuple(items) if isinstance(value, tuple) else items
    return _encodable(_text(value))


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the value's own code, which may raise anything
        return f"<{type(value).__name__} that cannot be shown>"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
