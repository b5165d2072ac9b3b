"""Values that are hostile, endless, deep or have no word in JSON: none raises, each is noted."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import MagicMock

import pytest

from pytest_sopbench._core.values.json import DEPTH_LIMIT, SIZE_LIMIT, to_json_value


class ItselfAgain:
    def item(self) -> ItselfAgain:
        return self

    def __repr__(self) -> str:
        return "again"


class Lazy(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Hostile:
    """Every door of it explodes, each in another way."""

    def __repr__(self) -> str:
        raise SystemExit

    def __str__(self) -> str:
        raise ValueError

    @property
    def __class__(self) -> Any:
        raise ZeroDivisionError


class HostileMapping(Lazy):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def __repr__(self) -> str:
        return "a mapping"


class HostileModel:
    def model_dump(self) -> None:
        raise OSError


class BadNameType(type):
    def __getattribute__(cls, name: str) -> Any:
        if name == "__qualname__":
            raise ValueError
        return super().__getattribute__(name)


class BadName(metaclass=BadNameType):
    pass


class Chatty:
    def __repr__(self) -> str:
        return "x" * 1000


class BrokenRepr:
    def __repr__(self) -> str:
        return "\ud800"


@pytest.mark.parametrize(
    ("value", "expected", "note"),
    [
        pytest.param(Hostile(), "<test_unusual.Hostile>", "its repr", id="hostile"),
        pytest.param(HostileMapping(), "a mapping", "its repr", id="hostile-mapping"),
        pytest.param(HostileModel(), "<test_unusual.HostileModel object>", "repr", id="model"),
        pytest.param(ItselfAgain(), "again", "its repr", id="scalar-without-end"),
        pytest.param(object(), "<object object>", "its repr", id="address-is-left-out"),
        pytest.param(int, "<class 'int'>", "its repr", id="class"),
        pytest.param(Chatty(), "x" * 200 + "...", "its repr", id="long-repr-is-cut"),
        pytest.param(BrokenRepr(), "\\ud800", "its repr", id="repr-with-a-broken-character"),
        pytest.param(math.nan, "nan", "not finite", id="not-a-number"),
        pytest.param(-math.inf, "-inf", "not finite", id="infinity"),
        pytest.param(1 << 13_000, hex(1 << 13_000), "hexadecimal", id="huge-integer"),
        pytest.param("a\ud800b", "a\\ud800b", "backslash", id="lone-surrogate"),
        pytest.param(b"\xff", "\\udcff", "backslash", id="bytes-that-are-not-utf-8"),
        pytest.param({1: "a"}, {"1": "a"}, "a key that is not text", id="number-as-key"),
        pytest.param({None: 1}, {"null": 1}, "a key that is not text", id="none-as-key"),
        pytest.param({(1, 2): 3}, {"[1, 2]": 3}, "a key that is not text", id="tuple-as-key"),
        pytest.param({"\ud800": 1}, {"\\ud800": 1}, "backslash", id="broken-key"),
        pytest.param({"1": 1, 1: 2}, {"1": 2}, "became one", id="two-keys-become-one"),
    ],
)
def test_what_cannot_be_said_is_noted(value: object, expected: object, note: str) -> None:
    notes: list[str] = []

    copied = to_json_value(value, notes)

    shown = copied.replace(f"{__name__}.", "test_unusual.") if isinstance(copied, str) else copied
    assert expected == shown
    assert any(note in one for one in notes)


def test_a_type_that_hides_its_name_is_an_object() -> None:
    notes: list[str] = []

    to_json_value(BadName(), notes)

    assert ["a value of type object was written as its repr"] == notes


def test_a_mock_has_no_fields_of_its_own() -> None:
    assert str(to_json_value(MagicMock())).startswith("<MagicMock")


def test_a_value_that_contains_itself_is_cut() -> None:
    ring: list[Any] = [1]
    ring.append({"again": ring})
    notes: list[str] = []

    assert [1, {"again": "[contains itself]"}] == to_json_value(ring, notes)
    assert ["a value that contains itself was cut"] == notes


def test_a_value_seen_twice_is_no_ring() -> None:
    shared = [1]

    assert [[1], [1]] == to_json_value([shared, shared])


def test_depth_is_limited() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    notes: list[str] = []

    copied = to_json_value(deep, notes)

    assert 2 * DEPTH_LIMIT == json.dumps(copied).count("[") + json.dumps(copied).count("]") - 2
    assert "nested too deep" in json.dumps(copied)
    assert [f"a value nested more than {DEPTH_LIMIT} deep was cut"] == notes


def test_size_is_limited_also_where_lists_are_shared() -> None:
    unfolding: list[Any] = [1]
    for _ in range(30):
        unfolding = [unfolding] * 10
    notes: list[str] = []

    to_json_value(unfolding, notes)

    assert [f"only the first {SIZE_LIMIT:,} values were kept"] == notes


def test_an_endless_sequence_is_cut() -> None:
    notes: list[str] = []

    copied = to_json_value(range(10**12), notes)

    assert isinstance(copied, list)
    assert SIZE_LIMIT == len(copied)


def test_there_is_room_where_the_stack_is_nearly_full() -> None:
    def deeper() -> Any:
        try:
            return deeper()
        except RecursionError:
            return to_json_value([[[[[[1]]]]]])

    assert isinstance(deeper(), str | list)


def test_a_stack_without_room_cuts_the_value() -> None:
    value: list[Any] = []
    for _ in range(90):
        value = [value]
    limit = sys.getrecursionlimit()
    depth = len(list(_frames()))

    sys.setrecursionlimit(depth + 60)
    try:
        copied = to_json_value(value)
    finally:
        sys.setrecursionlimit(limit)

    assert "[nested too deep]" == copied


def _frames() -> Iterator[object]:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]  # the last frame has none


def test_ctrl_c_in_a_repr_is_ctrl_c() -> None:
    class Interrupted:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_json_value(Interrupted())


def test_notes_are_limited_in_number() -> None:
    values = [type(f"Kind{number}", (), {})() for number in range(100)]
    notes: list[str] = []

    to_json_value(values, notes)

    assert 20 == len(notes)
