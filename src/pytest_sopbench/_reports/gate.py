"""One line for each gate: what it asked, what it got, and what that means."""

from __future__ import annotations

from pytest_sopbench._core.gates import GateVerdict


def gate_line(verdict: GateVerdict) -> str:
    """Return the line of one gate that was evaluated."""
    where = f"{verdict.where}: " if verdict.where else ""
    why = f": {verdict.why}" if verdict.why else ""
    return f"gate   {where}{verdict.asked} {verdict.state} (got {verdict.got}){why}"


def not_evaluated_line(why: str) -> str:
    """Return the line that says that no gate was asked, and why not."""
    return f"gate   not evaluated: {why}"
