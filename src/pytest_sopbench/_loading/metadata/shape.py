"""A JSON object with keys of its own, read by pydantic's core alone.

The models of `pydantic` itself are built at import, which costs a session more than all that it
reads with them. Here a class names the type of each key, and a table says how a type is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import get_annotations
from typing import Any, ClassVar, Final, NoReturn, Self, cast

from pydantic_core import SchemaValidator
from pydantic_core import core_schema as cs

from .words import JSON_VALUE, WORDS


@dataclass(frozen=True, slots=True)
class Key:
    """How one key is read; what is needed has no default."""

    schema: cs.CoreSchema
    needed: bool
    default: Any = None
    alias: str | None = None

    @property
    def field(self) -> cs.ModelField:
        # A default that can be changed is copied for each object.
        schema = self.schema
        if not self.needed:
            schema = cs.with_default_schema(schema, default=self.default)
        return cs.model_field(schema, validation_alias=self.alias)


class Shape:
    """A JSON object whose unknown keys are kept, so that they can be warned of.

    A subclass annotates its keys, each with one of `WORDS`. A value in the class is the default of
    a key, and a key without one is needed. `spelled` holds keys that are no names of Python.
    """

    # As pydantic's core fills them.
    __slots__ = (
        "__dict__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
    )
    __pydantic_extra__: dict[str, Any] | None
    __pydantic_fields_set__: set[str]

    spelled: ClassVar[Mapping[str, str]] = {}
    model_fields: ClassVar[Mapping[str, Key]] = {}

    def __init_subclass__(cls) -> None:
        own: Mapping[str, str] = get_annotations(cls)
        keys = {name: word for name, word in own.items() if not word.startswith("ClassVar")}
        found = {
            name: Key(
                schema=WORDS[word],
                needed=name not in cls.__dict__,
                default=cls.__dict__.get(name),
                alias=cls.spelled.get(name),
            )
            for name, word in keys.items()
        }
        cls.model_fields = {**cls.model_fields, **found}

    @classmethod
    def model_validate(cls, content: object) -> Self:
        """Read an object.

        Raises:
            pydantic_core.ValidationError: a key is missing, or its value is of another type.
        """
        found: Self = _validator(cls).validate_python(content)
        return found

    @classmethod
    def core_schema(cls) -> cs.CoreSchema:
        """Return how pydantic's core reads an object of this shape."""
        fields = {name: key.field for name, key in cls.model_fields.items()}
        return cs.model_schema(
            cls,
            cs.model_fields_schema(fields, model_name=cls.__name__),
            config=cs.CoreConfig(
                title=cls.__name__, extra_fields_behavior="allow", coerce_numbers_to_str=True
            ),
        )

    @property
    def model_extra(self) -> Mapping[str, Any]:
        """The keys that the shape does not have."""
        extra: Mapping[str, Any] | None = self.__pydantic_extra__
        return extra or {}

    @property
    def model_fields_set(self) -> frozenset[str]:
        """The keys that were given."""
        return frozenset(self.__pydantic_fields_set__)

    def told(self) -> dict[str, object]:
        """Return what was given and is not the default, as JSON."""
        given = {
            name: _as_json(value)
            for name, value in self.__dict__.items()
            if name in self.__pydantic_fields_set__ and value != self.model_fields[name].default
        }
        return given | {name: _as_json(value) for name, value in self.model_extra.items()}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"{type(self).__name__} is frozen: {name} cannot be set"
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape) or type(other) is not type(self):
            return NotImplemented
        return (self.__dict__, self.model_extra) == (other.__dict__, other.model_extra)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__dict__!r})"


_VALIDATORS: Final[dict[type[Shape], SchemaValidator]] = {}


def by_name(shape: type[Shape]) -> cs.CoreSchema:
    """Return how an object is read that has an object of this shape by each name."""
    return cs.dict_schema(cs.str_schema(), shape.core_schema())


def _validator(shape: type[Shape]) -> SchemaValidator:
    if shape not in _VALIDATORS:
        schema = cs.definitions_schema(shape.core_schema(), [JSON_VALUE])
        _VALIDATORS[shape] = SchemaValidator(schema)
    return _VALIDATORS[shape]


def _as_json(value: object) -> object:
    match value:
        case Shape():
            return value.told()
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {name: _as_json(inner) for name, inner in items}
        case list():
            return [_as_json(inner) for inner in cast("list[object]", value)]
        case Enum():
            return value.value
        case _:
            return value
