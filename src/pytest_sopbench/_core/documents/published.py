"""Read and compare as the published SOP-Maze scorer does, its mistakes included.

It repairs what it is given, compares no key that the response has and the target lacks, and takes
lists for sets. Numbers made by these rules can be laid beside the paper's, and mean nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench.errors import SopbenchError

LIBRARIES: Final = ("json_repair", "jsonschema")
"""What the published scorer reads and validates with; both are pinned by the extra."""

EXTRA: Final = "sop-maze"

_DIFFERENT: Final = "different (published)"
_SPACE: Final = re.compile(r"\s+")
_sorted: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def refuse_without_libraries(domain: str) -> None:
    """Refuse to judge as the published scorer does without what it reads with.

    Raises:
        SopbenchError: a library is missing.
    """
    name = next((name for name in LIBRARIES if find_spec(name) is None), "")
    if name:
        msg = f"sop_scoring=published: domain {domain} needs {name}, which is not installed"
        raise SopbenchError(msg, hint=f"pip install {name}; the extra {EXTRA!r} pins it")


class NoDocumentError(ValueError):
    """The published scorer finds no document that satisfies the schema."""


def published_document(text: str, schema: Mapping[str, JsonValue]) -> JsonValue:
    """Return what the published scorer takes for the document.

    Raises:
        NoDocumentError: it would give 0.
    """
    json_repair: Any = import_module("json_repair")
    jsonschema: Any = import_module("jsonschema")
    try:
        value = json_repair.loads(json_repair.repair_json(text, ensure_ascii=False))
    except Exception as fault:
        # As published: whatever goes wrong there means that there is no document.
        msg = f"not JSON, not even repaired: {type(fault).__name__}"
        raise NoDocumentError(msg) from fault
    try:
        jsonschema.validate(instance=value, schema=schema)
    except jsonschema.ValidationError as fault:
        place = ".".join(map(str, fault.absolute_path)) or "the document"
        msg = f"schema: {place} breaks {fault.validator} once repaired"
        raise NoDocumentError(msg) from fault
    except Exception as fault:
        msg = f"schema: it cannot be held against it: {type(fault).__name__}"
        raise NoDocumentError(msg) from fault
    return to_json_value(value)


def published_mismatches(
    expected: JsonValue, actual: JsonValue, ignored: Collection[str]
) -> tuple[Mismatch, ...]:
    """Compare two documents by the published rules; `ignored` are names of keys."""
    found: list[Mismatch] = []
    _compare(expected, actual, "", frozenset(ignored), found)
    return tuple(found)


def _compare(
    expected: JsonValue,
    actual: JsonValue,
    path: str,
    ignored: frozenset[str],
    found: list[Mismatch],
) -> None:
    # By the tail of a dotted path, so that the one key `x.reason` is taken for `reason`.
    if path.rsplit(".", 1)[-1] in ignored:
        return
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in (key for key in expected if key not in ignored):
            place = f"{path}.{key}" if path else key
            if key not in actual:
                found.append(_mismatch(place, expected[key], None, "missing"))
            else:
                _compare(expected[key], actual[key], place, ignored, found)
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual) or _as_set(expected, ignored) != _as_set(actual, ignored):
            found.append(_mismatch(path, expected, actual, _DIFFERENT))
    elif not _same(expected, actual):
        found.append(_mismatch(path, expected, actual, _DIFFERENT))


def _same(expected: JsonValue, actual: JsonValue) -> bool:
    if isinstance(expected, str) and isinstance(actual, str):
        return _spelled(expected) == _spelled(actual)
    # As Python has it: true is 1 if the schema allows both.
    return expected == actual


def _spelled(text: str) -> str:
    return _SPACE.sub(" ", text.lower().strip())


def _as_set(items: Sequence[JsonValue], ignored: frozenset[str]) -> set[str]:
    return {_sorted(_item(_without(item, ignored))) for item in items}


def _without(item: JsonValue, ignored: frozenset[str]) -> JsonValue:
    if not isinstance(item, Mapping):
        return item
    return {key: value for key, value in item.items() if key not in ignored}


def _item(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _item(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted(map(_item, value), key=_sorted)
    return value


def _mismatch(path: str, expected: JsonValue, actual: JsonValue, why: str) -> Mismatch:
    return Mismatch(field=path, expected=expected, actual=actual, why=why)
