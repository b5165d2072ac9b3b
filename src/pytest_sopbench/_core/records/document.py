"""What a record keeps of an answer that is a JSON document, so that sessions can count paths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from pytest_sopbench._core.documents.comparing.canonical import canonical
from pytest_sopbench._core.documents.leaves import compared_paths, labelled_paths
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.values.json import JsonValue

DOCUMENT_LIMIT: Final = 16_000
"""Characters of a document, and of the text it stood in, up to which a record keeps it whole."""

_encode: Final = json.JSONEncoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """What is counted of a task whose answer is a document.

    Attributes:
        paths: those of the expected document that are compared, in its order.
        labelled: those of them whose values are few, such as a step.
        label: the same for two tasks exactly where they expect the same document.
        domain_class: the class of the domain; empty where it has none.
    """

    paths: tuple[str, ...]
    label: str
    labelled: tuple[str, ...] = ()
    domain_class: str = ""


def document_record(rules: DocumentRules, expected: Mapping[str, JsonValue]) -> DocumentRecord:
    """Say what is counted of a task."""
    spelled = canonical(rules, expected)
    paths = compared_paths(rules, expected)
    return DocumentRecord(
        paths=paths,
        labelled=labelled_paths(rules, paths),
        label=f"document {blake2b(spelled.encode(), digest_size=6).hexdigest()}",
        domain_class=rules.domain_class,
    )


def document_from_json(data: Mapping[str, Any]) -> DocumentRecord:
    """Read what stands in a run's line.

    Raises:
        KeyError: a key is missing.
        TypeError: one is unknown.
    """
    texts = {name: tuple(data[name]) for name in ("paths", "labelled")}
    read: dict[str, Any] = {**data, **texts}
    return DocumentRecord(**read)


def is_short(document: Mapping[str, JsonValue]) -> bool:
    """Whether a record keeps a document whole."""
    return len(_encode(document)) <= DOCUMENT_LIMIT
