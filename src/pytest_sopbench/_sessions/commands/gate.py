"""Check gates on a saved session, alone or beside another one: the result is the session's own.

What a comparison says of the two is found here as well, since gates and pages want the same of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import Final

from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import CONTENTS, ComparedSession, SessionComparison
from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, GateSpec, outcome_gates
from pytest_sopbench._core.gates.decide import Decision, SessionFacts, decide
from pytest_sopbench._core.gates.quarantine import (
    Forgiven,
    PolicyReport,
    TaskEntries,
    TaskPolicy,
    report_entries,
)
from pytest_sopbench._core.model.task import GroupKey, OutputField, TaskName, agents_of
from pytest_sopbench._sessions.header import setups_of
from pytest_sopbench._sessions.saved import (
    SavedSession,
    asked_summaries,
    outcomes_of,
    planned_records,
    summaries_of,
)
from pytest_sopbench._sessions.writer import slimmed
from pytest_sopbench.errors import SessionFileError


def forgiven_in(saved: SavedSession) -> Forgiven:
    """Return what was forgiven when the session was run."""
    asked = saved.header.options
    rules = {name: frozenset(ids) for name, ids in asked.may_break.items()}
    return Forgiven(answers=frozenset(asked.quarantined), rules=rules)


def recorded_entries(saved: SavedSession) -> PolicyReport:
    """Return what came of the tasks that had to pass when the session was run.

    What it says of a task that might fail no longer is what the session itself recorded, since
    on another day another entry is expired.
    """
    asked = saved.header.options
    must_pass = {name: TaskPolicy(name=name, must_pass=True) for name in asked.must_pass}
    if not must_pass and not asked.expired:
        return PolicyReport()
    records = planned_records(saved)
    found = report_entries(records, TaskEntries(entries=must_pass), date.min, asked.doubtful)
    planned = {TaskName(one.domain, one.task) for one in records}
    expired = tuple(TaskPolicy(name=name) for name in asked.expired if name in planned)
    return replace(found, expired=expired)


def decide_entries(saved: SavedSession) -> Decision:
    """Decide on a session without a gate, by what its tasks file says all the same."""
    return decide(SessionFacts(gates=(), entries=recorded_entries(saved)))


def recorded_failures(saved: SavedSession) -> int | None:
    """Return how many other tests of a session failed; `None` if nobody can know it."""
    # Of one that was cut short more may have failed.
    return saved.header.options.failures if saved.finished else None


def decide_gates(
    saved: SavedSession,
    gates: Sequence[GateSpec],
    *,
    comparison: SessionComparison | None = None,
) -> Decision:
    """Check gates on a session, and whether what must hold did: rules, and tasks that must pass.

    If lines are damaged every gate is inconclusive, and none holds if the session has no end.
    Tests that failed in it, and that no gate forgives, fail it here as well.

    Args:
        saved: the session.
        gates: what is checked.
        comparison: with a baseline; without it the gates on a comparison are inconclusive.

    Raises:
        SessionFileError: the session is a shard, or a slim baseline.
    """
    if saved.header.options.shard is not None:
        msg = f"{saved.path}: a shard is a part of the tasks, and cannot be gated"
        raise SessionFileError(msg, hint="put the shards together with sopbench merge first")
    if saved.slim:
        msg = f"{saved.path}: a slim baseline holds outcomes alone, and cannot be gated"
        raise SessionFileError(msg, hint="check the gates on the session it was made of")
    recorded = saved.header.options
    facts = SessionFacts(
        gates=gates,
        records=planned_records(saved),
        agents=agents_of({GroupKey(one.domain, one.agent) for one in planned_records(saved)}),
        forgiven=forgiven_in(saved),
        enforces=recorded.contract == "enforce",
        comparison=comparison,
        entries=recorded_entries(saved),
        failures=recorded_failures(saved),
        not_evaluated=recorded.not_evaluated,
        doubt=saved.doubts[0] if saved.doubts else "",
        is_ended=saved.finished,
        doubtful=recorded.doubtful,
        drafts=recorded.drafts,
    )
    return decide(facts if facts.not_evaluated else _with_summaries(facts, saved))


def _with_summaries(facts: SessionFacts, saved: SavedSession) -> SessionFacts:
    if asked := asked_summaries(saved, facts.forgiven):
        return replace(facts, summaries=summaries_of(saved), asked=asked)
    # Gates on a comparison need no more than how the runs ended either.
    known = {*COMPARISON_GATES, *outcome_gates()}
    of_outcomes = all(gate.name in known for gate in facts.gates)
    return replace(facts, summaries=outcomes_of(saved) if of_outcomes else summaries_of(saved))


# A saved session beside another one, as a comparison wants them.

NO_FIELDS: Final[Mapping[str, Sequence[OutputField]]] = MappingProxyType({})


def compare_saved(
    baseline: SavedSession,
    current: SavedSession,
    *,
    fields: Mapping[str, Sequence[OutputField]] = NO_FIELDS,
) -> SessionComparison:
    """Compare a session with a baseline, as far as both files tell.

    What the options of the current session did not select is left out: domains that it was not run
    on and agents that did not run here (see `domains_left_out`, `agents_left_out`), and, if it
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

    If they have none in common, none is left out: then there is nothing else to say of them.
    """
    there, here = frozenset(baseline.header.domains), frozenset(current.header.domains)
    return frozenset() if there.isdisjoint(here) else there - here


def agents_left_out(baseline: SavedSession, current: SavedSession) -> frozenset[str]:
    """Return the agents that the baseline has and the current session was not run by.

    Agents are known by what their runs are filed under. If each session has one agent, one is
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
    if saved.header.options.shard is not None:
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
        contents={
            part: {name: told for name, one in domains.items() if (told := getattr(one, part))}
            for part in CONTENTS
        },
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
