"""How a run stands to the procedure: the contract, and the calls that are expected of the task.

Nothing here decides an outcome; a right answer by a wrong way stays a right answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_sopbench._core.contract.rules import (
    RuleResult,
    Severity,
    check_contract,
    contract_state,
    grounded,
)
from pytest_sopbench._core.contract.ruling import RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.model.trajectory import trajectory_of, unneeded_steps
from pytest_sopbench._core.verdict import Outcome, Verdict

CUT_OFF = frozenset(
    {
        Outcome.ERROR,
        Outcome.UNAVAILABLE,
        Outcome.TIMEOUT,
        Outcome.CALL_LIMIT,
        Outcome.CRASH,
        Outcome.NOT_RUN,
    }
)
"""The outcomes of runs that something stopped before the agent had ended them itself."""


def with_procedure(
    verdict: Verdict, rules: JudgingRules, task: Task, trace: Trace | None
) -> Verdict:
    """Add to a verdict what the contract and the expected calls say of the run.

    A run whose calls nobody knows (it never started, or its process died) keeps its place in
    every denominator, but is said to have broken nothing. One whose provider was away has held
    nothing, and lacks nothing that it did not come to; but what it did by then is done, and a call
    that broke a rule stays a broken rule, whatever its severity.
    """
    lost = trace is None or trace.ending is Ending.PROCESS_DIED
    seen = trace or Trace(ending=Ending.PROCESS_DIED)
    if rules.contract is not None:
        from pytest_sopbench._core.contract.equal_values import Known  # noqa: PLC0415 - only where there is a contract

        fields = {field.name: field for field in rules.fields}
        known = Known(task=task, answer=verdict.answer, fields=fields)
        results = check_contract(rules.contract, seen, known)
        needed = grounded(results)
        if lost:
            results = tuple(_unknown(one, "the run's calls are not known") for one in results)
        away = seen.ending is Ending.UNAVAILABLE
        if away:
            results = tuple(_unless_done(one) for one in results)
        verdict = replace(
            verdict,
            rules=results,
            contract=contract_state(results, shown=not away and has_shown(seen, verdict.outcome)),
            grounded=needed,
        )
    expected = rules.expected_calls.get(task.id)
    if expected is None or lost:
        return verdict
    from pytest_sopbench._core.trajectory.match import match_trajectory  # noqa: PLC0415 - only where calls are compared

    made = trajectory_of(seen)
    found = match_trajectory(made, expected).departure
    return replace(
        verdict,
        departure=f"step {found.step}: {found.why}" if found else "",
        unneeded=len(unneeded_steps(made, expected)),
    )


def has_shown(trace: Trace, outcome: Outcome) -> bool:
    """Whether a run called a tool, or was ended by its agent."""
    return bool(trace.calls) or outcome not in CUT_OFF


def breaches(
    results: Sequence[RuleResult], outcome: Outcome, *, enforce: bool = False
) -> tuple[RuleResult, ...]:
    """Return the broken rules that fail a run: those that must hold, or with `enforce` all.

    A required tool, or an answer that an argument must equal, which a run did not come to because
    something stopped it first, is counted as a broken rule and fails nothing: the run is a failure
    already, and of another kind.
    """
    if not results:
        return ()
    cut_off = outcome in CUT_OFF
    return tuple(
        one
        for one in results
        if one.broken
        and (enforce or one.severity is Severity.MUST)
        and not (cut_off and _is_lacking(one))
    )


def _is_lacking(result: RuleResult) -> bool:
    """Tell whether a rule is broken by what a run did not come to, and not by what it did."""
    from pytest_sopbench._core.contract.demands import DemandKind  # noqa: PLC0415 - only where there is a contract

    return result.kind == DemandKind.REQUIRES or result.unfinished


def _unless_done(result: RuleResult) -> RuleResult:
    if result.broken and not _is_lacking(result):
        return result
    return _unknown(result, "the provider was away before the run came to its end")


def _unknown(result: RuleResult, why: str) -> RuleResult:
    if not result.applies:
        return result
    return replace(result, state=RuleState.NOT_EXERCISED, why=why, unfinished=False)
