"""Our `dataclass` beside the one of the standard library, whose place it takes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.dataclass import FEW
from pytest_sopbench._core.dataclass import lean_dataclass as lean

Shape = tuple[list[dict[str, Any]], dict[str, bool]]
Make = Callable[..., Callable[[type], type]]

FIELDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["needed", "default", "factory", "not given", "made"]),
        "compare": st.booleans(),
        "repr": st.booleans(),
        "hash": st.sampled_from([None, None, True, False]),
    }
)
OPTIONS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("frozen", "slots", "kw_only", "eq")}
)
VALUES = st.one_of(st.integers(0, 2), st.just("x"), st.just(1.5))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Fields and options that the standard library takes: what is needed stands first."""
    fields = draw(st.lists(FIELDS, max_size=5))
    options = draw(OPTIONS)
    return sorted(fields, key=lambda one: one["kind"] != "needed"), options


def both(fields: list[dict[str, Any]], options: dict[str, bool]) -> tuple[Any, Any]:
    """The same class, made by the standard library and by us."""
    return _made(dataclasses.dataclass, fields, options), _made(lean, fields, options)


def _made(decorate: Make, fields: list[dict[str, Any]], options: dict[str, bool]) -> Any:
    names = [f"f{place}" for place in range(len(fields))]
    body: dict[str, Any] = {"__annotations__": dict.fromkeys(names, "object"), "__doc__": "Words."}
    for name, one in zip(names, fields, strict=True):
        told = {key: one[key] for key in ("compare", "repr", "hash")}
        body[name] = dataclasses.field(**told, **_initial(one["kind"]))
    return decorate(**options)(type("Example", (), body))


def _initial(kind: str) -> dict[str, Any]:
    return {
        "needed": {},
        "default": {"default": 7},
        "factory": {"default_factory": list},
        "not given": {"default": 8, "init": False},
        "made": {"default_factory": list, "init": False},
    }[kind]


