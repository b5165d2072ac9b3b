"""What several trials of a task say, on a page; nothing where each task has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.trials import disagreements
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.terminal.summary.trials import LIMIT, trials_per_task
from pytest_sopbench._reports.text.numbers import interval, percent

from .markdown_blocks import escaped, table

_HEADS = ("domain", "trials per task", "pass any", "95 %", "pass all", "95 %")


def trials_block(summaries: Mapping[str, Summary], records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield pass any and pass all by domain, and the tasks whose trials disagree."""
    rows = [_row(escaped(name), one) for name, one in summaries.items() if one.trials_by]
    if not rows:
        return
    yield "## Trials"
    yield ""
    yield from table(_HEADS, rows)
    found = sorted(
        disagreements((one.key, one.outcome) for one in records), key=lambda one: one.rate
    )
    if not found:
        return
    yield ""
    tasks = [
        (escaped(f"{one.domain}/{one.task}"), f"{one.correct} of {one.trials}")
        for one in found[:LIMIT]
    ]
    yield from table(("trials disagree in", "correct"), tasks)
    if len(found) > LIMIT:
        yield ""
        yield f"and {len(found) - LIMIT} more"


def _row(name: str, summary: Summary) -> Sequence[str]:
    bounds = summary.trial_bounds
    return (
        name,
        trials_per_task(summary.trials),
        percent(summary.pass_any),
        interval(bounds.pass_any),
        percent(summary.pass_all),
        interval(bounds.pass_all),
    )
