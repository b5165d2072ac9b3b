"""Lay a run beside the expected calls and beside the run of the baseline, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall, Trajectory
from pytest_sopbench._core.trajectory.match import TrajectoryMatch, match_trajectory
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure.trajectory import departure_row
from pytest_sopbench._reports.failure.trajectory_rows import Row, aligned_rows


class MadeCall(Protocol):
    """A call as an event log or a record holds it."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> JsonValue: ...
    @property
    def overlaps(self) -> int: ...
    @property
    def error(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """A run laid beside another list of calls; `at` is the row of the first departure."""

    rows: Sequence[Row]
    same: frozenset[int]
    at: int | None = None
    why: str = ""

    def step_at(self) -> Row | None:
        """Return the row of the first departure."""
        return None if self.at is None else self.rows[self.at]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """An expected call, a step of the run and one of the baseline; each may be missing.

    `differs` tells whether the run departs here from what was expected, `changed` whether it does
    from the baseline; the first row of each is `first` and `first_changed`.
    """

    place: int | None = None
    step: int | None = None
    before: int | None = None
    differs: bool = False
    changed: bool = False
    first: bool = False
    first_changed: bool = False


def beside(made: Sequence[MadeCall], others: Sequence[ExpectedCall]) -> Aligned:
    """Lay a run beside calls that were expected, or that were made before."""
    if _are_equal(made, others):
        rows = [Row(place=step, step=step) for step in range(1, len(made) + 1)]
        return Aligned(rows=rows, same=frozenset(range(1, len(made) + 1)))
    calls = tuple(
        Call(name=one.name, arguments=one.arguments, overlaps=one.overlaps) for one in made
    )
    found = match_trajectory(Trajectory(calls=calls), others)
    rows = aligned_rows(found)
    same = frozenset(pair.step for pair in found.pairs)
    if found.departure is None:
        return Aligned(rows=rows, same=same)
    at = departure_row(rows, found.departure)
    return Aligned(rows=rows, same=same, at=at, why=_why(found))


def alone(made: Sequence[MadeCall]) -> Aligned:
    """Lay a run beside nothing."""
    rows = [Row(place=None, step=step) for step in range(1, len(made) + 1)]
    return Aligned(rows=rows, same=frozenset(range(1, len(made) + 1)))


def as_expected(made: Sequence[MadeCall], *, named: bool) -> Sequence[ExpectedCall]:
    """Return calls of a baseline as such that are expected; `named` asks for their names alone."""
    return [
        ExpectedCall(
            name=one.name,
            arguments=one.arguments if isinstance(one.arguments, dict) and not named else None,
            overlaps=one.overlaps,
        )
        for one in made
    ]


def timeline(wanted: Aligned, before: Aligned | None) -> Sequence[TimelineRow]:
    """Return one row for each step, with what was expected and what the baseline did there.

    Calls that only one of the others has stand before the step that they come before.
    """
    left, right = _gaps(wanted), _gaps(before) if before else {}
    place_of = {row.step: row.place for row in wanted.rows if row.step}
    before_of = {row.step: row.place for row in before.rows if row.step} if before else {}
    first, first_changed = wanted.step_at(), before.step_at() if before else None
    rows: list[TimelineRow] = []
    for step in [*place_of, None]:
        rows += _missing(left.get(step, ()), right.get(step, ()))
        if step is not None:
            rows.append(
                TimelineRow(
                    place=place_of[step],
                    step=step,
                    before=before_of.get(step),
                    differs=step not in wanted.same,
                    changed=before is not None and step not in before.same,
                )
            )
    if first is None and first_changed is None:
        return rows
    return [_marked(row, first, first_changed) for row in rows]


def retried_steps(made: Sequence[MadeCall]) -> frozenset[int]:
    """Return the steps that call a tool again whose last call failed."""
    failed: dict[str, bool] = {}
    found: set[int] = set()
    for step, one in enumerate(made, start=1):
        if failed.get(one.name):
            found.add(step)
        failed[one.name] = one.error is not None
    return frozenset(found)


def _are_equal(made: Sequence[MadeCall], others: Sequence[ExpectedCall]) -> bool:
    """Tell calls that are written alike, as most are: to match them takes far longer."""
    # Texts, since 1 and True are equal and are not the same value of JSON.
    return len(made) == len(others) and all(
        one.name == other.name
        and not (one.overlaps or other.overlaps)
        and repr(one.arguments) == repr(other.arguments)
        for one, other in zip(made, others, strict=True)
    )


def _gaps(aligned: Aligned) -> dict[int | None, list[int]]:
    """Return the places without a step, by the step that they stand before."""
    gaps: dict[int | None, list[int]] = {}
    waiting: list[int] = []
    for row in aligned.rows:
        if row.step is None and row.place is not None:
            waiting.append(row.place)
        elif row.step is not None:
            gaps[row.step] = waiting
            waiting = []
    gaps[None] = waiting
    return gaps


def _missing(places: Sequence[int], befores: Sequence[int]) -> Iterator[TimelineRow]:
    for place, before in zip_longest(places, befores):
        yield TimelineRow(
            place=place, before=before, differs=place is not None, changed=before is not None
        )


def _marked(row: TimelineRow, first: Row | None, first_changed: Row | None) -> TimelineRow:
    is_first = first is not None and (first.place, first.step) == (row.place, row.step)
    is_changed = first_changed is not None and (first_changed.place, first_changed.step) == (
        row.before,
        row.step,
    )
    if not (is_first or is_changed):
        return row
    return replace(row, first=is_first, first_changed=is_changed)


def _why(found: TrajectoryMatch) -> str:
    departure = found.departure
    return f"step {departure.step}: {departure.why}" if departure else ""
