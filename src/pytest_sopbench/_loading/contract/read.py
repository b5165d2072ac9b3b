"""The contract of a domain, from the JSON of its metadata to rules; every error names the rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

import jsonschema_rs
from pydantic import Field, JsonValue, ValidationError

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
    AtMost,
    Before,
    Demand,
    DemandKind,
    Forbids,
    Requires,
)
from pytest_sopbench._core.contract.equal_values import EqualsAnswer, EqualsColumn, EqualsExpected
from pytest_sopbench._core.contract.rules import Contract, Rule, Severity
from pytest_sopbench._loading.domain.layout import Layout
from pytest_sopbench.errors import LoadingError

from .conditions import ConditionModel, Name, Names, Strict, read_condition
from .context import RulePlace
from .faults import refuse_shape


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


class _Rule(Strict):
    id: Name
    clause: str = ""
    severity: Literal["must", "should"] = "should"
    when: ConditionModel | None = None
    requires: _Requires | None = None
    forbids: Names | None = None
    at_most: dict[Name, Annotated[int, Field(ge=1)]] | None = Field(None, min_length=1)
    before: Annotated[list[Name | Names], Field(min_length=2)] | None = None
    after_approval: Names | dict[Name, Name] | None = Field(None, min_length=1)
    arguments: _Argument | None = None


KEYS = frozenset(
    field.alias or name
    for model in (_Rule, _Requires, _Argument, ConditionModel)
    for name, field in model.model_fields.items()
)
"""Every key that may stand somewhere in a rule."""

ORIGINS = (
    "equals_input",
    "equals_result",
    "equals_answer",
    "equals_expected",
    "equals_column",
    "json_schema",
)


def read_contract(
    data: object,
    *,
    path: Path,
    tools: Collection[str],
    columns: Layout,
) -> Contract:
    """Read the value of the key `contract` of the metadata in `path`.

    Args:
        data: `{"rules": [...]}`, as JSON gives it.
        path: the file, for errors.
        tools: the names of the domain's tools.
        columns: the part of each column.

    Raises:
        LoadingError: a key or value that no rule has, a rule without a demand or with two, an
            id given twice, or the name of a tool or column that the domain does not have.
    """
    seen: set[str] = set()
    rules: list[Rule] = []
    for number, raw in enumerate(_rule_list(data, path), start=1):
        label = _label(raw, number)
        place = RulePlace(path=path, rule=label, tools=tools, columns=columns)
        rule = _read_rule(raw, place)
        if rule.id in seen:
            place.refuse("id", "given to two rules", "give every rule its own id")
        seen.add(rule.id)
        rules.append(rule)
    return Contract(rules=tuple(rules))


def _rule_list(data: object, path: Path) -> Sequence[object]:
    match data:
        case {"rules": list()} if len(cast("Mapping[str, object]", data)) == 1:
            return cast("Mapping[str, list[object]]", data)["rules"]
        case _:
            pass
    hint = 'write {"rules": [{"id": ..., "requires": {"all_of": [...]}}]}'
    problem = "must be an object with the one key 'rules', a list"
    raise LoadingError(path, problem, column="contract", hint=hint)


def _label(raw: object, number: int) -> str:
    name = cast("Mapping[str, object]", raw).get("id") if isinstance(raw, Mapping) else None
    return repr(name) if isinstance(name, str) and name else f"number {number}"


def _read_rule(raw: object, place: RulePlace) -> Rule:
    try:
        model = _Rule.model_validate(raw)
    except ValidationError as fault:
        refuse_shape(fault, place, KEYS)
    kinds = [kind for kind in DemandKind if getattr(model, kind) is not None]
    if len(kinds) != 1:
        found = f"has {' and '.join(kinds)}" if kinds else "demands nothing"
        place.refuse("", found, f"a rule has exactly one of {', '.join(DemandKind)}")
    return Rule(
        id=model.id,
        demand=_demand(model, place),
        clause=model.clause,
        severity=Severity(model.severity),
        when=None if model.when is None else read_condition(model.when, "when", place),
    )


def _demand(model: _Rule, place: RulePlace) -> Demand:
    if model.requires is not None:
        return _requires(model.requires, place)
    if model.forbids is not None:
        return Forbids(tools=place.tool_list("forbids", model.forbids))
    if model.at_most is not None:
        place.tool_list("at_most", list(model.at_most))
        return AtMost(limits=model.at_most)
    if model.before is not None:
        return _before(model.before, place)
    if model.after_approval is not None:
        return _after_approval(model.after_approval, place)
    # `_read_rule` has seen to it that exactly one demand is given, so this one is.
    return _argument(cast("_Argument", model.arguments), place)


def _requires(model: _Requires, place: RulePlace) -> Requires:
    if not model.all_of and not model.any_of:
        place.refuse("requires", "names no tool", "give all_of, any_of, or both")
    return Requires(
        all_of=place.tool_list("requires.all_of", model.all_of),
        any_of=place.tool_list("requires.any_of", model.any_of),
    )


def _before(stages: Sequence[str | list[str]], place: RulePlace) -> Before:
    lists = [[stage] if isinstance(stage, str) else stage for stage in stages]
    place.tool_list("before", [name for stage in lists for name in stage])
    return Before(stages=tuple(tuple(stage) for stage in lists))


def _after_approval(value: list[str] | dict[str, str], place: RulePlace) -> AfterApproval:
    place.tool_list("after_approval", list(value))
    return AfterApproval(steps=value if isinstance(value, dict) else dict.fromkeys(value, ""))


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
