"""Fields that a user's function or a judge compares."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import Match, not_judged, read_match
from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.hiding import Mask, current_mask, masking
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.judging import NOT_ASKED, Question, questions
from pytest_sopbench._core.model.task import (
    ASKED_OF_OTHERS,
    PUBLISHED_TOO,
    Compare,
    OutputField,
    Scoring,
    Task,
)
from pytest_sopbench._core.model.trace import Compared, Trace
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._core.values.text import fold
from pytest_sopbench._running.event_loop import close_coroutine, in_thread, run_blocking
from pytest_sopbench._running.importing import place_of
from pytest_sopbench._running.observing import Capture, Output, captured, message_of, name_of
from pytest_sopbench.errors import ComparerError

# The seconds that somebody may take, less those in which the process stood still.
#
# Native code that holds the interpreter's lock keeps a comparison from its end as it keeps a run.
# So one waits in short steps, and a step that comes back far too late counts as long as it was to
# be.

STEP: Final = 0.5
"""Seconds of one step at most."""

LATE: Final = 1.0
"""Seconds by which a step is late at least if the process stood still."""


class Allowance:
    """Counts down the seconds that are left."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._left = seconds
        self._clock = clock
        self._step = 0.0
        self._began = clock()

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def step(self) -> float:
        """Begin a step; return how many seconds to wait."""
        self._step = max(0.0, min(STEP, self._left))
        self._began = self._clock()
        return self._step

    def waited(self) -> None:
        """End a step that was waited for in vain."""
        took = self._clock() - self._began
        self._left -= took if took - self._step < LATE else self._step


# What compares one output field, and how it is asked: with copies, within a limit of time.

PATIENCE: Final = 60.0
"""Seconds that one comparison may take, if nothing else is said."""

T = TypeVar("T")


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
    value = comparer.ask(copied)
    said = run_blocking(_awaited(value, seconds) if inspect.isawaitable(value) else value)
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


async def _awaited(value: Awaitable[object], seconds: float | None) -> object:
    async def wait() -> object:
        try:
            return await value
        except (SystemExit, KeyboardInterrupt) as error:
            return _Left(error)

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
        return json.dumps(given)
    except (TypeError, ValueError, RecursionError):
        return ""


# Find the function that a field names as its comparer, and say which version of it this is.

GROUP: Final = "pytest_sopbench.comparers"
"""The entry points under which packages register comparers."""

VERSION: Final = "__version__"
"""The attribute by which a comparer says its version itself."""

