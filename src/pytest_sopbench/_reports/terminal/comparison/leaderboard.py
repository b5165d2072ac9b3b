"""The leaderboard of a session with several agents, and what its differences come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.comparing.leaderboard import Difference, Leaderboard, Standing
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.statistics.paired_tests import ALPHA
from pytest_sopbench._reports.terminal.summary.rates import LABEL
from pytest_sopbench._reports.text.layout import WIDTH, columns, heading, one_line, packed
from pytest_sopbench._reports.text.numbers import (
    NOT_AVAILABLE,
    amount,
    counted,
    interval,
    money,
    percent,
    seconds,
    unavailable,
)

from .comparison import p_value

_FEW: Final = 3
"""Pairs without a shown difference that are named; more are counted."""

_CONSUMED: Final = {"tokens": ("input_tokens", "output_tokens"), "cost": ("cost_usd",)}


def leaderboard_lines(board: Leaderboard, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the agents, best first, and below them which differences are more than chance.

    It is 80 columns wide; with a verbosity above 0 it has more columns, and a line for each pair.
    A label that finds no room beside its numbers stands on a line of its own, whole.
    """
    is_closer = verbosity > 0
    yield heading(f"SOP: leaderboard, {len(board.standings)} agents, rates in %")
    rows = {
        one_line(one.label): leaderboard_cells(one.summary, is_closer=is_closer)
        for one in board.standings
    }
    yield from _table(rows, room=None if is_closer else WIDTH)
    yield from _part_lines(board.standings)
    yield from packed(
        f"{'pairs':<{LABEL - 1}}", difference_text(board).split(), gap=" ", indent=LABEL
    )
    yield from _pair_lines(board) if is_closer else ()


def leaderboard_cells(summary: Summary, *, is_closer: bool = False) -> Mapping[str, str]:
    """Return what a leaderboard tells of an agent, by column; what is unknown is `n/a`.

    Tokens, cost and time are those of a run: means of what was told, and a median. A star stands
    where some of the runs did not tell.
    """
    rates = {"TSR": summary.tsr, "ECR": summary.ecr, "C-TSR": summary.c_tsr}
    rates["contract"] = summary.contract_rate
    shown = {name: percent(rate).removesuffix("%") for name, rate in rates.items()}
    mean = {name: one.mean for name, one in summary.usage.items()}
    sent, written = mean.get("input_tokens"), mean.get("output_tokens")
    together = None if sent is None or written is None else sent + written
    consumed = {"tokens": amount(together), "cost": money(mean.get("cost_usd"))}
    cells = {
        "TSR": shown.pop("TSR"),
        "95 %": interval(summary.tsr_bounds) or NOT_AVAILABLE,
        **shown,
        **{name: f"{text}{_star(summary, name)}" for name, text in consumed.items()},
        "median": seconds(summary.latency_median),
    }
    return {**cells, **_more_cells(summary)} if is_closer else cells


def difference_text(board: Leaderboard) -> str:
    """Say which differences between agents are more than chance, and what the others are."""
    names = {one.agent: one_line(one.label) for one in board.standings}
    tested = [one for one in board.differences if not one.why]
    shown = [one for one in tested if one.is_shown]
    small = [one for one in tested if one.is_too_small]
    others = [one for one in tested if not (one.is_shown or one.is_too_small)]
    parts = [f"more than chance: {', '.join(_shown(one, names) for one in shown)}"] if shown else []
    if others:
        parts.append(f"no more than chance: {_pairs(others, names)}")
    if small:
        least = f"p < {ALPHA} takes at least {small[0].needed}"
        parts.append(f"too few tasks differ to tell: {_pairs(small, names)}; {least}")
    if tested:
        parts[-1] += f" ({_method(tested)})"
    apart = [one for one in board.differences if one.why]
    parts += [f"not compared: {_pair(one, names)}: {one.why}" for one in apart[:_FEW]]
    if len(apart) > _FEW:
        parts.append(f"and {counted(len(apart) - _FEW, 'pair')} more not compared")
    return "; ".join(parts)


