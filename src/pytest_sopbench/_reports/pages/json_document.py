"""A session as one JSON document, for programs: what came of it, and what changed.

Its shape is promised by `docs/files/session-report.schema.json`. A key that is added keeps
`SCHEMA`; one that goes, or means something else, raises it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pytest_sopbench._core.comparison import comparison_to_json
from pytest_sopbench._core.gates.calibration import judge_report_to_json
from pytest_sopbench._core.gates.conditions import GateState, verdict_to_json
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.hiding import Mask, current_mask
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.total import summary_to_json, totals_to_json
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.text import json_text

SCHEMA: Final = 1


def json_document(page: SessionPage) -> str:
    """Return the document, with its last line ended; what is unknown is `null`."""
    return f"{json_text(_masked(_document(page), current_mask()))}\n"


def _document(page: SessionPage) -> dict[str, Any]:
    compared = page.comparison
    return {
        "type": "session_report",
        "schema": SCHEMA,
        "agent": page.agent,
        "facts": dict(page.facts),
        "verdict": {
            "state": _state(page),
            "gates": [verdict_to_json(one) for one in page.gates],
            "not_evaluated": page.not_evaluated,
            "failures": page.failures,
            "remarks": list(page.remarks),
        },
        "domains": {name: summary_to_json(one) for name, one in page.summaries.items()},
        # One shape for one agent and for several.
        "agents": None,
        **totals_to_json(page.summaries),
        "judge": None if page.judge is None else judge_report_to_json(page.judge),
        "comparison": None if compared is None else _comparison(comparison_to_json(compared)),
        "not_correct": [*_not_correct(page)],
    }


def _state(page: SessionPage) -> str:
    states = {one.state for one in page.gates}
    if GateState.FAILS in states:
        return GateState.FAILS.value
    if page.failures:
        return "failed"
    if page.not_evaluated:
        return "not evaluated"
    if GateState.INCONCLUSIVE in states:
        return GateState.INCONCLUSIVE.value
    return GateState.HOLDS.value if states else "not checked"


def _comparison(found: dict[str, Any]) -> dict[str, Any]:
    return {"agents": None, **found}


def _not_correct(page: SessionPage) -> Iterator[Mapping[str, Any]]:
    for one in page.records:
        if one.outcome is not Outcome.CORRECT:
            yield _run(one, page.forgiven)


def _run(record: RunRecord, forgiven: Forgiven) -> Mapping[str, Any]:
    return {
        "domain": record.domain,
        "task": record.task,
        "trial": record.trial,
        "agent": record.agent,
        "outcome": record.outcome.value,
        "reason": record.reason,
        "may_fail": forgiven.leaves_out(record, About.ANSWERS),
        "mismatches": [
            {"field": one.field, "expected": one.expected, "actual": one.actual, "why": one.why}
            for one in record.mismatches
        ],
        "rules_broken": [one.id for one in record.rules if one.broken],
        "rules_forgiven": [*forgiven.broken_rules(record)],
    }


def _masked(value: object, mask: Mask) -> object:
    """Return a value with each of its texts masked: in finished JSON a mask may hit a number."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {name: _masked(one, mask) for name, one in pairs}
    if isinstance(value, Sequence):
        return [_masked(one, mask) for one in cast("Sequence[object]", value)]
    return value