_TOLD: Final = "it is called as comparer(expected, actual, *, field, task, answer)"
_NAMED: Final = ("field", "task", "answer")
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the comparers of a domain are looked for.

    Attributes:
        domain: its name.
        folder: where its files lie.
        trusted: whether what its files name may be imported and called.
        path: the folder that is made importable: the current directory.
        registered: the comparers that the project registers, by name.
    """

    domain: str
    folder: Path
    trusted: bool
    path: Path
    registered: Mapping[str, object] = field(default_factory=dict[str, object])


def called(output: OutputField, place: Place) -> Comparer:
    """Return the comparer that `metadata.json` names for a field.

    A name that is registered is code that the user has installed or written down himself, so any
    domain may name it. What is imported by its path is the choice of the domain.

    Raises:
        ComparerError: there is none, it cannot be imported, or cannot be called as one.
    """
    where = f"domain {place.domain}, field {output.name!r}: comparer {output.comparer!r}"
    spec = output.comparer
    function = _imported(spec, where, place) if ":" in spec else _registered(spec, where, place)
    _check(output, function, where)

    def ask(question: Question) -> object:
        return function(
            question.expected,
            question.actual,
            field=question.field,
            task=question.task,
            answer=question.answer,
        )

    return Comparer(f"{spec} {_version(function, where)}", ask)


def _registered(name: str, where: str, place: Place) -> Callable[..., object]:
    if name in place.registered:
        return _callable(place.registered[name], where)
    known = entry_points(group=GROUP)
    for entry in known:
        if entry.name == name:
            return _callable(_guarded(entry.load, entry.value, where), where)
    names = sorted({*place.registered, *known.names})
    near = get_close_matches(name, names, n=1)
    msg = f"{where}: none is registered by that name (registered: {', '.join(names) or 'none'})"
    hint = f"did you mean {near[0]}? " if near else ""
    raise ComparerError(msg, hint=f"{hint}it is package.module:function, or a registered name")


def _imported(spec: str, where: str, place: Place) -> Callable[..., object]:
    if not place.trusted:
        msg = f"{where}: this domain lies outside the project, and names code to call"
        hint = "name the domain by its path, or add its folder to sop_trust"
        raise ComparerError(msg, hint=hint)
    name, _, attribute = spec.partition(":")
    folder = str(place.path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    found: Any = _guarded(partial(importlib.import_module, name), name, where)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if found is None:
        msg = f"{where}: module {name!r} has no {attribute!r}"
        raise ComparerError(msg, hint=_TOLD)
    return _callable(found, where)


def _guarded(load: Callable[[], object], name: str, where: str) -> object:
    try:
        with captured(Output()):
            return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        at = place_of(error)
        told = f"{name_of(error)}: {message_of(error)}{f', at {at}' if at else ''}"
        msg = f"{where}: importing {name} failed: {told}"
        raise ComparerError(msg, hint="it is package.module:function") from error


def _callable(found: object, where: str) -> Callable[..., object]:
    if not callable(found):
        msg = f"{where}: it cannot be called"
        raise ComparerError(msg, hint=_TOLD)
    return found


def _check(output: OutputField, function: Callable[..., object], where: str) -> None:
    """Refuse what cannot be called as a comparer, or returns a number that decides nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # What is written in C may not tell; its calls will.
        return
    try:
        signature.bind(None, None, **dict.fromkeys(_NAMED))
    except TypeError as fault:
        msg = f"{where}: it cannot be called: {fault}"
        raise ComparerError(msg, hint=_TOLD) from None
    if output.at_least is None and signature.return_annotation in (float, "float"):
        msg = f"{where}: it returns a number, and nothing says from where on that is right"
        hint = f'declare it: "outputs": {{"{output.name}": {{"at_least": 0.8, ...}}}}'
        raise ComparerError(msg, hint=hint)


def _version(function: Callable[..., object], where: str) -> str:
    """Return what the function says of its version, else the hash of the file that it stands in.

    The whole file counts: what a function calls decides as much as the function itself.
    """
    plain = inspect.unwrap(function)
    given: list[JsonValue] = []
    while isinstance(plain, partial):
        # What it was given beforehand may stand in another file.
        given.append(to_json_value([plain.args, plain.keywords]))
        plain = inspect.unwrap(plain.func)
    for one in (function, *_owners(plain)):
        said = getattr(one, VERSION, None)
        if isinstance(said, str | int | float):
            return f"version {said}"
    for one in _owners(plain):
        try:
            file = inspect.getsourcefile(cast("Any", one))
            source = Path(file).read_text("utf-8") if file else ""
        except (TypeError, OSError, ValueError):
            continue
        if source:
            source += json.dumps(given, sort_keys=True) if given else ""
            return f"source {sha256(source.encode()).hexdigest()[:_SHOWN]}"
    msg = f"{where}: its source cannot be read, so nobody can tell when it changes"
    raise ComparerError(msg, hint=f"give it an attribute {VERSION}, which you raise with it")


def _owners(function: object) -> Iterable[object]:
    return function, type(function)


# Compare texts by how similar they are, with rapidfuzz, which is an extra.

IDENTITY: Final = "similar version 1"
"""Counts up when the same two texts come to another score."""

LONGEST: Final = 50_000
"""Characters of a text that is compared: the work grows with the product of both."""


