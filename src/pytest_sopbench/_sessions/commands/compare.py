"""Put a saved session beside another one, as a comparison wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession, SessionComparison
from pytest_sopbench._core.model.task import OutputField, TaskName
from pytest_sopbench._sessions.file.writer import slimmed
from pytest_sopbench._sessions.header import setups_of
from pytest_sopbench._sessions.reading.saved import SavedSession, planned_records, shard_of
from pytest_sopbench.errors import SessionFileError

from .gate import forgiven_in

NO_FIELDS: Final[Mapping[str, Sequence[OutputField]]] = MappingProxyType({})


def compare_saved(
    baseline: SavedSession,
    current: SavedSession,
    *,
    fields: Mapping[str, Sequence[OutputField]] = NO_FIELDS,
) -> SessionComparison:
    """Compare a session with a baseline, as far as both files tell.

    What the options of the current session did not select is left out: domains that it was not run
    on and agents that did not run here (see `domains_left_out`, `agents_left_out`), and, where it
    was run on a part of the tasks, those that it did not plan. With a slim baseline nothing but
    outcomes and names of calls is compared.

    Args:
        baseline: the session that was accepted.
        current: the session in question, which tells which tasks may fail.
        fields: the output fields of the domains that are at hand.

    Raises:
        SessionFileError: one of the two is a shard, or they have no agent in common and one of them
            has several.
    """
    domains, agents = domains_left_out(baseline, current), agents_left_out(baseline, current)
    before = _compared(baseline, current, "the baseline")
    kept = [one for one in before.records if one.domain not in domains and one.agent not in agents]
    # Tasks may have fallen which a baseline that was cut short does not know. A slim baseline has
    # no last line; what it lacks stands among its doubts.
    ended = baseline.finished or baseline.slim
    doubt = before.doubt or ("" if ended else "the baseline did not come to its end")
    return compare(
        replace(before, records=kept, doubt=doubt),
        _compared(current, baseline, "the session"),
        left_out=set(_not_selected(baseline, current)),
        may_fail=forgiven_in(current).answers,
        fields=fields,
    )


def domains_left_out(baseline: SavedSession, current: SavedSession) -> frozenset[str]:
    """Return the domains that the baseline has and the current session was not run on.

    Where they have none in common, none is left out: then there is nothing else to say of them.
    """
    there, here = frozenset(baseline.header.domains), frozenset(current.header.domains)
    return frozenset() if there.isdisjoint(here) else there - here


def agents_left_out(baseline: SavedSession, current: SavedSession) -> frozenset[str]:
    """Return the agents that the baseline has and the current session was not run by.

    Agents are known by what their runs are filed under. Where each session has one agent, one is
    compared with the other, whatever they are called.

    Raises:
        SessionFileError: one of the two has several agents, and none of them is in the other.
    """
    there, here = _agents(baseline), _agents(current)
    if len(there) <= 1 and len(here) <= 1:
        return frozenset()
    if there and here and there.isdisjoint(here):
        msg = (
            f"{baseline.path} and {current.path} have no agent in common: "
            f"{', '.join(sorted(there))}, and {', '.join(sorted(here))}"
        )
        hint = "agents are paired by name; --agent NAME=SPEC gives an agent the same name in both"
        raise SessionFileError(msg, hint=hint)
    return there - here


def _agents(saved: SavedSession) -> frozenset[str]:
    return frozenset(one.agent for one in planned_records(saved))


def _compared(saved: SavedSession, other: SavedSession, what: str) -> ComparedSession:
    """Return a session as far as it can be compared with another one."""
    if shard_of(saved) is not None:
        msg = f"{saved.path}: a shard is a part of the tasks, and cannot be compared"
        raise SessionFileError(msg, hint="put the shards together with sopbench merge first")
    name, records = saved.name, planned_records(saved)
    if saved.slim or other.slim:
        # What only one of the two knows would read as a change.
        records = tuple(map(slimmed, records))
    if is_replayed(saved) != is_replayed(other):
        name = f"{name} ({'replayed' if is_replayed(saved) else 'live'})"
        # How fast a model is, no recording tells.
        records = tuple(replace(one, duration_s=None) for one in records)
    domains = saved.header.domains
    return ComparedSession(
        name=name,
        records=records,
        judging=saved.header.judging,
        # How each domain was judged, if that was recorded.
        domains={name: one.judging for name, one in domains.items() if one.judging},
        comparers={name: one.comparers for name, one in domains.items()},
        doubt=f"{what}: {saved.doubts[0]}" if saved.doubts else "",
        setups=setups_of(saved.header),
        sops={name: one.sop for name, one in domains.items() if one.sop},
    )


def is_replayed(saved: SavedSession) -> bool:
    """Tell whether a session was served recorded model traffic."""
    return saved.header.options.replay in {"only", "auto"}


def _not_selected(baseline: SavedSession, current: SavedSession) -> Iterator[TaskName]:
    if not current.header.options.selection:
        return
    planned = {name: frozenset(one.planned) for name, one in current.header.domains.items()}
    for record in baseline.records:
        name = TaskName(record.domain, record.task)
        if name.domain in planned and name.task not in planned[name.domain]:
            yield name
