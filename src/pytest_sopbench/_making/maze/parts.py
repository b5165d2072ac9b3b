"""The four headed parts of a published prompt, taken apart so that they can be put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

HEADERS: Final = ("【Background】", "【Requirements】", "【Input】", "【Output Requirement】")
"""What the parts begin with, in this order, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A prompt: `sop` with both of its headers, `case`, and what is said of the output.

    `requirement` is what stands before the schema; the schema follows as Python prints it where
    `has_schema`, and else nothing.
    """

    sop: str
    case: str
    requirement: str
    has_schema: bool


def split_prompt(text: str, schema: Mapping[str, JsonValue]) -> Parts:
    """Take a prompt apart.

    Raises:
        ValueError: a header is missing, stands twice, or in another order.
    """
    places = [text.find(header) for header in HEADERS]
    for header, place in zip(HEADERS, places, strict=True):
        if text.count(header) != 1:
            msg = f"the header {header} stands {text.count(header)} times in its input"
            raise ValueError(msg)
        if place != max(places[: places.index(place) + 1]):
            msg = f"the header {header} stands in another order"
            raise ValueError(msg)
    if text[: places[0]].strip():
        msg = f"something stands before {HEADERS[0]}"
        raise ValueError(msg)
    rest = text[places[3] + len(HEADERS[3]) :]
    spelled = repr(schema)
    has_schema = rest.endswith(spelled)
    return Parts(
        sop=text[: places[2]],
        case=text[places[2] + len(HEADERS[2]) : places[3]],
        requirement=rest.removesuffix(spelled) if has_schema else rest,
        has_schema=has_schema,
    )


def joined_prompt(parts: Parts, schema: Mapping[str, JsonValue]) -> str:
    """Put a prompt together again."""
    spelled = repr(schema) if parts.has_schema else ""
    return f"{parts.sop}{HEADERS[2]}{parts.case}{HEADERS[3]}{parts.requirement}{spelled}"
