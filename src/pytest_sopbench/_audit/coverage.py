"""Coverage of an SOP: what the tasks of a domain exercise, and what came of it in a session."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.observing.changes import cited_clauses
from pytest_sopbench._audit.observing.covering import (
    HELD,
    NOT_HELD,
    Condition,
    conditions_of,
)
from pytest_sopbench._audit.observing.sandbox import Limits, observe_coverage
from pytest_sopbench._audit.reading import Subject, read_folder
from pytest_sopbench._audit.sop_text import SopText
from pytest_sopbench._core.demands import RuleState
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._loading.load import POLICY_FILE
from pytest_sopbench.errors import LoadingError

_MANY: Final = 5
"""A field of which more than each fifth row has another label is a text, and no choice."""

Rows = AbstractSet[int]
_NOBODY: Rows = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A condition of the policy, and the tasks that were on each side of it.

    Attributes:
        condition: the condition.
        clauses: those that are named beside it, or beside a constant that it reads.
        tasks: in how many tasks it held, in how many it did not, and in how many both sides of its
            comparison were equal.
    """

    condition: Condition
    clauses: tuple[str, ...]
    tasks: Mapping[str, int]

    @property
    def missing(self) -> tuple[str, ...]:
        """The sides that no task is on."""
        return tuple(one for one in (HELD, NOT_HELD) if not self.tasks.get(one))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What the tasks of a domain exercise.

    Attributes:
        name: the name of the domain.
        sop: its procedure.
        tasks: how many there are.
        covered: how many of them have a run of the policy, or expected calls that are right.
        source: what was run: `policy.py`, `expected calls`, or empty.
        clauses: tasks of each clause that the policy or a rule of the contract names.
        sides: the conditions of the policy.
        rules: tasks to which each rule of the contract applies.
        labels: tasks of each label, by output field.
        tools: tasks that call each tool.
        problems: how the process ended that ran the policy, if not well.
    """

    name: str
    sop: str
    tasks: int
    covered: int = 0
    source: str = ""
    clauses: Mapping[str, int] = field(default_factory=dict[str, int])
    sides: Sequence[Sides] = ()
    rules: Mapping[str, int] = field(default_factory=dict[str, int])
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, "Mapping[str, int]"])
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    problems: tuple[str, ...] = ()

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The clauses of the procedure that neither the policy nor a rule names."""
        every = [one.number for one in SopText(self.sop).clauses if "." in one.number]
        return tuple(one for one in dict.fromkeys(every) if one not in self.clauses)

    @property
    def held(self) -> int:
        """How many of the named clauses a task holds."""
        return sum(count > 0 for count in self.clauses.values())

    @property
    def percent(self) -> float:
        """The share of them; 0 if none is named, so that no gate holds by that."""
        return 100 * self.held / len(self.clauses) if self.clauses else 0.0


def coverage_of(folder: Path, limits: Limits | None = None) -> Coverage:
    """Run the policy of a domain on each of its tasks, and say what they exercise.

    Raises:
        LoadingError: the domain cannot be loaded.
    """
    seen = read_folder(folder)
    if seen.domain is None:
        raise seen.refused or LoadingError(folder, "cannot be loaded")
    domain = seen.domain
    subject = Subject(folder=seen, domain=domain, tasks=tuple(domain.tasks))
    runs: list[Mapping[str, Any]] = []
    problems: tuple[str, ...] = ()
    if domain.policy_file is not None or domain.expected_calls:
        lines, incidents = observe_coverage(domain, limits)
        runs = [one for one in lines if "covered" in one]
        problems = tuple(f"{one.tool or 'its code'}: {one.kind} {one.detail}" for one in incidents)
    source = subject.text(POLICY_FILE) if domain.policy_file is not None else ""
    places = _places_of(source) if source else _Places()
    rules = domain.contract.rules if domain.contract is not None else ()
    return Coverage(
        name=domain.name,
        sop=domain.sop,
        tasks=len(subject.tasks),
        covered=len(runs),
        source=POLICY_FILE if source else "expected calls" if runs else "",
        clauses=_clauses(domain, places, runs),
        sides=tuple(
            Sides(
                condition=one,
                clauses=places.clauses_of(one),
                tasks=Counter(side for run in runs for side in run["seen"].get(str(number), ())),
            )
            for number, one in enumerate(places.conditions)
        ),
        rules={rule.id: sum(rule.id in run["rules"] for run in runs) for rule in rules},
        labels=dict(_labels(subject)),
        tools={
            one.name: sum(one.name in run["tools"] for run in runs) for one in domain.tool_specs
        },
        problems=problems,
    )


