"""A finished run: the one shape of it, and its line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from hashlib import blake2b, sha256
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DEMANDS, RuleState
from pytest_sopbench._core.documents.comparing import canonical
from pytest_sopbench._core.documents.reading import compared_paths, labelled_paths
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import as_text, may_stand_in
from pytest_sopbench._core.model.task import MASK, RunKey, Task
from pytest_sopbench._core.model.trace import (
    REPLAYED,
    UNKNOWN_USAGE,
    Answer,
    AnswerForm,
    Compared,
    Ending,
    Mismatch,
    Problem,
    ToolCall,
    Trace,
    Usage,
)
from pytest_sopbench._core.model.usage import ALWAYS_TOLD
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._core.verdict import Outcome, Verdict

# What a record keeps of one value.

RESULT_LIMIT = 2_000
"""Characters of one value that a record keeps; a longer one becomes its hash and size.

It bounds tool results, arguments and answers alike: an agent may return megabytes.
"""

# Twelve characters of JSON are the most that one of a text takes: two escapes of six.
_SURELY_SHORT: Final = RESULT_LIMIT // 12 - 2
_sorted: Final = json.JSONEncoder(sort_keys=True).encode


def cut(value: JsonValue) -> JsonValue:
    """Return a value, or its hash and size if it is too long to be kept."""
    if type(value) is str and len(value) <= _SURELY_SHORT:
        return value
    text = _sorted(value)
    if len(text) <= RESULT_LIMIT:
        return value
    return {
        "sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "characters": len(text),
    }


def is_cut(value: JsonValue) -> bool:
    """Tell whether a hash and a length stand for a value that was too long to be kept."""
    if not isinstance(value, dict) or set(value) != {"sha256", "characters"}:
        return False
    size = value["characters"]
    return isinstance(size, int) and size > RESULT_LIMIT


# The one shape of a finished run: what crosses xdist, what is on disk, what reports read.
#
# A record holds what a judge decided and what a reader needs to understand it, and nothing that
# only the process of the run could use.

TEXT_LIMIT = 4_000
"""Characters of the agent's text that a record keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One tool call of a record.

    Attributes:
        name: the tool.
        arguments: what it was given; above 2,000 characters a hash and a size.
        result: what it returned; above 2,000 characters a hash and a size.
        error: why it failed; `None` if it did not.
        bad: whether the call itself was wrong; `findings` say why.
        overlaps: that of the `ToolCall`; a line does not hold it if it is 0.
    """

    name: str
    arguments: JsonValue
    result: JsonValue = None
    error: str | None = None
    bad: bool = False
    findings: tuple[str, ...] = ()
    overlaps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryCheck:
    """Whether a run made exactly the expected calls, or where it departs from them."""

    held: bool
    departure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run as it is kept.

    Attributes:
        domain: its name; `task`, `trial` (from 1) and `agent` complete the key.
        task_hash: of row, output fields and tools.
        outcome: how the run ended.
        reason: why, in one sentence.
        answer: output field to value; `None` if no answer was found.
        answer_form: where in what the agent returned the answer was found.
        expected: the right answer.
        mismatches: the fields that differ.
        text: the last 4,000 characters of what the agent returned as text.
        calls: the tool calls; `usage` is what the run consumed, `problem` what the agent raised.
        duration_s: seconds; `None` if the process died.
        disagreement: why the expected answer is known to contradict the SOP.
        only_published: whether it is correct by the published scorer's rules alone.
        rules: what came of each rule of the contract; they tell why only if they are broken.
        contract: what the rules come to.
        grounded: whether every required tool succeeded.
        trajectory: whether exactly the expected calls were made; `None` if none are expected.
        unneeded: how often each tool was called that no expected call names; `None` if none
            are expected.
        unmade: the expected calls that were not made, in any order, by `tool` or `tool.argument`;
            `None` likewise.
        state: what the calls changed in the run's world; `None` if that is not known.
        state_differs: where the end state is not the right one.
        trace: its event log, from the session's folder of traces; empty if none is kept.
        notes: how the run went, beside how it ended.
        document: what is counted of an answer that is a JSON document; `None` for any other.
        compared: what others found of the fields that the judge does not compare itself; a line
            does not hold it if there are none.
        ignored: the output fields that are not compared; likewise.
    """

    domain: str
    task: str
    trial: int = 1
    agent: str = ""
    task_hash: str = ""
    outcome: Outcome
    reason: str = ""
    answer: Mapping[str, JsonValue] | None = None
    answer_form: str = ""
    expected: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    mismatches: tuple[Mismatch, ...] = ()
    text: str = ""
    calls: tuple[CallRecord, ...] = ()
    usage: Usage = UNKNOWN_USAGE
    duration_s: float | None = None
    problem: Problem | None = None
    disagreement: str = ""
    only_published: bool = False
    rules: tuple[RuleResult, ...] = ()
    contract: RuleState | None = None
    grounded: bool | None = None
    trajectory: TrajectoryCheck | None = None
    unneeded: Mapping[str, int] | None = None
    trace: str = ""
    notes: tuple[str, ...] = ()
    document: DocumentRecord | None = None
    compared: tuple[Compared, ...] = ()
    ignored: tuple[str, ...] = ()
    unmade: tuple[Mismatch, ...] | None = None
    state: tuple[StateChange, ...] | None = None
    state_differs: tuple[str, ...] = ()

    @property
    def key(self) -> RunKey:
        """What makes this run this run and no other."""
        return RunKey(self.domain, self.task, self.trial, self.agent)


