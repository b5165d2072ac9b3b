"""A session beside others, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.comparing import Difference, Leaderboard, Standing
from pytest_sopbench._core.comparison import (
    CONTENTS,
    Change,
    ComparisonResult,
    GroupComparison,
    NotCompared,
    SessionComparison,
    SetupChange,
)
from pytest_sopbench._core.metrics.counts import Collapse, path_moves
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import RunKey, TaskKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.statistics import ALPHA
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.text import (
    NOT_AVAILABLE,
    WIDTH,
    amount,
    as_percent,
    columns,
    counted,
    cut_from_start,
    few,
    heading,
    interval,
    money,
    one_line,
    packed,
    padded,
    seconds,
    unavailable,
    with_commas,
)

from .misses import LIMIT
from .summary import GAP, LABEL

# What became of the tasks since a baseline: the verdict first, then what it rests on.

PATHS = 5
"""Paths of documents that are shown, of those that came to more or less than before."""

LISTED = 20
"""Tasks of one list that are named; the saved sessions hold all of them."""

_SMALLEST_P = 0.0001


def comparison_lines(comparison: GroupComparison) -> Iterator[str]:
    """Yield the comparison with a baseline, 80 columns wide, lists cut at 20 tasks."""
    start = f"vs {one_line(comparison.name)} "
    if comparison.tier is ComparisonResult.NOT_COMPARABLE:
        why = one_line(f"not comparable: {comparison.why}")
        yield from packed(start, why.split(), gap=" ", indent=LABEL)
    elif not comparison.paired:
        yield from packed(start, [f"{comparison.tier}: no task can be compared"], gap=" ", indent=9)
    else:
        yield from packed(start, list(_verdict_parts(comparison)), gap=" ", indent=LABEL)
        tier = f"{comparison.tier}: {words_since(comparison)}"
        yield from _said(tier.split(), gap=" ")
        yield from _said(_change_parts(comparison), gap=GAP)
        for name, change in comparison.changes.items():
            if change.open:
                why = one_line(f"{METRICS[name].label} not compared: {change.open}")
                yield from _said(why.split(), gap=" ")
        kinds = [f"{was} -> {now} {count}" for (was, now), count in comparison.kinds.items()]
        yield from _said(with_commas(kinds), gap=" ")
        yield from _said(moved_path_parts(comparison), gap=" ")
        yield from _said(field_change_parts(comparison), gap=GAP)
        yield from _collapse_lines(comparison)
        yield from _said(_consumption_parts(comparison.baseline, comparison.current), gap=GAP)
    yield from aside_lines(comparison)
    yield from left_out_lines(comparison)
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
    yield from changed_lines(compared.changed)
    yield from setup_lines(compared.setups)


def changed_lines(changed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield of which domains the SOP or the tools are others, since agents were given others."""
    for text in changed_texts(changed):
        label = "sop" if text.startswith("the SOP") else "tools"
        yield from packed(f"{label:<{LABEL - 1}}", text.split(), gap=" ", indent=LABEL)


