"""The calls of a run as data: what was made, what was expected, what the baseline did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.gates.page_sources import TaskFacts
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure.broken_rules import must_first, rule_name
from pytest_sopbench._reports.text.shown_calls import ShownCall, call_of

from .timeline import Aligned, TimelineRow, alone, as_expected, beside, retried_steps, timeline
from .values import shortened, shortened_mapping

_STEP: Final = re.compile(r"step ([0-9]{1,9})\b")

_DEPARTS: Final = 1 + 4
"""What marks a row whose step differs, and is the first that does."""

_LAST: Final = 10**9
"""Behind any step."""

_CUT = {"sha256", "characters"}
"""The keys of what a record keeps of a value that was too long for it."""


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
        "changed": bool(facts.expected_calls) and _departure(record) != wanted.why,
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


def _departure(record: RunRecord) -> str:
    return record.trajectory.departure if record.trajectory else ""


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
    return any(isinstance(one.arguments, Mapping) and {*one.arguments} == _CUT for one in made)


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
