"""Recorded model traffic, in a session that replays or records.

Before the first run and after the last: which recordings there are, and what came of them. Both are
asked for where the summary is printed. In between, around the runs of one process: each attempt has
a tape of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import (
    CHANGES,
    EMPTY,
    FEWER,
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
from pytest_sopbench._core.records.record import RunRecord, is_replayed
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._replay.cassette_lines import TaskPlace, cassette_path
from pytest_sopbench._replay.cassettes import Store, Survey, TrialSurvey, refuse_changed, survey
from pytest_sopbench._replay.exchange import (
    BesideTape,
    OutsideTape,
    Recording,
    Shaping,
    host_lines,
    show_path,
)
from pytest_sopbench._replay.miss import Miss
from pytest_sopbench._replay.run_tape import Mode, RunTape, Taken, on_tape, switched_on
from pytest_sopbench._replay.seams.take import beneath
from pytest_sopbench._replay.seams.watching import Watching, watching
from pytest_sopbench._reports.text import counted, money, one_line
from pytest_sopbench._running.tools.calls import replies_seen
from pytest_sopbench._running.wire.request import model_urls_told
from pytest_sopbench._settings.readers import HOST, TEXT
from pytest_sopbench.errors import CassetteError

TAPES: Final = "sop-tapes"
"""What the plugin is called that records or replays the runs of a process."""

OUTPUT: Final = "sop_replay"
"""What a worker tells at its end: requests that belong to no run, libraries it cannot look into."""


LOST: Final = "a thread without the context of its run"
ELSEWHERE: Final = "an agent elsewhere"
UNASKED: Final = "a recording that was not used"
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
        """See it also if a test that was collected made this a SOP session."""
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
        if miss is None and self._mode == "only" and not taken.served:
            count = len(recording.exchanges)
            if is_elsewhere:
                miss = _UNSEEN
            elif count and trace.ending is Ending.RETURNED:
                miss = Miss(
                    path=UNASKED, lines=(f"none of its {counted(count, 'request')}", *_ANEW)
                )
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
            if taken.served < (count := len(recording.exchanges)):
                yield f"{FEWER} {taken.served} of {count}"
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
            usage=self._sop.options.redaction.part(trace.usage),
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

_ANEW: Final = (
    "was asked for by a client that is seen. If the agent asks no model there any more, record",
    "it anew: --sop-replay=record",
)


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


_NAMED: Final = 3
"""Tasks, paths or problems that are named; of the rest the number is printed."""


class ReplayTotals:
    """Counts replayed, recorded and missing runs, and says so, where results are recorded."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._stock: Stock | None = None
        self._finished = 0
        self._replayed = 0
        self._unused = 0
        self._empty = 0
        self._cost: float | None = 0.0
        self._recorded = 0
        self._requests = 0
        self._kept: Counter[str] = Counter()
        self._partial = 0
        self._fewer = 0
        self._refused: list[str] = []
        self._misses: Counter[str] = Counter()
        self._advised = 0
        self._ignore: dict[str, None] = {}
        self._mask: dict[str, None] = {}
        self._outside = 0
        self._unseen: set[str] = set()

    @property
    def lacks(self) -> bool:
        """Whether a recording that was asked for is not there."""
        return bool(self._refused)

    def check(self) -> None:
        """Look at the recordings of what the options select.

        Raises:
            pytest.UsageError: it cannot be replayed.
        """
        options = self._sop.options
        # How the agents of a fixture are called, nobody knows before tests are collected.
        if options.replay.serves and options.agents and self._sop.makes_runs:
            self._stock = check_stock(self._sop)

    def pytest_report_header(self) -> list[str]:
        if self._stock is not None:
            return [one_line(line) for line in stock_lines(self._sop, self._stock)]
        replay = self._sop.options.replay
        told = f"sop: --sop-replay={replay.mode}, {self._sop.shown(replay.folder)}"
        return [one_line(told)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        self._finished += 1
        if is_replayed(run):
            self._replayed += 1
            cost = run.usage.cost_usd
            self._cost = None if self._cost is None or cost is None else self._cost + cost
        self._advised += any(note.startswith(CHANGES) for note in run.notes)
        for note in run.notes:
            for beginning, count in self._counts(run).items():
                if note.startswith(beginning):
                    count(note.removeprefix(beginning).strip())

    def _counts(self, run: RunRecord) -> dict[str, Callable[[str], None]]:
        return {
            NO_RECORDING: self._miss,
            CHANGES: self._change,
            UNUSED: self._leave,
            FEWER: lambda _: self._ask_fewer(),
            RECORDED: self._record,
            NOT_KEPT: lambda _: self._kept.update([run.outcome.value]),
            NOT_WHOLE: self._lose,
            NOT_RECORDED: lambda why: self._refused.append(f"{run.domain}/{run.task}: {why}"),
        }

    def _miss(self, path: str) -> None:
        if path == UNASKED:
            self._leave(path)
            return
        self._misses[path] += 1
        # So that `sopbench cassettes` can say it as well.
        misses = dict(self._misses.most_common())
        self._sop.recorded = replace(self._sop.recorded, replay_misses=misses)

    def _change(self, what: str) -> None:
        kind, _, entry = what.partition(" ")
        (self._ignore if kind == IGNORE else self._mask)[entry] = None

    def _leave(self, why: str) -> None:
        self._unused += 1
        self._empty += why == EMPTY

    def _record(self, requests: str) -> None:
        self._recorded += 1
        self._requests += int(requests)

    def _lose(self, _: str) -> None:
        self._partial += 1

    def _ask_fewer(self) -> None:
        self._fewer += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker tells at its end; a dead one tells nothing."""
        told: dict[str, Any] = getattr(node, "workeroutput", {}).get(OUTPUT, {})
        self._outside += told.get("outside", 0)
        self._unseen.update(told.get("unseen", ()))

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        return [one_line(line) for line in self._lines()]

    def _lines(self) -> Iterator[str]:
        if self._replayed:
            cost = "" if not self._cost else f", {money(self._cost)} when recorded"
            yield f"replay {counted(self._replayed, 'run')} replayed{cost}"
        if self._fewer:
            yield f"note   {counted(self._fewer, 'run')} asked for fewer requests than are recorded"
        yield from self._unused_lines()
        yield from self._miss_lines()
        yield from self._record_lines()
        tapes: Tapes | None = self._sop.config.pluginmanager.get_plugin(TAPES)
        outside = self._outside + (tapes.outside.seen if tapes is not None else 0)
        if outside:
            sent = counted(outside, "request was", "requests were")
            done = "refused" if self._sop.options.replay.mode == "only" else "not recorded"
            yield f"alarm  {sent} {done}, of no run that is known:"
            yield "       start threads with contextvars.copy_context().run, or asyncio.to_thread;"
            yield "       have a child of many runs ask each one's model at its model_urls"
        for what in {*self._unseen, *(tapes.unseen if tapes is not None else ())}:
            yield f"alarm  {what}"

    def _unused_lines(self) -> Iterator[str]:
        if self._replayed or self._misses or self._recorded:
            # Some tasks may ask no model, now as then; of all tasks that is not likely.
            unused = self._unused - self._empty
            told = f"{unused} of {counted(self._finished, 'run')} used no recording"
        else:
            unused = self._unused
            told = f"none of {counted(unused, 'recording')} was used"
        if unused:
            yield (
                f"alarm  {told}: does the agent ask its model in another process, "
                "or by a client that is not seen?"
            )

    def _miss_lines(self) -> Iterator[str]:
        if not self._misses:
            return
        runs = self._misses.total()
        paths = ", ".join(f"{path} {count}" for path, count in self._misses.most_common(_NAMED))
        more = len(self._misses) - _NAMED
        others = f" and {more} more" if more > 0 else ""
        yield f"replay {counted(runs, 'run sends', 'runs send')} what is not recorded, first at:"
        yield f"       {paths}{others}"
        if self._advised:
            yield "       what changes with every run is left out by this in the configuration:"
            yield from self._settings()
            for host in self._ignore:
                yield from (f"       {one}" for one in host_lines(host.removeprefix(HOST))[1:])
        if self._advised < runs:
            yield "       if that should differ, record anew: --sop-replay=record"

    def _settings(self) -> Iterator[str]:
        """Yield lines for the configuration, with what stands there already."""
        replay = self._sop.options.replay
        hosts = (f"{HOST}{host}" for host in replay.hosts)
        ignored = dict.fromkeys((*map(show_path, replay.ignored), *hosts, *self._ignore))
        masked = (*(one.source for one in replay.changing), *self._mask)
        patterns = (f"{TEXT}{one}" for one in masked)
        entries = dict.fromkeys((*ignored, *patterns))
        is_toml = self._sop.config.inipath is not None and (
            self._sop.config.inipath.suffix == ".toml"
        )
        if is_toml:
            yield f"sop_replay_ignore = [{', '.join(map(_toml, entries))}]"
        else:
            yield "sop_replay_ignore ="
            yield from (f"    {entry}" for entry in entries)

    def _record_lines(self) -> Iterator[str]:
        folder = self._sop.shown(self._sop.options.replay.folder)
        if self._recorded:
            requests = counted(self._requests, "request")
            yield f"record {counted(self._recorded, 'run')}, {requests}, in {folder}"
        if self._recorded and not self._requests:
            yield "       no traffic was seen: does the agent ask its model in another process?"
        if self._kept:
            kinds = ", ".join(f"{outcome} {count}" for outcome, count in self._kept.most_common())
            yield f"record {counted(self._kept.total(), 'run')} not recorded: {kinds}"
        if self._partial:
            runs = counted(self._partial, "run")
            yield f"note   {runs} recorded without requests that got no reply, or none to keep"
        for problem in self._refused[:_NAMED]:
            yield f"record failed: {problem}"
        if len(self._refused) > _NAMED:
            yield f"record failed: {len(self._refused) - _NAMED} more"
        if self._refused:
            yield "       name it in sop_redact, so that it is masked, and record anew"


def _toml(text: str) -> str:
    """Write a text as TOML does, in which the backslashes of a pattern are easy to read."""
    return f"'{text}'" if "'" not in text and text.isprintable() else json.dumps(text)


# What is looked at before the first run is replayed: whether there are recordings, and how old.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The recordings that a session is going to replay, and the tasks that have none."""

    trials: tuple[TrialSurvey, ...]
    lacking: tuple[str, ...]
    fewer: tuple[tuple[str, int], ...]

    @property
    def oldest(self) -> int:
        """The days since the oldest was recorded."""
        now = datetime.now(UTC)
        return max(((now - one.recorded).days for one in self.trials), default=0)


def stock_of(sop: SopSession) -> Stock:
    """Look for the recordings of all runs that the options select.

    Raises:
        CassetteError: a cassette cannot be read, or was changed by hand.
    """
    found: list[TrialSurvey] = []
    lacking: list[str] = []
    fewer: list[tuple[str, int]] = []
    wanted = sop.options.trials
    for place in _places(sop):
        trials = _trials(sop, place)
        found += [one for number, one in trials.items() if number <= wanted]
        name = f"{place.domain}/{place.task}"
        if not trials:
            lacking.append(name)
        elif any(number not in trials for number in range(1, wanted + 1)):
            fewer.append((name, len(trials)))
    return Stock(trials=tuple(found), lacking=tuple(lacking), fewer=tuple(fewer))


def _trials(sop: SopSession, place: TaskPlace) -> dict[int, TrialSurvey]:
    path = cassette_path(sop.options.replay.folder, place)
    found: Survey | None = survey(path) if path.exists() else None
    if found is None:
        return {}
    refuse_changed(path, found.seals)
    return dict(found.trials)


def _places(sop: SopSession) -> Iterator[TaskPlace]:
    for active in sop.domains:
        for position in active.positions:
            for agent in sop.agents:
                yield TaskPlace(agent, active.domain.name, active.domain.task_ids[position])


def check_stock(sop: SopSession) -> Stock:
    """Refuse to replay what cannot be replayed, before anything is run.

    Raises:
        pytest.UsageError: a cassette is damaged, there is none, one is too old, or a task has
            fewer recordings than trials are asked for.
    """
    try:
        stock = stock_of(sop)
    except CassetteError as error:
        raise pytest.UsageError(str(error)) from None
    replay = sop.options.replay
    if replay.mode == "only":
        _check_there(sop, stock)
    if replay.max_age is not None and stock.oldest > replay.max_age:
        msg = (
            f"sop_replay_max_age: the oldest recording is {counted(stock.oldest, 'day')} old, and "
            f"{replay.max_age} are allowed\nrecord anew with --sop-replay=record"
        )
        raise pytest.UsageError(msg)
    return stock


def _check_there(sop: SopSession, stock: Stock) -> None:
    folder = sop.shown(sop.options.replay.folder)
    if not stock.trials:
        msg = (
            f"--sop-replay=only: {folder} has no recording of a selected task by "
            f"{sop.agent_label}\nmake them with --sop-replay=record"
        )
        raise pytest.UsageError(msg)
    if stock.fewer:
        least = min(count for _, count in stock.fewer)
        tasks = counted(len(stock.fewer), "task has", "tasks have")
        msg = (
            f"--sop-trials={sop.options.trials}: {tasks} fewer recordings: "
            f"{_named([name for name, _ in stock.fewer])} "
            f"({least} at least)\nreplay fewer trials, or record the others with --sop-replay=auto"
        )
        raise pytest.UsageError(msg)


def stock_lines(sop: SopSession, stock: Stock) -> Iterator[str]:
    """Say what is going to be replayed."""
    if not stock.trials:
        yield f"sop: no recordings in {sop.shown(sop.options.replay.folder)} so far"
        return
    models = Counter(model for one in stock.trials for model in one.models)
    asked = "".join(f", {model}" for model, _ in models.most_common(_NAMED))
    age = counted(stock.oldest, "day")
    yield f"sop: replaying {counted(len(stock.trials), 'recording')}, oldest {age}{asked}"
    if stock.lacking:
        tasks = counted(len(stock.lacking), "task has", "tasks have")
        yield f"sop: {tasks} no recording: {_named(stock.lacking)}"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])}{f' and {more} more' if more > 0 else ''}"
