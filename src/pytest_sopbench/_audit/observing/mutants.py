"""The mutants of a domain, and what its suite said of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_sopbench._audit.model import Place
from pytest_sopbench._audit.observing.sandbox import Incident, Limits, observe_mutants
from pytest_sopbench._audit.observing.suite import FAILING
from pytest_sopbench._core.domain import Domain

WAYS: Final[Mapping[str, str]] = {
    "left-out": "leaving out `{tool}`",
    "repeated": "calling `{tool}` twice",
    "retried": "calling `{tool}` again after it has failed",
    "ignored": "calling `{other}` although `{tool}` has failed",
    "stopped": "stopping before `{tool}`, with the right answer",
    "invented": "giving `{tool}` an argument that it does not have",
    "swapped": "calling `{other}` before `{tool}`",
    "value": "giving `{tool}` another row's `{other}`",
    "label": "answering another frequent value of `{other}`",
}
"""How agents go wrong that make right calls otherwise."""

BY: Final[Mapping[str, str]] = {
    "answer": "by answers",
    "crash": "by runs that end without one",
    "rule": "by rules",
    "should": "by rules that should hold",
    "calls": "by expected calls alone",
    "steps": "by the order or number of expected calls alone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRule:
    """A rule that was tried on the runs of a wrong agent, and on the right ones.

    Attributes:
        rule: as a contract says it.
        notices: rows on which each wrong run breaks it, and the right one does not.
        left_out: rows whose right run breaks it, which a `when` has to leave out.
    """

    rule: Mapping[str, Any]
    notices: Sequence[int]
    left_out: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One wrong agent, and what the suite says of it.

    Attributes:
        kind: of a policy what was changed, such as `comparison`; else a key of `WAYS`.
        line: of the policy; 0 for a trajectory.
        function: of the policy; empty for a trajectory.
        text: what was changed.
        clauses: those that a comment beside it names.
        tool: the tool that is called wrongly; `other` is a second one, an argument or a field.
        reached: how many tasks come to it.
        noticed: by what, on which row: `answer`, `crash`, `rule`, `should`, `calls` or `steps`. The
            last three fail no run: `should` does if rules are enforced, `calls` if expected calls
            have a gate, and `steps` (their order, or one more) has none.
        differs: rows on which its run differs from the right one at all.
        soft: the rules that only should hold, and on how many tasks each notices it.
        remedy: a rule that would notice it, as it was tried.
        mends: rows left out that it does right, though nothing notices it.
        broken: why there is no such agent; empty if there is.
    """

    kind: str
    line: int = 0
    function: str = ""
    text: str
    clauses: tuple[str, ...] = ()
    tool: str = ""
    other: str = ""
    reached: int
    noticed: Mapping[int, str]
    differs: tuple[int, ...] = ()
    soft: Mapping[str, int] = field(default_factory=dict[str, int])
    remedy: TriedRule | None = None
    mends: tuple[int, ...] = ()
    broken: str = ""

    @property
    def by(self) -> str:
        """The strongest of what notices it: an answer, before a rule, before expected calls."""
        return next((one for one in BY if one in self.noticed.values()), "")

    @property
    def fails(self) -> tuple[int, ...]:
        """The rows that fail by it."""
        return tuple(row for row, by in self.noticed.items() if by in FAILING)

    @property
    def place(self) -> Place:
        """Where it stands: what an acceptance names, and what editing elsewhere does not move."""
        if self.tool or not self.line:
            return Place(tool=self.tool, change=self.text)
        return Place(file="policy.py", line=self.line, change=f"{self.function}: {self.text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """All mutants of a domain.

    Attributes:
        mutants: each with what came of it.
        judged: the rows whose right run is known and passes; the others say nothing.
        left_out: the other rows, and why.
        tasks: how many rows there are.
        rules: the rules of the contract that apply to each row.
        clauses: the rows that come to a line beside which a clause is named.
        incidents: how processes ended that ran them.
        is_whole: whether all of them were run.
    """

    mutants: tuple[Mutant, ...] = ()
    judged: frozenset[int] = frozenset()
    left_out: Mapping[int, str] = field(default_factory=dict[int, str])
    tasks: int = 0
    rules: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, "tuple[str, ...]"])
    clauses: Mapping[str, frozenset[int]] = field(default_factory=dict[str, "frozenset[int]"])
    incidents: tuple[Incident, ...] = ()
    is_whole: bool = True


def mutate(domain: Domain, limits: Limits | None = None) -> Mutation:
    """Make every mutant of a domain, run and judge it, in a process of its own."""
    if domain.policy_file is None and not domain.expected_calls:
        return Mutation(tasks=len(domain.task_ids))
    return mutation_of(domain, *observe_mutants(domain, limits))


def mutation_of(
    domain: Domain, lines: Iterable[Mapping[str, Any]], incidents: Sequence[Incident] = ()
) -> Mutation:
    """Put together what the lines say that were written while mutants were run."""
    mutants: list[Mutant] = []
    judged: frozenset[int] = frozenset()
    rules: dict[int, tuple[str, ...]] = {}
    clauses: dict[str, set[int]] = defaultdict(set)
    left_out: Mapping[int, str] = {}
    is_whole = False
    for line in lines:
        if "noticed" in line:
            mutants.append(_mutant(line))
        elif "judged" in line:
            # It is told last.
            is_whole = True
            judged = frozenset(line["judged"])
            left_out = _rows(line["left_out"])
            rules = {int(row): tuple(ids) for row, ids in line["rules"].items()}
        elif "reached" in line:
            clauses = defaultdict(set)
            for at, names in line["cited"].items():
                for name in names:
                    clauses[name].update(line["reached"].get(at, ()))
    return Mutation(
        mutants=tuple(mutants),
        judged=judged,
        left_out=left_out,
        tasks=len(domain.task_ids),
        rules=rules,
        clauses={name: frozenset(rows) for name, rows in clauses.items()},
        incidents=tuple(incidents),
        is_whole=is_whole,
    )


def _mutant(line: Mapping[str, Any]) -> Mutant:
    told: dict[str, Any] = {
        name: tuple(line[name]) if isinstance(line[name], list) else line[name]
        for name in Mutant.__dataclass_fields__
        if name in line
    }
    if line["kind"] in WAYS:
        told["text"] = WAYS[line["kind"]].format(tool=line["tool"], other=line["other"])
    told["noticed"] = _rows(line["noticed"])
    told["remedy"] = TriedRule(**told["remedy"]) if told.get("remedy") else None
    return Mutant(**told)


def _rows(noticed: Mapping[str, str]) -> Mapping[int, str]:
    return {int(row): by for row, by in noticed.items()}
