"""Failures of the same kind, in one line each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from pytest_sopbench._core.fields.comparison import number_kind
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.model.run_notes import MISSING
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line, shown
from pytest_sopbench._reports.text.numbers import counted

KINDS: Final = 20
"""Kinds that are listed; the summary counts all."""


def kind_of(record: RunRecord) -> str:
    """Return what went wrong in a run, alike for runs that failed alike."""
    if record.mismatches:
        return ", ".join(map(_difference, record.mismatches))
    if record.problem is not None and record.problem.type == MISSING:
        # What was recorded and sent is another thing in each run; where they differ is the kind.
        first = record.problem.message.partition("\n")[0]
        return f"{record.outcome.value}: {MISSING}: {first}"
    if record.problem is not None:
        return f"{record.outcome.value}: {record.problem.type}: {record.problem.message}"
    return f"{record.outcome.value}: {record.reason}" if record.reason else record.outcome.value


def _difference(mismatch: Mismatch) -> str:
    """Return what differs in one field; each wrong number is another, and wrong all the same."""
    kind = number_kind(mismatch)
    values = f"{shown(mismatch.expected)} -> {shown(mismatch.actual)}"
    return f"{mismatch.field} {kind or values}"


def alike_lines(printed: Mapping[str, str], others: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield in one line for each kind what is not printed, the most frequent kind first.

    Args:
        printed: for each kind of which a failure is printed, its first task.
        others: for each kind, the tasks whose failures are not printed.
    """
    ordered = sorted(others.items(), key=lambda one: -len(one[1]))
    for kind, tasks in islice(ordered, KINDS):
        if kind in printed:
            told = f"and {len(tasks)} more like {printed[kind]}"
        else:
            told = f"and {tasks[0]}"
            told += f", and {len(tasks) - 1} more like it" if len(tasks) > 1 else ""
        yield cut(one_line(f"{told}: {kind}"), WIDTH)
    rest = ordered[KINDS:]
    if rest:
        failures = counted(sum(len(tasks) for _, tasks in rest), "failure")
        yield f"and {failures} of {counted(len(rest), 'other kind')}"
    if ordered:
        yield "-v prints each of them in full"
