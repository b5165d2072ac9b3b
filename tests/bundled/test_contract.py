"""The contract of `dangerous_goods`: held by whoever follows the SOP, and broken only where not.

Each agent below has one bad habit. Which rules it breaks on which tasks is worked out here from
the rows by hand, in Python, and never by the contract itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench import Domain, Task, Verdict
from pytest_sopbench._core.demands import RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.protocols import Policy
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.domain_code import load_policy
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import ToolError

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods"
NAMES = ("sds-label", "handling", "transport", "disposal")
SCORES = tuple(f"{name.replace('-', '_')}_score" for name in NAMES)
TOOLS = tuple(f"calculate_{score}" for score in SCORES)
TEXTS = (
    "sds_label_text",
    "handling_guidelines",
    "transport_requirements",
    "disposal_guidelines",
)

Call = Callable[..., Any]
Habit = Callable[[Mapping[str, Any], Call, Policy], object]


@cache
def domain() -> Domain:
    return load_domain(FOLDER)


@cache
def policy() -> Policy:
    return load_policy(domain())


@cache
def factory() -> ToolboxFactory:
    return ToolboxFactory(domain())


def verdict_of(task: Task, habit: Habit) -> Verdict:
    one = domain()
    rules = JudgingRules(
        fields=one.fields, contract=one.contract, expected_calls=one.expected_calls
    )

    def agent(inputs: Mapping[str, Any], tools: Any) -> object:
        return habit(inputs, tools.call, policy())

    toolbox = factory().open(task, max_calls=100, clock=time.perf_counter)
    caller = AgentCaller(agent)
    trace = run_task(
        caller, one, task, toolbox, clock=time.perf_counter, unavailable=lambda _: False
    )
    return judge(rules, task, trace)


def passes_intake(task: Task) -> bool:
    return re.fullmatch("UN[0-9]{4}", str(task.inputs["un_number"])) is not None


def served(task: Task) -> list[bool]:
    """Which scores the service answers at all, valid or not."""
    return [task.results[score] is not None for score in SCORES]


def decided(task: Task) -> bool:
    return task.expected["hazard_class"] != "Unable to Decide"


def follow(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    return decide(inputs, call)


def skip(tool: str) -> Habit:
    """Never make one call, and go on as if it had failed."""

    def habit(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        def other(name: str, /, **arguments: Any) -> Any:
            if name == tool:
                raise ToolError(name)
            return call(name, **arguments)

        return decide(inputs, other)

    return habit


def skip_record(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    def other(name: str, /, **arguments: Any) -> Any:
        return None if name == "record_class" else call(name, **arguments)

    return decide(inputs, other)


def swap(first: int) -> Habit:
    """Ask for two neighbouring scores in the wrong order."""

    def habit(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        kept: dict[str, Any] = {}

        def ask(place: int) -> None:
            arguments = {"product_id": inputs["product_id"], TEXTS[place]: inputs[TEXTS[place]]}
            try:
                kept[TOOLS[place]] = call(TOOLS[place], **arguments)
            except ToolError as error:
                kept[TOOLS[place]] = error

        def other(name: str, /, **arguments: Any) -> Any:
            if name == TOOLS[first]:
                ask(first + 1)
                ask(first)
            if name not in kept:
                return call(name, **arguments)
            if isinstance(kept[name], ToolError):
                raise kept[name]
            return kept[name]

        return decide(inputs, other)

    return habit


def record_first(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    """Enter a class before the last score is asked for, as if the entry could be guessed."""
    entry: dict[str, Any] = {}

    def dry(name: str, /, **arguments: Any) -> Any:
        if name == "record_class":
            entry.update(arguments)
        return {"status": "recorded"} if name == "record_class" else call(name, **arguments)

    def other(name: str, /, **arguments: Any) -> Any:
        if name == TOOLS[3] and not early:
            early.append(name)
            call("record_class", **GUESS, product_id=inputs["product_id"])
        return dry(name, **arguments)

    early: list[str] = []
    return decide(inputs, other)


GUESS = {"hazard_class": "C", "total_score": 12}


def skip_intake(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    return decide({**inputs, "un_number": "UN1263"}, call)


def record_always(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    made: list[str] = []

    def other(name: str, /, **arguments: Any) -> Any:
        made.append(name)
        return call(name, **arguments)

    answer = decide(inputs, other)
    if made and "record_class" not in made:
        call("record_class", **GUESS, product_id=inputs["product_id"])
    return answer


def repeat(tool: str) -> Habit:
    def habit(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        def other(name: str, /, **arguments: Any) -> Any:
            if name == tool:
                call(name, **arguments)
            return call(name, **arguments)

        return decide(inputs, other)

    return habit


def invent_text(place: int) -> Habit:
    """Try a text of its own first; the service knows it not, and the right one is sent then."""

    def habit(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        def other(name: str, /, **arguments: Any) -> Any:
            if name == TOOLS[place]:
                with pytest.raises(ToolError):
                    call(name, **{**arguments, TEXTS[place]: "a strong acid, I suppose"})
            return call(name, **arguments)

        return decide(inputs, other)

    return habit


def invent_product(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
    def other(name: str, /, **arguments: Any) -> Any:
        if name == "record_class":
            arguments["product_id"] = "P_00000"
        return call(name, **arguments)

    return decide(inputs, other)


def noting(habit: Habit, entries: list[Mapping[str, Any]]) -> Habit:
    """The same habit; `entries` are those that come to stand in the register."""

    def noted(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        def other(name: str, /, **arguments: Any) -> Any:
            answer = call(name, **arguments)
            if name == "record_class":
                entries.append(arguments)
            return answer

        return habit(inputs, other, decide)

    return noted


@cache
def right_entries() -> dict[str, list[Mapping[str, Any]]]:
    entries: dict[str, list[Mapping[str, Any]]] = {task.id: [] for task in domain().tasks}
    for task in domain().tasks:
        verdict_of(task, noting(follow, entries[task.id]))
    return entries


def broken_by_skip(place: int) -> Callable[[Task], set[str]]:
    """A score that was never asked for is missing from whatever had to come after it, too."""

    def broken(task: Task) -> set[str]:
        if not passes_intake(task) or not served(task)[place]:
            return set()
        every = all(served(task))
        rules = {f"{NAMES[place]}-score"}
        known = [score if at != place else None for at, score in enumerate(valid(task))]
        records = sum(score is not None for score in known) >= 2 and not (
            known[0] is None and sum(score is None for score in known) == 2
        )
        if every and records:
            rules.add("record-last")
        if decided(task) and not records:
            rules.add("record-decided")
        return rules

    return broken


def valid(task: Task) -> list[object]:
    return [task.results[s] if task.results[s] in {1, 2, 3, 4, 5} else None for s in SCORES]


AGENTS = [
    *(
        pytest.param(skip(tool), broken_by_skip(place), id=f"skips {NAMES[place]} score")
        for place, tool in enumerate(TOOLS)
    ),
    pytest.param(
        skip_record, lambda task: {"record-decided"} if decided(task) else set(), id="never records"
    ),
    *(
        pytest.param(
            swap(place),
            lambda task: {"score-order"} if passes_intake(task) else set(),
            id=f"asks for {NAMES[place + 1]} before {NAMES[place]}",
        )
        for place in range(3)
    ),
    pytest.param(
        record_first,
        lambda task: (
            set()
            if not passes_intake(task)
            else ({"record-last"} if all(served(task)) else set())
            | (set() if decided(task) else {"record-undecided"})
        ),
        id="records before the last score",
    ),
    pytest.param(
        skip_intake,
        lambda task: set() if passes_intake(task) else {"intake-first"},
        id="works on a dossier that intake turns away",
    ),
    pytest.param(
        record_always,
        lambda task: {"record-undecided"} if passes_intake(task) and not decided(task) else set(),
        id="records what cannot be decided",
    ),
    pytest.param(
        repeat("record_class"),
        lambda task: {"record-once"} if decided(task) else set(),
        id="records twice",
    ),
    pytest.param(
        repeat(TOOLS[0]),
        lambda task: {"score-once"} if passes_intake(task) and served(task)[0] else set(),
        id="asks for a score twice",
    ),
    *(
        pytest.param(
            invent_text(place),
            lambda task, place=place: {f"{NAMES[place]}-text"} if passes_intake(task) else set(),
            id=f"invents the {NAMES[place]} text",
        )
        for place in range(4)
    ),
    pytest.param(
        invent_product,
        lambda task: {"record-product"} if decided(task) else set(),
        id="records another product",
    ),
]


@pytest.mark.parametrize(("habit", "broken"), AGENTS)
def test_a_bad_habit_breaks_the_rules_meant_for_it_and_no_others(
    habit: Habit, broken: Callable[[Task], set[str]]
) -> None:
    wrong: list[str] = []
    caught = 0
    for task in domain().tasks:
        entries: list[Mapping[str, Any]] = []
        actual = {one.id for one in verdict_of(task, noting(habit, entries)).rules if one.broken}
        expected = broken(task)
        if entries != right_entries()[task.id]:
            expected |= {"what-is-recorded"}
        caught += bool(actual)
        if expected != actual:
            wrong.append(f"{task.id}: {sorted(expected)} expected, {sorted(actual)} broken")

    assert [] == wrong
    assert caught >= 20


def test_an_invented_total_breaks_one_rule_and_departs_from_the_expected_calls() -> None:
    """No other rule can add scores up; the expected calls can tell."""

    def habit(inputs: Mapping[str, Any], call: Call, decide: Policy) -> object:
        def other(name: str, /, **arguments: Any) -> Any:
            if name == "record_class":
                arguments["total_score"] += 1
            return call(name, **arguments)

        return decide(inputs, other)

    verdicts = [verdict_of(task, habit) for task in domain().tasks if decided(task)]

    for verdict in verdicts:
        assert ["what-is-recorded"] == [one.id for one in verdict.rules if one.broken]
        assert "record_class was called with other arguments" in str(verdict.departure)


def test_an_agent_that_does_nothing_holds_the_contract_only_where_no_tool_is_required() -> None:
    def habit(*_: object) -> object:
        return {"hazard_class": "Unable to Decide"}

    verdicts = {task.id: verdict_of(task, habit) for task in domain().tasks}

    held = {name for name, one in verdicts.items() if one.contract is RuleState.HELD}
    assert {name for name, one in verdicts.items() if one.grounded is None} == held
    assert {task.id for task in domain().tasks if not passes_intake(task)} <= held
    # Of two dossiers that pass intake, no score can be had, so no tool can be required.
    assert 22 == len(held)
