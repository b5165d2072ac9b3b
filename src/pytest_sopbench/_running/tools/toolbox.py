"""The tools of one run: what an agent is given, and what stands behind it, from the runner's side.

A toolbox is opened for a task, looked into, and closed. It is safe to use from many threads, and
knows nothing of the thread it was made in.

What an agent is given of it is opaque on purpose. It has no attributes, and its methods close over
nothing: what stands behind it lies in a weak registry of this module, so that neither `vars()`,
attributes, closures nor `repr` lead an agent (or a framework that prints its tools into a prompt)
to the row, the expected answer or the data file. A ContextVar would hide it as well, but agents
start plain threads, which carry no context. Nothing in Python can hide an object from an agent that
reads module globals, stack frames or the garbage collector.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import islice
from threading import Lock
from typing import Final, Literal, NoReturn, TypeAlias, cast
from weakref import WeakKeyDictionary

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import masking, ready_to_cut
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._core.model.trace import (
    Finding,
    FindingKind,
    Problem,
)
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.values.json import (
    TEXT_LIMIT,
    JsonValue,
    escape_surrogates,
    is_too_long,
    to_json_value,
)
from pytest_sopbench._running.event_loop import offloaded, others_first
from pytest_sopbench._running.observing import Output, captured, problem_of
from pytest_sopbench._running.threads import Clock
from pytest_sopbench._running.tools.calls import (
    GIVEN_UP,
    ArgumentCheck,
    CallLog,
    OpenCall,
    ReportedUsage,
    compile_checks,
)
from pytest_sopbench._running.tools.codeless import RunWorld, look_up, refuse_leaks
from pytest_sopbench._running.tools.domain_code import (
    Arguments,
    Manager,
    ManagerFactory,
    process,
    typed_afunction,
    typed_function,
)
from pytest_sopbench._running.tools.mcp_tools import McpManager
from pytest_sopbench.errors import (
    RunOverError,
    ToolArgumentError,
    ToolError,
    ToolSpecError,
    Unavailable,
    UnknownToolError,
)

OnError: TypeAlias = Literal["return", "raise"]


Served: TypeAlias = tuple[JsonValue, ToolError | RunOverError | None]
"""What became of a call: a value, or an error that is not raised yet.

An error is handed on as a value and raised by the agent's own object: a traceback keeps its frames
with their locals, and those of the toolbox hold the row.
"""


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
            The tool's own mapping; `{"result": value}` if its value is no mapping; and
            `{"error": message}` if `call` would have raised.
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
        return [{"type": "function", "function": one} for one in self.json_schema()]

    def bedrock(self) -> list[dict[str, JsonValue]]:
        """The tool specs in the shape of Bedrock's `toolConfig["tools"]`."""
        return [
            {
                "toolSpec": {
                    "name": one["name"],
                    "description": one["description"],
                    "inputSchema": {"json": one["parameters"]},
                }
            }
            for one in self.json_schema()
        ]

    def json_schema(self) -> list[dict[str, JsonValue]]:
        """The tool specs as `name`, `description` and `parameters`, a JSON schema."""
        # Each asking makes copies.
        return [
            {
                "name": spec.name,
                "description": spec.description,
                "parameters": to_json_value(spec.parameters),
            }
            for spec in _behind(self).specs
        ]

    def output_schema(self) -> JsonValue:
        """The JSON schema of the answer, if it is a document; else `None`."""
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
            granted: false if it was denied.
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
_registry: WeakKeyDictionary[Tools, Toolbox] = WeakKeyDictionary()


def _behind(tools: Tools) -> Toolbox:
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


TOOLS_LISTED = 50
TOOLS_COMPARED = 1_000
NAME_KEPT = 1_000
_PLACES: Final = 3
NAME_COMPARED = 100
"""Characters from which on a name is none that somebody misspelled."""

_TOO_LONG: Final = (
    f"the tool returned more than {TEXT_LIMIT:,} characters: more than a call hands over"
)


