"""Check gates on a saved session: the answer is that of the session itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, GateSpec, outcome_gates
from pytest_sopbench._core.gates.decide import Decision, SessionFacts, decide
from pytest_sopbench._core.gates.quarantine import (
    Forgiven,
    PolicyReport,
    TaskEntries,
    TaskPolicy,
    report_entries,
)
from pytest_sopbench._core.model.task import GroupKey, TaskName, agents_of
from pytest_sopbench._sessions.reading.saved import (
    SavedSession,
    asked_summaries,
    outcomes_of,
    planned_records,
    shard_of,
    summaries_of,
)
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


def ask_gates(
    saved: SavedSession,
    gates: Sequence[GateSpec],
    *,
    comparison: SessionComparison | None = None,
) -> Decision:
    """Check gates on a session, and whether what must hold did: rules, and tasks that must pass.

    Where lines are damaged every gate is inconclusive, and none holds where the session has no end.
    Tests that failed in it, and that no gate forgives, fail it here as well.

    Args:
        saved: the session.
        gates: what is checked.
        comparison: with a baseline; without it the gates on a comparison are inconclusive.

    Raises:
        SessionFileError: the session is a shard, or a slim baseline.
    """
    if shard_of(saved) is not None:
        msg = f"{saved.path}: a shard is a part of the tasks, and cannot be gated"
        raise SessionFileError(msg, hint="put the shards together with sopbench merge first")
    if saved.slim:
        msg = f"{saved.path}: a slim baseline holds outcomes alone, and cannot be gated"
        raise SessionFileError(msg, hint="ask the gates of the session it was made of")
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
    # Gates on a comparison ask no more than how the runs ended either.
    known = {*COMPARISON_GATES, *outcome_gates()}
    of_outcomes = all(gate.name in known for gate in facts.gates)
    return replace(facts, summaries=outcomes_of(saved) if of_outcomes else summaries_of(saved))
