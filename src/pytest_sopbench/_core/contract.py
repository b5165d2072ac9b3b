"""The rules of a contract: when each applies, and what became of it in a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import linear_pattern
from pytest_sopbench._core.values.text import equal_as_written, read_as_written

from .demands import Demand, DemandKind, Forbids, Known, RuleState, not_exercised

# When a rule applies: conditions over the inputs and the row's own tool results.
#
# A condition reads the task's data and never the run, so that an agent cannot switch a rule off
# by not calling a tool.


class Operator(StrEnum):
    """What a condition asks of one value."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    ABOVE = "above"
    BELOW = "below"
    MATCHES = "matches"
    PRESENT = "present"
    EMPTY = "empty"


class Source(StrEnum):
    """Which part of the task a condition reads."""

    INPUT = "input"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCondition:
    """One value of the task against bounds, all of which it must satisfy."""

    source: Source
    name: str
    bounds: tuple[tuple[Operator, JsonValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Every one of these conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """At least one of these conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The opposite of this condition."""

    condition: Condition


Condition: TypeAlias = "ValueCondition | AllOf | AnyOf | Not"

ORDER: Mapping[Operator, Callable[[int], bool]] = {
    Operator.AT_LEAST: lambda sign: sign >= 0,
    Operator.AT_MOST: lambda sign: sign <= 0,
    Operator.ABOVE: lambda sign: sign > 0,
    Operator.BELOW: lambda sign: sign < 0,
}
"""The operators that need an order, by the sign of value minus bound."""

CHOOSY = frozenset({*ORDER, Operator.MATCHES})
"""The operators that some values mean nothing to."""


def satisfied(condition: Condition, task: Task) -> bool:
    """Whether the task's data satisfies the condition.

    Numbers are compared by value, also if one of the two is written as text (`"12"`); two
    texts by their characters, so that ISO dates are in order. `matches` asks that the whole of
    a text fits a regular expression. An empty value satisfies only `empty`, `not_equals`, and
    `equals`, `in` or `matches` that allow it. What cannot be put in order, or is no text to be
    matched, does not satisfy; `unreadable` finds it beforehand.
    """
    match condition:
        case ValueCondition():
            value = _value(condition, task)
            return all(bound_holds(op, value, bound) for op, bound in condition.bounds)
        case AllOf():
            return all(satisfied(one, task) for one in condition.conditions)
        case AnyOf():
            return any(satisfied(one, task) for one in condition.conditions)
        case _:
            return not satisfied(condition.condition, task)


def unreadable(condition: Condition, task: Task) -> tuple[str, ...]:
    """Say which values of the task the condition cannot read; a loader refuses such a row."""
    return tuple(
        problem
        for comparison in comparisons(condition)
        for problem in misread(comparison, _value(comparison, task))
    )


def comparisons(condition: Condition) -> Iterator[ValueCondition]:
    """Yield every comparison in a condition, in the order in which they were written."""
    match condition:
        case ValueCondition():
            yield condition
        case Not():
            yield from comparisons(condition.condition)
        case _:
            for one in condition.conditions:
                yield from comparisons(one)


def misread(comparison: ValueCondition, value: JsonValue) -> Iterator[str]:
    """Say what is wrong with a value that the comparison cannot read."""
    if is_blank(value):
        return
    place = f"{comparison.source} {comparison.name} is {value!r}, which"
    for operator, bound in comparison.bounds:
        if operator in ORDER and _sign(value, bound) is None:
            yield f"{place} has no order with {bound!r}"
        if operator is Operator.MATCHES and not isinstance(value, str):
            yield f"{place} is no text that could match {bound!r}"


def describe(condition: Condition) -> str:
    """Put a condition in words: `result score at least 0.8`."""
    match condition:
        case ValueCondition():
            bounds = (_bound_text(op, bound) for op, bound in condition.bounds)
            return f"{condition.source} {condition.name} {' and '.join(bounds)}"
        case AllOf():
            return f"({' and '.join(describe(one) for one in condition.conditions)})"
        case AnyOf():
            return f"({' or '.join(describe(one) for one in condition.conditions)})"
        case _:
            return f"not {describe(condition.condition)}"


def is_blank(value: JsonValue) -> bool:
    """Null, blank text, an empty list or mapping; `0` and `false` are values."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (not isinstance(value, bool | int | float) and not value)


def _value(condition: ValueCondition, task: Task) -> JsonValue:
    source = task.inputs if condition.source is Source.INPUT else task.results
    return source[condition.name]


def bound_holds(operator: Operator, value: JsonValue, bound: JsonValue) -> bool:
    """Whether one value satisfies one bound; see `satisfied`."""
    match operator:
        case Operator.EQUALS:
            return equal_as_written(value, bound)
        case Operator.NOT_EQUALS:
            return not equal_as_written(value, bound)
        case Operator.IN:
            return isinstance(bound, list | tuple) and any(
                equal_as_written(value, one) for one in bound
            )
        case Operator.MATCHES:
            return isinstance(value, str) and linear_pattern(str(bound)).fullmatch(value)
        case Operator.PRESENT | Operator.EMPTY:
            return is_blank(value) is ((operator is Operator.EMPTY) == bound)
        case _:
            sign = _sign(value, bound)
            return sign is not None and ORDER[operator](sign)


def order_of(one: JsonValue, other: JsonValue) -> int:
    """Put any two values in one order: what has none among its like stands by how it is written."""
    kinds = [
        (is_blank(value), _number(value) is None, not isinstance(value, str))
        for value in (one, other)
    ]
    if kinds[0][:2] != kinds[1][:2] or (kinds[0][1] and kinds[0] != kinds[1]):
        return -1 if kinds[0] < kinds[1] else 1
    sign = _sign(one, other)
    if sign is not None:
        return sign
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    return (texts[0] > texts[1]) - (texts[0] < texts[1])


def _sign(value: JsonValue, bound: JsonValue) -> int | None:
    one, other = _number(value), _number(bound)
    if one is not None and other is not None:
        return (one > other) - (one < other)
    if isinstance(value, str) and isinstance(bound, str) and one is other:
        return (value > bound) - (value < bound)
    return None


def _number(value: JsonValue) -> float | None:
    read = read_as_written(value)
    return read if isinstance(read, int | float) and not isinstance(read, bool) else None


def _bound_text(operator: Operator, bound: JsonValue) -> str:
    if operator in {Operator.PRESENT, Operator.EMPTY}:
        return operator.value if bound else f"not {operator.value}"
    return f"{operator.value.replace('_', ' ')} {bound!r}"


# Contracts: what the trajectories of a domain must satisfy, rule by rule.
#
# A rule applies to the tasks whose data satisfy its condition, whatever the agent did. A demand
# that a run never came to (the later tool of an order was not called) is *not exercised*: it is
# counted apart, since what was not done shows nothing. `requires` is never in that state.
#
# A contract is broken by a broken rule and by nothing else: to call no tool is no breach if no
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
# (*) Held if the task's data, by rules with a condition, forbids every tool that the contract
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
    return tuple(
        replace(one, state=RuleState.HELD, why="no tool was called, as the rules demand")
        if one.kind == DemandKind.FORBIDS and one.applies
        else one
        for one in results
    )


def contract_state(results: Sequence[RuleResult], *, shown: bool) -> RuleState | None:
    """Decide the contract of one run; null if no rule applies to its task.

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
    """Whether every required tool succeeded; null if no rule requires one of this task."""
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
