"""Has the runs made that items ask for, and begins those of the items that come next."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Final

import pytest

from pytest_sopbench._core.hiding.masking import masking
from pytest_sopbench._core.judging.availability import is_unavailable
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.records.lines.run_line import to_line
from pytest_sopbench._hooks.process.ahead import load_lazy_parts
from pytest_sopbench._hooks.process.debugging import Debugging
from pytest_sopbench._hooks.process.output_routing import output_apart
from pytest_sopbench._hooks.replaying.choice import tapes_of
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.pace import pace_of
from pytest_sopbench._hooks.session.session import REF, SopSession
from pytest_sopbench._hooks.session.variants import VARIANT
from pytest_sopbench._running.engine.engine import Engine
from pytest_sopbench._running.observing.capture import show_from_now_on
from pytest_sopbench._running.observing.interrupt import standing_watch
from pytest_sopbench._running.queue.job import Job
from pytest_sopbench._running.queue.pending import Limits
from pytest_sopbench._running.queue.queues import EngineStatus

from .first_runs import Starts
from .reportable import comparing, judge_and_keep, may_store_trace
from .requests import RunFactories, RunRequest, RunResult
from .resumed_runs import taken_over_of
from .upcoming_items import ItemQueue, may_run_ahead
from .wrapping import run_wrapper

if TYPE_CHECKING:
    from .run_journal import RunJournal

CUT_BY_PLUGIN: Final = "pytest-timeout ended the test that waited for the run"


class RunPrefetcher:
    """The engine of one process, from the first item to the last."""

    def __init__(self, sop: SopSession, makings: RunFactories) -> None:
        self._sop = sop
        self._makings = makings
        self._taken = taken_over_of(sop)
        self._tapes = tapes_of(sop)
        self.starts = Starts(sop.config)
        self.pace = pace_of(sop.config, sop.options)
        self._asks: dict[RunKey, RunRequest] = {}
        self._foreseen: set[RunKey] = set()
        self._done: dict[RunKey, RunResult] = {}
        self._engine: Engine[RunKey] | None = None
        self._upcoming: ItemQueue | None = None
        self._journal: RunJournal | None = None
        self._looks: list[Callable[[], None]] = [Debugging(sop.config).look]
        self._told: Callable[[RunResult], None] | None = None
        self._loaded: set[str] = set()
        self._is_held_back = False
        # What ends while runs are held back may hold them back in turn.
        self._holding = RLock()
        self.problems: list[str] = []

    def watch(self, look: Callable[[], None]) -> None:
        """Have something called now and then while an item waits for its run."""
        self._looks.append(look)

    def tell(self, told: Callable[[RunResult], None]) -> None:
        """Have something called as each run ends, in the thread that made it."""
        self._told = told

    def hold_back(self) -> None:
        """Begin no more runs before their tests come; those that are in flight go on.

        It may be called from any thread.
        """
        with self._holding:
            self._is_held_back = True
            for key in self._engine.cancel_queued() if self._engine is not None else ():
                self._asks.pop(key, None)
                self._foreseen.discard(key)

    def is_begun(self, key: RunKey) -> bool:
        """Tell whether a run is in flight or was made, once runs are held back."""
        begun = key in self._asks or key in self._done or self._makings.is_known(key)
        return begun or self._taken.needs_nothing(key)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Have the engine ready while items run: runs see the context from before the first."""
        if not self._sop.makes_runs:
            return (yield)
        with ExitStack() as stack:
            stack.enter_context(masking(self._sop.options.redaction.text))
            self._engine = Engine(
                self.pace.limit,
                Limits(timeout=self.pace.timeout, retries=self._tapes.retries),
                listener=self,
            )
            stack.callback(self._engine.stop)
            apart = standing_watch() if self.pace.direct else output_apart(self._sop.config)
            stack.enter_context(apart)
            if self.pace.ahead:
                self._upcoming = ItemQueue(session)
                from .run_journal import RunJournal  # noqa: PLC0415 - one run at a time needs no journal

                self._journal = RunJournal(self._sop, self.problems)
                stack.callback(self._journal.close)
            return (yield)

    @pytest.hookimpl
    def pytest_enter_pdb(self) -> None:
        """Let a debugger that opens in an agent be seen, and take its time."""
        show_from_now_on()
        if self._engine is not None:
            self._engine.lift_timeout()

    @property
    def left_over(self) -> Iterator[RunResult]:
        """Runs that ended, that no item has asked for, and that count."""
        return (done for done in self._done.values() if not done.ask.ref.variant)

    def standing(self) -> EngineStatus[RunKey] | None:
        """Tell what is in flight, once the first item is run."""
        return self._engine.standing() if self._engine is not None else None

    def make(self, ask: RunRequest, item: pytest.Item) -> RunResult:
        """Return the run that is asked for, made now or before.

        Raises:
            KeyboardInterrupt: the user has interrupted.
            pytest.UsageError: the domain's tools or the agent cannot be used.
            SopbenchError: the run's toolbox cannot be opened.
        """
        engine = self._engine
        if engine is None:
            msg = f"{item.nodeid}: it asks for a run outside of the loop in which tests run"
            raise pytest.UsageError(msg)
        key = ask.ref.key
        self._foreseen.discard(key)
        if key not in self._asks and (left := self._done.pop(key, None) or self._left(ask)):
            return left
        self._asks.setdefault(key, ask)
        if self.pace.limit.highest > 1:
            load_lazy_parts(self._loaded)
        engine.ensure(key, self._ahead(ask, item), self._job)
        trace = self._wait(engine, ask, item)
        if trace is None and self._is_held_back:
            # Held back while its test was waiting already: it is made all the same.
            with self._holding:
                self._asks[key] = ask
            engine.ensure(key, (), self._job)
            trace = self._wait(engine, ask, item)
        if trace is None:
            # Whoever ended the waiting did so before the run could begin.
            return self._judged(ask, None)
        engine.forget(key)
        del self._asks[key]
        return self._done.pop(key)

    def let_go(self, key: RunKey) -> None:
        """Expect no more that an item asks for a run; what came of it counts all the same."""
        self._foreseen.discard(key)

    def started(self, key: RunKey) -> None:
        """Write down that a run begins."""
        if self._journal is not None and not self._asks[key].ref.variant:
            self._journal.start(key)

    def ended(self, key: RunKey, trace: Trace) -> None:
        """Judge a run, and write it down, before anybody goes on with it."""
        trace = self._tapes.settle(self._asks[key].ref, trace)
        done = self._done[key] = self._judged(self._asks[key], trace)
        if self._told is not None:
            self._told(done)
        if done.ask.ref.variant:
            # What it costs counts, and nothing else of it.
            return
        self.starts.likeness.watch(done.kept.record)
        if self._journal is not None:
            may_lie = self._journal.is_inherited and may_store_trace(self._sop, done.ask.ref, trace)
            self._journal.end(key, done.line, trace if may_lie else None, done.kept.events)

    def _wait(self, engine: Engine[RunKey], ask: RunRequest, item: pytest.Item) -> Trace | None:
        key = ask.ref.key

        def look() -> None:
            # A worker is sent items while it waits, and their runs have room beside this one.
            with self._holding:
                for upcoming in self._ahead(ask, item):
                    engine.submit(self._job(upcoming))
            for one in self._looks:
                one()

        try:
            trace = engine.wait(key, look)
        except BaseException as error:
            if not self._is_timed_out(error):
                raise
            return engine.abandon(key, CUT_BY_PLUGIN)
        look()
        return trace

    def _is_timed_out(self, error: BaseException) -> bool:
        # pytest-timeout fails the item from a signal, in the middle of whatever it waits for.
        plugins = self._sop.config.pluginmanager
        return issubclass(type(error), pytest.fail.Exception) and plugins.hasplugin("timeout")

    def _ahead(self, ask: RunRequest, item: pytest.Item) -> Iterator[RunKey]:
        """Yield the keys of runs that may be begun now, as many as the look-ahead has room for."""
        if self._upcoming is None:
            return
        following = self._upcoming.after(item)
        while len(self._foreseen) < self.pace.ahead and not self._is_held_back:
            other = next(following, None) if self.starts.are_open else None
            if other is None:
                return
            ref = other.stash.get(REF, None) or other.stash.get(VARIANT, None)
            if ref is None or not self._is_foreseeable(ref, other, ask, item):
                continue
            agent = self._makings.agent(ref.key) or ask.agent
            foreseen = RunRequest(ref, ref.task, agent, ask.approver)
            self._foreseen.add(ref.key)
            left = self._left(foreseen)
            if left is not None:
                self._done[ref.key] = left
                continue
            self._asks[ref.key] = foreseen
            yield ref.key

    def _is_foreseeable(
        self, ref: TaskRef, other: pytest.Item, ask: RunRequest, item: pytest.Item
    ) -> bool:
        key = ref.key
        known = key in self._asks or key in self._done or self._makings.is_known(key)
        return bool(
            not known
            and self._sop.has_at_hand(key.agent, ask.ref.key.agent)
            and (ref.variant or "sop_run" in getattr(other, "fixturenames", ()))
            and may_run_ahead(other, item)
            and not self._taken.has(ref)
        )

    def _job(self, key: RunKey) -> Job[RunKey]:
        ask = self._asks[key]
        if not ask.ref.variant:
            self.starts.begin()
        return Job(
            key=key,
            caller=self._makings.caller(ask.agent, ask.approver),
            domain=ask.ref.domain.domain,
            task=ask.task,
            open_toolbox=self._makings.toolbox(ask.ref.domain, ask.task),
            unavailable=partial(self._is_unavailable, key),
            timed_out=self._is_timed_out,
            alone=self._journal is not None and self._journal.is_suspect(key),
            wrap=partial(wrapper, key) if (wrapper := run_wrapper(self._sop.config)) else None,
            compare=comparing(
                self._sop,
                ask.ref,
                ask.task,
                self._tapes.beside,
                "tee" if self.pace.direct else "keep",
            ),
        )

    def _is_unavailable(self, key: RunKey, error: BaseException) -> bool:
        self._makings.raised(key, error)
        return is_unavailable(error, self._sop.options.unavailable)

    def _judged(self, ask: RunRequest, trace: Trace | None) -> RunResult:
        verdict, kept = judge_and_keep(self._sop, ask.ref, ask.task, trace)
        seen = trace or Trace(ending=Ending.TIMED_OUT, notes=(CUT_BY_PLUGIN,))
        return RunResult(ask, seen, verdict, kept, to_line(kept.record))

    def _left(self, ask: RunRequest) -> RunResult | None:
        """Return a run that an earlier session finished, or that a dead worker has left."""
        if (taken := self._taken.find(ask)) is not None:
            return taken
        left = self._journal.left(ask.ref.key) if self._journal is not None else None
        if left is None:
            return None
        done = self._judged(ask, left)
        return replace(done, kept=replace(done.kept, inherited=True))
