"""The data of a page: what happened in a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.gates.decide import TaskFacts
from pytest_sopbench._core.records.record import RunRecord, is_cut
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.trajectory.match import TrajectoryMatch
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure import must_first, rule_name
from pytest_sopbench._reports.text import ShownCall, call_of
from pytest_sopbench._reports.trajectory import (
    Row,
    SeenCall,
    aligned_rows,
    departure_row,
    matched,
)

# Lay a run beside the expected calls and beside the run of the baseline, step by step.


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


def beside(made: Sequence[SeenCall], others: Sequence[ExpectedCall]) -> Aligned:
    """Lay a run beside calls that were expected, or that were made before."""
    if _are_equal(made, others):
        rows = [Row(place=step, step=step) for step in range(1, len(made) + 1)]
        return Aligned(rows=rows, same=frozenset(range(1, len(made) + 1)))
    found = matched(made, others)
    rows = aligned_rows(found)
    same = frozenset(pair.step for pair in found.pairs)
    if found.departure is None:
        return Aligned(rows=rows, same=same)
    at = departure_row(rows, found.departure)
    return Aligned(rows=rows, same=same, at=at, why=_why(found))


def alone(made: Sequence[SeenCall]) -> Aligned:
    """Lay a run beside nothing."""
    rows = [Row(place=None, step=step) for step in range(1, len(made) + 1)]
    return Aligned(rows=rows, same=frozenset(range(1, len(made) + 1)))


def as_expected(made: Sequence[SeenCall], *, named: bool) -> Sequence[ExpectedCall]:
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


def retried_steps(made: Sequence[SeenCall]) -> frozenset[int]:
    """Return the steps that call a tool again whose last call failed."""
    failed: dict[str, bool] = {}
    found: set[int] = set()
    for step, one in enumerate(made, start=1):
        if failed.get(one.name):
            found.add(step)
        failed[one.name] = one.error is not None
    return frozenset(found)


def _are_equal(made: Sequence[SeenCall], others: Sequence[ExpectedCall]) -> bool:
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


# Values that are short enough for a page; what was cut says so, and how much is missing.

VALUE_LIMIT: Final = 4_000
"""Characters of one value that a page shows."""

TALK_LIMIT: Final = 24_000
"""Characters of all messages of a run that a page shows."""


def shortened(value: JsonValue, limit: int = VALUE_LIMIT) -> JsonValue:
    """Return a value as it is, or the start of its text if it is long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= limit:
        return value
    return f"{text[:limit]} [... {len(text) - limit} more characters]"


def shortened_mapping(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: shortened(one) for name, one in values.items()}


def shortened_talk(messages: Sequence[JsonValue]) -> list[JsonValue]:
    """Return messages, first ones first, as far as there is room for them."""
    kept: list[JsonValue] = []
    room = TALK_LIMIT
    for at, one in enumerate(messages):
        short = _message(one)
        room -= len(short if isinstance(short, str) else json.dumps(short, ensure_ascii=False))
        if room < 0:
            kept.append(f"[... {len(messages) - at} more messages]")
            break
        kept.append(short)
    return kept


def _message(value: JsonValue) -> JsonValue:
    if not isinstance(value, Mapping):
        return shortened(value)
    # Its role is what tells a message from the next one, so that each part is cut by itself.
    return shortened_mapping(value)


# The calls of a run as data: what was made, what was expected, what the baseline did.

_STEP: Final = re.compile(r"step ([0-9]{1,9})\b")

_DEPARTS: Final = 1 + 4
"""What marks a row whose step differs, and is the first that does."""

_LAST: Final = 10**9
"""Behind any step."""


