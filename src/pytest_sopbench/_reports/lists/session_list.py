"""The runs of a session that somebody should look at, in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.model.agent_labels import telling_labels
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import LIMIT, miss_line
from pytest_sopbench._reports.text.numbers import counted
from pytest_sopbench._reports.text.shell import shell_word


def listed_runs(
    records: Sequence[RunRecord], *, limit: int = LIMIT, session: str = "last"
) -> Iterator[str]:
    """Yield the runs that are not correct, then those that are and broke a rule.

    Args:
        records: every run of the session.
        limit: how many of each kind are listed.
        session: what the session was asked for by.
    """
    others = [one for one in records if one.outcome is not Outcome.CORRECT]
    broke = [
        one
        for one in records
        if one.outcome is Outcome.CORRECT and any(rule.broken for rule in one.rules)
    ]
    runs = counted(len(records), "run")
    yield f"{len(others)} of {runs} {'is' if len(others) == 1 else 'are'} not correct"
    labels = telling_labels({one.agent for one in records})
    yield from _listed(others, limit, labels)
    if broke:
        yield f"{counted(len(broke), 'run is', 'runs are')} correct and broke a rule"
        yield from _listed(broke, limit, labels)
    if others or broke:
        yield f"one in full: sopbench show {shell_word(session)} TASK"


def _listed(records: Sequence[RunRecord], limit: int, labels: Mapping[str, str]) -> Iterator[str]:
    yield from (miss_line(one, labels.get(one.agent)) for one in records[:limit])
    if len(records) > limit:
        yield f"and {len(records) - limit} more; --all lists them"
