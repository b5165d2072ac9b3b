"""What lines of a session or a journal must hold where they are read, by the type of each value.

A line without a checksum may hold anything, and so may one that another program has sealed. A
number in the place of a name would end a command far from here, and say nothing of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.model.usage import COUNTS

_MANY: Final = 1_000_000
"""More trials than any session has."""

# In a value of Python not the schema of texts: that refuses half of a surrogate pair, which an
# agent may well return. In JSON that is refused before, and every name is a text.
_TEXT: Final = cs.json_or_python_schema(
    json_schema=cs.str_schema(strict=True), python_schema=cs.is_instance_schema(str)
)
_OBJECT: Final = cs.json_or_python_schema(
    json_schema=cs.dict_schema(strict=True), python_schema=cs.is_instance_schema(dict)
)
_FLAG: Final = cs.bool_schema(strict=True)
_COUNT: Final = cs.int_schema(strict=True, ge=0)
_TRIAL: Final = cs.int_schema(strict=True, ge=0, le=_MANY)
_AMOUNT: Final = cs.float_schema(strict=True, allow_inf_nan=False)
_TEXTS: Final = cs.list_schema(_TEXT, strict=True)


def _maybe(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.nullable_schema(schema)


def _list(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.list_schema(schema, strict=True)


def _by_name(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.dict_schema(_TEXT, schema, strict=True)


def _fields(
    schemas: Mapping[str, cs.CoreSchema],
    *,
    needed: Collection[str] = (),
    extra: cs.ExtraBehavior = "ignore",
) -> cs.CoreSchema:
    """Describe an object; what else is missing or unknown is for those who read it."""
    fields = {
        name: cs.typed_dict_field(one, required=name in needed) for name, one in schemas.items()
    }
    return cs.typed_dict_schema(fields, strict=True, extra_behavior=extra)


def _exactly(schemas: Mapping[str, cs.CoreSchema]) -> cs.CoreSchema:
    return _fields(schemas, needed=schemas, extra="forbid")


_KEY: Final[Mapping[str, cs.CoreSchema]] = {
    "domain": _TEXT,
    "task": _TEXT,
    "trial": _TRIAL,
    "agent": _TEXT,
}
_CALL: Final = {"name": _TEXT, "error": _maybe(_TEXT), "bad": _FLAG, "findings": _TEXTS}
_USAGE: Final = {
    **dict.fromkeys((one for one in COUNTS if one != "cost_usd"), _maybe(_COUNT)),
    "cost_usd": _maybe(_AMOUNT),
    **dict.fromkeys(("model", "priced_by"), _maybe(_TEXT)),
}
_RULE: Final = {
    **dict.fromkeys(("id", "clause", "severity", "kind", "state", "why"), _TEXT),
    "applies": _FLAG,
    "unfinished": _FLAG,
}
_COMPARED: Final = {
    "field": _TEXT,
    "place": _COUNT,
    "held": _maybe(_FLAG),
    "why": _TEXT,
    "score": _maybe(_AMOUNT),
}
_RUN: Final = {
    **_KEY,
    **dict.fromkeys(("task_hash", "outcome", "reason", "answer_form", "text", "trace"), _TEXT),
    "answer": _maybe(_OBJECT),
    "expected": _OBJECT,
    "mismatches": _list(_fields({"field": _TEXT, "why": _TEXT})),
    "calls": _list(_fields({**_CALL, "overlaps": _COUNT})),
    "usage": _fields(_USAGE),
    "duration_s": _maybe(_AMOUNT),
    "problem": _maybe(_fields(dict.fromkeys(("type", "message", "traceback"), _TEXT))),
    "disagreement": _TEXT,
    "only_published": _FLAG,
    "rules": _list(_fields(_RULE)),
    "contract": _maybe(_TEXT),
    "grounded": _maybe(_FLAG),
    "trajectory": _maybe(_fields({"held": _FLAG, "departure": _TEXT})),
    "unneeded": _maybe(_COUNT),
    "notes": _TEXTS,
    "document": _fields(
        {"paths": _TEXTS, "labelled": _TEXTS, "label": _TEXT, "domain_class": _TEXT}
    ),
    "compared": _list(_fields(_COMPARED, needed={"field"})),
    "ignored": _TEXTS,
}
_FINDING: Final = {**dict.fromkeys(("kind", "parameter", "message"), _TEXT), "copied": _FLAG}
_TIMES: Final = dict.fromkeys(("started", "duration"), _AMOUNT)
_TRACE: Final = {
    "ending": _TEXT,
    "returned": _maybe(
        _fields(
            {
                **dict.fromkeys(("kind", "text", "problem"), _TEXT),
                "mapping": _OBJECT,
                "declared_error": _maybe(_TEXT),
                "usage": _fields(_USAGE),
                "messages": _list(cs.any_schema()),
                "notes": _TEXTS,
            }
        )
    ),
    "problem": _maybe(_fields(dict.fromkeys(("type", "message", "traceback"), _TEXT))),
    "calls": _list(
        _fields(
            {
                **_TIMES,
                "name": _TEXT,
                "error": _maybe(_TEXT),
                "findings": _list(_fields(_FINDING)),
                "overlaps": _COUNT,
            }
        )
    ),
    "approvals": _list(
        _fields(
            {
                **dict.fromkeys(("step", "by", "reason"), _TEXT),
                "started": _AMOUNT,
                "calls": _maybe(_COUNT),
                "granted": _FLAG,
            }
        )
    ),
    "usage": _fields(_USAGE),
    "messages": _list(cs.any_schema()),
    "output": _TEXT,
    "duration": _AMOUNT,
    "notes": _TEXTS,
    "compared": _list(_fields(_COMPARED, needed={"field"})),
}
_SLIM: Final = {**_KEY, "task_hash": _TEXT, "outcome": _TEXT, "calls": _TEXTS}
_UNREAD: Final = frozenset(
    ("reason", "answer", "answer_form", "text", "problem", "trajectory", "trace", "notes")
)
"""What is checked of a run that is skimmed, and not read; it may be missing."""

_OPTIONAL: Final = frozenset(("document", "compared", "ignored"))
"""What a run holds only where there is something to hold."""

_SKIMMED: Final = {
    **_RUN,
    "compared": _list(_fields(_COMPARED, needed={"field"}, extra="forbid")),
    "type": cs.literal_schema(["run"]),
    "mismatches": _list(
        _exactly(
            {"field": _TEXT, "expected": cs.any_schema(), "actual": cs.any_schema(), "why": _TEXT}
        )
    ),
    "calls": _list(_fields(_CALL, needed={"name", "error", "bad"})),
    "usage": _fields(_USAGE, extra="forbid"),
}

_COUNTED: Final = {"runs": _COUNT, "outcomes": _by_name(_COUNT), "reruns": _COUNT}
_PLANNED: Final = {"planned": _TEXTS, "trials": _TRIAL, "some_trials": _by_name(_list(_TRIAL))}
_DOMAIN: Final = {
    **_PLANNED,
    **dict.fromkeys(("sop", "specs", "tools", "data"), _TEXT),
    "agents": _by_name(_fields(_PLANNED)),
    "comparers": _by_name(_TEXT),
    "share": _maybe(_fields({"tasks": _COUNT, "digest": _TEXT, "part": _COUNT})),
}
_HEADER: Final = {
    "schema": _COUNT,
    "agent_args": _by_name(_TEXT),
    "options": _OBJECT,
    "git": _maybe(_fields({"commit": _TEXT, "dirty": _FLAG})),
    "domains": _by_name(_fields(_DOMAIN)),
}

_SHAPES: Final = {
    "header": SchemaValidator(_fields(_HEADER)),
    "run": SchemaValidator(_fields(_RUN)),
    "slim": SchemaValidator(_fields(_SLIM)),
    "start": SchemaValidator(_fields(_KEY)),
    "trace": SchemaValidator(_fields({**_KEY, "trace": _fields(_TRACE)})),
    "events": SchemaValidator(_fields({**_KEY, "events": _TEXT})),
    "summary": SchemaValidator(_fields({"domains": _by_name(_fields(_COUNTED))})),
}
_BEGIN: Final = b'{"type":"run",'
_SKIM: Final = SchemaValidator(_fields(_SKIMMED, needed=_SKIMMED.keys() - _UNREAD - _OPTIONAL))


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
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        msg = f"{place!r} is of a wrong type: {first['msg'].lower()}"
        raise ValueError(msg) from None