class Toolbox:
    """Serves the calls of one run: checks each, answers it, and lets nothing but its value out.

    It must not know the `Tools` that lead to it: a weak registry never frees a key that its own
    value holds.
    """

    def __init__(  # noqa: PLR0913 - the parts of a run's tools, all of them given by the factory
        self,
        domain: Domain,
        checks: Mapping[str, ArgumentCheck],
        *,
        task: Task,
        manager: Manager | None,
        output: Output,
        log: CallLog,
        prices: Prices | None,
        trial: int,
        world: RunWorld | None = None,
    ) -> None:
        self._world = world
        # In the order in which they were made, each with the number of its call.
        self._changes: list[tuple[int, StateChange]] = []
        self._world_is_known = True
        self._domain = domain
        self.trial: Final = trial
        self._checks = checks
        # Records stand beside the columns. What is served of them is copied then, so that no tool
        # can change the row of another run: a table may be long, and shared by all tasks.
        self._row: Mapping[str, JsonValue] | None = {**task.inputs, **task.results, **task.tables}
        self._inputs: Mapping[str, JsonValue] = task.inputs
        self._manager = manager
        # Managers are written for one caller, and agents call tools in parallel.
        self._one_at_a_time = Lock()
        self._mask = output.mask
        self._notes: list[str] = []
        self.away: Problem | None = None
        """Why a tool could not be reached: whatever the agent made of that, no answer counts."""
        self.log: Final = log
        """Every call so far, in the order in which they began."""
        self.told: Final = ReportedUsage(log, self._notes, prices)
        """What the agent told of its run."""
        self.output: Final = output
        """Where the run's stdout and stderr go."""

    # What the runner asks.

    @property
    def tools(self) -> Tools:
        """What an agent is given; each is another object that leads to the same run."""
        tools = Tools()
        _registry[tools] = self
        return tools

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed so that it could be recorded."""
        return tuple(self._notes)

    @property
    def state(self) -> tuple[StateChange, ...] | None:
        """What was changed in the run's world; null if there is none, or that is not known."""
        if self._world is None or not self._world_is_known:
            return None
        steps = self.log.steps
        return tuple(replace(one, step=steps[number]) for number, one in [*self._changes])

    def close(self) -> None:
        """End the run: nothing is served or recorded after it, and the row is let go."""
        if self._world is not None:
            self._look_once_more(self._world)
        self.log.close()
        self.told.close()
        self._row = None
        self._inputs = {}
        manager, self._manager = self._manager, None
        if isinstance(manager, McpManager):
            manager.close()

    def _look_once_more(self, world: RunWorld) -> None:
        """Take down what code of the domain has changed since the last call."""
        # A call that is still at work holds the lock; what it did is not known anyway.
        if self.log.closed or not self._one_at_a_time.acquire(blocking=False):
            return
        try:
            changes, calls = world.untold(), self.log.begun
            self._changes += [(calls - 1, one) for one in changes]
            # What no call can have led to stands at no step.
            self._world_is_known = bool(calls) or not changes
        except (ToolError, RuntimeError):
            self._world_is_known = False
        finally:
            self._one_at_a_time.release()

    # What the agent asks, by its `Tools`.

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._domain.tool_specs

    @property
    def schema(self) -> Mapping[str, JsonValue] | None:
        return self._domain.document.schema if self._domain.document else None

    def may_block(self, name: str) -> bool:
        if name in self._domain.world_tools:
            # It waits for its turn behind code of the domain.
            return self._manager is not None
        return name not in self._domain.lookups and name in self._checks

    def serve(self, name: str, arguments: object) -> Served:
        """Make a call from its begin to its end."""
        with masking(self._mask):
            call = self._begun(name, arguments)
            if not isinstance(call, OpenCall):
                return None, call
            served = self._answered(call)
        self.log.end(call)
        return served

    # An agent's own threads do not have the context of the run, so each door has its mask.

    def begin(self, name: str, arguments: object) -> OpenCall | ToolError | RunOverError:
        """Record that a call begins, or return why it must not."""
        with masking(self._mask):
            return self._begun(name, arguments)

    def answer(self, call: OpenCall) -> Served:
        """Check and answer a call that has begun; an error comes back as a value."""
        with masking(self._mask):
            return self._answered(call)

    def report(self, usage: object, messages: object, notes: object, model: object) -> None:
        with masking(self._mask):
            self.told.report(usage, messages, notes, model)

    def record_approval(self, step: str, by: str, granted: bool, reason: str) -> None:
        with masking(self._mask):
            self.told.approve(step, by, granted=granted, reason=reason)

    def _begun(self, name: str, arguments: object) -> OpenCall | ToolError | RunOverError:
        said = to_json_value(name, self._notes)
        name = said if isinstance(said, str) else repr(said)
        if len(name) > NAME_KEPT:
            name = f"{ready_to_cut(name)[:NAME_KEPT]}... ({len(name):,} characters)"
        given = to_json_value(arguments, self._notes)
        if is_too_long(given):
            # It is recorded as the bad call that it is: no tool takes a text for arguments.
            given = f"[more than {TEXT_LIMIT:,} characters]"
        try:
            return self.log.begin(name, given)
        except (ToolError, RunOverError) as error:
            return _bare(error)

    def _answered(self, call: OpenCall) -> Served:
        if not self.log.ask(call):
            return None, ToolError(GIVEN_UP)
        try:
            self._refuse(call)
            result = self._answer(call)
        except Unavailable as error:
            self.away = self.away or problem_of(error)
            told = f"the tool cannot be reached: {escape_surrogates(str(error), self._notes)}"
            self.log.answer(call, error=told)
            return None, ToolError(told)
        except ToolError as error:
            self.log.answer(call, error=escape_surrogates(str(error), self._notes))
            return None, _bare(error)
        # The agent's own: what it does to its value must not change the record.
        value = to_json_value(result)
        self.log.answer(call, result=result)
        return value, None

    def _refuse(self, call: OpenCall) -> None:
        """Find out what is wrong with a call, and refuse it if that is asked for."""
        check = self._checks.get(call.name)
        if check is None:
            msg = f"there is no tool {call.name!r}"
            call.findings = (Finding(kind=FindingKind.UNKNOWN_TOOL, parameter="", message=msg),)
            raise UnknownToolError(msg, hint=self._nearest(call))
        call.findings = check.findings(call.arguments, self._copied)
        rejected = self._domain.reject_bad_arguments or not isinstance(call.arguments, dict)
        if rejected and call.findings:
            msg = "; ".join(one.message for one in call.findings)
            raise ToolArgumentError(msg)

    def _nearest(self, call: OpenCall) -> str:
        # Comparing names takes time, which a long name or thousands of tools would add up.
        known = list(islice(self._checks, TOOLS_COMPARED))
        comparable = len(call.name) <= NAME_COMPARED
        near = get_close_matches(call.name, known, n=3, cutoff=0.5) if comparable else []
        if near:
            return f"did you mean {' or '.join(near)}?"
        return f"tools: {listed(tuple(self._checks))}"

    def _answer(self, call: OpenCall) -> JsonValue:
        name, world = call.name, self._world
        arguments = cast("dict[str, JsonValue]", call.arguments)
        lookup, row, manager = self._domain.lookups.get(name), self._row, self._manager
        if lookup is not None and row is not None:
            return self._result(look_up(lookup, row, arguments))
        tool = self._domain.world_tools.get(name)
        if row is None or (manager is None and tool is None):
            # Closed by another thread since the call began.
            msg = "the run is over: no tool can be called any more"
            raise ToolError(msg)

        def ask() -> JsonValue:
            if tool is not None and world is not None:
                return self._result(world.serve(tool, row, arguments))
            # Its own copy: a manager that changes its arguments must not change the record.
            given = cast("dict[str, JsonValue]", to_json_value(arguments))
            with captured(self.output):
                return self._result(process(cast("Manager", manager), name, given))

        with self._one_at_a_time:
            if world is None:
                return ask()
            result, changes = world.call(ask)
            if not self.log.closed:
                self._changes += [(call.number, one) for one in changes]
            return result

    def _result(self, value: object) -> JsonValue:
        result = to_json_value(value, self._notes)
        if is_too_long(result):
            raise ToolError(_TOO_LONG)
        return result

    def _copied(self, value: JsonValue) -> bool:
        return any(
            _is_same(value, one)
            for source in (self._inputs, *self.log.results())
            for one in _inside(source)
        )


