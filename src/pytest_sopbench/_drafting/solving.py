"""A blind solver: a model that answers rows with the tools, and knows no policy and no label."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final

from pytest_sopbench._audit.observing.mutating import cited_clauses
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._drafting.asking import Recorded
from pytest_sopbench._drafting.cards import SOLVER, Card
from pytest_sopbench._running.agents.caller import output_fields
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.agents.function_calling import FunctionCalling
from pytest_sopbench.errors import TurnLimitError

AT_ONCE: Final = 8
TURNS: Final = 12
_MOST_CALLS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What the solver made of one task; `said` is its answer, or why there is none."""

    task: str
    agrees: bool
    said: str


def solve(domain: Domain, client: Recorded) -> list[Solved]:
    """Answer every task of a domain, several at once; what was answered before is replayed.

    Raises:
        Exception: what the client of the provider raises.
    """
    boxes = ToolboxFactory(domain)
    rules = JudgingRules(fields=domain.fields, sop=domain.sop)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(partial(_solved, domain, boxes, rules, client), domain.tasks)]


def _solved(
    domain: Domain, boxes: ToolboxFactory, rules: JudgingRules, client: Recorded, task: Task
) -> Solved:
    box = boxes.open(task, max_calls=_MOST_CALLS, clock=monotonic)
    agent = FunctionCalling(client=client, max_turns=TURNS)
    inputs = dict(task.inputs)
    try:
        value = agent.execute(domain.sop, inputs, box.tools, output_fields(domain))
    except TurnLimitError as fault:
        return Solved(task=task.id, agrees=False, said=f"no answer: {fault}")
    finally:
        box.close()
    trace = Trace(ending=Ending.RETURNED, returned=read_returned(value), calls=box.calls)
    verdict = judge(rules, task, trace)
    return Solved(task=task.id, agrees=verdict.correct, said=_said(verdict))


def _said(verdict: Verdict) -> str:
    if verdict.answer is None or not verdict.answer.values:
        return f"no answer: {verdict.reason}"
    return ", ".join(f"{name} {value}" for name, value in verdict.answer.values.items())


def solver_cards(
    domain: Domain, solved: Sequence[Solved], policy: str, lines: Mapping[str, frozenset[int]]
) -> list[Card]:
    """Return a card for each task on which the solver and its label differ.

    Args:
        domain: whose labels they are.
        solved: what the solver said.
        policy: the source of the reference policy.
        lines: by task the lines of it that the task comes to.
    """
    cited = cited_clauses(policy)
    tasks = {task.id: task for task in domain.tasks}
    cards = list[Card]()
    for one in solved:
        if one.agrees:
            continue
        task = tasks[one.task]
        reached = [line for line in cited if line in lines.get(one.task, frozenset())]
        inputs: dict[str, JsonValue] = {**task.inputs, **task.results}
        label = ", ".join(f"{name} {_shown(value)}" for name, value in task.expected.items())
        cards.append(
            Card(
                about=SOLVER,
                clause=", ".join(cited[max(reached)]) if reached else "",
                inputs=inputs,
                readings={"case": one.task, "policy": label, "solver": one.said},
            )
        )
    return cards


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)
