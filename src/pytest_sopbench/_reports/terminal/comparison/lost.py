"""The tasks that were lost since a baseline, each in full: they are what to look at first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import LIMIT
from pytest_sopbench._reports.text.layout import heading, one_line
from pytest_sopbench._reports.text.numbers import counted


def lost_records(
    records: Sequence[RunRecord], lost: Collection[tuple[str, str, str]]
) -> Sequence[RunRecord]:
    """Return the first run of each lost task that is not correct, in the order of the session.

    Args:
        records: of the current session.
        lost: domain, task and agent of each lost task; the agent is empty where one was compared.
    """
    found: dict[tuple[str, str, str], RunRecord] = {}
    for one in records:
        names = [(one.domain, one.task, agent) for agent in ("", one.agent)]
        name = next((name for name in names if name in lost), None)
        if name is not None and one.outcome is not Outcome.CORRECT:
            found.setdefault(name, one)
    return tuple(found.values())


def lost_lines(
    records: Sequence[RunRecord],
    baseline: str,
    full: Callable[[RunRecord], str],
) -> Iterator[str]:
    """Yield a section with all that is known of the lost tasks, or nothing without one.

    Args:
        records: the first run of each lost task that is not correct.
        baseline: what the session was compared with.
        full: returns all that is to be said of a run.
    """
    if not records:
        return
    yield heading(f"SOP: {counted(len(records), 'task')} lost since {one_line(baseline)}")
    for number, record in enumerate(records[:LIMIT]):
        if number:
            yield ""
        yield from full(record).splitlines()
    if len(records) > LIMIT:
        yield f"and {len(records) - LIMIT} more; the saved session holds all of them"


def keys_of(records: Sequence[RunRecord]) -> frozenset[RunKey]:
    """Return the runs that the section shows."""
    return frozenset(one.key for one in records[:LIMIT])
