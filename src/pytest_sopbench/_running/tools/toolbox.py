"""The tools of one run, from the runner's side: opened for a task, looked into, and closed.

A toolbox is safe to use from many threads, and knows nothing of the thread it was made in.
"""

from __future__ import annotations

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.prices import Prices
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Approval, ToolCall, Usage
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.observing.capture import Output, captured
from pytest_sopbench._running.threads.clock import Clock
from pytest_sopbench.errors import ToolSpecError

from .argument_check import compile_checks
from .call_log import CallLog
from .facade import Tools, make_tools
from .lookup import refuse_leaks
from .manager import ManagerFactory
from .tool_server import ToolServer, listed


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
