"""What a failed assertion says: of the calls of a run, or of a trajectory that was approved.

pytest prints them behind `E`, the first one behind the name of the exception or behind `assert`;
together they stay within 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.records.record import RESULT_LIMIT
from pytest_sopbench._core.trajectory.calls import Trajectory, Unmet
from pytest_sopbench._core.trajectory.match import MatchedPair
from pytest_sopbench._core.trajectory.snapshot import SnapshotMatch
from pytest_sopbench._reports.text import columns, counted, cut, fitted, one_line, padded, shown
from pytest_sopbench._reports.trajectory import SeenCall, as_json, call_text, rule_lines

# Calls that a demand on a run wants otherwise: at most 25 lines.

WIDTH = 80 - len("E       ")
"""Columns of a line."""

TAKEN = len("AssertionError: ")
"""Columns of the first line that stand before it."""

ROWS = 9
"""Calls that are shown around the one that matters."""

RULES = 4
"""Broken rules that are shown, if the calls stand below them."""


def unmet_lines(words: str, unmet: Unmet, calls: Sequence[SeenCall]) -> list[str]:
    """Say what was asked for, why it is not so, and what was called instead."""
    return [
        cut(one_line(words), WIDTH - TAKEN),
        cut(one_line(unmet.why), WIDTH),
        *call_lines(calls, unmet.step),
    ]


def contract_lines(broken: Sequence[RuleResult], calls: Sequence[SeenCall]) -> list[str]:
    """Name the broken rules, and what was called."""
    count = len(broken)
    rules = rule_lines(broken, WIDTH)
    left = count - RULES
    return [
        f"{count} rules of the contract are broken" if count > 1 else "a rule is broken",
        *(one_line(line) for line in rules[:RULES]),
        *([f"and {left} more"] if left > 0 else ()),
        *call_lines(calls, None),
    ]


def call_lines(calls: Sequence[SeenCall], marked: int | None) -> Iterator[str]:
    """Yield the calls with what came back; `>` marks the step that matters, counted from 1."""
    if not calls:
        yield "calls: none"
        return
    first = max(0, min((marked or 1) - 1 - ROWS // 2, len(calls) - ROWS))
    if first:
        yield f"    ... {first} before"
    texts = [one_line(call_text(call.name, call.arguments)) for call in calls]
    seen = range(first, min(first + ROWS, len(calls)))
    results = {at: _came_back(calls[at], RESULT_LIMIT) for at in seen}
    room = WIDTH - len("> 10   ")
    fits = {at for at in seen if columns(texts[at]) + columns(results[at]) <= room}
    side = max((columns(texts[at]) for at in fits), default=0)
    for at in seen:
        start = f"{'>' if at + 1 == marked else ' '}{at + 1:>3} "
        if at in fits:
            made = padded(texts[at], min(side, room - columns(results[at])))
            yield f"{start}{made}  {results[at]}"
        else:
            # What came back decides mostly, so it is not cut for the arguments.
            yield cut(f"{start}{texts[at]}", WIDTH)
            yield f"{'':7}{_came_back(calls[at], WIDTH - 7)}"
    left = len(calls) - seen.stop
    if left:
        yield f"    ... {left} more"


def _came_back(call: SeenCall, room: int) -> str:
    if call.error is not None:
        return cut(f"error: {one_line(call.error)}", room)
    return f"-> {fitted(call.result, room - len('-> '))}"


# Steps that depart from the trajectory that was approved: one line for each.

SNAPSHOT_WIDTH = 80 - len("E         ")
"""Columns of a line."""

STEPS = 5
"""Steps that are shown one by one."""

_LABEL = 8
_WORDS = ("moved", "changed", "removed", "added", "early")


def diff_lines(title: str, comparison: SnapshotMatch, *, approve: str) -> list[str]:
    """Name the steps that were moved, changed, removed, added or early, in the order of the run.

    A call is early that began while another was in flight, which was approved as ending first.

    Args:
        title: which task it is.
        comparison: one that does not hold.
        approve: how to approve the change, or why that cannot be.
    """
    steps = sorted(_steps(comparison))
    counts = [(sum(kind == word for _, kind, _ in steps), word) for word in _WORDS]
    what = ", ".join(f"{count} {word}" for count, word in counts if count)
    lines = [cut(f"{what}: {title} departs from its snapshot", SNAPSHOT_WIDTH)]
    lines += [_line(kind, text) for _, kind, text in steps[:STEPS]]
    lines += _more(len(steps) - STEPS)
    if comparison.of > 1:
        lines.append(
            f"beside approved trajectory {comparison.place} of {comparison.of}, the nearest"
        )
    return [*lines, approve]


def document_diff_lines(title: str, mismatches: Sequence[Mismatch], *, approve: str) -> list[str]:
    """Name the paths at which a document differs from the approved one that is nearest."""
    paths = counted(len(mismatches), "path")
    lines = [cut(f"{paths} changed: {title} departs from its snapshot", SNAPSHOT_WIDTH)]
    for one in mismatches[:STEPS]:
        values = f"{one.field}: {shown(one.expected)} -> {shown(one.actual)} ({one.why})"
        lines.append(_line("changed", values))
    return [*lines, *_more(len(mismatches) - STEPS), approve]


def missing_lines(title: str, made: Trajectory, *, approve: str) -> list[str]:
    """Say that nothing is approved yet, and what was done."""
    calls = [
        _line("step", f"{step}  {call_text(call.name, call.arguments)}")
        for step, call in enumerate(made, start=1)
    ]
    return [
        cut(
            f"no snapshot of {title}; {counted(len(calls), 'call') if calls else 'no call'}",
            SNAPSHOT_WIDTH,
        ),
        *calls[:STEPS],
        *_more(len(calls) - STEPS),
        approve,
    ]


def _steps(comparison: SnapshotMatch) -> Iterator[tuple[float, str, str]]:
    """Yield place in the run, kind and text of each step that departs."""
    match, approved, made = comparison.match, comparison.approved, comparison.made
    for pair in match.out_of_order:
        call = made[pair.step - 1]
        text = call_text(call.name, call.arguments)
        yield pair.step, "moved", f"step {pair.step} (was {pair.place})  {text}"
    for unlike in match.unlike:
        yield unlike.step, "changed", _changed(unlike, made[unlike.step - 1].name)
    for place in match.missing:
        gone = approved[place - 1]
        # Behind the step that stands where it stood.
        text = call_text(gone.name, dict(gone.arguments or {}))
        yield place + 0.5, "removed", f"step {place}  {text}"
    for step in match.extra:
        call = made[step - 1]
        yield step, "added", f"step {step}  {call_text(call.name, call.arguments)}"
    waited_for = {later: earlier for earlier, later in reversed(comparison.lost)}
    for step, other in waited_for.items():
        what = f"step {step}  {made[step - 1].name}: step {other}, {made[other - 1].name},"
        yield step, "early", f"{what} had not ended"


def _changed(unlike: MatchedPair, name: str) -> str:
    was = f" (was {unlike.place})" if unlike.place != unlike.step else ""
    first, *others = unlike.differences
    more = f", and {len(others)} more" if others else ""
    return f"step {unlike.step}{was}  {name}: {_difference(first)}{more}"


def _difference(difference: Mismatch) -> str:
    path = difference.field or "arguments"
    if difference.why == "missing":
        return f"{path} {as_json(difference.expected)} is missing"
    if difference.why == "unexpected":
        return f"{path} {as_json(difference.actual)} was not there"
    return f"{path} {as_json(difference.expected)} -> {as_json(difference.actual)}"


def _line(kind: str, text: str) -> str:
    return cut(one_line(f"{kind:<{_LABEL}}{text}"), SNAPSHOT_WIDTH)


def _more(count: int) -> Sequence[str]:
    return (f"and {count} more",) if count > 0 else ()
