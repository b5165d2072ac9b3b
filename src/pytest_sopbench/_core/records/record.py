"""A finished run: the one shape of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from typing import Final

from pytest_sopbench._core.contract.demands import RuleState
from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.documents.comparing import canonical
from pytest_sopbench._core.documents.reading import compared_paths, labelled_paths
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import MASK, RunKey, Task
from pytest_sopbench._core.model.trace import (
    REPLAYED,
    UNKNOWN_USAGE,
    Answer,
    AnswerForm,
    Compared,
    Ending,
    Finding,
    Mismatch,
    Problem,
    Returned,
    ToolCall,
    Trace,
    Usage,
)
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
    """Return a value, or its hash and size where it is too long to be kept."""
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
        overlaps: that of the `ToolCall`; a line does not hold it where it is 0.
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
        rules: what came of each rule of the contract; they tell why only where they are broken.
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
            does not hold it where there are none.
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
        expected=_masked(task.expected_as_written, private),
        mismatches=tuple(_mismatch(one, private) for one in verdict.mismatches),
        text="" if private else _text(trace.returned if trace else None, _text_limit(document)),
        calls=tuple(map(_call, trace.calls)) if trace else (),
        usage=trace.usage if trace else UNKNOWN_USAGE,
        duration_s=_duration(trace),
        problem=trace.problem if trace else None,
        disagreement=task.disagreement,
        only_published=verdict.only_published,
        rules=tuple(map(_without_reason, verdict.rules)),
        contract=verdict.contract,
        grounded=verdict.grounded,
        trajectory=_held(verdict.departure),
        unneeded=verdict.unneeded,
        notes=(*(trace.notes if trace else ()), *verdict.notes),
        document=_document(document, task),
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


def _held(departure: str | None) -> TrajectoryCheck | None:
    return None if departure is None else TrajectoryCheck(held=not departure, departure=departure)


def _duration(trace: Trace | None) -> float | None:
    # A process that died took its clock with it.
    if trace is None or trace.ending is Ending.PROCESS_DIED:
        return None
    return round(trace.duration, 6)


def _document(rules: DocumentRules | None, task: Task) -> DocumentRecord | None:
    return document_record(rules, task.expected) if rules else None


def _answer(
    answer: Answer | None, private: frozenset[str], *, whole: bool
) -> Mapping[str, JsonValue] | None:
    if answer is None or answer.form == AnswerForm.NOT_FOUND:
        return None
    if whole and is_short(answer.values):
        return answer.values
    return {name: cut(value) for name, value in _masked(answer.values, private).items()}


def _mismatch(mismatch: Mismatch, private: frozenset[str]) -> Mismatch:
    if mismatch.field in private:
        return replace(mismatch, expected=MASK, actual=MASK)
    return replace(mismatch, actual=cut(mismatch.actual))


def _masked(values: Mapping[str, JsonValue], private: frozenset[str]) -> Mapping[str, JsonValue]:
    if not private:
        return dict(values)
    return {name: MASK if name in private else value for name, value in values.items()}


def _text_limit(document: DocumentRules | None) -> int:
    if document is None:
        return TEXT_LIMIT

    return DOCUMENT_LIMIT


def _text(returned: Returned | None, limit: int) -> str:
    text = returned.text if returned is not None else ""
    # The answer stands at the end of what an agent says, so the end is what is worth keeping.
    return text if len(text) <= limit else f"[...]{text[-limit:]}"


def _call(call: ToolCall) -> CallRecord:
    return CallRecord(
        name=call.name,
        arguments=cut(call.arguments),
        result=cut(call.result),
        error=call.error,
        bad=call.bad,
        findings=tuple(map(_finding, call.findings)),
        overlaps=call.overlaps,
    )


def _finding(finding: Finding) -> str:
    return f"{finding.message} (copied)" if finding.copied else finding.message


def _without_reason(result: RuleResult) -> RuleResult:
    """Drop the reason of a rule that is not broken: a reader can do without it."""
    return result if result.broken else replace(result, why="")


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
        label: the same for two tasks exactly where they expect the same document.
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