def _is_same(value: JsonValue, other: JsonValue) -> bool:
    """Whether they are of one type and equal: a text that a number elsewhere spells is no copy."""
    texts = isinstance(value, str), isinstance(other, str)
    flags = isinstance(value, bool), isinstance(other, bool)
    return value == other and len({*texts}) == 1 and len({*flags}) == 1


def _inside(value: JsonValue) -> Iterator[JsonValue]:
    yield value
    if isinstance(value, dict):
        for one in value.values():
            yield from _inside(one)
    elif isinstance(value, list):
        for one in value:
            yield from _inside(one)


def _bare(error: ToolError | RunOverError) -> ToolError | RunOverError:
    # Its traceback, and what it came from, have frames whose locals hold the row.
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def listed(names: Sequence[str]) -> str:
    """Write names of tools into one line, however many and however long they are."""
    more = len(names) - TOOLS_LISTED
    shown = (name if len(name) <= NAME_COMPARED else f"{name[:NAME_COMPARED]}..." for name in names)
    return ", ".join(islice(shown, TOOLS_LISTED)) + (f" and {more} more" if more > 0 else "")


class ToolboxFactory:
    """Opens the toolboxes of one domain; made once, so that schemas are compiled once.

    Raises:
        ToolSpecError: a schema is not usable, a tool has nothing that serves it, or would serve
            what an agent must not see.
    """

    def __init__(self, domain: Domain, manager_factory: ManagerFactory | None = None) -> None:
        refuse_leaks(domain)
        self._domain = domain
        self._checks = compile_checks(domain)
        self._manager_factory = manager_factory
        idle = [one.name for one in domain.tool_specs if one.name not in domain.codeless]
        if idle and manager_factory is None:
            raise ToolSpecError(
                domain.folder,
                f"nothing serves the tools {listed(idle)}",
                hint="add a tools.py with a manager, or name them under 'tools' in metadata.json,"
                " or name an MCP server under 'mcp'",
            )

    def open(
        self,
        task: Task,
        *,
        max_calls: int,
        clock: Clock,
        prices: Prices | None = None,
        trial: int = 1,
    ) -> Toolbox:
        """Open a fresh toolbox for one run of `task`, whose cost is reckoned by `prices`.

        Raises:
            ToolSpecError: the domain's manager cannot be made.
        """
        output, manager = Output(), None
        known = self._domain.world
        has_code = self._manager_factory is not None
        world = None if known is None else RunWorld(known, task.world, has_code=has_code)
        if self._manager_factory is not None:
            with captured(output):
                manager = self._manager_factory(task, None if world is None else world.tables)
            self._refuse_changed(world)
        return Toolbox(
            self._domain,
            self._checks,
            task=task,
            manager=manager,
            output=output,
            log=CallLog(max_calls=max_calls, clock=clock),
            prices=prices,
            world=world,
            trial=trial,
        )

    def _refuse_changed(self, world: RunWorld | None) -> None:
        """Check that no manager changed the world as it was made: no call could be blamed for it.

        Raises:
            ToolSpecError: it did.
        """
        try:
            found = () if world is None else world.untold()
            places = ", ".join(f"{one.table}[{one.key}]" for one in found[:_PLACES])
        except (ToolError, RuntimeError) as fault:
            places = str(fault)
        if places:
            raise ToolSpecError(
                self._domain.tools_file or self._domain.folder,
                f"its constructor changes the world: {places}",
                hint="change it in process_tool_call alone; world.json has what a run begins with",
            )
