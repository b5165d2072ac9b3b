"""What an agent is given of a toolbox.

The object is opaque on purpose. It has no attributes, and its methods close over nothing: what
stands behind it lies in a weak registry of this module, so that neither `vars()`, attributes,
closures nor `repr` lead an agent (or a framework that prints its tools into a prompt) to the
row, the expected answer or the data file. A ContextVar would hide it as well, but agents start
plain threads, which carry no context. Nothing in Python can hide an object from an agent that
reads module globals, stack frames or the garbage collector.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Literal, NoReturn, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._running.event_loop import offloaded, others_first
from pytest_sopbench.errors import RunOverError, ToolError

from .calls import CallLog, OpenCall
from .domain_code import (
    Arguments,
    bedrock_specs,
    openai_specs,
    plain_specs,
    typed_afunction,
    typed_function,
)

OnError: TypeAlias = Literal["return", "raise"]


Served: TypeAlias = tuple[JsonValue, ToolError | RunOverError | None]
"""What became of a call: a value, or an error that is not raised yet.

An error is handed on as a value and raised by the agent's own object: a traceback keeps its frames
with their locals, and those of the toolbox hold the row.
"""


class ToolBackend(Protocol):
    """What `Tools` asks of the toolbox, which makes them: no two files know each other."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...
    @property
    def schema(self) -> Mapping[str, JsonValue] | None: ...
    @property
    def log(self) -> CallLog: ...
    @property
    def trial(self) -> int: ...
    def serve(self, name: str, arguments: object) -> Served: ...
    def begin(self, name: str, arguments: object) -> OpenCall | ToolError | RunOverError: ...
    def answer(self, call: OpenCall) -> Served: ...
    def may_block(self, name: str) -> bool: ...
    def report(self, usage: object, messages: object, notes: object, model: object) -> None: ...
    def record_approval(self, step: str, by: str, granted: bool, reason: str) -> None: ...


class Tools:
    """The tools of one run.

    `call` and `acall` return a tool's value or raise `ToolError`; `execute_tool` never raises.
    Every call is recorded, also one of an unknown tool or with bad arguments. After the limit of
    calls or the end of the run nothing can be called any more.
    """

    __slots__ = ("__weakref__",)

    def call(self, name: str, /, **arguments: object) -> JsonValue:
        """Call a tool and return its value.

        Args:
            name: the tool.
            **arguments: what it is given.

        Returns:
            A copy of what the tool returns, in JSON's words.

        Raises:
            UnknownToolError: there is no such tool.
            ToolArgumentError: the arguments do not fit the tool or its record.
            ToolError: the tool failed, the limit of calls is passed, or the run is over.
            RunOverError: the run is over, and the agent was told so often enough.
        """
        value, error = serve(self, name, arguments)
        if error is not None:
            raise error
        return value

    async def acall(self, name: str, /, **arguments: object) -> JsonValue:
        """Call a tool as `call` does; a tool that may take its time does not block the loop.

        A call begins when it is awaited and ends when its value is handed over, so those that
        `asyncio.gather` makes together overlap, however fast their tools are.

        Args:
            name: the tool.
            **arguments: what it is given.

        Returns:
            A copy of what the tool returns, in JSON's words.

        Raises:
            ToolError: as `call` does.
        """
        value, error = await serve_async(self, name, arguments)
        if error is not None:
            raise error
        return value

    def execute_tool(self, name: str, arguments: object = None) -> dict[str, JsonValue]:
        """Call a tool and raise no error: the form that agents of SOP-Bench use.

        Args:
            name: the tool.
            arguments: a mapping of what it is given.

        Returns:
            The tool's own mapping; `{"result": value}` where its value is no mapping; and
            `{"error": message}` where `call` would have raised.
        """
        value, error = serve(self, name, {} if arguments is None else arguments)
        if isinstance(error, RunOverError):
            raise error
        if error is not None:
            return {"error": str(error)}
        return value if isinstance(value, dict) else {"result": value}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in the order of the tool specs."""
        return tuple(spec.name for spec in _behind(self).specs)

    def openai(self) -> list[dict[str, JsonValue]]:
        """The tool specs in the shape of OpenAI's `tools` parameter."""
        return openai_specs(_behind(self).specs)

    def bedrock(self) -> list[dict[str, JsonValue]]:
        """The tool specs in the shape of Bedrock's `toolConfig["tools"]`."""
        return bedrock_specs(_behind(self).specs)

    def json_schema(self) -> list[dict[str, JsonValue]]:
        """The tool specs as `name`, `description` and `parameters`, a JSON schema."""
        return plain_specs(_behind(self).specs)

    def output_schema(self) -> JsonValue:
        """The JSON schema of the answer, where it is a document; else `None`."""
        return to_json_value(_behind(self).schema)

    def functions(self, on_error: OnError = "return") -> list[Callable[..., JsonValue]]:
        """One typed function per tool, for frameworks that read signatures.

        Arguments pass through unchecked, so that a bad call is recorded as one.

        Args:
            on_error: `return` gives a tool's error back as the text `Error: ...`, since most
                frameworks end a run on an exception; `raise` raises it.

        Returns:
            Functions with the name, description, parameters and types of the tool specs.
        """
        answer = {"return": _call_or_text, "raise": _call}[on_error]
        specs = _behind(self).specs
        return [typed_function(spec, partial(answer, self, spec.name)) for spec in specs]

    def afunctions(self, on_error: OnError = "return") -> list[Callable[..., Awaitable[JsonValue]]]:
        """Return what `functions` returns, as async functions.

        Args:
            on_error: as for `functions`.
        """
        answer = {"return": _acall_or_text, "raise": _acall}[on_error]
        specs = _behind(self).specs
        return [typed_afunction(spec, partial(answer, self, spec.name)) for spec in specs]

    def report(
        self,
        *,
        usage: object = None,
        messages: object = None,
        notes: object = None,
        model: object = None,
    ) -> None:
        """Fill the trace: what was consumed is added up, messages are appended.

        Args:
            usage: a mapping or an object with token counts, model calls or cost in US dollars;
                the reference of agents lists the names.
            messages: one message or a list of them.
            notes: one text or a list of them: what a reader of the run should know.
            model: `PROVIDER/MODEL`, whose price the tokens of `usage` have.
        """
        _behind(self).report(usage, messages, notes, model)

    def record_approval(
        self, step: str, by: str, *, granted: bool = True, reason: str = ""
    ) -> None:
        """Record that somebody approved a step, or denied it, for the rules of a contract.

        Args:
            step: what was approved.
            by: who decided.
            granted: false where it was denied.
            reason: why.
        """
        _behind(self).record_approval(step, by, granted, reason)

    def __copy__(self) -> Tools:
        return self

    def __deepcopy__(self, memo: object) -> Tools:
        # Frameworks copy the state they are given; a copy is the toolbox of the same run.
        return self

    def __reduce__(self) -> NoReturn:
        msg = "the tools of a run live in its process and cannot be pickled"
        raise TypeError(msg)

    def __repr__(self) -> str:
        behind = _registry.get(self)
        return f"<Tools: {', '.join(s.name for s in behind.specs)}>" if behind else "<Tools>"