def record_of(
    rules: JudgingRules,
    task: Task,
    trace: Trace | None,
    verdict: Verdict,
    *,
    trial: int = 1,
    agent: str = "",
) -> RunRecord:
    """Keep a judged run. A run that left no trace, or died, has no duration, which is not 0."""
    private, document = rules.private, rules.document
    limit = TEXT_LIMIT if document is None else DOCUMENT_LIMIT
    # A process that died took its clock with it.
    is_timed = trace is not None and trace.ending is not Ending.PROCESS_DIED
    text = "" if private or not trace or not trace.returned else trace.returned.text
    if len(text) > limit:
        # The answer stands at the end of what an agent says, so the end is what is worth keeping.
        text = f"[...]{text[-limit:]}"
    return RunRecord(
        domain=task.domain,
        task=task.id,
        trial=trial,
        agent=agent,
        task_hash=task.hash,
        outcome=verdict.outcome,
        reason=verdict.reason,
        answer=_answer(verdict.answer, private, whole=document is not None),
        answer_form=str(verdict.answer.form) if verdict.answer else "",
        expected={
            name: MASK if name in private else one for name, one in task.expected_as_written.items()
        },
        mismatches=tuple(_mismatch(one, private) for one in verdict.mismatches),
        text=text,
        calls=tuple(map(_call, trace.calls)) if trace else (),
        usage=trace.usage if trace else UNKNOWN_USAGE,
        duration_s=round(trace.duration, 6) if trace and is_timed else None,
        problem=trace.problem if trace else None,
        disagreement=task.disagreement,
        only_published=verdict.only_published,
        # A reader can do without the reasons of rules that are not broken.
        rules=tuple(one if one.broken else replace(one, why="") for one in verdict.rules),
        contract=verdict.contract,
        grounded=verdict.grounded,
        trajectory=None
        if verdict.departure is None
        else TrajectoryCheck(held=not verdict.departure, departure=verdict.departure),
        unneeded=verdict.unneeded,
        notes=(*(trace.notes if trace else ()), *verdict.notes),
        document=document_record(document, task.expected) if document else None,
        compared=trace.compared if trace else (),
        ignored=rules.ignored,
        unmade=verdict.unmade and tuple(_unmade(one, task, private) for one in verdict.unmade),
        state=None if trace is None or trace.state is None else tuple(map(_change, trace.state)),
        state_differs=verdict.state_differs,
    )


def _change(one: StateChange) -> StateChange:
    before, after = (
        row and {name: cut(value) for name, value in row.items()} for row in (one.before, one.after)
    )
    return replace(one, before=before, after=after)


