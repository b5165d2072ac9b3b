"""Everything that is decided before a domain is written."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_sopbench._core.values.text import is_empty
from pytest_sopbench._loading.files.cells import ColumnType, infer_type
from pytest_sopbench._making.place import Place, template
from pytest_sopbench._making.sheet.table import Column, Kind, Sheet
from pytest_sopbench._reports.text import counted
from pytest_sopbench.errors import LoadingError

from .fields import (
    OutputValues,
    ProposedTool,
    Roles,
    about_the_answer,
    check_roles,
    counts_rows,
    field_names,
    names_of,
    output_notes,
    output_values,
    proposed_tools,
    tells_of_persons,
    tool_entry,
    tool_spec,
)

# Which rows become tasks; the others are left out by name, with the reason.

_ROWS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A row that becomes no task; as a text its number and its id."""

    number: int
    id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.number} ({self.id})" if self.id else f"{self.number}"


def sorted_rows(
    sheet: Sheet, roles: Roles, *, texts: Sequence[Column] = ()
) -> tuple[list[int], list[LeftOut]]:
    """Return the places of the rows that become tasks, and those that do not.

    `texts` are outputs without labels of their own: a word such as `none` is no answer there.
    """
    ids = roles.id.texts
    reasons = _reasons(sheet, roles, texts)
    kept = [place for place in range(len(sheet.numbers)) if place not in reasons]
    left_out = [
        LeftOut(number=sheet.numbers[place], id=ids[place], reason=reason)
        for place, reason in sorted(reasons.items())
    ]
    return kept, left_out


def _reasons(sheet: Sheet, roles: Roles, texts: Sequence[Column]) -> Mapping[int, str]:
    reasons: dict[int, str] = {}
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(roles.id.texts):
        if not text:
            reasons[place] = f"{roles.id.name} is empty"
            continue
        if problem := _empty_output(roles, place) or _word_for_nothing(texts, place):
            reasons[place] = problem
            continue
        places[text].append(place)
    for same in places.values():
        if len(same) > 1:
            reasons |= _twice(sheet, same)
    return reasons


def _empty_output(roles: Roles, place: int) -> str:
    for output in roles.outputs:
        cell = output.cells[place]
        if not cell.text:
            why = {
                Kind.FORMULA: "holds a formula without a stored value",
                Kind.FAULT: "holds an error of Excel",
            }
            return f"{output.name} {why.get(cell.kind, 'is empty')}"
    return ""


def _word_for_nothing(outputs: Sequence[Column], place: int) -> str:
    for output in outputs:
        text = output.cells[place].text
        if is_empty(text):
            return f"{output.name} is {text!r}, which stands for no answer"
    return ""


def _twice(sheet: Sheet, places: list[int]) -> dict[int, str]:
    """Keep the first of rows that are equal; of rows that differ nobody knows which is right."""
    first, *others = places
    texts = [[column.cells[place].text for column in sheet.columns] for place in places]
    if all(one == texts[0] for one in texts):
        return dict.fromkeys(others, f"the same as row {sheet.numbers[first]}")
    numbers = [str(sheet.numbers[place]) for place in places]
    told = f"rows {_and(numbers)} have this id and differ, so none is taken"
    return dict.fromkeys(places, told)


def _and(texts: list[str]) -> str:
    if len(texts) > _ROWS_SHOWN:
        return f"{', '.join(texts[:_ROWS_SHOWN])} and {len(texts) - _ROWS_SHOWN} more"
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def kept_texts(column: Column, kept: list[int]) -> list[str]:
    """Return the texts of a column in the rows that become tasks."""
    return [column.cells[place].text for place in kept]


