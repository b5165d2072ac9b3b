"""The tools of one run, from the runner's side: opened for a task, looked into, and closed.

A toolbox is safe to use from many threads, and knows nothing of the thread it was made in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from threading import Lock
from typing import Final, cast

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
from pytest_sopbench._running.observing.capture import Output, captured
from pytest_sopbench._running.observing.problem import problem_of
from pytest_sopbench._running.threads import Clock
from pytest_sopbench.errors import (
    RunOverError,
    ToolArgumentError,
    ToolError,
    ToolSpecError,
    Unavailable,
    UnknownToolError,
)

from .calls import GIVEN_UP, ArgumentCheck, CallLog, OpenCall, ReportedUsage, compile_checks
from .domain_code import Manager, ManagerFactory, process
from .facade import Served, Tools, make_tools
from .lookup import look_up, refuse_leaks
from .mcp_tools import McpManager
from .run_world import RunWorld

TOOLS_LISTED = 50
TOOLS_COMPARED = 1_000
NAME_KEPT = 1_000
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
        return make_tools(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed so that it could be recorded."""
        return tuple(self._notes)

    @property
    def state(self) -> tuple[StateChange, ...] | None:
        """What the calls changed in the run's world; null where there is none."""
        if self._world is None:
            return None
        steps = self.log.steps
        return tuple(replace(one, step=steps[number]) for number, one in [*self._changes])

    def close(self) -> None:
        """End the run: nothing is served or recorded after it, and the row is let go."""
        self.log.close()
        self.told.close()
        self._row = None
        self._inputs = {}
        manager, self._manager = self._manager, None
        if isinstance(manager, McpManager):
            manager.close()

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
        """Find out what is wrong with a call, and refuse it where that is asked for."""
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
            result, changes = world.call(ask, by_code=tool is None)
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
        world = None if known is None else RunWorld(known, task.world)
        if self._manager_factory is not None:
            with captured(output):
                manager = self._manager_factory(task, None if world is None else world.tables)
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
