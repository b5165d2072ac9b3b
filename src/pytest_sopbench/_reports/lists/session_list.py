"""The runs of a session that somebody should look at; those that went wrong alike share a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import DIRECTION, LIMIT, MissGroups, namer
from pytest_sopbench._reports.text.layout import WIDTH
from pytest_sopbench._reports.text.numbers import counted
from pytest_sopbench._reports.text.shell import shell_word


def listed_runs(
    records: Sequence[RunRecord],
    *,
    limit: int | None = LIMIT,
    session: str = "last",
    width: int = WIDTH,
) -> Iterator[str]:
    """Yield the runs that are not correct, then those that are and broke a rule.

    Args:
        records: every run of the session.
        limit: how many kinds of each are listed; with `None` all of them, and all of their tasks.
        session: what the session was asked for by.
        width: columns of a line.
    """
    others = MissGroups(one for one in records if one.outcome is not Outcome.CORRECT)
    broke = MissGroups(
        one
        for one in records
        if one.outcome is Outcome.CORRECT and any(rule.broken for rule in one.rules)
    )
    named = namer([one.key for one in records])
    runs, said = counted(len(records), "run"), f" ({DIRECTION})" if others.has_differences() else ""
    yield f"{len(others)} of {runs} {'is' if len(others) == 1 else 'are'} not correct{said}"
    lines = [*others.lines(limit=limit, width=width, named=named)]
    if len(broke):
        lines.append(f"{counted(len(broke), 'run is', 'runs are')} correct and broke a rule")
        lines += broke.lines(limit=limit, width=width, named=named)
    yield from lines
    if any(line.endswith(" more") or line.startswith("and ") for line in lines):
        yield "--all names every one of them"
    if len(others) or len(broke):
        yield f"one in full: sopbench show {shell_word(session)} TASK"
