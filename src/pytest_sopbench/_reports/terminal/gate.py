"""Each gate: what it asked, what it got, and what that means."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.gates.conditions.summary_gates import GateVerdict
from pytest_sopbench._reports.text.layout import one_line, packed


def gate_lines(verdict: GateVerdict) -> Iterator[str]:
    """Yield one gate that was evaluated, 80 columns wide."""
    where = f"{verdict.where}: " if verdict.where else ""
    why = f": {verdict.why}" if verdict.why else ""
    text = f"{where}{verdict.asked} {verdict.found}{why}"
    return packed("gate  ", one_line(text).split(), gap=" ", indent=7)


def not_evaluated_lines(why: str) -> Iterator[str]:
    """Yield that no gate was asked, and why not."""
    return packed("gate  ", one_line(f"not evaluated: {why}").split(), gap=" ", indent=7)
