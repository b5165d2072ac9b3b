"""Which runs may become a snapshot: what was approved once is compared for ever after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.model.trajectory import Call, Trajectory
from pytest_sopbench._core.trajectory.document_snapshot import as_trajectory
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome

from .record import RunRecord

CUT = "a value was cut in the session; approve it with pytest --snapshot-update"

_HASH = re.compile(r"[0-9a-f]{64}")


def refusal(outcome: Outcome, rules: Iterable[RuleResult]) -> str:
    """Say why a run may not be approved, or nothing: it is not correct, or breaks its contract."""
    if outcome is not Outcome.CORRECT:
        return outcome.value.replace("_", " ")
    broken = [rule.id for rule in rules if rule.broken]
    return f"breaks {', '.join(broken)}" if broken else ""


def record_refusal(record: RunRecord) -> str:
    """Say why a recorded run may not be approved, or nothing."""
    why = refusal(record.outcome, record.rules)
    kept = [call.arguments for call in record.calls]
    if record.document is not None and record.answer is not None:
        kept = list(record.answer.values())
    if not why and any(map(_is_cut, kept)):
        return CUT
    return why


def recorded_trajectory(record: RunRecord) -> Trajectory:
    """Return what a snapshot of a run holds: its calls, or the document that it gave."""
    if record.document is not None:
        return as_trajectory(record.answer or {})
    return Trajectory(
        calls=tuple(
            Call(name=call.name, arguments=call.arguments, overlaps=call.overlaps)
            for call in record.calls
        )
    )


def _is_cut(arguments: JsonValue) -> bool:
    """Tell the hash and size that a record keeps of a value that is too long for it."""
    if not isinstance(arguments, Mapping) or set(arguments) != {"sha256", "characters"}:
        return False
    digest, size = arguments["sha256"], arguments["characters"]
    return isinstance(digest, str) and isinstance(size, int) and bool(_HASH.fullmatch(digest))
