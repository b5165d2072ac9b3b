"""What happened to a task, and why, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.task import expected_text, headline
from pytest_sopbench._reports.text.layout import labelled, one_line, shown
from pytest_sopbench._reports.text.numbers import counted


def explained(records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield how the runs of one task ended, and why the first that is not correct is not.

    Args:
        records: the runs of the task, at least one.
    """
    wrong = [one for one in records if one.outcome is not Outcome.CORRECT]
    first = wrong[0] if wrong else records[0]
    yield from labelled("task", one_line(f"{first.domain}/{first.task}: {headline(first)}"))
    yield from _other_lines(records, first)
    for mismatch in first.mismatches:
        values = f"expected {expected_text(mismatch)}, given {shown(mismatch.actual)}"
        yield from labelled("field", f"{one_line(mismatch.field)}: {values} ({mismatch.why})")
    if first.problem is not None:
        yield from labelled("raised", one_line(f"{first.problem.type}: {first.problem.message}"))
    yield from labelled("calls", _calls(first))
    for rule in first.rules:
        if rule.broken:
            clause = f"{rule.clause}, " if rule.clause else ""
            told = f"{rule.id} ({clause}{rule.severity}) is broken: {rule.why}"
            yield from labelled("rule", one_line(told))


def _other_lines(records: Sequence[RunRecord], first: RunRecord) -> Iterator[str]:
    """Say of how many runs this is one; what another agent did says nothing of this one."""
    mine = [one for one in records if one.agent == first.agent]
    if len(mine) < len(records):
        yield from labelled("agent", one_line(first.agent))
    if len(mine) > 1:
        right = sum(one.outcome is Outcome.CORRECT for one in mine)
        what = f"{right} of {counted(len(mine), 'run')} of it are correct"
        yield from labelled("runs", f"{what}; this is trial {first.trial}")
    others = {one.agent for one in records} - {first.agent}
    for agent in sorted(others):
        ends = [one.outcome for one in records if one.agent == agent]
        beside = f"{ends.count(Outcome.CORRECT)} of {counted(len(ends), 'run')} correct"
        yield from labelled("beside", one_line(f"{agent}: {beside}"))


def _calls(record: RunRecord) -> str:
    if not record.calls:
        return "no tool was called"
    failed = [call for call in record.calls if call.error is not None]
    made = counted(len(record.calls), "tool call")
    if not failed:
        return f"{made}, all answered"
    first = failed[0]
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return one_line(f"{made}, {len(failed)} failed: {first.name}: {first.error}{more}")
