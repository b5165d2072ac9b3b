"""The conditions of rules, from JSON: what a rule may ask of a task's inputs and tool results."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_sopbench._core.contract.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Not,
    Operator,
    Source,
    ValueCondition,
)
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench._loading.files.suggestions import shown

from .context import RulePlace

Name: TypeAlias = Annotated[str, Field(min_length=1)]
Names: TypeAlias = Annotated[list[Name], Field(min_length=1)]


class Strict(BaseModel):
    """Part of a contract: no unknown keys, and no value read as another type."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class ConditionModel(Strict):
    """A condition as it is written; which keys go together is checked by `read_condition`."""

    input: Name | None = None
    result: Name | None = None
    equals: JsonValue = None
    not_equals: JsonValue = None
    in_: list[JsonValue] = Field(default_factory=list[JsonValue], alias="in", min_length=1)
    at_least: int | float | str = 0
    at_most: int | float | str = 0
    above: int | float | str = 0
    below: int | float | str = 0
    matches: Name = ""
    present: bool = True
    empty: bool = True
    all: Annotated[list[ConditionModel], Field(min_length=1)] | None = None
    any: Annotated[list[ConditionModel], Field(min_length=1)] | None = None
    not_: ConditionModel | None = Field(None, alias="not")


HEADS = ("input", "result", "all", "any", "not")
"""What a condition looks at: exactly one of these."""


def read_condition(model: ConditionModel, key: str, place: RulePlace) -> Condition:
    """Turn a condition into a value; `key` is where it stands in its rule.

    Raises:
        LoadingError: it looks at nothing, at two things, or at what the domain does not have.
    """
    heads = [name for name in HEADS if name in _given(model)]
    if len(heads) != 1:
        found = f"has {' and '.join(heads)}" if heads else "says nothing to look at"
        place.refuse(key, found, f"a condition has exactly one of {', '.join(HEADS)}")
    if model.input is not None or model.result is not None:
        return _comparison(model, key, place)
    others = sorted(_given(model) - {*heads})
    if others:
        place.refuse(f"{key}.{others[0]}", "needs 'input' or 'result' beside it")
    if model.not_ is not None:
        return Not(condition=read_condition(model.not_, f"{key}.not", place))
    inner = tuple(
        read_condition(one, f"{key}.{heads[0]}[{index}]", place)
        for index, one in enumerate(model.all or model.any or [])
    )
    return AllOf(conditions=inner) if model.all else AnyOf(conditions=inner)


def _comparison(model: ConditionModel, key: str, place: RulePlace) -> ValueCondition:
    source = Source.INPUT if model.input is not None else Source.RESULT
    bounds = tuple(
        (operator, getattr(model, "in_" if operator is Operator.IN else operator))
        for operator in Operator
        if operator in _given(model)
    )
    if not bounds:
        place.refuse(key, "compares with nothing", f"add one of {', '.join(Operator)}")
    if Operator.MATCHES in _given(model):
        _check_pattern(model.matches, f"{key}.matches", place)
    return ValueCondition(
        source=source,
        name=place.column(key, source, model.input or model.result or ""),
        bounds=bounds,
    )


def _check_pattern(pattern: str, key: str, place: RulePlace) -> None:
    try:
        linear_pattern(pattern)
    except PatternError as fault:
        place.refuse(key, f"{shown(pattern)} is no regular expression that can be used: {fault}")


def _given(model: ConditionModel) -> set[str]:
    # A null means something as a bound of `equals` alone; anywhere else it is not there.
    return {
        name.rstrip("_")
        for name in model.model_fields_set
        if name.endswith("equals") or getattr(model, name) is not None
    }
