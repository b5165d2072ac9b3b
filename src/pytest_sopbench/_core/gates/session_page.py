"""What a page on a session tells, in whichever format it is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_sopbench._core.comparing.comparison import SessionComparison
from pytest_sopbench._core.comparing.leaderboard import Leaderboard
from pytest_sopbench._core.gates.conditions.summary_gates import GateVerdict
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.variants.findings import VariantFinding

from .judge_report import JudgeReport
from .page_sources import PageSources


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """What a page tells.

    `records` are all runs that were planned, `summaries` what they came to by domain. `gates` are
    empty where none was asked; `not_evaluated` says why, where one was set. `remarks` are lines
    that must not go unsaid, `facts` what a reader may need to find the session again, by name.
    `comparison` is `None` where there is no baseline, and `leaderboard` where there is one agent.
    `judge` is what came
    of the model judge, `None` where there is none. `failures` counts the tests that failed and
    that no gate forgives. `may_fail` are tasks that gates and the comparison leave out. `sources`
    find what only some formats show; `None` where nothing beside the runs is at hand. `variants`
    is what variants of the tasks tell, which count nowhere else.
    """

    agent: str
    records: Sequence[RunRecord]
    summaries: Mapping[str, Summary]
    gates: Sequence[GateVerdict] = ()
    not_evaluated: str = ""
    remarks: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    comparison: SessionComparison | None = None
    leaderboard: Leaderboard | None = None
    judge: JudgeReport | None = None
    failures: int = 0
    may_fail: Collection[TaskName] = frozenset()
    sources: PageSources | None = None
    variants: Sequence[VariantFinding] = ()

    @property
    def apart(self) -> Sequence[RunRecord]:
        """The runs of tasks that may fail."""
        return [one for one in self.records if TaskName(one.domain, one.task) in self.may_fail]

    @property
    def asked(self) -> Sequence[RunRecord]:
        """The runs that gates are asked of."""
        return [one for one in self.records if TaskName(one.domain, one.task) not in self.may_fail]
