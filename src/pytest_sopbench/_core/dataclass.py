"""`dataclass` of the standard library, at a fifth of its cost.

The standard decorator writes and compiles six functions for a frozen class, which takes half a
millisecond, and a session has hundreds of such classes. Here only `__init__` is compiled, when it
is first asked for; the other methods are closures. It sets slots by their descriptors, so that an
instance costs half too. What an instance can do stays as it was, for `dataclasses.fields`,
`replace` and `asdict` too, and type checkers see the standard decorator. What we do not use is not
known: `InitVar`, ordering, and a frozen class below one that is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from dataclasses import dataclass as standard_dataclass
from itertools import repeat
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

Method = Callable[..., Any]

__all__ = ["dataclass", "field", "lean_dataclass", "members", "replace"]

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
            "__repr__": _repr(made),
        }
        if eq:
            methods["__eq__"] = _eq(made)
            # Python itself sets it to `None` beside an `__eq__`.
            if own.get("__hash__") is None:
                own.pop("__hash__", None)
                methods["__hash__"] = _hash(made) if frozen else None
        if frozen:
            methods |= _refusals(made)
            methods |= _state(made) if slots else {}
        for name in methods.keys() - own.keys():
            setattr(made, name, methods[name])
        return made

    return make if cls is None else make(cls)


class _Init:
    """Compiles `__init__` when it is first asked for, and puts it in its own place."""

    def __init__(self, made: type, *, frozen: bool) -> None:
        self._made = made
        self._is_frozen = frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made: Any = self._made
        # Another thread may have been faster.
        if made.__dict__["__init__"] is self:
            made.__init__ = _init(made, is_frozen=self._is_frozen)
        init = made.__dict__["__init__"]
        return init if instance is None else init.__get__(instance, owner)


def _init(made: Any, *, is_frozen: bool) -> FunctionType:
    """Return the function whose text the standard library would write, but for how it sets."""
    known = fields(made)
    names: dict[str, Any] = {"__made": object(), "__set": object.__setattr__}
    named = [one for one in known if one.init and one.kw_only]
    parameters = [_parameter(one, names) for one in known if one.init and not one.kw_only]
    parameters += ["*", *(_parameter(one, names) for one in named)] if named else []
    lines = [line for one in known if (line := _line(made, one, names, is_frozen=is_frozen))]
    lines += ["self.__post_init__()"] if hasattr(made, "__post_init__") else []
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__(self, {', '.join(parameters)}):\n {body}", names)  # noqa: S102 - as theirs
    init: FunctionType = names["__init__"]
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


def _repr(made: Any) -> Method:
    names = [one.name for one in fields(made) if one.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


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


def _refusals(made: Any) -> dict[str, Method]:
    names = frozenset(one.name for one in fields(made))

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise FrozenInstanceError(_CANNOT.format("assign to", name))
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise FrozenInstanceError(_CANNOT.format("delete", name))
        object.__delattr__(self, name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(made: Any) -> dict[str, Method]:
    """Return what pickling and copying need where nothing can be set from outside."""
    names = [one.name for one in fields(made)]

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = lean_dataclass
