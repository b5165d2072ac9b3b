"""Arguments that equal what the task expects, what a row holds, or what the run answered.

Values are compared as the judge compares them, by the type of the output field: no rule is
stricter or looser than the answer is. A column that is no output field has the type of its cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.answer import Answer
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Task
from pytest_sopbench._core.values.json import JsonValue

from .conditions import equal_as_written

SHORT = 60
"""Characters of a value that a reason shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsAnswer:
    """The argument is what the run answers in this output field; without an answer it is not."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsExpected:
    """The argument is an answer that the task accepts in this output field."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsColumn:
    """The argument is the value of this column of the row, whatever the column is for."""

    column: str
    private: bool = False


Value: TypeAlias = EqualsAnswer | EqualsExpected | EqualsColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What arguments are held against beside the calls of a run.

    `answer` is null where the agent was stopped before one could be looked for. `fields` are the
    output fields by name.
    """

    task: Task
    answer: Answer | None = None
    fields: Mapping[str, OutputField] = field(default_factory=dict[str, OutputField])


def unequal(value: Value, given: JsonValue, known: Known) -> str:
    """Say what an argument is and ought to be, or nothing where it is so."""
    match value:
        case EqualsAnswer():
            name, what = value.field, "the answer"
            wanted = _answered(value.field, known.answer)
        case EqualsExpected():
            name, what = value.field, "expected"
            accepted = (other[name] for other in known.task.acceptable if name in other)
            wanted = [known.task.expected_as_written[name], *accepted]
        case _:
            name, what = value.column, "column"
            wanted = [_cell(known.task, name)]
    output = known.fields.get(name)
    if any(_equal(output, one, given) for one in wanted):
        return ""
    if (output and output.private) or (isinstance(value, EqualsColumn) and value.private):
        return f"not the value of {what} {name}, which is private"
    ought = " or ".join(map(short, wanted)) or "not there: the run gave none"
    return f"{short(given)}, {what} {name} is {ought}"


def short(value: JsonValue) -> str:
    """A value on one line, cut to `SHORT` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT else f"{ready_to_cut(text)[: SHORT - 3]}..."


def _answered(name: str, answer: Answer | None) -> Sequence[JsonValue]:
    if answer is None or not answer.complete or name not in answer.values:
        return []
    return [answer.values[name]]


def _cell(task: Task, column: str) -> JsonValue:
    return {**task.results, **task.inputs, **task.expected_as_written}[column]


def _equal(output: OutputField | None, wanted: JsonValue, given: JsonValue) -> bool:
    if output is None:
        if isinstance(wanted, Mapping):
            return equal_as_written(wanted, given)
        output = OutputField(name="", type=_type_of(wanted))
    # What an answer need not have, an argument that is to equal it has to.
    return compare(replace(output, compare=Compare.EXACT), wanted, given) is None


def _type_of(cell: JsonValue) -> FieldType:
    if isinstance(cell, bool):
        return FieldType.BOOLEAN
    if isinstance(cell, int | float):
        return FieldType.NUMBER
    is_list = isinstance(cell, Sequence) and not isinstance(cell, str)
    return FieldType.LIST if is_list else FieldType.TEXT