def changed_texts(changed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a sentence for each thing that agents are given of domains, if it is another one."""
    for part, domains in changed.items():
        if domains:
            is_one = part == "sop" and len(domains) == 1
            noun = f"{CONTENTS[part]}{'s' if part == 'sop' and not is_one else ''}"
            names, verb = one_line(", ".join(domains)), "has" if is_one else "have"
            yield f"the {noun} of {names} {verb} changed since the baseline"


def setup_lines(changes: Sequence[SetupChange]) -> Iterator[str]:
    """Yield what differs in the agents themselves; nothing if nothing does."""
    if changes:
        room = WIDTH - LABEL
        parts: list[str] = []
        for place, one in enumerate(changes, start=1):
            text = setup_text(one) + ("," if place < len(changes) else "")
            if columns(text) <= room:
                parts.append(text)
                continue
            # Each value on a line of its own; what tells a prompt from another stands at its end.
            before, _, now = text.rpartition(" -> ")
            parts += [cut_from_start(f"{before} ->", room), cut_from_start(now, room)]
        yield from packed(f"{'setup':<{LABEL - 1}}", parts, gap=" ", indent=LABEL)


def setup_text(change: SetupChange) -> str:
    """`prompt function_calling.md.jinja: 3f2a -> 91bc`."""
    agent = f"{change.agent}: " if change.agent else ""
    return one_line(f"{agent}{change.what}: {change.before} -> {change.now}")


def short_comparison_lines(compared: SessionComparison) -> Iterator[str]:
    """Yield the verdict on one line, or one line for each agent if they are told apart."""
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


def change_text(change: Change, metric: str = "") -> str:
    """`-1.1 [-3.4, +1.2]`, in points of per cent; `n/a` if a session has nothing to divide.

    That of a metric with a unit is in this unit: `+0.9 [0.1, 1.7] calls`.
    """
    if change.difference is None:
        return NOT_AVAILABLE
    unit = METRICS[metric].unit if metric in METRICS else ""
    write = "{:+.3g}".format if unit else _points
    behind = f" {one_line(unit)}" if unit else ""
    difference = write(change.difference)
    if change.bounds is None:
        return f"{difference}{behind}"
    low, high = change.bounds
    return f"{difference} [{write(low)}, {write(high)}]{behind}"


def _verdict_parts(comparison: GroupComparison) -> Iterator[str]:
    lost = f"lost {len(comparison.lost)}"
    if comparison.lost:
        first, *others = _names(comparison.lost, comparison)
        yield f"{lost} ({first}{'' if others else '),'}"
        yield from others[:-1]
        if others:
            yield f"{others[-1]}),"
    else:
        yield f"{lost},"
    yield f"gained {len(comparison.gained)},"
    name, _, rest = comparison.test.source.removeprefix("exact ").partition(", ")
    yield f"{name} {p_value(comparison.test.p)}{f' ({rest})' if rest else ''}"


def words_since(one: GroupComparison) -> str:
    """Say how many tasks changed, or why they cannot be compared."""
    if one.tier is ComparisonResult.NOT_COMPARABLE:
        return one.why
    if not one.paired:
        return "no task can be compared"
    is_short = one.tier is ComparisonResult.NOT_ENOUGH
    needed = f", and p < {ALPHA} takes at least {one.needed}" if is_short else ""
    return f"{one.discordant} of {counted(one.paired, 'paired task')} changed{needed}"


def _change_parts(comparison: GroupComparison) -> Iterator[str]:
    tsr = comparison.changes["tsr"]
    yield f"TSR {as_percent(tsr.before)} -> {as_percent(tsr.after)}, {change_text(tsr)}"
    for name, change in comparison.changes.items():
        if name != "tsr" and change.difference is not None:
            label = METRICS[name].heading or METRICS[name].label
            yield f"{one_line(label)} {change_text(change, name)}"


def field_change_parts(comparison: GroupComparison) -> Iterator[str]:
    """Yield the fields that changed, and the scores that did, those that lost most first."""
    for one in sorted(comparison.fields, key=lambda one: one.gained - one.lost):
        if one.lost or one.gained:
            yield f"{one_line(one.field)} lost {one.lost}, gained {one.gained}"
    for score in comparison.scores:
        if score.before != score.now:
            means = f"{score.before:.3g} -> {score.now:.3g}"
            yield f"score of {one_line(score.field)} {means}, {p_value(score.test.p)}"


def moved_path_parts(comparison: GroupComparison) -> Sequence[str]:
    """Return the tier score before and now, and the paths that moved most."""
    was, now = comparison.baseline.documents, comparison.current.documents
    if not (was.runs and now.runs):
        return ()
    moved = [
        f"{one_line(name)} {before} -> {after}" for name, before, after in path_moves(was, now)
    ]
    tier = f"tier score {as_percent(was.tier_score)} -> {as_percent(now.tier_score)}"
    return few([tier, *moved], PATHS + 1)


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
        "cost": (money(mean_of(was, "cost_usd")), money(mean_of(now, "cost_usd"))),
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
            names = _enclosed(_names(keys, comparison))
            wrong = [key for key in keys if key in not_correct]
            if wrong:
                names[-1] += ";"
                names += ["not", "correct", "now:", *_names(wrong, comparison)]
            yield from _said([*start.split(), *names], gap=" ")


def left_out_lines(comparison: GroupComparison) -> Iterator[str]:
    if comparison.may_fail:
        start = f"not compared, may fail: {counted(len(comparison.may_fail), 'task')}"
        names = _names(comparison.may_fail, comparison)
        yield from _said([*start.split(), *_enclosed(names)], gap=" ")
    if comparison.left_out:
        yield from _said([f"{counted(comparison.left_out, 'task')} left out by options"], gap=" ")


def _names(keys: Sequence[TaskKey], comparison: GroupComparison) -> list[str]:
    several = comparison.groups > 1
    bys = (f" by {key.agent}" if key.agent else "" for key in keys)
    names = (f"{key.domain}/{key.task}{by}" for key, by in zip(keys, bys, strict=True))
    return few([*map(one_line, names if several else (key.task for key in keys))], LISTED)


def _enclosed(parts: Sequence[str]) -> list[str]:
    text = list(parts)
    text[0] = f"({text[0]}"
    text[-1] = f"{text[-1]})"
    return text


def _said(parts: Iterable[str], *, gap: str) -> Iterator[str]:
    """Yield parts beside one another below the label; nothing without a part."""
    first, *others = [*parts] or [""]
    if first:
        yield from packed(f"{'':{LABEL}}{first}", others, gap=gap, indent=LABEL)


def _mean(summary: Summary, name: str) -> str:
    return amount(mean_of(summary, name))


def mean_of(summary: Summary, name: str) -> float | None:
    """Return what a run consumed on average, as far as it is known."""
    found = summary.usage.get(name)
    return found.mean if found else None


def _points(rate: float) -> str:
    text = f"{100 * rate:+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text


# Several sessions beside one another: one line for each, compared with the first.

_COLUMNS = (
    f"{'TSR':>6} {'':13}  {'ECR':>6}  {'lost':>5}  {'gained':>6}  {'p':>8}  {'cost/correct':>12}"
)
# One column for the space behind the name, one for the mark behind the cost.
_NAMES = WIDTH - len(_COLUMNS) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session: all of its runs, and how it compares; the first is compared with nothing."""

    name: str
    summary: Summary
    comparison: GroupComparison | None = None


def session_table_lines(rows: Sequence[SessionRow]) -> Iterator[str]:
    """Yield a table, 80 columns wide; a cost that not every run reported is marked and explained.

    A name that finds no room beside its numbers stands on a line of its own, whole.
    """
    yield f"{padded('session', _NAMES)} {_COLUMNS}".rstrip()
    remarks: list[str] = []
    for row in rows:
        name = one_line(row.name)
        if columns(name) > _NAMES:
            yield name
            name = ""
        yield f"{padded(name, _NAMES)} {_cells(row)}".rstrip()
        untold = _untold(row.summary)
        if untold:
            runs = f"{untold} of {counted(row.summary.runs, 'run')}"
            remarks.append(f"* {one_line(row.name)}: {runs} reported no cost")
        if row.summary.unavailable:
            remarks.append(f"{one_line(row.name)}: {unavailable(row.summary)}")
        if row.comparison is not None and row.comparison.tier is ComparisonResult.NOT_COMPARABLE:
            remarks.append(f"{one_line(row.name)}: {row.comparison.why}")
    yield from remarks


def _cells(row: SessionRow) -> str:
    summary = row.summary
    bounds = interval(summary.tsr_bounds)
    mark = "*" if _untold(summary) else " "
    lost, gained, p = _against(row.comparison)
    cost = money(summary.cost_per_correct)
    rates = f"{as_percent(summary.tsr):>6} {bounds:13}  {as_percent(summary.ecr):>6}"
    return f"{rates}  {lost:>5}  {gained:>6}  {p:>8}  {cost:>12}{mark}"


def _against(comparison: GroupComparison | None) -> tuple[str, str, str]:
    if (
        comparison is None
        or comparison.tier is ComparisonResult.NOT_COMPARABLE
        or not comparison.paired
    ):
        return "-", "-", "-"
    p = p_value(comparison.test.p).removeprefix("p ").removeprefix("= ")
    return f"{len(comparison.lost)}", f"{len(comparison.gained)}", p


def _untold(summary: Summary) -> int:
    """Count the runs that took time and did not report a cost, if others did."""
    cost = summary.usage.get("cost_usd")
    return max(0, len(summary.durations) - cost.known) if cost else 0


# The leaderboard of a session with several agents, and what its differences come to.

_FEW: Final = 3
"""Pairs without a shown difference that are named; more are counted."""

_CONSUMED: Final = {"tokens": ("input_tokens", "output_tokens"), "cost": ("cost_usd",)}


def leaderboard_lines(board: Leaderboard, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the agents, best first, and below them which differences are more than chance.

    It is 80 columns wide; with a verbosity above 0 it has more columns, and a line for each pair.
    A label that finds no room beside its numbers stands on a line of its own, whole.
    """
    is_closer = verbosity > 0
    yield heading(f"SOP: leaderboard, {len(board.standings)} agents, rates in %")
    rows = {
        one_line(one.label): leaderboard_cells(one.summary, is_closer=is_closer)
        for one in board.standings
    }
    yield from _table(rows, room=None if is_closer else WIDTH)
    yield from _part_lines(board.standings)
    yield from packed(
        f"{'pairs':<{LABEL - 1}}", difference_text(board).split(), gap=" ", indent=LABEL
    )
    yield from _pair_lines(board) if is_closer else ()


def leaderboard_cells(summary: Summary, *, is_closer: bool = False) -> Mapping[str, str]:
    """Return what a leaderboard tells of an agent, by column; what is unknown is `n/a`.

    Tokens, cost and time are those of a run: means of what was told, and a median. A star stands
    if some of the runs did not report it.
    """
    rates = {"TSR": summary.tsr, "ECR": summary.ecr, "C-TSR": summary.c_tsr}
    rates["contract"] = summary.contract_rate
    shown = {name: as_percent(rate).removesuffix("%") for name, rate in rates.items()}
    mean = {name: one.mean for name, one in summary.usage.items()}
    sent, written = mean.get("input_tokens"), mean.get("output_tokens")
    together = None if sent is None or written is None else sent + written
    consumed = {"tokens": amount(together), "cost": money(mean.get("cost_usd"))}
    cells = {
        "TSR": shown.pop("TSR"),
        "95 %": interval(summary.tsr_bounds) or NOT_AVAILABLE,
        **shown,
        **{name: f"{text}{_star(summary, name)}" for name, text in consumed.items()},
        "median": seconds(summary.latency_median),
    }
    return {**cells, **_more_cells(summary)} if is_closer else cells


def difference_text(board: Leaderboard) -> str:
    """Say which differences between agents are more than chance, and what the others are."""
    names = {one.agent: one_line(one.label) for one in board.standings}
    tested = [one for one in board.differences if not one.why]
    shown = [one for one in tested if one.is_shown]
    small = [one for one in tested if one.is_too_small]
    others = [one for one in tested if not (one.is_shown or one.is_too_small)]
    parts = [f"more than chance: {', '.join(_shown(one, names) for one in shown)}"] if shown else []
    if others:
        parts.append(f"no more than chance: {_pairs(others, names)}")
    if small:
        least = f"p < {ALPHA} takes at least {small[0].needed}"
        parts.append(f"too few tasks differ to tell: {_pairs(small, names)}; {least}")
    if tested:
        parts[-1] += f" ({_method(tested)})"
    apart = [one for one in board.differences if one.why]
    parts += [f"not compared: {_pair(one, names)}: {one.why}" for one in apart[:_FEW]]
    if len(apart) > _FEW:
        parts.append(f"and {counted(len(apart) - _FEW, 'pair')} more not compared")
    return "; ".join(parts)


def _more_cells(summary: Summary) -> Mapping[str, str]:
    mean = {name: one.mean for name, one in summary.usage.items()}
    cost = summary.usage.get("cost_usd")
    return {
        "correct": f"{summary.correct} of {summary.runs}",
        "tokens in": amount(mean.get("input_tokens")),
        "out": amount(mean.get("output_tokens")),
        "model calls": amount(mean.get("model_calls")),
        "tool calls": amount(summary.calls_per_run),
        "total cost": money(cost.total if cost else None),
        "p95": seconds(summary.latency_p95),
    }


def _star(summary: Summary, column: str) -> str:
    """Return a star if a mean over some of the runs could read as one over all of them."""
    known = [summary.usage[name].known for name in _CONSUMED[column] if name in summary.usage]
    return "*" if len(known) == len(_CONSUMED[column]) and min(known) < summary.runs else ""


def _part_lines(standings: Sequence[Standing]) -> Iterator[str]:
    for one in standings:
        if one.summary.unavailable:
            yield f"{'note':<{LABEL}}{one_line(one.label)}: {unavailable(one.summary)}"
    if any(_star(one.summary, column) for one in standings for column in _CONSUMED):
        yield f"{'note':<{LABEL}}* a mean over the runs that reported it, and not over all"


def _table(rows: Mapping[str, Mapping[str, str]], *, room: int | None) -> Iterator[str]:
    """Yield a table whose columns are as wide as they need, numbers to the right."""
    heads = [*next(iter(rows.values()))]
    widths = [
        max(columns(one) for one in (head, *(row[head] for row in rows.values()))) for head in heads
    ]
    longest = max(map(columns, (*rows, "agent")))
    left = longest if room is None else min(longest, max(room - sum(widths) - len(widths), 0))
    yield _row("agent" if left >= len("agent") else "", heads, left, widths)
    for name, row in rows.items():
        if columns(name) > left:
            yield name
        yield _row(name if columns(name) <= left else "", [*row.values()], left, widths)


def _row(name: str, cells: Sequence[str], left: int, widths: Sequence[int]) -> str:
    filled = (
        f"{' ' * (width - columns(one))}{one}" for one, width in zip(cells, widths, strict=True)
    )
    return f"{name}{' ' * (left - columns(name))} {' '.join(filled)}".rstrip()


def _pair_lines(board: Leaderboard) -> Iterator[str]:
    """Yield every pair that was tested, with p before and after the adjustment."""
    names = {one.agent: one_line(one.label) for one in board.standings}
    for one in board.differences:
        if not one.why:
            tasks = f"{one.ahead} to {one.behind} of {counted(one.paired, 'task')}"
            tests = f"{p_value(one.test.p)}, adjusted {p_value(one.p)} ({one.test.source})"
            yield f"{'':<{LABEL}}{_pair(one, names)}: {tasks}, {tests}"


def _shown(one: Difference, names: Mapping[str, str]) -> str:
    return f"{names[one.first]} over {names[one.second]} ({_standing(one)})"


def _pairs(some: Sequence[Difference], names: Mapping[str, str]) -> str:
    if len(some) > _FEW:
        return counted(len(some), "pair")
    return ", ".join(f"{_pair(one, names)} ({_standing(one)})" for one in some)


def _standing(one: Difference) -> str:
    return f"{counted(one.ahead, 'task')} to {one.behind}, {p_value(one.p)}"


def _pair(one: Difference, names: Mapping[str, str]) -> str:
    return f"{names[one.first]} and {names[one.second]}"


def _method(tested: Sequence[Difference]) -> str:
    tests = dict.fromkeys(one.test.source.partition(",")[0] for one in tested)
    pairs = f", Holm over {len(tested)} pairs" if len(tested) > 1 else ""
    return f"{' and '.join(tests)} test by task{pairs}"


# The tasks that were lost since a baseline, each in full: they are what to look at first.


def lost_records(
    records: Sequence[RunRecord], lost: Collection[tuple[str, str, str]]
) -> Sequence[RunRecord]:
    """Return the first run of each lost task that is not correct, in the order of the session.

    Args:
        records: of the current session.
        lost: domain, task and agent of each lost task; the agent is empty if one was compared.
    """
    found: dict[tuple[str, str, str], RunRecord] = {}
    for one in records:
        names = [(one.domain, one.task, agent) for agent in ("", one.agent)]
        name = next((name for name in names if name in lost), None)
        if name is not None and one.outcome is not Outcome.CORRECT:
            found.setdefault(name, one)
    return tuple(found.values())


def lost_lines(
    records: Sequence[RunRecord],
    baseline: str,
    full: Callable[[RunRecord], str],
) -> Iterator[str]:
    """Yield a section with all that is known of the lost tasks, or nothing without one.

    Args:
        records: the first run of each lost task that is not correct.
        baseline: what the session was compared with.
        full: returns all that is to be said of a run.
    """
    if not records:
        return
    yield heading(f"SOP: {counted(len(records), 'task')} lost since {one_line(baseline)}")
    for number, record in enumerate(records[:LIMIT]):
        if number:
            yield ""
        yield from full(record).splitlines()
    if len(records) > LIMIT:
        yield f"and {len(records) - LIMIT} more; the saved session holds all of them"


def keys_of(records: Sequence[RunRecord]) -> frozenset[RunKey]:
    """Return the runs that the section shows."""
    return frozenset(one.key for one in records[:LIMIT])
