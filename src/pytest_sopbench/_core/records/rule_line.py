"""What came of a rule as the line of a run holds it: short, since each run has one per rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.contract.ruling import RuleState


def kept_rule(result: RuleResult) -> RuleResult:
    """Drop the reason of a rule that is not broken: a reader can do without it."""
    return result if result.broken else replace(result, why="")


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


def rule_from_json(data: Mapping[str, Any]) -> RuleResult:
    """Read what `rule_to_json` wrote.

    Raises:
        KeyError: a key is missing.
        ValueError: a key holds a word that it does not know.
    """
    from pytest_sopbench._core.contract.demands import DEMANDS  # noqa: PLC0415 - only where there is a contract

    if data["kind"] not in DEMANDS:
        msg = f"{data['kind']!r} is no demand of a rule"
        raise ValueError(msg)
    return RuleResult(
        id=data["id"],
        clause=data.get("clause", ""),
        severity=Severity(data.get("severity", Severity.SHOULD)),
        kind=data["kind"],
        state=RuleState(data["state"]),
        why=data.get("why", ""),
        applies=data.get("applies", True),
        unfinished=data.get("unfinished", False),
    )
