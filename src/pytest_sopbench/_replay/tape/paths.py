"""Paths into a body: `messages[0].content`, `messages[*].name`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from pytest_sopbench._core.values.json import JsonValue

Step: TypeAlias = "str | int | None"
"""The name of a key, a place in a list, or `None` for every one of them."""

JsonPath: TypeAlias = "tuple[Step, ...]"

_STEP: Final = re.compile(r"\.?([^.\[\]*\s]+)|\[(\d+)\]|\.?\*|\[\*\]")


def read_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        ValueError: the text is none; its message begins with it.
    """
    steps: list[Step] = []
    place = 0
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None or (place == 0 and text.startswith(".")):
            break
        steps.append(found[1] or (int(found[2]) if found[2] else None))
        place = found.end()
    if not steps or place < len(text):
        msg = f"{text}: a path of JSON expected, such as metadata.user or messages[*].name"
        raise ValueError(msg)
    return tuple(steps)


def show_path(path: Sequence[Step]) -> str:
    """Write a path as `read_path` reads it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f"{'.' if text else ''}{'*' if step is None else step}"
    return text


def without(value: JsonValue, path: JsonPath) -> JsonValue:
    """Return a value without what a path names: keys go, items of lists become null."""
    if not path:
        return None
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {
            key: without(one, rest) if _meets(step, key) else one
            for key, one in value.items()
            if rest or not _meets(step, key)
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [
            without(one, rest) if _meets(step, place) else one for place, one in enumerate(value)
        ]
    return value


def _meets(step: Step, one: str | int) -> bool:
    return step is None or step == one
