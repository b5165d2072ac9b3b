"""Lead a dialogue with a model client and the tools of a run, sync or async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Generator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Literal, Protocol

from pytest_sopbench._core.steps import ApprovalDecision, ApprovalRequest
from pytest_sopbench.agents.clients.shared import in_thread
from pytest_sopbench.agents.conversation import (
    Message,
    ModelClient,
    ModelRequest,
    Reply,
    ToolRequest,
    ToolResult,
    as_object,
)
from pytest_sopbench.agents.dialogue import Came, Finding, Step, Transcript
from pytest_sopbench.errors import ClosedToolboxError, ToolError, TurnLimitError


class RunTools(Protocol):
    """What a reference agent uses of the toolbox that every agent is given."""

    def call(self, name: str, /, **arguments: object) -> Any: ...
    def acall(self, name: str, /, **arguments: object) -> Awaitable[Any]: ...
    def execute_tool(self, name: str, arguments: object = None) -> Mapping[str, Any]: ...
    def json_schema(self) -> Sequence[Mapping[str, Any]]: ...
    def report(
        self, *, usage: object = None, messages: object = None, notes: object = None
    ) -> None: ...


def schema_of(tools: object) -> Mapping[str, Any] | None:
    """Return the JSON schema of the answer, if the toolbox knows one."""
    known: Any = getattr(tools, "output_schema", None)
    if known is None:
        return None
    schema: Mapping[str, Any] | None = known()
    return schema


class Asking(Protocol):
    """What a reference agent uses of the approver that every agent may be given."""

    def __call__(
        self,
        step: str,
        *,
        title: str = "",
        moment: Literal["before", "after"] = "after",
        summary: str = "",
    ) -> ApprovalDecision: ...


def _nobody(*_: object, **__: object) -> ApprovalDecision:
    # An agent that asks is given somebody to ask.
    raise NotImplementedError


def drive(
    steps: Generator[Step, Any, Finding],
    client: ModelClient,
    tools: RunTools,
    approver: Asking = _nobody,
    *,
    max_context: int | None = None,
) -> object:
    """Lead a dialogue to its end and return what the agent returns.

    Raises:
        TurnLimitError: the model used up its turns, or its context.
        ClosedToolboxError: the run is over.
    """
    led = _led(steps, tools, max_context)
    came: Came = None
    while True:
        try:
            step = led.send(came)
        except StopIteration as end:
            return end.value
        if isinstance(step, ModelRequest):
            came = client.complete(step)
        elif isinstance(step, ApprovalRequest):
            came = _asked(approver, step)
        elif len(step) == 1:
            came = (_called(tools, step[0]),)
        else:
            # Calls that a model asks for together know nothing of each other's results, and so
            # they overlap in the record as well.
            came = asyncio.run(_called_together(tools, step))


async def adrive(
    steps: Generator[Step, Any, Finding],
    client: ModelClient,
    tools: RunTools,
    approver: Asking = _nobody,
    *,
    max_context: int | None = None,
) -> object:
    """As `drive`, on an event loop."""
    led = _led(steps, tools, max_context)
    came: Came = None
    while True:
        try:
            step = led.send(came)
        except StopIteration as end:
            return end.value
        if isinstance(step, ModelRequest):
            came = await client.acomplete(step)
        elif isinstance(step, ApprovalRequest):
            # A person takes a while, in which other runs go on.
            came = await in_thread(partial(_asked, approver, step))
        else:
            came = await _called_together(tools, step)


def _led(
    steps: Generator[Step, Any, Finding], tools: RunTools, max_context: int | None
) -> Generator[ModelRequest | ApprovalRequest | tuple[ToolRequest, ...], Came, Any]:
    """Yield what has to be waited for, and tell the trace what comes of it."""
    told = _Told(tools, max_context)
    came: Came = None
    while True:
        try:
            step = steps.send(came)
        except StopIteration as end:
            return told.ended(end.value)
        if isinstance(step, Transcript):
            told.said(step.messages)
            came = None
            continue
        if isinstance(step, ModelRequest):
            told.asked(step.messages)
        came = yield step
        if isinstance(came, Reply):
            told.came(came)


class _Told:
    """Tells the trace of a run what was said, each message once, and what each reply consumed.

    A conversation that has come to more than `max_context` tokens is not gone on with.
    """

    def __init__(self, tools: RunTools, max_context: int | None) -> None:
        self._tools = tools
        self._told: tuple[Message, ...] = ()
        self._max_context = max_context
        self._context = 0
        self._uncounted = False

    def came(self, reply: Reply) -> None:
        usage = reply.usage
        self._tools.report(usage=usage.as_report())
        if usage.input_tokens is None:
            self._warn_of_no_count()
        self._context = (usage.input_tokens or 0) + (usage.output_tokens or 0)

    def _warn_of_no_count(self) -> None:
        if self._max_context is not None and not self._uncounted:
            self._uncounted = True
            told = f"max_context={self._max_context} was not held: the server counts no tokens"
            self._tools.report(notes=[told])

    def _check_context(self) -> None:
        if self._max_context is not None and self._context > self._max_context:
            limit = f"passed its limit of {self._max_context} tokens of context (max_context)"
            msg = f"{limit}: the conversation has come to {self._context}"
            raise TurnLimitError(msg)

    def said(self, messages: tuple[Message, ...]) -> int:
        """Tell the messages, and return how many of them were told already."""
        # A dialogue may begin anew, with what was not said before.
        pairs = zip(messages, self._told, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        new = [_shown(one) for one in messages[known:]]
        self._told = messages
        if new:
            self._tools.report(messages=new)
        return known

    def asked(self, messages: tuple[Message, ...]) -> None:
        before = len(self._told)
        if self.said(messages) == before > 0:
            # It goes on with the conversation whose tokens the last reply has counted.
            self._check_context()

    def ended(self, finding: Finding) -> object:
        self.said(finding.messages)
        if finding.notes:
            self._tools.report(notes=list(finding.notes))
        if finding.over_limit:
            raise TurnLimitError(finding.over_limit)
        return finding.returned


def _shown(message: Message) -> dict[str, object]:
    shown: dict[str, object] = {"role": message.role, "content": message.text}
    if message.requests:
        shown["tool_calls"] = [
            {"name": one.name, "arguments": one.arguments} for one in message.requests
        ]
    if message.results:
        shown["content"] = [
            {"name": one.request.name, "result": one.content} for one in message.results
        ]
    return shown


def _asked(approver: Asking, question: ApprovalRequest) -> ApprovalDecision:
    return approver(
        question.step,
        title=question.title,
        moment=question.moment,
        summary=question.summary,
    )


def _called(tools: RunTools, request: ToolRequest) -> ToolResult:
    arguments = as_object(request.arguments)
    if arguments is None:
        return _refused(tools, request)
    try:
        return _served(request, tools.call(request.name, **_named(arguments)))
    except ClosedToolboxError:
        # The model would be paid for further turns, none of which counts.
        raise
    except ToolError as error:
        return _failed(request, error)


async def _called_together(
    tools: RunTools, requests: tuple[ToolRequest, ...]
) -> tuple[ToolResult, ...]:
    return tuple(await asyncio.gather(*(_acalled(tools, one) for one in requests)))


async def _acalled(tools: RunTools, request: ToolRequest) -> ToolResult:
    arguments = as_object(request.arguments)
    if arguments is None:
        return _refused(tools, request)
    try:
        return _served(request, await tools.acall(request.name, **_named(arguments)))
    except ClosedToolboxError:
        raise
    except ToolError as error:
        return _failed(request, error)


def _named(arguments: Mapping[Any, object]) -> dict[str, object]:
    return {str(name): value for name, value in arguments.items()}


def _refused(tools: RunTools, request: ToolRequest) -> ToolResult:
    # It is recorded as the bad call that it is, and its error goes back to the model.
    error = tools.execute_tool(request.name, request.arguments).get("error", "bad arguments")
    content = {"error": f"{error} ({_fault(request.arguments)})"}
    return ToolResult(request=request, content=content, failed=True)


def _fault(arguments: object) -> str:
    try:
        json.loads(str(arguments))
    except ValueError as fault:
        return f"the arguments are not JSON: {fault}"
    return "the arguments must be one JSON object"


def _served(request: ToolRequest, value: Any) -> ToolResult:
    served = as_object(value)
    content = {"result": value} if served is None else served
    return ToolResult(request=request, content=content, failed=False)


def _failed(request: ToolRequest, error: ToolError) -> ToolResult:
    return ToolResult(request=request, content={"error": str(error)}, failed=True)
