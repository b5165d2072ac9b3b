"""A small schema with nested objects and lists, and how answers to it are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_sopbench import Task, Trace, Verdict
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.documents.schema import DocumentRules, Role
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.trace import Ending

GUEST = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "reason": {"type": "string", "maxLength": 12},
    },
    "required": ["name"],
}
SCHEMA: Mapping[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "step": {"type": "string", "enum": ["4.1", "4.10", "R1"]},
        "nights": {"type": "integer"},
        "charge": {"type": "number"},
        "reply": {"type": ["string", "null"]},
        "note": {"type": "string"},
        "reason": {"type": "string", "maxLength": 12},
        "tags": {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
        "guests": {"type": "array", "items": GUEST},
        "route": {"type": "array", "items": {"type": "string"}},
        "stay": {
            "type": "object",
            "properties": {"room": {"type": "string"}, "reason": {"type": "string"}},
        },
    },
    "required": ["step"],
}
RULES = DocumentRules(
    schema=SCHEMA,
    ignored=("reason",),
    ordered=("route",),
    roles={"step": Role.ROUTE, "charge": Role.NUMBER},
)


@pytest.fixture
def judged() -> Callable[..., Verdict]:
    """Judge what an agent returned against an expected document."""

    def judge_it(
        returned: object, expected: Mapping[str, Any], rules: DocumentRules = RULES
    ) -> Verdict:
        task = Task(
            domain="desk", id="T", line=1, inputs={}, expected=expected, results={}, hash="h"
        )
        trace = Trace(ending=Ending.RETURNED, returned=read_returned(returned))
        return judge(JudgingRules(fields=(), document=rules), task, trace)

    return judge_it
