"""The contract of a domain, read from its `metadata.json`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias, cast

import jsonschema_rs
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model
from pydantic_core import ErrorDetails

from pytest_sopbench._core.contract import (
    AllOf,
    AnyOf,
    Condition,
    Contract,
    Not,
    Operator,
    Rule,
    Severity,
    Source,
    ValueCondition,
    choosy_comparisons,
    misread,
    unreadable_rules,
)
from pytest_sopbench._core.demands import (
    AfterApproval,
    ArgumentDemand,
    AsExpected,
    AsksApproval,
    AtMost,
    Before,
    Demand,
    DemandKind,
    EqualsAnswer,
    EqualsColumn,
    EqualsExpected,
    EqualsInput,
    EqualsResult,
    Forbids,
    InOrder,
    Origin,
    Requires,
    SatisfiesSchema,
    StateDemand,
)
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench.errors import LoadingError, RowError

from .files import first_twice, listed, nearest_few, shown
from .layout import Layout
from .metadata import Described
from .rows import TaskRows
from .tools import EXPECTED_CALLS_FILE as EXPECTED_CALLS
from .tools import references

# The rule that is being read: the names it may use, and the errors that name it.


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePlace:
    """A rule of the file at `path`; `rule` is its id in quotes, or its number if it has none.

    `tables` are those of the world, each with its columns.
    """

    path: Path
    rule: str
    tools: Collection[str]
    columns: Layout
    tables: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])

    def refuse(self, key: str, problem: str, hint: str = "") -> NoReturn:
        """Raise a `LoadingError` that names the file, the rule and the key."""
        where = f"rule {self.rule}, {key}" if key else f"rule {self.rule}"
        raise LoadingError(self.path, f"{where}: {problem}", column="contract", hint=hint)

    def known(self, key: str, kind: str, name: str, names: Collection[str]) -> str:
        if name not in names:
            near = nearest_few(name, names)
            known = listed(sorted(names)) or "none"
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {known}"
            self.refuse(key, f"no {kind} is called {name!r}", hint)
        return name

    def tool(self, key: str, name: str) -> str:
        return self.known(key, "tool", name, self.tools)

    def tool_list(self, key: str, names: Sequence[str]) -> tuple[str, ...]:
        twice = first_twice(names)
        if twice is not None:
            self.refuse(key, f"tool {twice!r} is named twice", "name it once")
        return tuple(self.tool(key, name) for name in names)

    def column(self, key: str, source: Source, name: str) -> str:
        """Return the column for a name, which for a result may be `column` or `tool.column`."""
        if source is Source.INPUT:
            return self.known(key, "input", name, self.columns.inputs)
        tool, dot, column = name.partition(".")
        if name in self.columns.results or not dot:
            return self.known(key, "tool result", name, self.columns.results)
        self.tool(key, tool)
        return self.known(key, "tool result", column, self.columns.results)

    def output(self, key: str, name: str) -> str:
        return self.known(key, "output field", name, self.columns.outputs)


# The conditions of rules, from JSON: what a rule may ask of a task's inputs and tool results.

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
        try:
            linear_pattern(model.matches)
        except PatternError as fault:
            problem = f"{shown(model.matches)} is no regular expression that can be used: {fault}"
            place.refuse(f"{key}.matches", problem)
    return ValueCondition(
        source=source,
        name=place.column(key, source, model.input or model.result or ""),
        bounds=bounds,
    )


def _given(model: ConditionModel) -> set[str]:
    # A null means something as a bound of `equals` alone; anywhere else it is not there.
    return {
        name.rstrip("_")
        for name in model.model_fields_set
        if name.endswith("equals") or getattr(model, name) is not None
    }


# What is wrong with the shape of a rule, in the words of whoever writes one.

WORDS = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "an object",
    "string_too_short": "text that is not empty",
    "string_type": "text",
}
"""What must stand in a place, by the type of pydantic's error; others carry their own words."""

UNION_TAGS = ("constrained-", "list[", "dict[", "str", "float", "int", "[key]")
"""How pydantic names the members of a union in the place of an error; nobody wrote these."""


def refuse_shape(fault: ValidationError, place: RulePlace, keys: Collection[str]) -> NoReturn:
    """Raise the first error of a rule; `keys` are all that a rule knows, for the hint."""
    # A union reports an error for each of its members; the deepest got furthest.
    errors = sorted(fault.errors(), key=lambda error: -len(_key(error["loc"])))
    first = errors[0]
    key = _key(first["loc"])
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        near = difflib.get_close_matches(name, set(keys) - {name}, n=1)
        known = f"known: {', '.join(sorted(keys))}"
        place.refuse(key, "unknown key", f"did you mean {near[0]!r}?" if near else known)
    if first["type"] == "missing":
        place.refuse(key, "missing")
    same_place = [error for error in errors if _key(error["loc"]) == key]
    place.refuse(key, _problem(same_place))


