"""Break the agent of a domain on purpose, and see what its suite says; in the child process.

A policy is changed in one place and run on every task that comes to this place. A trajectory that
is right is changed as agents go wrong, and made again with the real tools. Each run is judged as
any other run is, so a mutant is noticed by what a session would say of it.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.observing.changes import changes_of, cited_clauses, clauses_at
from pytest_sopbench._audit.observing.probing import Book
from pytest_sopbench._audit.observing.suite import (
    FAILING,
    Suite,
    decide_of,
    follow_expected_calls,
    following,
    is_same,
    keeping,
    traced,
)
from pytest_sopbench._audit.observing.wrong_ways import (
    Key,
    Trial,
    WrongWays,
    remedy_for,
    remedy_of,
)
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._core.values.json import to_json_value
from pytest_sopbench._running.tools.domain_code import ManagerFactory

ENOUGH_ENDLESS: Final = 2
"""Runs of a mutant that did not end; the others are not made."""

_STRENGTH: Final = ("steps", "calls", "should", "rule", "crash", "answer")


def mutate(
    domain: Domain,
    factory: ManagerFactory | None,
    book: Book,
    skip: Sequence[int] = (),
) -> None:
    """Run every mutant of a domain but those that have ended a process before."""
    suite = Suite(domain, factory)
    if domain.policy_file is not None:
        _mutate_policy(suite, domain.policy_file, book, frozenset(skip))
    else:
        follow_expected_calls(suite)
    if suite.right and any(one.calls for one in suite.right.values()) and -1 not in skip:
        _mutate_trajectories(suite, book)
    rules = {
        position: [one.id for one in base.verdict.rules if one.applies]
        for position, base in suite.right.items()
    }
    book.say(judged=sorted(suite.right), rules=rules, left_out=suite.left_out)


# Mutants of a policy.


def _mutate_policy(suite: Suite, path: Path, book: Book, skip: AbstractSet[int]) -> None:
    source = path.read_text(encoding="utf-8-sig")
    tree, cited = ast.parse(source), cited_clauses(source)
    book.doing(step="import", tool="policy.py")
    decide = decide_of(tree, path)
    reached: dict[int, set[int]] = defaultdict(set)
    for position, task in enumerate(suite.tasks):
        book.doing(step="policy", row=position)
        lines: set[int] = set()
        told: list[Any] = []
        agent = keeping(traced(decide, str(path), lines), told)
        trace = suite.run(task, agent)
        suite.enter(position, to_json_value(told[0] if told else None), trace, lines)
    for position, base in suite.right.items():
        for line in base.lines:
            reached[line].add(position)
    book.say(reached={line: sorted(found) for line, found in reached.items()}, cited=cited)
    tools = {one.name for one in suite.domain.tool_specs}
    for number, change in enumerate(changes_of(tree)):
        if number in skip:
            continue
        at = sorted({row for line in change.lines for row in reached[line]})
        positions = at if change.lines else sorted(suite.right)
        clauses = clauses_at(cited, change)
        told_of: dict[str, Any] = {
            "kind": change.kind,
            "line": change.line,
            "function": change.function,
            "text": change.text,
            "clauses": clauses,
            "reached": len(positions),
        }
        book.doing(step="mutant", mutant=number, **told_of)
        back = change.apply()
        try:
            key, clause = (change.kind, change.tool, ""), next(iter(clauses), "")
            trial = Trial(remedy=remedy_for(key, clause=clause) if change.tool in tools else None)
            changed = _agent_of(tree, path)
            found = _outcome(suite, changed, positions, book, trial)
            mends: Sequence[int] = () if found["noticed"] else _mended(suite, changed)
            book.say(mutant=number, **told_of, **found, mends=mends)
        finally:
            back()


def _agent_of(tree: ast.Module, path: Path) -> Callable[..., Any] | str:
    """A changed policy, or why it cannot be imported."""
    try:
        return decide_of(tree, path)
    except BaseException as fault:  # noqa: BLE001 - a mutant may raise anything
        return f"{type(fault).__name__}: {fault}"[:200]


def _outcome(
    suite: Suite,
    decide: Callable[..., Any] | str,
    positions: Sequence[int],
    book: Book,
    trial: Trial,
) -> Mapping[str, Any]:
    """What the suite says of a mutant: by what it is noticed on which row, and where it differs."""
    found: dict[str, Any] = {"noticed": {}, "differs": [], "broken": "", "soft": {}, "remedy": None}
    if not positions:
        return found
    if isinstance(decide, str):
        return {**found, "broken": decide}
    noticed: dict[int, str] = {}
    differs: list[int] = []
    soft: Counter[str] = Counter()
    endless = 0
    for position in positions:
        book.beat()
        told: list[Any] = []
        trace = suite.run(suite.tasks[position], keeping(decide, told))
        right = suite.right[position]
        if told and is_same(right, told[0], trace):
            continue
        differs.append(position)
        by, rules = suite.noticed_by(position, trace)
        soft.update(rules)
        if by:
            noticed[position] = by
        if by not in FAILING:
            trial.hold(position, suite.tasks[position], trace)
        endless += trace.ending is Ending.TIMED_OUT
        if endless >= ENOUGH_ENDLESS:
            break
    right_calls = {row: base.calls for row, base in suite.right.items()}
    remedy = trial.told(right_calls, suite.tasks)
    return {**found, "noticed": noticed, "differs": differs, "soft": soft, "remedy": remedy}


def _mended(suite: Suite, decide: Callable[..., Any] | str) -> Sequence[int]:
    """The tasks left out that a mutant does right: there it may be the policy that is wrong."""
    mended: list[int] = []
    if isinstance(decide, str):
        return mended
    for position in suite.left_out:
        trace = suite.run(suite.tasks[position], decide)
        if trace.ending is Ending.TIMED_OUT:
            break
        if suite.judged(position, trace).correct:
            mended.append(position)
    return mended


# Mutants of trajectories: right calls, changed as agents go wrong. The answer stays right.


def _mutate_trajectories(suite: Suite, book: Book) -> None:
    kept = {
        position: [one for one in base.calls if isinstance(one.arguments, Mapping)]
        for position, base in suite.right.items()
    }
    ways = WrongWays(suite, kept)
    tallies: dict[Key, dict[int, set[str]]] = defaultdict(dict)
    noticed: dict[Key, dict[int, str]] = defaultdict(dict)
    soft: dict[Key, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    trials: dict[Key, Trial] = {}
    for position in kept:
        book.doing(step="trajectory", mutant=-1, row=position)
        for key, changed, told in ways.of(position):
            book.beat()
            task = suite.tasks[position]
            trace = suite.run(task, following(changed, told))
            by, rules = suite.noticed_by(position, trace)
            tallies[key].setdefault(position, set()).add(by)
            for rule in rules:
                soft[key][rule].add(position)
            if by not in FAILING:
                if key not in trials:
                    trials[key] = Trial(remedy=remedy_of(key, kept, suite))
                trials[key].hold(position, task, trace)
        for key, found in tallies.items():
            # On one task a tool may be called twice: it is noticed there if each of its ways is.
            if "" not in found.get(position, {""}):
                weakest = next(one for one in _STRENGTH if one in found[position])
                noticed[key][position] = weakest
    for key, found in tallies.items():
        kind, tool, other = key
        trial = trials.get(key)
        book.say(
            kind=kind,
            tool=tool,
            other=other,
            reached=len(found),
            noticed=noticed[key],
            differs=sorted(found),
            soft={rule: len(rows) for rule, rows in soft[key].items()},
            remedy=trial.told(kept, suite.tasks) if trial else None,
        )
