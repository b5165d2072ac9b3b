"""Records, traces and rules as lines of JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from functools import cache
from typing import Any, Final, TypeAlias

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.contract.demands import RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.fields.comparison import as_text, may_stand_in
from pytest_sopbench._core.model.trace import (
    Approval,
    Compared,
    Ending,
    Finding,
    FindingKind,
    Mismatch,
    Problem,
    Returned,
    ReturnedKind,
    ToolCall,
    Trace,
    Usage,
)
from pytest_sopbench._core.model.usage import COUNTS, usage_to_json
from pytest_sopbench._core.verdict import Outcome

from .record import CallRecord, RunRecord, TrajectoryCheck, is_cut

# What the lines of runs and of traces hold, key by key: the one description of both.
#
# pydantic's core reads a line by it, checks the type of each value on the way, and makes our own
# values of it, in less than half the time that it takes by hand. Whoever looks at a part of a line
# checks that by the same description. It is loaded once the first line is read.

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

_MEANT: Final[Mapping[tuple[type, str], object]] = {
    **dict.fromkeys(((RuleResult, "clause"), (RuleResult, "why")), ""),
    (RuleResult, "severity"): Severity.SHOULD,
}
"""What a line means that lacks a key, where the class itself does not say so."""


def maybe(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.nullable_schema(schema)


class Form:
    """What becomes of the parts of a line: values of our classes, tuples, members."""

    def part(
        self,
        made: type,
        keys: Keys,
        *,
        needed: Collection[str] = (),
        extra: cs.ExtraBehavior = "forbid",
    ) -> cs.CoreSchema:
        """Describe an object that becomes a value of a class.

        A key may be missing where the class has a default for it and `needed` does not name it.
        """
        known = {one.name: one for one in fields(made)}
        members = [
            cs.dataclass_field(
                name,
                schema if name in needed else _with_default(schema, made, known[name]),
                kw_only=True,
            )
            for name, schema in keys.items()
        ]
        arguments = cs.dataclass_args_schema(made.__name__, members, extra_behavior=extra)
        return cs.dataclass_schema(made, arguments, [*keys], slots=True)


def many(schema: cs.CoreSchema) -> cs.CoreSchema:
    return cs.tuple_schema([schema], variadic_item_index=0)


def _word(words: type[Enum]) -> cs.CoreSchema:
    return cs.enum_schema(words, [*words])


def _with_default(schema: cs.CoreSchema, made: type, known: Field[Any]) -> cs.CoreSchema:
    if (made, known.name) in _MEANT:
        return cs.with_default_schema(schema, default=_MEANT[made, known.name])
    if known.default is not MISSING:
        return cs.with_default_schema(schema, default=known.default)
    if known.default_factory is not MISSING:
        return cs.with_default_schema(schema, default_factory=known.default_factory)
    return schema


def _known_demand(kind: str) -> str:
    from pytest_sopbench._core.contract.demands import DEMANDS  # noqa: PLC0415 - only where there is a contract

    if kind not in DEMANDS:
        msg = f"{kind!r} is no demand of a rule"
        raise ValueError(msg)
    return kind


def _document(data: Mapping[str, Any]) -> object:
    from .record import document_from_json  # noqa: PLC0415 - only where an answer is a document

    return document_from_json(data)


def typed(
    keys: Keys, *, needed: Collection[str] = (), extra: cs.ExtraBehavior = "ignore"
) -> cs.CoreSchema:
    """Describe an object that stays one."""
    members = {
        name: cs.typed_dict_field(schema, required=name in needed) for name, schema in keys.items()
    }
    return cs.typed_dict_schema(members, strict=True, extra_behavior=extra)


_DEMAND: Final = cs.no_info_after_validator_function(_known_demand, TEXT)
_TEXTS: Final = many(TEXT)
_CALL: Final[Keys] = {
    "name": TEXT,
    **dict.fromkeys(("arguments", "result"), ANY),
    "error": maybe(TEXT),
    "overlaps": COUNT,
}
_DOCUMENT: Final = cs.no_info_after_validator_function(
    _document,
    typed(
        {"paths": _TEXTS, "labelled": _TEXTS, "label": TEXT, "domain_class": TEXT},
        needed=("paths", "labelled", "label"),
        extra="forbid",
    ),
)


def run_keys(form: Form) -> Keys:
    """Return what stands in the line of a run, besides its type and its checksum."""
    call = {**_CALL, "bad": FLAG, "findings": _TEXTS}
    rule = {
        **dict.fromkeys(("id", "clause", "why"), TEXT),
        "severity": _word(Severity),
        "kind": _DEMAND,
        "state": _word(RuleState),
        **dict.fromkeys(("applies", "unfinished"), FLAG),
    }
    mismatch = {"field": TEXT, "expected": ANY, "actual": ANY, "why": TEXT}
    trajectory = {"held": FLAG, "departure": TEXT}
    return {
        **KEY,
        "task_hash": TEXT,
        "outcome": _word(Outcome),
        "reason": TEXT,
        "answer": maybe(OBJECT),
        "answer_form": TEXT,
        "expected": OBJECT,
        "mismatches": many(form.part(Mismatch, mismatch)),
        "text": TEXT,
        "calls": many(form.part(CallRecord, call, needed=("findings",))),
        "usage": _usage(form),
        "duration_s": maybe(AMOUNT),
        "problem": maybe(_problem(form)),
        "disagreement": TEXT,
        "only_published": FLAG,
        "rules": many(form.part(RuleResult, rule, extra="ignore")),
        "contract": maybe(_word(RuleState)),
        "grounded": maybe(FLAG),
        "trajectory": maybe(form.part(TrajectoryCheck, trajectory)),
        "unneeded": maybe(COUNT),
        "trace": TEXT,
        "notes": _TEXTS,
        "document": _DOCUMENT,
        "compared": many(_compared(form)),
        "ignored": _TEXTS,
    }


def _trace_keys(form: Form) -> Keys:
    """Return what stands of a trace in a journal."""
    finding = {"kind": _word(FindingKind), "parameter": TEXT, "message": TEXT, "copied": FLAG}
    call = {
        **_CALL,
        "findings": many(form.part(Finding, finding)),
        **dict.fromkeys(("started", "duration"), AMOUNT),
    }
    approval = {
        **dict.fromkeys(("step", "by", "reason"), TEXT),
        "started": AMOUNT,
        "calls": maybe(COUNT),
        "granted": FLAG,
    }
    beside = {"usage": _usage(form), "messages": many(ANY), "notes": _TEXTS}
    returned = {
        "kind": _word(ReturnedKind),
        "mapping": OBJECT,
        **dict.fromkeys(("text", "problem", "found_as"), TEXT),
        "declared_error": maybe(TEXT),
        **beside,
    }
    return {
        "ending": _word(Ending),
        "returned": maybe(form.part(Returned, returned, needed=beside)),
        "problem": maybe(_problem(form)),
        "calls": many(form.part(ToolCall, call, needed=("findings",))),
        "approvals": many(form.part(Approval, approval)),
        **beside,
        "output": TEXT,
        "duration": AMOUNT,
        "compared": many(_compared(form)),
    }


def _usage(form: Form) -> cs.CoreSchema:
    counts = dict.fromkeys((one for one in COUNTS if one != "cost_usd"), maybe(COUNT))
    names = dict.fromkeys(("model", "priced_by"), maybe(TEXT))
    return form.part(Usage, {**counts, "cost_usd": maybe(AMOUNT), **names})


def _problem(form: Form) -> cs.CoreSchema:
    return form.part(Problem, dict.fromkeys(("type", "message", "traceback"), TEXT))


def _compared(form: Form) -> cs.CoreSchema:
    texts = dict.fromkeys(("field", "why", "quote"), TEXT)
    found = {"place": COUNT, "held": maybe(FLAG), "score": maybe(AMOUNT)}
    return form.part(Compared, {**texts, **found})


_NEEDED: Final = frozenset(
    ("mismatches", "calls", "usage", "problem", "rules", "contract", "trajectory", "notes")
)
"""What every line of a run has; the rest is as it is in a record that says nothing of it."""

_OF_KEYS: Final = frozenset(("missing", "unexpected_keyword_argument", "extra_forbidden"))
_VALUES: Final = Form()

RUN: Final = SchemaValidator(_VALUES.part(RunRecord, run_keys(_VALUES), needed=_NEEDED))


@cache
def traces() -> SchemaValidator:
    """Return what reads traces, which few sessions do."""
    keys = _trace_keys(_VALUES)
    return SchemaValidator(_VALUES.part(Trace, keys, needed=keys, extra="ignore"))


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


# A trace as JSON and back, for a process that takes a finished run over from one that died.
#
# `trace_to_json` and `trace_from_json` are inverse. Nothing is redacted: whoever writes the result
# down sees to it that nothing in it must be.


def trace_to_json(trace: Trace) -> dict[str, Any]:
    """Return a value that `json` takes; enumerations are texts by themselves.

    The JSON values in it are those of the trace, and no copies.
    """
    return _parts(trace)


def members(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, and no copies, which `asdict` makes of all."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _parts(value: Any) -> dict[str, Any]:
    # By `members`, which makes a dictionary more, it takes nearly twice as long.
    return {name: _part(getattr(value, name)) for name in value.__dataclass_fields__}


def _part(part: Any) -> Any:
    if part.__class__ is tuple:
        return [_part(one) for one in part]
    return _parts(part) if hasattr(part, "__dataclass_fields__") else part


def trace_from_json(data: Mapping[str, Any]) -> Trace:
    """Read what `trace_to_json` returned, or what came of it as JSON.

    Raises:
        ValueError: a key is missing or unknown, or holds something else than it should.
    """
    trace: Trace = value_of(traces(), data, "a trace")
    return trace


# The line of a run: `to_line` and `from_line` are inverse, and the line is ASCII.

_OFTEN_EMPTY = ("document", "compared", "ignored")
"""Left out of a line where there are none, so that other lines stay what every version reads."""

_BEGIN: Final = '{"type":"run",'


def to_line(record: RunRecord) -> str:
    """One line of JSON without its end; ASCII, so that no transport and no disk can break it."""
    parts = members(record)
    for name in _OFTEN_EMPTY:
        if not parts[name]:
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


# Taken and made once: an agent may replace them, and `json.dumps` makes an encoder for each call.
_loads = json.loads
_ENCODER = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=_plain_part
)


def from_line(line: str) -> RunRecord:
    """Read what `to_line` wrote.

    Raises:
        ValueError: the line is not JSON, not of a run, or holds something else than it should.
    """
    if line.startswith(_BEGIN):
        try:
            record: RunRecord = RUN.validate_json(f"{{{line[len(_BEGIN) :]}")
        except ValueError:
            # JSON of Python may hold more, such as half of a surrogate pair.
            pass
        else:
            return _with_its_quotes(record)
    data: dict[str, Any] = _loads(line)
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
