"""What became of the tasks since a baseline, as the first screen of a page says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.comparing.comparison import (
    ComparisonResult,
    GroupComparison,
    SessionComparison,
)
from pytest_sopbench._core.comparing.pairs import NotCompared
from pytest_sopbench._reports.terminal.comparison.comparison import p_value, setup_text
from pytest_sopbench._reports.text.numbers import counted

HOLDS, FAILS, OPEN = "holds", "fails", "open"
"""What a verdict comes to; the page shows each by a sign, a word and a colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison in words; `title` names the domain or agent, where there are several."""

    title: str
    state: str
    tier: str
    words: str
    lost: int
    gained: int
    p: str


def compared_lines(compared: SessionComparison | None) -> Sequence[Compared]:
    """Return one line, or with several agents one for each, since two have no common verdict."""
    if compared is None:
        return ()
    if compared.has_agents:
        return [_compared(title, one) for title, one in compared.groups.items()]
    several = len(compared.groups) > 1
    groups = [_compared(title, one) for title, one in compared.groups.items()] if several else []
    return [_compared("", compared.pooled), *groups]


def setups_of(compared: SessionComparison | None) -> Sequence[str]:
    """Return what differs in the agents themselves."""
    return [setup_text(one) for one in compared.setups] if compared else ()


def aside_lines(compared: SessionComparison | None) -> Iterator[str]:
    """Yield how many tasks were not compared, and why."""
    if compared is None:
        return
    pooled = compared.pooled
    for reason in NotCompared:
        number = sum(why is reason for why in pooled.aside.values())
        if number:
            yield f"not compared, {reason}: {counted(number, 'task')}"
    if pooled.not_correct:
        yield f"not compared, and not correct now: {counted(len(pooled.not_correct), 'task')}"
    if pooled.may_fail:
        yield f"not compared, may fail: {counted(len(pooled.may_fail), 'task')}"
    if pooled.doubt:
        yield f"nothing to rely on: {pooled.doubt}"


def _compared(title: str, one: GroupComparison) -> Compared:
    state = {ComparisonResult.REGRESSION: FAILS, ComparisonResult.IMPROVEMENT: HOLDS}.get(
        one.tier, OPEN
    )
    if one.tier is ComparisonResult.NOT_COMPARABLE:
        words = one.why
    elif not one.paired:
        words = "no task can be compared"
    else:
        needed = (
            f"; p < 0.05 takes at least {one.needed}"
            if one.tier is ComparisonResult.NOT_ENOUGH
            else ""
        )
        words = f"{one.discordant} of {counted(one.paired, 'paired task')} changed{needed}"
    told = one.tier is not ComparisonResult.NOT_COMPARABLE and one.paired
    return Compared(
        title=title,
        state=state,
        tier=one.tier.value,
        words=words,
        lost=len(one.lost),
        gained=len(one.gained),
        p=p_value(one.test.p) if told else "",
    )
