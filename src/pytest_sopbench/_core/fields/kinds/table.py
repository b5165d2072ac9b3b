"""The comparisons that are declared without code, by their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.values.json import JsonValue

from .document import json_document
from .pattern import matches, one_of
from .phrases import contains_all

Kind = Callable[[OutputField, JsonValue, JsonValue], str]
"""Says why an actual value is not the expected one, and nothing where it is."""

KINDS: Final[Mapping[Compare, Kind]] = {
    Compare.MATCHES: matches,
    Compare.ONE_OF: one_of,
    Compare.CONTAINS_ALL: contains_all,
    Compare.JSON: json_document,
}
