"""Every metric in one table: what is divided by what, and where its rate is shown and asked.

The last line of a saved session, the means over domains, gates, the page, the columns of a
DataFrame and comparisons follow the table. A metric that counts something new needs its count in
`Summary` beside its row here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import COMPLETED, Outcome

from .counts import FIFTHS, mean_share
from .summary import Summary

CHANCE: Final = "chance"
"""The rate beside the metrics that says nothing of the agent: nobody gates or compares it."""


def _always(_: RunRecord) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PerRun:
    """What a metric says of a single run, which is what two sessions are compared by.

    `of` tells whether the run counts for the metric; `None` where it is not divided by, which only
    a metric may say that does not divide by `every` run. Where `applies` holds of no run of a
    session, the metric has no rate there.
    """

    of: Callable[[RunRecord], bool | None]
    every: bool = True
    applies: Callable[[RunRecord], bool] = _always


class About(StrEnum):
    """What a metric tells of a run: what may be forgiven of that, gates on it leave out."""

    ANSWERS = "answers"
    RULES = "rules"
    BOTH = "answers and rules"
    CALLS = "calls"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricSpec:
    """A metric.

    Attributes:
        name: in a saved session and in JSON.
        label: in words, as a gate says it.
        counts: what is divided by what; counts, since a rate is not exact: 0.1 + 0.2 is not 0.3.
        per_run: what is compared run by run; without it a comparison leaves the metric out.
        heading: the word over a column; without it no table has one.
        table: whether the page has a column of it, and not only the line of means.
        optional: whether it is left out of the line of means where no domain has it.
        gate: the name by which `--sop-gate` asks for at least a bound; empty where it does not.
        of_outcomes: whether a gate on it needs nothing but how runs ended.
        parts: into how many parts a run is counted, where it may be worth a part of one.
        column: the column of a DataFrame that tells it of each run; empty where there is none.
        nothing: why there is nothing to divide, where there is nothing.
        about: what it tells of a run.
    """

    name: str
    label: str
    counts: Callable[[Summary], tuple[int, int]]
    per_run: PerRun | None = None
    heading: str = ""
    table: bool = True
    optional: bool = False
    gate: str = ""
    of_outcomes: bool = False
    column: str = ""
    parts: int = 1
    nothing: str = "nothing to divide"
    about: About = About.ANSWERS

    def rate(self, summary: Summary) -> float | None:
        """Return the rate; `None` where there is nothing to divide, or nobody can tell."""
        return summary.rate(*self.counts(summary))


def _correct(run: RunRecord) -> bool:
    return run.outcome is Outcome.CORRECT


def _completed(run: RunRecord) -> bool:
    return run.outcome in COMPLETED


_IN_ORDER: Final[Sequence[MetricSpec]] = (
    MetricSpec(
        name="tsr",
        label="TSR",
        counts=lambda summary: (summary.correct, summary.runs),
        per_run=PerRun(of=_correct),
        heading="TSR",
        gate="tsr",
        of_outcomes=True,
        column="correct",
    ),
    MetricSpec(
        name="ecr",
        label="ECR",
        counts=lambda summary: (summary.completed, summary.runs),
        per_run=PerRun(of=_completed),
        heading="ECR",
        gate="ecr",
        of_outcomes=True,
    ),
    MetricSpec(
        name="c_tsr",
        label="C-TSR",
        counts=lambda summary: (summary.correct, summary.completed),
        per_run=PerRun(of=lambda run: _correct(run) if _completed(run) else None, every=False),
        heading="C-TSR",
        nothing="no run came to an answer",
        gate="c_tsr",
        of_outcomes=True,
    ),
    MetricSpec(
        name="fields",
        label="right fields",
        counts=lambda summary: mean_share(summary.by_number),
        gate="fields",
        nothing="the answers have no output fields",
    ),
    MetricSpec(
        name="grounded_tsr",
        label="grounded TSR",
        counts=lambda summary: (
            summary.grounded.grounded,
            summary.runs if summary.grounded.required else 0,
        ),
        per_run=PerRun(
            of=lambda run: _correct(run) and run.grounded is not False,
            applies=lambda run: run.grounded is not None,
        ),
        heading="grounded",
        optional=True,
        gate="grounded_tsr",
        nothing="no rule requires a tool",
        about=About.BOTH,
    ),
    MetricSpec(
        name="tool_accuracy",
        label="tool accuracy",
        counts=lambda summary: (summary.calls.calls - summary.calls.bad, summary.calls.calls),
        heading="tool accuracy",
        gate="tool_accuracy",
        nothing="no tool was called",
        about=About.CALLS,
    ),
    MetricSpec(
        name="contract_rate",
        label="contract rate",
        counts=lambda summary: (summary.contract.held, summary.contract.runs),
        heading="contract",
        table=False,
        optional=True,
        gate="contract",
        nothing="no run was held against a contract",
        about=About.RULES,
    ),
    MetricSpec(
        name="tier_score",
        label="tier score",
        counts=lambda summary: summary.documents.fifths,
        heading="tier score",
        table=False,
        optional=True,
        gate="tier_score",
        nothing="no answer is asked for as a JSON document",
        of_outcomes=False,
        parts=FIFTHS,
    ),
    MetricSpec(
        name="pass_any",
        label="pass any",
        counts=lambda summary: (summary.trials.any_passed, summary.trials.tasks),
        gate="pass_any",
    ),
    MetricSpec(
        name="pass_all",
        label="pass all",
        counts=lambda summary: (summary.trials.all_passed, summary.trials.tasks),
        gate="pass_all",
    ),
)

METRICS: Final[dict[str, MetricSpec]] = {metric.name: metric for metric in _IN_ORDER}
"""Every metric by its name, in the order in which they are shown."""


def rates_of(summary: Summary) -> dict[str, float | None]:
    """Return every rate by its name, and that of chance last."""
    rates = {name: metric.rate(summary) for name, metric in METRICS.items()}
    return {**rates, CHANCE: summary.chance}
