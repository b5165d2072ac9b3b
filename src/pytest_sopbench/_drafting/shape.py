"""The data and the tools of a drafted domain: read from a model's or a person's words, checked.

Schemas, look-ups and metadata follow from these words, so a model writes none of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.asking import UnusableError
from pytest_sopbench._loading.tables import csv_text

ID: Final = "case_id"
"""The column with the id of the task; every draft has it as its first input."""

_ENTRY: Final = "entry"
"""The key of the tables that tools write into."""

NUMBER, DATE, CHOICE, BOOLEAN, TEXT, KEY = "number", "date", "choice", "boolean", "text", "id"
_TYPES: Final = (NUMBER, DATE, CHOICE, BOOLEAN, TEXT, KEY)
_OUTPUTS: Final = ("enum", "boolean", "integer", "number")
_PLACEHOLDERS: Final[Mapping[str, JsonValue]] = {"boolean": True, "integer": 0, "number": 0}

Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One fact of a case, and the values that it can have.

    `low`, `high` and `step` are of numbers, and of dates as days since year 1. Keys count on from
    `first`, in `width` digits. `odd` are values as real records have them that are no usual ones.
    """

    name: str
    type: str
    about: str = ""
    values: tuple[str, ...] = ()
    low: Decimal = Decimal(0)
    high: Decimal = Decimal(0)
    step: Decimal = Decimal(1)
    prefix: str = ""
    first: int = 10_001
    width: int = 0
    odd: tuple[JsonValue, ...] = ()

    @property
    def is_ordered(self) -> bool:
        return self.type in {NUMBER, DATE}

    def value(self, number: Decimal) -> JsonValue:
        """Return a number as a value of this column, inside its range and on its steps."""
        steps = round((min(max(number, self.low), self.high) - self.low) / self.step)
        held = self.low + steps * self.step
        if self.type == DATE:
            return date.fromordinal(int(held)).isoformat()
        return int(held) if held == int(held) else float(held)

    def holds(self, number: Decimal) -> bool:
        """Whether a number lies in the range."""
        return self.low <= number <= self.high

    def number(self, value: JsonValue) -> Decimal:
        """Return the number that a value of this column stands for."""
        if self.type == DATE:
            return Decimal(date.fromisoformat(str(value)).toordinal())
        return Decimal(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool without code: it looks columns up by others, or does something and says so.

    `takes` are arguments of a tool that does something which stand in no column, since the
    procedure has them found out: each has a name and a type, as an output has.
    """

    name: str
    description: str
    key: tuple[str, ...]
    returns: tuple[str, ...] = ()
    may_be_missing: bool = False
    takes: tuple[Mapping[str, Any], ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """All that a call of it has to give: its key, and what the caller has found out."""
        return (*self.key, *(str(one["name"]) for one in self.takes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Everything of a domain but its procedure, its policy and its rows."""

    outputs: Sequence[Mapping[str, Any]]
    columns: tuple[Column, ...]
    inputs: tuple[str, ...]
    tools: tuple[Tool, ...]
    distractors: tuple[str, ...] = ()
    id_column: str = ID

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(str(one["name"]) for one in self.outputs)

    @property
    def writers(self) -> tuple[Tool, ...]:
        """The tools that do something; what is left undone makes a run wrong."""
        return tuple(one for one in self.tools if not one.returns)

    def placeholders(self) -> dict[str, JsonValue]:
        """Return an answer of the right types, for rows that have no label yet."""
        return {
            one["name"]: one["values"][0] if one["type"] == "enum" else _PLACEHOLDERS[one["type"]]
            for one in self.outputs
        }

    def fault_of(self, answer: Mapping[str, JsonValue]) -> str:
        """Say why this is no answer of the domain, or nothing."""
        if set(answer) != set(self.output_names):
            return f"it answers the fields {', '.join(answer) or 'none'}"
        for one in self.outputs:
            value = answer[one["name"]]
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            is_whole = isinstance(value, int | float) and float(value).is_integer()
            held = {
                "enum": value in one["values"],
                "boolean": isinstance(value, bool),
                "integer": is_number and is_whole,
                "number": is_number,
            }
            if not held[one["type"]]:
                return f"{one['name']} is {value!r}, which is no value of it"
        return ""

    def tool_specs(self) -> str:
        """Return `toolspecs.json`."""
        by_name = {one.name: one for one in self.columns}
        specs = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        **{name: _schema(by_name[name]) for name in tool.key},
                        **{str(one["name"]): _argument(one) for one in tool.takes},
                    },
                    "required": list(tool.arguments),
                    "additionalProperties": False,
                },
            }
            for tool in self.tools
        ]
        return json.dumps(specs, indent=2, ensure_ascii=False) + "\n"

    def metadata(self, name: str, title: str, description: str) -> str:
        """Return `metadata.json`."""
        data: dict[str, Any] = {
            "name": name,
            "title": title,
            "description": description,
            "id_column": ID,
            "input_columns": [ID, *self.inputs],
            "output_columns": list(self.output_names),
            "outputs": {one["name"]: _output(one) for one in self.outputs},
            "types": {ID: "text", **{one.name: _type(one) for one in self.columns}},
            "tools": {one.name: _entry(one) for one in self.tools},
        }
        if self.writers:
            # Whether a right run has written, and what, its policy says.
            data["judged"] = ["answer", "state"]
        if self.distractors:
            data["distractors"] = list(self.distractors)
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    def world(self) -> str:
        """Return `world.json`: for each tool that writes an empty table of what it was told."""
        tables = {
            one.name: {"key": _ENTRY, "columns": [_ENTRY, *one.arguments], "rows": []}
            for one in self.writers
        }
        return json.dumps({"tables": tables}, indent=2) + "\n"

    def data(self, rows: Sequence[Row], header: Sequence[str] = ()) -> str:
        """Return `data.csv`: the rows with their ids and labels, under these headers or its own."""
        own = [self.id_column, *(one.name for one in self.columns), *self.output_names]
        names = header or own
        return csv_text([names]) + self.lines(rows, names)

    def lines(self, rows: Sequence[Row], names: Sequence[str], ending: str = "\n") -> str:
        """Return rows as they stand under these headers."""
        keys = [ID if name == self.id_column else name for name in names]
        return csv_text(([_cell(row.get(key)) for key in keys] for row in rows), ending)

    def interface(self) -> str:
        """Say to who writes a policy what there is: inputs, tools and what they return, outputs."""
        by_name = {one.name: one for one in self.columns}
        lines = ["inputs:", *(f"  {_told(by_name[name])}" for name in self.inputs), "tools:"]
        for tool in self.tools:
            lines.append(f"  {tool.name}({', '.join(tool.arguments)}): {tool.description}")
            lines += (f"    takes {_value_told(one)}" for one in tool.takes)
            lines += (f"    returns {_told(by_name[name])}" for name in tool.returns)
            if tool.may_be_missing:
                lines.append("    raises ToolError if there is no such record")
        lines.append("outputs:")
        lines += (f"  {_value_told(one)}" for one in self.outputs)
        return "\n".join(lines)


