"""Ask gates of a saved session: the answer is that of the session itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from pytest_sopbench._core.comparing.compare import SessionComparison
from pytest_sopbench._core.gates.comparison_gates import COMPARISON_GATES, evaluate_comparison
from pytest_sopbench._core.gates.mandatory import entry_verdicts, failure_verdicts, must_verdicts
from pytest_sopbench._core.gates.quarantine import (
    EntriesReport,
    TaskEntries,
    TaskEntry,
    TaskName,
    report_entries,
)
from pytest_sopbench._core.gates.spec import read_gate
from pytest_sopbench._core.gates.summary_gates import (
    OUTCOME_GATES,
    GateSpec,
    GateState,
    GateVerdict,
    doubts_of,
    evaluate,
)
from pytest_sopbench.errors import SessionFileError

from .reader import SavedSession
from .whole import (
    FAILURES,
    NOT_EVALUATED,
    outcomes_of,
    planned_records,
    shard_of,
    summaries_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What came of the gates; `not_evaluated` says why none of them was asked, or nothing."""

    verdicts: tuple[GateVerdict, ...] = ()
    not_evaluated: str = ""

    @property
    def state(self) -> GateState:
        """What all gates together come to: one that does not hold decides."""
        states = {one.state for one in self.verdicts}
        if GateState.FAILS in states:
            return GateState.FAILS
        if GateState.INCONCLUSIVE in states or self.not_evaluated or not states:
            return GateState.INCONCLUSIVE
        return GateState.HOLDS


def recorded_gates(saved: SavedSession) -> tuple[GateSpec, ...]:
    """Return the gates that the session itself was asked.

    Raises:
        SessionFileError: one of them cannot be read.
    """
    given = saved.header.options.get("gates")
    try:
        return tuple(read_gate(str(one)) for one in given) if isinstance(given, list) else ()
    except ValueError as fault:
        msg = f"{saved.path}, line 1: {fault}"
        raise SessionFileError(msg, hint="was it written by a newer pytest-sopbench?") from fault


def quarantined(saved: SavedSession) -> frozenset[TaskName]:
    """Return the tasks that might fail when the session was run, which no gate is asked of."""
    return frozenset(_named(saved, "quarantined"))


def recorded_entries(saved: SavedSession) -> EntriesReport:
    """Return what came of the tasks that had to pass when the session was run.

    What it says of a task that might fail no longer is what the session itself recorded, since
    on another day another entry is expired.
    """
    must_pass = {name: TaskEntry(name=name, must_pass=True) for name in _named(saved, "must_pass")}
    if not must_pass and not _named(saved, "expired"):
        return EntriesReport()
    records = planned_records(saved)
    found = report_entries(records, TaskEntries(entries=must_pass), date.min)
    planned = {TaskName(one.domain, one.task) for one in records}
    expired = tuple(TaskEntry(name=name) for name in _named(saved, "expired") if name in planned)
    return replace(found, expired=expired)


def recorded_failures(saved: SavedSession) -> tuple[GateVerdict, ...]:
    """Return what came of the other tests of a session, where it recorded that."""
    if FAILURES not in saved.header.options:
        return ()
    failures = saved.header.options[FAILURES]
    # A number that something else has put there says nothing.
    known = type(failures) is int and failures >= 0 and saved.finished
    return failure_verdicts(failures if known and isinstance(failures, int) else None)


def _doubted(saved: SavedSession, verdict: GateVerdict) -> GateVerdict:
    """Return a verdict as inconclusive where the file is no ground for it."""
    why = ""
    if saved.doubts and verdict.state is not GateState.INCONCLUSIVE:
        why = saved.doubts[0]
    elif not saved.finished and verdict.state is GateState.HOLDS:
        # What else failed in it, a session says at its end.
        why = "the session did not come to its end"
    return replace(verdict, state=GateState.INCONCLUSIVE, why=why) if why else verdict


def _named(saved: SavedSession, option: str) -> Sequence[TaskName]:
    given = saved.header.options.get(option)
    names = [str(one).partition("/") for one in given] if isinstance(given, list) else []
    return [TaskName(domain, task) for domain, _, task in names]


def ask_gates(
    saved: SavedSession,
    gates: Sequence[GateSpec],
    *,
    comparison: SessionComparison | None = None,
) -> Gated:
    """Ask gates of a session, and whether what must hold did: rules, and tasks that must pass.

    Where lines are damaged every gate is inconclusive, and none holds where the session has no end.
    Tests that failed in it, and that no gate forgives, fail it here as well.

    Args:
        saved: the session.
        gates: what is asked.
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
    why = saved.header.options.get(NOT_EVALUATED)
    if why:
        return Gated(not_evaluated=str(why), verdicts=recorded_failures(saved))
    left_out = quarantined(saved)
    of_comparison = [one for one in gates if one.name in COMPARISON_GATES]
    of_summary = [one for one in gates if one.name not in COMPARISON_GATES]
    asked = planned_records(saved)
    if left_out:
        asked = tuple(one for one in asked if TaskName(one.domain, one.task) not in left_out)
    if left_out or any(one.name not in OUTCOME_GATES for one in of_summary):
        summaries = summaries_of(saved, without=left_out)
    else:
        # Gates on a comparison ask no more than how the runs ended either.
        summaries = outcomes_of(saved)
    whole = outcomes_of(saved) if left_out else summaries
    doubts = doubts_of(gates, summaries, whole)
    verdicts = (
        *evaluate(of_summary, summaries, doubts),
        *evaluate_comparison(of_comparison, comparison, doubts),
    )
    return Gated(
        verdicts=(
            *(_doubted(saved, one) for one in verdicts),
            *entry_verdicts(recorded_entries(saved)),
            *must_verdicts(asked, enforce=saved.header.options.get("contract") == "enforce"),
            *recorded_failures(saved),
        )
    )
