"""The output fields of a domain: their types, comparisons, rubrics and expected answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Final

from pytest_sopbench._core.fields.kinds import compares_nothing, keys_twice, read_cell, several
from pytest_sopbench._core.fields.values import (
    EMPTY,
    Key,
    colliding_labels,
    infer_field,
    known_labels,
    read_spelled_number,
    says_a_day,
    value_key,
)
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench._core.values.text import first_of, fold, is_empty
from pytest_sopbench.errors import LoadingError, RowError

from .files import (
    did_you_mean,
    is_a_file,
    lies_inside,
    listed,
    read_text,
    shown,
)
from .metadata import Described, OutputShape, is_published
from .tables import Table

# What `outputs` says of how a field is compared: does it belong together, and can it be read?

_NUMBERS = (FieldType.NUMBER, FieldType.INTEGER)
_NEEDS_A_CELL = {
    Compare.MATCHES: "a pattern",
    Compare.ONE_OF: "at least one pattern",
    Compare.CONTAINS_ALL: "at least one phrase",
    Compare.SIMILAR: "a text",
    Compare.JSON: "an object or a list",
}


def check_comparison(described: Described, field: OutputField, shape: OutputShape) -> None:
    """Refuse words that nothing would act upon, and a comparison that lacks one.

    Raises:
        LoadingError: with the key.
    """
    faults = (
        _of_type(field, shape),
        _of_others(field),
        _spelling(field),
        _units(field),
        _document(field),
        _of_judges(field),
    )
    for key, problem, hint in chain.from_iterable(faults):
        said = f"key 'outputs.{field.name}.{key}': {problem}"
        raise LoadingError(described.path, said, hint=hint)


def check_cells(field: OutputField, table: Table) -> None:
    """Refuse an expected cell in which there is nothing to compare with, or nothing readable.

    Raises:
        RowError: the first row.
    """
    needed = _NEEDS_A_CELL.get(field.compare)
    if not needed and not field.key:
        return
    for cell, line in zip(table.cells(field.name), table.lines, strict=True):
        problem = ""
        if needed and _says_nothing(field, cell):
            problem = f"it is empty, and {field.compare.value!r} needs {needed}"
        elif field.compare is Compare.JSON:
            problem = _no_document(field, cell)
        elif field.compare in (Compare.MATCHES, Compare.ONE_OF):
            problem = _unreadable(field, cell)
        elif field.key and field.compare is Compare.EXACT and (item := keys_twice(field, cell)):
            problem = f"the item {shown(item)} has no {field.key!r} of its own"
        if problem:
            hint = "correct the cell"
            raise RowError(table.path, problem, row=line, column=field.name, hint=hint)


Fault = tuple[str, str, str]
"""A key, what is wrong with it, and what to do."""


def _of_type(field: OutputField, shape: OutputShape) -> Iterator[Fault]:
    kind = f"the type is {field.type.value!r}"
    if shape.values and field.type is not FieldType.ENUM:
        yield "values", f"values are for the type 'enum', and {kind}", "remove one of them"
    if field.tolerance and field.type not in _NUMBERS:
        hint = "remove it, or declare the type 'number'"
        yield "tolerance", f"a tolerance is for numbers, and {kind}", hint


def _of_judges(field: OutputField) -> Iterator[Fault]:
    if field.compare is not Compare.JUDGE:
        if field.rubric:
            problem = f"nothing judges by it, since 'compare' is {field.compare.value!r}"
            yield "rubric", problem, 'write "compare": "judge", or remove it'
        return
    if not field.rubric:
        yield "rubric", "nothing says what to judge by", _ADVICE
    if field.private:
        problem = "the column is private, and a judge is a model of a provider"
        hint = "take it off 'private_columns', or compare it otherwise"
        yield "compare", problem, hint
    if field.at_least is not None:
        hint = "remove it, and say in the rubric what is enough"
        yield "at_least", "a judge says yes or no, and gives no score", hint


def _of_others(field: OutputField) -> Iterator[Fault]:
    kind = field.compare
    if kind is Compare.CALL and not field.comparer:
        hint = 'write "comparer": "package.module:function", or a registered name'
        yield "comparer", "nothing says which function compares the field", hint
    if field.comparer and kind is not Compare.CALL:
        hint = 'write "compare": "call", or remove it'
        yield "comparer", f"nothing calls it, since 'compare' is {kind.value!r}", hint
    if kind is Compare.SIMILAR and field.at_least is None:
        hint = 'write, for example, "at_least": 0.9'
        yield "at_least", "nothing says how similar a text has to be", hint
    if field.at_least == 0 and kind in ASKED_OF_OTHERS:
        hint = 'write, for example, "at_least": 0.9'
        yield "at_least", "every score is 0 or more, so that any answer would be right", hint
    if field.at_least is not None and kind not in ASKED_OF_OTHERS:
        hint = 'write "compare": "similar", or "call" and a "comparer", or remove it'
        yield "at_least", f"nothing gives a score, since 'compare' is {kind.value!r}", hint


def _spelling(field: OutputField) -> Iterator[Fault]:
    kind = f"the type is {field.type.value!r}"
    if field.spelled and field.type not in _NUMBERS:
        name = "units" if field.units else "grouping" if field.grouping else "decimal"
        yield name, f"it is for numbers, and {kind}", 'declare "type": "number", or remove it'
    if field.grouping == field.decimal:
        problem = f"{field.grouping!r} cannot stand between thousands and before a fraction"
        yield "grouping", problem, "declare another 'decimal'"
    if field.formats and field.type is not FieldType.DATE:
        yield "formats", f"they are for dates, and {kind}", 'declare "type": "date", or remove them'
    for one in field.formats:
        if not says_a_day(one):
            problem = f"{one!r} says no day that can be read back"
            yield "formats", problem, "write it as Python's strptime has it: %d.%m.%Y"
    if field.key and field.type is not FieldType.LIST:
        yield "key", f"it is for lists, and {kind}", 'declare "type": "list", or remove it'


def _units(field: OutputField) -> Iterator[Fault]:
    for unit in field.units:
        read = (
            read_spelled_number(text, (), field.grouping, field.decimal)
            for text in (f"1{unit}", f"{unit}1")
        )
        if any(one is not None for one in read):
            problem = f"{unit!r} beside a number reads as a part of the number"
            yield "units", problem, 'write a unit such as "EUR" or "%", or remove it'


def _document(field: OutputField) -> Iterator[Fault]:
    if field.compare is Compare.JSON:
        if field.declared and field.type not in (FieldType.TEXT, FieldType.LIST):
            problem = f"'json' compares objects and lists, and the type is {field.type.value!r}"
            yield "type", problem, "remove it, or compare the field by its type"
        return
    for name, paths in (
        ("ignored_paths", field.ignored_paths),
        ("ordered_paths", field.ordered_paths),
    ):
        if paths:
            problem = f"they are for documents, and 'compare' is {field.compare.value!r}"
            yield name, problem, 'write "compare": "json", or remove them'


def _says_nothing(field: OutputField, cell: JsonValue) -> bool:
    if field.compare is Compare.JSON:
        # An empty list is a document.
        return cell is None or (isinstance(cell, str) and is_empty(cell))
    return is_empty(cell) or not several(cell)


def _no_document(field: OutputField, cell: JsonValue) -> str:
    _, no_document = read_cell(cell)
    if no_document:
        return f"it is {no_document}, and 'json' needs an object or a list"
    if compares_nothing(field, cell):
        return "'ignored_paths' pass over every value in it, so that any values would be right"
    return ""


def _unreadable(field: OutputField, cell: JsonValue) -> str:
    patterns = several(cell) if field.compare is Compare.ONE_OF else (str(cell).strip(),)
    for pattern in patterns:
        try:
            linear_pattern(pattern)
        except PatternError as fault:
            return f"the pattern {shown(pattern)} cannot be read: {fault}"
    return ""


# Do the expected answers fit what `outputs` declares of them, and do they ask for an answer?

_ROWS = 5
"""Rows that a warning names."""

_WORDS: Mapping[FieldType, str] = {
    FieldType.BOOLEAN: "true or false",
    FieldType.INTEGER: "a whole number",
    FieldType.NUMBER: "a number",
    FieldType.DATE: "an ISO date",
    FieldType.ENUM: "one of the values",
}
"""The types that a cell can fail to have; any text is a list of one."""


def check_expected(field: OutputField, table: Table) -> None:
    """Refuse an expected answer that the judge cannot read as the declared type.

    Of an empty cell `refuse_empty` decides. What is inferred fits by nature, and what is not
    compared need not fit.

    Raises:
        RowError: the first row whose expected answer does not fit.
    """
    if not field.declared or field.compare is not Compare.EXACT or field.type not in _WORDS:
        return
    labels = {value_key(field, label) for label in field.values}
    for cell, line in zip(table.cells(field.name), table.lines, strict=True):
        key = value_key(field, cell)
        if field.type is FieldType.ENUM:
            fits = key in labels
        else:
            fits = key[0] != "text" and (field.type is not FieldType.INTEGER or _is_whole(key))
        if not fits and key != EMPTY:
            raise RowError(
                table.path,
                f"{shown(cell)} is not {_WORDS[field.type]}, as 'outputs' declares",
                row=line,
                column=field.name,
                hint=_hint(field, cell),
            )


def refuse_empty(
    fields: Sequence[OutputField], table: Table, may_be_empty: Collection[str], *, published: bool
) -> None:
    """Refuse an empty expected answer that nobody has asked for: a stub would be right there.

    A column without a single answer asks for nothing, and so does a row; a field whose type is
    declared to be no text has a value in each row. Folders of the published layout were not
    written for these rules: there only the empty column is refused, and of others is warned.

    Raises:
        LoadingError: each cell of a column is empty.
        RowError: the first row with an empty cell that has to be full.
    """
    compared = [field for field in fields if field.compare is Compare.EXACT]
    empty = {field.name: _empty_places(field, table) for field in compared}
    for field in compared:
        if len(empty[field.name]) == len(table.rows):
            raise LoadingError(
                table.path,
                "every expected answer is empty, so an agent that answers nothing would be right",
                column=field.name,
                hint="write the expected answers, or take the column off 'output_columns'",
            )
    if published:
        return
    asked = [field for field in compared if field.name not in may_be_empty]
    for field in asked:
        if empty[field.name] and field.declared and field.type is not FieldType.TEXT:
            raise _empty_cell(field, table, empty[field.name][0])
    if asked and (places := set[int].intersection(*map(set[int], empty.values()))):
        raise RowError(
            table.path,
            "no answer is expected, so an agent that answers nothing would be right",
            row=table.lines[min(places)],
            column=asked[0].name,
            hint="write the expected answer; if an empty one is right, say 'may_be_empty': "
            f"true in 'outputs.{asked[0].name}'",
        )


def empty_warnings(
    described: Described, fields: Sequence[OutputField], table: Table
) -> Iterator[str]:
    """Yield, of each field, in how many rows an empty answer is right, though nothing says so."""
    may_be_empty = _may_be_empty(described)
    for field in fields:
        if field.name in may_be_empty or field.compare is not Compare.EXACT:
            continue
        places = _empty_places(field, table)
        if places:
            rows = first_of((str(table.lines[place]) for place in places), _ROWS)
            cells = f"{len(places)} of {len(table.rows)} expected cells of {field.name} are empty"
            yield f"{table.path.name}: {cells}: an empty answer is right there (row {rows})"


def _empty_places(field: OutputField, table: Table) -> list[int]:
    cells = table.cells(field.name)
    return [place for place, cell in enumerate(cells) if value_key(field, cell) == EMPTY]


def _empty_cell(field: OutputField, table: Table, place: int) -> RowError:
    cell = table.cells(field.name)[place]
    said = "the expected answer is empty" if cell in (None, "") else f"{shown(cell)} is empty"
    needed = _WORDS.get(field.type, "a list")
    hint = f"write {needed}; if an empty answer is right, say 'may_be_empty': true"
    if field.type is FieldType.LIST:
        hint = "write [] if an empty list is right"
    elif field.type is FieldType.ENUM:
        hint = f"write one of {listed(field.values)}; if an empty answer is right, "
        hint += "add \"\" to 'values'"
        if cell not in (None, ""):
            hint += f"; if {cell!r} is a label, add it to 'values'"
    return RowError(
        table.path,
        f"{said}, and 'outputs' declares {needed}",
        row=table.lines[place],
        column=field.name,
        hint=hint,
    )


def _is_whole(key: Key) -> bool:
    number = key[1]
    return isinstance(number, Decimal) and number == number.to_integral_value()


def _hint(field: OutputField, cell: JsonValue) -> str:
    if field.type is not FieldType.ENUM:
        return "correct the cell, or declare another type"
    return did_you_mean(str(cell), field.values) or f"values: {listed(field.values)}"


# The output fields of a domain: declared, or inferred from their whole column.

_SHOWN = 5
"""Pairs of labels that are warned of one by one."""


def output_fields(described: Described, table: Table) -> tuple[OutputField, ...]:
    """One field per output column, in the order of `output_columns`.

    Raises:
        LoadingError: `outputs` speaks of a field that is none, or contradicts itself.
        RowError: an expected answer is not what `outputs` declares.
    """
    metadata = described.metadata
    for name in metadata.outputs:
        if name not in metadata.output_columns:
            raise LoadingError(
                described.path,
                f"key 'outputs.{name}': no output column has this name",
                hint=did_you_mean(name, metadata.output_columns)
                or f"output columns: {listed(metadata.output_columns)}",
            )
    fields = tuple(
        _field(described, name, table.cells(name), metadata.outputs.get(name))
        for name in metadata.output_columns
    )
    for field in fields:
        check_expected(field, table)
        if field.name in metadata.outputs:
            check_cells(field, table)
    published = is_published(described.path.parent)
    refuse_empty(fields, table, _may_be_empty(described), published=published)
    return fields


def _may_be_empty(described: Described) -> frozenset[str]:
    outputs = described.metadata.outputs.items()
    return frozenset(
        name for name, one in outputs if one.may_be_empty or any(map(_is_blank, one.values))
    )


def _is_blank(label: str) -> bool:
    return not fold(label)


def label_warnings(fields: Sequence[OutputField], table: Table) -> tuple[str, ...]:
    """A warning for each two labels that no comparison can tell apart."""
    found: list[str] = []
    for field in fields:
        pairs = colliding_labels(field, table.cells(field.name))
        place = f"{table.path.name}, column {field.name!r}"
        found += [f"{place}: {a!r} and {b!r} count as the same answer" for a, b in pairs[:_SHOWN]]
        if len(pairs) > _SHOWN:
            found.append(f"{place}: and so do {len(pairs) - _SHOWN} more pairs")
    return tuple(found)


def _field(
    described: Described, name: str, cells: Sequence[JsonValue], shape: OutputShape | None
) -> OutputField:
    private = name in described.metadata.private_columns
    inferred = replace(infer_field(name, cells), private=private)
    if shape is None:
        return inferred

    kind = inferred.type
    if shape.values:
        kind = FieldType.ENUM
    elif shape.compare is Compare.JSON:
        # A document that stands in many rows is no label.
        kind = FieldType.TEXT
    kind = shape.type or kind
    field = replace(
        inferred,
        type=kind,
        values=_values(shape, kind, cells),
        aliases=dict(shape.aliases),
        tolerance=shape.tolerance,
        ordered=shape.ordered,
        compare=shape.compare,
        units=tuple(shape.units),
        grouping=shape.grouping,
        decimal=shape.decimal or ("," if shape.grouping == "." else "."),
        formats=tuple(shape.formats),
        key=shape.key,
        ignored_paths=tuple(shape.ignored_paths),
        ordered_paths=tuple(shape.ordered_paths),
        comparer=shape.comparer,
        at_least=shape.at_least,
        rubric=rubric_of(described, name, shape),
        declared=shape.type is not None or bool(shape.values),
    )
    check_comparison(described, field, shape)
    _check_aliases(described, field, shape, cells)
    return field


def _values(shape: OutputShape, kind: FieldType, cells: Sequence[JsonValue]) -> tuple[str, ...]:
    if shape.values:
        # An empty one is no label: it says that the answer may be empty.
        return tuple(label for label in shape.values if not _is_blank(label))
    if kind not in (FieldType.ENUM, FieldType.BOOLEAN):
        return ()
    return _labels(shape, cells)


def _labels(shape: OutputShape, cells: Sequence[JsonValue]) -> tuple[str, ...]:
    """The labels of a column, in which an alias counts as what it stands for."""
    label_of = {fold(alias): label for alias, label in shape.aliases.items()}
    texts = (cell for cell in cells if isinstance(cell, str) and not is_empty(cell))
    return known_labels(label_of.get(fold(text), text) for text in texts)


def _check_aliases(
    described: Described, field: OutputField, shape: OutputShape, cells: Sequence[JsonValue]
) -> None:
    key = f"key 'outputs.{field.name}"
    if any(map(_is_blank, shape.aliases)):
        raise LoadingError(
            described.path,
            f"{key}.aliases': an empty text would make an empty answer right",
            hint="write the label into the cells that are empty",
        )
    if field.type not in (FieldType.ENUM, FieldType.BOOLEAN, FieldType.TEXT):
        return
    known = field.values or _labels(shape, cells)
    plain = replace(field, aliases={})
    keys = {value_key(plain, value) for value in known}
    others = {value_key(plain, value): value for value in shape.values}
    meant: dict[Key, tuple[str, str]] = {}
    for alias, label in shape.aliases.items():
        first, stands_for = meant.setdefault(value_key(plain, alias), (alias, label))
        if value_key(plain, stands_for) != value_key(plain, label):
            raise LoadingError(
                described.path,
                f"{key}.aliases': {first!r} and {alias!r} are the same text, and stand for"
                f" {stands_for!r} and for {label!r}",
                hint="take one of them off",
            )
        if keys and value_key(plain, label) not in keys:
            raise LoadingError(
                described.path,
                f"{key}.aliases': {alias!r} stands for {label!r}, which is no known value",
                hint=did_you_mean(label, known) or f"values: {listed(known)}",
            )
        if other := others.get(value_key(plain, alias)):
            as_written = "" if other == alias else f", {other!r}"
            raise LoadingError(
                described.path,
                f"{key}.aliases': {alias!r} is a value of its own{as_written}",
                hint="take it off 'values' or off 'aliases'",
            )


# The rubric by which a model judges an output field: a text of its own, or a file beside it.

_ADVICE: Final = 'write "rubric": "..." or "rubric_file": "rubric.md": when is an answer right?'


def rubric_of(described: Described, name: str, shape: OutputShape) -> str:
    """Return the rubric of a field; empty if none is declared.

    Raises:
        LoadingError: there are two, or the file cannot be read or lies outside of the domain.
    """
    if shape.rubric_file is None:
        return shape.rubric.strip()
    key = f"key 'outputs.{name}.rubric_file'"
    if shape.rubric:
        raise LoadingError(
            described.path, f"{key}: there is a 'rubric' as well", hint="remove one of them"
        )
    folder = described.path.parent
    path = folder / shape.rubric_file
    if not lies_inside(folder, path):
        raise LoadingError(
            described.path,
            f"{key}: {shape.rubric_file} lies outside of the domain",
            hint="put it into the domain's folder",
        )
    if not is_a_file(path):
        raise LoadingError(
            described.path, f"{key}: there is no file {shape.rubric_file}", hint=_ADVICE
        )
    text = read_text(path).strip()
    if not text:
        raise LoadingError(path, "the file is empty", hint="write down when an answer is right")
    return text
