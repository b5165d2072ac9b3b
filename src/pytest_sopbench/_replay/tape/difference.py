"""Where two bodies differ first, cut so that a line can show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard, TypeVar

from pytest_sopbench._core.values.json import JsonValue, same_json

from .changing import Advice, advice_on
from .paths import Step, show_path

_Key = TypeVar("_Key", str, int)

_BEFORE, _AFTER = 20, 32
"""Characters that are shown of a text, before and from the first that differs."""

_LEAST: Final = 16
"""Characters of a text that must agree before only a part of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One path at which two bodies differ; `None` of a side is where it has nothing there.

    `character` is the first that differs of two texts, from 1; 0 where both are shown whole.
    `advice` says how to leave out what changes with every run.
    """

    path: str
    recorded: str | None
    sent: str | None
    character: int = 0
    advice: Advice | None = None

    def lines(self) -> Iterator[str]:
        """Yield what differs, in three lines."""
        at = f" at character {self.character:,}" if self.character else ""
        yield f"{self.path} differs{at}:"
        yield f"  recorded  {self.recorded or 'nothing'}"
        yield f"  sent      {self.sent or 'nothing'}"


def differences(recorded: JsonValue, sent: JsonValue) -> Iterator[Difference]:
    """Yield where two values differ, in the order of sorted keys."""
    yield from _differences(recorded, sent, ())


def _differences(one: JsonValue, other: JsonValue, path: tuple[Step, ...]) -> Iterator[Difference]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _beside(one, other, key, (*path, key))
    elif _is_list(one) and _is_list(other):
        parts, others = dict(enumerate(one)), dict(enumerate(other))
        for place in range(max(len(one), len(other))):
            yield from _beside(parts, others, place, (*path, place))
    elif not same_json(one, other):
        yield _difference(one, other, path)


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _beside(
    one: Mapping[_Key, JsonValue],
    other: Mapping[_Key, JsonValue],
    key: _Key,
    path: tuple[Step, ...],
) -> Iterator[Difference]:
    if key in one and key in other:
        yield from _differences(one[key], other[key], path)
        return
    value = one[key] if key in one else other[key]
    inner: tuple[Step, ...] = ()
    # Of a list, a whole message is there or is not.
    if isinstance(key, str):
        inner, value = _innermost(value)
    yield Difference(
        path=show_path((*path, *inner)),
        recorded=shown(value) if key in one else None,
        sent=shown(value) if key in other else None,
    )


def _innermost(value: JsonValue) -> tuple[tuple[Step, ...], JsonValue]:
    """Return the way to what is set where one side alone has something: one key in one key."""
    way: tuple[Step, ...] = ()
    while isinstance(value, Mapping) and len(value) == 1:
        ((key, value),) = value.items()
        way = (*way, key)
    return way, value


def _difference(one: JsonValue, other: JsonValue, path: tuple[Step, ...]) -> Difference:
    name = show_path(path) or "body"
    if not (isinstance(one, str) and isinstance(other, str)):
        advice = advice_on(name, one, other)
        return Difference(path=name, recorded=shown(one), sent=shown(other), advice=advice)
    same = _same(one, other)
    # Of two short texts both are shown, and where they differ can be seen.
    is_cut = max(len(one), len(other)) > _BEFORE + _AFTER
    start = same if same >= _LEAST and is_cut else 0
    return Difference(
        path=name,
        recorded=_around(one, start),
        sent=_around(other, start),
        character=same + 1 if is_cut else 0,
        advice=advice_on(name, one, other),
    )


def _same(one: str, other: str) -> int:
    """Return how many characters two different texts have in common at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def shown(value: JsonValue) -> str:
    """Return a value in ASCII, cut to its beginning."""
    if isinstance(value, str):
        return _around(value, 0)
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _BEFORE + _AFTER else f"{text[: _BEFORE + _AFTER]}..."


def _around(text: str, place: int) -> str:
    """Return what stands around a place of a text, cut between words where there are any."""
    begin = max(0, place - _BEFORE)
    if begin:
        blank = text.find(" ", begin, place)
        begin = blank + 1 if blank >= 0 else begin
    end = min(len(text), begin + _BEFORE + _AFTER)
    before, behind = "... " if begin else "", " ..." if end < len(text) else ""
    return json.dumps(f"{before}{text[begin:end]}{behind}")
