"""Rules about answers that an agent is handed, or that one column gives away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._audit.columns import (
    about_persons,
    follows,
    is_called_as_an_answer,
    is_one_to_one,
)
from pytest_sopbench._audit.model import Fault, Place, Rule, Severity
from pytest_sopbench._audit.policy_source import (
    frozen,
    right_by_category,
    right_by_one_question,
)
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import equal_as_written
from pytest_sopbench._loading.tools import parameter_names

GIVEN_AWAY: Final = 0.9
"""Share of rows from which on one column gives an answer away."""

_FEWEST: Final = 20
_GAIN: Final = 0.1

Columns = Mapping[str, Sequence[JsonValue]]


def _inputs_with_answers(subject: Subject) -> Iterator[Fault]:
    for column, name, how in _leaks(subject, subject.inputs):
        yield Fault(
            place=Place(file=subject.data_file, column=column),
            what=f"this input {how} {name!r}",
            do="the agent is given the answer: take the column off 'input_columns'",
        )


def _tools_with_answers(subject: Subject) -> Iterator[Fault]:
    for column, name, how in _leaks(subject, subject.served):
        tool = _tool_of(subject, column)
        yield Fault(
            place=Place(file=subject.metadata_file, column=column, tool=tool),
            what=f"what this tool serves {how} {name!r}",
            do="the tool decides, and the procedure tests nothing: serve what it is decided by",
        )


def _results_among_inputs(subject: Subject) -> Iterator[Fault]:
    """What a tool is there to tell, and the agent is given from the start."""
    for column in subject.domain.input_columns:
        tools = [one.name for one in subject.domain.tool_specs if _tells(subject, one, column)]
        if tools and column != subject.id_column:
            yield Fault(
                place=Place(file=subject.metadata_file, column=column, tool=tools[0]),
                what="this input is what the tool answers, so that nobody needs to call it",
                do="take it off 'input_columns', or off what the tool returns",
            )


def _tells(subject: Subject, spec: ToolSpec, column: str) -> bool:
    """Whether a tool answers with this input, and is not given it by who calls it."""
    lookup, sight = subject.domain.lookups.get(spec.name), subject.observed.tools.get(spec.name)
    if column in parameter_names(spec):
        return False
    if lookup is not None:
        return column in lookup.returns and not lookup.table
    told = [
        equal_as_written(one.result[column], subject.tasks[one.position].inputs[column])
        or one.result[column] == subject.cell(column, one.position)
        for one in (sight.answers if sight is not None else ())
        if isinstance(one.result, dict) and one.result.get(column) is not None
    ]
    return len(told) >= _FEWEST and sum(told) >= GIVEN_AWAY * len(told)


def _tool_of(subject: Subject, column: str) -> str:
    name = column.split(".", maxsplit=1)[0]
    tools = subject.domain.lookups.values()
    return next((tool.name for tool in tools if name in tool.returns), "")


def _leaks(subject: Subject, columns: Columns) -> Iterator[tuple[str, str, str]]:
    if len(subject.tasks) < _FEWEST:
        return
    for name, labels in subject.labels.items():
        if len(set(labels)) < 2:  # noqa: PLR2004 - one label is told by nothing
            continue
        for column, cells in columns.items():
            if all(cell is not None for cell in cells) and _is_equal(subject, name, cells, labels):
                yield column, name, "is equal to the output"
                continue
            texts = [frozen(cell) for cell in cells]
            if is_one_to_one(texts, labels):
                yield column, name, "tells one to one the output"
            elif is_called_as_an_answer(column) and follows(texts, labels):
                yield column, name, "is called as an answer, and follows the output"


def _is_equal(
    subject: Subject, name: str, cells: Sequence[JsonValue], labels: Sequence[str]
) -> bool:
    pairs = zip(cells, labels, strict=True)
    return all(subject.label(name, cell) == label for cell, label in pairs)


def _one_column_tells(subject: Subject) -> Iterator[Fault]:
    rows = len(subject.tasks)
    columns = {**subject.inputs, **subject.served} if rows >= _FEWEST else {}
    for name, labels in subject.labels.items():
        usual = max(Counter(labels).values(), default=0)
        told = Counter(
            {
                column: right
                for column, cells in columns.items()
                if (right := _right(cells, labels)) > GIVEN_AWAY * rows
                and right - usual > _GAIN * rows
            }
        )
        for column, right in told.most_common(1):
            others = f" (others that do: {len(told) - 1})" if len(told) > 1 else ""
            yield Fault(
                place=Place(file=subject.data_file, column=column),
                what=f"one question about it gives {name!r} on {right} of {rows} rows{others}",
                do="few rows test the rest of the procedure; add rows where it decides",
            )


def _right(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    if is_one_to_one([frozen(cell) for cell in cells], labels):
        return 0
    # Where texts are cut in two by their letters, nobody asks a question.
    texts = any(isinstance(cell, str) for cell in cells)
    return right_by_category(cells, labels) if texts else right_by_one_question(cells, labels)


def _persons(subject: Subject) -> Iterator[Fault]:
    found: dict[str, str] = {}
    for leaf, cells in {**subject.inputs, **subject.served}.items():
        texts = [cell for cell in cells if isinstance(cell, str)]
        column = leaf.split(".", maxsplit=1)[0]
        held = about_persons(column, texts) if texts else ""
        if held and column not in subject.domain.private_columns:
            found.setdefault(column, held)
    for column, held in found.items():
        yield Fault(
            place=Place(file=subject.data_file, column=column),
            what=f"this column seems to hold {held} of persons, and agents are given it",
            do="name it in 'private_columns', or take it away, unless the persons are made up",
        )


RULES: Final = (
    Rule(
        name="answer-in-input",
        severity=Severity.ERROR,
        looks_for="An input is equal to an output, tells it one to one, or repeats it.",
        look=_inputs_with_answers,
    ),
    Rule(
        name="answer-from-tool",
        severity=Severity.ERROR,
        looks_for="What a tool serves is equal to an output, tells it one to one, or repeats it.",
        look=_tools_with_answers,
    ),
    Rule(
        name="result-in-input",
        severity=Severity.WARNING,
        looks_for="An input is what a tool answers, though who calls the tool does not give it.",
        look=_results_among_inputs,
    ),
    Rule(
        name="personal-data",
        severity=Severity.NOTE,
        looks_for="Agents are given names, mail addresses or phone numbers of persons.",
        look=_persons,
    ),
    Rule(
        name="one-column-tells",
        severity=Severity.WARNING,
        looks_for="One question about one column gives an output on more than 90 % of the rows.",
        look=_one_column_tells,
    ),
)
