"""Count how runs stand to the procedure: rules, contracts, required tools and unneeded calls."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome

from .counts import NOTHING_EXPECTED, GroundedCounts, UnneededCounts
from .rule_counts import (
    NO_CONTRACT,
    ContractTally,
    RuleTally,
    added_rules,
    tally_contracts,
    tally_rules,
)


@dataclass(slots=True)
class ProcedureTally:
    """Counts runs of one domain; what it holds grows with the rules, not with the runs."""

    rules: tuple[RuleTally, ...] = ()
    contract: ContractTally = NO_CONTRACT
    required: int = 0
    lacking_none: int = 0
    unneeded: UnneededCounts = NOTHING_EXPECTED

    @property
    def grounded(self) -> GroundedCounts:
        return GroundedCounts(required=self.required, grounded=self.lacking_none)

    def add(self, record: RunRecord) -> None:
        """Count one run; a correct one for which no tool is required lacks none."""
        correct = record.outcome is Outcome.CORRECT
        self.required += record.grounded is not None
        self.lacking_none += correct and record.grounded is not False
        if record.rules:
            self.rules = added_rules(self.rules, tally_rules([record.rules]))
            self.contract += tally_contracts([record.contract])
        if record.unneeded is not None:
            self.unneeded += UnneededCounts(
                runs=1,
                calls=len(record.calls),
                unneeded=record.unneeded,
                affected=record.unneeded > 0,
            )
