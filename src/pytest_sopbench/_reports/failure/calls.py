"""The tool calls of a run, one on a line, as its failure shows them.

A line has no room for long arguments. What differs from the expected call is what a reader looks
for, so it stands below its call, and is never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall, Trajectory
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.trajectory.arguments import ArgumentDifference
from pytest_sopbench._reports.text.layout import (
    LABEL_WIDTH,
    columns,
    cut,
    labelled,
    named,
    one_line,
    padded,
    shown,
)
from pytest_sopbench._reports.text.numbers import counted

CALLS = 12
"""Calls of one run that are shown, and those that differ from an expected one."""

_LAST = 3
_ARGUMENT = 30

Differences = Mapping[int, Sequence[ArgumentDifference]]
"""What differs from the expected call, by the step of the run, from 1."""


def call_lines(record: RunRecord, expected: Sequence[ExpectedCall], width: int) -> Iterator[str]:
    """Yield the calls with what came back, the middle of many left out."""
    if record.duration_s is None:
        return
    if not record.calls:
        yield f"{'calls':<{LABEL_WIDTH}}none: the agent called no tool"
        return
    differences = differences_of(record.calls, expected)
    steps = _shown_steps(len(record.calls), differences)
    calls = [record.calls[step - 1] for step in steps]
    texts = [f"{one_line(call.name)}({named(call.arguments, _ARGUMENT)})" for call in calls]
    results = [_came_back(call) for call in calls]
    digits = len(str(len(record.calls)))
    room = width - LABEL_WIDTH - digits - len("   ")
    # At least half of the room for calls, and more where what came back is short.
    side = max(room // 2, room - max(map(columns, results)))
    side = min(side, max(map(columns, texts)))
    before = 0
    for step, text, result in zip(steps, texts, results, strict=True):
        if step > before + 1:
            left = counted(step - before - 1, "more call")
            yield f"{'':{LABEL_WIDTH}}... {left} ..."
        label = "" if before else "calls"
        start = f"{label:<{LABEL_WIDTH}}{step:>{digits}} {padded(text, side)}"
        yield cut(f"{start}  {result}", width)
        yield from _difference_lines(differences.get(step, ()), width)
        before = step


def differences_of(calls: Sequence[CallRecord], expected: Sequence[ExpectedCall]) -> Differences:
    """Return what differs in the arguments of calls that were expected with others."""
    from pytest_sopbench._core.trajectory.match import match_trajectory  # noqa: PLC0415 - only where calls are compared

    if not expected:
        return {}
    made = tuple(
        Call(name=one.name, arguments=one.arguments, overlaps=one.overlaps) for one in calls
    )
    found = match_trajectory(Trajectory(calls=made), expected)
    return {one.step: one.differences for one in found.unlike}


def difference_text(difference: ArgumentDifference) -> str:
    """`amount: expected 12.5, was 12.05`, whole, on one line."""
    path = one_line(difference.path) or "arguments"
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


def _difference_lines(differences: Sequence[ArgumentDifference], width: int) -> Iterator[str]:
    for one in differences:
        yield from labelled("", f"differs: {difference_text(one)}", width=width)


def _came_back(call: CallRecord) -> str:
    if call.bad:
        return f"bad: {one_line('; '.join(call.findings) or call.error or '')}"
    if call.error is not None:
        return f"error: {one_line(call.error)}"
    return f"-> {shown(call.result)}"
