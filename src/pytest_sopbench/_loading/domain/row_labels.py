"""What a row says about its own answer: tags, further right answers, known disagreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import CellError, parse_literal

NO_DISAGREEMENT = frozenset({"", "false", "no", "0", "none"})
"""Cells of `known_disagreement_column` that say that there is none."""

_UNEXPLAINED = frozenset({"true", "yes", "1"})


def tags_of(cell: JsonValue) -> tuple[str, ...]:
    """The tags of a cell: a list, or names with commas between them; each once, in order."""
    names: Sequence[JsonValue]
    if isinstance(cell, str):
        names = cell.split(",")
        if cell.lstrip().startswith("["):
            try:
                listed = parse_literal(cell)
            except CellError:
                listed = None
            names = listed if isinstance(listed, list) else names
    elif isinstance(cell, Sequence):
        names = cell
    else:
        return ()
    stripped = (str(name).strip() for name in names)
    return tuple(dict.fromkeys(name for name in stripped if name))


def disagreement_reason(cell: JsonValue) -> str:
    """The reason why the expected answer is known to contradict the SOP, or an empty string."""
    if cell is None or cell is False:
        return ""
    text = str(cell).strip()
    if text.lower() in NO_DISAGREEMENT:
        return ""
    return "no reason given" if text.lower() in _UNEXPLAINED else text


def acceptable_answers(
    cell: JsonValue, expected: Mapping[str, JsonValue]
) -> tuple[Mapping[str, JsonValue], ...]:
    """Further right answers: a list of values of the one output field, or of objects.

    An object may leave out fields, which then are as expected.

    Raises:
        CellError: the cell is none of these.
    """
    if cell is None or cell == "":
        return ()
    values = parse_literal(cell) if isinstance(cell, str) else cell
    if not isinstance(values, list):
        msg = "acceptable answers are a JSON list, of values or of objects"
        raise CellError(msg)
    return tuple(_answer(value, expected) for value in values)


def _answer(value: JsonValue, expected: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        if len(expected) > 1:
            msg = f"{value!r} names no field; with several output fields write objects"
            raise CellError(msg)
        return dict.fromkeys(expected, value)
    strangers = [name for name in value if name not in expected]
    if strangers:
        msg = f"{strangers[0]!r} is no output field; they are {', '.join(expected)}"
        raise CellError(msg)
    return {**expected, **value}
