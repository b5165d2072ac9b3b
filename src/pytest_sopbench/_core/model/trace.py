"""What was observed of one attempt at a task: calls, answer, usage, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

from .world import StateChange

# What was found of one field of an answer by what the judge must not call itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One comparison of one field with one right answer, made while the run was in flight.

    Attributes:
        field: the output field.
        place: which right answer it was compared with: 0 is the expected one, and `n` the n-th of
            the further acceptable ones.
        held: whether it is right; `None` if that could not be found out.
        why: what is wrong with the value, or why it could not be found out.
        score: how good it is, from 0 to 1; `None` if nobody says.
        quote: the passage of the answer that decides, as far as it is kept; empty if nobody
            gives one. Whoever reads the comparison looks for it in the answer again.
    """

    field: str
    place: int = 0
    held: bool | None = None
    why: str = ""
    score: float | None = None
    quote: str = ""


# What is observed of one run: its tool calls, what it returned or raised, how it ended.


class FindingKind(StrEnum):
    """What is wrong with the way a tool was called."""

    UNKNOWN_TOOL = "unknown_tool"
    MISSING_PARAMETER = "missing_parameter"
    UNKNOWN_PARAMETER = "unknown_parameter"
    INVALID_VALUE = "invalid_value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One departure of a tool call from its spec.

    `copied` tells that the value was copied from the inputs or from an earlier result: then the
    row breaks the spec, not the agent.
    """

    kind: FindingKind
    parameter: str
    message: str
    copied: bool = False


NOT_ENDED: Final = "the call had not ended when the run did"
"""The error of a call of which nobody knows what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, as seen at the toolbox.

    Attributes:
        name: the tool that was asked for, also if the domain has none of that name.
        arguments: what it was given; a mapping, unless the agent passed something else.
        result: what it returned; `None` if it failed.
        error: why it failed, in the words that the agent was given; `None` if it did not.
        findings: how the call departs from the tool's spec.
        started: seconds from the start of the run.
        duration: seconds.
        overlaps: how many calls after this one began before it ended. A trace has its calls in
            the order in which they began, so this one number tells all of its order in time.
    """

    name: str
    arguments: JsonValue
    result: JsonValue = None
    error: str | None = None
    findings: tuple[Finding, ...] = ()
    started: float = 0.0
    duration: float = 0.0
    overlaps: int = 0

    @property
    def succeeded(self) -> bool:
        return self.error is None

    @property
    def bad(self) -> bool:
        """Whether the call itself was wrong; a tool that failed on a good call is not bad."""
        return any(not finding.copied for finding in self.findings)


def has_ended(call: ToolCall) -> bool:
    """Whether a call had ended when its run did; else what came of it is not known."""
    return call.error != NOT_ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval that was recorded during a run, or its denial.

    Attributes:
        step: what was approved.
        by: who approved it.
        started: seconds from the start of the run.
        calls: how many calls had begun when it was recorded.
        granted: whether it was approved, and not denied.
        reason: why it was denied, if somebody said so.
    """

    step: str
    by: str
    started: float = 0.0
    calls: int
    granted: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run consumed, if the agent reported it; `None` is unknown, and never 0.

    Attributes:
        input_tokens: tokens that models were given, those from and for a cache among them.
        cached_tokens: those of the input that were read from a cache.
        cache_write_tokens: those of the input that were written to a cache.
        output_tokens: tokens that models returned, those of reasoning among them.
        reasoning_tokens: those of the output that are reasoning.
        model_calls: requests to models.
        cost_usd: US dollars.
        model: the models that were asked, with commas between them.
        priced_by: the table of prices that the cost was reckoned by; `None` if the agent told
            it.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    model_calls: int | None = None
    cost_usd: float | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None
    priced_by: str | None = None


UNKNOWN_USAGE = Usage()
"""The usage of a run that reported nothing."""


TURN_LIMIT: Final = "pytest_sopbench.errors.TurnLimitError"
"""The type of the problem of an agent that stopped itself at a limit of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What an agent raised.

    Attributes:
        type: the qualified name of the exception's class.
        message: what it says.
        traceback: the frames of the user's own code, as text.
    """

    type: str
    message: str
    traceback: str = ""


class ReturnedKind(StrEnum):
    """What an agent's return value was, once every supported shape is unwrapped."""

    MAPPING = "mapping"
    TEXT = "text"
    NOTHING = "nothing"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What an agent returned, in words that JSON has.

    Attributes:
        kind: what it was, once every supported shape is unwrapped.
        mapping: the fields of a mapping or an object; empty for a text.
        text: the text that is searched for an answer; empty if there is none.
        problem: why an `UNUSABLE` value cannot be an answer.
        declared_error: what an object with `success` false or a non-empty `error` said of itself.
        usage: what it said that the run consumed.
        messages: the messages that it held.
        notes: what could not be kept as it was.
        found_as: how the answer of a recorded run was found, if the mapping is all that is left
            of what it returned; empty if the agent itself returned the mapping.
    """

    kind: ReturnedKind
    mapping: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    text: str = ""
    problem: str = ""
    declared_error: str | None = None
    usage: Usage = UNKNOWN_USAGE
    messages: tuple[JsonValue, ...] = ()
    notes: tuple[str, ...] = ()
    found_as: str = ""


class Ending(StrEnum):
    """How the runner saw a run end."""

    RETURNED = "returned"
    RAISED = "raised"
    UNAVAILABLE = "unavailable"
    TIMED_OUT = "timed_out"
    OVER_LIMIT = "over_limit"
    PROCESS_DIED = "process_died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Everything observed in one run.

    Attributes:
        ending: how the runner saw the run end.
        returned: what the agent returned; there exactly when the ending is `RETURNED`.
        problem: what the agent raised; `None` if it raised nothing.
        calls: every tool call, in the order in which they began.
        approvals: the approvals that were recorded.
        usage: what the run consumed, as far as the agent told it.
        messages: what the agent reported with `tools.report(messages=...)` or returned.
        output: what the agent wrote to stdout and stderr.
        duration: seconds.
        notes: what was changed so that the text could be encoded, and how the run went.
        compared: what others found of the fields that the judge does not compare itself.
        state: what the calls changed in the run's world, in the order in which they did; `None`
            if that is not known, or there is no world.
    """

    ending: Ending
    returned: Returned | None = None
    problem: Problem | None = None
    calls: tuple[ToolCall, ...] = ()
    approvals: tuple[Approval, ...] = ()
    usage: Usage = UNKNOWN_USAGE
    messages: tuple[JsonValue, ...] = ()
    output: str = ""
    duration: float = 0.0
    notes: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()
    state: tuple[StateChange, ...] | None = None

    @property
    def calls_are_seen(self) -> bool:
        """Whether the tool calls of the agent are known; an empty list says nothing else."""
        return UNSEEN not in self.notes


