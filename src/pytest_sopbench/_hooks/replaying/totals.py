"""Recordings, before the first run and after the last: those there are, and what came of them.

Both are asked for where the summary is printed. What happens in between, around each run, is in
`tapes`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import (
    CHANGES,
    EMPTY,
    IGNORE,
    NO_RECORDING,
    NOT_KEPT,
    NOT_RECORDED,
    NOT_WHOLE,
    RECORDED,
    UNUSED,
)
from pytest_sopbench._core.records.record import RunRecord, is_replayed
from pytest_sopbench._hooks.replaying import OUTPUT, TAPES
from pytest_sopbench._hooks.replaying.tapes import Tapes
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._replay.cassette_lines import TaskPlace, cassette_path
from pytest_sopbench._replay.cassettes import Survey, TrialSurvey, refuse_changed, survey
from pytest_sopbench._replay.exchange import host_lines, show_path
from pytest_sopbench._reports.text import counted, money, one_line
from pytest_sopbench._settings.readers import HOST, TEXT
from pytest_sopbench.errors import CassetteError

_NAMED: Final = 3
"""Tasks, paths or problems that are named; of the rest the number is told."""


class ReplayTotals:
    """Counts replayed, recorded and missing runs, and says so; registered where books are kept."""

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
            RECORDED: self._record,
            NOT_KEPT: lambda _: self._kept.update([run.outcome.value]),
            NOT_WHOLE: lambda _: self._lose(),
            NOT_RECORDED: lambda why: self._refused.append(f"{run.domain}/{run.task}: {why}"),
        }

    def _miss(self, path: str) -> None:
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

    def _lose(self) -> None:
        self._partial += 1

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
            yield "       where that should differ, record anew: --sop-replay=record"

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
                key = RunKey(active.domain.name, active.domain.task_ids[position], 1, agent)
                yield TaskPlace(key.agent, key.domain, key.task)


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
    return _with_more(names[:_NAMED], len(names) - _NAMED)


def _with_more(names: Iterable[str], more: int) -> str:
    return f"{', '.join(names)}{f' and {more} more' if more > 0 else ''}"
