"""`dataclass` of the standard library, at a fifth of its cost.

The standard decorator writes and compiles six functions for a frozen class, which takes half a
millisecond, and a session has hundreds of such classes. Here only `__init__` is compiled, and not
before a class has a few instances; `__eq__` and `__hash__` are closures, and the other methods are
the same functions for all classes. Slots are set by their descriptors, so that an instance costs
half too. What an instance can do stays as it was, for `dataclasses.fields`, `replace` and `asdict`
too, and type checkers see the standard decorator. What we do not use is not known: `InitVar`,
ordering, and a frozen class below one that is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from dataclasses import dataclass as standard_dataclass
from functools import partial
from itertools import repeat
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

Method = Callable[..., Any]

__all__ = ["dataclass", "field", "lean_dataclass", "members", "replace"]

FEW: Final = 4
"""Instances of a class that are filled without a compiled `__init__`."""

_CANNOT: Final = "cannot {} field {!r}"


def members(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, and no copies, which `asdict` makes of all."""
    names = value.__dataclass_fields__
    return dict(zip(names, map(getattr, repeat(value), names), strict=False))


def lean_dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> Any:
    """Make a dataclass of a class; without one, return the decorator that does."""
    standard = standard_dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)

    def make(cls: Any) -> type:
        # Without a text the signature of the class would be computed for it.
        cls.__doc__ = cls.__doc__ or cls.__name__
        own = dict(cls.__dict__)
        made = standard(cls)
        methods: dict[str, _Init | Method | None] = {
            "__init__": _Init(made, frozen=frozen),
            "__repr__": _repr,
        }
        if eq:
            methods["__eq__"] = _eq(made)
            # Python itself sets it to `None` beside an `__eq__`.
            if own.get("__hash__") is None:
                own.pop("__hash__", None)
                methods["__hash__"] = _hash(made) if frozen else None
        if frozen:
            methods |= _REFUSALS
            methods |= _STATE if slots else {}
        for name in methods.keys() - own.keys():
            setattr(made, name, methods[name])
        return made

    return make if cls is None else make(cls)


class _Init:
    """Stands for `__init__`: fills a few instances itself, and then compiles what takes its place.

    Half of the classes of a session have no more instances than that.
    """

    def __init__(self, made: type, *, frozen: bool) -> None:
        self._made: Any = made
        self._is_frozen = frozen
        self._filled = 0
        self._fields: Sequence[Field[Any]] = ()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self._compiled()
        if self._filled < FEW:
            self._filled += 1
            return partial(self._fill, instance)
        return self._compiled().__get__(instance, owner)

    def _compiled(self) -> Any:
        made = self._made
        # Another thread may have been faster.
        if made.__dict__["__init__"] is self:
            made.__init__ = _init(made, is_frozen=self._is_frozen)
        return made.__dict__["__init__"]

    def _fill(self, instance: Any, /, *args: object, **named: object) -> None:
        known = self._fields = self._fields or fields(self._made)
        values = _values_given(known, args, named)
        if values is None:
            # It raises the error of any function that is called so.
            self._compiled()(instance, *args, **named)
            return
        has_slots = "__slots__" in self._made.__dict__
        put = object.__setattr__ if self._is_frozen else setattr
        for one in known:
            if one.init or has_slots or one.default_factory is not MISSING:
                value = values.pop(one.name, MISSING)
                value = value if value is not MISSING else _initial(one)
                if value is not MISSING:
                    put(instance, one.name, value)
        if hasattr(self._made, "__post_init__"):
            instance.__post_init__()


def _values_given(
    known: Sequence[Field[Any]], args: Sequence[object], named: Mapping[str, object]
) -> dict[str, object] | None:
    """Return the arguments by the names of their fields, where a function would take them."""
    places = [one.name for one in known if one.init and not one.kw_only] if args else []
    values = {**named, **dict(zip(places, args, strict=False))}
    if len(values) != len(args) + len(named):
        return None
    left = len(values)
    for one in known:
        if one.init and one.name in values:
            left -= 1
        elif one.init and one.default is one.default_factory:
            # Both are missing, and so is the argument.
            return None
    return None if left else values


