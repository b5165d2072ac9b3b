"""Hashes of content, which survive a reformatting of the file that holds it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from pytest_sopbench._core.values.json import JsonValue

LENGTH = 16
"""Hexadecimal digits that are kept: two different contents in 2**64 meet."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: JsonValue) -> str:
    """One spelling of a JSON value: keys sorted, no white space, ASCII."""
    return _ENCODER.encode(value)


def digest(value: JsonValue) -> str:
    """The hash of a JSON value."""
    return sha256(canonical(value).encode("ascii")).hexdigest()[:LENGTH]


def text_digest(text: str) -> str:
    """The hash of a text, in which white space at the end of lines does not count."""
    return digest("\n".join(line.rstrip() for line in text.strip().splitlines()))


def unordered_digest(values: Iterable[JsonValue]) -> str:
    """The hash of many values in any order."""
    every = sorted(sha256(canonical(value).encode("ascii")).digest() for value in values)
    return sha256(b"".join(every)).hexdigest()[:LENGTH]
