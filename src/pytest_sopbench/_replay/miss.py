"""A request without a recording, explained."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, TypeGuard, TypeVar

from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._replay.exchange import (
    Recorded,
    Recording,
    Shape,
    Step,
    asks_no_model,
    host_lines,
    model_in_path,
    show_path,
)

# What changes with every run, and says nothing: dates and times, made-up ids, counters.

_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY: Final = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"

PATTERNS: Final = (
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?",
    r"\d{4}-\d{2}-\d{2}",
    rf"{_DAY}\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}",
    rf"{_DAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}",
    r"\d{1,2}[./]\d{1,2}[./]\d{4}",
    r"\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AP]M)?",
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    r"\b[0-9a-f]{16,64}\b",
    r"\b1\d{9}(?:\d{3}){0,2}\b",
)
"""Dates with a time, dates, times, uuids, hexadecimal ids, seconds since 1970; most said first."""

_DATES: Final = PATTERNS[1:5]
_TIME: Final = PATTERNS[5]
_COMPILED: Final = tuple(map(re.compile, PATTERNS))
_MARK: Final = "\0"

_NAME_OF_ID: Final = re.compile(
    r"(?:^|[_.-])(?:u?u?id|nonce|trace|span|session|request|run|conversation|correlation|thread"
    r"|invocation|event)(?:$|[_.-])|[a-z](?:Id|ID|Uuid|UUID)$"
)
_NAME_OF_COUNTER: Final = re.compile(
    r"(?:^|[_.-])(?:count(?:er)?|seq(?:uence)?|attempt|nonce|number|timestamp|time|ts|epoch|created"
    r"|request|call|run)(?:$|[_.-])|(?:_at|At|_id|Id|Time|Count|Number)$"
)
_RANDOM: Final = re.compile(r"[A-Za-z0-9]{8,}")
_LEAST_TIME: Final = 10**9
_TALK: Final = re.compile(r"^(?:messages|input|contents|prompt|system|instructions)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to leave out of the comparison: paths in bodies, and patterns within texts."""

    ignore: str = ""
    mask: tuple[str, ...] = ()


def advice_on(path: str, recorded: JsonValue, sent: JsonValue) -> Advice | None:
    """Return how to leave out what differs; `None` if it says something.

    What is said to a model is never left out as a whole: within it, dates alone are masked.
    """
    name = re.sub(r"\[\d+\]", "", path).rpartition(".")[2]
    anywhere = re.sub(r"\[\d+\]", "[*]", path)
    can_go = _TALK.match(path) is None and not path.startswith(("query.", "path", "body", "model"))
    if isinstance(recorded, str) and isinstance(sent, str):
        kinds = _kinds(recorded, sent)
        if kinds:
            is_id = _NAME_OF_ID.search(name) is not None and " " not in recorded
            is_all = is_id or not re.sub(r"[\W_]", "", _without(recorded).replace(_MARK, ""))
            return Advice(ignore=anywhere) if can_go and is_all else Advice(mask=kinds)
        return Advice(ignore=anywhere) if can_go and _are_ids(name, recorded, sent) else None
    if can_go and _are_counts(name, recorded, sent):
        return Advice(ignore=anywhere)
    return None


def _kinds(recorded: str, sent: str) -> tuple[str, ...]:
    """Return the patterns in whose matches alone two texts differ; none if more differs."""
    if _without(recorded) != _without(sent):
        return ()
    found: list[str] = []
    before = recorded
    for pattern, source in zip(_COMPILED, PATTERNS, strict=True):
        if pattern.findall(recorded) != pattern.findall(sent):
            found.append(source)
            recorded, sent = pattern.sub(_MARK, recorded), pattern.sub(_MARK, sent)
    if _TIME in found:
        # The day of a moment changes as well, and tomorrow is no reason to be asked again.
        found += [
            one
            for one in _DATES
            if one not in found and re.search(rf"{one}[T,]? ?(?:at )?{_TIME}", before)
        ]
    return tuple(found)


def _without(text: str) -> str:
    for pattern in _COMPILED:
        text = pattern.sub(_MARK, text)
    return text


def _are_ids(name: str, recorded: str, sent: str) -> bool:
    """Tell whether two values are ids that somebody made up: alike but for a random end."""
    if _NAME_OF_ID.search(name) is None:
        return False
    bodies = [_RANDOM.sub(_MARK, one) for one in (recorded, sent)]
    randoms = [run for one in (recorded, sent) for run in _RANDOM.findall(one)]
    if bodies[0] == bodies[1] and any(sign.isdigit() for run in randoms for sign in run):
        return True
    # A counter behind a word.
    return re.sub(r"\d+", _MARK, recorded) == re.sub(r"\d+", _MARK, sent)


