"""How each demand is written in a rule, and how it is read: by the kind of the demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

import jsonschema_rs
from pydantic import Field, JsonValue

from pytest_sopbench._core.contract.argument_source import (
    ArgumentDemand,
    EqualsInput,
    EqualsResult,
    Origin,
    SatisfiesSchema,
)
from pytest_sopbench._core.contract.conditions import Source
from pytest_sopbench._core.contract.demands import (
    AfterApproval,
    AsksApproval,
    AtMost,
    Before,
    Demand,
    DemandKind,
    Forbids,
    InOrder,
    Requires,
)
from pytest_sopbench._core.contract.equal_values import EqualsAnswer, EqualsColumn, EqualsExpected

from .conditions import Name, Names, Strict
from .context import RulePlace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DemandReader:
    """Reads one kind of demand.

    `shape` is what may stand under its key, as pydantic annotates it, and `read` makes the demand
    of such a value. `keys` are all that may stand inside, for hints.
    """

    shape: Any
    read: Callable[[Any, RulePlace], Demand]
    keys: frozenset[str] = frozenset()


def keys_of(shape: type[Strict]) -> frozenset[str]:
    """Return the keys of an object, as they are written."""
    return frozenset(field.alias or name for name, field in shape.model_fields.items())


class _Requires(Strict):
    all_of: Names = Field(default_factory=list[Name])
    any_of: Names = Field(default_factory=list[Name])


class _Argument(Strict):
    tool: Name
    argument: Name
    equals_input: Name | None = None
    equals_result: Name | None = None
    equals_answer: Name | None = None
    equals_expected: Name | None = None
    equals_column: Name | None = None
    json_schema: dict[str, JsonValue] | None = Field(None, alias="schema")


ORIGINS = (
    "equals_input",
    "equals_result",
    "equals_answer",
    "equals_expected",
    "equals_column",
    "json_schema",
)


def _requires(model: _Requires, place: RulePlace) -> Requires:
    if not model.all_of and not model.any_of:
        place.refuse("requires", "names no tool", "give all_of, any_of, or both")
    return Requires(
        all_of=place.tool_list("requires.all_of", model.all_of),
        any_of=place.tool_list("requires.any_of", model.any_of),
    )


_Stages: TypeAlias = Annotated[list[Name | Names], Field(min_length=2)]


def _before(stages: Sequence[str | list[str]], place: RulePlace) -> Before:
    return Before(stages=_stages("before", stages, place))


def _in_order(stages: Sequence[str | list[str]], place: RulePlace) -> InOrder:
    return InOrder(stages=_stages("in_order", stages, place))


def _stages(
    key: str, stages: Sequence[str | list[str]], place: RulePlace
) -> tuple[tuple[str, ...], ...]:
    lists = [[stage] if isinstance(stage, str) else stage for stage in stages]
    place.tool_list(key, [name for stage in lists for name in stage])
    return tuple(tuple(stage) for stage in lists)


def _after_approval(value: list[str] | dict[str, str], place: RulePlace) -> AfterApproval:
    place.tool_list("after_approval", list(value))
    return AfterApproval(steps=value if isinstance(value, dict) else dict.fromkeys(value, ""))


def _asks_approval(steps: Sequence[str], _: RulePlace) -> AsksApproval:
    return AsksApproval(steps=tuple(steps))


def _argument(model: _Argument, place: RulePlace) -> ArgumentDemand:
    origins = [key for key in ORIGINS if getattr(model, key) is not None]
    if len(origins) != 1:
        found = f"has {' and '.join(origins)}" if origins else "does not say what it must be"
        hint = f"give exactly one of {', '.join(ORIGINS)}".replace("json_schema", "schema")
        place.refuse("arguments", found, hint)
    return ArgumentDemand(
        tool=place.tool("arguments.tool", model.tool),
        argument=model.argument,
        origin=_origin(model, place),
    )


def _origin(model: _Argument, place: RulePlace) -> Origin:
    if model.equals_input is not None:
        return EqualsInput(column=place.column("arguments", Source.INPUT, model.equals_input))
    if model.equals_result is not None:
        tool, *path = model.equals_result.split(".")
        return EqualsResult(tool=place.tool("arguments.equals_result", tool), path=tuple(path))
    if model.equals_answer is not None:
        return EqualsAnswer(field=place.output("arguments.equals_answer", model.equals_answer))
    if model.equals_expected is not None:
        name = place.output("arguments.equals_expected", model.equals_expected)
        return EqualsExpected(field=name)
    if model.equals_column is not None:
        column = place.any_column("arguments.equals_column", model.equals_column)
        return EqualsColumn(column=column, private=column in place.columns.private)
    return _schema(model.json_schema or {}, place)


def _schema(schema: dict[str, JsonValue], place: RulePlace) -> SatisfiesSchema:
    remote = next(_remote_references(schema), None)
    if remote is not None:
        problem = f"the reference {remote!r} leaves the schema"
        place.refuse("arguments.schema", problem, "nothing is fetched; write it in place")
    try:
        jsonschema_rs.validator_for(schema)
    except ValueError as fault:
        first = str(fault).partition("\n")[0]
        place.refuse("arguments.schema", f"not a JSON schema: {first}")
    return SatisfiesSchema(schema=schema)


def _remote_references(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _remote_references(one)
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(value, str) and value[:1] != "#":
                yield value
            yield from _remote_references(value)


def _forbids(tools: Sequence[str], place: RulePlace) -> Forbids:
    return Forbids(tools=place.tool_list("forbids", tools))


def _at_most(limits: dict[str, int], place: RulePlace) -> AtMost:
    place.tool_list("at_most", list(limits))
    return AtMost(limits=limits)


READERS: Final[dict[str, DemandReader]] = {
    DemandKind.REQUIRES: DemandReader(shape=_Requires, read=_requires, keys=keys_of(_Requires)),
    DemandKind.FORBIDS: DemandReader(shape=Names, read=_forbids),
    DemandKind.AT_MOST: DemandReader(
        shape=Annotated[dict[Name, Annotated[int, Field(ge=1)]], Field(min_length=1)],
        read=_at_most,
    ),
    DemandKind.BEFORE: DemandReader(shape=_Stages, read=_before),
    DemandKind.IN_ORDER: DemandReader(shape=_Stages, read=_in_order),
    DemandKind.AFTER_APPROVAL: DemandReader(
        shape=Annotated[Names | dict[Name, Name], Field(min_length=1)], read=_after_approval
    ),
    DemandKind.ASKS_APPROVAL: DemandReader(shape=Names, read=_asks_approval),
    DemandKind.ARGUMENTS: DemandReader(shape=_Argument, read=_argument, keys=keys_of(_Argument)),
}
"""The reader of every demand; a rule has exactly one of these keys."""
