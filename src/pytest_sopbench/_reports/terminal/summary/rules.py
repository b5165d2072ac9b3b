"""How the rules of a contract fared, in the summary and in a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.contract.rules import Severity
from pytest_sopbench._core.metrics.counts.rule_counts import RuleTally
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.broken_rules import must_first, rule_name
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, percent

_LABEL = 7


def contract_lines(summary: Summary, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the contract rate and a line for each broken rule, `must` first; others are counted.

    With a verbosity above 0 they stand beside one another. Nothing where no run has a contract.
    """
    tally = summary.contract
    if not (summary.rules or tally.runs):
        return
    held = [rule for rule in summary.rules if rule.exercised and not rule.broken]
    runs = f"{tally.held} of {tally.runs} runs{_unseen(summary)}"
    rate = f"contract {percent(summary.contract_rate)} ({runs})"
    many = [f"{counted(len(held), 'rule')} held"] if held and verbosity <= 0 else []
    yield from packed(f"{'rules':<{_LABEL}}{rate}", many, gap="   ", indent=_LABEL)
    for rule in must_first(summary.rules):
        if rule.broken:
            yield cut(f"{'':{_LABEL}}{_breach(rule)}", WIDTH)
    if verbosity > 0:
        yield from _enumerated("held", [_counts(rule) for rule in held])
        idle = [one_line(rule.id) for rule in summary.rules if not rule.exercised]
        yield from _enumerated("not exercised by any task:", idle)


def breach_lines(summary: Summary) -> Iterator[str]:
    """Yield the broken rules of severity `must` on one line; nothing where all of them hold."""
    must = (rule for rule in summary.rules if rule.severity is Severity.MUST and rule.broken)
    broken = [_breach(rule) for rule in must]
    if broken:
        yield from packed(f"{'':{_LABEL - 1}}", with_commas(broken), gap=" ", indent=_LABEL)


def _unseen(summary: Summary) -> str:
    """Return how many runs showed nothing of their contract, and why."""
    tally = summary.contract
    lost = sum(summary.outcomes.get(one, 0) for one in (Outcome.NOT_RUN, Outcome.CRASH))
    mute = tally.silent - min(lost, tally.silent)
    stopped = f", {counted(mute, 'run')} stopped before a call" if mute else ""
    return stopped + (f", {tally.silent - mute} never seen" if tally.silent - mute else "")


def _breach(rule: RuleTally) -> str:
    return f"{rule_name(rule)} broken in {rule.broken} of {rule.exercised}"


def _counts(rule: RuleTally) -> str:
    return f"{rule_name(rule)} {rule.held} of {rule.exercised}"


def _enumerated(word: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield from packed(f"{'':{_LABEL}}{word}", with_commas(parts), gap=" ", indent=_LABEL)
