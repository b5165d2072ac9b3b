"""What the columns hold: types, examples, and the values of each output with their counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_sopbench._core.fields.types import infer_field
from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench._loading.files.cells import infer_type
from pytest_sopbench._reports.text.numbers import counted

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T[0-9:]+)?")
_LABELS: Final = 20
_OF_EACH: Final = 2
_SHOWN: Final = 3
_SHORT: Final = 3
_CLOSE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValues:
    """The type of an output field, and each value with how often it is expected."""

    type: FieldType
    counts: Counter[str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of an enum, the most frequent first; of spellings that count as one, one."""
        if self.type is not FieldType.ENUM:
            return ()
        by_key: dict[str, str] = {}
        for label, _ in self.counts.most_common():
            by_key.setdefault(fold(label), label)
        return tuple(by_key.values())

    def written(self, text: str) -> str:
        """Return a value as the data file has it: labels that count as one in one spelling."""
        if self.type is not FieldType.ENUM:
            return text
        return next(label for label in self.labels if fold(label) == fold(text))

    def declared(self, *, private: bool) -> dict[str, Any]:
        """Return the entry of `outputs` in metadata.json."""
        entry: dict[str, Any] = {"type": self.type.value}
        if self.labels and not private:
            entry["values"] = list(self.labels)
        return entry


def output_values(texts: Sequence[str], *, as_text: bool = False) -> OutputValues:
    """Return what an output column holds; few labels that come again are an enum.

    `as_text` is for texts that look like numbers, and nobody knows which.
    """
    counts = Counter(texts)
    kind = FieldType.TEXT if as_text else infer_field("", texts).type
    labels = len({fold(text) for text in counts})
    few = labels <= _LABELS and labels * _OF_EACH <= len(texts)
    if kind is FieldType.TEXT and few:
        kind = FieldType.ENUM
    return OutputValues(type=kind, counts=counts)


def output_notes(name: str, values: OutputValues) -> Iterator[str]:
    """Yield what is odd about expected values."""
    counts = values.counts
    if len(counts) == 1:
        yield f"{name}: one value in every row, so that any agent is right"
    elif values.type is FieldType.TEXT and len(counts) > max(_LABELS, _CLOSE * counts.total()):
        yield (
            f"{name}: free text, {len(counts)} values; few answers will equal it"
            ' ("compare": "present" asks only that there is one)'
        )
    for label, count in counts.items() if values.type is FieldType.ENUM else ():
        if values.written(label) != label:
            cells = counted(count, "cell")
            yield f"{name}: {label!r} is written as {values.written(label)!r} in {cells}"


def type_of(texts: Sequence[str], declared: str = "") -> str:
    """Return the type of a column in a word."""
    full = [text for text in texts if text]
    if declared:
        return declared
    if full and all(_DATE.fullmatch(text) for text in full):
        return "date"
    return infer_type(texts).value


def examples(texts: Sequence[str], secrets: Sequence[str]) -> tuple[str, ...]:
    """Return three values, the first ones that are different and have no secret in them."""
    found = list[str]()
    for text in texts:
        if text and text not in found and not any(one in text for one in secrets):
            found.append(text)
        if len(found) == _SHOWN:
            break
    return tuple(found)


def secrets_of(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the values that no example may hold; very short ones stand in any text."""
    return tuple({text for texts in columns.values() for text in texts if len(text) >= _SHORT})
