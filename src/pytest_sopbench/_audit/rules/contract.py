"""Rules about the contract and the expected calls: does the procedure's own run keep them?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.contract import RuleResult, check_contract
from pytest_sopbench._core.demands import DemandKind, Known, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.end_state import state_differs
from pytest_sopbench._core.model.trace import Answer, AnswerForm, Ending, ToolCall, Trace
from pytest_sopbench._core.trajectory.calls import ExpectedCall, trajectory_of
from pytest_sopbench._core.trajectory.match import match_trajectory
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import cut
from pytest_sopbench._loading.load import POLICY_FILE
from pytest_sopbench._loading.tools import EXPECTED_CALLS_FILE as CALLS_FILE
from pytest_sopbench._loading.world_file import STATE_FILE
from pytest_sopbench._running.tools.calls import compile_checks

Results = Mapping[int, tuple[RuleResult, ...]]


@error("policy-breaks-contract", "The run of the reference policy breaks a rule of the contract.")
def _policy_breaks(subject: Subject) -> Iterator[Finding]:
    for rule, rows, why in _broken(_policy_results(subject)):
        yield Finding(
            place=Place(file=subject.metadata_file, column=f"contract.{rule}"),
            what=f"the policy itself breaks the rule {rule!r} on {subject.rows(rows)}: {cut(why)}",
            do="correct the rule, or the policy",
        )


@error("calls-break-contract", "Expected calls break a rule of the contract.")
def _calls_break(subject: Subject) -> Iterator[Finding]:
    for rule, rows, why in _broken(_expected_results(subject)):
        yield Finding(
            place=Place(file=CALLS_FILE, column=f"contract.{rule}"),
            what=f"the expected calls break the rule {rule!r} on {subject.rows(rows)}: {cut(why)}",
            do="correct the rule, or the calls",
        )


@warning("rule-not-exercised", "No row exercises a rule of the contract.")
def _not_exercised(subject: Subject) -> Iterator[Finding]:
    contract = subject.domain.contract
    results = _policy_results(subject) or _expected_results(subject)
    by_rule: dict[str, list[RuleResult]] = {}
    for states in results.values():
        for one in states:
            by_rule.setdefault(one.id, []).append(one)
    for rule in contract.rules if contract is not None else ():
        found = by_rule.get(rule.id, [])
        if found and all(_is_silent(one) for one in found):
            applies = any(one.applies for one in found)
            why = "nobody who follows it makes the calls that it is about"
            yield Finding(
                place=Place(file=subject.metadata_file, column=f"contract.{rule.id}"),
                what=f"no row exercises the rule {rule.id!r}: "
                + (why if applies else "its condition holds on none"),
                do="add rows, or take the rule away",
            )


def _is_silent(result: RuleResult) -> bool:
    # What must not be called was not called: the row has shown that it can be kept.
    forbidden = result.kind == DemandKind.FORBIDS and result.applies
    return result.state is RuleState.NOT_EXERCISED and not forbidden


@error("calls-differ", "The policy makes other calls than are expected of the row.")
def _calls_differ(subject: Subject) -> Iterator[Finding]:
    """Where the policy makes other calls than are expected of its row."""
    found: dict[str, list[int]] = {}
    for position, run in subject.observed.policy.items():
        expected = subject.domain.expected_calls.get(subject.tasks[position].id)
        if expected is None or run.error:
            continue
        made = trajectory_of(_trace(run.calls))
        departure = match_trajectory(made, expected).departure
        if departure is not None:
            found.setdefault(f"step {departure.step}: {departure.why}", []).append(position)
    if found:
        rows = sorted(position for positions in found.values() for position in positions)
        first = next(iter(found))
        yield Finding(
            place=Place(file=CALLS_FILE),
            what=f"the policy makes other calls on {subject.rows(rows)}: {cut(first)}",
            do="write the expected calls anew, or correct the policy",
        )


@error("state-differs", "The policy leaves another state than is expected of the row.")
def _states_differ(subject: Subject) -> Iterator[Finding]:
    """Where the policy leaves another state than is expected of its row."""
    domain = subject.domain
    if domain.state is None or domain.state.by_policy:
        return
    rules = JudgingRules(fields=domain.fields, world=domain.world, state=domain.state)
    found: dict[int, str] = {}
    for position, run in subject.observed.policy.items():
        if not run.error:
            differs = state_differs(rules, subject.tasks[position], run.state)
            found |= {position: differs[0]} if differs else {}
    if found:
        rows = sorted(found)
        first = subject.tasks[rows[0]]
        own_file = (domain.folder / STATE_FILE).is_file()
        where = f"{subject.rows(rows)} of {subject.data_file}"
        yield Finding(
            # Rows are counted in the data file, so a line goes with no other name.
            place=Place(file=STATE_FILE)
            if own_file
            else Place(file=subject.data_file, line=first.line),
            what=f"the policy leaves another state on {where}, "
            f"task {first.id}: {cut(found[rows[0]])}",
            do="correct the expected state, or the policy",
        )


@error("calls-break-spec", "An expected call breaks the spec of its tool.")
def _calls_break_spec(subject: Subject) -> Iterator[Finding]:
    checks = compile_checks(subject.domain)
    found: dict[tuple[str, str], list[int]] = {}
    for position, task in enumerate(subject.tasks):
        calls = subject.domain.expected_calls.get(task.id, ())
        known = [*task.inputs.values(), *task.results.values()]
        for call in calls:
            for one in checks[call.name].findings(dict(call.arguments or {}), known.__contains__):
                found.setdefault((call.name, one.message), []).append(position)
    yield from _bad_calls(subject, found, CALLS_FILE, "an expected call breaks its spec")


@warning("policy-breaks-spec", "A call of the policy breaks the spec of its tool.")
def _policy_calls_break_spec(subject: Subject) -> Iterator[Finding]:
    found: dict[tuple[str, str], list[int]] = {}
    for position, run in subject.observed.policy.items():
        for call in run.calls:
            for one in call.findings:
                found.setdefault((call.name, one.message), []).append(position)
    yield from _bad_calls(
        subject, found, POLICY_FILE, "the policy makes a call that breaks its spec"
    )


def _bad_calls(
    subject: Subject, found: Mapping[tuple[str, str], list[int]], file: str, what: str
) -> Iterator[Finding]:
    """One fault for each tool: the first message, and all rows."""
    tools: dict[str, tuple[str, set[int]]] = {}
    for (tool, message), positions in found.items():
        tools.setdefault(tool, (message, set()))[1].update(positions)
    for tool, (message, rows) in tools.items():
        yield Finding(
            place=Place(file=file, tool=tool),
            what=f"{what} on {subject.rows(sorted(rows))}: {cut(message)}",
            do="correct the spec or the call: an agent is blamed for what the policy does",
        )


@warning("needless-tool", "The policy never calls a tool, or calls one that is named a distractor.")
def _needless(subject: Subject) -> Iterator[Finding]:
    runs = [run for run in subject.observed.policy.values() if not run.error]
    if not runs or len(runs) < len(subject.tasks):
        return
    called = {call.name for run in runs for call in run.calls}
    named = subject.folder.metadata.get("distractors")
    distractors = set(map(str, named)) if isinstance(named, list) else set[str]()
    for spec in subject.domain.tool_specs:
        if spec.name not in called and spec.name not in distractors:
            what, do = "no row needs this tool", "name it under 'distractors', or add such rows"
        elif spec.name in called and spec.name in distractors:
            what, do = "it is a distractor, and the policy calls it", "take it off 'distractors'"
        else:
            continue
        yield Finding(place=Place(file=subject.metadata_file, tool=spec.name), what=what, do=do)


def _broken(results: Results) -> Iterator[tuple[str, list[int], str]]:
    found: dict[str, tuple[list[int], str]] = {}
    for position, states in results.items():
        for one in states:
            if one.broken:
                found.setdefault(one.id, ([], one.why))[0].append(position)
    yield from ((rule, rows, why) for rule, (rows, why) in found.items())


@lru_cache(maxsize=1)  # two rules ask, one after the other
def _policy_results(subject: Subject) -> Results:
    contract = subject.domain.contract
    if contract is None:
        return {}
    return {
        position: check_contract(
            contract,
            replace(_trace(run.calls), state=run.state),
            _known(subject, position, run.answer or {}),
        )
        for position, run in subject.observed.policy.items()
        if not run.error
    }


def _expected_results(subject: Subject) -> Results:
    contract = subject.domain.contract
    if contract is None:
        return {}
    # What an earlier call returned, or changed, is known of the policy's own runs alone.
    unknown = {DemandKind.ARGUMENTS, DemandKind.STATE}
    rules = tuple(one for one in contract.rules if one.kind not in unknown)
    quiet = replace(contract, rules=rules)
    found: dict[int, tuple[RuleResult, ...]] = {}
    for position, task in enumerate(subject.tasks):
        calls = subject.domain.expected_calls.get(task.id)
        if calls is not None and position not in subject.observed.policy:
            known = _known(subject, position, task.expected_as_written)
            found[position] = check_contract(quiet, _trace(map(_as_call, calls)), known)
    return found


def _as_call(call: ExpectedCall) -> ToolCall:
    arguments: JsonValue = dict(call.arguments or {})
    return ToolCall(name=call.name, arguments=arguments, overlaps=call.overlaps)


def _trace(calls: Iterable[ToolCall]) -> Trace:
    return Trace(ending=Ending.RETURNED, calls=tuple(calls))


def _known(subject: Subject, position: int, answer: Mapping[str, JsonValue]) -> Known:
    fields = {field.name: field for field in subject.domain.fields}
    said = Answer(values=dict(answer), form=AnswerForm.MAPPING)
    task = subject.tasks[position]
    expected = subject.domain.expected_calls.get(task.id)
    return Known(
        task=task, answer=said, fields=fields, expected=expected, world=subject.domain.world
    )
