"""Sixty agents that somebody wrote wrong, held against what `audit --mutants` says of such errors.

Whoever wrote `wrong_agents.toml` had not seen the mutants. Where each mutant of a kind fails the
suite, so must an agent that errs in this way; one that passes must be of a kind of which the audit
names a survivor.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench.bundled
from pytest_sopbench import Domain, Task, Trace
from pytest_sopbench._audit.observing import mutating
from pytest_sopbench._audit.observing.changes import Change, changes_of
from pytest_sopbench._audit.observing.mutants import Mutant, mutation_of
from pytest_sopbench._audit.observing.suite import Suite, decide_of, is_same
from pytest_sopbench._audit.observing.wrong_ways import Key, WrongWays
from pytest_sopbench._core.values.json import to_json_value
from pytest_sopbench._loading.evidence import read_strong_sample
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.domain_code import ManagerFactory, load_manager_factory

BUNDLED = Path(pytest_sopbench.bundled.__path__[0])
AGENTS = tomllib.loads(Path(__file__).with_name("wrong_agents.toml").read_text("utf-8"))["agent"]
DOMAINS = ("dangerous_goods", "customer_service", "order_fulfillment")

WAYS = ("answer", "state", "rule", "rule that should hold", "expected calls", "nothing")
"""What can notice a wrong agent, the strongest first."""

FAILS = WAYS[:3]
"""What fails a run that has no option set."""

SPELLED = {
    **dict.fromkeys(("answer", "crash"), "answer"),
    "rule": "rule",
    "should": "rule that should hold",
    **dict.fromkeys(("calls", "steps"), "expected calls"),
    "": "nothing",
}
"""The ways in the words of the audit."""

FIGURES = {
    "answer": 41,
    "state": 3,
    "rule": 11,
    "rule that should hold": 2,
    "expected calls": 3,
}

ENOUGH = 2
"""Lost tasks after which nothing stronger can be found."""

AGAINST_THE_SAMPLE = (
    "takes less than 1.0 kg for 1.0 kg or less",
    "forgets that two missing scores with the SDS label among them cannot be decided",
    "enters class D to be safe for a product that it answers as undecided",
    "takes more than five failed attempts for five or more",
    "compares contact numbers without reading the country code as a 0",
    "gives planned works the grace period of issue 10",
    "sends a survey with every case that it closes as restored",
    "takes fifty pieces for more than fifty",
    "forgets the ferry of the island",
    "reserves the two halves of a split in two requests",
)

UNSEEN_BY_THE_SAMPLE = {
    "compares contact numbers without reading the country code as a 0": (
        "no mutant reads a text otherwise, so that the sample needs neither of the two rows"
    ),
}
"""Those of the ten that pass on the sample, and why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WrongAgent:
    """One of them, as the file says it."""

    domain: str
    name: str
    like: str
    noticed_by: str
    old: str | list[str]
    new: str | list[str]
    survivor: str = ""
    reason: str = ""

    @property
    def source(self) -> str:
        """The policy with its texts replaced, each of which stands there once."""
        source = (BUNDLED / self.domain / "policy.py").read_text("utf-8")
        for old, new in zip(listed(self.old), listed(self.new), strict=True):
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return source


def listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


WRONG = [WrongAgent(**one) for one in AGENTS]


@dataclass(kw_only=True)
class Lines:
    """What the audit writes down while it runs mutants."""

    lines: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def doing(self, **what: Any) -> None:
        """Nobody watches."""

    def beat(self) -> None:
        """Nobody waits."""

    def say(self, **line: Any) -> None:
        self.lines.append(line)


@cache
def opened(name: str) -> tuple[Domain, ManagerFactory | None]:
    domain = load_domain(BUNDLED / name)
    return domain, load_manager_factory(domain) if domain.tools_file else None


@cache
def suite_of(name: str) -> Suite:
    """The tasks of a domain with the right run of each."""
    suite = Suite(*opened(name))
    decide = decided_by(name, (BUNDLED / name / "policy.py").read_text("utf-8"))
    for position, task in enumerate(suite.tasks):
        answer, trace = made(suite, task, decide)
        assert suite.enter(position, answer, trace, set())
    return suite


def decided_by(name: str, source: str) -> Callable[..., Any]:
    return decide_of(ast.parse(source), BUNDLED / name / "policy.py")


def made(suite: Suite, task: Task, decide: Callable[..., Any]) -> tuple[Any, Trace]:
    told: list[Any] = [None]

    def agent(inputs: Any, call: Callable[..., Any]) -> Any:
        told[0] = decide(inputs, call)
        return told[0]

    trace = suite.run(task, agent)
    return to_json_value(told[0]), trace