_SHOWN: Final = 3
_COUNTS: Final = "it counts the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """The text of a procedure, the name of its file, and where it is from."""

    file: str
    text: str
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A domain that is to be made from a table.

    `names` are ours, by those of the columns. `kept` are the places of the rows that become
    tasks. `dropped` are the columns that are left out, with the reason.
    """

    place: Place
    sheet: Sheet
    roles: Roles
    procedure: Procedure
    names: Mapping[str, str]
    kept: Sequence[int]
    left_out: Sequence[LeftOut]
    outputs: Mapping[str, OutputValues]
    tools: Sequence[ProposedTool]
    dropped: Mapping[str, str]
    texts: frozenset[str]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data file."""
        return tuple(one for one in self.sheet.columns if one.name not in self.dropped)

    def values(self, column: Column) -> list[str]:
        """Return the texts of a column in the rows that become tasks."""
        return kept_texts(column, list(self.kept))


def make_plan(place: Place, sheet: Sheet, roles: Roles, procedure: Procedure) -> Plan:
    """Decide everything; nothing is written.

    Raises:
        LoadingError: columns have parts that exclude each other, or no row is left.
    """
    check_roles(sheet, roles)
    kept, left_out = sorted_rows(sheet, roles)
    outputs = _outputs(roles, kept)
    unlabelled = [one for one in roles.outputs if not _has_labels(one, roles, outputs)]
    if any(is_empty(text) for one in unlabelled for text in kept_texts(one, kept)):
        kept, left_out = sorted_rows(sheet, roles, texts=unlabelled)
        outputs = _outputs(roles, kept)
    if not kept:
        told = [f"row {one}: {one.reason}" for one in left_out[:_SHOWN]]
        hint = f"left out: {'; '.join(told)} ..."
        raise LoadingError(sheet.path, "no row is left to become a task", hint=hint)
    named = (*roles.given, *roles.outputs, *roles.private)
    left = [one for one in sheet.columns if one not in named]
    asked = {one.name for one in roles.tools}
    dropped = {
        one.name: why
        for one in left
        if one.name not in asked and (why := _no_tool(one, sheet, roles))
    }
    served = [one for one in left if one.name not in dropped]
    names = field_names([one.name for one in sheet.columns if one.name not in dropped])
    return Plan(
        place=place,
        sheet=sheet,
        roles=roles,
        procedure=procedure,
        names=names,
        kept=kept,
        left_out=left_out,
        outputs=outputs,
        tools=proposed_tools(served, names, kept),
        dropped=dropped,
        texts=frozenset(one.name for one in sheet.columns if _stays_text(sheet, roles, one, kept)),
        notes=(
            *sheet.notes,
            *procedure.notes,
            *(note for one in roles.outputs for note in _about(one, outputs[one.name], roles)),
            *_dropped(dropped),
            *_leaks(roles),
            *_personal(roles, served),
        ),
    )


def _outputs(roles: Roles, kept: list[int]) -> dict[str, OutputValues]:
    return {
        one.name: output_values(kept_texts(one, kept), as_text=one.stays_text)
        for one in roles.outputs
    }


def _has_labels(output: Column, roles: Roles, outputs: Mapping[str, OutputValues]) -> bool:
    return bool(outputs[output.name].labels) and output not in roles.private


def _no_tool(column: Column, sheet: Sheet, roles: Roles) -> str:
    """Say why no tool serves a column that is left; empty where one does."""
    if counts_rows(column):
        return _COUNTS
    why = about_the_answer(column, roles.outputs)
    behind = column in _behind_the_answer(sheet, roles)
    return why or ("it stands right of the answer, as what is written with it" if behind else "")


def _stays_text(sheet: Sheet, roles: Roles, column: Column, kept: Sequence[int]) -> bool:
    """Whether a column is text in its own program, and would be read as something else.

    Ids with points in them are text in any program: `2024.010` is not 2024.01.
    """
    cells = [column.cells[place] for place in kept]
    is_text = all(cell.kind is Kind.TEXT for cell in cells if cell.text)
    is_id = column is roles.id and any("." in cell.text for cell in cells)
    if not is_id and not column.stays_text and not (sheet.typed and is_text):
        return False
    return infer_type([cell.text for cell in cells]) in (ColumnType.NUMBER, ColumnType.BOOLEAN)


def _about(output: Column, values: OutputValues, roles: Roles) -> Iterator[str]:
    """Say what is odd about an output; the values of a private one are not shown."""
    if output not in roles.private:
        yield from output_notes(output.name, values)
        yield from _nothing_or(output, values)


def _nothing_or(output: Column, values: OutputValues) -> Iterator[str]:
    """Say where a mark or nothing may mean yes or no: an empty answer is none here."""
    empty = sum(1 for cell in output.cells if not cell.text)
    if len(values.counts) == 1 and empty:
        only = next(iter(values.counts))
        yield (
            f"{output.name}: {only!r} or nothing, which is in {counted(empty, 'row')}; if nothing"
            " is an answer, write it into the table as a word"
        )


def _dropped(dropped: Mapping[str, str]) -> Iterator[str]:
    if any(why != _COUNTS for why in dropped.values()):
        yield "--tool COLUMN serves a dropped column, if it is known before the decision"


def _leaks(roles: Roles) -> Iterator[str]:
    for one in roles.inputs:
        why = about_the_answer(one, roles.outputs)
        if why:
            yield f"{one.name} is an input, and {why}: does it give the answer away?"


def _personal(roles: Roles, served: Sequence[Column]) -> Iterator[str]:
    given = [one for one in (*roles.given, *served) if tells_of_persons(one)]
    if given:
        yield f"the agent is given {names_of(given)}, about persons as it seems"


def _behind_the_answer(sheet: Sheet, roles: Roles) -> Sequence[Column]:
    """Return the columns right of the answer; none where cases are described there."""
    places = [sheet.columns.index(one) for one in roles.outputs]
    inputs = [sheet.columns.index(one) for one in roles.inputs]
    left = [one for one in sheet.columns[: min(places)] if one is not roles.id]
    if not left or max(inputs, default=0) > max(places):
        return ()
    return sheet.columns[max(places) + 1 :]


# The files of a domain that is made from a table.

REPORT = "import.txt"


def domain_files(plan: Plan, report: str) -> Mapping[str, str]:
    """Return the files of the domain by their names; `report` says what was made of the table."""
    files = {
        plan.procedure.file: plan.procedure.text,
        "metadata.json": f"{json.dumps(_metadata(plan), indent=2, ensure_ascii=False)}\n",
        "data.csv": _rows(plan),
        "agent.py": _agent(plan),
        REPORT: report,
    }
    if plan.tools:
        specs = [tool_spec(tool, plan.roles.id, plan.names, plan.texts) for tool in plan.tools]
        files["toolspecs.json"] = f"{json.dumps(specs, indent=2, ensure_ascii=False)}\n"
    else:
        files["toolspecs.json"] = "[]\n"
    return files


def _metadata(plan: Plan) -> dict[str, Any]:
    roles, names = plan.roles, plan.names
    mapped = {names[one.name]: one.name for one in plan.columns if names[one.name] != one.name}
    private = _ours(plan, roles.private)
    texts = [one for one in plan.columns if one.name in plan.texts and one not in roles.outputs]
    metadata: dict[str, Any] = {
        "name": plan.place.name,
        "id_column": names[roles.id.name],
        "input_columns": _ours(plan, roles.given),
        "output_columns": _ours(plan, roles.outputs),
        "outputs": {
            names[one.name]: plan.outputs[one.name].declared(private=one in roles.private)
            for one in roles.outputs
        },
    }
    optional: dict[str, Any] = {
        "private_columns": private,
        "types": dict.fromkeys(_ours(plan, tuple(texts)), "text"),
        "columns": mapped,
        "tools": {tool.name: tool_entry(tool, roles.id, names) for tool in plan.tools},
    }
    return metadata | {key: value for key, value in optional.items() if value}


def _ours(plan: Plan, columns: tuple[Column, ...]) -> list[str]:
    return [plan.names[one.name] for one in columns]


def _rows(plan: Plan) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([one.name for one in plan.columns])
    for place in plan.kept:
        writer.writerow([_text(plan, one, place) for one in plan.columns])
    return stream.getvalue()


def _text(plan: Plan, column: Column, place: int) -> str:
    text = column.cells[place].text
    values = plan.outputs.get(column.name)
    return text if values is None else values.written(text)


def _agent(plan: Plan) -> str:
    outputs = [one for one in plan.roles.outputs if one not in plan.roles.private]
    answers = Counter(tuple(_text(plan, one, place) for one in outputs) for place in plan.kept)
    most = answers.most_common(1)[0][0]
    frequent = {plan.names[one.name]: text for one, text in zip(outputs, most, strict=True)}
    # What JSON writes of texts, Python reads; and its quotes are those of our other files.
    answer = json.dumps(frequent, indent=4, ensure_ascii=False)
    return template("agent_from_table.py", plan.place).replace("@ANSWER@", answer)
