"""The doors of the rooms that find and judge an answer, with the words that they take and give."""

from __future__ import annotations

from pytest_sopbench._core.answers.after import RETRACTIONS
from pytest_sopbench._core.answers.find import find_answer, read_returned
from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.contract import Contract, satisfied
from pytest_sopbench._core.documents.schema import Role
from pytest_sopbench._core.domain import JudgingRules, rules_fingerprint
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.fields.values import infer_field
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import AnswerForm, Ending, Returned, ReturnedKind, Usage
from pytest_sopbench._core.steps import Moment
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import is_empty

__all__ = [
    "RETRACTIONS",
    "AnswerForm",
    "Compare",
    "Contract",
    "Ending",
    "FieldType",
    "JsonValue",
    "JudgingRules",
    "Moment",
    "Returned",
    "ReturnedKind",
    "Role",
    "Usage",
    "compare",
    "find_answer",
    "infer_field",
    "is_empty",
    "is_unavailable",
    "judge",
    "read_returned",
    "rules_fingerprint",
    "satisfied",
    "typed_value",
]
