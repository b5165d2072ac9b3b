"""Each tool call of a run as a block, and the expected calls beside the actual ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall, Trajectory
from pytest_sopbench._core.trajectory.match import TrajectoryMatch, match_trajectory
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure.calls import difference_text
from pytest_sopbench._reports.failure.trajectory import call_text, departure_row
from pytest_sopbench._reports.failure.trajectory_rows import aligned_rows
from pytest_sopbench._reports.text.layout import one_line, padded
from pytest_sopbench._reports.text.numbers import seconds
from pytest_sopbench._reports.text.shown_calls import ShownCall

from .blocks import NARROWEST, Page, cut_value, text_lines, wrapped


def call_blocks(calls: Sequence[ShownCall], page: Page) -> Iterator[str]:
    """Yield each call with its arguments and what came back, in full."""
    for step, one in enumerate(calls, start=1):
        yield from page.text(f"call {step}", f"{one_line(one.name)}{_when(one)}")
        yield from page.values("  with", one.arguments)
        for finding in one.findings:
            yield from page.text("  bad", finding)
        if one.error is None:
            yield from page.values("  result", one.result)
        else:
            yield from page.text("  error", one.error)


def _when(call: ShownCall) -> str:
    if call.began is None or call.took is None:
        return ""
    return f"  (began after {seconds(call.began)}, took {seconds(call.took)})"


def beside_lines(
    calls: Sequence[ShownCall], expected: Sequence[ExpectedCall], page: Page
) -> Iterator[str]:
    """Yield the expected calls beside the actual ones; `>` marks the first departure."""
    if any(cut_value(one.arguments) for one in calls):
        yield from page.text("expected", "these calls; what was called was too long to compare")
        for place, wanted in enumerate(expected, start=1):
            yield from page.text("", f"{place} {_wanted_text(wanted)}")
        return
    found = _match(calls, expected)
    if found.departure is None:
        yield from page.text("expected", "exactly these calls")
        return
    yield from _table(found, calls, expected, max(page.width, NARROWEST))
    for one in found.departure.differences:
        yield from page.block("differs", wrapped(difference_text(one), page.room))


def departure_of(calls: Sequence[ShownCall], expected: Sequence[ExpectedCall]) -> str:
    """Return where calls depart from the expected ones, in the words of a record."""
    found = _match(calls, expected).departure
    return f"step {found.step}: {found.why}" if found else ""


def _match(calls: Sequence[ShownCall], expected: Sequence[ExpectedCall]) -> TrajectoryMatch:
    made = (Call(name=one.name, arguments=one.arguments, overlaps=one.overlaps) for one in calls)
    return match_trajectory(Trajectory(calls=tuple(made)), expected)


def _table(
    found: TrajectoryMatch, calls: Sequence[ShownCall], expected: Sequence[ExpectedCall], width: int
) -> Iterator[str]:
    rows = aligned_rows(found)
    at = departure_row(rows, found.departure) if found.departure else None
    side = (width - 8) // 2
    yield f"     {padded('expected', side)}  actual"
    for index, row in enumerate(rows):
        left = _wanted_text(expected[row.place - 1]) if row.place else "-"
        call = calls[row.step - 1] if row.step else None
        right = one_line(call_text(call.name, call.arguments)) if call else "-"
        step = str(row.step) if row.step else "-"
        start = f"{'>' if index == at else ' '}{step:>3} "
        for one, other in zip_longest(
            text_lines(left, side), text_lines(right, side), fillvalue=""
        ):
            yield f"{start}{padded(one, side)}  {other}".rstrip()
            start = " " * len(start)


def _wanted_text(call: ExpectedCall) -> str:
    arguments: Mapping[str, JsonValue] | None = call.arguments
    return one_line(call_text(call.name, None if arguments is None else dict(arguments)))
