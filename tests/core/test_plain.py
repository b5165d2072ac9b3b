"""Any Python value becomes JSON words: hostile ones by name, the rest by laws."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import json
import math
import sys
import uuid
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_sopbench._core.values.json import (
    DEPTH_LIMIT,
    SIZE_LIMIT,
    escape_surrogates,
    to_json_value,
)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass
class Parcel:
    weight: float
    marks: set[str]


class Model(BaseModel):
    name: str
    parts: list[Parcel]


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "never asked"


class NumberLike:
    """What numpy and torch call a scalar."""

    def __init__(self, value: object) -> None:
        self.value = value

    def item(self) -> object:
        return self.value


class Route(tuple[str, ...]):
    __slots__ = ()


class Struct:
    __struct_fields__ = ("kind",)

    def __init__(self) -> None:
        self.kind = "struct"


class Attribute:
    def __init__(self, name: str) -> None:
        self.name = name


class WithAttributes:
    __attrs_attrs__ = (Attribute("size"),)

    def __init__(self) -> None:
        self.size = 2


class Lazy(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(True, True, id="true"),
        pytest.param(3, 3, id="integer"),
        pytest.param(2.5, 2.5, id="float"),
        pytest.param("Stra\u00dfe", "Stra\u00dfe", id="text"),
        pytest.param(Shouting("quiet"), "quiet", id="text-of-a-subclass"),
        pytest.param((1, [2, ()]), [1, [2, []]], id="tuple"),
        pytest.param({"b", "a", "c"}, ["a", "b", "c"], id="set-is-sorted"),
        pytest.param(frozenset({3, "a"}), ["a", 3], id="set-of-mixed-types"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param(Level.HIGH, 3, id="int-enum"),
        pytest.param(Pair(1, "x"), {"left": 1, "right": "x"}, id="named-tuple"),
        pytest.param(Route(("a", "b")), ["a", "b"], id="tuple-of-a-subclass"),
        pytest.param(Parcel(1.5, {"b", "a"}), {"weight": 1.5, "marks": ["a", "b"]}, id="dataclass"),
        pytest.param(
            Model(name="m", parts=[Parcel(1, set())]),
            {"name": "m", "parts": [{"weight": 1.0, "marks": []}]},
            id="pydantic-model",
        ),
        pytest.param(Struct(), {"kind": "struct"}, id="struct"),
        pytest.param(WithAttributes(), {"size": 2}, id="attrs-class"),
        pytest.param(Lazy(), {"a": 1}, id="mapping"),
        pytest.param(MappingProxyType({"a": 1}), {"a": 1}, id="mapping-proxy"),
        pytest.param(collections.OrderedDict(a=1), {"a": 1}, id="ordered-dict"),
        pytest.param(collections.deque([1, 2]), [1, 2], id="deque"),
        pytest.param({"a": 1}.keys(), ["a"], id="keys"),
        pytest.param(range(3), [0, 1, 2], id="range"),
        pytest.param(collections.UserString("ab"), "ab", id="user-string"),
        pytest.param(b"caf\xc3\xa9", "caf\u00e9", id="bytes"),
        pytest.param(memoryview(b"ab"), "ab", id="memoryview"),
        pytest.param(dt.date(2026, 1, 31), "2026-01-31", id="date"),
        pytest.param(
            dt.datetime(2026, 1, 31, 8, 30, tzinfo=dt.UTC), "2026-01-31T08:30:00+00:00", id="moment"
        ),
        pytest.param(Decimal("12.50"), 12.5, id="decimal"),
        pytest.param(Decimal(-7), -7, id="whole-decimal"),
        pytest.param(Decimal("0.1000000000000000000001"), "0.1000000000000000000001", id="long"),
        pytest.param(Decimal("NaN"), "NaN", id="decimal-that-is-no-number"),
        pytest.param(Decimal("1E+999"), "1E+999", id="decimal-beyond-floats"),
        pytest.param(PurePosixPath("a/b"), "a/b", id="path"),
        pytest.param(uuid.UUID(int=1), str(uuid.UUID(int=1)), id="uuid"),
        pytest.param(NumberLike(4), 4, id="scalar-with-item"),
        pytest.param(NumberLike(dt.date(2026, 1, 1)), "2026-01-01", id="scalar-date"),
    ],
)
def test_a_known_kind_of_value_is_said_without_a_note(value: object, expected: object) -> None:
    notes: list[str] = []

    copied = to_json_value(value, notes)

    assert (expected, []) == (copied, notes)
    assert type(expected) is type(copied)


def test_numpy_and_pandas_values_are_read_without_importing_them() -> None:
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")

    values = [numpy.int64(3), numpy.float64(0.5), numpy.bool_(1), numpy.array([[1, 2]])]

    assert [3, 0.5, True, [[1, 2]]] == to_json_value(values)
    assert "2026-01-01T00:00:00" == to_json_value(pandas.Timestamp("2026-01-01"))
    assert "nan" == to_json_value(numpy.float64("nan"))


def test_the_copy_shares_no_container() -> None:
    value = {"a": [1, {"b": 2}]}

    copied: Any = to_json_value(value)
    copied["a"][1]["b"] = 3

    assert {"a": [1, {"b": 2}]} == value


def test_text_that_can_be_encoded_stays() -> None:
    notes: list[str] = []

    assert ("abc", "\u00e9\U0001f600") == (
        escape_surrogates("abc"),
        escape_surrogates("\u00e9\U0001f600", notes),
    )
    assert [] == notes
    assert "\\udcff" == escape_surrogates("\udcff")


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ANY_TEXT = st.text(st.characters())
VALUES = st.recursive(
    ATOMS | ANY_TEXT | st.decimals() | st.dates() | st.times() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(ANY_TEXT | st.integers() | st.none() | st.dates(), inner, max_size=4)
        | st.frozensets(ATOMS, max_size=4)
    ),
    max_leaves=15,
)


@given(VALUES)
def test_every_value_becomes_json_that_can_be_encoded(value: object) -> None:
    copied = to_json_value(value)

    line = json.dumps(copied, allow_nan=False, ensure_ascii=False)
    assert copied == json.loads(line.encode())


@given(VALUES)
def test_what_is_plain_stays_as_it_is(value: object) -> None:
    once = to_json_value(value)
    notes: list[str] = []

    assert once == to_json_value(once, notes)
    assert [] == notes


# Values that are hostile, endless, deep or have no word in JSON: none raises, each is noted.


class ItselfAgain:
    def item(self) -> ItselfAgain:
        return self

    def __repr__(self) -> str:
        return "again"


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
