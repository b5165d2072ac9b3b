"""Tool specs that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from builders.lab import lab_metadata

from campaign.folders.breakage import Breakage, keys, replaced, sound, write

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"sample_id": {"type": "string"}}}
SPEC: dict[str, Any] = {"name": "measure", "description": "Measure.", "parameters": SCHEMA}


def _property(schema: Any) -> dict[str, Any]:
    return SPEC | {"parameters": {"type": "object", "properties": {"sample_id": schema}}}


def _deep(times: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(times):
        inner = {"type": "array", "items": inner}
    return inner


SPECS: dict[str, Any] = {
    "are an object": {"measure": SPEC},
    "hold a text": ["measure"],
    "hold a number": [7],
    "hold null": [None],
    "hold a list": [[SPEC]],
    "have no name": [{"description": "x", "parameters": SCHEMA}],
    "have an empty name": [SPEC | {"name": ""}],
    "have a blank name": [SPEC | {"name": "  "}],
    "have a number for a name": [SPEC | {"name": 5}],
    "have a name twice": [SPEC, SPEC],
    "have a list for a description": [SPEC | {"description": ["x"]}],
    "have an object for a description": [SPEC | {"description": {"en": "x"}}],
    "have a text for a schema": [SPEC | {"parameters": "sample_id"}],
    "have a list for a schema": [SPEC | {"parameters": ["sample_id"]}],
    "have true for a schema": [SPEC | {"parameters": True}],
    "have a schema of a text": [SPEC | {"parameters": {"type": "string"}}],
    "have a schema of two types": [SPEC | {"parameters": {"type": ["object", "null"]}}],
    "have an unknown type": [_property({"type": "str"})],
    "have a number for a type": [_property({"type": 5})],
    "have a text for properties": [SPEC | {"parameters": {"properties": "sample_id"}}],
    "have a text for what is required": [SPEC | {"parameters": SCHEMA | {"required": "sample_id"}}],
    "have true for what is required": [SPEC | {"parameters": SCHEMA | {"required": True}}],
    "have an enum that is a text": [_property({"enum": "red"})],
    "have a bound that is a text": [_property({"minLength": "5"})],
    "have a bound below zero": [_property({"minLength": -1})],
    "have a pattern that is none": [_property({"type": "string", "pattern": "("})],
    "have a pattern that repeats too often": [_property({"pattern": "a{99999999999}"})],
    "have a pattern of 2,000 brackets": [_property({"pattern": "(" * 2_000 + ")" * 2_000})],
    "refer to the net": [_property({"$ref": "https://example.invalid/schema.json"})],
    "refer to a file": [_property({"$ref": "file:///etc/passwd"})],
    "refer to a neighbour": [_property({"$ref": "other.json#/a"})],
    "refer to nothing": [_property({"$ref": "#/$defs/none"})],
    "refer to the net dynamically": [_property({"$dynamicRef": "https://example.invalid/s"})],
    "have an unknown dialect": [
        SPEC | {"parameters": SCHEMA | {"$schema": "https://example.invalid/draft"}}
    ],
    "are nested 2,000 times": [_property(_deep(400))],
    "wrap a text": [{"toolSpec": "measure"}],
    "wrap a list": [{"type": "function", "function": []}],
    "wrap nothing": [{"toolSpec": {}}],
    "have another name than the tools": [SPEC | {"name": "measures"}],
    "lack the parameter of a key": [SPEC | {"parameters": {"type": "object", "properties": {}}}],
    "are an empty list and a tool": [],
    "hold 10,000 tools, none of them ours": [{"name": f"tool_{n}"} for n in range(10_000)],
    "have a name with a newline only": [SPEC | {"name": "\n"}],
}
"""What is in `toolspecs.json`."""

REPORTED_ELSEWHERE = (
    "have another name than the tools",
    "lack the parameter of a key",
    "are an empty list and a tool",
    "hold 10,000 tools, none of them ours",
)
"""Here the metadata name what the specs lack."""


def _broken(name: str, content: Any) -> Breakage:
    file = "metadata.json" if name in REPORTED_ELSEWHERE else "toolspecs.json"
    return Breakage(
        name=f"specs {name}",
        apply=write("toolspecs.json", json.dumps(content)),
        says=(
            file,
            *(() if name in REPORTED_ELSEWHERE or not isinstance(content, list) else ("tool",)),
        ),
    )


NAMES = ("a b", "\x1b[31m", "x" * 5_000, "class", "__init__", "\u00e9mile", "::error::")

HOSTILE = [
    SPEC | {"description": "\x1b[2J\x1b]0;title\x07 ::error::x\n::add-mask::e"},
    *({"name": name} for name in NAMES),
]


def _served(specs: list[Any]) -> Callable[[Path, Random], None]:
    """Specs of which each has something that serves it."""

    def apply(folder: Path, random: Random) -> None:
        others = {spec["name"]: {"result": "done"} for spec in specs if spec is not specs[0]}
        keys(tools=lab_metadata()["tools"] | others)(folder, random)
        (folder / "toolspecs.json").write_text(json.dumps(specs), encoding="utf-8")

    return apply


def _unserved(name: str, specs: list[Any]) -> Breakage:
    return Breakage(
        name=f"specs {name}",
        apply=write("toolspecs.json", json.dumps([SPEC, *specs])),
        says=("nothing serves",),
        listed="usable",
    )


MANY = [{"name": f"tool_{number}"} for number in range(10_000)]

BREAKAGES: list[Breakage] = [
    *(_broken(name, content) for name, content in SPECS.items()),
    sound("specs with hostile names", _served(HOSTILE)),
    sound("specs of 10,000 tools", _served([SPEC, *MANY])),
    _unserved("of 10,000 tools that nothing serves", MANY),
    _unserved("of a tool with a long name that nothing serves", [{"name": "x" * 50_000}]),
    _unserved("of a tool with a hostile name", [{"name": "\x1b[2J\n::error::x"}]),
    replaced("specs of JSON lines", "toolspecs.json", f"{json.dumps(SPEC)}\n{json.dumps(SPEC)}\n"),
]
