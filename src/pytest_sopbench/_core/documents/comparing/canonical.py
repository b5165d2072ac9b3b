"""One spelling for all documents that a comparison holds equal, undeclared extras aside.

With what a schema declares, keys that it does not declare are left out as well. Documents that
differ then are not equal, and of others it takes a comparison to tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.documents.declared import Declared
from pytest_sopbench._core.documents.paths import Path
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.documents.text_key import text_key
from pytest_sopbench._core.values.json import JsonValue

_quoted: Final = json.JSONEncoder().encode


def canonical(
    rules: DocumentRules, value: JsonValue, path: Path = (), schema: Declared | None = None
) -> str:
    """Write a value without what is not compared: ignored paths, nulls, order, spelling."""
    if isinstance(value, str):
        return _quoted(text_key(value))
    if isinstance(value, bool) or value is None:
        return _quoted(value)
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        ignored = rules.ignored_patterns
        parts = [
            f"{_quoted(key)}:{canonical(rules, inner, (*path, key), schema and schema.inside(key))}"
            for key, inner in value.items()
            # A null says as much as an absent key.
            if inner is not None
            and (schema is None or schema.declares(key))
            and not ignored.match((*path, key))
        ]
        return f"{{{','.join(sorted(parts))}}}"
    items = [canonical(rules, inner, path, schema and schema.items) for inner in value]
    ordered = rules.ordered_patterns.match(path)
    return f"[{','.join(items if ordered else sorted(items))}]"
