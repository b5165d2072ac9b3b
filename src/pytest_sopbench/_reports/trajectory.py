"""Say where and why a trajectory departs, and what came of each rule, in a few lines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile, zip_longest
from typing import TypeAlias

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.trace import Mismatch, ToolCall
from pytest_sopbench._core.records.record import RESULT_LIMIT, CallRecord, RunRecord, is_cut
from pytest_sopbench._core.trajectory.calls import (
    Call,
    ExpectedCall,
    Trajectory,
)
from pytest_sopbench._core.trajectory.match import (
    ORDERED,
    Departure,
    MatchedPair,
    TrajectoryMatch,
    match_trajectory,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.text import (
    LABEL_WIDTH,
    ShownCall,
    changed_by,
    columns,
    counted,
    cut,
    fitted,
    fitted_names,
    labelled,
    labelled_values,
    one_line,
    padded,
    shown,
)

# Lay the expected calls and those of a run side by side, row by row.


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A place of the expected list, a step of the run, or both; they count from 1."""

    place: int | None
    step: int | None


def aligned_rows(match: TrajectoryMatch) -> list[Row]:
    """Return one row per pair and per call without a partner.

    If order counts, matched pairs are the anchors, and what stands between two of them on
    either side is laid side by side; calls that overlap stand in the order they were taken in.
    Else rows follow the run, and what is missing comes last.
    """
    return list(_ordered(match) if match.match in ORDERED else _unordered(match))


def _ordered(match: TrajectoryMatch) -> Iterator[Row]:
    partner = {pair.place: pair.step for pair in match.pairs}
    together = set(partner.values())
    steps = iter(match.steps)
    lost: list[int] = []
    for place in match.places:
        if place not in partner:
            lost.append(place)
            continue
        added = list(takewhile(lambda step: step not in together, steps))
        yield from _gap(lost, added)
        yield Row(place=place, step=partner[place])
        lost = []
    yield from _gap(lost, list(steps))


def _gap(lost: Iterable[int], added: Iterable[int]) -> Iterator[Row]:
    yield from (Row(place=one, step=other) for one, other in zip_longest(lost, added))


def _unordered(match: TrajectoryMatch) -> Iterator[Row]:
    together: list[MatchedPair] = [*match.pairs, *match.unlike]
    place_of = {pair.step: pair.place for pair in together}
    for step in sorted([*place_of, *match.extra]):
        yield Row(place=place_of.get(step), step=step)
    yield from (Row(place=place, step=None) for place in match.missing)


ROWS = 5
"""Rows of the two trajectories that are shown around the departure."""

DIFFERENCES = 2
"""Arguments that differ which are shown one by one."""


SeenCall: TypeAlias = ToolCall | CallRecord | ShownCall
"""A tool call as a trace, a saved session or a page holds it."""


def matched(calls: Iterable[SeenCall], expected: Sequence[ExpectedCall]) -> TrajectoryMatch:
    """Hold calls that were made against those that are expected."""
    made = (Call(name=one.name, arguments=one.arguments, overlaps=one.overlaps) for one in calls)
    return match_trajectory(Trajectory(calls=tuple(made)), expected)


def departure_lines(
    match: TrajectoryMatch,
    actual: Sequence[SeenCall],
    expected: Sequence[ExpectedCall],
    width: int = 80,
    taken: int = 0,
) -> list[str]:
    """Show a departure in at most 16 lines of `width` columns; a match that held has none.

    `actual` and `expected` are the calls that were matched. Rows follow the steps of the run;
    `>` marks the first departure, `...` stands for rows left out. `taken` columns of the first
    line are left to whoever prints it.
    """
    departure = match.departure
    if departure is None:
        return []
    how = f"match {match.match}, arguments {match.arguments}"
    return [
        *_wrapped(f"{how}: step {departure.step}: {departure.why}", width, 2, taken),
        *_table(aligned_rows(match), departure, actual, expected, width),
        *_explanation(match, departure, actual, width),
    ]


def rule_lines(results: Sequence[RuleResult], width: int = 80) -> list[str]:
    """One line per rule that applies, broken ones first; the rest of a long reason is cut."""
    order = sorted(
        (one for one in results if one.applies), key=lambda one: (not one.broken, one.severity)
    )
    return [
        _cut(f"{_rule_name(one)} {one.state.replace('_', ' ')}: {one.why}", width) for one in order
    ]


