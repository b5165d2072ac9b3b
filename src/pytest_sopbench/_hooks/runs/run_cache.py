"""The runs of one process: each is made once, however many tests ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import pytest

from pytest_sopbench._core.model.agent_labels import parameter_of
from pytest_sopbench._core.model.task import RunKey, Task
from pytest_sopbench._core.steps.approving import Approver
from pytest_sopbench._hooks.code.agents import Agents, bounded_import
from pytest_sopbench._hooks.code.trusted_code import manager_factory
from pytest_sopbench._hooks.process.breakage import BREAKAGE
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._running.tools.toolbox import Toolbox, ToolboxFactory
from pytest_sopbench._settings.readers import GivenAgent
from pytest_sopbench.errors import SopbenchError

from .prefetch import RunFactories, RunPrefetcher, RunRequest, RunResult
from .shown import JudgedRun, Run, explain_run

RUNS = pytest.StashKey["RunCache"]()
RUN = pytest.StashKey[Run]()
LEFT = pytest.StashKey["PendingReport"]()
"""What a run leaves, on the item that had it made, until that is reported."""
RAISED = pytest.StashKey[BaseException]()
"""What the agent raised, under --pdb only: it holds the frames of the agent."""
ASKED = pytest.StashKey[bool]()
"""Stands on an item that has asked for its run, so that a second asking is known for a rerun."""
RERUN = pytest.StashKey[bool]()
"""Stands on an item that another plugin runs again, until that is reported."""


def asks_for_run(item: pytest.Item) -> bool:
    """Tell whether an item is known to ask for the run of its task, and not for the task alone."""
    return "sop_run" in getattr(item, "fixturenames", ())


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A run, and the seconds that an item waited for it."""

    done: RunResult
    waited: float


@dataclass(frozen=True, slots=True)
class CachedRun:
    agent: object
    output: str
    show: Callable[[pytest.Item], Run]