def _are_counts(name: str, recorded: JsonValue, sent: JsonValue) -> bool:
    pair: Sequence[JsonValue] = (recorded, sent)
    numbers = [one for one in pair if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) < len(pair):
        return False
    return _NAME_OF_COUNTER.search(name) is not None or min(numbers) >= _LEAST_TIME


# Where two bodies differ first, cut so that a line can show it.

_Key = TypeVar("_Key", str, int)

_BEFORE, _AFTER = 20, 32
"""Characters that are shown of a text, before and from the first that differs."""

_LEAST: Final = 16
"""Characters of a text that must agree before only a part of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One path at which two bodies differ; a side that has nothing there is `None`.

    `character` is the first that differs of two texts, from 1; 0 if both are shown whole.
    `advice` says how to leave out what changes with every run.
    """

    path: str
    recorded: str | None
    sent: str | None
    character: int = 0
    advice: Advice | None = None

    def lines(self) -> Iterator[str]:
        """Yield what differs, in three lines."""
        at = f" at character {self.character:,}" if self.character else ""
        yield f"{self.path} differs{at}:"
        yield f"  recorded  {self.recorded or 'nothing'}"
        yield f"  sent      {self.sent or 'nothing'}"


def differences(recorded: JsonValue, sent: JsonValue) -> Iterator[Difference]:
    """Yield where two values differ, in the order of sorted keys."""
    yield from _differences(recorded, sent, ())


def _differences(one: JsonValue, other: JsonValue, path: tuple[Step, ...]) -> Iterator[Difference]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _beside(one, other, key, (*path, key))
    elif _is_list(one) and _is_list(other):
        parts, others = dict(enumerate(one)), dict(enumerate(other))
        for place in range(max(len(one), len(other))):
            yield from _beside(parts, others, place, (*path, place))
    elif not same_json(one, other):
        yield _difference(one, other, path)


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _beside(
    one: Mapping[_Key, JsonValue],
    other: Mapping[_Key, JsonValue],
    key: _Key,
    path: tuple[Step, ...],
) -> Iterator[Difference]:
    if key in one and key in other:
        yield from _differences(one[key], other[key], path)
        return
    value = one[key] if key in one else other[key]
    inner: tuple[Step, ...] = ()
    # Of a list, a whole message is there or is not.
    if isinstance(key, str):
        inner, value = _innermost(value)
    yield Difference(
        path=show_path((*path, *inner)),
        recorded=shown(value) if key in one else None,
        sent=shown(value) if key in other else None,
    )


def _innermost(value: JsonValue) -> tuple[tuple[Step, ...], JsonValue]:
    """Return the way to what is set if one side alone has something: one key in one key."""
    way: tuple[Step, ...] = ()
    while isinstance(value, Mapping) and len(value) == 1:
        ((key, value),) = value.items()
        way = (*way, key)
    return way, value


def _difference(one: JsonValue, other: JsonValue, path: tuple[Step, ...]) -> Difference:
    name = show_path(path) or "body"
    if not (isinstance(one, str) and isinstance(other, str)):
        advice = advice_on(name, one, other)
        return Difference(path=name, recorded=shown(one), sent=shown(other), advice=advice)
    same = _same(one, other)
    # Of two short texts both are shown, and where they differ can be seen.
    is_cut = max(len(one), len(other)) > _BEFORE + _AFTER
    start = same if same >= _LEAST and is_cut else 0
    return Difference(
        path=name,
        recorded=_around(one, start),
        sent=_around(other, start),
        character=same + 1 if is_cut else 0,
        advice=advice_on(name, one, other),
    )