def _unmade(one: Mismatch, task: Task, private: frozenset[str]) -> Mismatch:
    secret = [task.expected_as_written.get(name) for name in private]
    if any(value is not None and same_json(value, one.expected) for value in secret):
        return replace(one, expected=MASK, actual=MASK)
    return replace(one, expected=cut(one.expected), actual=cut(one.actual))


def _answer(
    answer: Answer | None, private: frozenset[str], *, whole: bool
) -> Mapping[str, JsonValue] | None:
    if answer is None or answer.form == AnswerForm.NOT_FOUND:
        return None
    if whole and is_short(answer.values):
        return answer.values
    return {name: MASK if name in private else cut(one) for name, one in answer.values.items()}


def _mismatch(mismatch: Mismatch, private: frozenset[str]) -> Mismatch:
    if mismatch.field in private:
        return replace(mismatch, expected=MASK, actual=MASK)
    return replace(mismatch, actual=cut(mismatch.actual))


def _call(call: ToolCall) -> CallRecord:
    return CallRecord(
        name=call.name,
        arguments=cut(call.arguments),
        result=cut(call.result),
        error=call.error,
        bad=call.bad,
        findings=tuple(
            f"{one.message} (copied)" if one.copied else one.message for one in call.findings
        ),
        overlaps=call.overlaps,
    )


# What a record keeps of an answer that is a JSON document, so that sessions can count paths.

DOCUMENT_LIMIT: Final = 16_000
"""Characters of a document, and of the text it stood in, up to which a record keeps it whole."""

_encode: Final = json.JSONEncoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """What is counted of a task whose answer is a document.

    Attributes:
        paths: those of the expected document that are compared, in its order.
        labelled: those of them whose values are few, such as a step.
        label: the same for two tasks exactly if they expect the same document.
        domain_class: the class of the domain; empty if it has none.
    """

    paths: tuple[str, ...]
    label: str
    labelled: tuple[str, ...] = ()
    domain_class: str = ""


def document_record(rules: DocumentRules, expected: Mapping[str, JsonValue]) -> DocumentRecord:
    """Say what is counted of a task."""
    spelled = canonical(rules, expected)
    paths = compared_paths(rules, expected)
    return DocumentRecord(
        paths=paths,
        labelled=labelled_paths(rules, paths),
        label=f"document {blake2b(spelled.encode(), digest_size=6).hexdigest()}",
        domain_class=rules.domain_class,
    )


def is_short(document: Mapping[str, JsonValue]) -> bool:
    """Whether a record keeps a document whole."""
    return len(_encode(document)) <= DOCUMENT_LIMIT


# Runs that were replayed: they asked no model, so what they cost was spent before.


def is_replayed(record: RunRecord) -> bool:
    """Tell whether every reply of a model came from a recording."""
    return any(note.startswith(REPLAYED) for note in record.notes)


def cost_now(record: RunRecord) -> float | None:
    """Return what a run has cost today; that of a replayed run was paid for by its recording."""
    return 0.0 if is_replayed(record) else record.usage.cost_usd


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
    keys: Keys = MappingProxyType({}),
    *,
    optional: Mapping[str, object] = MappingProxyType({}),
    aliases: Mapping[str, str] = MappingProxyType({}),
    extra: cs.ExtraBehavior = "forbid",
) -> cs.CoreSchema:
    """Describe an object that becomes a value of a class.

    Args:
        made: the class.
        keys: what those of its fields hold whose type alone does not tell.
        optional: what is left out of a line if there is nothing to say, and what that means; `told`
            leaves it out.
        aliases: the keys of fields that are called otherwise in a line.
        extra: what becomes of other keys.
    """
    if _USUAL.setdefault(made, optional) != optional:
        msg = f"{made.__name__} is left out of lines in two ways"
        raise TypeError(msg)
    # No constructor is called, so a field that is not described would not be there at all.
    held = {one.name: keys.get(one.name) or _of_type(str(one.type)) for one in fields(made)}
    if unknown := {*keys} - {*held}:
        msg = f"{made.__name__} has no {', '.join(sorted(unknown))}"
        raise TypeError(msg)
    members = [
        cs.dataclass_field(
            name,
            cs.with_default_schema(schema, default=optional[name]) if name in optional else schema,
            kw_only=True,
            validation_alias=aliases.get(name),
        )
        for name, schema in held.items()
    ]
    arguments = cs.dataclass_args_schema(made.__name__, members, extra_behavior=extra)
    return cs.dataclass_schema(made, arguments, [*held], slots=True)


