"""How the rules of a contract fared, in the summary and in a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.metrics.rule_counts import RuleTally
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.broken_rules import rule_name
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, percent

_LABEL = 7


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
            name, count = rule_name(rule), rule.exercised - rule.held
            yield cut(f"{'':{_LABEL}}{name} broken in {count} of {rule.exercised}", WIDTH)
    held = [_counts(rule) for rule in summary.rules if rule.exercised and not rule.broken]
    yield from _enumerated("held", held)
    idle = [one_line(rule.id) for rule in summary.rules if not rule.exercised]
    yield from _enumerated("not exercised by any task:", idle)


def _counts(rule: RuleTally) -> str:
    return f"{rule_name(rule)} {rule.held} of {rule.exercised}"


def _enumerated(word: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield from packed(f"{'':{_LABEL}}{word}", with_commas(parts), gap=" ", indent=_LABEL)
