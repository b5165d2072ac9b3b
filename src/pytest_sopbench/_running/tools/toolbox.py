"""The tools of one run, from the runner's side: opened for a task, looked into, and closed.

A toolbox is safe to use from many threads, and knows nothing of the thread it was made in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from threading import Lock
from typing import cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import masking, ready_to_cut
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._core.model.trace import Approval, Finding, FindingKind, ToolCall, Usage
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._core.values.json import (
    TEXT_LIMIT,
    JsonValue,
    escape_surrogates,
    is_too_long,
    to_json_value,
)
from pytest_sopbench._running.observing.capture import Output, captured
from pytest_sopbench._running.threads import Clock
from pytest_sopbench.errors import (
    RunOverError,
    ToolArgumentError,
    ToolError,
    ToolSpecError,
    UnknownToolError,
)

from .calls import GIVEN_UP, ArgumentCheck, CallLog, OpenCall, ReportedUsage, compile_checks
from .domain_code import Manager, ManagerFactory, process
from .facade import CallOutcome, Tools, make_tools
from .lookup import equals_cell, look_up, refuse_leaks

# Serves the calls of one run: checks each, answers it, and lets nothing but its value out.

TOOLS_LISTED = 50
TOOLS_COMPARED = 1_000
NAME_KEPT = 1_000
NAME_COMPARED = 100
"""Characters from which on a name is none that somebody misspelled."""


class ToolServer:
    """Serves the calls of one run.

    It must not know the `Tools` that lead to it: a weak registry never frees a key that its own
    value holds.
    """

    def __init__(
        self,
        domain: Domain,
        checks: Mapping[str, ArgumentCheck],
        *,
        task: Task,
        manager: Manager | None,
        output: Output,
        ledger: CallLog,
    ) -> None:
        self._domain = domain
        self._checks = checks
        # A copy, so that no tool can change the row of another run.
        row = cast("Mapping[str, JsonValue]", to_json_value({**task.inputs, **task.results}))
        # Records stand beside the columns; what is served of them is copied then, since a table
        # may be long, and shared by all tasks.
        self._row: Mapping[str, JsonValue] | None = {**row, **task.tables}
        self._inputs: Mapping[str, JsonValue] = {name: row[name] for name in task.inputs}
        self._manager = manager
        # Managers are written for one caller, and agents call tools in parallel.
        self._one_at_a_time = Lock()
        self._mask = output.mask
        self.output = output
        self.ledger = ledger
        self.notes: list[str] = []
        self.consumption = ReportedUsage(ledger, self.notes)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._domain.tool_specs

    @property
    def schema(self) -> Mapping[str, JsonValue] | None:
        return self._domain.document.schema if self._domain.document else None

    def may_block(self, name: str) -> bool:
        return name not in self._domain.lookups and name in self._checks

    def begin(self, name: str, arguments: object) -> OpenCall | CallOutcome:
        """Record that a call begins, or return why it must not."""
        # An agent's own threads do not have the context of the run.
        with masking(self._mask):
            said = to_json_value(name, self.notes)
            name = _bounded_name(said if isinstance(said, str) else repr(said))
            given = to_json_value(arguments, self.notes)
            if is_too_long(given):
                # It is recorded as the bad call that it is: no tool takes a text for arguments.
                given = f"[more than {TEXT_LIMIT:,} characters]"
            try:
                return self.ledger.begin(name, given)
            except (ToolError, RunOverError) as error:
                return _failed(error)

    def answer(self, entry: OpenCall) -> CallOutcome:
        """Check and answer a call that has begun; an error comes back as a value."""
        if not self.ledger.ask(entry):
            return _failed(ToolError(GIVEN_UP))
        with masking(self._mask):
            return self._answered(entry)

    def _answered(self, entry: OpenCall) -> CallOutcome:
        try:
            entry.findings = self._findings(entry.name, entry.arguments)
            self._refuse(entry)
            answered = self._answer(entry.name, entry.arguments)
            result = _bounded_result(to_json_value(answered, self.notes))
        except ToolError as error:
            self.ledger.answer(entry, error=escape_surrogates(str(error), self.notes))
            return _failed(error)
        self.ledger.answer(entry, result=result)
        return CallOutcome(to_json_value(result), None)

    def end(self, entry: OpenCall) -> None:
        self.ledger.end(entry)

    def leave(self, entry: OpenCall) -> None:
        self.ledger.leave(entry)

    def report(self, usage: object, messages: object, notes: object, model: object) -> None:
        with masking(self._mask):
            self.consumption.report(usage, messages, notes, model)

    def record_approval(self, step: str, by: str, granted: bool, reason: str) -> None:
        with masking(self._mask):
            self.consumption.approve(step, by, granted=granted, reason=reason)

    def close(self) -> None:
        self.ledger.close()
        self.consumption.close()
        self._row = None
        self._inputs = {}
        self._manager = None

    def _findings(self, name: str, given: JsonValue) -> tuple[Finding, ...]:
        check = self._checks.get(name)
        if check is not None:
            return check.findings(given, self._copied)
        return (
            Finding(
                kind=FindingKind.UNKNOWN_TOOL, parameter="", message=f"there is no tool {name!r}"
            ),
        )

    def _refuse(self, entry: OpenCall) -> None:
        if entry.name not in self._checks:
            msg = f"there is no tool {entry.name!r}"
            raise UnknownToolError(msg, hint=self._nearest(entry))
        rejected = self._domain.reject_bad_arguments or not isinstance(entry.arguments, dict)
        if rejected and entry.findings:
            msg = "; ".join(one.message for one in entry.findings)
            raise ToolArgumentError(msg)

    def _nearest(self, entry: OpenCall) -> str:
        # Comparing names takes time, which a long name or thousands of tools would add up.
        known = list(islice(self._checks, TOOLS_COMPARED))
        comparable = len(entry.name) <= NAME_COMPARED
        near = get_close_matches(entry.name, known, n=3, cutoff=0.5) if comparable else []
        if near:
            return f"did you mean {' or '.join(near)}?"
        return f"tools: {listed(tuple(self._checks))}"

    def _answer(self, name: str, given: JsonValue) -> object:
        arguments = cast("dict[str, JsonValue]", given)
        lookup, row, manager = self._domain.lookups.get(name), self._row, self._manager
        if lookup is not None and row is not None:
            return look_up(lookup, row, arguments)
        if manager is None:
            # Closed by another thread since the call began.
            msg = "the run is over: no tool can be called any more"
            raise ToolError(msg)
        with self._one_at_a_time, captured(self.output):
            # Its own copy: a manager that changes its arguments must not change the record.
            return process(manager, name, cast("dict[str, JsonValue]", to_json_value(arguments)))

    def _copied(self, value: JsonValue) -> bool:
        return any(
            equals_cell(value, one)
            for source in (self._inputs, *self.ledger.results())
            for one in _inside(source)
        )


def _bounded_name(name: str) -> str:
    if len(name) <= NAME_KEPT:
        return name
    return f"{ready_to_cut(name)[:NAME_KEPT]}... ({len(name):,} characters)"


def _bounded_result(result: JsonValue) -> JsonValue:
    if is_too_long(result):
        msg = f"the tool returned more than {TEXT_LIMIT:,} characters: more than a call hands over"
        raise ToolError(msg)
    return result


def _inside(value: JsonValue) -> Iterator[JsonValue]:
    yield value
    if isinstance(value, dict):
        for one in value.values():
            yield from _inside(one)
    elif isinstance(value, list):
        for one in value:
            yield from _inside(one)


def _failed(error: ToolError | RunOverError) -> CallOutcome:
    # Its traceback, and what it came from, have frames whose locals hold the row.
    error.__cause__ = error.__context__ = None
    return CallOutcome(None, error.with_traceback(None))


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
        idle = [one.name for one in domain.tool_specs if one.name not in domain.lookups]
        if idle and manager_factory is None:
            raise ToolSpecError(
                domain.folder,
                f"nothing serves the tools {listed(idle)}",
                hint="add a tools.py with a manager, or name them under 'tools' in metadata.json",
            )

    def open(
        self, task: Task, *, max_calls: int, clock: Clock, prices: Prices | None = None
    ) -> Toolbox:
        """Open a fresh toolbox for one run of `task`, whose cost is reckoned by `prices`.

        Raises:
            ToolSpecError: the domain's manager cannot be made.
        """
        output, manager = Output(), None
        if self._manager_factory is not None:
            with captured(output):
                manager = self._manager_factory(task)
        desk = ToolServer(
            self._domain,
            self._checks,
            task=task,
            manager=manager,
            output=output,
            ledger=CallLog(max_calls=max_calls, clock=clock),
        )
        desk.consumption.reckon_by(prices)
        return Toolbox(desk)


class Toolbox:
    """What the runner keeps of a run's tools; `tools` is what the agent is given."""

    def __init__(self, desk: ToolServer) -> None:
        self._desk = desk
        self.tools: Tools = make_tools(desk)

    def enter(self) -> None:
        """Begin in this context, which is the agent's."""
        self._desk.ledger.enter()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call so far, in the order in which they began."""
        return self._desk.ledger.calls

    @property
    def approvals(self) -> tuple[Approval, ...]:
        return self._desk.consumption.approvals

    @property
    def usage(self) -> Usage:
        return self._desk.consumption.consumed()

    def consumed(self, returned: Usage) -> Usage:
        """Return what the run consumed; `returned` fills in what no report has told."""
        return self._desk.consumption.consumed(returned)

    @property
    def messages(self) -> tuple[JsonValue, ...]:
        return self._desk.consumption.messages

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed so that it could be recorded."""
        return tuple(self._desk.notes)

    @property
    def over_limit(self) -> bool:
        """Whether the agent has asked for one call too many, swallowed or not."""
        return self._desk.ledger.over_limit

    @property
    def output(self) -> Output:
        """Where the run's stdout and stderr go."""
        return self._desk.output

    def close(self) -> None:
        """End the run: nothing is served or recorded after it, and the row is let go."""
        self._desk.close()
