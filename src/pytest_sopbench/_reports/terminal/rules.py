"""How the rules of a contract fared, in the summary and in a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.rule_counts import RuleTally
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.verdict import Outcome
from pytest_sopbench._reports.text.layout import WIDTH, cut, labelled, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, percent

_LABEL = 7
_SHOWN = 5
"""Broken rules that one failure shows."""


def contract_lines(summary: Summary) -> Iterator[str]:
    """Yield the contract rate, a line for each broken rule, and the others beside one another.

    Nothing where no run has a contract.
    """
    tally = summary.contract
    if not (summary.rules or tally.runs):
        return
    lost = sum(summary.outcomes.get(one, 0) for one in (Outcome.NOT_RUN, Outcome.CRASH))
    mute = tally.silent - min(lost, tally.silent)
    silent = f", {counted(mute, 'run')} stopped before a call" if mute else ""
    silent += f", {tally.silent - mute} never seen" if tally.silent - mute else ""
    rate = f"contract {percent(tally.rate)} ({tally.held} of {tally.runs} runs{silent})"
    yield f"{'rules':<{_LABEL}}{rate}"
    for rule in summary.rules:
        if rule.broken:
            count = rule.exercised - rule.held
            yield cut(f"{'':{_LABEL}}{_name(rule)} broken in {count} of {rule.exercised}", WIDTH)
    held = [_counts(rule) for rule in summary.rules if rule.exercised and not rule.broken]
    yield from _enumerated("held", held)
    idle = [one_line(rule.id) for rule in summary.rules if not rule.exercised]
    yield from _enumerated("not exercised by any task:", idle)


def broken_lines(rules: Sequence[RuleResult], width: int) -> Iterator[str]:
    """Yield what a failure says of the rules that its run has broken."""
    broken = sorted((one for one in rules if one.broken), key=lambda one: one.severity.value)
    for one in broken[:_SHOWN]:
        yield from labelled("rule", f"{_name(one)}: {one_line(one.why)}", width=width, lines=2)
    left = len(broken) - _SHOWN
    if left > 0:
        yield from labelled("", f"and {counted(left, 'more rule')}", width=width)


def _counts(rule: RuleTally) -> str:
    return f"{_name(rule)} {rule.held} of {rule.exercised}"


def _name(rule: RuleTally | RuleResult) -> str:
    said = [rule.clause] if rule.clause else []
    said += ["must"] if rule.severity is Severity.MUST else []
    return one_line(f"{rule.id} ({', '.join(said)})" if said else rule.id)


def _enumerated(word: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield from packed(f"{'':{_LABEL}}{word}", with_commas(parts), gap=" ", indent=_LABEL)