def _more_cells(summary: Summary) -> Mapping[str, str]:
    mean = {name: one.mean for name, one in summary.usage.items()}
    cost = summary.usage.get("cost_usd")
    return {
        "correct": f"{summary.correct} of {summary.runs}",
        "tokens in": amount(mean.get("input_tokens")),
        "out": amount(mean.get("output_tokens")),
        "model calls": amount(mean.get("model_calls")),
        "tool calls": amount(summary.calls_per_run),
        "total cost": money(cost.total if cost else None),
        "p95": seconds(summary.latency_p95),
    }


def _star(summary: Summary, column: str) -> str:
    """Return a star where a mean over some of the runs could read as one over all of them."""
    known = [summary.usage[name].known for name in _CONSUMED[column] if name in summary.usage]
    return "*" if len(known) == len(_CONSUMED[column]) and min(known) < summary.runs else ""


def _part_lines(standings: Sequence[Standing]) -> Iterator[str]:
    for one in standings:
        if one.summary.unavailable:
            yield f"{'note':<{LABEL}}{one_line(one.label)}: {unavailable(one.summary)}"
    if any(_star(one.summary, column) for one in standings for column in _CONSUMED):
        yield f"{'note':<{LABEL}}* a mean over the runs that told it, and not over all"


def _table(rows: Mapping[str, Mapping[str, str]], *, room: int | None) -> Iterator[str]:
    """Yield a table whose columns are as wide as they need, numbers to the right."""
    heads = [*next(iter(rows.values()))]
    widths = [
        max(columns(one) for one in (head, *(row[head] for row in rows.values()))) for head in heads
    ]
    longest = max(map(columns, (*rows, "agent")))
    left = longest if room is None else min(longest, max(room - sum(widths) - len(widths), 0))
    yield _row("agent" if left >= len("agent") else "", heads, left, widths)
    for name, row in rows.items():
        if columns(name) > left:
            yield name
        yield _row(name if columns(name) <= left else "", [*row.values()], left, widths)


def _row(name: str, cells: Sequence[str], left: int, widths: Sequence[int]) -> str:
    filled = (
        f"{' ' * (width - columns(one))}{one}" for one, width in zip(cells, widths, strict=True)
    )
    return f"{name}{' ' * (left - columns(name))} {' '.join(filled)}".rstrip()


def _pair_lines(board: Leaderboard) -> Iterator[str]:
    """Yield every pair that was tested, with p before and after the adjustment."""
    names = {one.agent: one_line(one.label) for one in board.standings}
    for one in board.differences:
        if not one.why:
            tasks = f"{one.ahead} to {one.behind} of {counted(one.paired, 'task')}"
            tests = f"{p_value(one.test.p)}, adjusted {p_value(one.p)} ({one.test.source})"
            yield f"{'':<{LABEL}}{_pair(one, names)}: {tasks}, {tests}"


def _shown(one: Difference, names: Mapping[str, str]) -> str:
    tasks = f"{one.ahead} tasks to {one.behind}"
    return f"{names[one.first]} over {names[one.second]} ({tasks}, {p_value(one.p)})"


def _pairs(some: Sequence[Difference], names: Mapping[str, str]) -> str:
    if len(some) > _FEW:
        return counted(len(some), "pair")
    return ", ".join(
        f"{_pair(one, names)} ({one.ahead} tasks to {one.behind}, {p_value(one.p)})" for one in some
    )


def _pair(one: Difference, names: Mapping[str, str]) -> str:
    return f"{names[one.first]} and {names[one.second]}"


def _method(tested: Sequence[Difference]) -> str:
    tests = dict.fromkeys(one.test.source.partition(",")[0] for one in tested)
    pairs = f", Holm over {len(tested)} pairs" if len(tested) > 1 else ""
    return f"{' and '.join(tests)} test by task{pairs}"
