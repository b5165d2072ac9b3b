"""What was expected of a run, as labels: field by field, or path by path of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_sopbench._core.documents.paths import value_at
from pytest_sopbench._core.metrics.counts.document_counts import wrong_of
from pytest_sopbench._core.model.keys import MASK
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue

from .labels import FieldLabels, answer_label

_UNKNOWN: Final = FieldLabels()


def expected_label(record: RunRecord, labels: Mapping[str, FieldLabels]) -> str | None:
    """Return one label for all that is expected; `None` where a value is missing or masked."""
    if record.document is not None:
        return record.document.label
    return answer_label(record.expected, labels)


def class_label(record: RunRecord, classes: Mapping[str, FieldLabels]) -> str | None:
    """Return one label for the fields, or paths, of few values; `None` where there is none."""
    if record.document is None:
        return answer_label(record.expected, classes)
    values = {path: value_at(record.expected, path) for path in record.document.labelled}
    return answer_label(values, dict.fromkeys(values, _UNKNOWN))


def right_values(
    record: RunRecord, fields: Mapping[str, FieldLabels]
) -> Iterator[tuple[str, JsonValue, FieldLabels]]:
    """Yield the name, the expected value and the labels of what a completed run has right."""
    if record.document is None:
        wrong = {mismatch.field for mismatch in record.mismatches}
        for name, labels in fields.items():
            if name not in wrong:
                yield name, record.expected.get(name, MASK), labels
        return
    wrong_here = wrong_of(record.document, record)
    for path in record.document.labelled:
        if path not in wrong_here:
            value = value_at(record.expected, path)
            # A container is no label.
            if value is None or isinstance(value, str | int | float):
                yield path, value, _UNKNOWN


def is_labelled(record: RunRecord, name: str) -> bool:
    """Whether the values of a field or path are few enough for a table of labels."""
    return record.document is None or name in record.document.labelled
