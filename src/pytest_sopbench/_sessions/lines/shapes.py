"""What lines of a session or a journal must hold where they are read, by the type of each value.

What runs and traces hold is described where they are read: `_core/records/lines/line_schemas.py`.

A line without a checksum may hold anything, and so may one that another program has sealed. A
number in the place of a name would end a command far from here, and say nothing of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.lines.line_schemas import (
    ANY,
    COUNT,
    FLAG,
    KEY,
    OBJECT,
    TEXT,
    TRIAL,
    Form,
    Keys,
    maybe,
    run_keys,
    typed,
    wrong_type,
)
from pytest_sopbench._core.records.record import CallRecord

_TEXTS: Final = cs.list_schema(TEXT, strict=True)


def _by_name(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.dict_schema(TEXT, schema, strict=True)


class _Skimmed(Form):
    """Calls and usage stay as they are, since many runs have the same; no values of calls."""

    def part(
        self,
        made: type,
        keys: Keys,
        *,
        needed: Collection[str] = (),
        extra: cs.ExtraBehavior = "forbid",
    ) -> cs.CoreSchema:
        if made is Usage:
            return typed(keys, extra="forbid")
        if made is CallRecord:
            seen = {name: schema for name, schema in keys.items() if schema is not ANY}
            return typed(seen, needed=("name", "error", "bad"))
        return super().part(made, keys, needed=needed, extra=extra)


_UNREAD: Final = frozenset(
    ("reason", "answer", "answer_form", "text", "problem", "trajectory", "trace", "notes")
)
"""What is checked of a run that is skimmed, and not read; it may be missing."""

_OPTIONAL: Final = frozenset(("document", "compared", "ignored"))
"""What a run holds only where there is something to hold."""

_COUNTED: Final = {"runs": COUNT, "outcomes": _by_name(COUNT), "reruns": COUNT}
_PLANNED: Final = {
    "planned": _TEXTS,
    "trials": TRIAL,
    "some_trials": _by_name(cs.list_schema(TRIAL, strict=True)),
}
_DOMAIN: Final = {
    **_PLANNED,
    **dict.fromkeys(("sop", "specs", "tools", "data"), TEXT),
    "agents": _by_name(typed(_PLANNED)),
    "comparers": _by_name(TEXT),
    "share": maybe(typed({"tasks": COUNT, "digest": TEXT, "part": COUNT})),
}
_HEADER: Final = {
    "schema": COUNT,
    "agent_args": _by_name(TEXT),
    "options": OBJECT,
    "git": maybe(typed({"commit": TEXT, "dirty": FLAG})),
    "domains": _by_name(typed(_DOMAIN)),
}

_SHAPES: Final = {
    "header": SchemaValidator(typed(_HEADER)),
    "slim": SchemaValidator(typed({**KEY, "task_hash": TEXT, "outcome": TEXT, "calls": _TEXTS})),
    "start": SchemaValidator(typed(KEY)),
    "trace": SchemaValidator(typed({**KEY, "trace": OBJECT})),
    "events": SchemaValidator(typed({**KEY, "events": TEXT})),
    "summary": SchemaValidator(typed({"domains": _by_name(typed(_COUNTED))})),
}
"""Kinds of lines whose readers do not look at types themselves."""

_BEGIN: Final = b'{"type":"run",'
_RUN: Final = run_keys(_Skimmed())
_SKIM: Final = SchemaValidator(
    typed(
        {**_RUN, "type": cs.literal_schema(["run"])},
        needed={"type", *_RUN} - _UNREAD - _OPTIONAL,
    )
)


def read_run(line: bytes) -> dict[str, Any] | None:
    """Read the line of a run and check it in one step, which takes half the time of two.

    Returns:
        What the line holds of a run; `None` where it is for `read_json` and `check_shape` to say
        what it holds, or what is wrong with it.
    """
    if not line.startswith(_BEGIN) or _may_hold_constant(line):
        return None
    try:
        found: dict[str, Any] = _SKIM.validate_json(line)
    except ValidationError:
        return None
    return found


def _may_hold_constant(line: bytes) -> bool:
    """Tell whether a word of Python's own extension of JSON stands there, which the parser takes.

    One letter is looked for first, since that takes a tenth of the time.
    """
    return (b"N" in line and b"NaN" in line) or (b"I" in line and b"Infinity" in line)


def check_shape(kind: object, data: Mapping[str, Any]) -> None:
    """Check what a line of a kind holds; one of no known kind is for those who read it.

    Raises:
        ValueError: a value is of another type than it should be.
    """
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        return
    try:
        shape.validate_python(data)
    except ValidationError as fault:
        raise ValueError(wrong_type(fault)) from None
