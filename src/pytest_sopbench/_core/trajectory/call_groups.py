"""How a list of calls is written: one call on a line, those that overlap as a list in the list.

The calls of a group overlap, so they have no order. Where one of them ended before a later one of
its group began, it says so: `"ends_before": 3` is the third call of the group, and stands for
those after it as well. A group has its calls in the order in which they began, or may have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn, TypeVar, cast

from pytest_sopbench._core.model.trajectory import Call
from pytest_sopbench._core.values.json import JsonValue

from .overlap import groups

_T = TypeVar("_T")

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_KEYS: Final = {"name", "arguments"}
_SHOWN: Final = 60


def group_lines(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the lines of a list of calls, without its brackets."""
    listed = groups(calls)
    for number, group in enumerate(listed):
        end = "" if number + 1 == len(listed) else ","
        lines = [_line(calls[at], group.stop - at - 1, at - group.start) for at in group]
        if len(group) == 1:
            yield f"{lines[0]}{end}"
        else:
            yield "["
            yield from (f" {line}," for line in lines[:-1])
            yield f" {lines[-1]}"
            yield f"]{end}"


def read_groups(listed: Sequence[object], kind: Callable[..., _T]) -> tuple[_T, ...]:
    """Read a list of calls and groups.

    Args:
        listed: as JSON gives it.
        kind: what is made of each, by its `name`, its `arguments` and what it `overlaps`.

    Raises:
        ValueError: something else stands in it; the message says which call, and why.
    """
    calls: list[_T] = []
    for one in listed:
        step = len(calls) + 1
        if not isinstance(one, list):
            calls.append(kind(**_call(one, step)))
            continue
        group = cast("list[object]", one)
        if len(group) < 2:  # noqa: PLR2004 - to overlap takes two
            _refuse(f"call {step}: a group has at least two calls")
        calls += [
            kind(**_member(each, step, place, len(group))) for place, each in enumerate(group, 1)
        ]
    return tuple(calls)


def _line(call: Call, following: int, before: int) -> str:
    parts: dict[str, JsonValue] = {"name": call.name, "arguments": call.arguments}
    if call.overlaps < following:
        parts["ends_before"] = before + call.overlaps + 2
    return _ENCODER.encode(parts)


def _member(data: object, step: int, place: int, size: int) -> dict[str, Any]:
    number = step + place - 1
    fields = _fields(data)
    if "ends_before" not in fields:
        return _call(data, number, overlaps=size - place)
    end = fields["ends_before"]
    if not isinstance(end, int) or isinstance(end, bool) or not place < end <= size:
        _refuse(f"call {number}: 'ends_before' must be the place of a later call of its group")
    others = {key: value for key, value in fields.items() if key != "ends_before"}
    return _call(others, number, overlaps=end - place - 1)


def _call(data: object, step: int, overlaps: int = 0) -> dict[str, Any]:
    fields = _fields(data)
    if fields.keys() != _KEYS:
        _refuse(f"call {step} is {_short(data)}, not an object with 'name' and 'arguments'")
    name, arguments = fields["name"], fields["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        _refuse(f"call {step}: 'name' must be a text, and 'arguments' an object")
    return {"name": name, "arguments": arguments, "overlaps": overlaps}


def _fields(data: object) -> dict[str, Any]:
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _short(data: object) -> str:
    text = repr(data)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)
