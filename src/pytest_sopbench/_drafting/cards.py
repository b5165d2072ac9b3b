"""Cards: what two readers of one text see differently, for a person to decide.

The readers are two policies, or a policy and a blind solver, which answers the rows first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Final

from pytest_sopbench._audit.observing.changes import cited_clauses
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
from pytest_sopbench._drafting.policies import Ran
from pytest_sopbench._drafting.shape import ID, Row
from pytest_sopbench._judge.asking import digest
from pytest_sopbench._running.agents.caller import output_fields
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.agents.model_agent import FunctionCalling
from pytest_sopbench.errors import LoadingError, ToolError, TurnLimitError

FILE: Final = "cards.json"
POLICIES: Final = "policies"
SOLVER: Final = "solver"
_TEXT_IS_WRONG: Final = "text"

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    POLICIES: ("a", "b", _TEXT_IS_WRONG),
    SOLVER: ("policy", "solver", _TEXT_IS_WRONG),
}
"""Who can be right, by what a card is about; `text` says that the procedure leaves it open."""

_SETTLED: Final = frozenset({"a", "b", "policy"})
"""Decisions that need no change of a text; `b` makes the second policy the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One question about the text.

    Attributes:
        about: whether two policies differ, or the solver and the labels.
        clause: the clauses that the readings follow from, as comments of the policies name them.
        inputs: a case on which they differ, with what tools return.
        readings: what each of the two says.
        cases: how many of the generated cases differ so.
        decision: one of `CHOICES`; empty while nobody has decided.
        by: who decided.
    """

    about: str
    clause: str
    inputs: Mapping[str, JsonValue]
    readings: Mapping[str, str]
    cases: int = 1
    decision: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """What names the question: another text of a reading is another question."""
        return digest([self.about, self.clause, dict(self.readings)])

    @property
    def is_open(self) -> bool:
        return self.decision not in _SETTLED


def policy_cards(
    rows: Sequence[Row], one: Sequence[Ran], other: Sequence[Ran], sources: tuple[str, str]
) -> list[Card]:
    """Return a card for each way in which two policies differ, with the first such case."""
    found: dict[str, Card] = {}
    for row, a, b in zip(rows, one, other, strict=True):
        readings = a.against(b)
        if readings[0] == readings[1] and not a.error:
            continue
        names = dict.fromkeys((*_clauses(a, sources[0]), *_clauses(b, sources[1])))
        card = Card(
            about=POLICIES,
            clause=", ".join(names),
            inputs={**{name: row[name] for name in row if name != ID}, **_written(a, b)},
            readings={"a": readings[0], "b": readings[1]},
        )
        before = found.get(card.key)
        found[card.key] = replace(before, cases=before.cases + 1) if before else card
    return sorted(found.values(), key=lambda card: -card.cases)


def _written(a: Ran, b: Ran) -> Mapping[str, JsonValue]:
    """What both policies write, if that is not the same."""
    if a.writes == b.writes:
        return {}
    told = {"a writes": a.writes, "b writes": b.writes}
    return {name: [[tool, dict(given)] for tool, given in calls] for name, calls in told.items()}


def _clauses(ran: Ran, source: str) -> tuple[str, ...]:
    """The clauses named on the last line with a comment that a run came to."""
    cited = {line: names for line, names in cited_clauses(source).items() if line in ran.lines}
    return cited[max(cited)] if cited else ()


def chosen(cards: Iterable[Card]) -> str:
    """Return which policy people's decisions make the reference; the first unless all say not."""
    decided = {one.decision for one in cards if one.about == POLICIES and one.decision}
    return "b" if decided == {"b"} else "a"


def _contradicted(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards whose decision says that the reference policy is wrong."""
    every = [*cards]
    wrong = "a" if chosen(every) == "b" else "b"
    return tuple(one for one in every if one.decision in {wrong, "solver"})


def settled_pairs(cards: Iterable[Card], which: str) -> frozenset[tuple[str, str]]:
    """Return the readings of two policies that differ, if people hold the reference to be right.

    Args:
        cards: all cards.
        which: the reference: `a` or `b`.
    """
    every = [*cards]
    against = {one.key for one in _contradicted(every)}
    return frozenset(
        (one.readings["a"], one.readings["b"])
        for one in every
        if one.about == POLICIES and one.decision == which and one.key not in against
    )


def unsettled(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards that keep a draft from being reviewed."""
    every = [*cards]
    against = {one.key for one in _contradicted(every)}
    return tuple(one for one in every if one.is_open or one.key in against)


def read_cards(folder: Path) -> list[Card]:
    """Read the cards of `drafting/`; none if there is no file.

    Raises:
        LoadingError: the file does not hold cards.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        return [Card(**one) for one in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError) as fault:
        hint = "remove it; decisions are asked again"
        raise LoadingError(path, f"it holds no cards: {fault}", hint=hint) from fault


def keep_cards(folder: Path, about: str, found: Iterable[Card]) -> list[Card]:
    """Write the cards of one kind, with what was decided of them before; return all cards."""
    before = read_cards(folder)
    decided = {one.key: one for one in before if one.decision}
    new = [
        replace(one, decision=decided[one.key].decision, by=decided[one.key].by)
        if one.key in decided
        else one
        for one in found
    ]
    every = [*new, *(one for one in before if one.about != about)]
    write_cards(folder, sorted(every, key=lambda one: one.about))
    return every


def add_cards(folder: Path, found: Iterable[Card]) -> list[Card]:
    """Write cards beside those that there are already; return those that are new."""
    before = read_cards(folder)
    known = {one.key for one in before}
    new = [one for one in found if one.key not in known]
    if new:
        write_cards(folder, [*before, *new])
    return new


def write_cards(folder: Path, cards: Iterable[Card]) -> None:
    """Write all cards, in one step."""
    text = json.dumps([asdict(one) for one in cards], indent=1, ensure_ascii=False)
    with replace_file(folder / FILE) as file:
        file.write(f"{text}\n".encode())


# A blind solver: a model that answers rows with the tools, and knows no policy and no label.

_AT_ONCE: Final = 8
_TURNS: Final = 12
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
        before: what was solved before, and counts if nothing has changed.

    Raises:
        Exception: what the client of the provider raises.
    """
    boxes = ToolboxFactory(domain)
    written = {name: _changes_of(boxes, domain, name, ran) for name, ran in runs.items()}
    state = domain.state and replace(domain.state, expected=written)
    rules = JudgingRules(fields=domain.fields, sop=domain.sop, world=domain.world, state=state)
    done = {(one.task, one.read): one for one in before}

    def solved(task: Task) -> Solved:
        read = _read(domain, task, runs.get(task.id))
        kept = done.get((task.id, read))
        return kept or replace(_solved(domain, boxes, rules, client, task), read=read)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [*pool.map(solved, domain.tasks)]


def _read(domain: Domain, task: Task, ran: Ran | None) -> str:
    row = [dict(task.inputs), dict(task.results), dict(task.expected)]
    told = [domain.hashes.get(name, "") for name in ("sop", "specs", "tools")]
    calls: list[JsonValue] = [[name, given] for name, given in ran.calls] if ran else []
    return digest([*told, row, calls])


def _changes_of(
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
    agent = FunctionCalling(client=client, max_turns=_TURNS)
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
        # What was written is told also if the answer is wrong already.
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
