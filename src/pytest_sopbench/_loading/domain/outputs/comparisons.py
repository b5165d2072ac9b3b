"""What `outputs` says of how a field is compared: does it belong together, and can it be read?"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.fields.kinds.document import compares_nothing, read_cell
from pytest_sopbench._core.fields.kinds.keyed import keys_twice
from pytest_sopbench._core.fields.kinds.several import several
from pytest_sopbench._core.fields.spelled_dates import says_a_day
from pytest_sopbench._core.fields.spelled_numbers import read_spelled_number
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import is_empty
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench._loading.files.suggestions import shown
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench.errors import LoadingError, RowError

_NUMBERS = (FieldType.NUMBER, FieldType.INTEGER)
_NEEDS_A_CELL = {
    Compare.MATCHES: "a pattern",
    Compare.ONE_OF: "at least one pattern",
    Compare.CONTAINS_ALL: "at least one phrase",
    Compare.SIMILAR: "a text",
    Compare.JSON: "an object or a list",
}


def check_comparison(described: Described, field: OutputField) -> None:
    """Refuse words that nothing would act upon, and a comparison that lacks one.

    Raises:
        LoadingError: with the key.
    """
    for key, problem, hint in _faults(field):
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


def _faults(field: OutputField) -> Iterator[Fault]:
    yield from _of_others(field)
    yield from _spelling(field)
    yield from _units(field)
    yield from _document(field)


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
        if _reads_as_number(field, unit):
            problem = f"{unit!r} beside a number reads as a part of the number"
            yield "units", problem, 'write a unit such as "EUR" or "%", or remove it'


def _reads_as_number(field: OutputField, unit: str) -> bool:
    return any(
        read_spelled_number(text, (), field.grouping, field.decimal) is not None
        for text in (f"1{unit}", f"{unit}1")
    )


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
