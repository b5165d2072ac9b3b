"""Counts of rules and contracts over many runs; counts are kept and rates derived, so they add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.contract.ruling import RuleState


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTally:
    """How one rule fared: in `exercised` runs it came to something, in `held` of them it held."""

    id: str
    clause: str = ""
    severity: Severity = Severity.SHOULD
    exercised: int = 0
    held: int = 0

    @property
    def broken(self) -> int:
        return self.exercised - self.held

    @property
    def rate(self) -> float | None:
        return self.held / self.exercised if self.exercised else None

    def __add__(self, other: RuleTally) -> RuleTally:
        if (self.id, self.clause, self.severity) != (other.id, other.clause, other.severity):
            msg = f"the counts of rule {self.id!r} and of rule {other.id!r} do not add"
            raise ValueError(msg)
        return RuleTally(
            id=self.id,
            clause=self.clause,
            severity=self.severity,
            exercised=self.exercised + other.exercised,
            held=self.held + other.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractTally:
    """How contracts fared: of `runs` to whose task a rule applies, `held` held all of them.

    `silent` runs were stopped before their first call; they are neither held nor broken.
    """

    runs: int = 0
    held: int = 0
    broken: int = 0

    @property
    def silent(self) -> int:
        return self.runs - self.held - self.broken

    @property
    def rate(self) -> float | None:
        return self.held / self.runs if self.runs else None

    def __add__(self, other: ContractTally) -> ContractTally:
        return ContractTally(
            runs=self.runs + other.runs,
            held=self.held + other.held,
            broken=self.broken + other.broken,
        )


NO_CONTRACT = ContractTally()
"""No run to whose task a rule applies."""


def added_rules(a: Sequence[RuleTally], b: Sequence[RuleTally]) -> tuple[RuleTally, ...]:
    """Add the counts of equal rules, in the order of their first mention.

    A rule whose clause or severity was changed is another one, and stands beside the first.
    """
    tallies: dict[tuple[str, str, Severity], RuleTally] = {}
    for one in (*a, *b):
        name = one.id, one.clause, one.severity
        tallies[name] = tallies[name] + one if name in tallies else one
    return tuple(tallies.values())


def tally_rules(runs: Iterable[Sequence[RuleResult]]) -> tuple[RuleTally, ...]:
    """Count the results of many runs of one domain, rule by rule, in the order of the contract."""
    tallies: dict[str, RuleTally] = {}
    for results in runs:
        for result in results:
            one = _tally(result)
            tallies[result.id] = tallies[result.id] + one if result.id in tallies else one
    return tuple(tallies.values())


def tally_contracts(states: Iterable[RuleState | None]) -> ContractTally:
    """Count the states of many runs; runs to which no rule applies have none, and do not count."""
    seen = [state for state in states if state is not None]
    return ContractTally(
        runs=len(seen), held=seen.count(RuleState.HELD), broken=seen.count(RuleState.BROKEN)
    )


def _tally(result: RuleResult) -> RuleTally:
    return RuleTally(
        id=result.id,
        clause=result.clause,
        severity=result.severity,
        exercised=int(result.state is not RuleState.NOT_EXERCISED),
        held=int(result.state is RuleState.HELD),
    )
