"""Which runs may be begun before their tests ask for them, and which need not be made at all.

Asked in this order: which items come next, whether the first runs all fail alike, what others put
around each attempt, whether an earlier session has finished the run, and what the libraries of
agents have to import before runs are in flight.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, Final

import pluggy
import pytest

from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import MASK, RunKey, Task
from pytest_sopbench._core.model.trace import NO_RECORDING, Trace
from pytest_sopbench._core.records.event_log import trace_of_log
from pytest_sopbench._core.records.reconstruct import trace_of, verdict_of
from pytest_sopbench._core.records.record import RunRecord, from_line
from pytest_sopbench._hooks.code import definition, is_ours
from pytest_sopbench._hooks.runs.reportable import JudgedRun
from pytest_sopbench._hooks.session.domains import TaskRef, shares
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.session.variants import VARIANT
from pytest_sopbench._sessions.event_logs import trace_name, traces_folder

# Which items come next, and which of them may have their runs begun before they come.

SHARED = ("sop_agent", "sop_approver", "sop_task", "sop_run")
"""Fixtures that must be the same for two items whose runs are begun alike."""

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


# What others put around each attempt at a run, by the hook `pytest_sop_wrap_run`.


def wrapped(hook: pluggy.HookCaller, key: RunKey, attempt: int, /) -> ExitStack:
    """Enter what others put around an attempt, and return what leaves it."""
    with ExitStack() as stack:
        for manager in hook(key=key, attempt=attempt):
            stack.enter_context(manager)
        return stack.pop_all()


# The runs that an earlier session has finished, in a process whose items ask for them.

RESUMED: Final = "sop_resumed"
"""What a worker is told: the runs to take over, and where their event logs lie."""

_TAKEN_OVER = pytest.StashKey["ResumedRuns"]()


class ResumedRuns:
    """Gives the runs that need not be made.

    A built-in test needs no more than the record. A user's test may look at everything, so it is
    given the trace of the run's event log; if there is none, the run is made again.
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
            self._known[key] = self.find(ref, ref.task) is not None
        return self._known.get(key, False)

    def needs_nothing(self, key: RunKey) -> bool:
        """Tell whether a run is surely not made, without a look at its task or its log."""
        return key in self.lines and self._known.get(key, key not in self._asked_by_tests)

    def find(self, ref: TaskRef, task: Task) -> JudgedRun | None:
        """Return a run that need not be made, else `None`."""
        line = self.lines.get(ref.key)
        if line is None:
            return None
        record = from_line(line)
        if record.task_hash != task.hash:
            return None
        trace: Trace | None
        if ref.key in self._asked_by_tests:
            trace = self._logged(ref, record)
            verdict = judge(ref.domain.rules, task, trace)
            # What a redaction took out of a log may be what decided.
            if trace is None or verdict.outcome is not record.outcome:
                return None
        else:
            trace, verdict = trace_of(record), verdict_of(record)
        return JudgedRun(
            ref=ref,
            task=task,
            trace=trace,
            verdict=verdict,
            record=record,
            line=line,
            taken_over=True,
        )

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
        """Return the whole trace of a run, or `None` if it was not kept, or not as it was."""
        if ref.domain.domain.private_columns or self.session is None or not record.trace:
            return None
        path = traces_folder(self.session) / trace_name(ref.key)
        try:
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


# What the libraries of agents import with their first request, loaded before runs are in flight.
#
# Nobody pays for another: runs that import the same modules at once may meet them half made. If
# modules import one another in a circle, Python lets a thread have such a module rather than have
# two threads wait for each other (`tests/agents/test_first_use.py`).

_HTTP: Final = ("anyio._backends._asyncio", "concurrent.futures.thread", "encodings.idna")
LAZY: Final[Mapping[str, Sequence[str]]] = {
    "anthropic": ("anthropic.resources.messages", "opentelemetry.propagate"),
    "botocore": ("encodings.idna",),
    "httpx": ("httpcore", *_HTTP),
    "httpx2": ("httpcore2", *_HTTP),
    "openai": (
        "openai.lib._parsing._completions",
        "openai.lib._parsing._responses",
        "openai.lib.streaming.chat",
        "openai.lib.streaming.responses",
        "openai.pagination",
        "openai.resources.chat.chat",
        "openai.resources.chat.completions.completions",
        "openai.resources.chat.completions.messages",
        "openai.resources.responses.input_items",
        "openai.resources.responses.input_tokens",
        "openai.resources.responses.responses",
        "openai.types.chat.completions.message_list_params",
    ),
    "pydantic": ("pydantic.fields", "pydantic.main", "pydantic.type_adapter"),
}
"""By library, what its clients import with their first request."""


def load_lazy_parts(loaded: set[str]) -> None:
    """Load what the libraries of agents would import in flight.

    Args:
        loaded: the libraries of which that was done; those that are at hand now are added.
    """
    for library in (LAZY.keys() & sys.modules.keys()) - loaded:
        loaded.add(library)
        for name in LAZY[library]:
            # Another version has other modules, and what is broken the run itself meets.
            with suppress(Exception):
                import_module(name)
