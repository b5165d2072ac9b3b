"""Each bundled domain as it is judged: by its labels, its contract and its expected calls.

The policy's own calls hold every rule; changed calls break every rule. The runs are made here, in
this process, from the calls alone: no agent thinks and no session is started.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain, Task, Verdict
from pytest_sopbench._core.contract.demands import RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.protocols import Policy
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.domain_code import load_policy
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import ToolError

Calls = Sequence[tuple[str, Mapping[str, Any]]]


class Court:
    """Runs an agent on tasks of one domain, and judges what comes of it."""

    def __init__(self, folder: Path) -> None:
        self.domain: Domain = load_domain(folder)
        self.policy: Policy = load_policy(self.domain)
        self._factory = ToolboxFactory(self.domain)
        self._rules = JudgingRules(
            fields=self.domain.fields,
            contract=self.domain.contract,
            expected_calls=self.domain.expected_calls,
            document=self.domain.document,
        )

    def verdict(self, task: Task, agent: Any) -> Verdict:
        toolbox = self._factory.open(task, max_calls=100, clock=lambda: 0.0)
        trace = run_task(
            AgentCaller(agent),
            self.domain,
            task,
            toolbox,
            clock=lambda: 0.0,
            unavailable=lambda _: False,
        )
        return judge(self._rules, task, trace)

    def of_calls(self, task: Task, calls: Calls) -> Verdict:
        """The verdict of one who makes these calls, whatever comes of them, and answers right."""

        def agent(inputs: Mapping[str, Any], tools: Any) -> object:
            for name, arguments in calls:
                with suppress(ToolError):
                    tools.call(name, **arguments)
            return dict(task.expected)

        return self.verdict(task, agent)


@cache
def court_of(folder: Path) -> Court:
    return Court(folder)


@pytest.fixture
def any_court(every_domain: Any) -> Court:
    return court_of(every_domain.folder)


@pytest.fixture
def court(domain_with_tools: Any) -> Court:
    """One before which calls are judged as well."""
    return court_of(domain_with_tools.folder)


@pytest.fixture
def calls_of(domain_with_tools: Any) -> dict[str, Calls]:
    text = (domain_with_tools.folder / "expected_calls.jsonl").read_text(encoding="utf-8")
    return {
        line["task"]: [(call["name"], call["arguments"]) for call in line["calls"]]
        for line in map(json.loads, text.splitlines())
    }


def test_the_reference_policy_is_right_on_every_task(any_court: Court) -> None:
    def agent(inputs: Mapping[str, Any], tools: Any) -> object:
        return any_court.policy(inputs, tools.call)

    verdicts = {task.id: any_court.verdict(task, agent) for task in any_court.domain.tasks}

    assert [] == [name for name, verdict in verdicts.items() if not verdict.correct]


def test_the_reference_policy_holds_the_contract_on_every_task(court: Court) -> None:
    def agent(inputs: Mapping[str, Any], tools: Any) -> object:
        return court.policy(inputs, tools.call)

    verdicts = {task.id: court.verdict(task, agent) for task in court.domain.tasks}

    assert {RuleState.HELD} == {verdict.contract for verdict in verdicts.values()}
    assert {""} == {verdict.departure for verdict in verdicts.values()}
    assert {0} == {verdict.unneeded for verdict in verdicts.values()}
    assert all(verdict.grounded is not False for verdict in verdicts.values())


def test_a_constant_answer_is_right_by_chance_alone(every_domain: Any, any_court: Court) -> None:
    """No alias, tolerance or label that lies in another makes it right on one row more."""
    counts = Counter(json.dumps(every_domain.expected(row)) for row in every_domain.rows)
    usual, rows = counts.most_common(1)[0]

    def agent(inputs: Mapping[str, Any]) -> object:
        return json.loads(usual)

    verdicts = [any_court.verdict(task, agent) for task in any_court.domain.tasks]

    assert rows == sum(verdict.correct for verdict in verdicts)


def test_the_domain_is_loaded_without_a_warning(any_court: Court) -> None:
    assert () == any_court.domain.warnings


def test_every_rule_is_exercised_by_rows(court: Court, calls_of: dict[str, Calls]) -> None:
    """By the policy's calls or, for a rule that forbids, by any."""
    assert court.domain.contract is not None
    held: Counter[str] = Counter()

    for task in court.domain.tasks:
        verdict = court.of_calls(task, calls_of[task.id])
        held.update(rule.id for rule in verdict.rules if rule.state is RuleState.HELD)

    seldom = {rule.id for rule in court.domain.contract.rules if held[rule.id] == 0}
    assert set() == seldom - never_held(court)


