"""Recorded model traffic, around the runs of one process: each attempt has a tape of its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Final

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import (
    CHANGES,
    EMPTY,
    IGNORE,
    MASK_IT,
    MISSING,
    NO_RECORDING,
    NOT_KEPT,
    NOT_RECORDED,
    NOT_WHOLE,
    RECORDED,
    REPLAYED,
    UNUSED,
    Ending,
    Problem,
    Trace,
)
from pytest_sopbench._hooks.replaying import OUTPUT
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._replay.cassette_lines import TaskPlace
from pytest_sopbench._replay.cassettes import Store
from pytest_sopbench._replay.exchange import BesideTape, OutsideTape, Recording, Shaping
from pytest_sopbench._replay.miss import Miss
from pytest_sopbench._replay.run_tape import Mode, RunTape, Taken, on_tape, switched_on
from pytest_sopbench._replay.seams.take import beneath
from pytest_sopbench._replay.seams.watching import Watching, watching
from pytest_sopbench._running.tools.calls import replies_seen
from pytest_sopbench._running.wire.request import model_urls_told
from pytest_sopbench.errors import CassetteError

LOST: Final = "a thread without the context of its run"
ELSEWHERE: Final = "an agent elsewhere"
_WELL: Final = frozenset((Ending.RETURNED, Ending.OVER_LIMIT))
"""How a run ends whose recording may take the place of an older one."""


class Tapes:
    """Puts a tape around each attempt, and decides what becomes of it when the run has ended."""

    def __init__(self, sop: SopSession, mode: Mode) -> None:
        self._sop = sop
        self._mode: Mode = mode
        options = sop.options
        # What was refused once is refused again: nothing else can be away.
        self.retries = 0 if mode == "only" else options.retries
        # What only looks like a credential is masked in no recording, as an agent is served it; it
        # stops the recording, until somebody names it.
        named = replace(options.redaction, forms=False)
        mask = named.value if named.masks_texts else None
        self.store = Store(
            options.replay.folder,
            Shaping(ignored=options.replay.ignored, changing=options.replay.changing, mask=mask),
        )
        self.outside = OutsideTape("refuse" if mode == "only" else "let through")
        self._beside = BesideTape(refuses=mode == "only")
        self._tapes: dict[RunKey, tuple[RunTape, Recording, int]] = {}
        self._elsewhere: set[RunKey] = set()
        self._unusable: dict[RunKey, CassetteError] = {}
        self._lock = Lock()
        self._stack = ExitStack()
        self._watching: Watching | None = None
        self._last_trials: dict[tuple[str, str], int] = {}

    @property
    def unseen(self) -> tuple[str, ...]:
        """What stands in the way of seeing the traffic of a library that is imported."""
        return () if self._watching is None else self._watching.moved

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """See traffic from before anything is collected: agents may make their clients early."""
        self._begin()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """See it also where a test that was collected made this a SOP session."""
        self._begin()
        return (yield)

    def _begin(self) -> None:
        if self._watching is None and self._sop.makes_runs:
            self._stack.enter_context(switched_on(self.outside))
            hosts = self._sop.options.replay.hosts
            self._watching = self._stack.enter_context(watching(hosts))

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Tell the process that prints the summary what no run can tell."""
        told = getattr(self._sop.config, "workeroutput", None)
        if told is not None:
            told[OUTPUT] = {"outside": self.outside.seen, "unseen": [*self.unseen]}

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Give everything back; agents that were abandoned have met their tape until here."""
        self._stack.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sop_wrap_run(self, key: RunKey, attempt: int) -> AbstractContextManager[None]:
        """Put a tape around an attempt; another attempt begins it anew."""
        del attempt
        return self._around(key)

    @contextmanager
    def _around(self, key: RunKey) -> Generator[None]:
        recording = self._recording(key)
        tape = RunTape(self._mode, recording, self.store.shaping)
        with self._lock:
            self._tapes[key] = tape, recording, self.outside.seen

        def model_urls() -> dict[str, str]:
            with self._lock:
                self._elsewhere.add(key)
            return {} if self._watching is None else self._watching.model_urls(tape)

        with on_tape(tape), replies_seen(lambda: tape.last), model_urls_told(model_urls):
            yield

    def beside(self) -> AbstractContextManager[None]:
        """Leave what comparers and judges send out of recordings, and of what is missed."""
        return on_tape(self._beside)

    def apart(self) -> AbstractContextManager[None]:
        """Have requests of tools sent, and leave them out: no recording has what tools answer."""
        return beneath()

    def _recording(self, key: RunKey) -> Recording:
        if self._mode == "record":
            return Recording()
        try:
            return self.store.load(_place(key)).trials.get(key.trial, Recording())
        except CassetteError as error:
            with self._lock:
                self._unusable[key] = error
            # So that the agent is not even started.
            raise

    def settle(self, ref: TaskRef, trace: Trace) -> Trace:
        """Return the trace of a run that has ended, and keep its recording if it may be kept.

        A request without a recording makes the run unavailable, whatever the agent made of it:
        nobody knows what it would have done. So does a recording that is broken.
        """
        with self._lock:
            unusable = self._unusable.pop(ref.key, None)
            found = self._tapes.pop(ref.key, None)
            is_elsewhere = ref.key in self._elsewhere
            self._elsewhere.discard(ref.key)
        if unusable is not None:
            return _unavailable(trace, self._told(unusable))
        if found is None:
            return trace
        tape, recording, seen = found
        if self._watching is not None:
            self._watching.end(tape)
        taken = tape.taken
        miss = taken.miss or self._lost_context(taken, recording, seen)
        if miss is None and is_elsewhere and self._mode == "only" and not taken.served:
            miss = _UNSEEN
        if miss is not None:
            return missed(trace, miss)
        notes = [*self._notes(ref, trace, taken, recording)]
        return replace(trace, notes=(*trace.notes, *notes)) if notes else trace

    def _told(self, error: CassetteError) -> str:
        """Return why a recording cannot be used in lines: paths are long, and lines are cut."""
        path, _, why = error.message.partition(": ")
        lines = (why, f"in {self._sop.shown(Path(path))}", error.hint)
        return "\n".join(line for line in lines if line)

    def _lost_context(self, taken: Taken, recording: Recording, seen: int) -> Miss | None:
        """Return why a run says nothing that may have sent what was refused as of no run.

        Whose it was nobody can tell. A run that was served all its recording did not send it.
        """
        whole = bool(taken.served) and taken.served == len(recording.exchanges)
        if self._mode != "only" or whole or self.outside.seen == seen:
            return None
        return Miss(path=LOST, lines=tuple(self.outside.last.splitlines()))

    def _notes(
        self, ref: TaskRef, trace: Trace, taken: Taken, recording: Recording
    ) -> Generator[str]:
        if taken.served and not taken.live and not taken.lost:
            yield f"{REPLAYED} {recording.recorded.partition('T')[0]}"
            return
        if self._mode != "record" and recording.recorded and not taken.live:
            # What got no reply was seen, and so was its run.
            yield from () if taken.lost else _unused(recording)
            return
        if self._mode == "only":
            return
        if trace.ending not in _WELL:
            yield f"{NOT_KEPT} the run did not return"
            return
        if taken.lost:
            yield f"{NOT_WHOLE} {taken.lost} of its requests got no reply, or none to keep"
        try:
            self._keep(ref, trace, taken)
        except CassetteError as error:
            yield f"{NOT_RECORDED} {error.message.removeprefix(f'{NOT_RECORDED} ')}"
        else:
            yield f"{RECORDED} {len(taken.exchanges)}"

    def _keep(self, ref: TaskRef, trace: Trace, taken: Taken) -> None:
        key = ref.key
        new = Recording(
            exchanges=taken.exchanges,
            recorded=datetime.now(UTC).isoformat(timespec="seconds"),
            usage=self._sop.options.redaction.usage(trace.usage),
        )
        sop = ref.domain.domain.sop
        self.store.keep(
            _place(key),
            key.trial,
            new,
            trials=self._trials(key),
            texts=(sop, sop.strip()),
            sent=taken.sent,
        )

    def _trials(self, key: RunKey) -> int:
        """Return how many trials of a task this session makes; what is beyond them is old."""
        with self._lock:
            if not self._last_trials:
                for one in self._sop.plan.planned:
                    task = one.domain, one.task
                    self._last_trials[task] = max(self._last_trials.get(task, 1), one.trial)
            planned = self._last_trials.get((key.domain, key.task), 1)
            # One trial may be selected of several that are asked for.
            return max(planned, self._sop.options.trials, key.trial)


_UNSEEN: Final = Miss(
    path=ELSEWHERE,
    lines=(
        "none of its requests came by the model_urls that it was told, so nobody knows whether",
        "it has asked a model. If it asks none, there is nothing to replay: --sop-replay=off",
    ),
)
"""Why a run says nothing whose agent, in another process, was served nothing of its recording."""


def _unused(recording: Recording) -> Generator[str]:
    count = len(recording.exchanges)
    yield f"{UNUSED} {f'of its requests none of {count} came' if count else EMPTY}"


def missed(trace: Trace, miss: Miss) -> Trace:
    """Return the trace of a run that sent what is not recorded."""
    notes = [*trace.notes, f"{NO_RECORDING} {miss.path}"]
    notes += [f"{CHANGES} {IGNORE} {entry}" for entry in miss.ignore]
    notes += [f"{CHANGES} {MASK_IT} {pattern}" for pattern in miss.mask]
    return replace(_unavailable(trace, str(miss)), notes=tuple(notes))


def _unavailable(trace: Trace, why: str) -> Trace:
    problem = Problem(type=MISSING, message=why)
    return replace(trace, ending=Ending.UNAVAILABLE, returned=None, problem=problem)


def _place(key: RunKey) -> TaskPlace:
    return TaskPlace(key.agent, key.domain, key.task)
