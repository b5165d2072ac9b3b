"""Any Python value becomes JSON words: hostile ones by name, the rest by laws."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import json
import uuid
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_sopbench._core.values.json import escape_surrogates, to_json_value


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
