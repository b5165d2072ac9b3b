"""Where the value of an argument comes from: an input, an earlier result, or a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .conditions import reads_same
from .models import JsonValue
from .overlap import ended_before
from .rule_state import Ruling, at, broken, held, not_called, not_exercised
from .traces import ToolCall

SHORT = 60
"""Characters of a value that a reason shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsInput:
    """The argument is the value of this input column."""

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsResult:
    """The argument is a value that a successful call of `tool` had returned before this one began.

    `path` are the keys that lead to the value; without any, each value in the result will do.
    """

    tool: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SatisfiesSchema:
    """The argument satisfies this JSON schema, which has no remote reference."""

    schema: Mapping[str, JsonValue]


Origin: TypeAlias = EqualsInput | EqualsResult | SatisfiesSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentDemand:
    """What an argument of a tool must be, in every call of it, also in one that failed."""

    tool: str
    argument: str
    origin: Origin


def check_argument(
    demand: ArgumentDemand, calls: Sequence[ToolCall], inputs: Mapping[str, JsonValue]
) -> Ruling:
    """Hold every call of the tool against the demand; an argument that is absent breaks it."""
    steps: list[int] = []
    for step, call in enumerate(calls, start=1):
        if call.name != demand.tool:
            continue
        given = call.arguments
        if not isinstance(given, Mapping) or demand.argument not in given:
            return broken(f"{at(step, call.name)}: argument {demand.argument} is missing")
        earlier = [(one + 1, calls[one]) for one in ended_before(calls, step - 1)]
        problem = _problem(demand.origin, given[demand.argument], earlier, inputs)
        if problem:
            value = short(given[demand.argument])
            return broken(f"{at(step, call.name)}: {demand.argument} is {value}, {problem}")
        steps.append(step)
    if not steps:
        return not_exercised(not_called([demand.tool], calls))
    places = "; ".join(at(step, demand.tool) for step in steps)
    return held(f"{demand.argument} is as demanded at {places}")


def short(value: JsonValue) -> str:
    """A value on one line, cut to `SHORT` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def _problem(
    origin: Origin,
    value: JsonValue,
    earlier: Sequence[tuple[int, ToolCall]],
    inputs: Mapping[str, JsonValue],
) -> str:
    match origin:
        case EqualsInput():
            wanted = inputs[origin.column]
            return "" if reads_same(value, wanted) else f"input {origin.column} is {short(wanted)}"
        case EqualsResult():
            return _not_returned(origin, value, earlier)
        case _:
            return _schema_problem(origin.schema, value)


def _not_returned(
    origin: EqualsResult, value: JsonValue, earlier: Sequence[tuple[int, ToolCall]]
) -> str:
    source = ".".join((origin.tool, *origin.path))
    said: list[str] = []
    for step, call in earlier:
        if call.name != origin.tool or not call.succeeded:
            continue
        results = list(_values(_parsed(call.result), origin.path))
        if any(reads_same(value, one) for one in results):
            return ""
        said.append(f"{short(results[0]) if results else 'nothing'} at step {step}")
    if not said:
        return f"no earlier call of {origin.tool} succeeded"
    return f"{source} returned {', '.join(said)}"


def _values(result: JsonValue, path: tuple[str, ...]) -> Iterator[JsonValue]:
    for name in path:
        if not isinstance(result, Mapping) or name not in result:
            return
        result = result[name]
    yield result
    if not path:
        yield from _inner(result)


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