_USUAL: Final[dict[type, Mapping[str, object]]] = {}


def told(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, but for what goes without saying."""
    usual = _USUAL.get(value.__class__, {})
    said: dict[str, Any] = {}
    for name in value.__dataclass_fields__:
        one = getattr(value, name)
        if name not in usual or one != usual[name]:
            said[name] = one
    return said


def _of_type(written: str) -> cs.CoreSchema:
    """Return what a field holds by its type, as the class has it."""
    plain = written.removesuffix(" | None")
    return _BY_TYPE[plain] if plain == written else maybe(_BY_TYPE[plain])


def typed(keys: Keys) -> cs.CoreSchema:
    """Describe an object that stays one, and may have more keys."""
    members = {name: cs.typed_dict_field(schema) for name, schema in keys.items()}
    return cs.typed_dict_schema(members, strict=True, extra_behavior="ignore")


def _known_demand(kind: str) -> str:
    if kind not in DEMANDS:
        msg = f"{kind!r} is no demand of a rule"
        raise ValueError(msg)
    return kind


TEXTS: Final = many(TEXT)
_BY_TYPE: Final[Keys] = {
    "bool": FLAG,
    "int": COUNT,
    "float": AMOUNT,
    "str": TEXT,
    "tuple[str, ...]": TEXTS,
    "Mapping[str, str]": cs.dict_schema(TEXT, TEXT, strict=True),
    "JsonValue": ANY,
    "Mapping[str, JsonValue]": OBJECT,
}
STATE_CHANGE: Final = part(
    StateChange,
    {
        "key": cs.union_schema([TEXT, cs.int_schema(strict=True)], mode="left_to_right"),
        **dict.fromkeys(("before", "after"), maybe(OBJECT)),
    },
)
UNKNOWN: Final = dict.fromkeys(one.name for one in fields(Usage) if one.name not in ALWAYS_TOLD)
"""What is left out of a usage that does not know it."""

_RULE: Final[Keys] = {
    "severity": word(Severity),
    "kind": cs.no_info_after_validator_function(_known_demand, TEXT),
    "state": word(RuleState),
}
_USUAL_RULE: Final = {
    "clause": "",
    "severity": Severity.SHOULD,
    "why": "",
    "applies": True,
    "unfinished": False,
}
_MISMATCHES: Final = many(part(Mismatch))
_RUN: Final[Keys] = {
    "trial": TRIAL,
    "outcome": word(Outcome),
    "mismatches": _MISMATCHES,
    "calls": many(part(CallRecord, optional={"overlaps": 0})),
    "usage": part(Usage, optional=UNKNOWN),
    "problem": maybe(part(Problem)),
    "rules": many(part(RuleResult, _RULE, optional=_USUAL_RULE)),
    "contract": maybe(word(RuleState)),
    "trajectory": maybe(part(TrajectoryCheck)),
    "unneeded": maybe(cs.dict_schema(TEXT, COUNT)),
    "document": part(DocumentRecord),
    "compared": many(part(Compared)),
    "unmade": maybe(_MISMATCHES),
    "state": maybe(many(STATE_CHANGE)),
}
_OFTEN_EMPTY: Final = {
    "document": None,
    "compared": (),
    "ignored": (),
    "unmade": None,
    "state": None,
    "state_differs": (),
}
"""Left out of the line of a run if there are none."""

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


def members(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their names, and no copies, which `asdict` makes of all."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


# The line of a run: `to_line` and `from_line` are inverse, and the line is ASCII.


def to_line(record: RunRecord) -> str:
    """One line of JSON without its end; ASCII, so that no transport and no disk can break it."""
    return _ENCODER.encode({"type": "run", **told(record)})


# Made once, since `json.dumps` makes an encoder for each call.
_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False, default=told)


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
