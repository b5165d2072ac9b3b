"""Values as cells of CSV that no spreadsheet, terminal or CI server takes for more than data."""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_sopbench._core.hiding.harmless import without_commands, without_controls
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = re.compile(r"[A-Za-z0-9](?:[\w .,()/'-]|:(?!:))*|", re.ASCII)
"""What is nothing but data to anybody, as nearly all cells are."""

_SIGNS: Final = "=+@\uff1d\uff0b\uff0d\uff20-"
"""What begins a formula, also where a keyboard writes it wider."""

_FORMULA: Final = re.compile(rf"\A(?=[\s'\"]*[{_SIGNS}])|(?<=;)(?=[\s'\"]*[{_SIGNS}])")
"""At the start of a cell, and behind a semicolon: where a comma stands in numbers, as in German,
a spreadsheet begins the next cell there."""


def cell(value: JsonValue) -> str:
    """Return what stands in a cell: text as it is, anything else as JSON, nothing for `None`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return text_cell(json.dumps(value, ensure_ascii=False))


def text_cell(text: str) -> str:
    """Return a text on one line, with `'` before what a spreadsheet would take for a formula.

    What a terminal or a CI server would take for a command is escaped. A plain number stays one.
    """
    if _PLAIN.fullmatch(text) or _NUMBER.fullmatch(text):
        return ready_to_cut(text)
    shown = without_commands(without_controls(ready_to_cut(text)))
    line = shown.replace("\n", "\\n").replace("\t", "\\t")
    # No file takes half of a character.
    return _FORMULA.sub("'", line.encode("utf-8", "backslashreplace").decode())