_NO_RUN: Final = "these tools belong to no run; use the ones that the agent was given"
_registry: WeakKeyDictionary[Tools, ToolBackend] = WeakKeyDictionary()


def make_tools(behind: ToolBackend) -> Tools:
    """Make an object for an agent that leads to a toolbox."""
    tools = Tools()
    _registry[tools] = behind
    return tools


def _behind(tools: Tools) -> ToolBackend:
    behind = _registry.get(tools)
    if behind is None:
        raise ToolError(_NO_RUN)
    return behind


def serve(tools: Tools, name: str, arguments: object) -> Served:
    """Make a call from its begin to its end, and return what came of it."""
    behind = _registry.get(tools)
    return behind.serve(name, arguments) if behind else (None, ToolError(_NO_RUN))


def begin(tools: Tools, name: str, arguments: object) -> OpenCall | ToolError | RunOverError:
    """Record that a call begins, for who has it answered elsewhere; or return why it must not."""
    return _behind(tools).begin(name, arguments)


def finish(tools: Tools, call: OpenCall) -> Served:
    """Answer a call that has begun, and record that it ends."""
    served = _behind(tools).answer(call)
    _behind(tools).log.end(call)
    return served


def trial_of(tools: Tools) -> int:
    """Return which trial of its task the run of a toolbox is, counted from 1."""
    return _behind(tools).trial


async def serve_async(tools: Tools, name: str, arguments: object) -> Served:
    """Make a call from its begin to its end, for an agent or for who calls in its place."""
    # Nothing of the toolbox is held while this waits: what is raised into it keeps its locals.
    call = _behind(tools).begin(name, arguments)
    if not isinstance(call, OpenCall):
        return None, call
    try:
        if _behind(tools).may_block(name):
            served = await offloaded(lambda: _behind(tools).answer(call))
        else:
            await others_first()
            served = _behind(tools).answer(call)
    except BaseException:
        # Given up: a tool that is at work goes on, and the call ends with it.
        _behind(tools).log.leave(call)
        raise
    _behind(tools).log.end(call)
    return served


# What the functions of `Tools.functions` and `Tools.afunctions` do.


def _call(tools: Tools, name: str, arguments: Arguments) -> JsonValue:
    return tools.call(name, **arguments)


def _call_or_text(tools: Tools, name: str, arguments: Arguments) -> JsonValue:
    try:
        return tools.call(name, **arguments)
    except ToolError as error:
        return f"Error: {error}"


async def _acall(tools: Tools, name: str, arguments: Arguments) -> JsonValue:
    return await tools.acall(name, **arguments)


async def _acall_or_text(tools: Tools, name: str, arguments: Arguments) -> JsonValue:
    try:
        return await tools.acall(name, **arguments)
    except ToolError as error:
        return f"Error: {error}"