def _initial(spec: Field[Any]) -> object:
    return spec.default if spec.default_factory is MISSING else spec.default_factory()


def _init(made: Any, *, is_frozen: bool) -> FunctionType:
    """Return the function whose text the standard library would write, but for how it sets."""
    known = fields(made)
    names: dict[str, Any] = {"__made": object(), "__set": object.__setattr__}
    named = [one for one in known if one.init and one.kw_only]
    parameters = [_parameter(one, names) for one in known if one.init and not one.kw_only]
    parameters += ["*", *(_parameter(one, names) for one in named)] if named else []
    lines = [line for one in known if (line := _line(made, one, names, is_frozen=is_frozen))]
    lines += ["self.__post_init__()"] if hasattr(made, "__post_init__") else []
    body = "\n  ".join(lines or ["pass"])
    text = (
        f"def create({', '.join(names)}):\n def __init__(self, {', '.join(parameters)}):\n  {body}"
    )
    made_here: dict[str, Any] = {}
    # In the module of the class, where type hints are looked up.
    module = sys.modules.get(made.__module__)
    exec(f"{text}\n return __init__", vars(module) if module else {}, made_here)  # noqa: S102 - as theirs
    init: FunctionType = made_here["create"](**names)
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {one.name: one.type for one in known if one.init} | {"return": None}
    return init


def _parameter(spec: Field[Any], names: dict[str, Any]) -> str:
    if spec.default_factory is not MISSING:
        return f"{spec.name}=__made"
    if spec.default is MISSING:
        return spec.name
    names[f"__default_{spec.name}"] = spec.default
    return f"{spec.name}=__default_{spec.name}"


def _line(made: Any, spec: Field[Any], names: dict[str, Any], *, is_frozen: bool) -> str:
    value = name = spec.name
    if spec.default_factory is not MISSING:
        names[f"__new_{name}"] = spec.default_factory
        is_given = f"{name} if {name} is not __made else " if spec.init else ""
        value = f"{is_given}__new_{name}()"
    elif not spec.init:
        if spec.default is MISSING or "__slots__" not in made.__dict__:
            return ""
        names[f"__default_{name}"] = spec.default
        value = f"__default_{name}"
    if not is_frozen:
        return f"self.{name} = {value}"
    if "__slots__" not in made.__dict__:
        return f"__set(self, {name!r}, {value})"
    names[f"__set_{name}"] = getattr(made, name).__set__
    return f"__set_{name}(self, {value})"


def _values(known: Sequence[Field[Any]]) -> Callable[[Any], tuple[Any, ...]]:
    names = [one.name for one in known]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [one.name for one in fields(_owner(self, "__repr__", _repr)) if one.repr]
    values = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
    return f"{self.__class__.__qualname__}({values})"


def _eq(made: Any) -> Method:
    values = _values([one for one in fields(made) if one.compare])

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hash(made: Any) -> Method:
    known = fields(made)
    values = _values([one for one in known if (one.compare if one.hash is None else one.hash)])

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _setattr(self: Any, name: str, value: Any) -> None:
    made = _owner(self, "__setattr__", _setattr)
    if type(self) is made or name in made.__dataclass_fields__:
        raise FrozenInstanceError(_CANNOT.format("assign to", name))
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    made = _owner(self, "__delattr__", _delattr)
    if type(self) is made or name in made.__dataclass_fields__:
        raise FrozenInstanceError(_CANNOT.format("delete", name))
    object.__delattr__(self, name)


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _setstate(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


def _owner(instance: object, name: str, method: object) -> Any:
    """Return the class that was given the method, which may be a base of the instance's class."""
    owners = (one for one in type(instance).__mro__ if one.__dict__.get(name) is method)
    return next(owners, type(instance))


# The same functions for all classes: closures of two hundred classes are some four thousand objects
# more for the collector.
_REFUSALS: Final[Mapping[str, Method]] = {"__setattr__": _setattr, "__delattr__": _delattr}
# What pickling and copying need where nothing can be set from outside.
_STATE: Final[Mapping[str, Method]] = {"__getstate__": _getstate, "__setstate__": _setstate}


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = lean_dataclass
