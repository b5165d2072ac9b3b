"""What is looked at before the first run is replayed: whether there are recordings, and how old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._replay.cassettes.lines import TaskPlace, cassette_path
from pytest_sopbench._replay.cassettes.store import refuse_changed
from pytest_sopbench._replay.cassettes.survey import Survey, TrialSurvey, survey
from pytest_sopbench._reports.text import counted
from pytest_sopbench.errors import CassetteError

_NAMED = 3
"""Tasks that are named; of the rest the number is told."""


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
