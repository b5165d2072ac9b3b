"""A blind solver: a model that answers rows with the tools, and knows no policy and no label."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from pytest_sopbench._audit.observing.mutating import cited_clauses
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.end_state import UnknownStateError, state_differs
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._drafting.asking import Recorded
from pytest_sopbench._drafting.cards import SOLVER, Card
from pytest_sopbench._drafting.running import Ran
from pytest_sopbench._judge.asking import digest
from pytest_sopbench._running.agents.caller import output_fields
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.agents.model_agent import FunctionCalling
from pytest_sopbench.errors import ToolError, TurnLimitError

AT_ONCE: Final = 8
TURNS: Final = 12
_MOST_CALLS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What the solver made of one task.

    Attributes:
        task: its id.
        agrees: whether answer and writes are those of the label.
        said: its answer, or why there is none.
        differs: where what it wrote is not what the policy writes.
        read: a hash of all that it was told, and of what it was held against.
    """

    task: str
    agrees: bool
    said: str
    differs: str = ""
    read: str = ""


def solve(
    domain: Domain,
    client: Recorded,
    runs: Mapping[str, Ran],
    before: Sequence[Solved] = (),
) -> list[Solved]:
    """Answer every task of a domain, several at once; what was answered before is not asked.

    Args:
        domain: whose tasks they are.
        client: of the model.
        runs: by task what the policy did, whose writes are the right ones.
        before: what was solved before, and counts where nothing has changed.

    Raises:
        Exception: what the client of the provider raises.
    """
    boxes = ToolboxFactory(domain)
    written = {name: _written(boxes, domain, name, ran) for name, ran in runs.items()}
    state = domain.state and replace(domain.state, expected=written)
    rules = JudgingRules(fields=domain.fields, sop=domain.sop, world=domain.world, state=state)
    done = {(one.task, one.read): one for one in before}

    def solved(task: Task) -> Solved:
        read = _read(domain, task, runs.get(task.id))
        kept = done.get((task.id, read))
        return kept or replace(_solved(domain, boxes, rules, client, task), read=read)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(solved, domain.tasks)]


def _read(domain: Domain, task: Task, ran: Ran | None) -> str:
    row = [dict(task.inputs), dict(task.results), dict(task.expected)]
    told = [domain.hashes.get(name, "") for name in ("sop", "specs", "tools")]
    calls: list[JsonValue] = [[name, given] for name, given in ran.calls] if ran else []
    return digest([*told, row, calls])


def _written(
    boxes: ToolboxFactory, domain: Domain, name: str, ran: Ran
) -> tuple[StateChange, ...] | str:
    """Return what the calls of the policy change in the world of a task."""
    if ran.error:
        return f"the policy fails: {ran.error}"
    box = boxes.open(domain.tasks[domain.task_ids.index(name)], max_calls=10_000, clock=monotonic)
    try:
        for tool, arguments in ran.calls:
            # What the policy was refused changed nothing then, and changes nothing now.
            with suppress(ToolError):
                box.tools.call(tool, **arguments)
        return box.state or ()
    finally:
        box.close()


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
    trace = Trace(
        ending=Ending.RETURNED, returned=read_returned(value), calls=box.log.calls, state=box.state
    )
    verdict = judge(rules, task, trace)
    try:
        # What was written is told also where the answer is wrong already.
        differs = "; ".join(state_differs(rules, task, box.state))
    except UnknownStateError as fault:
        differs = str(fault)
    return Solved(task=task.id, agrees=verdict.correct, said=_said(verdict), differs=differs)


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
        said = f"{one.said}; what it wrote: {one.differs}" if one.differs else one.said
        cards.append(
            Card(
                about=SOLVER,
                clause=", ".join(cited[max(reached)]) if reached else "",
                inputs=inputs,
                readings={"case": one.task, "policy": label, "solver": said},
            )
        )
    return cards


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)
