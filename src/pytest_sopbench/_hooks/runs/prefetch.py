"""Has the runs made that items ask for, and begins those of the items that come next."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import pluggy
import pytest

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.judging.availability import is_unavailable
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.protocols import RunWrapper
from pytest_sopbench._core.model.task import MASK, RunKey, Task
from pytest_sopbench._core.model.trace import NO_RECORDING, Ending, Trace
from pytest_sopbench._core.records.lines import from_line, to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.steps.approving import Approver
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._hooks.process.ahead import load_lazy_parts
from pytest_sopbench._hooks.process.debugging import Debugging
from pytest_sopbench._hooks.process.outgoing import output_apart
from pytest_sopbench._hooks.replaying.choice import tapes_of
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef, pace_of, shares
from pytest_sopbench._hooks.session.session import REF, SopSession
from pytest_sopbench._hooks.session.variants import VARIANT
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.engine.engine import Engine
from pytest_sopbench._running.observing.capture import show_from_now_on
from pytest_sopbench._running.observing.problem import standing_watch
from pytest_sopbench._running.queue import EngineStatus, Job, Limits
from pytest_sopbench._running.tools.toolbox import Toolbox
from pytest_sopbench._sessions.file.event_logs import trace_name, traces_folder

from .reportable import ReportableRun, comparing, judge_and_keep, may_store_trace

if TYPE_CHECKING:
    from .journals import RunJournal

# Which items come next, and which of them may have their runs begun before they come.

SHARED = ("sop_agent", "sop_approver", "sop_task", "sop_run")
"""Fixtures that must be the same for two items whose runs are begun alike."""

PLUGIN = "pytest_sopbench.plugin"
UNDECIDED = ("skip", "skipif", "xfail")
"""Marks of items that may never ask for their run."""


class ItemQueue:
    """The items of one process in the order in which they will be run, each given once."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._place = 0
        plugins = session.config.pluginmanager.get_plugins()
        # A worker of xdist knows what it was sent, and has no public way to tell.
        queues = (one for one in plugins if hasattr(one, "torun"))
        self._queue: Any = next(queues, None)

    def after(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield what comes after an item; what was yielded before is not yielded again.

        Variants stay behind all that counts: none begins before the first of them comes.
        """
        return self._queued(item) if self._queue is not None else self._listed(item)

    def _listed(self, item: pytest.Item) -> Iterator[pytest.Item]:
        items = self._session.items
        if self._place == 0:
            self._place = items.index(item) + 1
        while self._place < len(items):
            if VARIANT in items[self._place].stash and VARIANT not in item.stash:
                return
            self._place += 1
            yield items[self._place - 1]

    def _queued(self, item: pytest.Item) -> Iterator[pytest.Item]:
        queue = self._queue
        with queue.torun.lock() as waiting:
            indices = [queue.nextitem_index, *waiting]
        # The mark of the end is no number.
        following = (self._session.items[one] for one in indices if isinstance(one, int))
        return (one for one in following if VARIANT not in one.stash or VARIANT in item.stash)


def may_run_ahead(item: pytest.Item, current: pytest.Item) -> bool:
    """Tell whether a run of `item` needs nothing but what the run of `current` has used."""
    if any(item.get_closest_marker(name) for name in UNDECIDED):
        return False
    # Of several agents of the fixture, the runs of each are told apart by their keys.
    givers = [definition(item, name) for name in ("sop_agent", "sop_approver")]
    lasting = all(one is None or one.scope == "session" for one in givers)
    same = all(definition(item, name) is definition(current, name) for name in SHARED)
    ours = all(is_ours(definition(item, name)) for name in ("sop_task", "sop_run"))
    return lasting and same and ours


def definition(item: pytest.Item | pytest.Collector, name: str) -> Any:
    """Return what defines the fixture of that name as this node sees it, or `None`."""
    # pytest has no public way to ask which fixture an item gets. What an item itself knows lacks
    # the agent, which is asked for only where no marker names another one.
    manager: Any = getattr(item.session, "_fixturemanager", None)
    found = manager.getfixturedefs(name, item) if manager is not None else None
    return found[-1] if found else None


def is_ours(found: Any) -> bool:
    """Tell whether a definition is the plugin's own."""
    return getattr(getattr(found, "func", None), "__module__", "") == PLUGIN


# The first runs of a session, which may all end in the same error: the set-up is at fault.

ALIKE: Final = 5
"""First runs that must end alike before no more are paid for."""

GRACE_S: Final = 2.0
"""Seconds without a failure after which others start beside the first runs.

A wrong key or a missing module fails sooner. An agent that takes half a minute would else take
half a minute longer.
"""


class Likeness:
    """Compares the first runs in the order in which they end."""

    def __init__(self) -> None:
        self.alike = 0
        self.differ = False
        self._problem: tuple[str, str] | None = None

    def watch(self, record: RunRecord) -> None:
        """Look at one more run; a problem of the same type and message is the same."""
        problem = (record.problem.type, record.problem.message) if record.problem else None
        unlike = problem is None or self._problem not in {None, problem}
        # What has no recording costs nothing, and is worth counting to the last run.
        if unlike or any(note.startswith(NO_RECORDING) for note in record.notes):
            # A run that is unlike the others: the set-up is not to blame.
            self.differ = True
        self._problem = problem
        self.alike += not self.differ


class Starts:
    """How many runs this process may begin before it is known that they do not all fail alike."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = inf
        given: dict[str, Any] = getattr(config, "workerinput", {})
        # `gw3`, but a user may name workers as he likes.
        digits = "".join(filter(str.isdecimal, given.get("workerid", "")))
        workers: int = given.get("workercount", 1)
        place = int(digits or 0)
        self._most = max(1, shares(ALIKE, workers)[place % workers])
        self.begun = 0
        self.likeness = Likeness()
        # A worker that takes over from a dead one has a number beyond those of the first ones,
        # and a run in which a process died was unlike the others.
        self.likeness.differ = place >= workers

    def begin(self) -> None:
        """Count a run that begins."""
        self._began = min(self._began, self._clock())
        self.begun += 1

    @property
    def are_open(self) -> bool:
        """Whether one more may be begun before its test asks for it.

        Once a run has failed, the others wait until one ends otherwise.
        """
        if self.likeness.differ or self.begun < self._most:
            return True
        return not self.likeness.alike and self._clock() >= self._began + GRACE_S


# What a run is made of, and what comes of it, between those who ask and those who make it.


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is to be made of; without an `approver`, the session's own is asked."""

    ref: TaskRef
    task: Task
    agent: object
    approver: Approver | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that was made and judged; `line` is its record as it is sent and kept."""

    ask: RunRequest
    trace: Trace
    verdict: Verdict
    kept: ReportableRun
    line: str


@dataclass(frozen=True, slots=True)
class RunFactories:
    """What is needed to make runs, and belongs to those who ask for them."""

    caller: Callable[[object, Approver | None], AgentCaller]
    agent: Callable[[RunKey], object]
    toolbox: Callable[[ActiveDomain, Task], Callable[[], Toolbox]]
    is_known: Callable[[RunKey], bool]
    raised: Callable[[RunKey, BaseException], None]


# What others put around each attempt at a run, by the hook `pytest_sop_wrap_run`.


def run_wrapper(config: pytest.Config) -> RunWrapper | None:
    """Return all wrappers as one, or `None` where nobody wraps runs and none need pay for it."""
    hook: pluggy.HookCaller = config.hook.pytest_sop_wrap_run
    # Asked for each run: a `conftest.py` further down may have come since.
    return partial(_wrapped, hook) if hook.get_hookimpls() else None


@contextmanager
def _wrapped(hook: pluggy.HookCaller, key: RunKey, attempt: int, /) -> Generator[None]:
    with ExitStack() as stack:
        for manager in hook(key=key, attempt=attempt):
            stack.enter_context(manager)
        yield


# The runs that an earlier session has finished, in a process whose items ask for them.

RESUMED: Final = "sop_resumed"
"""What a worker is told: the runs to take over, and where their event logs lie."""

_TAKEN_OVER = pytest.StashKey["ResumedRuns"]()


class ResumedRuns:
    """Gives the runs that need not be made.

    A built-in test needs no more than the record. A user's test may look at everything, so it is
    given the trace of the run's event log; where there is none, the run is made again.
    """

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.lines: dict[RunKey, str] = {}
        self.session: Path | None = None
        self._known: dict[RunKey, bool] = {}

    def has(self, ref: TaskRef) -> bool:
        """Tell whether a run need not be made."""
        key = ref.key
        if key in self.lines and key not in self._known:
            self._known[key] = self.find(RunRequest(ref, ref.task, None)) is not None
        return self._known.get(key, False)

    def needs_nothing(self, key: RunKey) -> bool:
        """Tell whether a run is surely not made, without a look at its task or its log."""
        return key in self.lines and self._known.get(key, key not in self._asked_by_tests)

    def find(self, ask: RunRequest) -> RunResult | None:
        """Return a run that need not be made, else `None`."""
        ref, task = ask.ref, ask.task
        line = self.lines.get(ref.key)
        if line is None:
            return None
        record = from_line(line)
        if record.task_hash != task.hash:
            return None
        kept = ReportableRun(record=record, taken_over=True)
        if ref.key not in self._asked_by_tests:
            from pytest_sopbench._core.records.reconstruct import trace_of, verdict_of  # noqa: PLC0415 - only where a session is resumed

            return RunResult(ask, trace_of(record), verdict_of(record), kept, line)
        trace = self._logged(ref, record)
        verdict = judge(ref.domain.rules, task, trace)
        # What a redaction took out of a log may be what decided.
        if trace is None or verdict.outcome is not record.outcome:
            return None
        return RunResult(ask, trace, verdict, kept, line)

    def for_worker(self, *, local: bool) -> dict[str, Any]:
        """Return what a worker needs; `local`: it sees the disk of this process."""
        session = str(self.session) if local and self.session is not None else None
        return {"runs": [[*key, line] for key, line in self.lines.items()], "session": session}

    def take_from(self, given: Mapping[str, Any]) -> None:
        """Take over what `for_worker` returned in the controller."""
        self.lines = {RunKey(*run[:-1]): run[-1] for run in given["runs"]}
        self.session = Path(given["session"]) if given["session"] else None

    @cached_property
    def _asked_by_tests(self) -> frozenset[RunKey]:
        # Known when the first item runs: everything was collected before.
        return frozenset(self._sop.plan.tests.keys.values())

    def _logged(self, ref: TaskRef, record: RunRecord) -> Trace | None:
        """Return the whole trace of a run, or `None` where it was not kept, or not as it was."""
        if ref.domain.domain.private_columns or self.session is None or not record.trace:
            return None
        path = traces_folder(self.session) / trace_name(ref.key)
        try:
            from pytest_sopbench._core.records.event_log import trace_of_log  # noqa: PLC0415 - only where event logs are kept

            log = path.read_text("ascii")
            masked = MASK in log and self._sop.options.redaction.masks_texts
            return None if masked else trace_of_log(log)
        except (OSError, ValueError):
            return None


def taken_over_of(sop: SopSession) -> ResumedRuns:
    """Return what this process takes over, which is the same for all that ask."""
    stash = sop.config.stash
    if _TAKEN_OVER not in stash:
        taken = stash[_TAKEN_OVER] = ResumedRuns(sop)
        given: Mapping[str, Any] = getattr(sop.config, "workerinput", {})
        if RESUMED in given:
            taken.take_from(given[RESUMED])
    return stash[_TAKEN_OVER]


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
                from .journals import RunJournal  # noqa: PLC0415 - one run at a time needs no journal

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
