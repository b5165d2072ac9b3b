"""A comparison with a baseline, as a part of a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.comparing.comparison import (
    ComparisonResult,
    GroupComparison,
    SessionComparison,
)
from pytest_sopbench._core.comparing.pairs import NotCompared
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.model.keys import TaskKey
from pytest_sopbench._reports.terminal.comparison.comparison import (
    change_text,
    p_value,
    path_parts,
    setup_text,
)
from pytest_sopbench._reports.text.numbers import NOT_AVAILABLE, counted, percent

from .markdown_blocks import escaped, table

NAMED = 20
"""Tasks of one list that are named; the saved sessions hold all of them."""


def comparison_block(compared: SessionComparison | None) -> Iterator[str]:
    """Yield a section on what became of the tasks, or nothing where nothing was compared."""
    if compared is None:
        return
    pooled = compared.pooled
    yield f"## Compared with {escaped(pooled.name)}"
    yield ""
    if compared.has_agents:
        # Of two agents together nothing is true: a verdict on each, and lists of tasks by name.
        for title, one in {**compared.groups, **_pooled(compared)}.items():
            yield f"- **{escaped(title)}**: {_verdict(one)}"
    else:
        yield f"**{_verdict(pooled)}**"
    yield ""
    if compared.setups:
        yield f"- setup: {', '.join(escaped(setup_text(one)) for one in compared.setups)}"
    yield from _task_lines("lost", pooled.lost, pooled)
    yield from _task_lines("gained", pooled.gained, pooled)
    for reason in NotCompared:
        keys = [key for key, why in pooled.aside.items() if why is reason]
        yield from _task_lines(f"not compared, {reason}", keys, pooled)
    yield from _task_lines("not compared, and not correct now", pooled.not_correct, pooled)
    yield from _task_lines("not compared, may fail", pooled.may_fail, pooled)
    yield from _path_lines(compared)
    yield from _group_lines(compared)
    if not compared.has_agents:
        yield from _change_lines(pooled)
        yield from _field_lines(pooled)


def _field_lines(one: GroupComparison) -> Iterator[str]:
    """Yield a row for each output field that changed, and a line for each score."""
    rows = [
        (
            escaped(field.field),
            f"{field.before} of {field.of_before}",
            f"{field.now} of {field.of_now}",
            f"{field.lost}",
            f"{field.gained}",
        )
        for field in one.fields
        if field.lost or field.gained
    ]
    if rows:
        yield ""
        yield from table(("field", "right before", "right now", "lost", "gained"), rows)
    if one.scores:
        yield ""
    for score in one.scores:
        means = f"{score.before:.3g} before, {score.now:.3g} now"
        tasks = counted(score.tasks, "task")
        yield f"- score of {escaped(score.field)}: {means}, {p_value(score.test.p)} ({tasks})"


def _path_lines(compared: SessionComparison) -> Iterator[str]:
    for name, one in compared.groups.items():
        moved = path_parts(one)
        if moved:
            yield f"- paths of {escaped(name)}: {escaped(' '.join(moved))}"


def _pooled(compared: SessionComparison) -> Mapping[str, GroupComparison]:
    return {
        f"{one.groups} domains, pooled ({agent})": one for agent, one in compared.agents.items()
    }


def _verdict(one: GroupComparison) -> str:
    if one.tier is ComparisonResult.NOT_COMPARABLE:
        return f"not comparable: {escaped(one.why)}"
    if not one.paired:
        return f"{one.tier}: no task can be compared"
    counts = f"lost {len(one.lost)}, gained {len(one.gained)}"
    of = f"of {counted(one.paired, 'paired task')}"
    more = (
        f"; p < 0.05 takes at least {one.needed}" if one.tier is ComparisonResult.NOT_ENOUGH else ""
    )
    return f"{one.tier}: {counts} {of}, {p_value(one.test.p)}{more}"


def _task_lines(what: str, keys: Sequence[TaskKey], one: GroupComparison) -> Iterator[str]:
    if not keys:
        return
    names = [_name(key) if one.groups > 1 else key.task for key in keys]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    yield f"- {what} {len(names)}: {', '.join(map(escaped, names[:NAMED]))}{more}"


def _name(key: TaskKey) -> str:
    return f"{key.domain}/{key.task}{f' by {key.agent}' if key.agent else ''}"


def _group_lines(compared: SessionComparison) -> Iterator[str]:
    if len(compared.groups) == 1:
        return
    yield ""
    rows = [
        (escaped(name), str(len(one.lost)), str(len(one.gained)), p_value(one.test.p))
        for name, one in compared.groups.items()
    ]
    yield from table(("domain", "lost", "gained", "p"), rows)


def _change_lines(one: GroupComparison) -> Iterator[str]:
    rows = [
        (
            escaped(METRICS[name].label),
            percent(change.before),
            percent(change.after),
            change_text(change),
        )
        for name, change in one.changes.items()
        if change_text(change) != NOT_AVAILABLE
    ]
    if rows:
        yield ""
        yield from table(("", "before", "now", "change, in points"), rows)
