"""The tools of a run as typed functions, for frameworks that read signatures."""

from __future__ import annotations

import keyword
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from operator import getitem
from typing import Any, Final, Literal, Protocol, TypeVar, Union, cast

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import ToolError

Arguments = dict[str, object]

F = TypeVar("F", bound=Callable[..., object])

subscript: Callable[[Any, Any], Any] = getitem
"""A type made at run time, which no type checker can follow."""

_TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict[str, Any],
    "null": None,
}


class _Shape:
    """How the parameters of one spec are called, typed and described in Python."""

    def __init__(self, spec: ToolSpec) -> None:
        properties: Any = spec.parameters.get("properties", {})
        required: Any = spec.parameters.get("required", ())
        # Parameters without a default must come first in a signature.
        self.order = sorted(properties, key=lambda name: name not in required)
        self.python = _python_names(self.order)
        self.optional = {
            name
            for name in self.order
            if name not in required and not _takes_null(properties[name])
        }
        self.parameters = [
            Parameter(
                self.python[name],
                Parameter.POSITIONAL_OR_KEYWORD,
                annotation=annotation(properties[name], optional=name not in required),
                default=Parameter.empty if name in required else None,
            )
            for name in self.order
        ]
        self.doc = _doc(spec, self.python, properties)

    def arguments(self, values: tuple[object, ...], named: Arguments) -> Arguments:
        """Give every value the name that the spec knows; nothing is refused here."""
        given: Arguments = {}
        for place, value in enumerate(values):
            known = place < len(self.order)
            given[self.order[place] if known else f"argument_{place + 1}"] = value
        original = {python: name for name, python in self.python.items()}
        given.update({original.get(name, name): value for name, value in named.items()})
        # Frameworks pass a default on as if the model had said it. None is ours, and means that
        # nothing was said.
        return {
            name: value
            for name, value in given.items()
            if value is not None or name not in self.optional
        }


class Caller(Protocol):
    """What the functions call: the object that an agent is given."""

    def call(self, name: str, /, **arguments: object) -> JsonValue: ...
    async def acall(self, name: str, /, **arguments: object) -> JsonValue: ...


def functions_of(
    tools: Caller, specs: Sequence[ToolSpec], on_error: str
) -> list[Callable[..., JsonValue]]:
    """Make one function of each spec; `on_error` says what becomes of a tool's error."""
    answer = {"return": _call_or_text, "raise": _call}[on_error]
    return [typed_function(spec, partial(answer, tools, spec.name)) for spec in specs]


def afunctions_of(
    tools: Caller, specs: Sequence[ToolSpec], on_error: str
) -> list[Callable[..., Awaitable[JsonValue]]]:
    """As `functions_of`, but async."""
    answer = {"return": _acall_or_text, "raise": _acall}[on_error]
    return [typed_afunction(spec, partial(answer, tools, spec.name)) for spec in specs]


def typed_function(
    spec: ToolSpec, answer: Callable[[Arguments], JsonValue]
) -> Callable[..., JsonValue]:
    """Make a function with the name, the text and the signature of a tool spec."""
    shape = _Shape(spec)

    def function(*values: object, **named: object) -> JsonValue:
        return answer(shape.arguments(values, named))

    return _dressed(function, spec, shape)


def typed_afunction(
    spec: ToolSpec, answer: Callable[[Arguments], Awaitable[JsonValue]]
) -> Callable[..., Awaitable[JsonValue]]:
    """As `typed_function`, but async."""
    shape = _Shape(spec)

    async def function(*values: object, **named: object) -> JsonValue:
        return await answer(shape.arguments(values, named))

    return _dressed(function, spec, shape)


def annotation(schema: Any, *, optional: bool = False) -> Any:
    """Return the Python type that comes nearest to a JSON schema."""
    mapping = isinstance(schema, Mapping)
    found = _annotation(cast("Mapping[str, Any]", schema)) if mapping else Any
    return Union[found, None] if optional else found  # noqa: UP007 - members known at run time


def _annotation(schema: Mapping[str, Any]) -> Any:
    values = schema.get("enum")
    if values and all(isinstance(value, str | int | None) for value in values):
        return subscript(Literal, tuple(values))
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = cast("list[str]", kind)
        return subscript(Union, tuple(_annotation({**schema, "type": one}) for one in kinds))
    if kind == "array":
        return subscript(list, annotation(schema.get("items")))
    return _TYPES.get(str(kind), Any)


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, Any]", schema)
    kind = known.get("type", "null")
    return "null" in ([kind] if isinstance(kind, str) else kind) or None in known.get("enum", ())


def _python_names(names: list[str]) -> dict[str, str]:
    """Give every parameter a name that Python can write, and no two the same."""
    chosen: dict[str, str] = {}
    for name in names:
        python = "".join(sign if sign.isalnum() or sign == "_" else "_" for sign in name)
        if not python.isidentifier():
            python = f"_{python}"
        while keyword.iskeyword(python) or python in chosen.values():
            python += "_"
        chosen[name] = python
    return chosen


def _doc(spec: ToolSpec, python: Mapping[str, str], properties: Mapping[str, Any]) -> str:
    lines = [
        f"    {python[name]}: {text}"
        for name in python
        if isinstance(properties[name], Mapping)
        and (text := " ".join(str(properties[name].get("description", "")).split()))
    ]
    return "\n".join([spec.description, *(["", "Args:", *lines] if lines else [])])


def _dressed(function: F, spec: ToolSpec, shape: _Shape) -> F:
    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = shape.doc
    signature = Signature(shape.parameters, return_annotation=Any)
    setattr(function, "__signature__", signature)  # noqa: B010 - inspect reads it, no type has it
    function.__annotations__ = {
        **{parameter.name: parameter.annotation for parameter in shape.parameters},
        "return": Any,
    }
    return function


def _call(tools: Caller, name: str, arguments: Arguments) -> JsonValue:
    return tools.call(name, **arguments)


def _call_or_text(tools: Caller, name: str, arguments: Arguments) -> JsonValue:
    try:
        return tools.call(name, **arguments)
    except ToolError as error:
        return f"Error: {error}"


async def _acall(tools: Caller, name: str, arguments: Arguments) -> JsonValue:
    return await tools.acall(name, **arguments)


async def _acall_or_text(tools: Caller, name: str, arguments: Arguments) -> JsonValue:
    try:
        return await tools.acall(name, **arguments)
    except ToolError as error:
        return f"Error: {error}"
