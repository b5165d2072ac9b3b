"""What of a record is masked and cut before it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.hiding import (
    SHORTEST_RANDOM,
    Secrets,
    is_named_secret,
    masked_forms,
)
from pytest_sopbench._core.model.task import MASK
from pytest_sopbench._core.model.trace import (
    Answer,
    Approval,
    Compared,
    Finding,
    Mismatch,
    Problem,
    Returned,
    ToolCall,
    Trace,
    Usage,
)
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Verdict

from .record import CallRecord, RunRecord

# Take out what must not leave the process: secrets by pattern, private columns by name.


class Substitutes(Protocol):
    """Puts something in the place of what it finds, as a regular expression does."""

    def sub(self, replacement: str, text: str, /) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Replaces every secret and every match of `patterns` by `***`, and values of private names.

    With `forms` known forms of credentials are masked as well, which nobody has to name. Without
    any of them it changes nothing. The names of output fields stay as they are, and so does what
    makes a run this run: its domain, task, trial and agent.
    """

    patterns: tuple[Substitutes, ...] = ()
    private: frozenset[str] = frozenset()
    secrets: Secrets | None = None
    forms: bool = True

    @property
    def masks_texts(self) -> bool:
        """Whether there is anything that is looked for in texts."""
        return self.forms or self.secrets is not None or bool(self.patterns)

    @property
    def masks(self) -> bool:
        """Whether there is anything to be masked at all."""
        return self.forms or bool(self.private or self.patterns) or self.secrets is not None

    def of(self, private: Collection[str]) -> Redaction:
        """Return the redaction of a domain with these private columns."""
        # Asked for each run, and nearly always for nothing.
        return replace(self, private=frozenset(private)) if private or self.private else self

    def text(self, text: str) -> str:
        if self.secrets is not None:
            text = self.secrets.masked(text, MASK)
        for pattern in self.patterns:
            text = pattern.sub(MASK, text)
        return masked_forms(text, MASK) if self.forms else text

    def cut_text(self, text: str) -> str:
        """Return a text that was cut by somebody who knows nothing of what is masked."""
        text = self.text(text)
        return text if self.secrets is None else self.secrets.masked_beside_cuts(text, MASK)

    def value(self, value: JsonValue) -> JsonValue:
        """Return any value, masked at every depth; a number is masked if its digits match."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return self._nested(value)
        if isinstance(value, Sequence):
            return [self.value(one) for one in value]
        return self._number(value)

    def mapping(self, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Return values by the names of fields or columns, which are the domain's own."""
        return {
            name: MASK if self._hides(name, one) else self.value(one)
            for name, one in values.items()
        }

    def record(self, record: RunRecord) -> RunRecord:
        """Return the record as it may be written, sent and printed."""
        if not self.masks:
            return record
        held = record.trajectory
        return replace(
            record,
            reason=self.text(record.reason),
            answer=None if record.answer is None else self.mapping(record.answer),
            expected=self.mapping(record.expected),
            mismatches=tuple(self._mismatch(one) for one in record.mismatches),
            text=self.text(record.text),
            calls=tuple(self._call(one) for one in record.calls),
            usage=self.usage(record.usage),
            problem=self.problem(record.problem),
            disagreement=self.text(record.disagreement),
            rules=tuple(map(self._rule, record.rules)),
            trajectory=held and replace(held, departure=self.text(held.departure)),
            notes=tuple(self.text(note) for note in record.notes),
            compared=tuple(map(self.compared, record.compared)),
            unmade=record.unmade and tuple(map(self._unmade, record.unmade)),
            state=self.state(record.state),
            state_differs=tuple(map(self.text, record.state_differs)),
        )

    def trace(self, trace: Trace) -> Trace:
        """Return a trace as it may leave the process; nothing that is judged comes from it."""
        if not self.masks:
            return trace
        return replace(
            trace,
            returned=self._returned(trace.returned),
            problem=self.problem(trace.problem),
            calls=tuple(map(self.call, trace.calls)),
            approvals=tuple(map(self._approval, trace.approvals)),
            usage=self.usage(trace.usage),
            messages=tuple(map(self.value, trace.messages)),
            output=self.text(trace.output),
            notes=tuple(map(self.text, trace.notes)),
            compared=tuple(map(self.compared, trace.compared)),
            state=self.state(trace.state),
        )

    def verdict(self, verdict: Verdict) -> Verdict:
        """Return a verdict in words that may leave the process; what it decided stays."""
        if not self.masks:
            return verdict
        departure = verdict.departure
        return replace(
            verdict,
            reason=self.text(verdict.reason),
            answer=self._answer(verdict.answer),
            mismatches=tuple(map(self._mismatch, verdict.mismatches)),
            rules=tuple(map(self._rule, verdict.rules)),
            departure=None if departure is None else self.text(departure),
            unmade=verdict.unmade and tuple(map(self._unmade, verdict.unmade)),
            notes=tuple(map(self.text, verdict.notes)),
            state_differs=tuple(map(self.text, verdict.state_differs)),
        )

    def problem(self, problem: Problem | None) -> Problem | None:
        return problem and replace(
            problem,
            type=self.text(problem.type),
            message=self.text(problem.message),
            traceback=self.text(problem.traceback),
        )

    def call(self, call: ToolCall) -> ToolCall:
        """Return a call as it may be shown."""
        if not self.masks:
            return call
        return replace(
            call,
            name=self.text(call.name),
            arguments=self.value(call.arguments),
            result=self.value(call.result),
            error=None if call.error is None else self.text(call.error),
            findings=tuple(map(self._finding, call.findings)),
        )

    def usage(self, usage: Usage) -> Usage:
        """Return what was consumed as it may be shown: an agent may name its model as it likes."""
        if usage.model is None:
            return usage
        return replace(usage, model=self.text(usage.model))

    def expected_calls(self, calls: Sequence[ExpectedCall]) -> tuple[ExpectedCall, ...]:
        """Return the calls that are expected of a task, as they may be shown."""
        if not self.masks:
            return tuple(calls)
        return tuple(
            replace(one, arguments=None if one.arguments is None else self._nested(one.arguments))
            for one in calls
        )

    def _nested(self, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        masked: dict[str, JsonValue] = {}
        for name, one in values.items():
            key = shown = self.text(name)
            while key in masked:
                # Two names that both have a secret in them are still two.
                key = f"{shown} ({len(masked) + 1})"
            masked[key] = MASK if self._hides(name, one) else self.value(one)
        return masked

    def _hides(self, name: str, value: JsonValue) -> bool:
        if name in self.private:
            return True
        if not self.forms or not isinstance(value, str) or len(value) < SHORTEST_RANDOM:
            return False
        return is_named_secret(name, value)

    def _number(self, value: float) -> JsonValue:
        spelled = json.dumps(value)
        return value if self.text(spelled) == spelled else MASK

    def _returned(self, returned: Returned | None) -> Returned | None:
        if returned is None:
            return None
        said = returned.declared_error
        return replace(
            returned,
            mapping=self._nested(returned.mapping),
            text=self.text(returned.text),
            problem=self.text(returned.problem),
            declared_error=None if said is None else self.text(said),
            usage=self.usage(returned.usage),
            messages=tuple(map(self.value, returned.messages)),
            notes=tuple(map(self.text, returned.notes)),
        )

    def _answer(self, answer: Answer | None) -> Answer | None:
        return answer and replace(
            answer,
            values=self.mapping(answer.values),
            beside=self._nested(answer.beside),
            why=self.text(answer.why),
        )

    def _approval(self, one: Approval) -> Approval:
        reason = self.text(one.reason)
        return replace(one, step=self.text(one.step), by=self.text(one.by), reason=reason)

    def _finding(self, one: Finding) -> Finding:
        return replace(one, parameter=self.text(one.parameter), message=self.text(one.message))

    def _mismatch(self, one: Mismatch) -> Mismatch:
        expected, actual = self.value(one.expected), self.value(one.actual)
        return replace(one, expected=expected, actual=actual, why=self.text(one.why))

    def state(self, changes: Sequence[StateChange] | None) -> tuple[StateChange, ...] | None:
        """Return what calls changed as it may be shown."""
        if changes is None or not self.masks:
            return None if changes is None else tuple(changes)
        return tuple(
            replace(
                one,
                key=self.text(one.key) if isinstance(one.key, str) else one.key,
                before=one.before and self._nested(one.before),
                after=one.after and self._nested(one.after),
            )
            for one in changes
        )

    def _rule(self, one: RuleResult) -> RuleResult:
        return replace(one, why=self.text(one.why))

    def _unmade(self, one: Mismatch) -> Mismatch:
        """Return an argument that differs; one of a private name stands behind that of its tool."""
        names = re.split(r"[.\[\]\"]", one.field)
        if self.private.isdisjoint(names):
            return replace(self._mismatch(one), field=self.text(one.field))
        return replace(one, expected=MASK, actual=MASK)

    def compared(self, one: Compared) -> Compared:
        """Return what others found of a field as it may be shown."""
        return replace(one, why=self.text(one.why), quote=self.text(one.quote))

    def _call(self, one: CallRecord) -> CallRecord:
        return replace(
            one,
            name=self.text(one.name),
            arguments=self.value(one.arguments),
            result=self.value(one.result),
            error=None if one.error is None else self.text(one.error),
            findings=tuple(map(self.text, one.findings)),
        )


NOTHING_REDACTED = Redaction(forms=False)
"""Changes nothing."""
