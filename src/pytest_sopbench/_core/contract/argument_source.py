"""Where the value of an argument comes from: the task, an earlier result, the answer, a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from pytest_sopbench._core.model.trace import ToolCall, Trace
from pytest_sopbench._core.trajectory.calls import at
from pytest_sopbench._core.trajectory.overlap import ended_before
from pytest_sopbench._core.values.json import JsonValue

from .conditions import equal_as_written
from .equal_values import EqualsAnswer, EqualsColumn, EqualsExpected, Known, short, unequal
from .ruling import RuleCheck, broken, held, not_called, not_exercised


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsInput:
    """The argument is the value of this input column."""

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsResult:
    """The argument is a value that a successful call of `tool` had returned before this one began.

    `path` are the keys that lead to the value; without any, each value in the result will do.
    In a list on the way every element counts, unless a number names one.
    """

    tool: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SatisfiesSchema:
    """The argument satisfies this JSON schema, which has no remote reference."""

    schema: Mapping[str, JsonValue]


Origin: TypeAlias = (
    EqualsInput | EqualsResult | EqualsAnswer | EqualsExpected | EqualsColumn | SatisfiesSchema
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentDemand:
    """What an argument of a tool must be, in every call of it, also in one that failed.

    `argument` is a name, or names with dots between them that lead to a value inside; in a list
    on the way every element counts, unless a number names one.
    """

    kind: ClassVar[str] = "arguments"
    tool: str
    argument: str
    origin: Origin

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool,)

    def check(self, trace: Trace, known: Known, /) -> RuleCheck:
        """Hold every call of the tool against it; an argument that is absent breaks it."""
        calls = trace.calls
        steps: list[int] = []
        for step, call in enumerate(calls, start=1):
            if call.name != self.tool:
                continue
            values = _given(call.arguments, self.argument)
            if not values:
                return broken(f"{at(step, call.name)}: argument {self.argument} is missing")
            if isinstance(self.origin, EqualsAnswer) and known.answer is None:
                why = f"{at(step, call.name)}: the run was stopped before it gave an answer"
                return broken(why, unfinished=True)
            earlier = [(one + 1, calls[one]) for one in ended_before(calls, step - 1)]
            for value in values:
                problem = _problem(self.origin, value, earlier, known)
                if problem:
                    return broken(f"{at(step, call.name)}: {self.argument} is {problem}")
            steps.append(step)
        if not steps:
            return not_exercised(not_called([self.tool], calls))
        places = "; ".join(at(step, self.tool) for step in steps)
        return held(f"{self.argument} is as demanded at {places}")


def _given(arguments: JsonValue, path: str) -> Sequence[JsonValue]:
    """Return the values that a path leads to; none where one of them is missing."""
    if isinstance(arguments, Mapping) and path in arguments:
        return [arguments[path]]
    found: list[JsonValue] = [arguments]
    for name in path.split("."):
        inside = [_named(value, name) for value in found]
        if not all(inside):
            return []
        found = [value for values in inside for value in values]
    return found


def _named(value: JsonValue, name: str) -> Sequence[JsonValue]:
    if isinstance(value, Mapping):
        return [value[name]] if name in value else []
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    if name.isdecimal():
        return value[int(name) : int(name) + 1]
    inside = [_named(one, name) for one in value]
    return [one for values in inside for one in values] if all(inside) else []


def _problem(
    origin: Origin, value: JsonValue, earlier: Sequence[tuple[int, ToolCall]], known: Known
) -> str:
    """Say what the value is and ought to be, or nothing where it is so."""
    match origin:
        case EqualsInput():
            wanted = known.task.inputs[origin.column]
            same = equal_as_written(value, wanted)
            problem = "" if same else f"input {origin.column} is {short(wanted)}"
        case EqualsResult():
            problem = _not_returned(origin, value, earlier)
        case SatisfiesSchema():
            problem = _schema_problem(origin.schema, value)
        case _:
            return unequal(origin, value, known)
    return f"{short(value)}, {problem}" if problem else ""


def _not_returned(
    origin: EqualsResult, value: JsonValue, earlier: Sequence[tuple[int, ToolCall]]
) -> str:
    source = ".".join((origin.tool, *origin.path))
    said: list[str] = []
    for step, call in earlier:
        if call.name != origin.tool or not call.succeeded:
            continue
        results = list(_values(_parsed(call.result), origin.path))
        if any(equal_as_written(value, one) for one in results):
            return ""
        said.append(f"{short(results[0]) if results else 'nothing'} at step {step}")
    if not said:
        return f"no earlier call of {origin.tool} succeeded"
    return f"{source} returned {', '.join(said)}"


def _values(result: JsonValue, path: tuple[str, ...]) -> Iterator[JsonValue]:
    if not path:
        yield result
        yield from _inner(result)
        return
    found: list[JsonValue] = [result]
    for name in path:
        found = [inner for value in found for inner in _held(value, name)]
    yield from found


def _held(value: JsonValue, name: str) -> Iterator[JsonValue]:
    """What stands under a name: in a list, of every element that has it."""
    if isinstance(value, Mapping):
        yield from [value[name]] if name in value else []
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if name.isdecimal():
            yield from value[int(name) : int(name) + 1]
        else:
            yield from (inner for part in value for inner in _held(part, name))


def _inner(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        parts = list(value)
    else:
        return
    for part in parts:
        yield part
        yield from _inner(part)


def _parsed(result: JsonValue) -> JsonValue:
    # Many tools answer with JSON written as text, and what the agent reads is what stands in it.
    if not isinstance(result, str) or not result.lstrip().startswith(("{", "[")):
        return result
    try:
        parsed: JsonValue = json.loads(result)
    except ValueError:
        return result
    return parsed


def _schema_problem(schema: Mapping[str, JsonValue], value: JsonValue) -> str:
    # Only rules with a schema need the validator, so no other run pays for its import.
    import jsonschema_rs  # noqa: PLC0415

    error = next(jsonschema_rs.validator_for(dict(schema)).iter_errors(value), None)
    return "" if error is None else f"which breaks its schema: {error.message}"
