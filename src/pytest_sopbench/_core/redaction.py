"""Take out what must not leave the process: secrets by pattern, private columns by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from .models import JsonValue
from .patterns import Pattern
from .records import MASK, CallRecord, RunRecord
from .traces import Problem, ToolCall
from .verdicts import Mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Replaces every match of `patterns` by `***`, and every value under a private name.

    Without patterns and names it changes nothing. Keys stay as they are, and so does what makes
    a run this run: its domain, task, trial and agent.
    """

    patterns: tuple[re.Pattern[str] | Pattern, ...] = ()
    private: frozenset[str] = frozenset()

    def of(self, private: Collection[str]) -> Redaction:
        """Return the redaction of a domain with these private columns."""
        # Asked for each run, and nearly always for nothing.
        return replace(self, private=frozenset(private)) if private or self.private else self

    def text(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub(MASK, text)
        return text

    def value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self.mapping(value)
        if isinstance(value, Sequence):
            return [self.value(one) for one in value]
        return value

    def mapping(self, values: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        return {
            name: MASK if name in self.private else self.value(one) for name, one in values.items()
        }

    def record(self, record: RunRecord) -> RunRecord:
        """Return the record as it may be written, sent and printed."""
        if not (self.patterns or self.private):
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
            problem=self.problem(record.problem),
            disagreement=self.text(record.disagreement),
            rules=tuple(replace(one, why=self.text(one.why)) for one in record.rules),
            trajectory=held and replace(held, departure=self.text(held.departure)),
            notes=tuple(self.text(note) for note in record.notes),
        )

    def problem(self, problem: Problem | None) -> Problem | None:
        return problem and replace(
            problem,
            message=self.text(problem.message),
            traceback=self.text(problem.traceback),
        )

    def call(self, call: ToolCall) -> ToolCall:
        """Return a call as it may be shown."""
        if not (self.patterns or self.private):
            return call
        return replace(
            call,
            name=self.text(call.name),
            arguments=self.value(call.arguments),
            result=self.value(call.result),
            error=None if call.error is None else self.text(call.error),
        )

    def _mismatch(self, one: Mismatch) -> Mismatch:
        expected, actual = self.value(one.expected), self.value(one.actual)
        return replace(one, expected=expected, actual=actual, why=self.text(one.why))

    def _call(self, one: CallRecord) -> CallRecord:
        return replace(
            one,
            name=self.text(one.name),
            arguments=self.value(one.arguments),
            result=self.value(one.result),
            error=None if one.error is None else self.text(one.error),
            findings=tuple(self.text(finding) for finding in one.findings),
        )


NOTHING_REDACTED = Redaction()
"""Changes nothing."""