def _labels(subject: Subject) -> Iterator[tuple[str, Mapping[str, int]]]:
    for name, labels in subject.labels.items():
        if name in subject.domain.private_columns:
            continue
        counts = Counter(labels)
        declared = next((one.values for one in subject.compared if one.name == name), ())
        for value in declared or ():
            counts.setdefault(subject.label(name, value), 0)
        if len(counts) * _MANY <= len(labels):
            yield name, dict(counts.most_common())


def _clauses(
    domain: Domain, places: _Places, runs: Sequence[Mapping[str, Any]]
) -> Mapping[str, int]:
    """How many tasks hold each clause: they come to a place that names it, or a rule applies."""
    found: dict[str, set[int]] = defaultdict(set)
    for place in places.all:
        for clause in place.clauses:
            found[clause].update(run["covered"] for run in runs if _comes_to(run, place))
    for rule in domain.contract.rules if domain.contract is not None else ():
        for clause in numbers_of(rule.clause):
            found[clause].update(run["covered"] for run in runs if rule.id in run["rules"])
    numbering = SopText(domain.sop).numbering
    # "Part 4" names no clause, if part 4 has clauses of its own.
    parts = {one.partition(".")[0] for one in numbering if "." in one}
    return {name: len(found[name]) for name in sorted(found, key=in_order) if name not in parts}


def _comes_to(run: Mapping[str, Any], place: _Place) -> bool:
    if not place.lines.isdisjoint(run["lines"]):
        return True
    return any(str(number) in run["seen"] for number in place.conditions)


def numbers_of(clause: str) -> list[str]:
    """The numbers that a rule names as its clause."""
    return re.findall(r"[A-Z]?[0-9]+(?:\.[0-9]+)*", clause)


def in_order(clause: str) -> list[tuple[int, str]]:
    """The key by which clauses stand in the order of the procedure."""
    return [(int(one), "") if one.isdigit() else (10_000, one) for one in clause.split(".")]


# Where a policy names clauses, and what a task has to come to so that it holds them.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Clauses with the lines of which one is run, or the conditions of which one is asked."""

    clauses: tuple[str, ...]
    lines: frozenset[int] = frozenset()
    conditions: tuple[int, ...] = ()


@dataclass(slots=True)
class _Places:
    """All places of a policy, its conditions, and the clauses beside each line and constant."""

    all: list[_Place] = field(default_factory=list[_Place])
    conditions: Sequence[Condition] = ()
    at: dict[int, tuple[str, ...]] = field(default_factory=dict[int, "tuple[str, ...]"])
    constants: dict[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])

    def clauses_of(self, condition: Condition) -> tuple[str, ...]:
        """The clauses of the constants that it reads, else those beside it."""
        named = [one for name in sorted(condition.names) for one in self.constants.get(name, ())]
        return tuple(dict.fromkeys(named)) or self.at.get(condition.line, ())


def _places_of(source: str) -> _Places:
    try:
        tree, conditions = ast.parse(source), conditions_of(source)
    except (SyntaxError, ValueError, RecursionError):
        return _Places()
    places = _Places(conditions=conditions)
    cited = dict(cited_clauses(source))
    text = source.splitlines()
    # A comment on a line of its own speaks of the line below it.
    for line in sorted(cited, reverse=True):
        if text[line - 1].lstrip().startswith("#"):
            cited.setdefault(line + 1, cited[line])
    _walk(tree.body, cited, places, ())
    _enter_constants(tree, places)
    return places


