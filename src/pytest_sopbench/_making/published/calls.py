"""What the code of a tool answered on one row: to the row's own arguments, and to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_sopbench._core.values.json import JsonValue

Answer: TypeAlias = Mapping[str, JsonValue]
"""One of `result`, `error` (what it raised) and `foreign` (why its result is not JSON)."""

_Arguments: TypeAlias = Mapping[str, JsonValue]
_Answers: TypeAlias = Mapping[str, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCall:
    """The calls of one tool on one row.

    Attributes:
        row: the number of the row, from 0.
        lacks: a required parameter for which the row has no column; then there was no call.
        arguments: the row's own.
        answer: to these.
        again: to the same, a second time.
        changed: by parameter, with the argument of the next row.
        spaced: by parameter, with blanks around a text.
        absent: by parameter, with a value that no row has.
    """

    row: int
    lacks: str = ""
    arguments: _Arguments = field(default_factory=dict[str, JsonValue])
    answer: Answer = field(default_factory=dict[str, JsonValue])
    again: Answer = field(default_factory=dict[str, JsonValue])
    changed: _Answers = field(default_factory=dict[str, Answer])
    spaced: _Answers = field(default_factory=dict[str, Answer])
    absent: _Answers = field(default_factory=dict[str, Answer])


def row_call(line: Mapping[str, Any]) -> RowCall:
    """Read a line of the child process."""
    known = {name: line[name] for name in RowCall.__dataclass_fields__ if name in line}
    return RowCall(**known)
