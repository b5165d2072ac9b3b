"""What a page on a session tells, in whichever format it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_sopbench._core.comparing.comparison import SessionComparison
from pytest_sopbench._core.comparing.leaderboard import Leaderboard
from pytest_sopbench._core.gates.conditions.summary_gates import GateVerdict
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.variants.findings import VariantFinding
from pytest_sopbench._core.verdict import Outcome

from .judge_report import JudgeReport
from .page_sources import PageSources
from .quarantine import NOTHING_FORGIVEN, Forgiven


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """What a page tells.

    `records` are all runs that were planned, `summaries` what they came to by domain. `gates` are
    empty where none was asked; `not_evaluated` says why, where one was set. `remarks` are lines
    that must not go unsaid, `facts` what a reader may need to find the session again, by name.
    `comparison` is `None` where there is no baseline, and `leaderboard` where there is one agent.
    `judge` is what came
    of the model judge, `None` where there is none. `failures` counts the tests that failed and
    that no gate forgives. `forgiven` is what gates and the comparison leave out. `sources`
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
    forgiven: Forgiven = NOTHING_FORGIVEN
    sources: PageSources | None = None
    variants: Sequence[VariantFinding] = ()

    @property
    def apart(self) -> Sequence[RunRecord]:
        """The runs of tasks that may fail, but for those that something stopped."""
        return [one for one in self.records if self.forgiven.leaves_out(one, About.ANSWERS)]

    @property
    def asked(self) -> Sequence[RunRecord]:
        """The runs that gates on answers are asked of."""
        return [one for one in self.records if not self.forgiven.leaves_out(one, About.ANSWERS)]

    @property
    def without(self) -> Summary:
        """What the runs that gates on answers are asked of came to, as far as outcomes tell."""
        counts: dict[tuple[str, str], Counter[Outcome]] = {}
        for one in self.asked:
            counts.setdefault((one.domain, one.agent), Counter())[one.outcome] += 1
        tolerated = min((one.tolerated for one in self.summaries.values()), default=0.0)
        groups = (
            Summary(runs=one.total(), outcomes=one, tolerated=tolerated) for one in counts.values()
        )
        return sum(groups, EMPTY)
