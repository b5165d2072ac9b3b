"""The rules that a run has broken, as its failure shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.counts.rule_counts import RuleTally
from pytest_sopbench._reports.text.layout import labelled, one_line
from pytest_sopbench._reports.text.numbers import counted

AnyRule = TypeVar("AnyRule", RuleResult, RuleTally)

_SHOWN = 5
"""Broken rules that one failure shows."""


def broken_lines(rules: Sequence[RuleResult], width: int) -> Iterator[str]:
    """Yield what a failure says of the rules that its run has broken."""
    broken = must_first([one for one in rules if one.broken])
    for one in broken[:_SHOWN]:
        yield from labelled("rule", f"{rule_name(one)}: {one_line(one.why)}", width=width, lines=2)
    left = len(broken) - _SHOWN
    if left > 0:
        yield from labelled("", f"and {counted(left, 'more rule')}", width=width)


def must_first(rules: Iterable[AnyRule]) -> list[AnyRule]:
    """Return rules with those before all others whose breach fails the session."""
    return sorted(rules, key=lambda one: one.severity is not Severity.MUST)


def rule_name(rule: RuleTally | RuleResult) -> str:
    said = [rule.clause] if rule.clause else []
    said += ["must"] if rule.severity is Severity.MUST else []
    return one_line(f"{rule.id} ({', '.join(said)})" if said else rule.id)
