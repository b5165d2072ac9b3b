"""Name the labels that answers are counted under, so that two spellings count as one.

The judge alone decides whether an answer is right; labels only say what was expected, and what
was given instead, in tables that people read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b

from pytest_sopbench._core.fields.values import read_items, readings, written
from pytest_sopbench._core.model.keys import MASK
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._core.values.quantities import as_words, read_as_json_writes

LABEL_LIMIT = 40
"""Characters up to which a value is a label; a longer one is a text, and only its field counts."""

ANSWER_LIMIT = 80
"""Characters of a whole expected answer that are kept; a longer one ends in its hash."""

NO_VALUE = "(empty)"
"""The label of an explicit empty."""

SEPARATOR = " / "
"""What stands between the fields of one answer."""

KNOWN_LIMIT = 1_000
"""Texts of one field whose labels are remembered."""

LABELLED = frozenset({FieldType.ENUM, FieldType.BOOLEAN})
"""The types whose values are few enough for a confusion table."""


class FieldLabels:
    """The labels of one output field: values that the judge holds equal have the same one.

    Args:
        field: the field; `None` where the domain is not at hand, so that each spelling is a
            label of its own and short values are taken for labels.
    """

    __slots__ = ("_field", "_known", "_spelled", "counted")

    def __init__(self, field: OutputField | None = None) -> None:
        self._field = field
        self.counted = field is None or field.type in LABELLED
        self._spelled: dict[str, str] = {}
        # Of texts that came before: most runs have one of a few.
        self._known: dict[str, str] = {}
        if field is not None:
            for value in (*field.values, *field.aliases.values()):
                self._spelled.setdefault(fold(value), value)

    def of(self, value: JsonValue) -> str:
        """Return the label that a value is counted under."""
        if type(value) is not str:
            return self._label(value)
        label = self._known.get(value)
        if label is None:
            label = self._label(value)
            if len(self._known) < KNOWN_LIMIT:
                self._known[value] = label
        return label

    def written(self, value: JsonValue) -> str:
        """Return the label of a value for readers: a text that is no known label is as given."""
        label = self.of(value)
        given = " ".join(written(value).split())
        return given if label == fold(given) and label not in self._spelled.values() else label

    def _label(self, value: JsonValue) -> str:
        if self._field is None:
            return NO_VALUE if is_empty(value) else " ".join(written(value).split())
        keys = readings(self._field, value)
        kind, key = keys[-1]
        if kind == "text" and isinstance(key, str):
            texts = [one for _, one in keys if isinstance(one, str)]
            return next((self._spelled[one] for one in texts if one in self._spelled), key)
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, Decimal):
            return as_words(key)
        if isinstance(key, float):
            return _moment(key)
        return NO_VALUE if key is None else self._of_list(value)

    def _of_list(self, value: JsonValue) -> str:
        parts = [_item(item) for item in read_items(value) or ()]
        ordered = self._field is not None and self._field.ordered
        return f"[{', '.join(parts if ordered else sorted(parts))}]"


def field_labels(fields: Sequence[OutputField]) -> dict[str, FieldLabels]:
    """Return the labels of each field that asks for a certain value; the others decide nothing."""
    return {field.name: FieldLabels(field) for field in fields if field.compare is Compare.EXACT}


def answer_label(
    expected: Mapping[str, JsonValue], fields: Mapping[str, FieldLabels]
) -> str | None:
    """Return one label for all fields jointly; `None` where a value is missing or masked."""
    parts: list[str] = []
    for name, labels in fields.items():
        if name not in expected or expected[name] == MASK:
            return None
        part = labels.of(expected[name])
        # Quoted, so that two answers never share a label because of where the separator stands.
        parts.append(json.dumps(part) if SEPARATOR in part else part)
    label = SEPARATOR.join(parts)
    if not parts:
        return None
    if len(label) <= ANSWER_LIMIT:
        return label
    # A saved session may hold half of a character, which JSON escapes.
    digest = blake2b(label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{label[:ANSWER_LIMIT]}... #{digest}"


def is_joint(label: str) -> bool:
    """Whether a label of whole answers is that of several fields; a cut one may seem to be."""
    if SEPARATOR not in label:
        return False
    try:
        return not isinstance(json.loads(label), str)
    except ValueError:
        return True


def _item(item: JsonValue) -> str:
    text = written(item).strip()
    number = read_as_json_writes(text)
    return fold(text) if number is None else as_words(number)


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return moment.isoformat().removesuffix("T00:00:00")