def outcome(act: Callable[[], object]) -> object:
    """What a call gives, or the error and its words."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - which error it is, is the outcome
        return type(error), str(error)


@given(shapes(), st.data())
def test_an_instance_does_what_one_of_the_standard_library_does(
    shape: Shape, data: st.DataObject
) -> None:
    theirs, ours = both(*shape)
    known = dataclasses.fields(theirs)
    given_names = [one.name for one in known if one.init]
    values = [data.draw(st.fixed_dictionaries(dict.fromkeys(given_names, VALUES))) for _ in "ab"]

    # The first instances are filled, and later ones made by a compiled function.
    seen = [repr([_seen(made, values) for _ in range(2)]) for made in (theirs, ours)]

    assert seen[0] == seen[1]


def _seen(made: Any, values: list[dict[str, Any]]) -> list[object]:
    one, other = (made(**some) for some in values)
    same = made(**values[0])
    given_first = dataclasses.fields(made)[:1]
    changes = dict(list(values[1].items())[:1])
    return [
        (repr(one), dataclasses.astuple(one), dataclasses.asdict(one)),
        (one == same, one == other, one != same, one == 3, made.__eq__(one, 3)),
        outcome(lambda: hash(one) == hash(same)) if made.__hash__ is not object.__hash__ else "",
        (made.__hash__ is None, made.__hash__ is object.__hash__, made.__eq__ is object.__eq__),
        repr(dataclasses.replace(one, **changes)),
        (repr(copy.copy(one)), repr(copy.deepcopy(one))),
        # The standard library has no word for a name that is no field of a class with slots.
        *(outcome(lambda: setattr(one, "f0", 5)) for _ in given_first),
        *(outcome(lambda: delattr(one, "f0")) for _ in given_first),
        outcome(lambda: repr(one)),
        hasattr(one, "__dict__"),
        list(inspect.signature(made).parameters),
        [one.kind for one in inspect.signature(made).parameters.values()],
        getattr(made, "__match_args__", None),
        (made.__doc__, made.__init__.__qualname__),
    ]


@given(
    shapes(),
    st.lists(VALUES, max_size=6),
    st.dictionaries(st.sampled_from(["f0", "f1", "g"]), VALUES),
)
def test_wrong_arguments_are_refused_in_the_same_words(
    shape: tuple[list[dict[str, Any]], dict[str, bool]],
    args: list[object],
    named: dict[str, object],
) -> None:
    theirs, ours = both(*shape)

    said = [
        [outcome(lambda made=made: repr(made(*args, **named))) for _ in range(FEW + 2)]
        for made in (theirs, ours)
    ]

    assert said[0] == said[1]


@pytest.mark.parametrize("options", [{"frozen": True, "slots": True}, {"slots": True}, {}])
def test_what_a_class_defines_itself_stays(options: dict[str, bool]) -> None:
    class Example:
        number: int = 1

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    made: Any = lean(**options)(Example)

    assert (repr(made()), made() == 3, hash(made())) == ("mine", True, 5)


def test_a_class_may_have_another_as_its_base_and_act_after_it_is_made() -> None:
    @lean(frozen=True, slots=True, kw_only=True)
    class Base:
        first: int

        def __post_init__(self) -> None:
            object.__setattr__(self, "first", -self.first)

    @lean(frozen=True, slots=True, kw_only=True)
    class Example(Base):
        second: list[int] = dataclasses.field(default_factory=list)

    one: Any = Example(first=3)  # type: ignore[call-arg]

    assert (one.first, one.second, one) == (-3, [], Example(first=3))  # type: ignore[call-arg]


@given(shapes())
def test_a_class_below_it_behaves_as_below_one_of_the_standard_library(shape: Shape) -> None:
    """Both one that is decorated again, with a field more, and one that is not."""
    fields, options = shape
    plain = [{**one, "kind": "default"} for one in fields]

    seen = [
        [_seen_below(made, options, decorate) for decorate in (None, whole)]
        for made, whole in zip(both(plain, options), (dataclasses.dataclass, lean), strict=True)
    ]

    assert seen[0] == seen[1]


def _seen_below(made: Any, options: dict[str, bool], decorate: Make | None) -> list[object]:
    body: dict[str, Any] = {"__annotations__": {"more": "int"}, "more": 3, "__doc__": "Words."}
    below: Any = type("Below", (made,), body if decorate else {})
    below = decorate(**options)(below) if decorate else below
    one, other = below(), below()
    names = ("more", "f0", "new")
    if options["frozen"] and options["slots"]:
        # The standard library has no words there for a name that is no field of the class.
        names = names[: decorate is not None]
    return [
        (repr(one), one == other, one == made(), outcome(lambda: hash(one) == hash(other))),
        *(outcome(lambda name=name: setattr(one, name, 5)) for name in names),
        *(outcome(lambda name=name: delattr(one, name)) for name in names),
        (outcome(lambda: repr(one)), outcome(lambda: repr(copy.copy(other)))),
    ]


def test_an_instance_that_holds_itself_can_be_shown() -> None:
    @lean(slots=True)
    class Example:
        inner: object = None

    one: Any = Example()
    one.inner = one

    assert "Example(inner=...)" in repr(one)


def test_the_first_instances_of_a_class_need_no_function_of_its_own() -> None:
    @lean(frozen=True, slots=True)
    class Example:
        number: int

    made = [Example(number).number for number in range(FEW)]  # type: ignore[call-arg]

    assert made == list(range(FEW))
    assert not isinstance(vars(Example)["__init__"], FunctionType)
    Example(5)  # type: ignore[call-arg]
    assert isinstance(vars(Example)["__init__"], FunctionType)


def test_the_hints_of_what_makes_an_instance_are_looked_up_where_the_class_is() -> None:
    @lean(frozen=True, slots=True)
    class Example:
        shape: Shape

    assert Shape == typing.get_type_hints(Example.__init__)["shape"]
    assert Shape == inspect.signature(Example, eval_str=True).parameters["shape"].annotation