def never_held(court: Court) -> set[str]:
    """Rules that forbid whatever there is: who makes no call has not exercised them."""
    assert court.domain.contract is not None
    everything = {spec.name for spec in court.domain.tool_specs}
    return {
        rule.id
        for rule in court.domain.contract.rules
        if everything == set(getattr(rule.demand, "tools", ()))
    }


def test_every_rule_is_broken_by_changed_calls(court: Court, calls_of: dict[str, Calls]) -> None:
    """A call left out, made twice, too early, with another argument, or where none belongs."""
    assert court.domain.contract is not None
    unbroken = {rule.id for rule in court.domain.contract.rules}

    # Long ways to an answer have met most rules, so that few tasks have to be run.
    for task in sorted(court.domain.tasks, key=lambda task: -len(calls_of[task.id])):
        mutants = chain(needless(calls_of[task.id], court), changed(task.id, calls_of))
        # Most tasks have nothing more to show, and their other mutants need not be run.
        while (calls := next(mutants, None)) is not None:
            rules = court.of_calls(task, calls).rules
            unbroken -= {rule.id for rule in rules if rule.broken}
            if not unbroken & {rule.id for rule in rules if rule.applies}:
                break

    assert set() == unbroken


def changed(task: str, calls_of: Mapping[str, Calls]) -> Iterator[Calls]:
    """The expected calls of a task, each time with one thing wrong."""
    calls = list(calls_of[task])
    for name in {name for made in calls_of.values() for name, _ in made} - {n for n, _ in calls}:
        for other in others(name, calls_of):
            yield [*calls, (name, other)]
    for place, (name, arguments) in enumerate(calls):
        yield calls[:place] + calls[place + 1 :]
        yield [*calls[: place + 1], *calls[place:]]
        for earlier in range(place):
            yield [
                *calls[:earlier],
                calls[place],
                *calls[earlier:place],
                *calls[place + 1 :],
            ]
        for other in others(name, calls_of):
            for argument, value in other.items():
                wrong = {**arguments, argument: value}
                if wrong != arguments:
                    yield [*calls[:place], (name, wrong), *calls[place:]]
                    yield [*calls[:place], (name, wrong), *calls[place + 1 :]]


def test_a_wrong_argument_of_a_tool_that_writes_breaks_a_rule_on_every_task(
    court: Court, calls_of: dict[str, Calls]
) -> None:
    """One who answers right and writes something else, left out, or twice is caught each time."""
    assert court.domain.contract is not None
    writing = {
        tool
        for rule in court.domain.contract.rules
        if rule.demand.kind == "as_expected"
        for tool in rule.demand.tools
    }
    assert writing == WRITING[court.domain.name]
    missed: list[tuple[str, str, str]] = []

    for task in court.domain.tasks:
        calls = list(calls_of[task.id])
        for place, (name, arguments) in enumerate(calls):
            for argument in arguments if name in writing else ():
                for value in wrong_values(name, argument, arguments[argument], calls_of):
                    made = (name, {**arguments, argument: value})
                    verdict = court.of_calls(task, [*calls[:place], made, *calls[place + 1 :]])
                    if verdict.contract is not RuleState.BROKEN:
                        missed.append((task.id, name, argument))

    assert [] == missed


WRITING = {
    "dangerous_goods": set[str](),
    "order_fulfillment": {"reserve_stock"},
    "patient_intake": {"register_patient"},
    "customer_service": {"run_reset", "raise_escalation"},
    "know_your_business": set[str](),
}
"""Tools whose calls are held to those expected; `send_survey` is forbidden altogether.

What `dangerous_goods` records is held to the product by a rule, and to the class by the count of
expected calls alone.
"""


def wrong_values(
    name: str, argument: str, right: Any, calls_of: Mapping[str, Calls]
) -> Iterator[Any]:
    """What the same argument is on another task."""
    given = (other[argument] for other in others(name, calls_of))
    yield from (value for value in given if value != right)


def needless(calls: Calls, court: Court) -> Iterator[Calls]:
    """The expected calls, and one more of a tool that the procedure never needs."""
    expected = court.domain.expected_calls.values()
    needed = {call.name for made in expected for call in made}
    for spec in court.domain.tool_specs:
        if spec.name not in needed:
            yield [*calls, (spec.name, {})]


def others(name: str, calls_of: Mapping[str, Calls]) -> list[Mapping[str, Any]]:
    """Arguments that a tool is given on other tasks; a few of them will do."""
    found = [given for calls in calls_of.values() for tool, given in calls if tool == name]
    return found[:: max(1, len(found) // 3)][:3]


def test_every_rule_cites_a_clause_of_the_procedure(court: Court) -> None:
    assert court.domain.contract is not None

    uncited = [
        rule.id
        for rule in court.domain.contract.rules
        if f"\n{rule.clause} " not in court.domain.sop
    ]

    assert [] == uncited
