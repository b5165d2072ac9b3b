"""Records as lines of JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.contract.demands import DEMANDS, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.fields.comparison import as_text, may_stand_in
from pytest_sopbench._core.model.trace import Compared, Mismatch, Problem, Usage
from pytest_sopbench._core.model.usage import ALWAYS_TOLD, COUNTS, usage_to_json
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.verdict import Outcome

from .record import CallRecord, DocumentRecord, RunRecord, TrajectoryCheck, is_cut

# What the line of a run holds, key by key.
#
# pydantic's core reads a line by it, checks the type of each value on the way, and makes our own
# values of it, in less than half the time that it takes by hand. Event logs are read in the same
# way, and have some of its parts.

Keys: TypeAlias = Mapping[str, cs.CoreSchema]

_MANY: Final = 1_000_000
"""More trials than any session has."""

_MOST: Final = 10**300
"""More than anything comes to; a whole number has no end, and what is added up becomes a float."""

# Half of a surrogate pair is a text as well, since an agent may return one. The parser of JSON
# refuses it, which leaves the line to that of Python.
TEXT: Final = cs.str_schema(strict=True)
OBJECT: Final = cs.json_or_python_schema(
    json_schema=cs.dict_schema(strict=True), python_schema=cs.is_instance_schema(dict)
)
ANY: Final = cs.any_schema()
FLAG: Final = cs.bool_schema(strict=True)
COUNT: Final = cs.int_schema(strict=True, ge=0)
TRIAL: Final = cs.int_schema(strict=True, ge=0, le=_MANY)
# A whole number stays one, so that a line is written again as it was.
AMOUNT: Final = cs.union_schema(
    [cs.int_schema(strict=True, le=_MOST), cs.float_schema(strict=True, allow_inf_nan=False)],
    mode="left_to_right",
    custom_error_type="amount",
    custom_error_message="input should be a number",
)
KEY: Final[Keys] = {"domain": TEXT, "task": TEXT, "trial": TRIAL, "agent": TEXT}


def maybe(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.nullable_schema(schema)


def many(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.tuple_schema([schema], variadic_item_index=0)


def word(words: type[Enum]) -> cs.CoreSchema:
    return cs.enum_schema(words, [*words])


def part(
    made: type,
    keys: Keys,
    *,
    optional: Mapping[str, object] = MappingProxyType({}),
    aliases: Mapping[str, str] = MappingProxyType({}),
    extra: cs.ExtraBehavior = "forbid",
) -> cs.CoreSchema:
    """Describe an object that becomes a value of a class.

    Args:
        made: the class.
        keys: what each of its fields holds.
        optional: what is left out of a line where there is nothing to say, and what that means.
        aliases: the keys of fields that are called otherwise in a line.
        extra: what becomes of other keys.
    """
    # No constructor is called, so a field that is not described would not be there at all.
    if {*keys} != (known := {one.name for one in fields(made)}):
        msg = f"{made.__name__}: {', '.join(sorted({*keys} ^ known))}"
        raise TypeError(msg)
    members = [
        cs.dataclass_field(
            name,
            cs.with_default_schema(schema, default=optional[name]) if name in optional else schema,
            kw_only=True,
            validation_alias=aliases.get(name),
        )
        for name, schema in keys.items()
    ]
    arguments = cs.dataclass_args_schema(made.__name__, members, extra_behavior=extra)
    return cs.dataclass_schema(made, arguments, [*keys], slots=True)


def typed(keys: Keys) -> cs.CoreSchema:
    """Describe an object that stays one; whoever reads it says which keys it lacks."""
    members = {name: cs.typed_dict_field(schema, required=False) for name, schema in keys.items()}
    return cs.typed_dict_schema(members, strict=True, extra_behavior="ignore")


def _known_demand(kind: str) -> str:
    if kind not in DEMANDS:
        msg = f"{kind!r} is no demand of a rule"
        raise ValueError(msg)
    return kind


TEXTS: Final = many(TEXT)
COMPARED: Final[Keys] = {
    **dict.fromkeys(("field", "why", "quote"), TEXT),
    "place": COUNT,
    "held": maybe(FLAG),
    "score": maybe(AMOUNT),
}
STATE_CHANGE: Final[Keys] = {
    "step": COUNT,
    "table": TEXT,
    "key": cs.union_schema([TEXT, cs.int_schema(strict=True)], mode="left_to_right"),
    **dict.fromkeys(("before", "after"), maybe(OBJECT)),
}
PROBLEM: Final[Keys] = dict.fromkeys(("type", "message", "traceback"), TEXT)
USAGE: Final[Keys] = {
    **dict.fromkeys(COUNTS, maybe(COUNT)),
    "cost_usd": maybe(AMOUNT),
    **dict.fromkeys(("model", "priced_by"), maybe(TEXT)),
}
UNKNOWN: Final = dict.fromkeys(name for name in USAGE if name not in ALWAYS_TOLD)
"""What is left out of a usage that does not know it."""

_CALL: Final[Keys] = {
    "name": TEXT,
    **dict.fromkeys(("arguments", "result"), ANY),
    "error": maybe(TEXT),
    "bad": FLAG,
    "findings": TEXTS,
    "overlaps": COUNT,
}
_RULE: Final[Keys] = {
    **dict.fromkeys(("id", "clause", "why"), TEXT),
    "severity": word(Severity),
    "kind": cs.no_info_after_validator_function(_known_demand, TEXT),
    "state": word(RuleState),
    **dict.fromkeys(("applies", "unfinished"), FLAG),
}
_USUAL_RULE: Final = {
    **dict.fromkeys(("clause", "why"), ""),
    "severity": Severity.SHOULD,
    "applies": True,
    "unfinished": False,
}
_MISMATCH: Final[Keys] = {"field": TEXT, "expected": ANY, "actual": ANY, "why": TEXT}
_DOCUMENT: Final[Keys] = {
    **dict.fromkeys(("paths", "labelled"), TEXTS),
    **dict.fromkeys(("label", "domain_class"), TEXT),
}
_RUN: Final[Keys] = {
    **KEY,
    "task_hash": TEXT,
    "outcome": word(Outcome),
    "reason": TEXT,
    "answer": maybe(OBJECT),
    "answer_form": TEXT,
    "expected": OBJECT,
    "mismatches": many(part(Mismatch, _MISMATCH)),
    "text": TEXT,
    "calls": many(part(CallRecord, _CALL, optional={"overlaps": 0})),
    "usage": part(Usage, USAGE, optional=UNKNOWN),
    "duration_s": maybe(AMOUNT),
    "problem": maybe(part(Problem, PROBLEM)),
    "disagreement": TEXT,
    "only_published": FLAG,
    "rules": many(part(RuleResult, _RULE, optional=_USUAL_RULE)),
    "contract": maybe(word(RuleState)),
    "grounded": maybe(FLAG),
    "trajectory": maybe(part(TrajectoryCheck, {"held": FLAG, "departure": TEXT})),
    "unneeded": maybe(cs.dict_schema(TEXT, COUNT)),
    "trace": TEXT,
    "notes": TEXTS,
    "document": part(DocumentRecord, _DOCUMENT),
    "compared": many(part(Compared, COMPARED)),
    "ignored": TEXTS,
    "unmade": maybe(many(part(Mismatch, _MISMATCH))),
    "state": maybe(many(part(StateChange, STATE_CHANGE))),
    "state_differs": TEXTS,
}
_OFTEN_EMPTY: Final = {
    "document": None,
    "compared": (),
    "ignored": (),
    "unmade": None,
    "state": None,
    "state_differs": (),
}
"""Left out of the line of a run where there are none."""

RUN: Final = SchemaValidator(part(RunRecord, _RUN, optional=_OFTEN_EMPTY))

_OF_KEYS: Final = frozenset(("missing", "unexpected_keyword_argument", "extra_forbidden"))


def value_of(validator: SchemaValidator, data: Mapping[str, Any], what: str) -> Any:
    """Make a value of what a line holds.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    try:
        return validator.validate_python(data)
    except ValidationError as fault:
        found = fault.errors(include_url=False, include_context=False, include_input=False)
        keys = [".".join(map(str, one["loc"])) for one in found if one["type"] in _OF_KEYS]
        if not keys:
            raise ValueError(wrong_type(fault)) from None
        msg = f"{what} with missing or unknown keys: {', '.join(map(repr, keys))}"
        raise ValueError(msg) from None


