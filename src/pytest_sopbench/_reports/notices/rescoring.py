"""What became of a session when it was judged again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.agent_labels import telling_labels
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line
from pytest_sopbench._reports.text.numbers import NOT_AVAILABLE, counted, rate_of_runs

LIMIT = 20
"""Runs of one kind that are printed."""

Scored = tuple[Mapping[str, Summary], Scoring]
"""The summaries of a session, and whose rules they come from."""


def rescored_lines(
    before: Scored, after: Scored, changed: Sequence[tuple[RunRecord, RunRecord]]
) -> Iterator[str]:
    """Yield the rate of each domain before and after, then the runs with another outcome."""
    for name, summary in after[0].items():
        old = before[0].get(name)
        was = rate_of_runs(old.tsr, old) if old else NOT_AVAILABLE
        yield (
            f"{one_line(name)}: TSR {was} ({before[1].value})"
            f" -> {rate_of_runs(summary.tsr, summary)} ({after[1].value}),"
            f" {counted(summary.runs, 'run')}"
        )
    yield f"{counted(len(changed), 'run has', 'runs have')} another outcome"
    labels = telling_labels({one.agent for one, _ in changed})
    for old_run, new_run in changed[:LIMIT]:
        what = f"{old_run.outcome.value} -> {new_run.outcome.value}"
        why = f": {one_line(new_run.reason)}" if new_run.reason else ""
        by = f"[{one_line(labels[old_run.agent])}]" if labels else ""
        yield cut(f"  {_name(old_run)}{by} {what}{why}", WIDTH)
    yield from _rest(len(changed))


def refused_lines(refused: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """Say how many runs cannot be judged again, and why; the rest of the session is no use then."""
    count = sum(map(len, refused.values()))
    yield f"sopbench: {counted(count, 'run')} cannot be judged again, so nothing is written"
    for why, runs in refused.items():
        yield f"{counted(len(runs), 'run')}: {why}"
        for one in runs[:LIMIT]:
            yield cut(f"  {_name(one)}", WIDTH)
        yield from _rest(len(runs))


def _rest(count: int) -> Iterator[str]:
    if count > LIMIT:
        yield f"  and {count - LIMIT} more"


def _name(record: RunRecord) -> str:
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    return f"{one_line(f'{record.domain}/{record.task}')}{trial}"
