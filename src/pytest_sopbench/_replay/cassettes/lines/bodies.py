"""Bodies of requests as they are written: of a growing conversation only what is new.

Every request of a conversation repeats the one before. So a body is written as what differs from
another one of the trial: `like` is the number of that one, `keep` how many items or characters of
a key stay, `body` has the keys that differ, without what is kept of them. A body that is no object
stands whole, as `plain`. Long texts at a place
where every request repeats them stand in a file of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue, same_json

_LONG: Final = 400
"""Characters from which on a text, or what is not the conversation, is kept in a file."""

_BACK: Final = 8
"""How many requests before it a body is compared with: conversations that go on side by side."""

_TEXT, _PARTS, _RAW = "$shared", "$parts", "$raw"
_MARKS: Final = frozenset((_TEXT, _PARTS, _RAW))
_SYSTEM: Final = frozenset(("system", "developer"))
_SYSTEM_KEYS: Final = frozenset(("system", "instructions", "systemInstruction"))
_TALK: Final = frozenset(("messages", "input", "contents", "prompt"))

Put = Callable[[JsonValue], str]
Get = Callable[[str], JsonValue]


class BodyWriter:
    """Writes the bodies of one trial, in order.

    Args:
        put: keeps a value in a file of its own, and returns its name.
        texts: what is known to be repeated, such as the SOP.
    """

    def __init__(self, put: Put, texts: Sequence[str]) -> None:
        self._put = put
        self._texts = [text for text in texts if len(text) >= _LONG]
        self._before: list[Mapping[str, JsonValue]] = []

    def write(self, body: JsonValue) -> dict[str, Any]:
        """Return what is written of a body."""
        if not isinstance(body, Mapping):
            self._before.append({})
            return {} if body is None else {"plain": self._value(body, is_system=False)}
        like = self._nearest(body)
        self._before.append(body)
        if like is None:
            return {"body": {key: self._top(key, one) for key, one in body.items()}}
        return self._grown(body, like)

    def _nearest(self, body: Mapping[str, JsonValue]) -> int | None:
        ranked = [
            (sum(_kept(self._before[place].get(key), one) for key, one in body.items()), place)
            for place in range(max(0, len(self._before) - _BACK), len(self._before))
        ]
        best = max(ranked, default=(0, 0))
        return best[1] if best[0] else None

    def _grown(self, body: Mapping[str, JsonValue], like: int) -> dict[str, Any]:
        before = self._before[like]
        keep: dict[str, int] = {}
        new: dict[str, JsonValue] = {}
        for key, one in body.items():
            if key in before and same_json(before[key], one):
                continue
            kept = _kept(before.get(key), one) if isinstance(one, list) else 0
            if kept and isinstance(one, list):
                keep[key] = kept
                new[key] = [self._item(item) for item in one[kept:]]
            else:
                new[key] = self._top(key, one)
        gone = sorted(key for key in before if key not in body)
        line: dict[str, Any] = {"like": like + 1, "body": new}
        return {**line, **({"keep": keep} if keep else {}), **({"gone": gone} if gone else {})}

    def _top(self, key: str, value: JsonValue) -> JsonValue:
        if key in _TALK and isinstance(value, list):
            return [self._item(one) for one in value]
        if isinstance(value, str) or key in _SYSTEM_KEYS:
            return self._value(value, is_system=key not in _TALK)
        if isinstance(value, Mapping | list) and len(json.dumps(value)) >= _LONG:
            return {_TEXT: self._put(value)}
        return self._value(value, is_system=False)

    def _item(self, item: JsonValue) -> JsonValue:
        role = item.get("role") if isinstance(item, Mapping) else None
        return self._value(item, is_system=isinstance(role, str) and role in _SYSTEM)

    def _value(self, value: JsonValue, *, is_system: bool) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, is_system=is_system)
        if isinstance(value, Mapping):
            found = {key: self._value(one, is_system=is_system) for key, one in value.items()}
            return {_RAW: found} if len(found) == 1 and found.keys() <= _MARKS else found
        if isinstance(value, list | tuple):
            return [self._value(one, is_system=is_system) for one in value]
        return value

    def _text(self, text: str, *, is_system: bool) -> JsonValue:
        if len(text) < _LONG:
            return text
        for known in self._texts:
            before, found, behind = text.partition(known)
            if found:
                parts = [
                    self._text(before, is_system=is_system) if before else "",
                    {_TEXT: self._put(known)},
                    self._text(behind, is_system=is_system) if behind else "",
                ]
                return {_PARTS: [part for part in parts if part]}
        return {_TEXT: self._put(text)} if is_system else text


def _kept(before: JsonValue, now: JsonValue) -> int:
    """Return how much of a value need not be written again."""
    if before is None or now is None:
        return 0
    if isinstance(before, list) and isinstance(now, list):
        return sum(1 for _ in _while_same(before, now)) if len(before) <= len(now) else 0
    return 1 if same_json(before, now) else 0


def _while_same(one: Sequence[JsonValue], other: Sequence[JsonValue]) -> Iterator[None]:
    for pair in zip(one, other, strict=False):
        if not same_json(*pair):
            return
        yield None


def read_body_line(line: Mapping[str, Any], before: Sequence[JsonValue], get: Get) -> JsonValue:
    """Return the body that a line stands for, given those before it in the trial.

    Raises:
        CassetteError: a shared text is missing.
        ValueError, TypeError: the line is not what `BodyWriter` writes.
    """
    if "body" not in line:
        return read_value(line.get("plain"), get)
    # Each key by itself: a body is no mark, whatever its only key is called.
    body = {key: read_value(one, get) for key, one in line["body"].items()}
    if "like" not in line:
        return body
    if not 1 <= line["like"] <= len(before):
        msg = f"like={line['like']}: no request before it has that number"
        raise ValueError(msg)
    found = before[line["like"] - 1]
    if not isinstance(found, Mapping):
        msg = f"like={line['like']}: that request has no object for a body"
        raise TypeError(msg)
    keep: Mapping[str, int] = line.get("keep", {})
    grown: dict[str, Any] = {
        key: one for key, one in found.items() if key not in line.get("gone", ())
    }
    for key, one in body.items():
        grown[key] = [*grown[key][: keep[key]], *_listed(one)] if key in keep else one
    return grown


def _listed(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, list):
        return value
    msg = "keep: a list expected"
    raise TypeError(msg)


def read_value(value: JsonValue, get: Get) -> JsonValue:
    """Return a written value with the texts that it names."""
    if isinstance(value, list):
        return [read_value(one, get) for one in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((key, one),) = value.items()
        if key == _TEXT:
            return get(str(one))
        if key == _PARTS and isinstance(one, list):
            return "".join(str(read_value(part, get)) for part in one)
        if key == _RAW and isinstance(one, Mapping):
            value = one
    return {key: read_value(one, get) for key, one in value.items()}