def call_text(name: str, arguments: JsonValue) -> str:
    """Write a call as one would in code: `open_case(claim_id="C 1")`; a bare name without any."""
    if arguments is None:
        return name
    if isinstance(arguments, dict):
        inside = ", ".join(f"{key}={as_json(value)}" for key, value in arguments.items())
        return f"{name}({inside})"
    return f"{name}({as_json(arguments)})"


def _rule_name(rule: RuleResult) -> str:
    clause = f"clause {rule.clause}, " if rule.clause else ""
    return f"{rule.id} ({clause}{rule.severity})"


def _table(
    rows: Sequence[Row],
    departure: Departure,
    actual: Sequence[SeenCall],
    expected: Sequence[ExpectedCall],
    width: int,
) -> Iterator[str]:
    at = departure_row(rows, departure)
    first = max(0, min(at - ROWS // 2, len(rows) - ROWS))
    shown = rows[first : first + ROWS]
    side = (width - 8) // 2
    yield f"     {'expected':<{side}} actual"
    if first:
        yield "     ..."
    for index, row in enumerate(shown, start=first):
        mark = ">" if index == at else " "
        step = str(row.step) if row.step else "-"
        left = _expected_text(expected[row.place - 1]) if row.place else "-"
        if index == at and not row.place and departure.expected is not None:
            # What was expected here stands in a row of its own, beside where it was made.
            left = f"({_expected_text(departure.expected)})"
        call = actual[row.step - 1] if row.step else None
        right = call_text(call.name, call.arguments) if call else "-"
        left, right = _cut(left, side), _cut(right, side)
        yield f"{mark}{step:>3} {left:<{side}} {right}".rstrip()
    if first + ROWS < len(rows):
        yield "     ..."


def departure_row(rows: Sequence[Row], departure: Departure) -> int:
    """Return which row the departure stands in, from 0."""
    step = departure.step if departure.done is not None else None
    return next(
        at
        for at, row in enumerate(rows)
        if (step is not None and row.step == step)
        or (departure.place is not None and row.place == departure.place)
    )


def _explanation(
    match: TrajectoryMatch, departure: Departure, actual: Sequence[SeenCall], width: int
) -> Iterator[str]:
    for difference in departure.differences[:DIFFERENCES]:
        yield _cut(_difference_text(difference), width)
    more = len(departure.differences) - DIFFERENCES
    if more > 0:
        yield f"{more} more arguments differ" if more > 1 else "1 more argument differs"
    if departure.step > 1:
        before = actual[departure.step - 2]
        what = f"failed: {before.error}" if before.error is not None else as_json(before.result)
        yield _cut(f"before it, step {departure.step - 1}, {before.name}: {what}", width)
    yield _cut(_counts(match), width)
    if match.overlapping:
        what = "; ".join(f"{steps[0]} to {steps[-1]}" for steps in match.overlapping)
        yield _cut(f"overlapping steps, taken in any order: {what}", width)


def _difference_text(difference: Mismatch) -> str:
    path = difference.field or "arguments"
    if difference.why == "missing":
        return f"{path}: missing, expected {as_json(difference.expected)}"
    if difference.why == "unexpected":
        return f"{path}: unexpected, was {as_json(difference.actual)}"
    values = f"expected {as_json(difference.expected)}, was {as_json(difference.actual)}"
    return f"{path}: {values} ({difference.why})"


def _counts(match: TrajectoryMatch) -> str:
    counts = {
        "matched": len(match.pairs),
        "out of order": len(match.out_of_order),
        "with other arguments": len(match.unlike),
        "missing": len(match.missing),
        "extra": len(match.extra),
    }
    return "calls: " + ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _expected_text(call: ExpectedCall) -> str:
    return call.name if call.arguments is None else call_text(call.name, dict(call.arguments))


def as_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{ready_to_cut(line)[: width - 3]}..."


def _wrapped(text: str, width: int, most: int, taken: int) -> list[str]:
    lines = textwrap.wrap(
        ready_to_cut(text),
        width,
        max_lines=most,
        placeholder=" ...",
        initial_indent=" " * taken,
        subsequent_indent="  ",
    )
    return [lines[0][taken:], *lines[1:]]


# The tool calls of a run, one on a line, as its failure shows them.
#
# What came back decides mostly, so it stands below its call if one line has no room for both. What
# differs from the expected call is what a reader looks for: it stands below, and is never cut.

CALLS = 12
"""Calls of one run that are shown, and those that differ from an expected one."""

_LAST = 3
_ARGUMENT = 30
_RESULT_LINES = 3

Differences = Mapping[int, Sequence[Mismatch]]
"""What differs from the expected call, by the step of the run, from 1."""


def call_lines(record: RunRecord, expected: Sequence[ExpectedCall], width: int) -> Iterator[str]:
    """Yield the calls with what came back, the middle of many left out."""
    if record.duration_s is None:
        return
    if not record.calls:
        yield f"{'calls':<{LABEL_WIDTH}}none: the agent called no tool"
        return
    # What differs in the arguments of calls that were expected with others.
    unlike = matched(record.calls, expected).unlike if expected else ()
    differences: Differences = {one.step: one.differences for one in unlike}
    steps = _shown_steps(len(record.calls), differences)
    calls = [record.calls[step - 1] for step in steps]
    lines = [(_made(call), _came_back(call, RESULT_LIMIT)) for call in calls]
    digits = len(str(len(record.calls)))
    room = width - LABEL_WIDTH - digits - len("   ")
    whole = [columns(made) for made, result in lines if columns(made) + columns(result) <= room]
    before = 0
    for step, call, (made, result) in zip(steps, calls, lines, strict=True):
        if step > before + 1:
            left = counted(step - before - 1, "more call")
            yield f"{'':{LABEL_WIDTH}}... {left} ..."
        start = f"{'' if before else 'calls':<{LABEL_WIDTH}}{step:>{digits}} "
        if columns(made) + columns(result) <= room:
            # Results stand below one another, as far as each leaves room for it.
            yield f"{start}{padded(made, min(max(whole), room - columns(result)))}  {result}"
        else:
            yield f"{start}{_made_within(call, width - columns(start))}"
            below = labelled_values(
                "", partial(_came_back, call), width=width - digits - 1, lines=_RESULT_LINES
            )
            yield from (f"{'':{digits + 1}}{line}" for line in below)
        for one in differences.get(step, ()):
            yield from labelled("", f"differs: {difference_text(one)}", width=width)
        for change in changed_by(record.state, step):
            yield from labelled("", f"changed: {change}", width=width)
        before = step


def difference_text(difference: Mismatch) -> str:
    """`amount: expected 12.5, was 12.05`, whole, on one line."""
    path = one_line(difference.field) or "arguments"
    if difference.why == "missing":
        return f"{path}: missing, expected {shown(difference.expected)}"
    if difference.why == "unexpected":
        return f"{path}: not expected, was {shown(difference.actual)}"
    return f"{path}: expected {shown(difference.expected)}, was {shown(difference.actual)}"


def _shown_steps(count: int, differences: Differences) -> Sequence[int]:
    every = range(1, count + 1)
    if count <= CALLS:
        return every
    ends = {*every[: CALLS - _LAST - 1], *every[-_LAST:]}
    return sorted({*ends, *differences})


def _made(call: CallRecord) -> str:
    """Return a call of which each argument is short; the whole of one rarely says more."""
    arguments = call.arguments
    if not isinstance(arguments, Mapping):
        return f"{one_line(call.name)}({fitted(arguments, _ARGUMENT)})"
    each = (f"{one_line(name)}={fitted(one, _ARGUMENT)}" for name, one in arguments.items())
    return f"{one_line(call.name)}({', '.join(each)})"


def _made_within(call: CallRecord, room: int) -> str:
    name = cut(one_line(call.name), room - len("(...)"))
    return f"{name}({fitted_names(call.arguments, room - columns(name) - len('()'))})"


def _came_back(call: CallRecord, room: int) -> str:
    if call.bad:
        return cut(f"bad: {one_line('; '.join(call.findings) or call.error or '')}", room)
    if call.error is not None:
        return cut(f"error: {one_line(call.error)}", room)
    if isinstance(call.result, dict) and is_cut(call.result):
        return f"-> {call.result['characters']} characters, too long to be kept"
    return f"-> {fitted(call.result, room - len('-> '))}"