# Notes of a trace that reports count: how a run went, beside how it ended.

GOES_ON: Final = "abandoned: its thread cannot be stopped, and may go on calling models"
"""Of a run that was ended, and whose agent was not."""

UNSEEN: Final = "no tool call of this agent is seen: it was not given the tools of its run"
"""Of a run of an agent that has tools of its own, of which nobody knows what it called."""

ATTEMPT: Final = "attempt"
"""How the note of a run begins that was made again."""

NOBODY_KNOWS: Final = (
    "its worker died with others in flight, and it was not made again: "
    "whether it ended the worker is unknown"
)
"""Of a run that may have ended its worker, or may have gone down with it."""

STOOD_STILL: Final = "the process stood still for"
"""How the note of a run begins during which nothing in the process could go on."""

HELD: Final = "held its event loop for"
"""What stands in the note of a run that another agent kept from its work."""

REPLAYED: Final = "replayed: every reply of a model is of"
"""How the note of a run begins that sent nothing; the day of its recording follows."""

FEWER: Final = "asked for fewer requests than are recorded:"
"""How the note of a replayed run begins that left some out; how many follows."""

NO_RECORDING: Final = "no recording:"
"""How the note of a run begins that sent what is not recorded; where it differs follows."""

MISSING: Final = "no recording"
"""The type of the problem of such a run; its message explains, line by line."""

UNUSED: Final = "its recording was not used:"
"""How the note of a run begins that has a recording, and of which no request was seen."""

EMPTY: Final = "no request is in it"
"""How that note ends if the recording has nothing to serve."""

CHANGES: Final = "changes with every run:"
"""How the note of a run begins that sent what no replay can find again; what to do follows."""

IGNORE: Final = "ignore"
MASK_IT: Final = "mask"

RECORDED: Final = "recorded:"
"""How the note of a run begins that was recorded; the number of its requests follows."""

NOT_KEPT: Final = "its recording was not replaced:"
"""How the note of a run begins that was to be recorded, and did not end well."""

NOT_RECORDED: Final = "not recorded:"
"""How the note of a run begins whose recording cannot be written."""

NOT_WHOLE: Final = "not whole:"
"""How the note of a recorded run begins that lost requests on the way."""

LOOP_LOST: Final = "made again: its event loop was blocked for good by"
"""How the note of a run begins that had to be made again since another agent blocked its loop."""


# What the agent finally says, and where it differs from what is expected.


class AnswerForm(StrEnum):
    """Where in what an agent returned the answer was found.

    `PUBLISHED` is given if the published scorer finds another answer than ours.
    """

    MAPPING = "mapping"
    FINAL_OUTPUT = "final_output"
    FIELD_TAGS = "field_tags"
    FINAL_DECISION = "final_decision"
    JSON = "json"
    PYTHON = "python"
    FIELD_LINES = "field_lines"
    BOXED = "boxed"
    WHOLE_TEXT = "whole_text"
    DOCUMENT = "document"
    PUBLISHED = "published"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent finally says, as fields: `answer["refund"]` is the value of one.

    Attributes:
        values: the output fields that were found, by name.
        form: where in what the agent returned the answer was found, such as `json`; `not_found`
            if a field is missing.
        position: the offset in characters at which the form starts in a text; `None` otherwise.
        missing: the output fields that the best form lacks.
        extra: the names that the agent gave beside the output fields, such as `reason`.
        beside: their values. They are never judged, and not saved.
        why: what is missing, in words.
    """

    values: Mapping[str, JsonValue]
    form: str
    position: int | None = None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    why: str = ""
    beside: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], compare=False)

    def __getitem__(self, name: str) -> JsonValue:
        """Return the value of an output field, or of what the agent gave beside them.

        Raises:
            KeyError: the answer has no such name; the message lists those that it has.
        """
        if name in self:
            return self.values[name] if name in self.values else self.beside[name]
        known = ", ".join(map(repr, self)) or "nothing"
        msg = f"{name}: the answer has {known}"
        raise KeyError(msg)

    def __contains__(self, name: object) -> bool:
        return name in self.values or name in self.beside

    def __iter__(self) -> Iterator[str]:
        yield from self.values
        yield from (name for name in self.beside if name not in self.values)

    @property
    def complete(self) -> bool:
        """Whether a value was found for every output field."""
        return self.form != AnswerForm.NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One field in which the answer is not the expected one.

    Attributes:
        field: the output field.
        expected: the right value.
        actual: the value that the agent gave.
        why: the kind of the difference, such as `other known label` or `number off by 0.45`.
    """

    field: str
    expected: JsonValue
    actual: JsonValue
    why: str
