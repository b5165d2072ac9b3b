"""Say where and why a trajectory departs, and what came of each rule, in a few lines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.metrics.counts.rule_counts import RuleTally
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.trajectory.arguments import ArgumentDifference
from pytest_sopbench._core.values.json import JsonValue

from .trajectory_rows import Row, aligned_rows

if TYPE_CHECKING:
    from pytest_sopbench._core.trajectory.departure import Departure
    from pytest_sopbench._core.trajectory.match import TrajectoryMatch

ROWS = 5
"""Rows of the two trajectories that are shown around the departure."""

DIFFERENCES = 2
"""Arguments that differ which are shown one by one."""


class SeenCall(Protocol):
    """A tool call as a trace or a saved session holds it."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> JsonValue: ...
    @property
    def result(self) -> JsonValue: ...
    @property
    def error(self) -> str | None: ...


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
    return [
        *_wrapped(f"{_title(match)}: step {departure.step}: {departure.why}", width, 2, taken),
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


def rule_summary_lines(tallies: Sequence[RuleTally], width: int = 80) -> list[str]:
    """One line per rule with its clause and counts; rules that no task exercised come last."""
    lines = [
        _cut(f"{_rule_name(one)} {one.held} of {one.exercised}", width)
        for one in tallies
        if one.exercised
    ]
    idle = [one.id for one in tallies if not one.exercised]
    if idle:
        lines += textwrap.wrap(
            f"not exercised by any task: {', '.join(idle)}", width, subsequent_indent="  "
        )
    return lines


def call_text(name: str, arguments: JsonValue) -> str:
    """Write a call as one would in code: `open_case(claim_id="C 1")`; a bare name without any."""
    if arguments is None:
        return name
    if isinstance(arguments, dict):
        inside = ", ".join(f"{key}={_json(value)}" for key, value in arguments.items())
        return f"{name}({inside})"
    return f"{name}({_json(arguments)})"


def _title(match: TrajectoryMatch) -> str:
    return f"match {match.match}, arguments {match.arguments}"


def _rule_name(rule: RuleResult | RuleTally) -> str:
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
        what = f"failed: {before.error}" if before.error is not None else _json(before.result)
        yield _cut(f"before it, step {departure.step - 1}, {before.name}: {what}", width)
    yield _cut(_counts(match), width)
    if match.overlapping:
        what = "; ".join(_range_text(steps) for steps in match.overlapping)
        yield _cut(f"overlapping steps, taken in any order: {what}", width)


def _range_text(steps: Sequence[int]) -> str:
    return f"{steps[0]} to {steps[-1]}"


def _difference_text(difference: ArgumentDifference) -> str:
    path = difference.path or "arguments"
    if difference.why == "missing":
        return f"{path}: missing, expected {_json(difference.expected)}"
    if difference.why == "unexpected":
        return f"{path}: unexpected, was {_json(difference.actual)}"
    values = f"expected {_json(difference.expected)}, was {_json(difference.actual)}"
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


def _json(value: JsonValue) -> str:
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
