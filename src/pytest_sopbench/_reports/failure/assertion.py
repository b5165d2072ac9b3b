"""What a failed assertion on the calls of a run says: at most 15 lines.

pytest prints them behind `E`, the first one behind the name of the exception as well; together
they stay within 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.trajectory.calls import Unmet
from pytest_sopbench._reports.text import columns, cut, one_line, padded, shown

from .trajectory import SeenCall, call_text, rule_lines

WIDTH = 80 - len("E       ")
"""Columns of a line."""

TAKEN = len("AssertionError: ")
"""Columns of the first line that stand before it."""

ROWS = 9
"""Calls that are shown around the one that matters."""

RULES = 4
"""Broken rules that are shown, where the calls stand below them."""


def unmet_lines(words: str, unmet: Unmet, calls: Sequence[SeenCall]) -> list[str]:
    """Say what was asked for, why it is not so, and what was called instead."""
    return [
        cut(one_line(words), WIDTH - TAKEN),
        cut(one_line(unmet.why), WIDTH),
        *call_lines(calls, unmet.step),
    ]


def contract_lines(broken: Sequence[RuleResult], calls: Sequence[SeenCall]) -> list[str]:
    """Name the broken rules, and what was called."""
    count = len(broken)
    rules = rule_lines(broken, WIDTH)
    left = count - RULES
    return [
        f"{count} rules of the contract are broken" if count > 1 else "a rule is broken",
        *(one_line(line) for line in rules[:RULES]),
        *([f"and {left} more"] if left > 0 else ()),
        *call_lines(calls, None),
    ]


def call_lines(calls: Sequence[SeenCall], marked: int | None) -> Iterator[str]:
    """Yield the calls with what came back; `>` marks the step that matters, counted from 1."""
    if not calls:
        yield "calls: none"
        return
    first = max(0, min((marked or 1) - 1 - ROWS // 2, len(calls) - ROWS))
    if first:
        yield f"    ... {first} before"
    texts = [one_line(call_text(call.name, call.arguments)) for call in calls]
    seen = range(first, min(first + ROWS, len(calls)))
    side = min(max(columns(texts[at]) for at in seen), WIDTH * 5 // 8)
    for at in seen:
        mark = ">" if at + 1 == marked else " "
        yield cut(f"{mark}{at + 1:>3} {padded(texts[at], side)}  {_came_back(calls[at])}", WIDTH)
    left = len(calls) - seen.stop
    if left:
        yield f"    ... {left} more"


def _came_back(call: SeenCall) -> str:
    return f"-> {shown(call.result)}" if call.error is None else f"error: {one_line(call.error)}"
