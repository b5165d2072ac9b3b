"""Compare what stands at one path of a document, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_sopbench._core.documents.paths import path_of, value_at
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.documents.wording.symptoms import MISSING
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.values.json import JsonValue

from .comparing import compare_values


def difference_at(
    rules: DocumentRules, document: Mapping[str, JsonValue], path: str, expected: JsonValue
) -> Mismatch | None:
    """Return the first mismatch at a path or inside of it, or `None` where there is none.

    Raises:
        ValueError: it is no path.
    """
    keys = path_of(path)
    if not keys:
        msg = "a path names at least one key, such as step or guests[0].name"
        raise ValueError(msg)
    try:
        actual = value_at(document, path)
    except KeyError:
        if expected is None:
            return None
        return Mismatch(field=path, expected=expected, actual=None, why=MISSING)
    found = compare_values(rules, expected, actual, keys).mismatches
    return found[0] if found else None
