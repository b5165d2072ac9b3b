"""The rules of a contract, and what became of each in a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.contract.conditions import (
    CHOOSY,
    Condition,
    ValueCondition,
    comparisons,
    describe,
    satisfied,
    unreadable,
)
from pytest_sopbench._core.contract.demands import Demand, DemandKind, Forbids, Known
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Trace

from .demands import RuleState, not_exercised

# Contracts: what the trajectories of a domain must satisfy, rule by rule.
#
# A rule applies to the tasks whose data satisfy its condition, whatever the agent did. A demand
# that a run never came to (the later tool of an order was not called) is *not exercised*: it is
# counted apart, since what was not done shows nothing. `requires` is never in that state.
#
# A contract is broken by a broken rule and by nothing else: to call no tool is no breach where no
# rule requires one. That an agent does nothing is seen by `requires` and by the answers.
#
# ==============  ==================================  ========================================
# demand          broken by                           not exercised
# ==============  ==================================  ========================================
# requires        a tool that did not succeed         never
# forbids         a call, even a failed one           no tool was called at all (*)
# at_most         one success more than allowed       none of its tools succeeded
# before          a later tool called while an        no later tool was called
#                 earlier one had not succeeded
# in_order        a later tool that ended before an   no two of its stages were called
#                 earlier one was first called
# after_approval  a call with no approval before it   none of its tools was called
# asks_approval   a step nobody was asked to approve  never
# arguments       a call with another value, or       its tool was not called
#                 `equals_answer` without an answer
# as_expected     a call with other arguments than    no tool was called at all
#                 expected, one missing, or one more
# state           a change after which too many rows  nothing in its table was changed
#                 are alike, or any at all
# ==============  ==================================  ========================================
#
# (*) Held where the task's data, by rules with a condition, forbids every tool that the contract
# names: then to call none is what the procedure asks.


class Severity(StrEnum):
    """What a breach costs: the item, which no gate forgives, or a count in the summary."""

    MUST = "must"
    SHOULD = "should"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One demand on a trajectory; `clause` is where the SOP says so."""

    id: str
    demand: Demand
    clause: str = ""
    severity: Severity = Severity.SHOULD
    when: Condition | None = None

    @property
    def kind(self) -> str:
        return self.demand.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The rules of one domain, in the order in which they were written."""

    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What came of one rule in one run.

    Attributes:
        id: the id of the rule.
        clause: where the SOP says so.
        severity: `must` or `should`.
        kind: what the rule demands.
        state: whether it held, was broken, or was not exercised.
        why: why it was broken.
        applies: whether the task's data asked for it.
        unfinished: whether it is broken because the run was stopped before it could hold.
    """

    id: str
    clause: str
    severity: Severity
    kind: str
    state: RuleState
    why: str
    applies: bool = True
    unfinished: bool = False

    @property
    def broken(self) -> bool:
        return self.state is RuleState.BROKEN


def check_contract(contract: Contract, trace: Trace, known: Known) -> tuple[RuleResult, ...]:
    """Hold a run against every rule of the contract: one result per rule, in their order.

    Raises:
        KeyError: a rule names a column that the task does not have.
    """
    results = tuple(_check_rule(rule, trace, known) for rule in contract.rules)
    if trace.calls or not _demands_silence(contract, results):
        return results
    return tuple(_obeyed(one) for one in results)


def contract_state(results: Sequence[RuleResult], *, shown: bool) -> RuleState | None:
    """Decide the contract of one run; null where no rule applies to its task.

    Which runs have a state depends on the tasks alone, so an agent cannot shrink the number
    that a contract rate divides by. A run holds its contract unless it broke a rule, also without
    any call. Only one that was stopped before its first call has `shown` nothing.
    """
    if any(result.broken for result in results):
        return RuleState.BROKEN
    if not any(result.applies for result in results):
        return None
    held = any(result.state is RuleState.HELD for result in results)
    return RuleState.HELD if shown or held else RuleState.NOT_EXERCISED


def grounded(results: Sequence[RuleResult]) -> bool | None:
    """Whether every required tool succeeded; null where no rule requires one of this task."""
    required = [one for one in results if one.kind == DemandKind.REQUIRES and one.applies]
    return all(not one.broken for one in required) if required else None


def unreadable_rules(contract: Contract, task: Task) -> tuple[str, ...]:
    """Name the rules whose condition cannot read this task, and why, for a loader to refuse.

    A condition that cannot be read is not satisfied, which would switch the rule off unsaid.
    """
    return tuple(
        f"rule {rule.id!r}, when: {problem}"
        for rule in contract.rules
        if rule.when is not None
        for problem in unreadable(rule.when, task)
    )


def choosy_comparisons(contract: Contract) -> Sequence[ValueCondition]:
    """Return the comparisons in conditions of rules that cannot read every value."""
    conditions = (rule.when for rule in contract.rules if rule.when is not None)
    found = (one for condition in conditions for one in comparisons(condition))
    return [one for one in found if any(operator in CHOOSY for operator, _ in one.bounds)]


def _demands_silence(contract: Contract, results: Sequence[RuleResult]) -> bool:
    forbidden: set[str] = set()
    for rule, result in zip(contract.rules, results, strict=True):
        if rule.when is not None and isinstance(rule.demand, Forbids) and result.applies:
            forbidden.update(rule.demand.tools)
    named = {tool for rule in contract.rules for tool in rule.demand.tools}
    return bool(forbidden) and forbidden >= named


def _obeyed(result: RuleResult) -> RuleResult:
    if result.kind != DemandKind.FORBIDS or not result.applies:
        return result
    return replace(result, state=RuleState.HELD, why="no tool was called, as the rules demand")


def _check_rule(rule: Rule, trace: Trace, known: Known) -> RuleResult:
    applies = rule.when is None or satisfied(rule.when, known.task)
    if rule.when is not None and not applies:
        ruling = not_exercised(f"does not apply: not {describe(rule.when)}")
    else:
        ruling = rule.demand.check(trace, known)
    return RuleResult(
        id=rule.id,
        clause=rule.clause,
        severity=rule.severity,
        kind=rule.kind,
        state=ruling.state,
        why=ruling.why,
        applies=applies,
        unfinished=ruling.unfinished,
    )


# Find what a clause of an SOP says, by the number that a rule names.

_START: Final = r"[\s#>*_-]*(?:(?:clause|section|step)\s+)?"
_NUMBER: Final = re.compile(rf"^{_START}[0-9]+(?:\.[0-9]+)*[.):]?(?=[\s*_]|$)", re.IGNORECASE)
_HEADING: Final = re.compile(r"^\s*#{1,6}\s")


def clause_text(sop: str, clause: str) -> str:
    """Return a clause on one line, up to the next number, heading or empty line; else nothing.

    The clause begins with its number, with whatever Markdown puts before it. A number that
    begins several lines names none of them, so that no other clause is shown in its place.
    """
    if not clause.strip():
        return ""
    number = re.escape(clause.strip())
    begins = re.compile(rf"^{_START}{number}[.):]?(?=[\s*_]|$)", re.IGNORECASE)
    lines = sop.splitlines()
    found = [at for at, line in enumerate(lines) if begins.match(line)]
    if len(found) != 1:
        return ""
    first = found[0]
    text = [lines[first].strip()]
    for line in lines[first + 1 :]:
        if not line.strip() or _NUMBER.match(line) or _HEADING.match(line):
            break
        text.append(line.strip())
    return " ".join(text)
