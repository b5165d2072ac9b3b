"""What came of a rule as the line of a run holds it: short, since each run has one per rule."""

from __future__ import annotations

from typing import Any

from pytest_sopbench._core.contract.rules import RuleResult, Severity


def rule_to_json(result: RuleResult) -> dict[str, Any]:
    """Return what differs from the usual: a rule that applies, should hold and has no clause."""
    data: dict[str, Any] = {"id": result.id, "kind": str(result.kind), "state": result.state.value}
    if result.clause:
        data["clause"] = result.clause
    if result.severity is Severity.MUST:
        data["severity"] = result.severity.value
    if result.why:
        data["why"] = result.why
    if not result.applies:
        data["applies"] = False
    if result.unfinished:
        data["unfinished"] = True
    return data