def _walk(
    body: Iterable[ast.stmt],
    cited: Mapping[int, tuple[str, ...]],
    places: _Places,
    inherited: tuple[str, ...],
    *,
    inside: bool = False,
) -> None:
    for one in body:
        inner: list[ast.stmt] = getattr(one, "body", [])
        last = inner[0].lineno - 1 if inner else (one.end_lineno or one.lineno)
        own = range(one.lineno, max(one.lineno, last) + 1)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            doc = one.body[0]
            named = cited.get(doc.lineno, ()) if ast.get_docstring(one, clean=False) else ()
            if named and not isinstance(one, ast.ClassDef):
                within = frozenset(range(doc.lineno + 1, (one.end_lineno or one.lineno) + 1))
                places.all.append(_Place(clauses=named, lines=within))
            is_function = not isinstance(one, ast.ClassDef)
            _walk(inner, cited, places, named or inherited, inside=is_function)
            continue
        found = tuple(dict.fromkeys(name for line in own for name in cited.get(line, ())))
        if not inside:
            _enter_constant(one, found, places)
            continue
        for line in own:
            places.at[line] = found or inherited
        if found:
            # What a condition names comes about if it holds.
            lines = {inner[0].lineno} if isinstance(one, ast.If) else set(own)
            places.all.append(_Place(clauses=found, lines=frozenset(lines)))
        for part in ("body", "orelse", "finalbody"):
            _walk(getattr(one, part, []), cited, places, inherited, inside=True)
        for handler in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]:
            _walk(handler.body, cited, places, inherited, inside=True)


def _enter_constant(statement: ast.stmt, found: tuple[str, ...], places: _Places) -> None:
    if not found or not isinstance(statement, ast.Assign | ast.AnnAssign):
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    for at, name in enumerate(names):
        # `LONG, SHORT = 7, 2  # clauses 3.1, 3.2` names a clause for each.
        places.constants[name] = (found[at],) if len(names) == len(found) else found


def _enter_constants(tree: ast.Module, places: _Places) -> None:
    """A clause beside a constant is held where the constant is read."""
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    read: dict[str, set[int]] = defaultdict(set)
    for function in functions:
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in places.constants:
                    read[node.id].add(node.lineno)
    for name, clauses in places.constants.items():
        asked = [at for at, one in enumerate(places.conditions) if name in one.names]
        lines = read[name] - {places.conditions[at].line for at in asked}
        places.all.append(_Place(clauses=clauses, lines=frozenset(lines), conditions=tuple(asked)))


# What came of the clauses of a contract in the runs of a session.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRuns:
    """How many runs kept a clause, broke it, or came to it without showing either.

    `asked` are the runs of tasks to which one of its rules applies.
    """

    asked: int
    kept: int
    broken: int


def session_clauses(records: Iterable[RunRecord]) -> Mapping[str, ClauseRuns]:
    """Return what came of each clause that a rule of the contract names."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        states: dict[str, list[RuleState]] = defaultdict(list)
        for rule in record.rules:
            for clause in numbers_of(rule.clause) or [rule.id]:
                states[clause] += [rule.state] if rule.applies or rule.broken else []
        for clause, found in states.items():
            counts[clause]["asked"] += bool(found)
            broken = RuleState.BROKEN in found
            counts[clause]["broken"] += broken
            counts[clause]["kept"] += RuleState.HELD in found and not broken
    return {
        name: ClauseRuns(asked=one["asked"], kept=one["kept"], broken=one["broken"])
        for name, one in sorted(counts.items(), key=lambda pair: in_order(pair[0]))
    }


def sop_lines(sop: str, clauses: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the lines of a procedure, each with the nearest counted clause that it stands in.

    The last value tells whether that clause begins there.
    """
    counted = set(clauses)
    begins = {one.line: one.number for one in SopText(sop).clauses if one.number}
    number = ""
    for at, text in enumerate(sop.splitlines(), 1):
        number = begins.get(at, number)
        begun, held = at in begins and number in counted, number
        while held and held not in counted:
            held = held.rpartition(".")[0]
        yield text, held, begun
