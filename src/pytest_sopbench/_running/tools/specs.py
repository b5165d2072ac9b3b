"""Tool specs in the shapes that model providers take; every call makes copies."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.plain import to_json_value


def plain_specs(specs: Iterable[ToolSpec]) -> list[dict[str, JsonValue]]:
    return [
        {
            "name": spec.name,
            "description": spec.description,
            "parameters": to_json_value(spec.parameters),
        }
        for spec in specs
    ]


def openai_specs(specs: Iterable[ToolSpec]) -> list[dict[str, JsonValue]]:
    return [{"type": "function", "function": one} for one in plain_specs(specs)]


def bedrock_specs(specs: Iterable[ToolSpec]) -> list[dict[str, JsonValue]]:
    return [
        {
            "toolSpec": {
                "name": spec.name,
                "description": spec.description,
                "inputSchema": {"json": to_json_value(spec.parameters)},
            }
        }
        for spec in specs
    ]
