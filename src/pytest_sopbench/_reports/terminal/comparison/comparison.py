"""What became of the tasks since a baseline: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_sopbench._core.comparing.changes import Change
from pytest_sopbench._core.comparing.comparison import (
    ComparisonResult,
    GroupComparison,
    SessionComparison,
)
from pytest_sopbench._core.comparing.pairs import NotCompared
from pytest_sopbench._core.comparing.setups import SetupChange
from pytest_sopbench._core.metrics.counts.confusion import Collapse
from pytest_sopbench._core.metrics.counts.document_counts import path_moves
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import TaskKey
from pytest_sopbench._core.statistics.paired_tests import ALPHA, PairedTest
from pytest_sopbench._reports.text.layout import (
    WIDTH,
    columns,
    cut_from_start,
    heading,
    one_line,
    packed,
)
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import (
    NOT_AVAILABLE,
    amount,
    counted,
    money,
    percent,
    seconds,
)

PATHS = 5
"""Paths of documents that are shown, of those that came to more or less than before."""

LIMIT = 20
"""Tasks of one list that are named; the saved sessions hold all of them."""

_LABEL = 7
_GAP = "   "
_SMALLEST_P = 0.0001


def comparison_lines(comparison: GroupComparison) -> Iterator[str]:
    """Yield the comparison with a baseline, 80 columns wide, lists cut at 20 tasks."""
    start = f"vs {one_line(comparison.name)} "
    if comparison.tier is ComparisonResult.NOT_COMPARABLE:
        why = one_line(f"not comparable: {comparison.why}")
        yield from packed(start, why.split(), gap=" ", indent=_LABEL)
    elif not comparison.paired:
        yield from packed(start, [f"{comparison.tier}: no task can be compared"], gap=" ", indent=9)
    else:
        yield from packed(start, list(_verdict_parts(comparison)), gap=" ", indent=_LABEL)
        yield from _said(_tier_text(comparison).split(), gap=" ")
        yield from _said(_change_parts(comparison), gap=_GAP)
        yield from _said(_kind_parts(comparison), gap=" ")
        yield from _said(path_parts(comparison), gap=" ")
        yield from _said(field_change_parts(comparison), gap=_GAP)
        yield from _collapse_lines(comparison)
        yield from _said(_consumption_parts(comparison.baseline, comparison.current), gap=_GAP)
    yield from aside_lines(comparison)
    yield from _left_out_lines(comparison)
    if comparison.doubt:
        yield from _said(one_line(f"nothing to rely on: {comparison.doubt}").split(), gap=" ")


def session_comparison_lines(compared: SessionComparison) -> Iterator[str]:
    """Yield every comparison of two sessions: by group, and pooled by agent if there are more."""
    several = len(compared.groups) > 1
    for name, one in compared.groups.items():
        if several:
            yield heading(f"SOP: {one_line(name)}")
        yield from comparison_lines(one)
    for agent, one in compared.agents.items():
        yield heading(f"SOP: {one.groups} domains, agent {one_line(agent)}, pooled")
        yield from comparison_lines(one)
    if several and not compared.has_agents:
        yield heading(f"SOP: {len(compared.groups)} domains, pooled")
        yield from comparison_lines(compared.pooled)
    yield from setup_lines(compared.setups)


def setup_lines(changes: Sequence[SetupChange]) -> Iterator[str]:
    """Yield what differs in the agents themselves; nothing where nothing does."""
    if changes:
        room = WIDTH - _LABEL
        parts: list[str] = []
        for place, one in enumerate(changes, start=1):
            text = setup_text(one) + ("," if place < len(changes) else "")
            if columns(text) <= room:
                parts.append(text)
                continue
            # Each value on a line of its own; what tells a prompt from another stands at its end.
            before, _, now = text.rpartition(" -> ")
            parts += [cut_from_start(f"{before} ->", room), cut_from_start(now, room)]
        yield from packed(f"{'setup':<{_LABEL - 1}}", parts, gap=" ", indent=_LABEL)


def setup_text(change: SetupChange) -> str:
    """`prompt function_calling.md.jinja: 3f2a -> 91bc`."""
    agent = f"{change.agent}: " if change.agent else ""
    return one_line(f"{agent}{change.what}: {change.before} -> {change.now}")


def short_comparison_lines(compared: SessionComparison) -> Iterator[str]:
    """Yield the verdict on one line, or where agents are told apart on one line for each."""
    name = one_line(compared.pooled.name)
    if not compared.has_agents:
        yield f"vs {name}: {short_comparison(compared.pooled)}"
        return
    for title, one in compared.groups.items():
        yield f"{one_line(title)} vs {name}: {short_comparison(one)}"


def short_comparison(comparison: GroupComparison) -> str:
    """Return the verdict in a few words, for one line: `lost 2, gained 5, p = 0.45`."""
    if comparison.tier is ComparisonResult.NOT_COMPARABLE or not comparison.paired:
        return comparison.tier.value
    lost, gained = len(comparison.lost), len(comparison.gained)
    return f"{comparison.tier}: lost {lost}, gained {gained}, {p_value(comparison.test.p)}"


def p_value(p: float) -> str:
    """`p = 0.45`, `p < 0.0001`; never rounded across 0.05."""
    if p < _SMALLEST_P:
        return f"p < {_SMALLEST_P:.4f}"
    text = f"{p:.2g}"
    # What decided between regression and none must not read as if it had decided otherwise.
    return f"p = {text if (float(text) < ALPHA) == (p < ALPHA) else f'{p:.4g}'}"


def change_text(change: Change) -> str:
    """`-1.1 [-3.4, +1.2]`, in points of per cent; `n/a` where a session has nothing to divide."""
    if change.difference is None:
        return NOT_AVAILABLE
    difference = _points(change.difference)
    if change.bounds is None:
        return difference
    low, high = change.bounds
    return f"{difference} [{_points(low)}, {_points(high)}]"


def _verdict_parts(comparison: GroupComparison) -> Iterator[str]:
    lost = f"lost {len(comparison.lost)}"
    if comparison.lost:
        first, *others = with_commas(list(_names(comparison.lost, comparison)))
        yield f"{lost} ({first}{'' if others else '),'}"
        yield from others[:-1]
        if others:
            yield f"{others[-1]}),"
    else:
        yield f"{lost},"
    yield f"gained {len(comparison.gained)},"
    yield _test_text(comparison.test)


def _test_text(test: PairedTest) -> str:
    name, _, rest = test.source.removeprefix("exact ").partition(", ")
    return f"{name} {p_value(test.p)}{f' ({rest})' if rest else ''}"


def _tier_text(comparison: GroupComparison) -> str:
    changed = f"{comparison.discordant} of {counted(comparison.paired, 'paired task')} changed"
    if comparison.tier is ComparisonResult.NOT_ENOUGH:
        return f"{comparison.tier}: {changed}, and p < {ALPHA} takes at least {comparison.needed}"
    return f"{comparison.tier}: {changed}"


def _change_parts(comparison: GroupComparison) -> Iterator[str]:
    tsr = comparison.changes["tsr"]
    yield f"TSR {percent(tsr.before)} -> {percent(tsr.after)}, {change_text(tsr)}"
    for name, change in comparison.changes.items():
        if name != "tsr" and change.difference is not None:
            yield f"{METRICS[name].heading or METRICS[name].label} {change_text(change)}"


def field_change_parts(comparison: GroupComparison) -> Iterator[str]:
    """Yield the fields that changed, and the scores that did, those that lost most first."""
    for one in sorted(comparison.fields, key=lambda one: one.gained - one.lost):
        if one.lost or one.gained:
            yield f"{one_line(one.field)} lost {one.lost}, gained {one.gained}"
    for score in comparison.scores:
        if score.before != score.now:
            means = f"{score.before:.3g} -> {score.now:.3g}"
            yield f"score of {one_line(score.field)} {means}, {p_value(score.test.p)}"


def _kind_parts(comparison: GroupComparison) -> Sequence[str]:
    kinds = comparison.kinds.items()
    return with_commas([f"{was} -> {now} {number}" for (was, now), number in kinds])


def path_parts(comparison: GroupComparison) -> Sequence[str]:
    """Return the tier score before and now, and the paths that moved most."""
    was, now = comparison.baseline.documents, comparison.current.documents
    if not (was.runs and now.runs):
        return ()
    moved = [
        f"{one_line(name)} {before} -> {after}" for name, before, after in path_moves(was, now)
    ]
    more = [f"and {len(moved) - PATHS} more paths"] if len(moved) > PATHS else []
    tier = f"tier score {percent(was.tier_score)} -> {percent(now.tier_score)}"
    return with_commas([tier, *moved[:PATHS], *more])


def _collapse_lines(comparison: GroupComparison) -> Iterator[str]:
    for collapse in comparison.collapses:
        yield from _said(f"new alarm: {_labels(collapse)}".split(), gap=" ")
    for collapse in comparison.ended_collapses:
        yield from _said(f"no alarm any more: {_labels(collapse)}".split(), gap=" ")


def _labels(collapse: Collapse) -> str:
    favoured = [f"{one_line(label)} favoured" for label in collapse.favoured]
    never = [f"{one_line(label)} never given" for label in collapse.never]
    return f"{one_line(collapse.field)}: {', '.join([*favoured, *never])}"


def _consumption_parts(was: Summary, now: Summary) -> Iterator[str]:
    pairs = {
        "median": (seconds(was.latency_median), seconds(now.latency_median)),
        "tool calls": (amount(was.calls_per_run), amount(now.calls_per_run)),
        "model calls": (_mean(was, "model_calls"), _mean(now, "model_calls")),
        "tokens in": (_mean(was, "input_tokens"), _mean(now, "input_tokens")),
        "out": (_mean(was, "output_tokens"), _mean(now, "output_tokens")),
        "cost": (money(_told(was, "cost_usd")), money(_told(now, "cost_usd"))),
    }
    for word, (before, after) in pairs.items():
        # What neither session knows is not worth a word.
        if not before == after == NOT_AVAILABLE:
            yield f"{word} {before} -> {after}"


def aside_lines(comparison: GroupComparison) -> Iterator[str]:
    """Yield which tasks were not compared and why, and which of them are not correct now."""
    not_correct = frozenset(comparison.not_correct)
    for reason in NotCompared:
        keys = [key for key, why in comparison.aside.items() if why is reason]
        if keys:
            start = f"not compared, {reason}: {counted(len(keys), 'task')}"
            names = _enclosed(with_commas(list(_names(keys, comparison))))
            wrong = [key for key in keys if key in not_correct]
            if wrong:
                names[-1] += ";"
                names += ["not", "correct", "now:", *with_commas(list(_names(wrong, comparison)))]
            yield from _said([*start.split(), *names], gap=" ")


def _left_out_lines(comparison: GroupComparison) -> Iterator[str]:
    if comparison.may_fail:
        start = f"not compared, may fail: {counted(len(comparison.may_fail), 'task')}"
        names = with_commas(list(_names(comparison.may_fail, comparison)))
        yield from _said([*start.split(), *_enclosed(names)], gap=" ")
    if comparison.left_out:
        yield from _said([f"{counted(comparison.left_out, 'task')} left out by options"], gap=" ")


def _names(keys: Sequence[TaskKey], comparison: GroupComparison) -> Iterator[str]:
    for key in keys[:LIMIT]:
        by = f" by {key.agent}" if key.agent else ""
        yield one_line(f"{key.domain}/{key.task}{by}" if comparison.groups > 1 else key.task)
    if len(keys) > LIMIT:
        yield f"and {len(keys) - LIMIT} more"


def _enclosed(parts: Sequence[str]) -> list[str]:
    text = list(parts)
    text[0] = f"({text[0]}"
    text[-1] = f"{text[-1]})"
    return text


def _said(parts: Iterable[str], *, gap: str) -> Iterator[str]:
    """Yield parts beside one another below the label; nothing without a part."""
    first, *others = [*parts] or [""]
    if first:
        yield from packed(f"{'':{_LABEL}}{first}", others, gap=gap, indent=_LABEL)


def _mean(summary: Summary, name: str) -> str:
    return amount(_told(summary, name))


def _told(summary: Summary, name: str) -> float | None:
    found = summary.usage.get(name)
    return found.mean if found else None


def _points(rate: float) -> str:
    text = f"{100 * rate:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text
