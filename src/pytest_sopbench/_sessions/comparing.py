"""Put a saved session beside another one, as a comparison wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_sopbench._core.compare_sessions import ComparedSession, SessionComparison, compare
from pytest_sopbench._core.models import OutputField
from pytest_sopbench._core.records import RunRecord
from pytest_sopbench._core.task_entries import TaskName
from pytest_sopbench.errors import SessionFileError

from .gating import quarantined
from .reader import SavedSession
from .slim import slimmed
from .whole import planned_records, selection_of, shard_of

NO_FIELDS: Final[Mapping[str, Sequence[OutputField]]] = MappingProxyType({})


def compare_saved(
    baseline: SavedSession,
    current: SavedSession,
    *,
    fields: Mapping[str, Sequence[OutputField]] = NO_FIELDS,
) -> SessionComparison:
    """Compare a session with a baseline, as far as both files tell.

    What the options of the current session did not select is left out: domains that it was not run
    on (see `domains_left_out`), and, where it was run on a part of the tasks, those that it did
    not plan. With a slim baseline nothing but outcomes and names of calls is compared.

    Args:
        baseline: the session that was accepted.
        current: the session in question, which tells which tasks may fail.
        fields: the output fields of the domains that are at hand.

    Raises:
        SessionFileError: one of the two is a shard.
    """
    kept = _slimmed if baseline.slim or current.slim else _whole
    left_out = domains_left_out(baseline, current)
    return compare(
        ComparedSession(
            name=baseline.name,
            records=[one for one in kept(baseline) if one.domain not in left_out],
            judging=_judging(baseline, current),
        ),
        ComparedSession(
            name=current.name, records=kept(current), judging=_judging(current, baseline)
        ),
        left_out=set(_not_selected(baseline, current)),
        may_fail=quarantined(current),
        fields=fields,
    )


def domains_left_out(baseline: SavedSession, current: SavedSession) -> frozenset[str]:
    """Return the domains that the baseline has and the current session was not run on."""
    return frozenset(baseline.header.domains) - frozenset(current.header.domains)


def _whole(saved: SavedSession) -> Sequence[RunRecord]:
    if shard_of(saved) is not None:
        msg = f"{saved.path}: a shard is a part of the tasks, and cannot be compared"
        raise SessionFileError(msg, hint="put the shards together with sopbench merge first")
    return planned_records(saved)


def _slimmed(saved: SavedSession) -> Sequence[RunRecord]:
    # What only one of the two knows would read as a change.
    return tuple(map(slimmed, _whole(saved)))


def _judging(saved: SavedSession, beside: SavedSession) -> str:
    """Return how the domains that both sessions have were judged in one of them."""
    shared = sorted(saved.header.domains.keys() & beside.header.domains.keys())
    each = [one.header.domains[name].judging for one in (saved, beside) for name in shared]
    if not all(each) or not shared:
        return saved.header.judging
    return " ".join(saved.header.domains[name].judging for name in shared)


def _not_selected(baseline: SavedSession, current: SavedSession) -> Iterator[TaskName]:
    if not selection_of(current):
        return
    planned = {name: frozenset(one.planned) for name, one in current.header.domains.items()}
    for record in baseline.records:
        name = TaskName(record.domain, record.task)
        if name.domain in planned and name.task not in planned[name.domain]:
            yield name