def _schema(column: Column) -> dict[str, Any]:
    about = {"description": column.about} if column.about else {}
    if column.type == NUMBER:
        return {"type": "integer" if column.step == int(column.step) else "number", **about}
    return {"type": "boolean" if column.type == BOOLEAN else "string", **about}


def _argument(one: Mapping[str, Any]) -> dict[str, Any]:
    if one["type"] == "enum":
        return {"type": "string", "enum": one["values"]}
    return {"type": one["type"]}


def _value_told(one: Mapping[str, Any]) -> str:
    told = f", one of {json.dumps(one['values'])}" if one["type"] == "enum" else ""
    return f"{one['name']}: {one['type']}{told}"


def _type(column: Column) -> str:
    return {NUMBER: "number", BOOLEAN: "boolean"}.get(column.type, "text")


def _output(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": one["type"], **({"values": one["values"]} if one["type"] == "enum" else {})}


def _entry(tool: Tool) -> dict[str, Any]:
    if not tool.returns:
        told = {name: {"argument": name} for name in tool.arguments}
        return {"insert": tool.name, "set": {_ENTRY: {"next": "E-"}, **told}}
    return {"key": list(tool.key), "returns": list(tool.returns), "missing": "error"}


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _told(column: Column) -> str:
    values = [*column.values, *(column.odd if column.type == CHOICE else ())]
    kind = {CHOICE: f"one of {json.dumps(values)}", KEY: "text", DATE: "ISO date"}
    return f"{column.name}: {kind.get(column.type, column.type)} ({column.about or 'no remark'})"


# Read what a model or a person wrote, and name what is wrong with it.


def read_shape(data: Mapping[str, Any]) -> Shape:
    """Read the words of `drafting/tools.json`.

    Raises:
        UnusableError: something is missing, or does not fit the rest.
    """
    try:
        shape = Shape(
            outputs=tuple(map(_read_output, data["outputs"])),
            columns=tuple(map(_read_column, data["columns"])),
            inputs=tuple(map(str, data["inputs"])),
            tools=tuple(map(_read_tool, data["tools"])),
            distractors=tuple(map(str, data.get("distractors") or ())),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as fault:
        msg = f"it does not keep to the form: {type(fault).__name__}: {fault}"
        raise UnusableError(msg) from fault
    if problem := next(_problems(shape), ""):
        raise UnusableError(problem)
    return shape


def _read_output(told: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = str(told.get("type", "enum"))
    values = [str(one) for one in told.get("values") or ()]
    return {"name": str(told["name"]), "type": kind, "values": values}


def _read_column(told: Mapping[str, Any]) -> Column:
    kind = str(told["type"])
    low, high, step = told.get("low", 0), told.get("high", 0), told.get("step", 1)
    if kind == DATE:
        low, high = (date.fromisoformat(str(one)).toordinal() for one in (low, high))
        step = 1
    return Column(
        name=str(told["name"]),
        type=kind,
        about=str(told.get("about", "")),
        values=tuple(map(str, told.get("values") or ())),
        low=Decimal(str(low)),
        high=Decimal(str(high)),
        step=Decimal(str(step)),
        prefix=str(told.get("prefix", "")),
        odd=tuple(told.get("odd") or ()),
    )


def _read_tool(told: Mapping[str, Any]) -> Tool:
    return Tool(
        name=str(told["name"]),
        description=str(told["description"]),
        key=tuple(map(str, told["key"])),
        returns=tuple(map(str, told.get("returns") or ())),
        may_be_missing=bool(told.get("may_be_missing")),
        takes=tuple(map(_read_output, told.get("takes") or ())),
    )


def _problems(shape: Shape) -> Iterator[str]:
    names = [one.name for one in shape.columns]
    yield from _of_names(shape, names)
    if not shape.outputs or not shape.inputs:
        yield "there is no output, or no input"
    for column in shape.columns:
        yield from _of_column(column)
    for name in (
        *shape.inputs,
        *(name for tool in shape.tools for name in (*tool.key, *tool.returns)),
    ):
        if name not in names:
            yield f"there is no column {name!r}"
    yield from _of_tools(shape, names)


def _of_names(shape: Shape, names: Collection[str]) -> Iterator[str]:
    every = [ID, *names, *shape.output_names]
    for name in every:
        if not name.isidentifier():
            yield f"{name!r} is no name of a column: letters, digits and _"
        if every.count(name) > 1:
            yield f"the name {name!r} stands for two columns or outputs"
    for one in shape.outputs:
        yield from _of_value(one, f"output {one['name']!r}")


def _of_value(one: Mapping[str, Any], what: str) -> Iterator[str]:
    if one["type"] not in _OUTPUTS:
        yield f"{what}: {one['type']!r} is none of {', '.join(_OUTPUTS)}"
    if one["type"] == "enum" and len(set(one["values"])) < 2:  # noqa: PLR2004 - a choice
        yield f"{what}: it needs two values or more"


def _of_column(column: Column) -> Iterator[str]:
    if column.type not in _TYPES:
        yield f"column {column.name!r}: {column.type!r} is none of {', '.join(_TYPES)}"
    if column.is_ordered and not (column.low < column.high and column.step > 0):
        yield f"column {column.name!r}: 'low' has to be below 'high', and 'step' above 0"
    if column.type in {CHOICE, TEXT} and not column.values:
        yield f"column {column.name!r}: it has no values"
    for value in column.odd:
        if not _is_of(column, value):
            yield f"column {column.name!r}: the odd value {value!r} is no {column.type}"


def _is_of(column: Column, value: JsonValue) -> bool:
    if column.type == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if column.type == DATE:
        try:
            return isinstance(value, str) and bool(date.fromisoformat(value))
        except ValueError:
            return False
    return column.type in {CHOICE, TEXT} and isinstance(value, str) and bool(value)


def _of_takes(tool: Tool) -> Iterator[str]:
    if tool.takes and tool.returns:
        yield f"tool {tool.name!r}: only a tool that writes takes what stands in no column"
    for one in tool.takes:
        what = f"tool {tool.name!r}: argument {one['name']!r}"
        yield from _of_value(one, what)
        if not one["name"].isidentifier() or tool.arguments.count(one["name"]) > 1:
            yield f"{what} is no name, or stands twice"
        if one["name"] == _ENTRY:
            yield f"{what}: the name stands for the entry itself"


def _of_tools(shape: Shape, names: Collection[str]) -> Iterator[str]:
    returned = [name for tool in shape.tools for name in tool.returns]
    for name in names:
        if (name in shape.inputs) + (name in returned) != 1:
            yield f"column {name!r} is to be an input, or else returned by a tool"
    tools = [one.name for one in shape.tools]
    for tool in shape.tools:
        if not tool.name.isidentifier() or tools.count(tool.name) > 1:
            yield f"{tool.name!r} is no name of a tool, or stands twice"
        if not tool.key:
            yield f"tool {tool.name!r}: it has no key"
        yield from _of_takes(tool)
    for name in set(shape.distractors) - set(tools):
        yield f"distractor {name!r} is no tool"
