"""What a test may demand of a document: the value at one path."""

from __future__ import annotations

from pytest_sopbench._core.documents.comparing.at_path import difference_at
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._reports.text.layout import shown

NO_DOCUMENTS = (
    "the test is wrong, whatever the agent did: the answers of this domain are no JSON documents;"
    " sop_run.answer[NAME] is the value of an output field"
)


def wrong_at(rules: DocumentRules | None, verdict: Verdict, path: str, expected: JsonValue) -> str:
    """Return why the value at a path is not the expected one, or nothing.

    Raises:
        ValueError: there are no documents, or it is no path.
    """
    __tracebackhide__ = True
    if rules is None:
        raise ValueError(NO_DOCUMENTS)
    if verdict.answer is None or not verdict.answer.complete:
        return f"{path}: there is no document: {verdict.outcome.value}: {verdict.reason}"
    found = difference_at(rules, verdict.answer.values, path, expected)
    if found is None:
        return ""
    there = shown(found.actual)
    return f"{found.field}: expected {shown(found.expected)}, actual {there}: {found.why}"
