"""What compares one output field, and how it is asked: with copies, within a limit of time."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar, cast

from pytest_sopbench._core.fields.match import not_judged, read_match
from pytest_sopbench._core.judging.questions import Question
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.plain import to_json_value
from pytest_sopbench._running.event_loop.blocking import close_coroutine, in_thread, run_blocking
from pytest_sopbench._running.observing.problem import message_of, name_of

from .allowance import Allowance

PATIENCE: Final = 60.0
"""Seconds that one comparison may take, where nothing else is said."""

T = TypeVar("T")

# Taken at import: an agent may put another function into its place.
_dumps = json.dumps


@dataclass(frozen=True, slots=True)
class Comparer:
    """Compares one output field.

    Attributes:
        identity: what it is and its version; sessions that differ in it were judged otherwise.
        ask: says whether a value is right; what it returns may be awaitable.
    """

    identity: str
    ask: Callable[[Question], object]


def ask(comparer: Comparer, question: Question, seconds: float | None) -> Compared:
    """Have one comparison made; whatever the comparer does becomes a value.

    It is given copies, so that what it changes changes nothing; but one that changes what it is
    given is not believed. One that does not come to an end is left behind in a thread of its own.
    """
    field, place = question.field, question.place
    copied = _copy(question)
    try:
        future: Future[Compared] = in_thread(partial(_asked, comparer, question, copied, seconds))
    except (RuntimeError, MemoryError) as error:
        return not_judged(field, place, f"it could not be started: {name_of(error)}")
    try:
        return waited_for(future, seconds)
    except StillRunning as error:
        if seconds is not None and (not future.done() or isinstance(error, _OverTimeError)):
            return not_judged(field, place, f"it was still comparing after {seconds:g} s")
        return not_judged(field, place, f"it raised {name_of(error)}", secret=message_of(error))
    except BaseException as error:
        if not future.done():
            raise
        return not_judged(field, place, f"it raised {name_of(error)}", secret=message_of(error))


def waited_for(future: Future[T], seconds: float | None) -> T:
    """Return what a thread comes to within a limit, whether or not the process stands still.

    Raises:
        TimeoutError: it has not ended.
        BaseException: what it was left by.
    """
    if seconds is None:
        return future.result()
    allowed = Allowance(seconds)
    while True:
        try:
            return future.result(allowed.step())
        except StillRunning:
            if future.done():
                # It has ended since, or raised such an error itself.
                return future.result()
            allowed.waited()
            if allowed.is_spent:
                raise


class _OverTimeError(TimeoutError):
    """The time of a comparison is over; it is none that a comparer raises."""


def _asked(
    comparer: Comparer, question: Question, copied: Question, seconds: float | None
) -> Compared:
    field, place = question.field, question.place
    before = _written(copied)
    said = run_blocking(_bounded(comparer.ask(copied), seconds))
    if type(said) is _Left:
        raise said.by
    # Here as well: what it returned, or put into its copies, runs code of its own when read.
    if before != _written(copied):
        return not_judged(field, place, "it changed what it was given to compare")
    found = read_match(field, place, said, question.actual)
    close_coroutine(said)
    return found


@dataclass(frozen=True, slots=True)
class _Left:
    """What a comparer leaves by, taken out of its event loop as a value.

    A task that exits is never asked for its exception: asyncio would print it whenever the task
    is collected, in the middle of whatever the process does then.
    """

    by: BaseException


def _bounded(value: object, seconds: float | None) -> object:
    if not inspect.isawaitable(value):
        return value
    return _awaited(cast("Awaitable[object]", value), seconds)


async def _awaited(value: Awaitable[object], seconds: float | None) -> object:
    async def wait() -> object:
        try:
            return await value
        except (SystemExit, KeyboardInterrupt) as error:
            return _Left(error)

    import asyncio  # noqa: PLC0415 - only where something is awaited

    work = asyncio.ensure_future(wait())
    allowed = None if seconds is None else Allowance(seconds)
    while allowed is None or not allowed.is_spent:
        step = None if allowed is None else allowed.step()
        done, _ = await asyncio.wait({work}, timeout=step)
        if done:
            return work.result()
        if allowed is not None:
            allowed.waited()
    work.cancel()
    raise _OverTimeError


def _copy(question: Question) -> Question:
    field, task, answer = question.field, question.task, question.answer
    return Question(
        field=replace(field, aliases=dict(field.aliases)),
        place=question.place,
        expected=to_json_value(question.expected),
        actual=to_json_value(question.actual),
        task=replace(
            task,
            inputs=_mapping(task.inputs),
            expected=_mapping(task.expected),
            expected_as_written=_mapping(task.expected_as_written),
            results=_mapping(task.results),
            acceptable=tuple(_mapping(one) for one in task.acceptable),
            tables={name: [_mapping(row) for row in rows] for name, rows in task.tables.items()},
        ),
        answer=replace(answer, values=_mapping(answer.values), beside=_mapping(answer.beside)),
    )


def _mapping(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", to_json_value(dict(values)))


def _written(question: Question) -> str:
    """Write down all that a comparer could change."""
    task, answer = question.task, question.answer
    given = (
        question.expected,
        question.actual,
        question.field.aliases,
        (task.inputs, task.expected, task.expected_as_written, task.results, task.acceptable),
        task.tables,
        (answer.values, answer.beside),
    )
    try:
        return _dumps(given)
    except (TypeError, ValueError, RecursionError):
        return ""