def _same(one: str, other: str) -> int:
    """Return how many characters two different texts have in common at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def shown(value: JsonValue) -> str:
    """Return a value in ASCII, cut to its beginning."""
    if isinstance(value, str):
        return _around(value, 0)
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _BEFORE + _AFTER else f"{text[: _BEFORE + _AFTER]}..."


def _around(text: str, place: int) -> str:
    """Return what stands around a place of a text, cut between words if there are any."""
    begin = max(0, place - _BEFORE)
    if begin:
        blank = text.find(" ", begin, place)
        begin = blank + 1 if blank >= 0 else begin
    end = min(len(text), begin + _BEFORE + _AFTER)
    before, behind = "... " if begin else "", " ..." if end < len(text) else ""
    return json.dumps(f"{before}{text[begin:end]}{behind}")


# Why a request has no recording: the nearest recorded one of the run, and where they differ.

AGAIN = "sent more often than recorded"
NOTHING = "nothing is recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A request without a recording: the path that differs, and an explanation in few lines.

    Attributes:
        path: the first that differs.
        lines: the explanation.
        ignore: entries of `sop_replay_ignore` that would leave out all that differs.
        mask: likewise, patterns of its entries `text:REGEX`.
    """

    path: str
    lines: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain_miss(recording: Recording, shape: Shape, number: int, host: str = "") -> Miss:
    """Explain why a request, the `number`th of its run, has no recording, in at most six lines."""
    at = f"in request {number} of the run, {shape.method} {shape.path}"
    every = recording.exchanges
    same = ((one.shape.method, one.shape.path) == (shape.method, shape.path) for one in every)
    if asks_no_model(shape, host) and not any(same):
        lines = (f"a request to {host}, which is no provider of a model", at, *host_lines(host))
        return Miss(path=f"host:{host}", lines=lines, ignore=(f"host:{host}",))
    if not every:
        return Miss(path=NOTHING, lines=("nothing is recorded of this run", at, _REMEDY))
    if times := sum(one.key == shape.key for one in every):
        recorded = "once" if times == 1 else f"{times} times"
        told = f"it is recorded {recorded}, and sent more often than that"
        return Miss(path=AGAIN, lines=(told, at, _REMEDY))
    nearest = max(
        range(len(every)), key=lambda place: _nearness(every[place], place, shape, number)
    )
    found = _apart(every[nearest].shape, shape)
    advice = [one.advice for one in found if one.advice is not None]
    # What says something comes first; what changes with every run is not what went wrong then.
    found = sorted(found, key=lambda one: one.advice is not None)
    if len(advice) < len(found):
        advice = []
    of = f"recorded request {nearest + 1} of {len(every)}{_date(recording)}"
    agree = _agreement(every[nearest].shape.body, shape.body)
    beside = f"; {len(found) - 1} more differ" if len(found) > 1 else ""
    remedy = _CHANGING if advice else _REMEDY
    lines = (*found[0].lines(), at, f"nearest: {of}{agree}{beside}", remedy)
    return Miss(
        path=found[0].path,
        lines=lines,
        ignore=tuple(dict.fromkeys(one.ignore for one in advice if one.ignore)),
        mask=tuple(dict.fromkeys(pattern for one in advice for pattern in one.mask)),
    )


_REMEDY = "if it should differ, record anew: --sop-replay=record; what is missing alone: auto"

_CHANGING = "it changes with every run: the summary has a line for the configuration"


def _date(recording: Recording) -> str:
    day = recording.recorded.partition("T")[0]
    return f", of {day}" if day else ""


def _apart(recorded: Shape, sent: Shape) -> Sequence[Difference]:
    path, model = model_in_path(recorded.path)
    sent_path, sent_model = model_in_path(sent.path)
    if (recorded.method, path) != (sent.method, sent_path):
        one, other = f"{recorded.method} {recorded.path}", f"{sent.method} {sent.path}"
        advice = advice_on("path", one, other)
        return [Difference(path="path", recorded=one, sent=other, advice=advice)]
    # Under the name that it has where it stands in the body.
    named = differences({"model": model}, {"model": sent_model})
    query = list(differences(dict(recorded.query), dict(sent.query)))
    asked = [
        Difference(
            path=f"query.{one.path}",
            recorded=one.recorded,
            sent=one.sent,
            # A parameter of a query cannot be left out, and what stands in it can be masked.
            advice=one.advice if one.advice and one.advice.mask else None,
        )
        for one in query
    ]
    found = [*named, *asked, *differences(recorded.body, sent.body)]
    # Neither is JSON, and what kind of bytes it is tells them apart.
    return found or [Difference(path="body", recorded=recorded.kind, sent=sent.kind)]


def _nearness(one: Recorded, place: int, shape: Shape, number: int) -> tuple[float, ...]:
    """Rank a recorded request: above all by the part of the conversation that agrees."""
    recorded, sent = conversation(one.shape.body), conversation(shape.body)
    agrees = [same_json(*pair) for pair in zip(recorded, sent, strict=False)]
    return (
        one.shape.method == shape.method and one.shape.path == shape.path,
        sum(takewhile(bool, agrees)),
        sum(agrees),
        _alike(one.shape.body, shape.body),
        -abs(len(recorded) - len(sent)),
        -abs(place + 1 - number),
    )


def _alike(recorded: JsonValue, sent: JsonValue) -> int:
    """Return how many keys of two bodies hold the same."""
    if not (isinstance(recorded, Mapping) and isinstance(sent, Mapping)):
        return 0
    return sum(key in sent and same_json(one, sent[key]) for key, one in recorded.items())


def _agreement(recorded: JsonValue, sent: JsonValue) -> str:
    parts = conversation(recorded), conversation(sent)
    agrees = sum(same_json(*pair) for pair in zip(*parts, strict=False))
    return f"; {agrees} of {len(parts[1])} messages agree" if parts[1] else ""


def conversation(body: JsonValue) -> Sequence[JsonValue]:
    """Return the messages of a request, under whichever name a provider takes them."""
    for name in ("messages", "input", "contents"):
        found = body.get(name) if isinstance(body, Mapping) else None
        if isinstance(found, list | tuple):
            return found
    return ()
