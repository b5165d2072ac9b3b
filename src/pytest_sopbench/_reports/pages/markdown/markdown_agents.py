"""The agents of a session, as parts of a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_sopbench._core.comparing.leaderboard import Leaderboard
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import agent_of
from pytest_sopbench._reports.terminal.comparison.leaderboard import (
    difference_text,
    leaderboard_cells,
)

from .markdown_blocks import escaped, table


def leaderboard_block(board: Leaderboard | None) -> Iterator[str]:
    """Yield a section on the agents, best first, or nothing where there is one agent."""
    if board is None:
        return
    rows = {one.label: leaderboard_cells(one.summary) for one in board.standings}
    yield "## Leaderboard"
    yield ""
    heads = (f"{head}, %" if head in _RATES else head for head in next(iter(rows.values())))
    cells = ((escaped(name), *map(_cell, row.values())) for name, row in rows.items())
    yield from table(("agent", *heads), cells)
    yield ""
    yield f"Pairs: {escaped(difference_text(board))}"
    if any("*" in cell for row in rows.values() for cell in row.values()):
        yield ""
        yield escaped("* a mean over the runs that told it, and not over all")


def _cell(text: str) -> str:
    # A number with its mark; intervals stand in their brackets as in the table of domains.
    return escaped(text) if "*" in text else text


def pooled_by_agent(summaries: Mapping[str, Summary]) -> Mapping[str, Mapping[str, Summary]]:
    """Return the groups that are pooled, by what they are called together: those of one agent."""
    agents = dict.fromkeys(map(agent_of, summaries))
    mine = {
        agent: {name: one for name, one in summaries.items() if agent_of(name) == agent}
        for agent in agents
    }
    return {
        f"pooled ({agent})" if len(agents) > 1 else "pooled": groups
        for agent, groups in mine.items()
        if len(groups) > 1
    }


_RATES = frozenset({"TSR", "ECR", "C-TSR", "contract"})
