"""The runs of one process: asked for by tests, made and judged once, given to all that ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Final

import pluggy
import pytest

from pytest_sopbench._core.availability import is_unavailable
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.task import RunKey, Task, parameter_of
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.steps import Approver
from pytest_sopbench._hooks.code import Agents, manager_factory, mcp_tools
from pytest_sopbench._hooks.outgoing import Debugging, output_apart
from pytest_sopbench._hooks.runs.prefetch import (
    ItemQueue,
    Starts,
    load_lazy_parts,
    may_run_ahead,
    taken_over_of,
    wrapped,
)
from pytest_sopbench._hooks.runs.reportable import (
    CUT_BY_PLUGIN,
    JudgedRun,
    RunJournal,
    judged,
    may_store_trace,
)
from pytest_sopbench._hooks.runs.shown import Run
from pytest_sopbench._hooks.session.consistency import has_workers
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef, import_limit, pace_of
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._hooks.session.variants import VARIANT
from pytest_sopbench._running.engine import Engine
from pytest_sopbench._running.limits import EngineStatus, Job, Limits
from pytest_sopbench._running.observing import Capture, show_from_now_on
from pytest_sopbench._running.tools.domain_code import ManagerFactory
from pytest_sopbench._running.tools.toolbox import Toolbox, ToolboxFactory
from pytest_sopbench._settings.readers import GivenAgent
from pytest_sopbench.errors import SopbenchError

if TYPE_CHECKING:
    from pytest_sopbench._hooks.replaying import Tapes

SERVER_START: Final = 60.0
"""Seconds in which an MCP server has to answer, if runs have no time limit."""

RUNS = pytest.StashKey["Runs"]()
RUN = pytest.StashKey[Run]()
LEFT = pytest.StashKey[JudgedRun]()
"""The run that an item had made, on that item until it is reported."""
WAITED = pytest.StashKey[float]()
"""The seconds that the item waited for it."""
RAISED = pytest.StashKey[BaseException]()
"""What the agent raised, under --pdb only: it holds the frames of the agent."""
ASKED = pytest.StashKey[bool]()
"""Stands on an item that has asked for its run, so that a second asking is known for a rerun."""
RERUN = pytest.StashKey[bool]()
"""Stands on an item that another plugin runs again, until that is reported."""
DECIDING: Final = ("sop_task", "sop_approver")
"""Fixtures beside the agent that decide what a run is: it serves only tests that have the same."""


def asks_for_run(item: pytest.Item) -> bool:
    """Tell whether an item is known to ask for the run of its task, and not for the task alone."""
    return "sop_run" in getattr(item, "fixturenames", ())


@dataclass(slots=True, kw_only=True, eq=False)
class RunJob(Job[RunKey]):
    """A job of the engine, with what a test asked for; without an `approver`, the session's own."""

    ref: TaskRef
    agent: object
    approver: Approver | None