@cache
def reported(name: str) -> tuple[Mutant, ...]:
    """The mutants of the kinds that agents of a domain are like, unless the answer notices them.

    No mutant of their kind is noticed by anything stronger, so that none has to be run.
    """
    kinds = {one.like for one in WRONG if one.domain == name and one.noticed_by != WAYS[0]}

    def changes(tree: ast.Module) -> Iterator[Change]:
        return (one for one in changes_of(tree) if kinds & spelled(one.kind, one.function))

    def ways(known: WrongWays, position: int) -> Iterator[Any]:
        return (one for one in every(known, position) if kinds & spelled(*told(one[0])))

    domain, factory = opened(name)
    book, every = Lines(), WrongWays.of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutating, "changes_of", changes)
        patch.setattr(WrongWays, "of", ways)
        mutating.mutate(domain, factory, book)
    return mutation_of(domain, book.lines).mutants


def told(key: Key) -> tuple[str, str]:
    kind, tool, other = key
    return kind, f"{tool}.{other}"


def spelled(kind: str, where: str) -> set[str]:
    """How an agent may say that it is like a mutant: a tool with or without what is wrong in it."""
    where = where.strip("()")
    return {f"{kind} {where}", f"{kind} {where.partition('.')[0]}"}


def alike(agent: WrongAgent) -> list[Mutant]:
    return [
        one
        for one in reported(agent.domain)
        if agent.like in spelled(one.kind, one.function or f"{one.tool}.{one.other}")
    ]


def ways_noticed(agent: WrongAgent, rows: Sequence[int] = ()) -> Iterator[str]:
    """By what it is noticed on each row on which its run is not the right one."""
    suite = suite_of(agent.domain)
    decide = decided_by(agent.domain, agent.source)
    for position in rows or range(len(suite.tasks)):
        answer, trace = made(suite, suite.tasks[position], decide)
        if not is_same(suite.right[position], answer, trace):
            yield way(suite, position, trace)


def way(suite: Suite, position: int, trace: Trace) -> str:
    by, _ = suite.noticed_by(position, trace)
    verdict = suite.judged(position, trace) if by == "answer" else None
    if verdict is not None and verdict.state_differs and not verdict.mismatches:
        return "state"
    return SPELLED[by]


@cache
def strongest(agent: WrongAgent) -> str:
    counts: Counter[str] = Counter()
    for one in ways_noticed(agent):
        counts[one] += 1
        if counts[WAYS[0]] == ENOUGH:
            break
    return min(counts, key=WAYS.index, default="nothing")


def promised(mutant: Mutant) -> str:
    """By what at the least an error of this kind is noticed, as the audit tells it."""
    if mutant.fails:
        return FAILS[-1]
    return max((SPELLED[by] for by in mutant.noticed.values()), key=WAYS.index, default="nothing")


def test_there_are_twenty_wrong_agents_of_each_domain() -> None:
    assert dict.fromkeys(DOMAINS, 20) == Counter(one.domain for one in WRONG)
    assert 60 == len({one.name for one in WRONG})


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_wrong_agent_is_noticed_as_is_written_and_as_the_audit_says_of_its_kind(
    domain: str,
) -> None:
    """One test for a domain: to run its mutants takes seconds. A weaker way is a greater number."""
    agents = [one for one in WRONG if one.domain == domain]

    found = {one.name: strongest(one) for one in agents}

    assert {one.name: one.noticed_by for one in agents} == found
    weakest = {
        one.name: max((promised(mutant) for mutant in alike(one)), key=WAYS.index)
        for one in agents
        if one.like and one.noticed_by != WAYS[0]
    }
    assert [] == [
        (name, found[name], way)
        for name, way in weakest.items()
        if WAYS.index(found[name]) > WAYS.index(way)
    ]
    passing = [one for one in agents if found[one.name] not in FAILS]
    assert (
        passing == [one for one in agents if one.survivor] == [one for one in agents if one.reason]
    )
    assert [] == [
        one.name
        for one in passing
        if one.survivor not in {mutant.text for mutant in alike(one) if not mutant.fails}
    ]


def test_the_figures_of_the_sixty_are_these() -> None:
    """Those that fail no run are noticed all the same, and count with `enforce` or a gate."""
    assert FIGURES == Counter(one.noticed_by for one in WRONG)


@pytest.mark.parametrize("name", AGAINST_THE_SAMPLE)
def test_a_wrong_agent_fails_on_the_strong_sample_unless_no_mutant_is_of_its_kind(
    name: str,
) -> None:
    (agent,) = (one for one in WRONG if one.name == name)
    domain, _ = opened(agent.domain)
    sample = read_strong_sample(domain).tasks

    found = {*ways_noticed(agent, [domain.task_ids.index(one) for one in sample])}

    assert agent.noticed_by in FAILS
    assert bool(found & {*FAILS}) == (name not in UNSEEN_BY_THE_SAMPLE)
    assert not agent.like or name not in UNSEEN_BY_THE_SAMPLE