class RunCache:
    """Makes runs when a test asks for them, and keeps each while a test may still ask."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.agents = Agents(sop)
        self._factories: dict[str, ToolboxFactory] = {}
        self._made: dict[RunKey, CachedRun] = {}
        self._asking: Counter[RunKey] = Counter()
        self._raised: dict[RunKey, BaseException] = {}
        self._ask_leave: Callable[[TaskRef, pytest.Item], None] | None = None
        self.flights = RunPrefetcher(
            sop,
            RunFactories(
                caller=self.agents.asking,
                agent=self.agent_of,
                toolbox=self._opening,
                is_known=self._made.__contains__,
                raised=self._note_raised,
            ),
        )

    def expect(self, key: RunKey) -> None:
        """Count one more item that will ask for a run."""
        self._asking[key] += 1

    def guard(self, ask_leave: Callable[[TaskRef, pytest.Item], None]) -> None:
        """Have something called before an item is given a run, which raises to prevent that."""
        self._ask_leave = ask_leave

    def run(
        self,
        ref: TaskRef,
        task: Task,
        agent: object,
        item: pytest.Item,
        approver: Approver | None = None,
    ) -> Run:
        """Return the run of this agent on this task; the first that asks makes it."""
        if self._ask_leave is not None:
            self._ask_leave(ref, item)
        if ASKED in item.stash:
            item.stash[RERUN] = True
        item.stash[ASKED] = True
        made = self._made.get(ref.key)
        if made is None:
            made = self._made[ref.key] = self._make(RunRequest(ref, task, agent, approver), item)
        elif made.agent is not agent and parameter_of(ref.key.agent) is None:
            pytest.fail(
                f"the fixture sop_agent gave two agents for {task.domain}/{task.id} in one "
                "session, and both are called the same; name one with @pytest.mark.sop(agent=...)",
                pytrace=False,
            )
        if made.output:
            # Where the run was made in this thread, pytest has captured it itself.
            item.add_report_section("call", "stdout", made.output)
        run = item.stash[RUN] = made.show(item)
        return run

    def variant(self, ask: RunRequest, item: pytest.Item) -> RunResult:
        """Return the run of a variant: no item but its own asks for it."""
        if self._ask_leave is not None:
            self._ask_leave(ask.ref, item)
        with self._sop.config.stash[BREAKAGE].watching():
            return self.flights.make(ask, item)

    def release(self, item: pytest.Item) -> None:
        """Forget the run of an item that has ended, if no later item asks for it."""
        # The session keeps its items to the end, and a trace may be large.
        if RUN in item.stash:
            del item.stash[RUN]
        key = item.stash[REF].key
        left = self._asking.pop(key, 0) - asks_for_run(item)
        if left > 0:
            self._asking[key] = left
            return
        self._made.pop(key, None)
        self.flights.let_go(key)

    def prepare(self, domains: Iterable[ActiveDomain], agents: Iterable[GivenAgent]) -> None:
        """Import what runs will need, so that faults show early.

        Raises:
            pytest.UsageError: the domains' tools cannot be served, or an agent cannot be used.
        """
        for active in domains:
            self.factory(active)
        self.agents.check_approver()
        for agent in agents:
            self.agents.resolve(agent.spec)

    def agent_of(self, key: RunKey) -> object:
        """Return which of several agents of the options makes a run; `None` where it is no such."""
        spec = self._sop.spec_of(key.agent) if self._sop.has_agents else None
        return None if spec is None else self.agents.resolve(spec)

    def open_toolbox(self, active: ActiveDomain, task: Task) -> Toolbox:
        """Open a fresh toolbox, whose clock starts with it."""
        return self._opening(active, task)()

    def factory(self, active: ActiveDomain) -> ToolboxFactory:
        """Return what opens a domain's toolboxes; made at the first asking.

        Raises:
            pytest.UsageError: the domain's tools cannot be served.
        """
        name = active.domain.name
        if name not in self._factories:
            try:
                with bounded_import(self._sop, f"the tools of domain {name}"):
                    self._factories[name] = ToolboxFactory(active.domain, manager_factory(active))
            except SopbenchError as error:
                raise pytest.UsageError(str(error)) from None
        return self._factories[name]

    def _opening(self, active: ActiveDomain, task: Task) -> Callable[[], Toolbox]:
        """Return what opens toolboxes for the runs of a task, in whichever thread."""
        factory, most = self.factory(active), self._sop.options.max_calls
        prices = self._sop.prices
        return lambda: factory.open(task, max_calls=most, clock=perf_counter, prices=prices)

    def _make(self, ask: RunRequest, item: pytest.Item) -> CachedRun:
        asked = perf_counter()
        with self._sop.config.stash[BREAKAGE].watching():
            done = self.flights.make(ask, item)
        item.stash[LEFT] = PendingReport(done, perf_counter() - asked)
        raised = self._raised.pop(ask.ref.key, None)
        if raised is not None:
            item.stash[RAISED] = raised
        output = "" if self.flights.pace.direct else done.trace.output
        return CachedRun(ask.agent, output, self._showing(done))

    def _showing(self, done: RunResult) -> Callable[[pytest.Item], Run]:
        active, task = done.ask.ref.domain, done.ask.task
        judged = JudgedRun(
            task=task,
            trace=done.trace,
            verdict=done.verdict,
            contract=active.domain.contract,
            enforce=self._sop.options.contract == "enforce",
            redaction=self._sop.options.redaction.of(active.domain.private_columns),
            tools=active.tool_names,
            fields=active.domain.fields,
            document=active.domain.document,
        )

        def show(asking: pytest.Item) -> Run:
            test = "" if asking.stash.get(BUILTIN, False) else asking.nodeid
            explain = partial(explain_run, self._sop, done.ask.ref, task, done.kept.record, test)
            return Run(judged, explain)

        return show

    def _note_raised(self, key: RunKey, error: BaseException) -> None:
        """Keep what an agent raised, where a debugger is to open at it."""
        if self._sop.config.getoption("usepdb"):
            self._raised[key] = error