class Runs:
    """Has runs made when tests ask for them, and before; keeps each while a test may still ask.

    A run goes down as a job, `run` to `make` to the engine, and comes back as a `JudgedRun`:
    the engine tells of its trace in `ended`, where it is judged and written down, once.
    """

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.agents = Agents(sop)
        self._factories: dict[str, ToolboxFactory] = {}
        self._taken = taken_over_of(sop)
        self._tapes: Tapes | None = None
        if sop.options.replay.mode != "off":
            from pytest_sopbench._hooks.replaying import TAPES, Tapes  # noqa: PLC0415 - nearly no session replays

            self._tapes = Tapes(sop, sop.options.replay.mode)
            sop.config.pluginmanager.register(self._tapes, TAPES)
        self.starts = Starts(sop.config)
        self.pace = pace_of(sop.config, sop.options)
        self._jobs: dict[RunKey, RunJob] = {}
        # Runs that were begun, or found, before their items come.
        self._foreseen: set[RunKey] = set()
        # Runs that ended, and that no item has asked for so far.
        self._ended: dict[RunKey, JudgedRun] = {}
        # Runs that an item was given, each with its agent and with the fixtures that decided it.
        self._given: dict[RunKey, tuple[object, Mapping[str, object], JudgedRun]] = {}
        self._asking: Counter[RunKey] = Counter()
        self._raised: dict[RunKey, BaseException] = {}
        self._engine: Engine[RunKey] | None = None
        self._upcoming: ItemQueue | None = None
        self._journal: RunJournal | None = None
        self._looks: list[Callable[[], None]] = [Debugging(sop.config).look]
        self._told: Callable[[JudgedRun], None] | None = None
        self._ask_leave: Callable[[TaskRef, pytest.Item], None] | None = None
        self._loaded: set[str] = set()
        self._is_held_back = False
        # What ends while runs are held back may hold them back in turn.
        self._holding = RLock()
        self.problems: list[str] = []

    # What a run is made of.

    def prepare(self, domains: Iterable[ActiveDomain], agents: Iterable[GivenAgent]) -> None:
        """Import what runs will need, so that faults show early.

        Raises:
            pytest.UsageError: the domains' tools cannot be served, or an agent cannot be used.
        """
        for active in domains:
            self.factory(active)
        # Whatever is wrong with it is complained of before the first run, and not in it.
        _ = self.agents.approver
        for agent in agents:
            self.agents.resolve(agent.spec)

    def agent_of(self, key: RunKey) -> object:
        """Return which of several agents of the options makes a run; `None` if it is no such."""
        spec = self._sop.spec_of(key.agent) if self._sop.has_agents else None
        return None if spec is None else self.agents.resolve(spec)

    def factory(self, active: ActiveDomain) -> ToolboxFactory:
        """Return what opens a domain's toolboxes; made at the first asking.

        Raises:
            pytest.UsageError: the domain's tools cannot be served.
        """
        name = active.domain.name
        if name not in self._factories:
            try:
                self._factories[name] = ToolboxFactory(active.domain, self._managers(active))
            except SopbenchError as error:
                raise pytest.UsageError(str(error)) from None
        return self._factories[name]

    def _managers(self, active: ActiveDomain) -> ManagerFactory | None:
        server = mcp_tools(active)
        if server is None:
            tools = f"the tools of domain {active.domain.name}"
            with import_limit(self._sop.config, self._sop.options, tools):
                return manager_factory(active)
        config = self._sop.config
        # Each worker starts its own, and the controller makes no run.
        if hasattr(config, "workerinput") or not has_workers(config):
            config.add_cleanup(server.close)
            with nullcontext() if self._tapes is None else self._tapes.apart():
                server.start(self.pace.timeout or SERVER_START)
        return server.manager

    def toolbox(self, active: ActiveDomain, task: Task, trial: int = 1) -> Callable[[], Toolbox]:
        """Return what opens fresh toolboxes for a task, in whichever thread; each has a clock."""
        return partial(
            self.factory(active).open,
            task,
            max_calls=self._sop.options.max_calls,
            clock=perf_counter,
            prices=self._sop.prices,
            trial=trial,
        )

    def _job(self, ref: TaskRef, task: Task, agent: object, approver: Approver | None) -> RunJob:
        key = ref.key
        if not ref.variant:
            self.starts.begin()
        # Asked for each run: a `conftest.py` further down may have come since.
        hook: pluggy.HookCaller = self._sop.config.hook.pytest_sop_wrap_run
        caller = self.agents.caller(agent)
        return RunJob(
            key=key,
            domain=ref.domain.domain,
            task=task,
            open_toolbox=self.toolbox(ref.domain, task, key.trial),
            unavailable=partial(self._is_unavailable, key),
            timed_out=self._is_timed_out,
            alone=self._journal is not None and self._journal.is_suspect(key),
            wrap=partial(wrapped, hook, key) if hook.get_hookimpls() else None,
            compare=partial(self._compared, ref, task) if ref.domain.comparers.by_field else None,
            ref=ref,
            agent=agent,
            approver=approver,
            caller=caller if approver is None else caller.asking(approver),
        )

    def _compared(self, ref: TaskRef, task: Task, trace: Trace) -> Trace:
        """Ask the comparers of a domain; what they send is no traffic of the agent."""
        active, mask = ref.domain, self._sop.options.redaction.text
        capture: Capture = "tee" if self.pace.direct else "keep"
        with nullcontext() if self._tapes is None else self._tapes.beside():
            return active.comparers.compare(active.rules, task, trace, mask, capture)

    def _is_unavailable(self, key: RunKey, error: BaseException) -> bool:
        if self._sop.config.getoption("usepdb"):
            # A debugger is to open at what the agent raised.
            self._raised[key] = error
        return is_unavailable(error, self._sop.options.unavailable)

    def _is_timed_out(self, error: BaseException) -> bool:
        # pytest-timeout fails the item from a signal, in the middle of whatever it waits for.
        plugins = self._sop.config.pluginmanager
        return issubclass(type(error), pytest.fail.Exception) and plugins.hasplugin("timeout")

    # What others are told, and what they may do.

    def expect(self, key: RunKey) -> None:
        """Count one more item that will ask for a run."""
        self._asking[key] += 1

    def guard(self, ask_leave: Callable[[TaskRef, pytest.Item], None]) -> None:
        """Have something called before an item is given a run, which raises to prevent that."""
        self._ask_leave = ask_leave

    def watch(self, look: Callable[[], None]) -> None:
        """Have something called now and then while an item waits for its run."""
        self._looks.append(look)

    def tell(self, told: Callable[[JudgedRun], None]) -> None:
        """Have something called as each run ends, in the thread that made it."""
        self._told = told

    def hold_back(self) -> None:
        """Begin no more runs before their tests come; those that are in flight go on.

        It may be called from any thread.
        """
        with self._holding:
            self._is_held_back = True
            for key in self._engine.cancel_queued() if self._engine is not None else ():
                self._jobs.pop(key, None)
                self._foreseen.discard(key)

    def is_begun(self, key: RunKey) -> bool:
        """Tell whether a run is in flight or was made, once runs are held back."""
        return self._is_known(key) or self._taken.needs_nothing(key)

    def _is_known(self, key: RunKey) -> bool:
        return key in self._jobs or key in self._ended or key in self._given

    @property
    def left_over(self) -> Iterator[JudgedRun]:
        """Runs that ended, that no item has asked for, and that count."""
        return (done for done in self._ended.values() if not done.ref.variant)

    def standing(self) -> EngineStatus[RunKey] | None:
        """Tell what is in flight, once the first item is run."""
        return self._engine.standing() if self._engine is not None else None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Have the engine ready while items run: runs see the context from before the first."""
        if not self._sop.makes_runs:
            return (yield)
        tapes, options = self._tapes, self._sop.options
        retries = options.retries if tapes is None else tapes.retries
        with ExitStack() as stack:
            stack.enter_context(masking(options.redaction.text))
            if self.pace.ahead:
                # Closed after the engine has stopped, which tells of the last runs that end.
                self._journal = RunJournal(self._sop, self.problems)
                stack.callback(self._journal.close)
            self._engine = Engine(
                self.pace.limit,
                Limits(timeout=self.pace.timeout, retries=retries),
                started=None if self._journal is None else self.started,
                ended=self.ended,
            )
            stack.callback(self._engine.stop)
            if not self.pace.direct:
                stack.enter_context(output_apart(self._sop.config))
            if self.pace.ahead:
                self._upcoming = ItemQueue(session)
            return (yield)

    @pytest.hookimpl
    def pytest_enter_pdb(self) -> None:
        """Let a debugger that opens in an agent be seen, and take its time."""
        show_from_now_on()
        if self._engine is not None:
            self._engine.lift_timeout()

    # The road of a run: asked for, made, judged, given.

    def run(
        self,
        ref: TaskRef,
        task: Task,
        agent: object,
        approver: Approver | None,
        item: pytest.Item,
        deciding: Mapping[str, object],
    ) -> Run:
        """Return the run of this agent on this task; the first that asks makes it.

        `deciding` are the definitions of the fixtures that decide it beside the agent.
        """
        if ASKED in item.stash:
            item.stash[RERUN] = True
        item.stash[ASKED] = True
        made_by, made_with, done = self._given.get(ref.key, (agent, deciding, None))
        if done is None:
            asked = perf_counter()
            done = self.make(ref, task, agent, approver, item)
            self._given[ref.key] = agent, deciding, done
            item.stash[LEFT], item.stash[WAITED] = done, perf_counter() - asked
            if (raised := self._raised.pop(ref.key, None)) is not None:
                item.stash[RAISED] = raised
        elif made_by is not agent and parameter_of(ref.key.agent) is None:
            pytest.fail(
                f"the fixture sop_agent gave two agents for {task.domain}/{task.id} in one "
                "session, and both are called the same; name one with @pytest.mark.sop(agent=...)",
                pytrace=False,
            )
        elif others := [it for it in deciding if deciding[it] is not made_with[it]]:
            pytest.fail(
                f"the run of {task.domain}/{task.id} was made for a test with another fixture "
                f"{others[0]}, and all tests of a session share it; run the tests that have one of "
                "their own in a session of their own",
                pytrace=False,
            )
        if done.trace.output and not self.pace.direct:
            # If the run was made in this thread, pytest has captured it itself.
            item.add_report_section("call", "stdout", done.trace.output)
        test = "" if item.stash.get(BUILTIN, False) else item.nodeid
        run = item.stash[RUN] = Run(self._sop, done, test)
        return run

    def make(
        self,
        ref: TaskRef,
        task: Task,
        agent: object,
        approver: Approver | None,
        item: pytest.Item,
    ) -> JudgedRun:
        """Return the run that is asked for, made now or before its item came.

        Raises:
            KeyboardInterrupt: the user has interrupted.
            pytest.UsageError: the domain's tools or the agent cannot be used.
            SopbenchError: the run's toolbox cannot be opened.
        """
        if self._ask_leave is not None:
            self._ask_leave(ref, item)
        engine, key = self._engine, ref.key
        if engine is None:
            msg = f"{item.nodeid}: it asks for a run outside of the loop in which tests run"
            raise pytest.UsageError(msg)
        self._foreseen.discard(key)
        job = self._jobs.get(key)
        if job is None:
            done = self._ended.pop(key, None) or self._left(ref, task)
            if done is not None:
                return done
            job = self._jobs[key] = self._job(ref, task, agent, approver)
        if self.pace.limit.highest > 1:
            load_lazy_parts(self._loaded)
        trace = self._wait(engine, job, item)
        if trace is None and self._is_held_back:
            # Held back while its test was waiting already: it is made all the same.
            with self._holding:
                job = self._jobs[key] = replace(job)
            trace = self._wait(engine, job, item)
        if trace is None:
            # Whoever ended the waiting did so before the run could begin.
            return judged(self._sop, ref, task, None)
        del self._jobs[key]
        return self._ended.pop(key)

    def _left(self, ref: TaskRef, task: Task) -> JudgedRun | None:
        """Return a run that an earlier session finished, or that a dead worker has left."""
        taken = self._taken.find(ref, task) if self._taken.lines else None
        if taken is not None or self._journal is None:
            return taken
        left = self._journal.left(ref.key)
        return None if left is None else replace(judged(self._sop, ref, task, left), inherited=True)

    def _ahead(self, queue: ItemQueue, job: RunJob, item: pytest.Item) -> Iterator[RunJob]:
        """Yield runs that may be begun now, as many as the look-ahead has room for."""
        following = queue.after(item)
        while len(self._foreseen) < self.pace.ahead and not self._is_held_back:
            other = next(following, None) if self.starts.are_open else None
            if other is None:
                return
            ref = other.stash.get(REF, None) or other.stash.get(VARIANT, None)
            if ref is None or not self._is_foreseeable(ref, other, job, item):
                continue
            self._foreseen.add(ref.key)
            left = self._left(ref, ref.task)
            if left is not None:
                self._ended[ref.key] = left
                continue
            agent = self.agent_of(ref.key) or job.agent
            upcoming = self._jobs[ref.key] = self._job(ref, ref.task, agent, job.approver)
            yield upcoming

    def _is_foreseeable(
        self, ref: TaskRef, other: pytest.Item, job: RunJob, item: pytest.Item
    ) -> bool:
        return bool(
            not self._is_known(ref.key)
            and self._sop.has_at_hand(ref.key.agent, job.key.agent)
            and (ref.variant or asks_for_run(other))
            and may_run_ahead(other, item)
            and not self._taken.has(ref)
        )

    def _wait(self, engine: Engine[RunKey], job: RunJob, item: pytest.Item) -> Trace | None:
        """Have the engine make a run next, and return what came of it.

        A run that was cut before it began stays known to the engine, so that nobody begins it.
        """
        key, queue = job.key, self._upcoming

        def look() -> None:
            if queue is not None:
                # A worker is sent items while it waits, and their runs have room beside this one.
                with self._holding:
                    for upcoming in self._ahead(queue, job, item):
                        engine.submit(upcoming)
            for one in self._looks:
                one()

        ahead = () if queue is None else self._ahead(queue, job, item)
        engine.ensure(job, ahead)
        try:
            trace = engine.wait(key, look)
        except BaseException as error:
            if not self._is_timed_out(error):
                raise
            trace = engine.abandon(key, CUT_BY_PLUGIN)
        if trace is not None:
            engine.forget(key)
        look()
        return trace

    def started(self, key: RunKey) -> None:
        """Write down that a run begins."""
        if self._journal is not None and not self._jobs[key].ref.variant:
            self._journal.start(key)

    def ended(self, key: RunKey, trace: Trace) -> None:
        """Judge a run, and write it down, before anybody goes on with it."""
        job = self._jobs[key]
        if self._tapes is not None:
            trace = self._tapes.settle(job.ref, trace)
        done = self._ended[key] = judged(self._sop, job.ref, job.task, trace)
        if self._told is not None:
            self._told(done)
        if job.ref.variant:
            # What it costs counts, and nothing else of it.
            return
        self.starts.likeness.watch(done.record)
        if self._journal is not None:
            may_lie = self._journal.is_inherited and may_store_trace(self._sop, job.ref, trace)
            self._journal.end(key, done.line, trace if may_lie else None, done.events)

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
        self._given.pop(key, None)
        # If no item asks any more for a run that was begun, what came of it counts all the same.
        self._foreseen.discard(key)
