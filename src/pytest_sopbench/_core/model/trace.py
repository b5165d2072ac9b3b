"""What is observed of one run: its tool calls, what it returned or raised, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

from .compared import Compared


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, as seen at the toolbox.

    Attributes:
        name: the tool that was asked for, also where the domain has none of that name.
        arguments: what it was given; a mapping, unless the agent passed something else.
        result: what it returned; `None` where it failed.
        error: why it failed, in the words that the agent was given; `None` where it did not.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval that was recorded during a run, or its denial.

    Attributes:
        step: what was approved.
        by: who approved it.
        started: seconds from the start of the run.
        calls: how many calls had begun when it was recorded; `None` in older event logs.
        granted: whether it was approved, and not denied.
        reason: why it was denied, where somebody said so.
    """

    step: str
    by: str
    started: float = 0.0
    calls: int | None = None
    granted: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run consumed, where the agent told it; `None` is unknown, and never 0.

    Attributes:
        input_tokens: tokens that models were given, those from and for a cache among them.
        cached_tokens: those of the input that were read from a cache.
        cache_write_tokens: those of the input that were written to a cache.
        output_tokens: tokens that models returned, those of reasoning among them.
        reasoning_tokens: those of the output that are reasoning.
        model_calls: requests to models.
        cost_usd: US dollars.
        model: the models that were asked, with commas between them.
        priced_by: the table of prices that the cost was reckoned by; `None` where the agent told
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
"""The usage of a run that told nothing."""


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
        text: the text that is searched for an answer; empty where there is none.
        problem: why an `UNUSABLE` value cannot be an answer.
        declared_error: what an object with `success` false or a non-empty `error` said of itself.
        usage: what it said that the run consumed.
        messages: the messages that it held.
        notes: what could not be kept as it was.
        found_as: how the answer of a recorded run was found, where the mapping is all that is left
            of what it returned; empty where the agent itself returned the mapping.
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
        problem: what the agent raised; `None` where it raised nothing.
        calls: every tool call, in the order in which they began.
        approvals: the approvals that were recorded.
        usage: what the run consumed, as far as the agent told it.
        messages: what the agent reported with `tools.report(messages=...)` or returned.
        output: what the agent wrote to stdout and stderr.
        duration: seconds.
        notes: what was changed so that the text could be encoded, and how the run went.
        compared: what others found of the fields that the judge does not compare itself.
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
