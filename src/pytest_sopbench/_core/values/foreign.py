"""Take a value that JSON has no word for one step nearer to one that it has.

The code of such a value is the user's: whatever it raises is kept away from the run.
"""

from __future__ import annotations

import re
from collections import UserString
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from math import isfinite
from pathlib import PurePath
from typing import Any, Final, TypeVar
from uuid import UUID

from pytest_sopbench._core.hiding.masking import ready_to_cut

T = TypeVar("T")

ITERABLES: Final[frozenset[type]] = frozenset({list, tuple, set, frozenset})
"""The containers beside `dict` that need no unwrapping."""

OPAQUE: Final = object()
"""Stands for a value of which nothing but its repr can be said."""

REPR_LIMIT: Final = 200
"""Characters kept of a repr."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]{1,32}")
_NAME_LIMIT: Final = 80


def call_safely(action: Callable[[], T], otherwise: T) -> T:
    """Run a value's own code; whatever it raises, but Ctrl-C, means `otherwise`."""
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - this is the user's code, and it may even call sys.exit
        return otherwise


def type_name(value: object) -> str:
    """Name the type of a value; a metaclass may lie about it, but never break us."""
    kind = type(value)
    name = call_safely(lambda: f"{kind.__module__}.{kind.__qualname__}", "object")
    short = name.removeprefix("builtins.")
    short = short if len(short) <= _NAME_LIMIT else ready_to_cut(short)[:_NAME_LIMIT]
    return short.encode("utf-8", "backslashreplace").decode()


def short_repr(value: object) -> str:
    """Return the repr, cut, and without memory addresses, which differ from run to run."""
    words = call_safely(lambda: str.__str__(repr(value)), f"<{type_name(value)}>")
    cut = words if len(words) <= REPR_LIMIT else f"{ready_to_cut(words)[:REPR_LIMIT]}..."
    return _ADDRESS.sub("", cut)


def get_member(value: object, name: str) -> object:
    """Return a key of a mapping or an attribute of an object; `None` where it has none."""
    return call_safely(lambda: _member(value, name), None)


def unwrap(value: object, limit: int) -> object:
    """Return something simpler that says the same, or `OPAQUE`.

    At most `limit` values are taken from a container. Raises whatever the value's code raises.
    """
    # Not by isinstance: a value may lie about its class, and may do so differently each time.
    kind = type(value)
    for kinds, reader in _READERS:
        if issubclass(kind, kinds):
            return reader(value, limit)
    return _by_shape(value, kind)


def _member(value: Any, name: str) -> object:
    if issubclass(type(value), Mapping):
        found: object = value.get(name)
        return found
    return getattr(value, name, None)


def _by_shape(value: Any, kind: type[object]) -> object:
    # Looked up on the type: a mock has every attribute that it is asked for.
    for names in ("__dataclass_fields__", "__struct_fields__"):
        if (fields := getattr(kind, names, None)) is not None:
            return {name: getattr(value, name) for name in fields}
    if (attributes := getattr(kind, "__attrs_attrs__", None)) is not None:
        return {attribute.name: getattr(value, attribute.name) for attribute in attributes}
    for method in ("model_dump", "tolist", "item"):
        if callable(getattr(kind, method, None)):
            simpler: object = getattr(value, method)()
            return OPAQUE if type(simpler) is kind else simpler
    return OPAQUE


def _decoded(value: Any, limit: int) -> object:
    del limit
    # What is not UTF-8 becomes lone surrogates here, which the next step escapes and notes.
    return bytes(value).decode("utf-8", "surrogateescape")


def _decimal(value: Decimal, limit: int) -> object:
    del limit
    words = str(value)
    number = float(words) if value.is_finite() else 0.0
    if not value.is_finite() or not isfinite(number) or Decimal(repr(number)) != value:
        return words
    return int(words) if words.lstrip("-").isdigit() else number


def _opaque(value: Any, limit: int) -> object:
    del value, limit
    return OPAQUE


def _tuple(value: tuple[Any, ...], limit: int) -> object:
    kind: Any = type(value)
    names: tuple[str, ...] | None = getattr(kind, "_fields", None)
    if names is None:
        return _sequence(value, limit)
    return dict(zip(names, value, strict=True))


def _mapping(value: Mapping[Any, Any], limit: int) -> dict[Any, Any]:
    return dict(islice(value.items(), limit))


def _set(value: AbstractSet[Any], limit: int) -> frozenset[Any]:
    return frozenset(islice(value, limit))


def _sequence(value: Sequence[Any], limit: int) -> list[Any]:
    return list(islice(value, limit))


_READERS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any, int], object]], ...]] = (
    (type, _opaque),
    (Enum, lambda value, _: value.value),
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, _: int.__int__(value)),
    (float, lambda value, _: float.__float__(value)),
    (Decimal, _decimal),
    ((bytes, bytearray, memoryview), _decoded),
    ((date, time), lambda value, _: value.isoformat()),
    ((PurePath, UUID, UserString), lambda value, _: str(value)),
    (tuple, _tuple),
    (Mapping, _mapping),
    (AbstractSet, _set),
    (Sequence, _sequence),
)