def similar(output: OutputField, place: Place) -> Comparer:
    """Return what says how similar two texts are, from 0 to 1.

    Raises:
        ComparerError: rapidfuzz is not installed.
    """
    try:
        fuzz: Any = import_module("rapidfuzz.fuzz")
    except ImportError:
        msg = f"domain {place.domain}, field {output.name!r}: 'similar' needs rapidfuzz"
        raise ComparerError(msg, hint=install_hint("rapidfuzz", extra="similar")) from None

    needed = 1.0 if output.at_least is None else output.at_least

    def match(score: float, about: str = "") -> Match:
        held = score >= needed
        return Match(
            held, "" if held else f"{about}{score:.3g} similar, {needed:g} is asked", score
        )

    def ask(question: Question) -> Match:
        wanted, given = (
            fold("" if one is None else written(one))
            for one in (question.expected, question.actual)
        )
        if max(len(wanted), len(given)) <= LONGEST:
            return match(fuzz.ratio(wanted, given) / 100)
        # Two texts of these lengths cannot be more similar.
        most = 2 * min(len(wanted), len(given)) / (len(wanted) + len(given))
        if most < needed:
            return match(most, "at best ")
        msg = f"a text of more than {LONGEST:,} characters is not compared"
        raise ValueError(msg)

    return Comparer(IDENTITY, ask)


# Ask all that has to be asked of a run before it can be judged.

Source = Callable[[OutputField, Place], Comparer]
"""Returns what compares a field, or raises `ComparerError`."""

SOURCES: Final[Mapping[Compare, Source]] = {
    Compare.CALL: called,
    Compare.SIMILAR: similar,
}
"""Who is asked, by the kind of comparison; rooms above may know more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparers:
    """The comparers of one domain by field; `seconds` is what one comparison may take."""

    by_field: Mapping[str, Comparer] = field(default_factory=dict[str, Comparer])
    seconds: float | None = PATIENCE

    @property
    def identities(self) -> Mapping[str, str]:
        """What each of them is, down to its version, by field."""
        return {name: one.identity for name, one in self.by_field.items()}

    def compare(
        self,
        rules: JudgingRules,
        task: Task,
        trace: Trace,
        mask: Mask | None = None,
        capture: Capture = "tee",
    ) -> Trace:
        """Return the trace with what the comparers find of its answer; nothing is raised.

        What they write is a part of what the run has written, as what its agent writes is.
        """
        with masking(mask or current_mask()):
            output = Output()
            with captured(output, capture):
                found = tuple(self._ask(one) for one in questions(rules, task, trace))
        if not found and not trace.compared:
            return trace
        return replace(trace, compared=found, output=trace.output + output.text)

    def _ask(self, question: Question) -> Compared:
        comparer = self.by_field.get(question.field.name)
        if comparer is None:
            return not_judged(question.field, question.place, NOT_ASKED)
        return ask(comparer, question, self.seconds)


def find_comparers(
    fields: tuple[OutputField, ...],
    scoring: Scoring,
    place: Place,
    *,
    seconds: float | None = PATIENCE,
    sources: Mapping[Compare, Source] = SOURCES,
) -> Comparers:
    """Find what compares the fields of a domain; nothing is imported if there is nothing to.

    Raises:
        ComparerError: one cannot be found or used, or the published scorer is asked for, which
            knows of none.
    """
    check_scoring(place.domain, fields, scoring)
    asked = [one for one in fields if one.compare in ASKED_OF_OTHERS]
    found = {one.name: sources[one.compare](one, place) for one in asked}
    return Comparers(by_field=found, seconds=seconds)


def check_scoring(domain: str, fields: Sequence[OutputField], scoring: Scoring) -> None:
    """Refuse to score as published what that scorer cannot compare.

    Raises:
        ComparerError: with the field.
    """
    asked = [one for one in fields if one.compare not in PUBLISHED_TOO]
    if asked and scoring is Scoring.PUBLISHED:
        msg = (
            f"domain {domain}: field {asked[0].name!r} is compared otherwise "
            f'("compare": "{asked[0].compare}"), which the published scorer knows nothing of'
        )
        raise ComparerError(msg, hint="leave scoring as published out for this domain")
