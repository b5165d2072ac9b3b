"""Every metric in one table: how it is counted, bounded, printed and compared.

The last line of a saved session, the means over domains, gates, the page, the columns of a
DataFrame, comparisons and calibrations follow the table, and know no metric by its name. A metric
that a run tells by itself needs its row alone. One that is counted otherwise needs its counts in
`Summary` beside the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite
from numbers import Real
from typing import Final, Literal

from pytest_sopbench._core.hiding import Mask
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench.errors import ExtensionError

from .counts import FIFTHS, NOT_COUNTED, Measured, mean_share
from .summary import Summary

CHANCE: Final = "chance"
"""The rate beside the metrics that says nothing of the agent: nobody gates or compares it."""


def _always(_: RunRecord) -> bool:
    return True


class About(StrEnum):
    """What a metric tells of a run: what may be forgiven of that, gates on it leave out."""

    ANSWERS = "answers"
    RULES = "rules"
    BOTH = "answers and rules"
    CALLS = "calls"
    CONSUMPTION = "consumption"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """A metric: what it is called, what it says of a run, and how a gate bounds it.

    A package adds one as an entry point of the group `pytest_sopbench.metrics`. It needs `name`,
    `label` and `of`, and says with `gate`, `unit` and `better` how it is bounded.

    Its value is the mean of `of` over the planned runs to which it applies. A run that left no
    trace (`duration_s` is `None`) has nothing to be measured, and `of` is not called with it. While
    there is such a run a gate on the metric is inconclusive, and no comparison tells its change.
    The same holds if `of` raises, or returns anything but a number.

    Attributes:
        name: in JSON, in a saved session and in comparisons: small letters, digits and `_`. An
            entry point has the same name.
        label: in words, as a gate and the summary say it.
        of: what it says of a run: `True` or `False`, or a finite number, from 0 to 1 if there
            is no `unit`. Called in any order, also again for the same run, and with runs of saved
            sessions.
        unit: of its value, such as `calls`; empty for a share, which is printed in per cent.
        better: whether more of it is better, or less. A gate asks for at least its bound, or for
            at most.
        gate: the name by which `--sop-gate` asks for it; empty if it does not.
        applies: whether it is asked of a run at all; without it of every planned run.
        judged: whether it depends on which answers are right, so that a gate on it needs a
            calibrated judge if a model judges.
        nothing: why there is nothing to divide, if there is nothing.
        heading: the word over a column of pages, and of comparisons; without it no table has one.
        column: the column of a DataFrame and of CSV that tells it of each run; empty for none.
        counts: what is divided by what, for the metrics of the plugin that no single run tells;
            counts, since a rate is not exact: 0.1 + 0.2 is not 0.3.
        somewhere: what must hold of some run of a session, for the metrics of the plugin that
            count every run and mean nothing without such a one.
        table: whether the page has a column of it, and not only the line of means.
        optional: whether it is left out of the line of means if no domain has it.
        of_outcomes: whether a gate on it needs nothing but how runs ended.
        of_trials: whether it means something only if tasks are run several times.
        needs: what a domain must have for it to be measured.
        parts: into how many parts a run is counted, if it may be worth a part of one.
        about: what it tells of a run. What may fail is left out accordingly.
        unknown: why its value is unknown, for the metrics of the plugin of what a run may not tell.
        is_mean: whether it is a mean over runs, and not one value of all of them.
        source: the package and the entry point that it comes from; empty for those of the plugin.
    """

    name: str
    label: str
    of: Callable[[RunRecord], float | None] | None = None
    unit: str = ""
    better: Literal["higher", "lower"] = "higher"
    gate: str = ""
    applies: Callable[[RunRecord], bool] = _always
    judged: bool = True
    nothing: str = "nothing to divide"
    heading: str = ""
    column: str = ""
    counts: Callable[[Summary], tuple[float, int]] | None = None
    somewhere: Callable[[RunRecord], bool] = _always
    table: bool = True
    optional: bool = False
    of_outcomes: bool = False
    of_trials: bool = False
    needs: Literal["", "contract", "document", "expected calls"] = ""
    parts: int = 1
    about: About = About.ANSWERS
    unknown: Callable[[Summary], str] | None = None
    is_mean: bool = True
    source: str = ""

    def says(self, run: RunRecord) -> float | None:
        """Return what it says of a run; `None` if it is not asked, or nothing can be known.

        Raises:
            ExtensionError: it is of another package, and fails.
        """
        if self.of is None or not self.applies(run):
            return None
        if self.counts is None and run.duration_s is None:
            return None
        return self.of(run)

    def measured(self, summary: Summary) -> Measured:
        """Return what was counted run by run; nothing for a metric that is counted otherwise."""
        return summary.measured.get(self.name, NOT_COUNTED)

    def divided(self, summary: Summary) -> tuple[float, int]:
        """Return what is divided by what."""
        if self.counts is not None:
            return self.counts(summary)
        measured = self.measured(summary)
        return measured.total, measured.known

    def lacks(self, summary: Summary) -> str:
        """Return why nobody can tell its value, or nothing."""
        return self.unknown(summary) if self.unknown is not None else self.measured(summary).lacks

    def is_unknown(self, summary: Summary) -> bool:
        """Tell whether a part of what is added up is unknown, so that the sum is."""
        return self.unknown is not None and bool(self.unknown(summary))

    def rate(self, summary: Summary) -> float | None:
        """Return its value; `None` if there is nothing to divide, or nobody can tell."""
        return None if self.measured(summary).fault else summary.rate(*self.divided(summary))

    def holds(self, part: float, whole: int, bound: float) -> bool:
        """Tell whether a bound is kept; a bound of 0.9 is kept by 9 of 10, whatever the digits."""
        if self.better == "lower":
            return part <= bound * whole + 1e-9
        return part + 1e-9 >= bound * whole

    def text(self, value: float) -> str:
        """Write a value so that two that differ are not printed alike beside a bound."""
        if not self.unit:
            return percent(value)
        digits = 4 if abs(value) < 1000 else 10  # noqa: PLR2004 - 12,345 tokens are not 1.2e+04
        return f"{value:.{digits}g} {self.unit}"

    def counted(self, part: float, whole: int) -> str:
        """Write what was divided by what: `5 of 6`, or `16 calls in 6 runs`."""
        if not self.is_mean:
            return f"{self.text(part)} of all runs"
        if self.unit:
            return f"{part:.10g} {self.unit} in {whole} {'run' if whole == 1 else 'runs'}"
        if self.parts == 1:
            return f"{part:.6g} of {whole}"
        return f"{part / self.parts:g} of {whole // self.parts}"


def percent(share: float) -> str:
    """Write a share so that two that differ are not printed alike beside a bound."""
    return f"{100 * share:.4g}%"


# A metric of another package: its code may raise anything, and return anything.

_MOST: Final = 1e100
"""The largest number that a metric may return: sums of larger ones are none."""


def from_outside(metric: Metric, source: str, mask: Mask) -> Metric:
    """Return a metric of another package whose failures name it.

    Args:
        metric: as the package gives it.
        source: the package and its entry point.
        mask: takes secrets out of what its exceptions say.
    """

    def asked(run: RunRecord, ask: Callable[[RunRecord], object]) -> object:
        try:
            return ask(run)
        except KeyboardInterrupt:
            raise
        except BaseException as fault:
            # Also one that would end the session: of a metric it says that it is broken.
            raise _failure(metric, source, run, f"raised {_described(fault, mask)}") from fault

    def value_of(run: RunRecord) -> float:
        value = asked(run, metric.of) if metric.of is not None else None
        if isinstance(value, bool):
            return value
        number, why = _number(value, metric.unit)
        if why:
            raise _failure(metric, source, run, f"returned {why}")
        return number

    def applies(run: RunRecord) -> bool:
        value = asked(run, metric.applies)
        if not isinstance(value, bool):
            what = f"`applies` returned {type(value).__name__}, and no bool"
            raise _failure(metric, source, run, what)
        return value

    return replace(metric, of=value_of, applies=applies, source=source)


def _number(value: object, unit: str) -> tuple[float, str]:
    """Return the number that a metric returned, and what is wrong with it, or nothing."""
    if not isinstance(value, Real):
        return 0, f"{type(value).__name__}, and no number"
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number) or abs(number) > _MOST:
        return 0, f"{number}"
    if not unit and not 0 <= number <= 1:
        return 0, f"{number:g}, and a metric without a unit is from 0 to 1"
    return number, ""


def _failure(metric: Metric, source: str, run: RunRecord, what: str) -> ExtensionError:
    where = f"{run.domain}/{run.task}"
    return ExtensionError(f"the metric {metric.name} of {source} failed at {where}: {what}")


def _described(fault: BaseException, mask: Mask) -> str:
    try:
        text = " ".join(mask(str(fault)).split())[:200]
    except BaseException:  # noqa: BLE001 - the text of an exception is code of the package, too
        text = ""
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def _correct(run: RunRecord) -> bool:
    return run.outcome is Outcome.CORRECT


def _completed(run: RunRecord) -> bool:
    return run.outcome in COMPLETED


_IN_ORDER: Final[Sequence[Metric]] = (
    Metric(
        name="tsr",
        label="TSR",
        counts=lambda summary: (summary.correct, summary.runs),
        of=_correct,
        heading="TSR",
        gate="tsr",
        of_outcomes=True,
        column="correct",
    ),
    Metric(
        name="ecr",
        label="ECR",
        counts=lambda summary: (summary.completed, summary.runs),
        of=_completed,
        heading="ECR",
        gate="ecr",
        judged=False,
        of_outcomes=True,
    ),
    Metric(
        name="c_tsr",
        label="C-TSR",
        counts=lambda summary: (summary.correct, summary.completed),
        of=_correct,
        applies=_completed,
        heading="C-TSR",
        nothing="no run came to an answer",
        gate="c_tsr",
        of_outcomes=True,
    ),
    Metric(
        name="fields",
        label="right fields",
        counts=lambda summary: mean_share(summary.by_number),
        gate="fields",
        nothing="the answers have no output fields",
    ),
    Metric(
        name="grounded_tsr",
        label="grounded TSR",
        counts=lambda summary: (
            summary.grounded.grounded,
            summary.runs if summary.grounded.required else 0,
        ),
        of=lambda run: _correct(run) and run.grounded is not False,
        somewhere=lambda run: run.grounded is not None,
        heading="grounded",
        optional=True,
        gate="grounded_tsr",
        needs="contract",
        nothing="no rule requires a tool",
        about=About.BOTH,
    ),
    Metric(
        name="tool_accuracy",
        label="tool accuracy",
        counts=lambda summary: (summary.calls.calls - summary.calls.bad, summary.calls.calls),
        heading="tool accuracy",
        gate="tool_accuracy",
        judged=False,
        nothing="no tool was called",
        about=About.CALLS,
    ),
    Metric(
        name="expected_calls",
        label="expected calls",
        counts=lambda summary: (summary.unmade.made, summary.unmade.runs),
        of=lambda run: not run.unmade,
        applies=lambda run: run.unmade is not None,
        heading="expected calls",
        column="expected_calls",
        table=False,
        optional=True,
        gate="expected_calls",
        judged=False,
        needs="expected calls",
        nothing="no task has expected calls",
        about=About.CALLS,
    ),
    Metric(
        name="contract_rate",
        label="contract rate",
        counts=lambda summary: (summary.contract.held, summary.contract.runs),
        heading="contract",
        table=False,
        optional=True,
        gate="contract",
        judged=False,
        needs="contract",
        nothing="no run was held against a contract",
        about=About.RULES,
    ),
    Metric(
        name="tier_score",
        label="tier score",
        counts=lambda summary: summary.documents.fifths,
        heading="tier score",
        table=False,
        optional=True,
        gate="tier_score",
        needs="document",
        nothing="no answer is asked for as a JSON document",
        parts=FIFTHS,
    ),
    Metric(
        name="pass_any",
        label="pass any",
        counts=lambda summary: (summary.trials.any_passed, summary.trials.tasks),
        gate="pass_any",
        of_trials=True,
    ),
    Metric(
        name="pass_all",
        label="pass all",
        counts=lambda summary: (summary.trials.all_passed, summary.trials.tasks),
        gate="pass_all",
        of_trials=True,
    ),
)


def _amount(summary: Summary, *names: str) -> float:
    return sum(summary.usage[name].total for name in names if name in summary.usage)


def _unknown(summary: Summary, *names: str) -> str:
    """Say how many runs have not told what they used; what one run hides may be all of it."""
    known = min(summary.usage[name].known if name in summary.usage else 0 for name in names)
    silent = summary.runs - known
    if not silent:
        return ""
    what = "cost" if names == _COST else "tokens"
    return (
        f"the {what} of {silent} of {summary.runs} runs {'is' if what == 'cost' else 'are'} unknown"
    )


def _untimed(summary: Summary) -> str:
    silent = summary.runs - len(summary.durations)
    return f"{silent} of {summary.runs} runs left no duration" if silent else ""


_COST: Final = ("cost_usd",)
_TOKENS: Final = ("input_tokens", "output_tokens")


def _one(summary: Summary) -> int:
    return min(summary.runs, 1)


_PAID: Final[Sequence[Metric]] = (
    Metric(
        name="cost",
        label="cost per run",
        unit="USD",
        counts=lambda summary: (_amount(summary, *_COST), summary.runs),
        unknown=lambda summary: _unknown(summary, *_COST),
        gate="cost",
    ),
    Metric(
        name="total_cost",
        label="cost in all",
        unit="USD",
        counts=lambda summary: (_amount(summary, *_COST), _one(summary)),
        unknown=lambda summary: _unknown(summary, *_COST),
        is_mean=False,
        gate="total_cost",
    ),
    Metric(
        name="tokens",
        label="tokens per run",
        unit="tokens",
        counts=lambda summary: (_amount(summary, *_TOKENS), summary.runs),
        unknown=lambda summary: _unknown(summary, *_TOKENS),
        gate="tokens",
    ),
    Metric(
        name="total_tokens",
        label="tokens in all",
        unit="tokens",
        counts=lambda summary: (_amount(summary, *_TOKENS), _one(summary)),
        unknown=lambda summary: _unknown(summary, *_TOKENS),
        is_mean=False,
        gate="total_tokens",
    ),
    Metric(
        name="latency_p95",
        label="latency p95",
        unit="s",
        counts=lambda summary: (summary.latency_p95 or 0, min(len(summary.durations), 1)),
        unknown=_untimed,
        is_mean=False,
        gate="latency_p95",
        nothing="no run left a duration",
    ),
)

PAID: Final = {
    metric.gate: replace(metric, better="lower", judged=False, about=About.CONSUMPTION)
    for metric in _PAID
}
"""What one pays for runs, by the name of the gate; the summary has its own lines of it."""

METRICS: Final[dict[str, Metric]] = {metric.name: metric for metric in _IN_ORDER}
"""Every metric by its name, in the order in which they are shown; those of packages stand last."""


def run_metrics() -> list[Metric]:
    """Return the metrics that are counted run by run, by `of` alone."""
    return [metric for metric in METRICS.values() if metric.counts is None]


def run_columns() -> dict[str, Metric]:
    """Return the metrics that have a column in a table of runs, by the name of the column."""
    return {metric.column: metric for metric in METRICS.values() if metric.column and metric.of}


def cell_of(metric: Metric, run: RunRecord) -> float | None:
    """Return what stands in the column of a run; nothing if the metric of a package fails.

    The summary and its gates say that it failed, and why.
    """
    try:
        return metric.says(run)
    except ExtensionError:
        return None


def set_outside_metrics(metrics: Iterable[Metric]) -> None:
    """Put the metrics of other packages into the table, in the place of those there before."""
    for name in [metric.name for metric in METRICS.values() if metric.source]:
        del METRICS[name]
    METRICS.update((metric.name, metric) for metric in metrics)


def rates_of(summary: Summary) -> dict[str, float | None]:
    """Return every rate by its name, and that of chance last."""
    rates = {name: metric.rate(summary) for name, metric in METRICS.items()}
    return {**rates, CHANCE: summary.chance}
