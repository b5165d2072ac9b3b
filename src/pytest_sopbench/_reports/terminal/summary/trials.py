"""What several trials of a task say, in the summary; nothing where each task has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.trials import TaskTrials, TrialCounts
from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, interval, percent

LIMIT = 20
"""Tasks that are listed; the saved session holds all of them."""

_LABEL = 7
_GAP = "   "


def trial_lines(summary: Summary) -> Iterator[str]:
    """Yield pass any and pass all, with intervals over tasks; nothing where trials are one."""
    if not summary.trials_by:
        return
    trials, bounds = summary.trials, summary.trial_bounds
    passes = {
        "pass any": (summary.pass_any, bounds.pass_any),
        "pass all": (summary.pass_all, bounds.pass_all),
    }
    parts = [
        f"{word} {percent(rate)} {interval(one)}".rstrip() for word, (rate, one) in passes.items()
    ]
    yield from packed(
        f"{'trials':<{_LABEL}}{trials_per_task(trials)} per task", parts, gap=_GAP, indent=_LABEL
    )


def disagreement_lines(found: Sequence[TaskTrials], *, limit: int = LIMIT) -> Iterator[str]:
    """Yield the tasks whose trials disagree, the least reliable first; nothing without one.

    Args:
        found: the tasks of one domain or of several.
        limit: how many are listed.
    """
    if not found:
        return
    ordered = sorted(found, key=lambda one: one.rate)
    several = len({one.domain for one in found}) > 1
    agents = len({one.agent for one in found}) > 1
    parts = [_task(one, domain=several, agent=agents) for one in ordered[:limit]]
    if len(ordered) > limit:
        parts.append(f"and {len(ordered) - limit} more")
    start = f"{'':{_LABEL}}trials disagree in {counted(len(ordered), 'task')}:"
    yield from packed(start, with_commas(parts), gap=" ", indent=_LABEL)


def _task(one: TaskTrials, *, domain: bool, agent: bool) -> str:
    name = f"{one.domain}/{one.task}" if domain else one.task
    by = f" by {one.agent}" if agent else ""
    lacking = {"unavailable": one.unavailable, "not run": one.not_run}
    said = ", ".join(f"{number} {word}" for word, number in lacking.items() if number)
    return one_line(f"{name}{by} {one.correct} of {one.trials}{f' ({said})' if said else ''}")


def trials_per_task(trials: TrialCounts) -> str:
    """Say how many trials each task has."""
    least, most = trials.least, trials.most
    return f"{most}" if least == most else f"{least} to {most}"