def trajectory_data(
    made: Sequence[ShownCall],
    record: RunRecord,
    facts: TaskFacts,
    before: RunRecord | None,
) -> dict[str, object]:
    """Return the timeline of a run: its calls, and rows that name them by their places.

    An expected call, or one of the baseline, that equals the step beside it is left out of its
    list: the row says so.
    """
    if record.duration_s is None and not made:
        # What a process did that died is not known, and is no departure.
        return {"unknown": 1}
    expected = _comparable(made, facts.expected_calls)
    wanted = beside(made, expected) if facts.expected_calls else alone(made)
    told = record.trajectory
    departs = "" if told is None or told.held else told.departure
    if not departs:
        departs = _departure_by_rule(record.rules)
    was = _before(made, before)
    rows = timeline(wanted, was)
    written = [_row(one) for one in rows]
    return {
        "calls": _calls(made),
        "rows": written if facts.expected_calls else [*_with_departure(written, departs)],
        "want": _wanted(facts.expected_calls, rows),
        "base": _based(before, rows) if before else None,
        "departs": departs,
        "held": told.held if told else None,
        "changed": bool(facts.expected_calls) and (told.departure if told else "") != wanted.why,
    }


def _departure_by_rule(rules: Sequence[RuleResult]) -> str:
    """Say at which step the first rule was broken, or what the run never did."""
    broken = must_first([one for one in rules if one.broken])
    # Of what no step did the reason names none.
    first = min(broken, key=lambda one: _step_of(one.why) or _LAST, default=None)
    return f"{first.why} (rule {rule_name(first)})" if first else ""


def _with_departure(rows: Sequence[list[int]], departs: str) -> Iterator[list[int]]:
    """Mark the step at which a run leaves its procedure; what it never did stands at its end."""
    step = _step_of(departs)
    for row in rows:
        if step and row[1] == step:
            row[3] |= _DEPARTS
            departs = ""
        yield row
    if departs:
        yield [0, 0, 0, _DEPARTS]


def _step_of(why: str) -> int | None:
    """Return the step that a reason begins with: a record has no other sign of it."""
    found = _STEP.match(why)
    return int(found[1]) if found else None


def _before(made: Sequence[ShownCall], before: RunRecord | None) -> Aligned | None:
    if before is None:
        return None
    # A slim baseline knows names alone, and a value that was cut equals no other.
    named = any(call.arguments is None for call in before.calls) or _has_cut(made)
    return beside(made, as_expected(before.calls, named=named))


def _comparable(
    made: Sequence[ShownCall], expected: Sequence[ExpectedCall]
) -> Sequence[ExpectedCall]:
    if not _has_cut(made):
        return expected
    return [ExpectedCall(name=one.name, overlaps=one.overlaps) for one in expected]


def _has_cut(made: Sequence[ShownCall]) -> bool:
    return any(is_cut(one.arguments) for one in made)


def _calls(made: Sequence[ShownCall]) -> list[dict[str, object]]:
    retried = retried_steps(made)
    return [_call(one, is_retry=step in retried) for step, one in enumerate(made, start=1)]


def _call(call: ShownCall, *, is_retry: bool) -> dict[str, object]:
    data: dict[str, object] = {"n": call.name, "a": _arguments(call.arguments)}
    if call.error is None:
        data["r"] = shortened(call.result)
    else:
        data["e"] = shortened(call.error)
    if call.findings:
        data["f"] = [*call.findings]
    if call.changed:
        data["s"] = [shortened(one) for one in call.changed]
    if is_retry:
        data["again"] = 1
    if call.began is not None and call.took is not None:
        data["t"] = [round(call.began, 3), round(call.took, 3)]
    return data


def _arguments(arguments: JsonValue) -> JsonValue:
    if isinstance(arguments, Mapping):
        return shortened_mapping(arguments)
    return shortened(arguments)


def _wanted(expected: Sequence[ExpectedCall], rows: Sequence[TimelineRow]) -> list[object]:
    same = {row.place for row in rows if row.place and row.step and not row.differs}
    return [
        0
        if place in same and one.arguments is not None
        else {"n": one.name, "a": None if one.arguments is None else _arguments(one.arguments)}
        for place, one in enumerate(expected, start=1)
    ]


def _based(before: RunRecord, rows: Sequence[TimelineRow]) -> list[object]:
    same = {row.before for row in rows if row.before and row.step and not row.changed}
    return [
        0 if place in same else _call(call_of(one), is_retry=False)
        for place, one in enumerate(before.calls, start=1)
    ]


def _row(row: TimelineRow) -> list[int]:
    marks = row.differs + 2 * row.changed + 4 * row.first + 8 * row.first_changed
    return [row.place or 0, row.step or 0, row.before or 0, marks]
