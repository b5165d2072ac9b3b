"""Compare JSON documents that stand in one field: recursively, each difference with its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.documents.paths import ROOT, path_text
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue

_SHOWN: Final = 3
_LONGEST: Final = 160

# Every key is declared at every depth, so that none may be added unasked.
_ANY_DOCUMENT: Final[Mapping[str, JsonValue]] = {
    "additionalProperties": {"$ref": "#"},
    "items": {"$ref": "#"},
}


def json_document(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say at which paths two documents differ; nothing where they do not."""
    from pytest_sopbench._core.documents.comparing.comparing import compare_values  # noqa: PLC0415 - only where an answer is a document

    wanted, no_document = read_cell(expected)
    if no_document:
        return f"the expected cell is {no_document}"
    given, no_document = read_cell(actual)
    if no_document:
        return no_document
    ordered = (*field.ordered_paths, field.name) if field.ordered else field.ordered_paths
    found = compare_values(_rules(field.ignored_paths, ordered), wanted, given, (field.name,))
    at = len(path_text((field.name,)))
    told = [
        _line(f"{one.field[at:].removeprefix('.') or ROOT}: {one.why}")
        for one in found.mismatches[:_SHOWN]
    ]
    more = len(found.mismatches) - _SHOWN
    return f"{'; '.join(told)}{f'; and {more} more' if more > 0 else ''}"


def compares_nothing(field: OutputField, expected: JsonValue) -> bool:
    """Whether a document has values, and the paths that are ignored pass over all of them."""
    document, _ = read_cell(expected)
    other = _with_other_values(document)
    return other != document and not json_document(field, document, other)


def _with_other_values(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {name: _with_other_values(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_with_other_values(one) for one in value]
    return f"other than {written(value)}"


def read_cell(value: JsonValue) -> tuple[JsonValue, str]:
    """Return the object or the list that a value is, or is the text of; else what it is instead."""
    from pytest_sopbench._core.documents.reading import EMPTY  # noqa: PLC0415 - only where an answer is a document
    from pytest_sopbench._core.documents.wording.symptoms import kind_of  # noqa: PLC0415 - only where an answer is a document

    if isinstance(value, str):
        from pytest_sopbench._core.documents.reading import Unreadable, read_document  # noqa: PLC0415 - only where an answer is a document

        read = read_document(value)
        if isinstance(read, Unreadable):
            return None, read.kind if read.kind == EMPTY else read.reason
        value = read.value
    elif value is None:
        return None, EMPTY
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return value, ""
    return None, f"{kind_of(value)}, and neither an object nor a list"


@lru_cache(maxsize=256)
def _rules(ignored: tuple[str, ...], ordered: tuple[str, ...]) -> DocumentRules:
    return DocumentRules(schema=_ANY_DOCUMENT, ignored=ignored, ordered=ordered)


def _line(words: str) -> str:
    line = ready_to_cut(words)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
