"""The output fields of a domain: declared, or inferred from their whole column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_sopbench._core.fields.types import colliding_labels, infer_field, known_labels
from pytest_sopbench._core.fields.values import value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench._loading.metadata.published_layout import is_published
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import OutputShape
from pytest_sopbench.errors import LoadingError

from .expected_answers import check_expected, empty_warnings, refuse_empty

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
            from .comparisons import check_cells  # noqa: PLC0415 - only where a domain asks for it

            check_cells(field, table)
    published = is_published(described.path.parent)
    refuse_empty(fields, table, _may_be_empty(described), published=published)
    return fields


def answers_left_empty(
    described: Described, fields: Sequence[OutputField], table: Table
) -> tuple[str, ...]:
    """A warning for each field of which an empty answer is right somewhere, undeclared."""
    return tuple(empty_warnings(fields, table, _may_be_empty(described)))


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
    from .comparisons import check_comparison  # noqa: PLC0415 - only where a domain asks for it
    from .rubrics import check_rubric, rubric_of  # noqa: PLC0415 - only where a domain asks for it

    kind = shape.type or _undeclared(shape, inferred.type)
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
    _check(described, field, shape)
    check_comparison(described, field)
    check_rubric(described, field)
    _check_aliases(described, field, shape, cells)
    return field


def _undeclared(shape: OutputShape, inferred: FieldType) -> FieldType:
    if shape.values:
        return FieldType.ENUM
    # A document that stands in many rows is no label.
    return FieldType.TEXT if shape.compare is Compare.JSON else inferred


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


def _check(described: Described, field: OutputField, shape: OutputShape) -> None:
    key = f"key 'outputs.{field.name}"
    if shape.values and field.type is not FieldType.ENUM:
        raise LoadingError(
            described.path,
            f"{key}.values': values are for the type 'enum', and the type is {field.type.value!r}",
            hint="remove one of them",
        )
    if shape.tolerance and field.type not in (FieldType.NUMBER, FieldType.INTEGER):
        raise LoadingError(
            described.path,
            f"{key}.tolerance': a tolerance is for numbers, and the type is {field.type.value!r}",
            hint="remove it, or declare the type 'number'",
        )


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
    for alias, label in shape.aliases.items():
        if keys and value_key(plain, label) not in keys:
            raise LoadingError(
                described.path,
                f"{key}.aliases': {alias!r} stands for {label!r}, which is no known value",
                hint=did_you_mean(label, known) or f"values: {listed(known)}",
            )
        if alias in shape.values:
            raise LoadingError(
                described.path,
                f"{key}.aliases': {alias!r} is a value of its own",
                hint="take it off 'values' or off 'aliases'",
            )