def _problem(errors: Sequence[ErrorDetails]) -> str:
    for error in errors:
        details = error.get("ctx", {})
        if error["type"] == "too_short":
            return (
                f"has {details['actual_length']} elements, needs at least {details['min_length']}"
            )
        if error["type"] == "greater_than_equal":
            return f"must be at least {details['ge']}"
    wanted = [WORDS.get(one["type"], one["msg"].removeprefix("Input should be ")) for one in errors]
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    return f"must be {' or '.join(wanted)}"


def _key(parts: Sequence[int | str]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith(UNION_TAGS):
            text += f".{part}" if text else part
    return text


# What a domain asks of the way to an answer: its contract, and the calls it expects.


def domain_contract(
    described: Described,
    layout: Layout,
    specs: Sequence[ToolSpec],
    tasks: TaskRows,
    expected: Mapping[str, tuple[ExpectedCall, ...]],
    tables: Mapping[str, Collection[str]],
) -> Contract | None:
    """Read the key `contract`, and see that its conditions can read every row.

    Raises:
        LoadingError: a rule cannot be used, or a task lacks the calls that a rule holds it to.
        RowError: a condition cannot read a row, which would switch its rule off unsaid.
    """
    if described.metadata.contract is None:
        return None

    contract = read_contract(
        described.metadata.contract,
        path=described.path,
        tools=[spec.name for spec in specs],
        columns=layout,
        tables=tables,
    )
    _check_rows(contract, tasks)
    _check_expected(contract, described.path, tasks.ids, expected)
    return contract


def _check_expected(
    contract: Contract, path: Path, ids: Sequence[str], expected: Collection[str]
) -> None:
    """Refuse a task without expected calls, to which no such rule would ever apply."""
    asking = [one for one in contract.rules if isinstance(one.demand, AsExpected)]
    lacking = [one for one in ids if one not in expected] if asking else []
    if lacking:
        raise LoadingError(
            path,
            f"rule {asking[0].id!r}, as_expected: {EXPECTED_CALLS} has no line for"
            f" {len(lacking)} of {len(ids)} tasks, such as {lacking[0]!r}",
            column="contract",
            hint='give each task a line; "calls": [] expects none',
        )


def _check_rows(contract: Contract, tasks: TaskRows) -> None:
    """Refuse the first row that a condition cannot read; no other task is built."""
    doubtful = [
        position
        for comparison in choosy_comparisons(contract)
        for position, value in tasks.distinct_values(comparison.name)
        if any(misread(comparison, value))
    ]
    if doubtful:
        task = tasks[min(doubtful)]
        raise RowError(
            tasks.path,
            unreadable_rules(contract, task)[0],
            row=task.line,
            hint="change the cell, the type of its column (key 'types'), or the rule",
        )


# How each demand is written in a rule, and how it is read: by the kind of the demand.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DemandReader:
    """Reads one kind of demand.

    `shape` is what may stand under its key, as pydantic annotates it, and `read` makes the demand
    of such a value.
    """

    shape: Any
    read: Callable[[Any, RulePlace], Demand]


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


def _stages(
    key: str, stages: Sequence[str | list[str]], place: RulePlace
) -> tuple[tuple[str, ...], ...]:
    lists = [[stage] if isinstance(stage, str) else stage for stage in stages]
    place.tool_list(key, [name for stage in lists for name in stage])
    return tuple(tuple(stage) for stage in lists)


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
        parts = place.columns
        known = [*parts.inputs, *parts.results, *parts.outputs]
        column = place.known("arguments.equals_column", "column", model.equals_column, known)
        return EqualsColumn(column=column, private=column in place.columns.private)
    return _schema(model.json_schema or {}, place)


def _schema(schema: dict[str, JsonValue], place: RulePlace) -> SatisfiesSchema:
    remote = next((one for one in references(schema) if one[:1] != "#"), None)
    if remote is not None:
        problem = f"the reference {remote!r} leaves the schema"
        place.refuse("arguments.schema", problem, "nothing is fetched; write it in place")
    try:
        jsonschema_rs.validator_for(schema)
    except ValueError as fault:
        first = str(fault).partition("\n")[0]
        place.refuse("arguments.schema", f"not a JSON schema: {first}")
    return SatisfiesSchema(schema=schema)


def _as_expected(tools: Sequence[str], place: RulePlace) -> AsExpected:
    private = tuple(sorted(place.columns.private))
    return AsExpected(tools=place.tool_list("as_expected", tools), private=private)


class _State(Strict):
    table: Name
    at_most: Annotated[int, Field(ge=0)] | None = None
    per: Names = Field(default_factory=list[Name])
    where: dict[Name, JsonValue] = Field(default_factory=dict[str, JsonValue])
    unchanged: Literal[True] | None = None


def _state(model: _State, place: RulePlace) -> StateDemand:
    columns = place.tables[place.known("state", "table of the world", model.table, place.tables)]
    for name in (*model.per, *model.where):
        place.known("state", f"column of {model.table}", name, columns)
    if (model.at_most is None) is not bool(model.unchanged):
        place.refuse(
            "state", "needs one of 'at_most' and 'unchanged'", "how many rows may there be?"
        )
    if model.unchanged and (model.per or model.where):
        place.refuse("state", "'per' and 'where' mean nothing beside 'unchanged'", "take them off")
    return StateDemand(
        table=model.table,
        at_most=model.at_most or 0,
        per=tuple(model.per),
        where=model.where,
        unchanged=bool(model.unchanged),
        private=tuple(sorted(place.columns.private)),
    )


def _at_most(limits: dict[str, int], place: RulePlace) -> AtMost:
    place.tool_list("at_most", list(limits))
    return AtMost(limits=limits)


READERS: Final[dict[str, DemandReader]] = {
    DemandKind.REQUIRES: DemandReader(shape=_Requires, read=_requires),
    DemandKind.FORBIDS: DemandReader(
        shape=Names, read=lambda names, place: Forbids(tools=place.tool_list("forbids", names))
    ),
    DemandKind.AT_MOST: DemandReader(
        shape=Annotated[dict[Name, Annotated[int, Field(ge=1)]], Field(min_length=1)],
        read=_at_most,
    ),
    DemandKind.BEFORE: DemandReader(
        shape=_Stages,
        read=lambda stages, place: Before(stages=_stages("before", stages, place)),
    ),
    DemandKind.IN_ORDER: DemandReader(
        shape=_Stages,
        read=lambda stages, place: InOrder(stages=_stages("in_order", stages, place)),
    ),
    DemandKind.AFTER_APPROVAL: DemandReader(
        shape=Annotated[Names | dict[Name, Name], Field(min_length=1)], read=_after_approval
    ),
    DemandKind.ASKS_APPROVAL: DemandReader(
        shape=Names, read=lambda steps, _: AsksApproval(steps=tuple(steps))
    ),
    DemandKind.ARGUMENTS: DemandReader(shape=_Argument, read=_argument),
    DemandKind.AS_EXPECTED: DemandReader(shape=Names, read=_as_expected),
    DemandKind.STATE: DemandReader(shape=_State, read=_state),
}
"""The reader of every demand; a rule has exactly one of these keys."""


# The contract of a domain, from the JSON of its metadata to rules; every error names the rule.


class _Rule(Strict):
    id: Name
    clause: str = ""
    severity: Literal["must", "should"] = "should"
    when: ConditionModel | None = None


def read_contract(
    data: object,
    *,
    path: Path,
    tools: Collection[str],
    columns: Layout,
    tables: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Contract:
    """Read the value of the key `contract` of the metadata in `path`.

    Args:
        data: `{"rules": [...]}`, as JSON gives it.
        path: the file, for errors.
        tools: the names of the domain's tools.
        columns: the part of each column.
        tables: those of the world, each with its columns.

    Raises:
        LoadingError: a key or value that no rule has, a rule without a demand or with two, an
            id given twice, or the name of a tool or column that the domain does not have.
    """
    shape = _rule_shape(frozenset(READERS))
    seen: set[str] = set()
    rules: list[Rule] = []
    for number, raw in enumerate(_rule_list(data, path), start=1):
        label = _label(raw, number)
        place = RulePlace(path=path, rule=label, tools=tools, columns=columns, tables=tables)
        rule = _read_rule(raw, place, shape)
        if rule.id in seen:
            place.refuse("id", "given to two rules", "give every rule its own id")
        seen.add(rule.id)
        rules.append(rule)
    return Contract(rules=tuple(rules))


@cache
def _rule_shape(kinds: frozenset[str]) -> type[_Rule]:
    """Return what every rule has, with one key for each of these kinds of demands."""
    demands: dict[str, Any] = {str(one): (READERS[one].shape | None, None) for one in kinds}
    return create_model("Rule", __base__=_Rule, **demands)


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


def _read_rule(raw: object, place: RulePlace, shape: type[_Rule]) -> Rule:
    try:
        model = shape.model_validate(raw)
    except ValidationError as fault:
        # Every key that may stand somewhere in a rule.
        inside: tuple[type[Strict], ...] = (shape, ConditionModel, _Requires, _Argument, _State)
        refuse_shape(fault, place, frozenset[str]().union(*map(keys_of, inside)))
    given = {kind: value for kind in READERS if (value := getattr(model, kind)) is not None}
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "demands nothing"
        place.refuse("", found, f"a rule has exactly one of {', '.join(READERS)}")
    ((kind, value),) = given.items()
    return Rule(
        id=model.id,
        demand=READERS[kind].read(value, place),
        clause=model.clause,
        severity=Severity(model.severity),
        when=None if model.when is None else read_condition(model.when, "when", place),
    )
