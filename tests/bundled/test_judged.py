"""Each bundled domain as it is judged: by its labels, its contract and its expected calls.

The policy's own calls hold every rule; changed calls break every rule. The runs are made here, in
this process, from the calls alone: no agent thinks and no session is started.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import pytest
from bundled_domains.catalogue import READS

from pytest_sopbench import Domain, Task, Verdict
from pytest_sopbench._core.demands import RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.protocols import Policy
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.domain_code import load_manager_factory, load_policy
from pytest_sopbench._running.tools.policy_states import with_policy
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import ToolError

Calls = Sequence[tuple[str, Mapping[str, Any]]]


class Court:
    """Runs an agent on tasks of one domain, and judges what comes of it."""

    def __init__(self, folder: Path) -> None:
        self.domain: Domain = load_domain(folder)
        self.policy: Policy = load_policy(self.domain)
        code = load_manager_factory(self.domain) if self.domain.tools_file else None
        self._factory = ToolboxFactory(self.domain, code)
        self._rules = JudgingRules(
            fields=self.domain.fields,
            contract=self.domain.contract,
            expected_calls=self.domain.expected_calls,
            document=self.domain.document,
            world=self.domain.world,
            state=with_policy(self.domain, trusted=True),
        )

    def changes_of(self, task: Task) -> Sequence[StateChange]:
        """What the policy leaves otherwise in the world of a task."""
        state = self._rules.state
        if state is None:
            return ()
        changes = state.expected[task.id]
        assert not isinstance(changes, str), changes
        return changes

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


def test_the_reference_policy_is_right_on_every_task_and_exercises_every_rule(
    any_court: Court,
) -> None:
    def agent(inputs: Mapping[str, Any], tools: Any) -> object:
        return any_court.policy(inputs, tools.call)

    verdicts = {task.id: any_court.verdict(task, agent) for task in any_court.domain.tasks}

    assert [] == [name for name, verdict in verdicts.items() if not verdict.correct]
    contract = any_court.domain.contract
    of_calls = {(verdict.contract, verdict.departure) for verdict in verdicts.values()}
    assert {(RuleState.HELD, "") if contract else (None, None)} == of_calls
    assert not any(verdict.unneeded for verdict in verdicts.values())
    assert all(verdict.grounded is not False for verdict in verdicts.values())
    # By the policy's calls or, for a rule that forbids, by any.
    rules = [rule for verdict in verdicts.values() for rule in verdict.rules]
    held = {rule.id for rule in rules if rule.state is RuleState.HELD}
    unheld = {rule.id for rule in contract.rules} - held if contract else set()
    assert set() == unheld - never_held(any_court)


def test_a_constant_answer_is_right_by_chance_alone(every_domain: Any, any_court: Court) -> None:
    """No alias, tolerance or label that lies in another makes it right on one row more.

    If the state is judged, it is right only where nothing is to be written.
    """
    labels = [json.dumps(every_domain.expected(row)) for row in every_domain.rows]
    usual, _ = Counter(labels).most_common(1)[0]
    tasks = any_court.domain.tasks

    def agent(inputs: Mapping[str, Any]) -> object:
        return json.loads(usual)

    right = [any_court.verdict(task, agent).correct for task in tasks]

    assert right == [
        label == usual and not any_court.changes_of(task)
        for label, task in zip(labels, tasks, strict=True)
    ]


def test_the_domain_is_loaded_without_a_warning(any_court: Court) -> None:
    assert () == any_court.domain.warnings


def never_held(court: Court) -> set[str]:
    """Rules that forbid whatever there is: who makes no call has not exercised them."""
    everything = {spec.name for spec in court.domain.tool_specs}
    return {
        rule.id
        for rule in (court.domain.contract.rules if court.domain.contract else ())
        if everything == set(getattr(rule.demand, "tools", ()))
    }


def test_every_rule_is_broken_by_changed_calls(court: Court, calls_of: dict[str, Calls]) -> None:
    """A call left out, made twice, too early, with another argument, or where none belongs."""
    assert court.domain.contract is not None
    unbroken = {rule.id for rule in court.domain.contract.rules}

    for task in unlike_ones_first(court.domain.tasks, calls_of):
        if not unbroken:
            break
        mutants = chain(needless(calls_of[task.id], court), changed(task.id, calls_of))
        # Most tasks have nothing more to show, and their other mutants need not be run.
        while (calls := next(mutants, None)) is not None:
            rules = court.of_calls(task, calls).rules
            unbroken -= {rule.id for rule in rules if rule.broken}
            if not unbroken & {rule.id for rule in rules if rule.applies}:
                break

    assert set() == unbroken


def unlike_ones_first(tasks: Iterable[Task], calls_of: Mapping[str, Calls]) -> list[Task]:
    """Long ways to an answer have met most rules, and ways by the same tools meet the same ones."""
    longest = sorted(tasks, key=lambda task: -len(calls_of[task.id]))
    alike: dict[frozenset[str], list[Task]] = defaultdict(list)
    for task in longest:
        alike[frozenset(name for name, _ in calls_of[task.id])].append(task)
    return [task for group in zip_longest(*alike.values()) for task in group if task is not None]


def changed(task: str, calls_of: Mapping[str, Calls]) -> Iterator[Calls]:
    """The expected calls of a task, each time with one thing wrong."""
    calls = list(calls_of[task])
    for name in {name for made in calls_of.values() for name, _ in made} - {n for n, _ in calls}:
        for other in others(name, calls_of):
            yield [*calls, (name, other)]
    for place, (name, arguments) in enumerate(calls):
        yield calls[:place] + calls[place + 1 :]
        yield [*calls[: place + 1], *calls[place:]]
        for other in others(name, calls_of):
            for argument, value in other.items():
                wrong = {**arguments, argument: value}
                if wrong != arguments:
                    yield [*calls[:place], (name, wrong), *calls[place:]]
                    yield [*calls[:place], (name, wrong), *calls[place + 1 :]]
    for place, call in enumerate(calls):
        for earlier in range(place):
            yield [*calls[:earlier], call, *calls[earlier:place], *calls[place + 1 :]]


def test_one_wrong_argument_of_a_tool_that_writes_is_caught_on_every_task(
    domain_with_tools: Any, court: Court, calls_of: dict[str, Calls]
) -> None:
    """The answer is right all the same: a rule or, where it is judged, the state tells."""
    tools = {spec.name: spec for spec in court.domain.tool_specs}
    writing = {name for name in tools if name.split("_")[0] not in READS}
    written: set[str] = set()
    missed: list[tuple[str, str, str, Any]] = []

    for number, task in enumerate(court.domain.tasks):
        calls = list(calls_of[task.id])
        # Values of other tasks are further away than those that are nowhere: some tasks will do.
        elsewhere = calls_of if number % 4 == 0 else {}
        for place, (name, arguments) in enumerate(calls):
            if name not in writing:
                continue
            written.add(name)
            for argument, value in wrong_arguments(name, arguments, tools[name], elsewhere):
                made = (name, {**arguments, argument: value})
                verdict = court.of_calls(task, [*calls[:place], made, *calls[place + 1 :]])
                by_state = not court.changes_of(task) or not verdict.correct
                by_any = not verdict.correct or verdict.contract is RuleState.BROKEN
                if not (by_state and by_any):
                    missed.append((task.id, name, argument, value))

    assert [] == missed
    assert domain_with_tools.distractors >= writing - written


def wrong_arguments(
    name: str, right: Mapping[str, Any], spec: ToolSpec, calls_of: Mapping[str, Calls]
) -> Iterator[tuple[str, Any]]:
    """Each argument as it is on one of these other tasks, and as it is nowhere."""
    properties: Any = spec.parameters["properties"]
    for argument, value in right.items():
        given = (other[argument] for other in others(name, calls_of) if argument in other)
        yield from ((argument, other) for other in islice((o for o in given if o != value), 1))
        yield argument, other_than(value, properties[argument])


def _next_to(text: str) -> str:
    """The text with its last digit one higher, or with a letter more."""
    digit = re.search("[0-9](?=[^0-9]*$)", text)
    if digit is None:
        return text + "x"
    return text[: digit.start()] + str((int(digit[0]) + 1) % 10) + text[digit.end() :]


def other_than(value: Any, shape: Mapping[str, Any]) -> Any:
    """Another value of the same kind, as near to it as can be."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return next((one for one in shape.get("enum", ()) if one != value), _next_to(value))
        case [first, *rest]:
            return [other_than(first, shape.get("items", {})), *rest]
        case {**parts} if parts:
            last = list(parts)[-1]
            inner = shape.get("properties", {}).get(last, {})
            return parts | {last: other_than(parts[last], inner)}
        case _:
            return "x"


@pytest.mark.parametrize(
    ("value", "shape", "other"),
    [
        pytest.param(True, {}, False, id="boolean"),
        pytest.param("AB-109", {}, "AB-100", id="number in a text"),
        pytest.param("a", {"enum": ["a", "b"]}, "b", id="word of a list"),
        pytest.param([{"at": "X", "pieces": 9}], {}, [{"at": "X", "pieces": 10}], id="deep inside"),
        pytest.param(None, {}, "x", id="nothing"),
    ],
)
def test_another_value_differs_in_one_place(value: Any, shape: Any, other: Any) -> None:
    """Else the law above would hold for nothing."""
    assert other == other_than(value, shape) != value


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
        and f"\n**Art. {rule.clause}." not in court.domain.sop
    ]

    assert [] == uncited