def wrong_type(fault: ValidationError) -> str:
    """Say which value of a line is of a wrong type."""
    first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    said = first["msg"].lower().replace("valid tuple", "valid list")
    return f"{place!r} is of a wrong type: {said}"


# What came of a rule as the line of a run holds it: short, since each run has one per rule.


def rule_to_json(result: RuleResult) -> dict[str, Any]:
    """Return what differs from the usual: a rule that applies, should hold and has no clause."""
    data: dict[str, Any] = {"id": result.id, "kind": str(result.kind), "state": result.state.value}
    if result.clause:
        data["clause"] = result.clause
    if result.severity is Severity.MUST:
        data["severity"] = result.severity.value
    if result.why:
        data["why"] = result.why
    if not result.applies:
        data["applies"] = False
    if result.unfinished:
        data["unfinished"] = True
    return data


def members(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, and no copies, which `asdict` makes of all."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


# The line of a run: `to_line` and `from_line` are inverse, and the line is ASCII.


def to_line(record: RunRecord) -> str:
    """One line of JSON without its end; ASCII, so that no transport and no disk can break it."""
    parts = members(record)
    for name, empty in _OFTEN_EMPTY.items():
        if parts[name] == empty:
            del parts[name]
    return _ENCODER.encode({"type": "run", **parts})


def _plain_part(part: object) -> dict[str, Any]:
    if isinstance(part, RuleResult):
        return rule_to_json(part)
    if isinstance(part, Usage):
        return usage_to_json(part)
    parts = members(part)
    if isinstance(part, CallRecord) and not part.overlaps:
        del parts["overlaps"]
    return parts


# Made once, since `json.dumps` makes an encoder for each call.
_ENCODER = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=_plain_part
)


def from_line(line: str) -> RunRecord:
    """Read what `to_line` wrote.

    Raises:
        ValueError: the line is not JSON, not of a run, or holds something else than it should.
    """
    data: dict[str, Any] = json.loads(line)
    if data.pop("type", None) != "run":
        msg = "not the line of a run"
        raise ValueError(msg)
    return record_from_json(data)


def record_from_json(data: Mapping[str, Any]) -> RunRecord:
    """Read what stands in a run's line besides its type.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    record: RunRecord = value_of(RUN, data, "a run's line")
    return _with_its_quotes(record)


def _with_its_quotes(record: RunRecord) -> RunRecord:
    """Return a record whose quotes stand in its answer.

    Whoever reads a run relies on what a judge said of it: gates, pages, and who judges it again.

    Raises:
        ValueError: a quote stands nowhere in the answer that was judged by it.
    """
    for one in record.compared:
        if one.quote and record.answer is not None:
            actual = record.answer.get(one.field)
            if not is_cut(actual) and not may_stand_in(one.quote, as_text(actual)):
                msg = f"field {one.field!r}: what compared it quotes what the answer does not say"
                raise ValueError(msg)
    return record
